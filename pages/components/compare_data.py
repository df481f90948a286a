"""What the Compare page reads, kept ready as long as the folders of the runs stay as they are.

All sessions share what is kept: nobody may change it.
"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from evalcore.queries import comparison_groups, comparison_report, comparison_runs
from evalcore.queries.comparison_groups import BenchmarkDetail
from evalcore.queries.comparison_runs import ComparedRun, Lineup
from evalcore.settings import Settings

_MAX_CACHED_COMPARISONS = 32
group_comparable_runs, list_compared_metrics, group_runs_by_column = (
    comparison_groups.find_comparable_runs,
    comparison_groups.list_lineup_metrics,
    comparison_groups.group_compared_runs,
)
build_group_profile = comparison_groups.build_group_radar


def load_comparison(settings: Settings, runs: Sequence[str]) -> Lineup:
    """The runs that take part, and those that cannot."""
    return _load_cached_comparison(
        settings, tuple(runs), comparison_runs.compute_lineup_signature(settings.run_roots, runs)
    )


def load_comparison_detail(
    settings: Settings, runs: Sequence[str], base: str, benchmark: str, metric: str
) -> BenchmarkDetail:
    """A benchmark on which the base can be measured against someone."""
    key = comparison_runs.compute_lineup_signature(settings.run_roots, runs)
    return _load_cached_detail(settings, tuple(runs), base, benchmark, metric, key)


def build_comparison_file(
    settings: Settings, runs: Sequence[str], base: str, file_format: str
) -> str:
    """The whole comparison as a file, in a form of `comparison_report`."""
    comparison = load_comparison(settings, runs)
    return comparison_report.FORMATS[file_format](
        comparison_report.build_comparison_report(settings.run_roots, comparison, base)
    )


@st.cache_resource(max_entries=_MAX_CACHED_COMPARISONS, show_spinner=False)
def _load_cached_comparison(_settings: Settings, runs: tuple[str, ...], signature: str) -> Lineup:
    return comparison_runs.load_lineup(_settings.run_roots, runs)


@st.cache_resource(max_entries=_MAX_CACHED_COMPARISONS, show_spinner=False)
def _load_cached_detail(
    _settings: Settings,
    runs: tuple[str, ...],
    base: str,
    benchmark: str,
    metric: str,
    signature: str,
) -> BenchmarkDetail:
    comparison: Lineup = _load_cached_comparison(_settings, runs, signature)
    sides: list[ComparedRun] = comparison_groups.find_comparable_runs(
        comparison, comparison.find_compared_run(base)
    )[benchmark]
    scores = comparison_groups.load_lineup_scores(_settings.run_roots, comparison)
    return comparison_groups.compare_with_base(scores, benchmark, sides, metric)

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

_KEPT = 32
comparable, metrics, groups = (
    comparison_groups.find_comparable_runs,
    comparison_groups.list_lineup_metrics,
    comparison_groups.group_compared_runs,
)
profile = comparison_groups.build_group_radar


def lineup_of(settings: Settings, runs: Sequence[str]) -> Lineup:
    """The runs that take part, and those that cannot."""
    return _lineup(
        settings, tuple(runs), comparison_runs.compute_lineup_signature(settings.run_roots, runs)
    )


def detail(
    settings: Settings, runs: Sequence[str], base: str, benchmark: str, metric: str
) -> BenchmarkDetail:
    """A benchmark on which the base can be measured against someone."""
    key = comparison_runs.compute_lineup_signature(settings.run_roots, runs)
    return _detail(settings, tuple(runs), base, benchmark, metric, key)


def file(settings: Settings, runs: Sequence[str], base: str, form: str) -> str:
    """The whole comparison as a file, in a form of `comparison_report`."""
    who = lineup_of(settings, runs)
    return comparison_report.FORMATS[form](
        comparison_report.build_comparison_report(settings.run_roots, who, base)
    )


@st.cache_resource(max_entries=_KEPT, show_spinner=False)
def _lineup(_settings: Settings, runs: tuple[str, ...], signature: str) -> Lineup:
    return comparison_runs.load_lineup(_settings.run_roots, runs)


@st.cache_resource(max_entries=_KEPT, show_spinner=False)
def _detail(
    _settings: Settings,
    runs: tuple[str, ...],
    base: str,
    benchmark: str,
    metric: str,
    signature: str,
) -> BenchmarkDetail:
    who: Lineup = _lineup(_settings, runs, signature)
    sides: list[ComparedRun] = comparison_groups.find_comparable_runs(
        who, who.find_compared_run(base)
    )[benchmark]
    scores = comparison_groups.load_lineup_scores(_settings.run_roots, who)
    return comparison_groups.compare_with_base(scores, benchmark, sides, metric)

"""What the Compare page reads, kept ready as long as the folders of the runs stay as they are.

All sessions share what is kept: nobody may change it.
"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from evalcore.queries import comparison_report, contest, lineup
from evalcore.queries.contest import Detail
from evalcore.queries.lineup import Entrant, Lineup
from evalcore.settings import Settings

_KEPT = 32
comparable, metrics, groups = contest.comparable, contest.metrics_of, contest.groups
profile = contest.profile


def lineup_of(settings: Settings, runs: Sequence[str]) -> Lineup:
    """The runs that take part, and those that cannot."""
    return _lineup(settings, tuple(runs), lineup.signature(settings.run_roots, runs))


def detail(
    settings: Settings, runs: Sequence[str], base: str, benchmark: str, metric: str
) -> Detail:
    """A benchmark on which the base can be measured against someone."""
    key = lineup.signature(settings.run_roots, runs)
    return _detail(settings, tuple(runs), base, benchmark, metric, key)


def file(settings: Settings, runs: Sequence[str], base: str, form: str) -> str:
    """The whole comparison as a file, in a form of `comparison_report`."""
    who = lineup_of(settings, runs)
    return comparison_report.FORMATS[form](comparison_report.report(settings.run_roots, who, base))


@st.cache_resource(max_entries=_KEPT, show_spinner=False)
def _lineup(_settings: Settings, runs: tuple[str, ...], signature: str) -> Lineup:
    return lineup.load(_settings.run_roots, runs)


@st.cache_resource(max_entries=_KEPT, show_spinner=False)
def _detail(
    _settings: Settings,
    runs: tuple[str, ...],
    base: str,
    benchmark: str,
    metric: str,
    signature: str,
) -> Detail:
    who: Lineup = _lineup(_settings, runs, signature)
    sides: list[Entrant] = contest.comparable(who, who.of(base))[benchmark]
    scores = contest.scores_of(_settings.run_roots, who)
    return contest.detail(scores, benchmark, sides, metric)

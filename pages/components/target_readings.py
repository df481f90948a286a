"""A benchmark's score read otherwise: official groups, pass^k, the answers under other rules."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from evalcore.errors import EvalboardError
from evalcore.i18n import lookup_text
from evalcore.queries import alternate_scores, methodology
from evalcore.queries.boards import Row
from evalcore.records import BenchmarkScore
from evalcore.settings import Settings
from pages.components import numbers, target_patches, word_table
from pages.components.board import benchmark_title, metric_title
from pages.components.language import Translate, current
from pages.components.text import escape, plain

_NAMED = 3  # missing parts that are named
_EQUAL = 0.05  # points that one digit does not show
_OFFICIAL, _GUARDING = "official", "hardened"  # readings whose difference is a warning


def draw(row: Row, settings: Settings, tr: Translate) -> None:
    """Groups and other readings for every benchmark that has them."""
    for score in _scores(row, settings, tr):
        named = len(row.runs) > 1
        _groups(score, tr)
        _readings(score, tr, named=named)
        target_patches.draw(score, row.runs[score.benchmark].run_id, settings, tr, named=named)


def tries(row: Row, settings: Settings, tr: Translate) -> None:
    """pass^k for every benchmark that reports it."""
    for score in _scores(row, settings, tr):
        _pass_k(score, tr, named=len(row.runs) > 1)


def shield(row: Row, settings: Settings, tr: Translate) -> None:
    """A warning where a stricter reading takes away some of what the official rules count."""
    for score in _scores(row, settings, tr):
        official = score.views.get(_OFFICIAL, score.score)
        hardened = score.views.get(_GUARDING, official)
        if official is None or hardened is None:
            continue
        if hardened < official - _EQUAL:
            told = tr(
                "target.shield",
                benchmark=escape(benchmark_title(score.benchmark)),
                hardened=numbers.score(hardened),
                official=numbers.score(official),
            )
            st.warning(told, icon=":material/gpp_maybe:")


def _scores(row: Row, settings: Settings, tr: Translate) -> Iterator[BenchmarkScore]:
    """The score of every benchmark of a row; a run that cannot be read is said to be one."""
    for benchmark, run in row.runs.items():
        try:
            found = methodology.load_run_score(settings.run_roots, run.run_id, benchmark)
        except EvalboardError as error:
            st.warning(tr("methodology.no_numbers", reason=escape(error, 400)))
            continue
        if found is not None:
            yield found[1]


def _groups(score: BenchmarkScore, tr: Translate) -> None:
    table = alternate_scores.build_group_scores(score)
    if table.empty:
        return
    st.subheader(tr("target.groups"), anchor=False)
    notes = [_note(row, score.benchmark, tr) for row in table.to_dict("records")]
    word_table.draw(
        {
            tr("target.group"): [_group_title(name) for name in table["group"]],
            tr("common.score"): [numbers.score(_known(value)) for value in table["score"]],
            tr("target.note"): notes,
        },
        tr("target.groups_alt"),
    )
    st.caption(tr("target.groups_about"))


def _group_title(name: str) -> str:
    return lookup_text(f"target.group.{name}", current()) or plain(name)


def _pass_k(score: BenchmarkScore, tr: Translate, *, named: bool) -> None:
    """pass^k by the number of tries, with what doing nothing is worth beside every one."""
    table = alternate_scores.build_pass_k(score)
    if table.empty:
        return
    title = tr("target.pass_k")
    st.subheader(f"{title} · {benchmark_title(score.benchmark)}" if named else title, anchor=False)
    rows = table.to_dict("records")
    word_table.draw(
        {
            tr("target.pass_k_tries"): [f"k = {row['k']}" for row in rows],
            tr("target.pass_k_value"): [_with_interval(row) for row in rows],
            tr("target.pass_k_idle"): [numbers.score(_known(row["idle"])) for row in rows],
            tr("target.pass_k_adjusted"): [numbers.score(_known(row["adjusted"])) for row in rows],
        },
        tr("target.pass_k_alt"),
    )
    if table["value"].isna().any():
        st.caption(tr("target.pass_k_missing"))
    st.caption(escape(tr("target.pass_k_about"), 600))


def _with_interval(row: Mapping[Hashable, Any]) -> str:
    value, low, high = (_known(row[name]) for name in ("value", "low", "high"))
    told = numbers.score(value)
    return told if low is None or high is None else f"{told} [{low:.1f}, {high:.1f}]"


def _known(score: float | None) -> float | None:
    return None if score is None or pd.isna(score) else float(score)


def _note(row: Mapping[Hashable, object], benchmark: str, tr: Translate) -> str:
    """What is missing, else what the group weighs or is."""
    missing = row["missing"]
    if isinstance(missing, Sequence) and missing:
        named = [_part_title(str(part), benchmark) for part in missing[:_NAMED]]
        names = ", ".join([*named, *["…"] * (len(missing) > _NAMED)])
        return tr("target.group_missing", names=names)
    if row["group"] == "single_turn":
        return tr("target.group_ours")
    weight = row["weight"]
    if isinstance(weight, int | float) and not pd.isna(weight):
        return tr("target.group_weight", weight=f"{weight:g}")
    return ""


def _part_title(name: str, benchmark: str) -> str:
    """The title of a group or category."""
    return lookup_text(f"target.group.{name}", current()) or metric_title(benchmark, name)


def _readings(score: BenchmarkScore, tr: Translate, *, named: bool) -> None:
    table = alternate_scores.build_alternate_scores(score.views, score.score)
    if table.empty:
        return
    title = tr("target.readings")
    st.subheader(f"{title} · {benchmark_title(score.benchmark)}" if named else title, anchor=False)
    if (table["difference"].abs() < _EQUAL).all() and _GUARDING not in score.views:
        st.caption(tr("target.readings_equal"))
        return
    word_table.draw(
        {
            tr("target.reading_name"): [_view_title(name) for name in table["view"]],
            tr("common.score"): [numbers.score(value) for value in table["score"]],
            tr("target.difference"): [
                "=" if abs(points) < _EQUAL else f"{points:+.1f}" for points in table["difference"]
            ],
            tr("target.reading_about"): [
                _view_about(name, score.benchmark) for name in table["view"]
            ],
        },
        tr("target.readings_alt"),
    )
    lost = alternate_scores.lost_to_format(score.views)
    if lost is not None:
        st.caption(tr("target.lost_to_format", points=numbers.score(lost)))


def _view_about(name: str, benchmark: str) -> str:
    """The rules of a reading, as they are in this benchmark where they differ from others'."""
    own = lookup_text(f"target.view_about.{name}.{benchmark}", current())
    return own or lookup_text(f"target.view_about.{name}", current()) or ""


def _view_title(name: str) -> str:
    return lookup_text(f"target.view_name.{name}", current()) or plain(name)

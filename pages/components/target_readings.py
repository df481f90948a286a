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
from pages.components.language import Translate, current_language
from pages.components.text import escape_markdown, to_plain_line

_NAMED = 3  # missing parts that are named
_EQUAL = 0.05  # points that one digit does not show
_OFFICIAL, _GUARDING = "official", "hardened"  # readings whose difference is a warning


def draw_alternate_scores(row: Row, settings: Settings, tr: Translate) -> None:
    """Groups and other readings for every benchmark that has them."""
    for score in _load_row_scores(row, settings, tr):
        show_benchmark = len(row.runs) > 1
        _draw_score_groups(score, tr)
        _draw_alternate_readings(score, tr, show_benchmark=show_benchmark)
        target_patches.draw_patch_measures(
            score, row.runs[score.benchmark].run_id, settings, tr, show_benchmark=show_benchmark
        )


def draw_repeated_tries(row: Row, settings: Settings, tr: Translate) -> None:
    """pass^k for every benchmark that reports it."""
    for score in _load_row_scores(row, settings, tr):
        _draw_pass_k(score, tr, show_benchmark=len(row.runs) > 1)


def draw_shield_warning(row: Row, settings: Settings, tr: Translate) -> None:
    """A warning where a stricter reading takes away some of what the official rules count."""
    for score in _load_row_scores(row, settings, tr):
        official = score.views.get(_OFFICIAL, score.score)
        hardened = score.views.get(_GUARDING, official)
        if official is None or hardened is None:
            continue
        if hardened < official - _EQUAL:
            message = tr(
                "target.shield",
                benchmark=escape_markdown(benchmark_title(score.benchmark)),
                hardened=numbers.format_score(hardened),
                official=numbers.format_score(official),
            )
            st.warning(message, icon=":material/gpp_maybe:")


def _load_row_scores(row: Row, settings: Settings, tr: Translate) -> Iterator[BenchmarkScore]:
    """The score of every benchmark of a row; a run that cannot be read is said to be one."""
    for benchmark, run in row.runs.items():
        try:
            spec_and_score = methodology.load_run_score(settings.run_roots, run.run_id, benchmark)
        except EvalboardError as error:
            st.warning(tr("methodology.no_numbers", reason=escape_markdown(error, 400)))
            continue
        if spec_and_score is not None:
            yield spec_and_score[1]


def _draw_score_groups(score: BenchmarkScore, tr: Translate) -> None:
    table = alternate_scores.build_group_scores(score)
    if table.empty:
        return
    st.subheader(tr("target.groups"), anchor=False)
    notes = [_describe_group(row, score.benchmark, tr) for row in table.to_dict("records")]
    word_table.draw_word_table(
        {
            tr("target.group"): [_group_title(name) for name in table["group"]],
            tr("common.score"): [
                numbers.format_score(_float_or_none(value)) for value in table["score"]
            ],
            tr("target.note"): notes,
        },
        tr("target.groups_alt"),
    )
    st.caption(tr("target.groups_about"))


def _group_title(name: str) -> str:
    return lookup_text(f"target.group.{name}", current_language()) or to_plain_line(name)


def _draw_pass_k(score: BenchmarkScore, tr: Translate, *, show_benchmark: bool) -> None:
    """pass^k by the number of tries, with what doing nothing is worth beside every one."""
    table = alternate_scores.build_pass_k(score)
    if table.empty:
        return
    title = tr("target.pass_k")
    st.subheader(
        f"{title} · {benchmark_title(score.benchmark)}" if show_benchmark else title, anchor=False
    )
    rows = table.to_dict("records")
    word_table.draw_word_table(
        {
            tr("target.pass_k_tries"): [f"k = {row['k']}" for row in rows],
            tr("target.pass_k_value"): [_format_with_interval(row) for row in rows],
            tr("target.pass_k_idle"): [
                numbers.format_score(_float_or_none(row["idle"])) for row in rows
            ],
            tr("target.pass_k_adjusted"): [
                numbers.format_score(_float_or_none(row["adjusted"])) for row in rows
            ],
        },
        tr("target.pass_k_alt"),
    )
    if table["value"].isna().any():
        st.caption(tr("target.pass_k_missing"))
    st.caption(escape_markdown(tr("target.pass_k_about"), 600))


def _format_with_interval(row: Mapping[Hashable, Any]) -> str:
    value, low, high = (_float_or_none(row[name]) for name in ("value", "low", "high"))
    text = numbers.format_score(value)
    return text if low is None or high is None else f"{text} [{low:.1f}, {high:.1f}]"


def _float_or_none(score: float | None) -> float | None:
    return None if score is None or pd.isna(score) else float(score)


def _describe_group(row: Mapping[Hashable, object], benchmark: str, tr: Translate) -> str:
    """What is missing, else what the group weighs or is."""
    missing = row["missing"]
    if isinstance(missing, Sequence) and missing:
        titles = [_part_title(str(part), benchmark) for part in missing[:_NAMED]]
        names = ", ".join([*titles, *["…"] * (len(missing) > _NAMED)])
        return tr("target.group_missing", names=names)
    if row["group"] == "single_turn":
        return tr("target.group_ours")
    weight = row["weight"]
    if isinstance(weight, int | float) and not pd.isna(weight):
        return tr("target.group_weight", weight=f"{weight:g}")
    return ""


def _part_title(name: str, benchmark: str) -> str:
    """The title of a group or category."""
    return lookup_text(f"target.group.{name}", current_language()) or metric_title(benchmark, name)


def _draw_alternate_readings(score: BenchmarkScore, tr: Translate, *, show_benchmark: bool) -> None:
    table = alternate_scores.build_alternate_scores(score.views, score.score)
    if table.empty:
        return
    title = tr("target.readings")
    st.subheader(
        f"{title} · {benchmark_title(score.benchmark)}" if show_benchmark else title, anchor=False
    )
    if (table["difference"].abs() < _EQUAL).all() and _GUARDING not in score.views:
        st.caption(tr("target.readings_equal"))
        return
    word_table.draw_word_table(
        {
            tr("target.reading_name"): [_view_title(name) for name in table["view"]],
            tr("common.score"): [numbers.format_score(value) for value in table["score"]],
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
        st.caption(tr("target.lost_to_format", points=numbers.format_score(lost)))


def _view_about(name: str, benchmark: str) -> str:
    """The rules of a reading, as they are in this benchmark where they differ from others'."""
    own = lookup_text(f"target.view_about.{name}.{benchmark}", current_language())
    return own or lookup_text(f"target.view_about.{name}", current_language()) or ""


def _view_title(name: str) -> str:
    return lookup_text(f"target.view_name.{name}", current_language()) or to_plain_line(name)

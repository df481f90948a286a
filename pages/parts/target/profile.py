"""The profile of a target: its outline beside its metrics, and its scores read otherwise."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from evalcore.catalog import find_benchmark_text
from evalcore.charts import plots
from evalcore.charts.comparisons import SERIES, build_radar_chart
from evalcore.charts.plots import mark_immutable
from evalcore.results import BenchmarkScore
from evalcore.settings import Settings
from evalcore.views import methodology, target_scores, targets
from evalcore.views.boards import Board, Row
from evalcore.views.stored_boards import Headers, memoize_on_headers
from pages.shared import exports, tables, widgets, wording
from pages.shared.board_view import benchmark_title, metric_title, part_title
from pages.shared.wording import (
    current_language,
    escape_markdown,
    label,
    look_up,
    to_plain_line,
    tr,
)

_MIN_AXES, _MAX_AXES = 3, 10


def has_profile(frame: pd.DataFrame, axes: Sequence[str]) -> bool:
    """Whether the parts of a profile give a shape, and are few enough to be read even where all of
    its `axes` have a score."""
    return frame["axis"].nunique() >= _MIN_AXES and len(axes) <= _MAX_AXES


def draw_target_profile(frame: pd.DataFrame, axes: Sequence[str], name: str) -> None:
    """The radar of a target beside the best of the board and the floor: `frame` is its
    `targets.profile`, `axes` their order."""
    st.subheader(tr("target.profile"), anchor=False)
    present = set(frame["axis"])
    titles = {axis: part_title(axis) for axis in axes if axis in present}
    frame = frame.assign(axis=frame["axis"].map(titles))
    own = frame[frame["series"] == "target"]
    summary = ", ".join(f"{a} {s:.1f}" for a, s in zip(own["axis"], own["score"], strict=True))
    series = {key: tr(f"target.series.{key}") for key in SERIES}
    exports.draw_chart_frame(
        build_radar_chart(frame, list(titles.values()), series),
        name="profile",
        title=tr("target.profile"),
        source=to_plain_line(name),
        alt_text=tr("target.profile_alt", name=to_plain_line(name), summary=summary),
        data=lambda: frame,
        width="content",
    )


def draw_metric_bars(headers: Headers, board: Board, identity: str) -> None:
    """A bar chart per benchmark of the board that the target has a score in, each in a container of
    its own."""
    for benchmark in board.columns:
        key = ("metric bars", board.identity, benchmark, identity, current_language())
        frame = memoize_on_headers(
            headers, key, partial(_build_benchmark_bars, headers, board, benchmark, identity)
        )
        if frame["score"].notna().any():
            several = len(board.columns) > 1
            with st.container():
                title = benchmark_title(benchmark) if several else tr("target.metrics")
                st.subheader(escape_markdown(title), anchor=False)
                _draw_benchmark_bars(frame, benchmark, identity)


def _build_benchmark_bars(
    headers: Headers, board: Board, benchmark: str, identity: str
) -> pd.DataFrame:
    scores = targets.TargetView(headers, board, identity).build_metric_frame(benchmark)
    names = [metric_title(benchmark, metric) for metric in scores["metric"]]
    return mark_immutable(scores.assign(name=names))


def _draw_benchmark_bars(frame: pd.DataFrame, benchmark: str, identity: str) -> None:
    scored = frame.dropna(subset=["score"])
    pairs = zip(scored["name"], scored["score"], strict=True)
    summary = ", ".join(f"{name} {score:.1f}" for name, score in pairs)
    labels = exports.label_scores("common.metric")
    labels |= {name: tr(f"target.series.{name}") for name in ("best", "floor")}
    exports.draw_chart_frame(
        plots.build_metric_bars(frame, labels),
        name=f"metrics-{benchmark}",
        title=benchmark_title(benchmark),
        source=to_plain_line(identity),
        alt_text=tr("target.metrics_alt", summary=summary),
        data=lambda: scored.drop(columns="name"),
    )


def draw_target_trend(history: pd.DataFrame) -> None:
    """The scores of the target's complete runs on this board over time."""
    frame = history[history["on_board"] & history["complete"]]
    if frame["run_id"].nunique() < 2:
        st.caption(tr("target.no_trend"))
        return
    labels = {
        "date": tr("ranking.date"),
        "score": tr("common.score"),
        "series": tr("common.benchmark"),
        "run": tr("target.run"),
    }
    series = [benchmark_title(benchmark) for benchmark in frame["benchmark"]]
    st.subheader(tr("target.trend"), anchor=False)
    exports.draw_chart_frame(
        plots.build_trend_chart(frame.assign(series=series), labels),
        name="trend",
        title=tr("target.trend"),
        alt_text=tr("target.trend_alt", count=frame["run_id"].nunique()),
        data=lambda: frame[["date", "benchmark", "score", "low", "high", "run_id"]],
    )


# Measures of patches that need no test to be run: under a title of their own, since they rank
# nothing.


def draw_patch_measures(
    score: BenchmarkScore, run: str, settings: Settings, *, show_benchmark: bool
) -> None:
    """The measures of a benchmark that asks for patches, and how many of its tasks were set aside;
    nothing for any other."""
    table = target_scores.build_patch_measures(score)
    if table.empty:
        return
    _draw_heading("target.patch", score, show_benchmark)
    st.caption(tr("target.patch_about"))
    rows = [
        (label("target.group", row["measure"]), wording.format_score(row["value"]))
        for row in table.to_dict("records")
    ]
    titles = [tr("target.patch_measure"), tr("target.patch_value")]
    tables.draw_word_table(titles, rows, tr("target.patch_alt"))
    with widgets.show_errors("target.cases_broken", draw=st.warning):
        count = target_scores.count_unusable_tasks(settings.run_roots, run, score.benchmark)
        if count:
            st.caption(tr("target.patch_unusable", count=count))


def _draw_heading(key: str, score: BenchmarkScore, show_benchmark: bool) -> None:
    parts = [tr(key), *([benchmark_title(score.benchmark)] if show_benchmark else [])]
    st.subheader(" · ".join(parts), anchor=False)


# A benchmark's score read otherwise: official groups, pass^k, the answers under other rules.

_NAMED = 3  # missing parts that are named
_EQUAL = 0.05  # points that one digit does not show
_OFFICIAL, _GUARDING = "official", "hardened"  # readings whose difference is a warning


def draw_alternate_scores(row: Row, settings: Settings) -> None:
    """Groups and other readings for every benchmark that has them."""
    for score in _load_row_scores(row, settings):
        show_benchmark = len(row.runs) > 1
        _draw_score_groups(score)
        _draw_alternate_readings(score, show_benchmark=show_benchmark)
        run = row.runs[score.benchmark].run_id
        draw_patch_measures(score, run, settings, show_benchmark=show_benchmark)


def draw_repeated_tries(row: Row, settings: Settings) -> None:
    """pass^k for every benchmark that reports it."""
    for score in _load_row_scores(row, settings):
        _draw_pass_k(score, show_benchmark=len(row.runs) > 1)


def draw_shield_warning(row: Row, settings: Settings) -> None:
    """A warning where a stricter reading takes away some of what the official rules count."""
    for score in _load_row_scores(row, settings):
        official = score.views.get(_OFFICIAL, score.score)
        hardened = score.views.get(_GUARDING, official)
        if official is None or hardened is None:
            continue
        if hardened < official - _EQUAL:
            readings = {"hardened": hardened, "official": official}
            values = {name: wording.format_score(value) for name, value in readings.items()}
            title = escape_markdown(benchmark_title(score.benchmark))
            text = tr("target.shield", benchmark=title, **values)
            st.warning(text, icon=":material/gpp_maybe:")


def _load_row_scores(row: Row, settings: Settings) -> Iterator[BenchmarkScore]:
    """The score of every benchmark of a row; a run that cannot be read is said to be one."""
    for benchmark, run in row.runs.items():
        spec_and_score = None
        with widgets.show_errors("methodology.no_numbers", icon=None, draw=st.warning):
            spec_and_score = methodology.load_run_score(settings.run_roots, run.run_id, benchmark)
        if spec_and_score is not None:
            yield spec_and_score[1]


def _draw_score_groups(score: BenchmarkScore) -> None:
    table = target_scores.build_group_scores(score)
    if table.empty:
        return
    st.subheader(tr("target.groups"), anchor=False)
    rows = [
        (
            label("target.group", row["group"]),
            wording.format_score(tables.to_number(row["score"])),
            _describe_group(row, score.benchmark),
        )
        for row in table.to_dict("records")
    ]
    titles = [tr("target.group"), tr("common.score"), tr("target.note")]
    tables.draw_word_table(titles, rows, tr("target.groups_alt"))
    st.caption(tr("target.groups_about"))


def _draw_pass_k(score: BenchmarkScore, *, show_benchmark: bool) -> None:
    """pass^k by the number of tries, with what doing nothing is worth beside every one."""
    table = target_scores.build_pass_k(score)
    if table.empty:
        return
    _draw_heading("target.pass_k", score, show_benchmark)
    rows = [
        (
            f"k = {row['k']}",
            _format_with_interval(row),
            wording.format_score(tables.to_number(row["idle"])),
            wording.format_score(tables.to_number(row["adjusted"])),
        )
        for row in table.to_dict("records")
    ]
    titles = [tr(f"target.pass_k_{name}") for name in ("tries", "value", "idle", "adjusted")]
    tables.draw_word_table(titles, rows, tr("target.pass_k_alt"))
    if table["value"].isna().any():
        st.caption(tr("target.pass_k_missing"))
    st.caption(escape_markdown(tr("target.pass_k_about"), 600))


def _format_with_interval(row: Mapping[Hashable, Any]) -> str:
    value, low, high = (tables.to_number(row[name]) for name in ("value", "low", "high"))
    text = wording.format_score(value)
    return text if low is None or high is None else f"{text} [{low:.1f}, {high:.1f}]"


def _describe_group(row: Mapping[Hashable, object], benchmark: str) -> str:
    """What is missing, else what the group weighs or is."""
    missing = row["missing"]
    if isinstance(missing, Sequence) and missing:
        titles = [
            look_up(f"target.group.{part}") or metric_title(benchmark, str(part))
            for part in missing[:_NAMED]
        ]
        names = wording.join_names([*titles, *["…"] * (len(missing) > _NAMED)])
        return tr("target.group_missing", names=names)
    if row["group"] == "single_turn":
        return tr("target.group_ours")
    weight = row["weight"]
    if isinstance(weight, int | float) and not pd.isna(weight):
        return tr("target.group_weight", weight=f"{weight:g}")
    return ""


def _draw_alternate_readings(score: BenchmarkScore, *, show_benchmark: bool) -> None:
    table = target_scores.build_alternate_scores(score.views, score.score)
    if table.empty:
        return
    _draw_heading("target.readings", score, show_benchmark)
    if (table["difference"].abs() < _EQUAL).all() and _GUARDING not in score.views:
        st.caption(tr("target.readings_equal"))
        return
    rows = [
        (
            label("target.view_name", row["view"]),
            wording.format_score(row["score"]),
            "=" if abs(off := row["difference"]) < _EQUAL else wording.format_difference(off),
            _view_about(row["view"], score.benchmark),
        )
        for row in table.to_dict("records")
    ]
    titles = [tr("target.reading_name"), tr("common.score"), tr("target.difference")]
    titles.append(tr("target.reading_about"))
    tables.draw_word_table(titles, rows, tr("target.readings_alt"))
    lost = target_scores.lost_to_format(score.views)
    if lost is not None:
        by_official = "official" in score.views
        word = "target.lost_to_format" if by_official else "target.lost_to_format_strict"
        st.caption(tr(word, points=wording.format_score(lost)))


def _view_about(name: str, benchmark: str) -> str:
    """The rules of a reading, as they are in this benchmark where they differ from others'."""
    own = find_benchmark_text(benchmark, f"view_about.{name}", current_language())
    return own or look_up(f"target.view_about.{name}") or ""


# What the Target page shows at a glance: the outline of the target beside its metrics.

_CHART = 400  # pixels, of a chart that can be read


def draw_target_outline(
    headers: Headers, board: Board, row: Row, name: str, settings: Settings
) -> bool:
    """The outline of the target and its metrics side by side, the charts of several benchmarks two
    to a line; whether there is an outline."""
    key = ("profile", board.identity, row.identity)
    profile = memoize_on_headers(
        headers, key, lambda: targets.build_target_radar(headers, board, row.identity)
    )
    axes = targets.list_radar_axes(board, row)
    profiled = has_profile(profile, axes)
    if profiled and len(row.runs) > 1:
        with st.grid(min_column_width=_CHART):
            with st.container():
                draw_target_profile(profile, axes, name)
            draw_metric_bars(headers, board, row.identity)
        st.caption(tr("target.metrics_about"))
        draw_repeated_tries(row, settings)
        return True
    left, right = st.columns([5, 7], gap="large")
    with left:
        if profiled:
            draw_target_profile(profile, axes, name)
        else:
            draw_alternate_scores(row, settings)
            draw_repeated_tries(row, settings)
    with right:
        draw_metric_bars(headers, board, row.identity)
        st.caption(tr("target.metrics_about"))
        if profiled:
            draw_repeated_tries(row, settings)
    return profiled

"""What a publisher claims of a target beside what its cases give, with all that is peculiar."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from evalcore.errors import EvalboardError
from evalcore.plain_text import DASH
from evalcore.queries import published
from evalcore.queries.boards import Row
from evalcore.settings import Settings
from pages.components.board import benchmark_title, metric_title
from pages.components.language import Translate, note
from pages.components.text import escape, plain

_COLOURS = {0: "orange", 1: "green", 2: "blue"}  # by level
#: Publishers whose scores come about otherwise than by taking over verdicts.
_ABOUT = {"BFCL": ".bfcl", "bundle": ".bundle"}


def marks(row: Row, tr: Translate) -> None:
    """A badge per level of evidence behind the published scores of a row, and their month."""
    levels = {run.benchmarks[key].level for key, run in row.runs.items()}
    for level in sorted(level for level in levels if level is not None):
        st.badge(tr(f"target.level.{level}"), color=_COLOURS.get(level, "gray"))
    newest = max(run.created_at for run in row.runs.values())
    st.caption(tr("target.published_for", month=newest[:7]))


def draw(row: Row, settings: Settings, tr: Translate) -> None:
    """Claims and recomputed scores side by side, then the flags; nothing for a run of ours."""
    newest = max(row.runs.values(), key=lambda run: run.created_at)
    if newest.origin != "imported":
        return
    try:
        told = published.load_published(settings.run_roots, newest.run_id)
    except EvalboardError as error:
        st.error(escape(error, 400), icon=":material/error:")
        return
    if told is None:
        return
    st.subheader(tr("target.published"), anchor=False)
    about = "target.published_about" + _ABOUT.get(told.publisher, "")
    st.caption(tr(about, publisher=escape(told.publisher), month=told.month))
    _scores(published.build_published_scores(told), tr)
    if any(score.level for score in told.scores.values()):
        _flags(published.build_published_flags(told), tr)


def _scores(table: pd.DataFrame, tr: Translate) -> None:
    """The table, and in words what is behind every score that does not simply recompute."""
    shown = table.assign(
        benchmark=[benchmark_title(name) for name in table["benchmark"]],
        level=[tr(f"target.evidence.{level}") for level in table["level"]],
        reading=[tr(f"target.how.{name}") if name else None for name in table["reading"]],
        judges=[plain(names) for names in table["judges"]],
    )
    kinds = st.column_config
    number = {"format": "%.1f"}
    config = {
        "benchmark": kinds.TextColumn(tr("common.benchmark")),
        "claimed": kinds.NumberColumn(tr("target.claimed"), **number),
        "recomputed": kinds.NumberColumn(tr("target.recomputed"), **number),
        "own": kinds.NumberColumn(tr("target.own_weights"), **number),
        "reading": kinds.TextColumn(tr("target.reading")),
        "level": kinds.TextColumn(tr("target.level")),
        "judges": kinds.TextColumn(tr("target.judges")),
        "graded_at": kinds.TextColumn(tr("target.graded_at")),
    }
    told = [name for name in config if table[name].notna().any() and any(table[name] != "")]
    _table(shown[told], config, "scores", tr("target.published_alt"))
    for reading in dict.fromkeys(table["reading"]):
        if reading not in ("", "exact"):
            st.caption(f"{tr(f'target.how.{reading}')}: {tr(f'target.reading.{reading}')}")


def _flags(table: pd.DataFrame, tr: Translate) -> None:
    if table.empty:
        st.caption(tr("target.no_flags"))
        return
    st.caption(tr("target.flags_about"))
    shown = pd.DataFrame(
        {
            "flag": [tr(f"target.flag.{kind}") for kind in table["kind"]],
            "detail": [plain(note(detail)) for detail in table["detail"]],
            "metric": [
                metric_title(benchmark, metric) if metric else None
                for benchmark, metric in zip(table["benchmark"], table["metric"], strict=True)
            ],
            "benchmark": [benchmark_title(name) for name in table["benchmark"]],
        }
    )
    config = {
        "flag": st.column_config.TextColumn(tr("target.flag")),
        "detail": st.column_config.TextColumn(tr("target.detail"), width="large"),
        "metric": st.column_config.TextColumn(tr("common.metric")),
        "benchmark": st.column_config.TextColumn(tr("common.benchmark")),
    }
    _table(shown, config, "flags", tr("target.flags_alt"))


def _table(table: pd.DataFrame, config: dict[str, object], name: str, alt: str) -> None:
    st.dataframe(
        table,
        hide_index=True,
        placeholder=DASH,
        column_config=config,
        alt=alt,
        key=f"target.published.{name}",
    )

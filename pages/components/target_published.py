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
from pages.components.language import Translate, localize_note
from pages.components.text import escape_markdown, to_plain_line

_COLOURS = {0: "orange", 1: "green", 2: "blue"}  # by level
#: Publishers whose scores come about otherwise than by taking over verdicts.
_ABOUT = {"BFCL": ".bfcl", "bundle": ".bundle"}


def draw_published_badges(row: Row, tr: Translate) -> None:
    """A badge per level of evidence behind the published scores of a row, and their month."""
    levels = {run.benchmarks[key].level for key, run in row.runs.items()}
    for level in sorted(level for level in levels if level is not None):
        st.badge(tr(f"target.level.{level}"), color=_COLOURS.get(level, "gray"))
    newest = max(run.created_at for run in row.runs.values())
    st.caption(tr("target.published_for", month=newest[:7]))


def draw_published_scores(row: Row, settings: Settings, tr: Translate) -> None:
    """Claims and recomputed scores side by side, then the flags; nothing for a run of ours."""
    newest = max(row.runs.values(), key=lambda run: run.created_at)
    if newest.origin != "imported":
        return
    try:
        report = published.load_published(settings.run_roots, newest.run_id)
    except EvalboardError as error:
        st.error(escape_markdown(error, 400), icon=":material/error:")
        return
    if report is None:
        return
    st.subheader(tr("target.published"), anchor=False)
    about = "target.published_about" + _ABOUT.get(report.publisher, "")
    st.caption(tr(about, publisher=escape_markdown(report.publisher), month=report.month))
    _draw_claim_table(published.build_published_scores(report), tr)
    if any(score.level for score in report.scores.values()):
        _draw_claim_flags(published.build_published_flags(report), tr)


def _draw_claim_table(table: pd.DataFrame, tr: Translate) -> None:
    """The table, and in words what is behind every score that does not simply recompute."""
    shown = table.assign(
        benchmark=[benchmark_title(name) for name in table["benchmark"]],
        level=[tr(f"target.evidence.{level}") for level in table["level"]],
        reading=[tr(f"target.how.{name}") if name else None for name in table["reading"]],
        judges=[to_plain_line(names) for names in table["judges"]],
    )
    column_config = st.column_config
    number = {"format": "%.1f"}
    config = {
        "benchmark": column_config.TextColumn(tr("common.benchmark")),
        "claimed": column_config.NumberColumn(tr("target.claimed"), **number),
        "recomputed": column_config.NumberColumn(tr("target.recomputed"), **number),
        "own": column_config.NumberColumn(tr("target.own_weights"), **number),
        "reading": column_config.TextColumn(tr("target.reading")),
        "level": column_config.TextColumn(tr("target.level")),
        "judges": column_config.TextColumn(tr("target.judges")),
        "graded_at": column_config.TextColumn(tr("target.graded_at")),
    }
    visible_columns = [
        name for name in config if table[name].notna().any() and any(table[name] != "")
    ]
    _draw_published_table(shown[visible_columns], config, "scores", tr("target.published_alt"))
    for reading in dict.fromkeys(table["reading"]):
        if reading not in ("", "exact"):
            st.caption(f"{tr(f'target.how.{reading}')}: {tr(f'target.reading.{reading}')}")


def _draw_claim_flags(table: pd.DataFrame, tr: Translate) -> None:
    if table.empty:
        st.caption(tr("target.no_flags"))
        return
    st.caption(tr("target.flags_about"))
    shown = pd.DataFrame(
        {
            "flag": [tr(f"target.flag.{kind}") for kind in table["kind"]],
            "detail": [to_plain_line(localize_note(detail)) for detail in table["detail"]],
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
    _draw_published_table(shown, config, "flags", tr("target.flags_alt"))


def _draw_published_table(
    table: pd.DataFrame, config: dict[str, object], name: str, alt: str
) -> None:
    st.dataframe(
        table,
        hide_index=True,
        placeholder=DASH,
        column_config=config,
        alt=alt,
        key=f"target.published.{name}",
    )

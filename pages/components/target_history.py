"""The runs of a target over time, and how the cases of its newest ones ended."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pandas as pd
import streamlit as st

from evalcore.i18n import lookup_text
from evalcore.plain_text import DASH
from evalcore.queries import targets
from evalcore.queries.boards import Board, Row
from evalcore.queries.stored_boards import Headers
from pages.components import numbers, state, target_charts
from pages.components.board import benchmark_title, cost_format, describe_score
from pages.components.language import Translate, current_language
from pages.components.target_cases import outcome_title
from pages.components.text import to_plain_line

_OPENED_RUN_KEY = "target.open_run"


def draw_target_history(headers: Headers, board: Board, identity: str, tr: Translate) -> None:
    """Scores over time, then every run of the target on any board, newest first."""
    history = targets.build_run_history(targets.list_target_runs(headers, identity), board)
    target_charts.draw_target_trend(history, tr)
    st.subheader(tr("target.runs"), anchor=False)
    _draw_history_table(history.iloc[::-1].reset_index(drop=True), tr)


def _draw_history_table(runs: pd.DataFrame, tr: Translate) -> None:
    """The runs as they are ordered; a click on an id opens the run."""
    table = pd.DataFrame(
        {
            "run": [to_plain_line(run) for run in runs["run_id"]],
            "date": runs["date"],
            "board": [describe_score(run) for run in runs.to_dict("records")],
            "on_board": ["✓" if own else "" for own in runs["on_board"]],
            "score": runs["score"],
            "coverage": runs["coverage"],
            "state": [tr(f"common.state.{name}") for name in runs["state"]],
            "cost": runs["cost"].astype(float),
            "note": [to_plain_line(note) for note in runs["note"]],
        }
    )
    if (table["note"] == "").all():
        del table["note"]
    st.dataframe(
        table,
        hide_index=True,
        placeholder=DASH,
        key=f"{_OPENED_RUN_KEY}.table",
        alt=tr("target.runs_alt"),
        column_config=_build_history_config(table, tr),
    )
    click = st.session_state.get(_OPENED_RUN_KEY)
    if click is not None and click["row"] < len(runs):
        st.switch_page(state.RUNS, query_params={"run": runs["run_id"].iloc[click["row"]]})


def _build_history_config(table: pd.DataFrame, tr: Translate) -> dict[str, Any]:
    column_config, money = st.column_config, cost_format(table["cost"])
    return {
        "run": column_config.ButtonColumn(
            tr("target.run"),
            type="tertiary",
            alignment="left",
            key=_OPENED_RUN_KEY,
            help=tr("target.open_run_help"),
        ),
        "date": column_config.DatetimeColumn(tr("ranking.date"), format="YYYY-MM-DD HH:mm"),
        "board": column_config.TextColumn(tr("target.board"), width=330),
        "on_board": column_config.TextColumn(
            tr("target.on_board"), width="small", alignment="center"
        ),
        "score": column_config.NumberColumn(tr("common.score"), format="%.1f", width="small"),
        "coverage": column_config.NumberColumn(
            tr("target.coverage"), format="percent", width="small"
        ),
        "state": column_config.TextColumn(tr("target.state"), width="small"),
        "cost": column_config.NumberColumn(tr("common.cost"), format=money, width="small"),
        "note": column_config.TextColumn(tr("target.note")),
    }


def draw_target_outcomes(row: Row, board: Board, tr: Translate) -> None:
    """The outcomes of every benchmark with the score triple, and the errors by kind."""
    counts = targets.count_target_outcomes(row)
    for _, score in targets.benchmark_frame(row, board).iterrows():
        if pd.isna(score["run_id"]):
            continue
        own = counts[counts["benchmark"] == score["benchmark"]]
        total, measured = int(own["count"].sum()), round(score["coverage"] * own["count"].sum())
        strict, answered = (
            None if pd.isna(score[name]) else float(score[name]) for name in ("score", "answered")
        )
        st.subheader(benchmark_title(score["benchmark"]), anchor=False)
        st.caption(
            tr(
                "target.coverage_note",
                measured=measured,
                total=total,
                strict=numbers.format_score(strict),
                answered=numbers.format_score(answered),
            )
        )
        words = [outcome_title(outcome, tr) for outcome in own["outcome"]]
        _draw_count_table(words, list(own["count"]), "common.outcome", "target.outcomes_alt", tr)
    _draw_target_errors(row, tr)


def _draw_target_errors(row: Row, tr: Translate) -> None:
    errors: Counter[str] = Counter()
    for run in {run.run_id: run for run in row.runs.values()}.values():
        errors.update(run.errors)
    st.subheader(tr("target.errors"), anchor=False)
    if not errors:
        st.caption(tr("target.no_errors"))
        return
    words = [
        lookup_text(f"common.error.{kind}", current_language()) or to_plain_line(kind)
        for kind in errors
    ]
    _draw_count_table(words, list(errors.values()), "target.error", "target.errors_alt", tr)


def _draw_count_table(
    words: list[str], counts: list[int], title: str, alt: str, tr: Translate
) -> None:
    """A small table of words, counts and their share."""
    column_config = st.column_config
    st.dataframe(
        pd.DataFrame(
            {"word": words, "count": counts, "share": 100 * pd.Series(counts) / sum(counts)}
        ),
        hide_index=True,
        width=460,
        alt=tr(alt),
        column_config={
            "word": column_config.TextColumn(tr(title), width="medium"),
            "count": column_config.NumberColumn(tr("target.count"), width="small"),
            "share": column_config.ProgressColumn(
                tr("target.share"), min_value=0, max_value=100, format="%.0f %%", width="medium"
            ),
        },
    )

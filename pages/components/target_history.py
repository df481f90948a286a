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
from pages.components.board import benchmark_title, cost_format, describe
from pages.components.language import Translate, current
from pages.components.target_cases import outcome_title
from pages.components.text import plain

_OPEN = "target.open_run"


def draw(headers: Headers, board: Board, identity: str, tr: Translate) -> None:
    """Scores over time, then every run of the target on any board, newest first."""
    history = targets.build_run_history(targets.list_target_runs(headers, identity), board)
    target_charts.trend(history, tr)
    st.subheader(tr("target.runs"), anchor=False)
    _table(history.iloc[::-1].reset_index(drop=True), tr)


def _table(runs: pd.DataFrame, tr: Translate) -> None:
    """The runs as they are ordered; a click on an id opens the run."""
    table = pd.DataFrame(
        {
            "run": [plain(run) for run in runs["run_id"]],
            "date": runs["date"],
            "board": [describe(run) for run in runs.to_dict("records")],
            "on_board": ["✓" if own else "" for own in runs["on_board"]],
            "score": runs["score"],
            "coverage": runs["coverage"],
            "state": [tr(f"common.state.{name}") for name in runs["state"]],
            "cost": runs["cost"].astype(float),
            "note": [plain(note) for note in runs["note"]],
        }
    )
    if (table["note"] == "").all():
        del table["note"]
    st.dataframe(
        table,
        hide_index=True,
        placeholder=DASH,
        key=f"{_OPEN}.table",
        alt=tr("target.runs_alt"),
        column_config=_config(table, tr),
    )
    click = st.session_state.get(_OPEN)
    if click is not None and click["row"] < len(runs):
        st.switch_page(state.RUNS, query_params={"run": runs["run_id"].iloc[click["row"]]})


def _config(table: pd.DataFrame, tr: Translate) -> dict[str, Any]:
    kinds, money = st.column_config, cost_format(table["cost"])
    return {
        "run": kinds.ButtonColumn(
            tr("target.run"),
            type="tertiary",
            alignment="left",
            key=_OPEN,
            help=tr("target.open_run_help"),
        ),
        "date": kinds.DatetimeColumn(tr("ranking.date"), format="YYYY-MM-DD HH:mm"),
        "board": kinds.TextColumn(tr("target.board"), width=330),
        "on_board": kinds.TextColumn(tr("target.on_board"), width="small", alignment="center"),
        "score": kinds.NumberColumn(tr("common.score"), format="%.1f", width="small"),
        "coverage": kinds.NumberColumn(tr("target.coverage"), format="percent", width="small"),
        "state": kinds.TextColumn(tr("target.state"), width="small"),
        "cost": kinds.NumberColumn(tr("common.cost"), format=money, width="small"),
        "note": kinds.TextColumn(tr("target.note")),
    }


def outcomes(row: Row, board: Board, tr: Translate) -> None:
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
                strict=numbers.score(strict),
                answered=numbers.score(answered),
            )
        )
        words = [outcome_title(outcome, tr) for outcome in own["outcome"]]
        _counts(words, list(own["count"]), "common.outcome", "target.outcomes_alt", tr)
    _errors(row, tr)


def _errors(row: Row, tr: Translate) -> None:
    errors: Counter[str] = Counter()
    for run in {run.run_id: run for run in row.runs.values()}.values():
        errors.update(run.errors)
    st.subheader(tr("target.errors"), anchor=False)
    if not errors:
        st.caption(tr("target.no_errors"))
        return
    words = [lookup_text(f"common.error.{kind}", current()) or plain(kind) for kind in errors]
    _counts(words, list(errors.values()), "target.error", "target.errors_alt", tr)


def _counts(words: list[str], counts: list[int], title: str, alt: str, tr: Translate) -> None:
    """A small table of words, counts and their share."""
    kinds = st.column_config
    st.dataframe(
        pd.DataFrame(
            {"word": words, "count": counts, "share": 100 * pd.Series(counts) / sum(counts)}
        ),
        hide_index=True,
        width=460,
        alt=tr(alt),
        column_config={
            "word": kinds.TextColumn(tr(title), width="medium"),
            "count": kinds.NumberColumn(tr("target.count"), width="small"),
            "share": kinds.ProgressColumn(
                tr("target.share"), min_value=0, max_value=100, format="%.0f %%", width="medium"
            ),
        },
    )

"""The table of all runs, a page of it at a time; choosing a row puts the run into the URL."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from evalcore.catalog import benchmark_cards, localize_text
from evalcore.plain_text import DASH
from evalcore.queries import runs
from evalcore.queries.runs import RunRow
from pages.components import names, numbers, run_levels, url_state
from pages.components.language import Translate, current_language
from pages.components.text import to_plain_line

_TABLE, _SHOWN, _PAGER = "runs.table", "runs.shown", "runs.pager"
_PAGE = 100  # runs
#: A sign beside the word, so that a state is seen at a glance and not by colour alone.
SIGNS: dict[str, str] = {
    "planned": "○",
    "running": "▶",
    "done": "✓",
    "incomplete": "◐",
    "cancelled": "■",
    "interrupted": "‖",
    "broken": "✕",
}


def draw_run_list(all_rows: Sequence[RunRow], chosen: str, tr: Translate) -> None:
    """The table, newest first; where there are many runs, the page that holds the `chosen` one and
    a search."""
    rows = all_rows if len(all_rows) <= _PAGE else _select_list_page(all_rows, chosen, tr)
    st.session_state[_SHOWN] = [row.run_id for row in rows]
    st.dataframe(
        _build_run_list_table(rows, tr),
        key=_TABLE,
        hide_index=True,
        height=min(38 + 35 * len(rows), 320),
        on_select=_choose_run,
        selection_mode="single-row",
        placeholder=DASH,
        column_config={
            "progress": st.column_config.ProgressColumn(
                tr("runs.progress"), format="%d%%", min_value=0, max_value=100, width="small"
            ),
            "state": st.column_config.TextColumn(tr("runs.state")),
            "target": st.column_config.TextColumn(tr("common.target")),
            "benchmarks": st.column_config.TextColumn(tr("common.benchmark"), width=250),
            "score": st.column_config.NumberColumn(
                tr("common.score"), format="%.1f", width="small"
            ),
            "started": st.column_config.TextColumn(tr("runs.started")),
            "run": st.column_config.TextColumn(tr("runs.run")),
            "level": st.column_config.TextColumn(tr("submit.evidence")),
        },
        alt=tr("runs.list_alt"),
    )


def _select_list_page(all_rows: Sequence[RunRow], chosen: str, tr: Translate) -> Sequence[RunRow]:
    """What the search finds, a page of it: first that of the chosen run, then wherever a person
    turns to, until they choose or search anew."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = url_state.draw_search(
            tr("ranking.search"),
            page="runs",
            name="q",
            placeholder=tr("runs.search_hint"),
            width=260,
        )
        matches = runs.filter_run_rows(all_rows, text)
        st.caption(tr("runs.found", count=len(matches), total=len(all_rows)), width="content")
        if len(matches) <= _PAGE:
            return matches
        st.space("stretch")
        position = next((n for n, row in enumerate(matches) if row.run_id == chosen), 0)
        number = st.pagination(
            -(-len(matches) // _PAGE),
            default=1 + position // _PAGE,
            key=f"{_PAGER}.{chosen}.{text}",
        )
    return matches[(number - 1) * _PAGE : number * _PAGE]


def _build_run_list_table(rows: Sequence[RunRow], tr: Translate) -> pd.DataFrame:
    rows_by_benchmarks = {row.benchmarks: row for row in rows}  # a few, each of many runs
    titles = {
        benchmarks: format_benchmark_titles(row) for benchmarks, row in rows_by_benchmarks.items()
    }
    named = names.resolve_target_names({row.target.identity: row.target.key for row in rows})
    table = pd.DataFrame(
        {
            "state": [f"{SIGNS[row.state]} {tr(f'common.state.{row.state}')}" for row in rows],
            "target": [to_plain_line(named[row.target.identity]) for row in rows],
            "benchmarks": [titles[row.benchmarks] for row in rows],
            "progress": [int(row.fraction * 100) for row in rows],
            "score": pd.Series([row.measured_score for row in rows], dtype="float64"),
            "started": [numbers.format_timestamp(row.created_at) for row in rows],
            "run": [row.run_id for row in rows],
        }
    )
    if any(row.levels for row in rows):
        run_here = (run_levels.RUN_HERE,)
        named = [row.levels or run_here * (row.origin == "executed") for row in rows]
        table["level"] = [run_levels.format_levels(levels, tr) for levels in named]
    return table


def format_benchmark_titles(row: RunRow) -> str:
    """The benchmarks of a run by title, or by key where this installation has no card for one."""
    cards, language = benchmark_cards(), current_language()
    titles = [
        localize_text(cards[key].title, language) if key in cards else to_plain_line(key)
        for key in row.benchmarks
    ]
    return ", ".join(titles)


def _choose_run() -> None:
    """The row that was clicked, as the run of the page: by id, since rows move as runs come."""
    chosen = st.session_state[_TABLE]["selection"]["rows"]
    shown = st.session_state.get(_SHOWN, [])
    if chosen and chosen[0] < len(shown):
        st.query_params["run"] = shown[chosen[0]]

"""The table of all runs; choosing a row puts the run into the URL."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from evalcore.catalog import benchmark_cards, local
from evalcore.queries import runs
from evalcore.queries.runs import RunRow
from pages.components import names, numbers
from pages.components.language import Translate, current
from pages.components.text import plain

_TABLE, _SHOWN = "runs.table", "runs.shown"
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


def draw(rows: Sequence[RunRow], tr: Translate) -> None:
    """The table, newest first."""
    st.session_state[_SHOWN] = [row.run_id for row in rows]
    st.dataframe(
        _table(rows, tr),
        key=_TABLE,
        hide_index=True,
        height=min(38 + 35 * len(rows), 320),
        on_select=_choose,
        selection_mode="single-row",
        placeholder=tr("common.none"),
        column_config={
            "progress": st.column_config.ProgressColumn(
                tr("runs.progress"), format="%d%%", min_value=0, max_value=100, width="small"
            ),
            "state": st.column_config.TextColumn(tr("runs.state")),
            "target": st.column_config.TextColumn(tr("common.target")),
            "benchmarks": st.column_config.TextColumn(tr("common.benchmark")),
            "score": st.column_config.NumberColumn(
                tr("common.score"), format="%.1f", width="small"
            ),
            "started": st.column_config.TextColumn(tr("runs.started")),
            "run": st.column_config.TextColumn(tr("runs.run")),
        },
        alt=tr("runs.list_alt"),
    )


def _table(rows: Sequence[RunRow], tr: Translate) -> pd.DataFrame:
    data = runs.frame(rows)
    named = names.among({row.target.identity: row.target.key for row in rows})
    return pd.DataFrame(
        {
            "state": [f"{SIGNS[row.state]} {tr(f'common.state.{row.state}')}" for row in rows],
            "target": [plain(named.get(name, name)) for name in data["target"]],
            "benchmarks": [benchmark_titles(row) for row in rows],
            "progress": (data["fraction"] * 100).astype(int),
            "score": pd.to_numeric(data["score"]),
            "started": [numbers.moment(stamp, tr) for stamp in data["created_at"]],
            "run": data["run_id"],
        }
    )


def benchmark_titles(row: RunRow) -> str:
    """The benchmarks of a run by title, or by key where this installation has no card for one."""
    cards, language = benchmark_cards(), current()
    titles = [
        local(cards[key].title, language) if key in cards else plain(key) for key in row.benchmarks
    ]
    return ", ".join(titles)


def _choose() -> None:
    """The row that was clicked, as the run of the page: by id, since rows move as runs come."""
    chosen = st.session_state[_TABLE]["selection"]["rows"]
    shown = st.session_state.get(_SHOWN, [])
    if chosen and chosen[0] < len(shown):
        st.query_params["run"] = shown[chosen[0]]

"""The tables of the Ranking page: the ranked, those without a rank, and both as CSV."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from evalcore.queries.boards import Board
from evalcore.queries.ranking_views import parts
from pages.components import state
from pages.components.board import benchmark_title, cost_format, kind_title, metric_title, span
from pages.components.language import Translate
from pages.components.text import plain

_NAME_LENGTH = 60
_FORMULA = tuple("=+-@\t\r")  # what a spreadsheet takes for the beginning of one
_TALLEST = 20  # rows before the table scrolls


def ranked(frame: pd.DataFrame, board: Board, tr: Translate) -> None:
    """The ranked targets; a click on a name opens the target."""
    table = _shared(frame, board, tr)
    table.insert(0, "rank", frame["rank"])
    table.insert(4, "range", _spans(frame, "rank_low", "rank_high", "{:.0f}"))
    table.insert(5, "group", frame["group"])
    narrow = {"width": 76, "alignment": "center"}
    config = {
        "rank": _column(
            tr, "rank", st.column_config.NumberColumn, width=52, alignment="center", pinned=True
        ),
        "range": _column(tr, "rank_range", st.column_config.TextColumn, **narrow),
        "group": _column(tr, "group", st.column_config.NumberColumn, **narrow),
    }
    config |= _config(frame, board, "ranking.open", tr)
    _draw(frame, table, config, "ranking.open", tr("ranking.table_alt"))


def unranked(frame: pd.DataFrame, board: Board, tr: Translate) -> None:
    """The targets without a rank, each with the reason."""
    table = _shared(frame, board, tr)
    table.insert(1, "status", [tr(f"ranking.status.{status}") for status in frame["status"]])
    reason = st.column_config.TextColumn(tr("ranking.status"), width="medium")
    config = {"status": reason} | _config(frame, board, "ranking.open_other", tr)
    _draw(frame, table, config, "ranking.open_other", tr("ranking.unranked_alt"))


def as_csv(frame: pd.DataFrame) -> bytes:
    """The frame as CSV in UTF-8, its texts never read as formulas by a spreadsheet."""
    texts = frame.select_dtypes(exclude=["number", "bool", "datetimetz"])
    safe = texts.map(
        lambda cell: f"'{cell}" if isinstance(cell, str) and cell[:1] in _FORMULA else cell
    )
    return frame.assign(**{str(name): safe[name] for name in safe}).to_csv(index=False).encode()


def _draw(
    frame: pd.DataFrame, table: pd.DataFrame, config: dict[str, Any], key: str, alt: str
) -> None:
    """The table; `key` holds the click on a name, which is gone after one run of the page."""
    st.dataframe(
        table,
        hide_index=True,
        column_config=config,
        placeholder="–",
        height=38 + 35 * min(len(table), _TALLEST),
        key=f"{key}.table",
        alt=alt,
    )
    click = st.session_state.get(key)
    if click is not None and click["row"] < len(frame):
        identity = frame["identity"].iloc[click["row"]]
        st.switch_page(state.TARGET, query_params={"key": identity})


def _shared(frame: pd.DataFrame, board: Board, tr: Translate) -> pd.DataFrame:
    """The columns that both tables have, as they are shown."""
    table = pd.DataFrame({"target": [plain(name, _NAME_LENGTH) for name in frame["identity"]]})
    table["score"] = frame["score"].to_numpy()
    table["interval"] = _spans(frame, "low", "high", "{:.1f}")
    table["cost"] = frame["cost"].astype(float).to_numpy()
    for name in parts(board):
        table[name] = frame[name].astype(float).to_numpy()
    whole = frame["measured"] + frame["errors"]
    table["passed"] = [
        f"{p}/{n}" if n else None for p, n in zip(frame["passed"], whole, strict=True)
    ]
    tokens = frame["input_tokens"].astype(float) + frame["output_tokens"].astype(float)
    table["tokens"] = tokens.to_numpy()
    table["latency"] = frame["latency"].astype(float).to_numpy()
    table["coverage"] = frame["coverage"].to_numpy()
    table["date"] = frame["date"].dt.date.to_numpy()
    table["kind"] = [
        f"{kind_title(kind)} · {tr('ranking.self_judged')}" if by_itself else kind_title(kind)
        for kind, by_itself in zip(frame["kind"], frame["self_judged"], strict=True)
    ]
    return table


def _spans(frame: pd.DataFrame, low: str, high: str, form: str) -> list[str | None]:
    return [span(a, b, form) or None for a, b in zip(frame[low], frame[high], strict=True)]


def _config(frame: pd.DataFrame, board: Board, key: str, tr: Translate) -> dict[str, Any]:
    kinds = st.column_config
    config = {
        "target": kinds.ButtonColumn(
            tr("common.target"),
            type="tertiary",
            alignment="left",
            width=228,
            pinned=True,
            key=key,
            help=tr("ranking.open_hint"),
        ),
        "score": kinds.ProgressColumn(
            tr("common.score"), min_value=0, max_value=100, format="%.1f", width=140
        ),
        "interval": kinds.TextColumn(tr("ranking.interval"), width=105),
        "passed": _column(tr, "passed", kinds.TextColumn, width="small", alignment="right"),
        "cost": kinds.NumberColumn(
            tr("common.cost"),
            format=cost_format(frame["cost"]),
            help=tr("ranking.cost_help"),
            width="small",
        ),
        "tokens": kinds.NumberColumn(tr("ranking.tokens"), format="compact", width="small"),
        "latency": kinds.NumberColumn(
            tr("common.latency"), format="%.2f s", help=tr("ranking.latency_help"), width="small"
        ),
        "coverage": _column(tr, "coverage", kinds.NumberColumn, format="percent", width="small"),
        "date": kinds.DateColumn(tr("ranking.date"), format="YYYY-MM-DD", width="small"),
        "kind": kinds.TextColumn(tr("ranking.kind_column"), width="medium"),
    }
    for name in parts(board):
        benchmark, _, metric = name.partition("/")
        title = metric_title(benchmark, metric) if metric else benchmark_title(benchmark)
        config[name] = kinds.NumberColumn(title, format="%.1f", width=_part_width(title))
    return config


def _part_width(title: str) -> int:
    """Pixels that a title takes: its characters, those of Chinese being twice as wide."""
    return 28 + sum(7 if ord(sign) < 0x2E80 else 14 for sign in title)


def _column(tr: Translate, name: str, kind: Any, **look: Any) -> Any:
    """A column whose title and help are the texts `name` and `name_help`."""
    return kind(tr(f"ranking.{name}"), help=tr(f"ranking.{name}_help"), **look)

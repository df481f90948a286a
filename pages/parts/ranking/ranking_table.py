"""The tables of the Ranking page, their columns and sort, and the links that lead on from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st

from evalcore.catalog import find_target_kind
from evalcore.plain_text import DASH
from evalcore.views.boards import Board
from evalcore.views.ranking import RANK_ORDER, is_ascending, list_sort_keys
from pages.shared import board_view as shared
from pages.shared import drawn_html, exports, page_links, tables, url_state, widgets
from pages.shared.board_view import kind_title
from pages.shared.drawn_columns import DrawnColumn, ScoreAxis, mark_bands
from pages.shared.wording import format_compact_count, format_duration, to_plain_line, tr

# How the rows of the Ranking page stand: which columns, in which order. Both are in the URL.

#: In the order in which they stand in the table; the parts of the board come after `_BEFORE`.
_BEFORE = ("interval", "range", "group")
_AFTER = (
    *("cost", "organization", "passed", "tokens", "latency", "price"),
    *("parameters", "weights", "released"),
)
_LAST = ("coverage", "date", "kind")
_USUAL = ("interval", "range", "group", "cost", "latency", "date", "kind")
#: Columns that only a rank gives a meaning.
RANKED_ONLY = ("range", "group")
#: Columns that stand within another cell.
_INNER = ("interval", "range", "group", "organization", "kind")
_TITLES = {
    **{name: f"common.{name}" for name in ("cost", "latency")},
    **{name: f"ranking.{name}" for name in ("interval", "group", "passed", "tokens")},
    **{name: f"ranking.{name}" for name in ("coverage", "date")},
    "range": "ranking.rank_range",
    "kind": "ranking.kind_column",
}
_MENU = "ranking.columns"


class TableView(NamedTuple):
    """The order of the rows and the columns beside rank, target and score."""

    sort: str
    columns: list[str]


def draw_view_menu(board: Board, parts: Sequence[str], frame: pd.DataFrame) -> TableView:
    """The button that unfolds order and columns; returns both."""
    all_columns = [*_BEFORE, *parts, *_AFTER, *_LAST]
    default_columns = {*_USUAL, *parts}
    default_columns |= {"organization"} if (frame["organization"] != "").any() else set()
    menu = url_state.draw_menu(tr("board.view"), "view_column", _MENU)
    with menu.container(width=420) if menu.open else nullcontext():
        sort = url_state.draw_select(
            tr("board.sort"),
            list_sort_keys(board),
            key="ranking.sort",
            title=_sort_title,
            drawn=menu.open,
            help=tr("board.sort_help"),
        )
        chosen = url_state.draw_default_multiselect(
            tr("board.columns_label"),
            all_columns,
            [name for name in all_columns if name in default_columns],
            key="ranking.cols",
            title=ranking_column_title,
            drawn=menu.open,
            help=tr("board.columns_help"),
            placeholder=tr("board.columns_none"),
        )
    return TableView(sort, [name for name in all_columns if name in chosen])


def _sort_title(code: str) -> str:
    """Says with which end the order begins."""
    if code in (RANK_ORDER, "name", "date"):
        return tr(f"board.sort.{code}")
    way = "board.sort.low_first" if is_ascending(code) else "board.sort.high_first"
    return tr(way, name=ranking_column_title(code))


def ranking_column_title(name: str) -> str:
    """The title of a column."""
    if name in _TITLES:
        return tr(_TITLES[name])
    is_fixed_column = name in (*_BEFORE, *_AFTER, *_LAST)
    return tr(f"board.{name}") if is_fixed_column else shared.part_title(name)


_NAME_LENGTH = 60
_MANY_COLUMNS = 3  # beside the usual ones, before the drawn intervals give way


class RowFormat(NamedTuple):
    """How rows are drawn: with which columns, on which axis, which row is marked, in how many
    digits costs are, and where the name of an identity leads."""

    columns: Sequence[str]
    axis: ScoreAxis
    own: str
    cost: str
    address: Callable[[str], str]


def build_target_address(identity: str) -> str:
    """Where the name of a target that was measured here leads."""
    return drawn_html.build_address(page_links.TARGET, {"key": identity})


def draw_ranked_table(
    frame: pd.DataFrame,
    columns: Sequence[str],
    axis: ScoreAxis,
    own: str = "",
    address: Callable[[str], str] = build_target_address,
) -> None:
    """The ranked targets, each name a link to the `address` of its identity; `own` is the identity
    of a marked row."""
    drawn = _list_drawn_columns(columns, "rank", "group" in columns)
    look = RowFormat(columns, axis, own, tables.cost_format(frame["cost"]), address)
    rows = [_build_row(record, look) for record in frame.to_dict("records")]
    mark_bands(rows)
    note = tr("ranking.floors_drawn") if axis.floors and "interval" in columns else ""
    _draw_table(drawn, rows, columns, axis, tr("ranking.table_alt"), note)


def draw_unranked_table(
    frame: pd.DataFrame,
    columns: Sequence[str],
    axis: ScoreAxis,
    own: str = "",
    address: Callable[[str], str] = build_target_address,
) -> None:
    """The targets without a rank, each with the reason."""
    without = {*RANKED_ONLY} | (set() if frame["score"].notna().any() else {"interval"})
    visible_columns = [name for name in columns if name not in without]
    drawn = _list_drawn_columns(visible_columns, "", False)
    look = RowFormat(visible_columns, axis, own, tables.cost_format(frame["cost"]), address)
    rows = [_build_row(record, look) for record in frame.to_dict("records")]
    _draw_table(drawn, rows, visible_columns, axis, tr("ranking.unranked_alt"), "")


def _draw_table(
    drawn: Sequence[DrawnColumn],
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[str],
    axis: ScoreAxis,
    alt: str,
    note: str,
) -> None:
    further = [name for name in columns if name not in _INNER]
    look = " ".join(
        [
            *(["eb-wide"] if len(further) > _MANY_COLUMNS else []),
            *(["eb-chosen"] if "cols" in st.query_params else []),
        ]
    )
    drawn_html.draw_template(
        "ranking_table", columns=drawn, rows=rows, axis=axis, alt=alt, note=note, look=look
    )


def _list_drawn_columns(columns: Sequence[str], rank: str, tied: bool) -> list[DrawnColumn]:
    """The columns of the drawn table: on a phone those up to the intervals are seen."""
    first = [DrawnColumn("rank", "rank", tr("ranking.rank"), tr("ranking.rank_range_help"))]
    tie = [DrawnColumn("group", "tie", tr("ranking.group"))]
    plot = DrawnColumn("interval", "plot", tr("ranking.interval"), tr("board.interval_help"))
    return [
        *(first if rank else []),
        *(tie if tied else []),
        DrawnColumn("target", "name", tr("common.target")),
        DrawnColumn("score", "score", tr("common.score")),
        *([plot] if "interval" in columns else []),
        *(_build_further_column(name) for name in columns if name not in _INNER),
    ]


def _build_further_column(name: str) -> DrawnColumn:
    about = tr(_ABOUTS[name]) if name in _ABOUTS else ""
    kind = "text" if name in ("weights", "released", "date") else "number"
    return DrawnColumn(name, kind, ranking_column_title(name), about)


#: Column -> the text that says what it means.
_ABOUTS: Mapping[str, str] = {
    "passed": "ranking.passed_help",
    "latency": "ranking.latency_help",
    "cost": "ranking.cost_help",
    "price": "board.price_help",
    "parameters": "board.size_help",
    "weights": "board.weights_help",
    "coverage": "ranking.coverage_help",
}


def _build_row(record: Mapping[Any, Any], look: RowFormat) -> dict[str, Any]:
    """What the template shows of a row."""
    columns, axis = look.columns, look.axis
    known = {name: None if _is_missing(value) else value for name, value in record.items()}
    is_own = bool(look.own) and known["identity"] == look.own
    low, high = known["low"], known["high"]
    has_interval = low is not None and high is not None
    bar = None
    if known["score"] is not None and axis.first <= known["score"] <= axis.last:
        left = axis.place(low if has_interval else known["score"])
        width = axis.place(high) - left if has_interval else 0.0
        bar = {"left": left, "width": round(width, 2), "dot": axis.place(known["score"])}
    status = known["status"]
    ranked = status == "ranked"
    ends = (known["rank_low"], known["rank_high"])
    return {
        "rank": known["rank"] if ranked else "",
        "range": tables.format_number_range(*ends, "{:.0f}")
        if ranked and "range" in columns and ends[0] != ends[1]
        else "",
        "group": known["group"] or 0,
        "look": "eb-own" if is_own else "",
        "own": is_own,
        "href": look.address(known["identity"]),
        "name": to_plain_line(known["name"], _NAME_LENGTH),
        "logo": known["logo"] or "",
        "new": tr("board.new") if known["new"] else "",
        "organization": to_plain_line(known["organization"] or "", _NAME_LENGTH)
        if "organization" in columns
        else "",
        "kind_title": _format_kind(known) if "kind" in columns and status != "control" else "",
        "program": is_program(str(known["target_key"])),
        "status": "" if ranked else tr(f"ranking.status.{status}"),
        "score": DASH if known["score"] is None else f"{known['score']:.1f}",
        "interval": tables.format_number_range(low, high, "{:.1f}")
        if has_interval and "interval" in columns
        else "",
        "bar": bar,
        "cells": {
            name: _format_cell(name, known, look.cost) for name in columns if name not in _INNER
        },
        "band": 0,
        "first": True,
        "last": True,
    }


def _is_missing(value: Any) -> bool:
    return value is None or bool(pd.isna(value))


def is_program(target_key: str) -> bool:
    """Whether a target is a program that comes with this package, and no model."""
    card = find_target_kind(target_key)
    return card is not None and card.reaches_nobody


def _format_kind(known: Mapping[str, Any]) -> str:
    title = kind_title(known["kind"])
    return f"{title} · {tr('ranking.self_judged')}" if known["self_judged"] else title


def _format_cell(name: str, known: Mapping[str, Any], cost: str) -> str:
    """A cell of a further column; a dash where nothing is known."""
    whole = (known["measured"] or 0) + (known["errors"] or 0)
    tokens = (known["input_tokens"], known["output_tokens"])
    value: Any = known.get(name)
    if name == "passed":
        value = f"{known['passed']:.0f}/{whole:.0f}" if whole else None
    elif name == "tokens":
        value = None if None in tokens else format_compact_count(sum(tokens))
    elif name == "date":
        value = value.date().isoformat()
    elif name == "weights":
        value = tr(f"board.weights.{value}") if value else None
    elif name == "cost" and value is not None:
        value = cost % value
    elif name == "latency" and value is not None:
        value = format_duration(value)
    elif value is not None and name != "released":
        value = _FORMATS.get(name, "{:.1f}").format(float(value))
    return str(value) if value else DASH


_FORMATS: Mapping[str, str] = {"price": "${:.2f}", "parameters": "{:.3g} B", "coverage": "{:.0%}"}


# The ways on from the Ranking page: the metrics, the rules, a file, the link.

_HIDDEN_COLUMNS = ["logo"]  # columns that are no data


def draw_ranking_links(rows: pd.DataFrame, board: Board) -> None:
    """Links for a row of them; `rows` are the rows on the page, in their order."""
    query = {"suite": board.suite, "board": board.key}
    widgets.draw_link(page_links.METRICS, tr("board.metrics"), "bar_chart", **query)
    widgets.draw_link(page_links.METHODOLOGY, tr("board.methodology"), "function", **query)
    widgets.draw_download(
        tr("ranking.download"),
        lambda: exports.to_csv_bytes(rows.drop(columns=_HIDDEN_COLUMNS)),
        f"evalboard-{board.suite}-{board.key}.csv",
        type="tertiary",
    )

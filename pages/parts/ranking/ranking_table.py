"""The tables of the Ranking page, their columns and sort, and the links that lead on from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import pandas as pd
import streamlit as st

from evalcore.single_flight import SingleFlightCache
from evalcore.views.boards import Board
from evalcore.views.ranking import RANK_ORDER, is_ascending, list_sort_keys
from pages.shared import board_view as shared
from pages.shared import exports, page_links, tables, url_state, widgets
from pages.shared.board_view import kind_title
from pages.shared.wording import current_language, to_plain_line, tr

# How the rows of the Ranking page stand: which columns, in which order. Both are in the URL.

#: In the order in which they stand in the table; the parts of the board come after `_BEFORE`.
_BEFORE = ("interval", "range", "group")
_AFTER = (
    *("cost", "organization", "passed", "tokens", "latency", "price"),
    *("parameters", "weights", "released"),
)
_LAST = ("coverage", "date", "kind")
_USUAL = ("interval", "range", "group", "cost", "latency", "date")
#: Columns that only a rank gives a meaning.
RANKED_ONLY = ("range", "group")
_TITLES = {
    **{name: f"common.{name}" for name in ("cost", "latency")},
    **{name: f"ranking.{name}" for name in ("interval", "group", "passed", "tokens")},
    **{name: f"ranking.{name}" for name in ("coverage", "date")},
    "new": "board.new_column",
    "range": "ranking.rank_range",
    "kind": "ranking.kind_column",
}


def select_ranking_columns(parts: Sequence[str], frame: pd.DataFrame) -> list[str]:
    """The columns beside rank, target and score that are wanted, in the order of the table."""
    all_columns = [*_BEFORE, *parts, *_AFTER, *_LAST]
    default_columns = {*_USUAL, *parts}
    default_columns |= {"organization"} if (frame["organization"] != "").any() else set()
    menu = st.popover(
        tr("board.columns"), icon=":material/view_column:", key="ranking.columns", on_change="rerun"
    )
    with menu.container(width=420) if menu.open else nullcontext():
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
    return [name for name in all_columns if name in chosen]


def select_sort_key(board: Board) -> str:
    """What the rows are put in order by."""
    return url_state.draw_select(
        tr("board.sort"),
        list_sort_keys(board),
        key="ranking.sort",
        title=_sort_title,
        width=210,
        help=tr("board.sort_help"),
    )


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


# The tables of the Ranking page: the ranked, and those without a rank.
# What a table shows of a row is made once per board and language; a visitor's rows and columns
# are cut from that.

_NAME_LENGTH = 60
_TALLEST = 20  # rows before the table scrolls
_displays: SingleFlightCache[pd.DataFrame] = SingleFlightCache(32)
_NAME = 184  # pixels of a name and the logo before it
_NARROW = {"width": 76, "alignment": "center"}


def draw_ranked_table(frame: pd.DataFrame, shown: pd.DataFrame, columns: Sequence[str]) -> None:
    """The ranked targets; a click on a name opens the target. `shown` is what
    `build_display_frame` made."""
    table = _arrange_columns(frame, shown, ["rank", "target", "score"], columns)
    _draw_ranking_table(frame, table, "ranking.open", tr("ranking.table_alt"))


def draw_unranked_table(frame: pd.DataFrame, shown: pd.DataFrame, columns: Sequence[str]) -> None:
    """The targets without a rank, each with the reason."""
    visible_columns = [name for name in columns if name not in RANKED_ONLY]
    table = _arrange_columns(frame, shown, ["target", "status", "score"], visible_columns)
    _draw_ranking_table(frame, table, "ranking.open_other", tr("ranking.unranked_alt"))


def build_display_frame(key: str, frame: pd.DataFrame) -> pd.DataFrame:
    """Every column of every row as it is shown, under the index of `frame`; the frame of one `key`
    is always the same."""
    return _displays.get((key, current_language()), lambda: _format_columns(frame))


def _format_columns(frame: pd.DataFrame) -> pd.DataFrame:
    whole = frame["measured"] + frame["errors"]
    titles = {kind: kind_title(kind) for kind in set(frame["kind"])}
    self_judged_label = tr("ranking.self_judged")
    columns = {
        "target": [to_plain_line(name, _NAME_LENGTH) for name in frame["name"]],
        "logo": frame["logo"],
        "new": [tr("board.new") if new else None for new in frame["new"]],
        "status": [
            None if status == "ranked" else tr(f"ranking.status.{status}")
            for status in frame["status"]
        ],
        "interval": tables.format_ranges(frame, "low", "high", "{:.1f}"),
        "range": tables.format_ranges(frame, "rank_low", "rank_high", "{:.0f}"),
        "organization": [
            to_plain_line(name, _NAME_LENGTH) or None for name in frame["organization"]
        ],
        "passed": [f"{p}/{n}" if n else None for p, n in zip(frame["passed"], whole, strict=True)],
        "tokens": frame["input_tokens"].astype(float) + frame["output_tokens"].astype(float),
        "cost": frame["cost"].astype(float),
        "latency": frame["latency"].astype(float),
        "weights": [tr(f"board.weights.{code}") if code else None for code in frame["weights"]],
        "released": frame["released"].replace("", None),
        "date": frame["date"].dt.date,
        "kind": [
            f"{titles[kind]} · {self_judged_label}" if by_itself else titles[kind]
            for kind, by_itself in zip(frame["kind"], frame["self_judged"], strict=True)
        ],
    }
    scores = {name: frame[name].astype(float) for name in frame.columns if _is_part(name, frame)}
    return frame.assign(**columns, **scores)


def _is_part(name: str, frame: pd.DataFrame) -> bool:
    """Whether a column holds the score of a benchmark or of one of its metrics."""
    return "/" in name or any(other.startswith(f"{name}/") for other in frame.columns)


def _arrange_columns(
    frame: pd.DataFrame, shown: pd.DataFrame, first: Sequence[str], columns: Sequence[str]
) -> pd.DataFrame:
    """The rows of `frame` with the columns in order: on a phone those up to the score are seen. The
    logos, which stand before the names, and the mark of the new come only where a row has one."""
    new = ["new"] if frame["new"].any() else []
    logo = ["logo"] if (frame["logo"] != "").any() else []
    column_groups = [[*logo, name] if name == "target" else [name] for name in first]
    names = [*(name for group in column_groups for name in group), *columns, *new]
    return shown[names].loc[frame.index]


def _draw_ranking_table(frame: pd.DataFrame, table: pd.DataFrame, key: str, alt: str) -> None:
    """The table; `key` holds the click on a name."""
    config = _build_ranking_config(table, frame, key)
    tables.draw_grid(table, config, alt, tallest=_TALLEST, key=f"{key}.table")
    if (clicked := tables.read_clicked_row(key, len(frame))) is not None:
        identity = frame["identity"].iloc[clicked]
        st.switch_page(page_links.TARGET, query_params={"key": identity})


def _build_ranking_config(table: pd.DataFrame, frame: pd.DataFrame, key: str) -> dict[str, Any]:
    """How each of the columns looks that are drawn."""
    width = _NAME - 40 * ("rank" in table and "logo" in table)
    look = {"width": width, "pinned": True}
    own: dict[str, Callable[[], Any]] = {
        "target": lambda: tables.link_column("common.target", key, "ranking.open_hint", **look),
        "logo": lambda: st.column_config.ImageColumn("", width=40, pinned=True),
        "score": lambda: tables.share_column("common.score", "%.1f", width=118),
        "status": lambda: tables.text_column("ranking.status", "medium"),
        "cost": lambda: tables.number_column(
            "common.cost", tables.cost_format(frame["cost"]), help=tr("ranking.cost_help")
        ),
    }
    return {
        name: own[name]() if name in own else _build_plain_column(name) for name in table.columns
    }


def _build_plain_column(name: str) -> Any:
    """A column whose look stands in `_LOOKS`, else one of scores."""
    column_config = st.column_config
    if name not in _LOOKS:
        title = ranking_column_title(name)
        return column_config.NumberColumn(title, format="%.1f", width=_part_width(title))
    kind, about, look = _LOOKS[name]
    title = tr("ranking.rank") if name == "rank" else ranking_column_title(name)
    return getattr(column_config, kind)(title, help=tr(about) if about else None, **look)


#: Column -> kind of column, text key of its help, look.
_LOOKS: Mapping[str, tuple[str, str, dict[str, Any]]] = {
    "rank": ("NumberColumn", "ranking.rank_help", {**_NARROW, "width": 52, "pinned": True}),
    "new": ("TextColumn", "board.new_help", {"width": 56}),
    "interval": ("TextColumn", "board.interval_help", {"width": 105}),
    "range": ("TextColumn", "ranking.rank_range_help", _NARROW),
    "group": ("NumberColumn", "ranking.group_help", _NARROW),
    "organization": ("TextColumn", "", {"width": 120}),
    "passed": ("TextColumn", "ranking.passed_help", {"width": "small", "alignment": "right"}),
    "tokens": ("NumberColumn", "", {"format": "compact", "width": "small"}),
    "latency": ("NumberColumn", "ranking.latency_help", {"format": "%.2f s", "width": "small"}),
    "price": ("NumberColumn", "board.price_help", {"format": "$%.2f", "width": "small"}),
    "parameters": ("NumberColumn", "board.size_help", {"format": "%.3g B", "width": "small"}),
    "weights": ("TextColumn", "board.weights_help", {"width": "small"}),
    "released": ("TextColumn", "", {"width": "small"}),
    "coverage": ("NumberColumn", "ranking.coverage_help", {"format": "percent", "width": "small"}),
    "date": ("DateColumn", "", {"format": "YYYY-MM-DD", "width": "small"}),
    "kind": ("TextColumn", "", {"width": "medium"}),
}


def _part_width(title: str) -> int:
    """Pixels that a title takes: its characters, those of Chinese being twice as wide."""
    return 28 + sum(7 if ord(sign) < 0x2E80 else 14 for sign in title)


# The ways on from the Ranking page: a comparison, the metrics, the rules, a file, the link.

_MAX_COMPARED = 4  # targets at once
_MIN_COMPARED = 2
_HIDDEN_COLUMNS = ["logo"]  # columns that are no data


def draw_ranking_links(rows: pd.DataFrame, board: Board) -> None:
    """A row of links; `rows` are the rows on the page, in their order."""
    query = {"suite": board.suite, "board": board.key}
    first = rows.loc[rows["status"] == "ranked", "run_id"].head(_MAX_COMPARED)
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        if len(first) >= _MIN_COMPARED:
            label = tr("board.compare", count=len(first))
            compared = page_links.build_compare_query(first)
            widgets.draw_link(page_links.COMPARE, label, "compare_arrows", **compared)
        widgets.draw_link(page_links.METRICS, tr("board.metrics"), "bar_chart", **query)
        widgets.draw_link(page_links.METHODOLOGY, tr("board.methodology"), "function", **query)
        widgets.draw_download(
            tr("ranking.download"),
            lambda: exports.to_csv_bytes(rows.drop(columns=_HIDDEN_COLUMNS)),
            f"evalboard-{board.suite}-{board.key}.csv",
            type="tertiary",
        )
        exports.draw_share_menu("")

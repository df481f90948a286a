"""The ranking of a board as text: for a terminal, a spreadsheet, a README, a paper or a program."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from evalcore.catalog import suite_cards
from evalcore.errors import UsageError
from evalcore.exchange import markup
from evalcore.exchange.report_tables import Table
from evalcore.plain_text import DASH, safe_cell, to_single_line
from evalcore.queries import boards, listing, stored_boards
from evalcore.queries.api_payloads import board_data, ranking_data, to_json_value
from evalcore.queries.boards import Board
from evalcore.queries.ranking import SUITE, list_board_orders
from evalcore.records import Record
from evalcore.settings import Settings

_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "–": "--",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    **{sign: f"{{{sign}}}" for sign in "[]<>\"'`-|"},
}


class Chosen(Record, frozen=True):
    """What to list: empty names mean the first suite, its default board, its first order."""

    suite: str = ""
    board: str = ""
    by: str = ""


class Listing(Record, frozen=True):
    """A ranking to be written: `board` as data, its rows, and the benchmarks of the board.

    Metrics are in CSV and JSON alone: a board can have more of them than a page is wide.
    """

    title: str
    by: str
    board: dict[str, Any]
    rows: list[dict[str, Any]]
    benchmarks: list[str]


def render(settings: Settings, chosen: Chosen, format: str) -> str:
    """The listing in a format of FORMATS.

    Raises UsageError where there is no such board or order, naming those there are.
    """
    headers = stored_boards.load_run_headers(settings)
    board, by = found(headers, chosen)
    frame = stored_boards.board_ranking(settings, board, by)
    if format == "csv":
        return as_csv(frame)
    return FORMATS[format](_listing(headers, board, by, frame))


def found(headers: stored_boards.Headers, chosen: Chosen) -> tuple[Board, str]:
    """The board that is meant and what it is ranked by; raises UsageError where there is none."""
    board = _board(headers, chosen)
    by = chosen.by or list_board_orders(board)[0]
    if by not in list_board_orders(board):
        raise UsageError(
            f"--by {by!r}: this board is ranked by one of {', '.join(list_board_orders(board))}"
        )
    return board, by


def _board(headers: stored_boards.Headers, chosen: Chosen) -> Board:
    suites = boards.list_suites(headers)
    if chosen.suite not in ("", *suites, *suite_cards()):
        names = ", ".join(dict.fromkeys([*suite_cards(), *suites]))
        raise UsageError(f"--suite {chosen.suite!r}: no such suite; known: {names}")
    known = boards.list_boards(headers, chosen.suite or suites[0]) if suites else []
    if not known:
        where = f" of suite {chosen.suite}" if chosen.suite else ""
        raise UsageError(f"there is no board{where} yet; `evalcore run` makes a run that enters it")
    for board in known:
        if board.key == (chosen.board or known[0].key):
            return board
    keys = ", ".join(board.key for board in known)
    raise UsageError(f"--board {chosen.board!r}: no such board; known: {keys}")


def _listing(headers: stored_boards.Headers, board: Board, by: str, frame: pd.DataFrame) -> Listing:
    shown = board.columns if by == SUITE else {by: board.columns[by]}
    labels = " + ".join(column.label or key for key, column in shown.items())
    data, rows = board_data(headers, board), ranking_data(frame, board)
    return Listing(f"{board.suite}: {labels}", by, data, rows, list(board.columns))


def as_csv(frame: pd.DataFrame) -> str:
    """Every column of the ranking, as the Ranking page's download has them."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(frame.columns)
    for record in frame.itertuples(index=False):
        cells = (to_json_value(value) for value in record)
        writer.writerow(["" if cell is None else safe_cell(cell) for cell in cells])
    return text.getvalue()


def _json(told: Listing) -> str:
    """The fields of the API's ranking, in one page."""
    data = {"board": told.board, "by": told.by, "items": told.rows, "total": len(told.rows)}
    return json.dumps(data, ensure_ascii=False, indent=2) + "\n"


def _text(told: Listing) -> str:
    table = _table(told)
    lines = [dict(zip(table.columns, map(to_single_line, row), strict=True)) for row in table.rows]
    return f"{to_single_line(table.title)}\n\n{listing.as_text(lines)}\n"


def _markdown(told: Listing) -> str:
    return markup.markdown("Ranking", [_table(told)])


def _latex(told: Listing) -> str:
    """A `tabular` with the rules of the package booktabs."""
    table = _table(told)
    kinds = "rlrrrl" + "r" * (len(table.columns) - 6)
    lines = [f"% {to_single_line(table.title)}", f"\\begin{{tabular}}{{{kinds}}}", "\\toprule"]
    lines += [_latex_row(table.columns), "\\midrule", *map(_latex_row, table.rows)]
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}"]) + "\n"


def _latex_row(cells: Sequence[str]) -> str:
    return " & ".join(_escaped(cell) for cell in cells) + r" \\"


def _escaped(text: str) -> str:
    return "".join(_LATEX.get(sign, sign) for sign in to_single_line(text))


def _table(told: Listing) -> Table:
    """The table that people read; those without a rank stand below, with the reason."""
    columns = ("Rank", "Target", "Score", "95 % interval", "Rank interval", "Status")
    benchmarks = told.benchmarks if len(told.benchmarks) > 1 else []
    rows = tuple(
        (
            _shown(row["rank"], "{}"),
            row["identity"],
            _shown(row["score"], "{:.1f}"),
            _span(row["low"], row["high"], "{:.1f}"),
            _span(row["rank_low"], row["rank_high"], "{}"),
            row["status"],
            *(_shown(row["scores"][name], "{:.1f}") for name in benchmarks),
            _shown(row["cost"], "{:.4f}"),
        )
        for row in told.rows
    )
    by = "the mean of the suite" if told.by == SUITE else told.by
    return Table(f"{told.title}, by {by}", (*columns, *benchmarks, "Cost, USD"), rows)


def _shown(value: float | None, form: str) -> str:
    return DASH if value is None else form.format(value)


def _span(low: float | None, high: float | None, form: str) -> str:
    if low is None or high is None:
        return DASH
    return f"{form.format(low)} to {form.format(high)}"


FORMATS: dict[str, Callable[[Listing], str]] = {
    "text": _text,
    "json": _json,
    "md": _markdown,
    "latex": _latex,
}

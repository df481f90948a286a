"""Which rows of a board fit what a visitor asks for, and which wish leaves nothing over.

Every wish is a set of codes, alternatives to each other; an empty one admits all. What is not known
of a target fits no wish about it. Ranks stay what they are among all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence

import msgspec
import pandas as pd

from evalcore.queries.boards import Board
from evalcore.queries.ranking_views import list_board_parts, match_target_text
from evalcore.records import Record

#: Code -> (from, below), billions of parameters.
SIZES = {
    "xs": (0.0, 3.0),
    "s": (3.0, 10.0),
    "m": (10.0, 40.0),
    "l": (40.0, 150.0),
    "xl": (150.0, math.inf),
}
#: Code -> (from, below), USD per million tokens.
PRICES = {
    "free": (0.0, 1e-9),
    "low": (1e-9, 0.5),
    "mid": (0.5, 2.0),
    "high": (2.0, 10.0),
    "top": (10.0, math.inf),
}
_FINISHED = frozenset({"ranked", "control"})


class BoardFilter(Record, frozen=True):
    """What rows are asked for. `text` is looked for in name, maker and identity, letter case aside;
    `size` and `price` hold codes of SIZES and PRICES; `evidence` asks for a score in a metric that
    rests on it; `complete` leaves out runs that did not end."""

    text: str = ""
    kind: tuple[str, ...] = ()
    organization: tuple[str, ...] = ()
    weights: tuple[str, ...] = ()
    size: tuple[str, ...] = ()
    price: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    complete: bool = False

    @property
    def active_fields(self) -> tuple[str, ...]:
        """The fields that ask for something."""
        return tuple(name for name in self.__struct_fields__ if getattr(self, name))


def filter_board_rows(frame: pd.DataFrame, board: Board, board_filter: BoardFilter) -> pd.DataFrame:
    """The rows of a `BoardTable` that fit, in their order, under their index."""
    if not board_filter.active_fields:
        return frame
    fits = pd.Series(True, index=frame.index)
    for name in board_filter.active_fields:
        fits &= _RULES[name](frame, board, board_filter)
    return frame[fits]


def find_blocking_fields(frame: pd.DataFrame, board: Board, board_filter: BoardFilter) -> list[str]:
    """The fields of a wish that nothing fits of which the loosening of one alone gives rows; where
    none does, all that are on."""
    blocking = [
        name
        for name in board_filter.active_fields
        if len(
            filter_board_rows(
                frame, board, msgspec.structs.replace(board_filter, **{name: _empty_value(name)})
            )
        )
    ]
    return blocking or list(board_filter.active_fields)


def shown_parts(board: Board, evidence: Collection[str]) -> list[str]:
    """The parts of a board, or the metrics ("benchmark/metric") that rest on such evidence."""
    if not evidence:
        return list_board_parts(board)
    return [
        f"{key}/{metric.key}"
        for key, column in board.columns.items()
        for metric in column.card.metrics
        if column.evidence(metric.key) in evidence
    ]


def every_part(board: Board) -> list[str]:
    """The benchmarks of a board and all their metrics, as parts."""
    return [*board.columns, *board.metrics]


def evidence_kinds(board: Board) -> list[str]:
    """What the metrics of a board rest on, each kind once; nothing where a publisher decided."""
    if board.taken_over:
        return []
    return list(
        dict.fromkeys(
            column.evidence(metric.key)
            for column in board.columns.values()
            for metric in column.card.metrics
        )
    )


def _empty_value(name: str) -> object:
    return {"text": "", "complete": False}.get(name, ())


def _match_text(frame: pd.DataFrame, board: Board, board_filter: BoardFilter) -> pd.Series[bool]:
    return match_target_text(frame, board_filter.text)


def _match_any(name: str) -> _Rule:
    return lambda frame, board, board_filter: frame[name].isin(getattr(board_filter, name))


def _match_bands(column: str, name: str, bands: dict[str, tuple[float, float]]) -> _Rule:
    def match_rows(frame: pd.DataFrame, board: Board, board_filter: BoardFilter) -> pd.Series[bool]:
        values, fits = frame[column], pd.Series(False, index=frame.index)
        for code in getattr(board_filter, name):
            low, below = bands[code]
            fits |= (values >= low) & (values < below)
        return fits

    return match_rows


def _match_evidence(
    frame: pd.DataFrame, board: Board, board_filter: BoardFilter
) -> pd.Series[bool]:
    metric_columns: Sequence[str] = shown_parts(board, board_filter.evidence)
    return frame[list(metric_columns)].notna().any(axis=1)


def _match_complete(
    frame: pd.DataFrame, board: Board, board_filter: BoardFilter
) -> pd.Series[bool]:
    return frame["status"].isin(_FINISHED)


_Rule = Callable[[pd.DataFrame, Board, BoardFilter], "pd.Series[bool]"]
_RULES: dict[str, _Rule] = {
    "text": _match_text,
    "kind": _match_any("kind"),
    "organization": _match_any("organization"),
    "weights": _match_any("weights"),
    "size": _match_bands("parameters", "size", SIZES),
    "price": _match_bands("price", "price", PRICES),
    "evidence": _match_evidence,
    "complete": _match_complete,
}

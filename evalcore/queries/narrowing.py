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
from evalcore.queries.ranking_views import parts, said_of
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


class Wish(Record, frozen=True):
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
    def on(self) -> tuple[str, ...]:
        """The fields that ask for something."""
        return tuple(name for name in self.__struct_fields__ if getattr(self, name))


def narrowed(frame: pd.DataFrame, board: Board, wish: Wish) -> pd.DataFrame:
    """The rows of a `BoardTable` that fit, in their order, under their index."""
    if not wish.on:
        return frame
    fits = pd.Series(True, index=frame.index)
    for name in wish.on:
        fits &= _RULES[name](frame, board, wish)
    return frame[fits]


def obstacles(frame: pd.DataFrame, board: Board, wish: Wish) -> list[str]:
    """The fields of a wish that nothing fits of which the loosening of one alone gives rows; where
    none does, all that are on."""
    found = [
        name
        for name in wish.on
        if len(narrowed(frame, board, msgspec.structs.replace(wish, **{name: _nothing(name)})))
    ]
    return found or list(wish.on)


def shown_parts(board: Board, evidence: Collection[str]) -> list[str]:
    """The parts of a board, or the metrics ("benchmark/metric") that rest on such evidence."""
    if not evidence:
        return parts(board)
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


def _nothing(name: str) -> object:
    return {"text": "", "complete": False}.get(name, ())


def _text(frame: pd.DataFrame, board: Board, wish: Wish) -> pd.Series[bool]:
    return said_of(frame, wish.text)


def _one_of(name: str) -> _Rule:
    return lambda frame, board, wish: frame[name].isin(getattr(wish, name))


def _banded(column: str, name: str, bands: dict[str, tuple[float, float]]) -> _Rule:
    def rule(frame: pd.DataFrame, board: Board, wish: Wish) -> pd.Series[bool]:
        values, fits = frame[column], pd.Series(False, index=frame.index)
        for code in getattr(wish, name):
            low, below = bands[code]
            fits |= (values >= low) & (values < below)
        return fits

    return rule


def _evidence(frame: pd.DataFrame, board: Board, wish: Wish) -> pd.Series[bool]:
    known: Sequence[str] = shown_parts(board, wish.evidence)
    return frame[list(known)].notna().any(axis=1)


def _complete(frame: pd.DataFrame, board: Board, wish: Wish) -> pd.Series[bool]:
    return frame["status"].isin(_FINISHED)


_Rule = Callable[[pd.DataFrame, Board, Wish], "pd.Series[bool]"]
_RULES: dict[str, _Rule] = {
    "text": _text,
    "kind": _one_of("kind"),
    "organization": _one_of("organization"),
    "weights": _one_of("weights"),
    "size": _banded("parameters", "size", SIZES),
    "price": _banded("price", "price", PRICES),
    "evidence": _evidence,
    "complete": _complete,
}

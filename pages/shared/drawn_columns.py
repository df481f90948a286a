"""The parts of a drawn table of targets: its columns, the axis of its intervals, its tie groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import pandas as pd

from evalcore.catalog import FLOOR_CONTROLS


class DrawnColumn(NamedTuple):
    """A column of the drawn table: its kind is that of its cells, `about` what its title means.
    Columns of one `group` that follow each other have its name above theirs."""

    name: str
    kind: str
    title: str
    about: str = ""
    group: str = ""


class ScoreAxis(NamedTuple):
    """The scores between which intervals are drawn, and where the floors lie, in percent of it."""

    first: int
    last: int
    floors: tuple[float, ...] = ()

    def place(self, score: float) -> float:
        """Where a score lies, in percent of the axis."""
        share = (score - self.first) / max(1, self.last - self.first)
        return round(100 * min(1.0, max(0.0, share)), 2)


def list_column_groups(columns: Sequence[DrawnColumn]) -> list[tuple[str, int]]:
    """The groups of columns from left to right with how many each has; nothing without groups."""
    if not any(column.group for column in columns):
        return []
    return [
        (name, len(list(members))) for name, members in groupby(column.group for column in columns)
    ]


def build_score_axis(frame: pd.DataFrame, floors: Mapping[str, float]) -> ScoreAxis:
    """The tens around all intervals of a board; a floor outside of them is not drawn."""
    lows = frame["low"].fillna(frame["score"]).astype(float).dropna()
    highs = frame["high"].fillna(frame["score"]).astype(float).dropna()
    if lows.empty:
        return ScoreAxis(0, 100)
    first = int(max(0.0, lows.min()) // 10) * 10
    last = max(first + 10, -int(-min(100.0, highs.max()) // 10) * 10)
    axis = ScoreAxis(first, last)
    drawn = {score for name, score in floors.items() if name in FLOOR_CONTROLS}
    inside = sorted(axis.place(score) for score in drawn if first <= score <= last)
    return axis._replace(floors=tuple(inside))


def mark_bands(rows: Sequence[dict[str, Any]]) -> None:
    """Where the bracket of a group of ties begins and ends, and its colour."""
    for number, row in enumerate(rows):
        row["band"] = row["group"] % 2
        row["first"] = number == 0 or rows[number - 1]["group"] != row["group"]
        row["last"] = number == len(rows) - 1 or rows[number + 1]["group"] != row["group"]

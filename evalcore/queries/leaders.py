"""Who leads in each part of a board, and how many others chance alone may keep behind."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from evalcore.queries.boards import Row
from evalcore.queries.metrics import metric_line
from evalcore.records import Record

_Line = tuple[float, float | None, float | None]


class Leader(Record, frozen=True):
    """The best ranked target in a part ("benchmark" or "benchmark/metric"), 0 to 100.

    `equal` counts the others of the same score, `near` those whose 95 % interval reaches into the
    leader's, the equal ones among them.
    """

    part: str
    identity: str
    name: str
    score: float
    equal: int
    near: int


def leaders(rows: Sequence[Row], frame: pd.DataFrame, parts: Sequence[str]) -> tuple[Leader, ...]:
    """The leader of every part that anyone has a score in; equals go to the better ranked.

    `frame` names the targets (identity, name) in the order of their ranks.
    """
    held = {row.identity: row for row in rows}
    names = dict(zip(frame["identity"], frame["name"], strict=True))
    ordered = [identity for identity in names if identity in held]
    found = []
    for part in parts:
        lines = {one: _line(held[one], part) for one in ordered}
        known = {one: line for one, line in lines.items() if line is not None}
        if known:
            found.append(_leader(part, known, names))
    return tuple(found)


def _leader(part: str, lines: dict[str, _Line], names: dict[str, str]) -> Leader:
    best = max(lines, key=lambda one: lines[one][0])
    score, low, _ = lines[best]
    reach = score if low is None else low
    others = [line for one, line in lines.items() if one != best]
    near = sum(1 for value, _, high in others if (value if high is None else high) >= reach)
    equal = sum(1 for value, _, _ in others if value == score)
    return Leader(part, best, names[best], score, equal, max(near, equal))


def _line(row: Row, part: str) -> _Line | None:
    """Score and bounds of a row in a part, None without a score."""
    benchmark, _, metric = part.partition("/")
    score = row.score(benchmark)
    if score is None:
        return None
    if not metric:
        return None if score.score is None else (score.score, score.low, score.high)
    value, low, high, _ = metric_line(score, metric)
    return None if value is None else (value, low, high)

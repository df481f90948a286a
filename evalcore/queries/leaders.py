"""Who leads in each part of a board, and how many others chance alone may keep behind."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from evalcore.queries.boards import Row
from evalcore.queries.metrics import metric_line
from evalcore.records import Record

_PartScore = tuple[float, float | None, float | None]


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


def find_leaders(
    rows: Sequence[Row], frame: pd.DataFrame, parts: Sequence[str]
) -> tuple[Leader, ...]:
    """The leader of every part that anyone has a score in; equals go to the better ranked.

    `frame` names the targets (identity, name) in the order of their ranks.
    """
    rows_by_identity = {row.identity: row for row in rows}
    names = dict(zip(frame["identity"], frame["name"], strict=True))
    ordered = [identity for identity in names if identity in rows_by_identity]
    part_leaders = []
    for part in parts:
        lines = {
            identity: _find_part_score(rows_by_identity[identity], part) for identity in ordered
        }
        scored_lines = {identity: line for identity, line in lines.items() if line is not None}
        if scored_lines:
            part_leaders.append(_build_leader(part, scored_lines, names))
    return tuple(part_leaders)


def _build_leader(part: str, lines: dict[str, _PartScore], names: dict[str, str]) -> Leader:
    best = max(lines, key=lambda identity: lines[identity][0])
    score, low, _ = lines[best]
    reach = score if low is None else low
    others = [line for identity, line in lines.items() if identity != best]
    near = sum(1 for value, _, high in others if (value if high is None else high) >= reach)
    equal = sum(1 for value, _, _ in others if value == score)
    return Leader(part, best, names[best], score, equal, max(near, equal))


def _find_part_score(row: Row, part: str) -> _PartScore | None:
    """Score and bounds of a row in a part, None without a score."""
    benchmark, _, metric = part.partition("/")
    score = row.score(benchmark)
    if score is None:
        return None
    if not metric:
        return None if score.score is None else (score.score, score.low, score.high)
    value, low, high, _ = metric_line(score, metric)
    return None if value is None else (value, low, high)

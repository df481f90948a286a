"""Small pictures as SVG within a page: they take their colours from the page's style sheet, so that
one file serves light, dark and paper, and need no library to be seen.

Every text in them is escaped by `markupsafe`; numbers are written with two digits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from markupsafe import Markup

from evalcore.target_colours import colour_of

_WIDTH, _HEIGHT = 720, 340
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 16, 16, 40
_NAME_ROOM, _NAME_LENGTH = 15.0, 280.0  # pixels that the name of a point takes


def bar(row: Mapping[str, Any], marks: Mapping[str, float] | None = None) -> Markup:
    """A score of 0 to 100 as a bar with its interval, and upright marks by style class (floors, the
    best); `row` has identity, score, low and high."""
    score = row["score"]
    if score is None:
        return Markup("")
    parts = [
        Markup('<rect class="track" x="0" y="3" width="100" height="8"/>'),
        Markup('<rect x="0" y="3" width="{}" height="8" fill="{}" opacity=".55"/>').format(
            _n(score), colour_of(row["identity"])
        ),
    ]
    if row["low"] is not None and row["high"] is not None:
        parts.append(
            Markup('<path class="span" d="M{0} 7H{1}M{0} 4v6M{1} 4v6"/>').format(
                _n(row["low"]), _n(row["high"])
            )
        )
    parts += [
        Markup('<path class="mark {}" d="M{} 0v14"/>').format(kind, _n(value))
        for kind, value in (marks or {}).items()
    ]
    return Markup(
        '<svg class="bar" viewBox="0 0 100 14" preserveAspectRatio="none" aria-hidden="true">'
        "{}</svg>"
    ).format(Markup("").join(parts))


def scatter(points: Sequence[Mapping[str, Any]], best: Iterable[str], told: str) -> Markup:
    """Score over cost (USD, logarithmic); `points` have identity, name, score, low, high and cost
    above zero, `best` are the identities that a line joins, `told` says it in words."""
    ticks = _decades([point["cost"] for point in points])
    scores = [value for p in points for value in (p["score"], p["low"], p["high"]) if value]
    floor = 10.0 * math.floor(min(scores, default=0.0) / 10)
    ceiling = max(10.0 * math.ceil(max(scores, default=100.0) / 10), floor + 10)
    across = math.log10(ticks[-1] / ticks[0])

    def x(cost: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * math.log10(cost / ticks[0]) / across

    def y(score: float) -> float:
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * (score - floor) / (ceiling - floor)

    known = {point["identity"]: point for point in points}
    line = sorted((known[one] for one in best), key=lambda point: point["cost"])
    parts = [_across(y(v), f"{v:.0f}") for v in _steps(floor, ceiling)]
    parts += [_below(x(cost), f"${cost:g}") for cost in ticks]
    parts.append(_stairs([(x(point["cost"]), y(point["score"])) for point in line]))
    parts += [_point(x(p["cost"]), y(p["score"]), p, y) for p in points]
    parts += _names([(x(p["cost"]), y(p["score"]), p["name"]) for p in line])
    return _picture(parts, told)


def trend(lines: Mapping[str, Sequence[Mapping[str, Any]]], told: str) -> Markup:
    """Scores over time, a line per name of at least one run with date (ISO 8601) and score."""
    every = [_days(run["date"]) for runs in lines.values() for run in runs]
    first, last = min(every), max(every)
    room = max(last - first, 1.0)

    def x(date: str) -> float:
        return _LEFT + 8 + (_WIDTH - _LEFT - _RIGHT - 16) * (_days(date) - first) / room

    def y(score: float) -> float:
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * score / 100

    parts = [_across(y(v), f"{v:.0f}") for v in _steps(0, 100)]
    dates = sorted(
        {run["date"][:10]: run["date"] for runs in lines.values() for run in runs}.items()
    )
    shown = dates if len(dates) < 3 else [dates[0], dates[-1]]
    parts += [_below(x(date), day) for day, date in shown]
    for name, runs in lines.items():
        places = [(x(run["date"]), y(run["score"])) for run in runs]
        colour = colour_of(name)
        path = "M" + "L".join(f"{_n(a)} {_n(b)}" for a, b in places)
        parts.append(Markup('<path class="line" stroke="{}" d="{}"/>').format(colour, path))
        parts += [
            Markup('<circle cx="{}" cy="{}" r="4" fill="{}"><title>{}</title></circle>').format(
                _n(a), _n(b), colour, f"{name} {run['score']:.1f} · {run['date'][:10]}"
            )
            for (a, b), run in zip(places, runs, strict=True)
        ]
    ends = [(x(runs[-1]["date"]), y(runs[-1]["score"]), name) for name, runs in lines.items()]
    return _picture([*parts, *_names(ends)], told)


def _picture(parts: Iterable[Markup], told: str) -> Markup:
    return Markup(
        '<svg class="plot" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>'
    ).format(_WIDTH, _HEIGHT, told, Markup("").join(parts))


def _point(x: float, y: float, point: Mapping[str, Any], place: Any) -> Markup:
    span = Markup("")
    if point["low"] is not None and point["high"] is not None:
        span = Markup('<path class="span" d="M{0} {1}V{2}"/>').format(
            _n(x), _n(place(point["low"])), _n(place(point["high"]))
        )
    said = f"{point['name']} {point['score']:.1f} · ${point['cost']:.4g}"
    return span + Markup(
        '<circle cx="{}" cy="{}" r="5" fill="{}"><title>{}</title></circle>'
    ).format(_n(x), _n(y), colour_of(point["identity"]), said)


def _names(places: Iterable[tuple[float, float, str]]) -> list[Markup]:
    """Names beside their points, to the side with more room; one without room is left out."""
    kept: list[Markup] = []
    taken: list[tuple[float, float]] = []
    for x, y, name in sorted(places, key=lambda place: place[1]):
        if any(abs(y - b) < _NAME_ROOM and abs(x - a) < _NAME_LENGTH for a, b in taken):
            continue
        taken.append((x, y))
        right = x > _WIDTH * 0.6
        kept.append(
            Markup('<text class="name" x="{}" y="{}" text-anchor="{}">{}</text>').format(
                _n(x - 9 if right else x + 9),
                _n(max(y - 7, 12)),
                "end" if right else "start",
                name if len(name) <= 40 else f"{name[:39]}…",
            )
        )
    return kept


def _stairs(places: Sequence[tuple[float, float]]) -> Markup:
    if len(places) < 2:
        return Markup("")
    (x, y), *rest = places
    path = f"M{_n(x)} {_n(y)}" + "".join(f"H{_n(a)}V{_n(b)}" for a, b in rest)
    return Markup('<path class="pareto" d="{}"/>').format(path)


def _across(y: float, label: str) -> Markup:
    return Markup(
        '<path class="grid" d="M{0} {1}H{2}"/><text class="tick" x="{3}" y="{4}" '
        'text-anchor="end">{5}</text>'
    ).format(_LEFT, _n(y), _WIDTH - _RIGHT, _LEFT - 8, _n(y + 4), label)


def _below(x: float, label: str) -> Markup:
    inside = min(max(x, _LEFT + 12), _WIDTH - 34)
    return Markup('<text class="tick" x="{}" y="{}" text-anchor="middle">{}</text>').format(
        _n(inside), _HEIGHT - 14, label
    )


def _steps(low: float, high: float) -> list[float]:
    step = 10 if high - low <= 50 else 25 if (low, high) == (0, 100) else 20
    return [low + step * number for number in range(int((high - low) // step) + 1)]


def _decades(costs: Sequence[float]) -> list[float]:
    """1 and 3 of every decade, from the last at or below the costs to the first at or above."""
    least, most = min(costs), max(costs)
    powers = range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 1)
    ticks = [digit * 10.0**power for power in powers for digit in (1, 3)]
    first = max(tick for tick in ticks if tick <= least)
    return [tick for tick in ticks if tick >= first and tick / 3.4 < most]


def _days(date: str) -> float:
    return datetime.fromisoformat(date).timestamp() / 86400


def _n(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")

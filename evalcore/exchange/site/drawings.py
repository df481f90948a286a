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


def draw_score_bar(row: Mapping[str, Any], marks: Mapping[str, float] | None = None) -> Markup:
    """A score of 0 to 100 as a bar with its interval, and upright marks by style class (floors, the
    best); `row` has identity, score, low and high."""
    score = row["score"]
    if score is None:
        return Markup("")
    parts = [
        Markup('<rect class="track" x="0" y="3" width="100" height="8"/>'),
        Markup('<rect x="0" y="3" width="{}" height="8" fill="{}" opacity=".55"/>').format(
            _format_coordinate(score), colour_of(row["identity"])
        ),
    ]
    if row["low"] is not None and row["high"] is not None:
        parts.append(
            Markup('<path class="span" d="M{0} 7H{1}M{0} 4v6M{1} 4v6"/>').format(
                _format_coordinate(row["low"]), _format_coordinate(row["high"])
            )
        )
    parts += [
        Markup('<path class="mark {}" d="M{} 0v14"/>').format(kind, _format_coordinate(value))
        for kind, value in (marks or {}).items()
    ]
    return Markup(
        '<svg class="bar" viewBox="0 0 100 14" preserveAspectRatio="none" aria-hidden="true">'
        "{}</svg>"
    ).format(Markup("").join(parts))


def draw_cost_scatter(
    points: Sequence[Mapping[str, Any]], best: Iterable[str], alt_text: str
) -> Markup:
    """Score over cost (USD, logarithmic); `points` have identity, name, score, low, high and cost
    above zero, `best` are the identities that a line joins, `alt_text` says it in words."""
    ticks = _list_cost_ticks([point["cost"] for point in points])
    scores = [value for p in points for value in (p["score"], p["low"], p["high"]) if value]
    floor = 10.0 * math.floor(min(scores, default=0.0) / 10)
    ceiling = max(10.0 * math.ceil(max(scores, default=100.0) / 10), floor + 10)
    across = math.log10(ticks[-1] / ticks[0])

    def scale_x(cost: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * math.log10(cost / ticks[0]) / across

    def scale_y(score: float) -> float:
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * (score - floor) / (ceiling - floor)

    points_by_identity = {point["identity"]: point for point in points}
    line = sorted(
        (points_by_identity[identity] for identity in best), key=lambda point: point["cost"]
    )
    parts = [_draw_grid_line(scale_y(v), f"{v:.0f}") for v in _list_score_ticks(floor, ceiling)]
    parts += [_draw_x_tick(scale_x(cost), f"${cost:g}") for cost in ticks]
    parts.append(
        _draw_pareto_line([(scale_x(point["cost"]), scale_y(point["score"])) for point in line])
    )
    parts += [_draw_point(scale_x(p["cost"]), scale_y(p["score"]), p, scale_y) for p in points]
    parts += _draw_point_names([(scale_x(p["cost"]), scale_y(p["score"]), p["name"]) for p in line])
    return _wrap_svg(parts, alt_text)


def draw_score_trend(lines: Mapping[str, Sequence[Mapping[str, Any]]], alt_text: str) -> Markup:
    """Scores over time, a line per name of at least one run with date (ISO 8601) and score."""
    every = [_parse_days(run["date"]) for runs in lines.values() for run in runs]
    first, last = min(every), max(every)
    room = max(last - first, 1.0)

    def scale_x(date: str) -> float:
        return _LEFT + 8 + (_WIDTH - _LEFT - _RIGHT - 16) * (_parse_days(date) - first) / room

    def scale_y(score: float) -> float:
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * score / 100

    parts = [_draw_grid_line(scale_y(v), f"{v:.0f}") for v in _list_score_ticks(0, 100)]
    dates = sorted(
        {run["date"][:10]: run["date"] for runs in lines.values() for run in runs}.items()
    )
    shown = dates if len(dates) < 3 else [dates[0], dates[-1]]
    parts += [_draw_x_tick(scale_x(date), day) for day, date in shown]
    for name, runs in lines.items():
        positions = [(scale_x(run["date"]), scale_y(run["score"])) for run in runs]
        colour = colour_of(name)
        path = "M" + "L".join(
            f"{_format_coordinate(a)} {_format_coordinate(b)}" for a, b in positions
        )
        parts.append(Markup('<path class="line" stroke="{}" d="{}"/>').format(colour, path))
        parts += [
            Markup('<circle cx="{}" cy="{}" r="4" fill="{}"><title>{}</title></circle>').format(
                _format_coordinate(a),
                _format_coordinate(b),
                colour,
                f"{name} {run['score']:.1f} · {run['date'][:10]}",
            )
            for (a, b), run in zip(positions, runs, strict=True)
        ]
    ends = [
        (scale_x(runs[-1]["date"]), scale_y(runs[-1]["score"]), name)
        for name, runs in lines.items()
    ]
    return _wrap_svg([*parts, *_draw_point_names(ends)], alt_text)


def _wrap_svg(parts: Iterable[Markup], alt_text: str) -> Markup:
    return Markup(
        '<svg class="plot" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>'
    ).format(_WIDTH, _HEIGHT, alt_text, Markup("").join(parts))


def _draw_point(x: float, y: float, point: Mapping[str, Any], scale_y: Any) -> Markup:
    span = Markup("")
    if point["low"] is not None and point["high"] is not None:
        span = Markup('<path class="span" d="M{0} {1}V{2}"/>').format(
            _format_coordinate(x),
            _format_coordinate(scale_y(point["low"])),
            _format_coordinate(scale_y(point["high"])),
        )
    label = f"{point['name']} {point['score']:.1f} · ${point['cost']:.4g}"
    return span + Markup(
        '<circle cx="{}" cy="{}" r="5" fill="{}"><title>{}</title></circle>'
    ).format(_format_coordinate(x), _format_coordinate(y), colour_of(point["identity"]), label)


def _draw_point_names(positions: Iterable[tuple[float, float, str]]) -> list[Markup]:
    """Names beside their points, to the side with more room; one without room is left out."""
    labels: list[Markup] = []
    taken: list[tuple[float, float]] = []
    for x, y, name in sorted(positions, key=lambda position: position[1]):
        if any(abs(y - b) < _NAME_ROOM and abs(x - a) < _NAME_LENGTH for a, b in taken):
            continue
        taken.append((x, y))
        right = x > _WIDTH * 0.6
        labels.append(
            Markup('<text class="name" x="{}" y="{}" text-anchor="{}">{}</text>').format(
                _format_coordinate(x - 9 if right else x + 9),
                _format_coordinate(max(y - 7, 12)),
                "end" if right else "start",
                name if len(name) <= 40 else f"{name[:39]}…",
            )
        )
    return labels


def _draw_pareto_line(positions: Sequence[tuple[float, float]]) -> Markup:
    if len(positions) < 2:
        return Markup("")
    (x, y), *rest = positions
    path = f"M{_format_coordinate(x)} {_format_coordinate(y)}" + "".join(
        f"H{_format_coordinate(a)}V{_format_coordinate(b)}" for a, b in rest
    )
    return Markup('<path class="pareto" d="{}"/>').format(path)


def _draw_grid_line(y: float, label: str) -> Markup:
    return Markup(
        '<path class="grid" d="M{0} {1}H{2}"/><text class="tick" x="{3}" y="{4}" '
        'text-anchor="end">{5}</text>'
    ).format(
        _LEFT, _format_coordinate(y), _WIDTH - _RIGHT, _LEFT - 8, _format_coordinate(y + 4), label
    )


def _draw_x_tick(x: float, label: str) -> Markup:
    inside = min(max(x, _LEFT + 12), _WIDTH - 34)
    return Markup('<text class="tick" x="{}" y="{}" text-anchor="middle">{}</text>').format(
        _format_coordinate(inside), _HEIGHT - 14, label
    )


def _list_score_ticks(low: float, high: float) -> list[float]:
    step = 10 if high - low <= 50 else 25 if (low, high) == (0, 100) else 20
    return [low + step * number for number in range(int((high - low) // step) + 1)]


def _list_cost_ticks(costs: Sequence[float]) -> list[float]:
    """1 and 3 of every decade, from the last at or below the costs to the first at or above."""
    lowest, highest = min(costs), max(costs)
    powers = range(math.floor(math.log10(lowest)), math.ceil(math.log10(highest)) + 1)
    ticks = [digit * 10.0**power for power in powers for digit in (1, 3)]
    first = max(tick for tick in ticks if tick <= lowest)
    return [tick for tick in ticks if tick >= first and tick / 3.4 < highest]


def _parse_days(date: str) -> float:
    return datetime.fromisoformat(date).timestamp() / 86400


def _format_coordinate(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")

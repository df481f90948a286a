"""The words of a site in one language, its charts as SVG, and its pages from templates."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from evalcore.i18n import LANGUAGES, name_term, t
from evalcore.plain_text import DASH, UNSEEN, to_single_line
from evalcore.records import Record
from evalcore.target_cards import colour_of
from evalcore.views import board_titles
from evalcore.views.boards import Board


class Words(NamedTuple):
    """What templates call: every method gives plain text, which the template escapes."""

    language: str

    def t(self, key: str, **values: Any) -> str:
        return t(key, self.language, **values)

    def target_name(self, name: str, limit: int = 0) -> str:
        """A name in one line; those of controls and baselines are translated."""
        return to_single_line(name_term(name, self.language), limit)

    def board_title(self, board: Board) -> str:
        return board_titles.board_title(board, self.language)

    def ranking_title(self, board: Board, by: str) -> str:
        return board_titles.ranked_title(board, by, self.language)

    def ranking_about(self, board: Board, by: str) -> str:
        """What a ranking is, in a sentence or two; the title of one of ours stands beside it."""
        if board.published:
            return board_titles.board_about(board, by, self.language)
        return self.t("site.about")

    def column_title(self, board: Board, benchmark: str) -> str:
        return board_titles.column_title(board.columns[benchmark], self.language)

    def part_title(self, part: str) -> str:
        return board_titles.part_title(part, self.language)

    def order_title(self, order: str) -> str:
        return board_titles.order_title(order, self.language)

    def kind_title(self, kind: str) -> str:
        return board_titles.kind_title(kind, self.language)

    def suite_title(self, suite: str) -> str:
        return board_titles.suite_title(suite, self.language)

    def score(self, value: float | None) -> str:
        return DASH if value is None else f"{value:.1f}"

    def span(self, low: float | None, high: float | None, form: str = "{:.1f}") -> str:
        """An interval, one number where both ends read the same."""
        if low is None or high is None:
            return DASH
        first, last = form.format(low), form.format(high)
        return first if first == last else f"{first} – {last}"

    def ranks(self, row: Mapping[str, Any]) -> str:
        return self.span(row["rank_low"], row["rank_high"], "{}")

    def money(self, dollars: float | None) -> str:
        if dollars is None:
            return DASH
        digits = 2 if dollars == 0 or dollars >= 1 else 4 if dollars >= 0.001 else 6
        return self.t("common.dollars", value=f"{dollars:,.{digits}f}")

    def seconds(self, value: float | None) -> str:
        if value is None:
            return DASH
        if value < 0.9995:
            return self.t("common.milliseconds", value=f"{value * 1000:.0f}")
        return self.t("common.seconds", value=f"{value:.1f}")

    def whole(self, value: float | None) -> str:
        return DASH if value is None else f"{value:,.0f}"

    def percent(self, value: float | None) -> str:
        return DASH if value is None else f"{100 * value:.0f}%"

    def number(self, value: float | None) -> str:
        """A weight or sum with up to four digits after the point."""
        return DASH if value is None else f"{value:,.4f}".rstrip("0").rstrip(".")

    def describe_standing(self, row: Mapping[str, Any], total: int) -> str:
        return board_titles.format_standing(row, total, self.language)


# Templates into pages. Every value is escaped, and cleared of what hides or reorders text.

#: `file:` stands for `'self'` where a page is opened without a server and a browser has no such.
_POLICY = (
    "default-src 'none'; style-src 'self' file:; script-src 'self' file:; "
    "img-src 'self' file: data:; base-uri 'none'; form-action 'none'"
)
_TAGS = {"en": "en", "zh": "zh-Hans"}
_ITALIC, _UPRIGHT = Markup("<i>{}</i>"), Markup("{}")
_SYMBOL = re.compile(r"\$(\w)\$")


class PageLocation(Record, frozen=True):
    """Where a page lies: its path without language, such as boards/x.html, and its language; `base`
    is the address of the site, "" where it is not known."""

    path: str
    language: str
    base: str = ""

    @property
    def file_path(self) -> str:
        return folder_of(self.language) + self.path

    @property
    def root_prefix(self) -> str:
        return "../" * self.file_path.count("/")


def folder_of(language: str) -> str:
    """English lies at the top, every other language in a folder of its own."""
    return "" if language == "en" else f"{language}/"


def render_page(
    template: str, location: PageLocation, view: Any, w: Words, head: Mapping[str, Any]
) -> bytes:
    """A page; `head` has site, title, about, here (its part of the navigation), picture (the path
    of a preview, or ""), app (the address of the app, or ""), live (the page of the app that shows
    the same), kind and scripts."""
    languages = [
        (_TAGS[code], name, location.root_prefix + folder_of(code) + location.path)
        for code, name in LANGUAGES.items()
        if code != location.language
    ]
    context = {
        **head,
        "picture": location.base + head["picture"] if location.base and head["picture"] else "",
        "policy": _POLICY,
        "lang_tag": _TAGS[location.language],
        "top": location.root_prefix,
        "home": "../" * location.path.count("/"),
        "languages": languages,
        "address": location.base + location.file_path if location.base else "",
        "alternates": [
            (_TAGS[code], f"{location.base}{folder_of(code)}{location.path}") for code in LANGUAGES
        ],
    }
    return _build_environment().get_template(template).render(page=context, view=view, w=w).encode()


@cache
def _build_environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("evalcore.exchange.site"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_strip_unseen,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["symbols"] = _render_symbols
    return environment


def _strip_unseen(value: Any) -> Any:
    """Text as it may stand in a document; what is markup already was made by us."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return UNSEEN.sub(" ", value)


def _render_symbols(text: str) -> Markup:
    """The letters of a formula, `$d$`, in italics."""
    forms = (_UPRIGHT, _ITALIC)  # what the pattern found stands at every second place
    parts = (forms[n % 2].format(part) for n, part in enumerate(_SYMBOL.split(text)))
    return Markup("").join(parts)


# Small pictures as SVG within a page: they take their colours from the page's style sheet, so
# that one file serves light, dark and paper, and need no library to be seen.
# Every text in them is escaped by `markupsafe`; numbers are written with two digits.

_WIDTH, _HEIGHT = 720, 340
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 16, 16, 40
_NAME_ROOM, _NAME_LENGTH = 15.0, 280.0  # pixels that the name of a point takes


def draw_score_bar(row: Mapping[str, Any], marks: Mapping[str, float] | None = None) -> Markup:
    """Draw a score of 0 to 100 as a bar with its interval, and upright marks by style class
    (floors, best); `row` has identity, score, low and high."""
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
    corners = [(scale_x(point["cost"]), scale_y(point["score"])) for point in line]
    parts.append(_draw_pareto_line(corners))
    parts += [_draw_point(scale_x(p["cost"]), scale_y(p["score"]), p, scale_y) for p in points]
    names = [point["name"] for point in line]
    parts += _draw_point_names((*at, name) for at, name in zip(corners, names, strict=True))
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
    ends = []
    for name, runs in lines.items():
        positions = [(scale_x(run["date"]), scale_y(run["score"])) for run in runs]
        ends.append((*positions[-1], name))
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

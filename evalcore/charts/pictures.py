"""Charts and links as picture files: a chart as SVG or PNG with title and source, and the picture
that stands for a link where it is shared."""

from __future__ import annotations

import subprocess
import sys
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from io import BytesIO
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import orjson

from evalcore.errors import EnvironmentFailure, UsageError
from evalcore.i18n import Note
from evalcore.plain_text import to_single_line
from evalcore.records import Record
from evalcore.target_cards import colour_of

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw

    from evalcore.views.board_table import RankingView

# The picture that stands for a link where it is shared: a board, or a target among its neighbours.
# 1200 x 630 pixels, drawn with the font that comes with Pillow. That font knows little but ASCII,
# so the words of a picture are English, and a name in another script goes by its key.

WIDTH, HEIGHT = 1200, 630
_MOST = 5  # bars
_GROUND, _RAISED, _INK, _QUIET, _LINE = "#fdfdfb", "#eef2f0", "#1b2a2e", "#4f5d60", "#dbe2df"
_STRONG, _FLOOR, _WHISKER = "#e4eef0", "#b86f14", "#1b2a2e"
_LEFT, _RIGHT = 64, 1136
_NAMES, _TRACK, _TRACK_END, _NUMBERS = 120, 520, 960, 1110
_FIRST, _STEP = 282, 58
_LOGO = ((7, 17, 8, "#9fc7c9"), (13.7, 12, 13, "#d5e6e4"), (20.4, 7, 18, "#e2a14b"))
#: What the font holds beyond ASCII, and what stands for dashes.
_SIGNS = frozenset("…‘’“”·")
_DASHES = {ord("–"): "-", ord("—"): "-"}


class Bar(Record, frozen=True):
    """A ranked target: scores are 0 to 100; `strong` marks whom the picture is about."""

    rank: int
    name: str
    score: float
    low: float | None
    high: float | None
    colour: str
    strong: bool = False


class SocialCard(Record, frozen=True):
    """What a picture says. `figure` is set large to the right of the title; `floor` is a score."""

    site: str
    title: str
    about: str
    figure: str = ""
    figure_about: str = ""
    bars: tuple[Bar, ...] = ()
    floor: float | None = None


def select_bars(
    rows: Sequence[Mapping[str, Any]], names: Mapping[str, str], identity: str = ""
) -> tuple[Bar, ...]:
    """The first ranked rows of a ranking, or those around a target; `names` by identity."""
    ranked = [row for row in rows if row["status"] == "ranked" and row["score"] is not None]
    position = next((n for n, row in enumerate(ranked) if row["identity"] == identity), 0)
    first = max(0, min(position - _MOST // 2, len(ranked) - _MOST))
    return tuple(
        Bar(
            rank=row["rank"],
            name=to_drawable_text(names[row["identity"]], row["target_key"]),
            score=row["score"],
            low=row["low"],
            high=row["high"],
            colour=colour_of(row["identity"]),
            strong=row["identity"] == identity,
        )
        for row in ranked[first : first + _MOST]
    )


def build_social_card(
    site: str, title: str, ranking: RankingView, identity: str = ""
) -> SocialCard:
    """Draw a board with its top targets, or one of its targets among its neighbours; `title` is the
    board's."""
    from evalcore.views import board_titles  # not in the process that draws charts

    row, rows = ranking.find_row(identity), ranking.rows
    names = {key: to_single_line(name) for key, name in ranking.names.items()}
    card = SocialCard(
        site=site,
        title=title,
        about=board_titles.ranked_title(ranking.board, ranking.order, "en"),
        bars=select_bars(rows, names, identity),
        floor=ranking.floors.get("null"),
    )
    if row is None:
        return card
    low, high = row["rank_low"], row["rank_high"]
    rank = "not ranked"
    if row["rank"] is not None:
        rank = f"rank {row['rank']} of {len(ranking.ranked)}" + (
            f" (95%: {low} to {high})" if low != high else ""
        )
    return msgspec.structs.replace(
        card,
        title=to_drawable_text(names[identity], row["target_key"]),
        figure="" if row["score"] is None else f"{row['score']:.1f}",
        figure_about=rank,
    )


def to_drawable_text(text: str, fallback: str = "") -> str:
    """Reduce text to what the font can draw, letters without accents: `text`, else the fallback,
    else "?" for each missing letter."""
    for candidate in map(_strip_accents, (text, fallback)):
        if candidate and all(map(_is_drawable, candidate)):
            return candidate
    return "".join(sign if _is_drawable(sign) else "?" for sign in _strip_accents(text))


def _strip_accents(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text.translate(_DASHES))
    return "".join(sign for sign in decomposed if not unicodedata.combining(sign))


def _is_drawable(sign: str) -> bool:
    return 0x20 <= ord(sign) < 0x7F or sign in _SIGNS


def render_card_png(card: SocialCard) -> bytes:
    """The picture; equal cards give equal bytes."""
    from PIL import Image, ImageDraw

    picture = Image.new("RGB", (WIDTH, HEIGHT), _GROUND)
    draw = ImageDraw.Draw(picture)
    _draw_card_header(draw, card)
    for number, bar in enumerate(card.bars):
        _draw_score_bar(draw, bar, _FIRST + number * _STEP, card.floor)
    if card.bars:
        legend = "Bars: scores from 0 to 100 with 95% intervals."
        legend += "  Dashed: what an empty answer scores." if card.floor is not None else ""
        _draw_fitted_text(draw, (_LEFT, HEIGHT - 46), legend, 20, _QUIET, _RIGHT - _LEFT)
    out = BytesIO()
    picture.save(out, "PNG", optimize=True)
    return out.getvalue()


def _draw_card_header(draw: ImageDraw, card: SocialCard) -> None:
    draw.rectangle((0, 0, WIDTH, 92), fill=_RAISED)
    size, x, y = 1.5, _LEFT, 22
    draw.rounded_rectangle((x, y, x + 48, y + 48), 10, fill="#1f4f5c")
    for left, top, high, colour in _LOGO:
        a, b = x + left * size, y + top * size
        draw.rectangle((a, b, a + 4.6 * size, b + high * size), fill=colour)
    _draw_fitted_text(draw, (x + 66, 28), to_drawable_text(card.site), 32, _INK, 700)
    room = 740 if card.figure else _RIGHT - _LEFT
    _draw_fitted_text(draw, (_LEFT, 122), to_drawable_text(card.title), 54, _INK, room, smallest=30)
    _draw_fitted_text(
        draw, (_LEFT, 206), to_drawable_text(card.about), 26, _QUIET, room, smallest=20
    )
    if card.figure:
        _draw_fitted_text(draw, (_RIGHT, 112), card.figure, 72, "#1c6270", 330, anchor="ra")
        _draw_fitted_text(
            draw,
            (_RIGHT, 206),
            to_drawable_text(card.figure_about),
            26,
            _QUIET,
            330,
            "ra",
            smallest=18,
        )


def _draw_score_bar(draw: ImageDraw, bar: Bar, y: int, floor: float | None) -> None:
    if bar.strong:
        draw.rounded_rectangle((_LEFT - 14, y - 8, _RIGHT + 14, y + 42), 10, fill=_STRONG)
    _draw_fitted_text(draw, (_LEFT, y), str(bar.rank), 28, _QUIET, 50)
    _draw_fitted_text(draw, (_NAMES, y), bar.name, 28, _INK, _TRACK - _NAMES - 20, smallest=20)
    draw.rectangle((_TRACK, y + 6, _TRACK_END, y + 28), fill=_LINE)
    draw.rectangle((_TRACK, y + 6, _score_to_x(bar.score), y + 28), fill=bar.colour)
    if floor is not None:
        for top in range(y, y + 36, 8):
            draw.line((_score_to_x(floor), top, _score_to_x(floor), top + 4), fill=_FLOOR, width=2)
    if bar.low is not None and bar.high is not None:
        low, high = _score_to_x(bar.low), _score_to_x(bar.high)
        draw.line((low, y + 17, high, y + 17), fill=_WHISKER, width=3)
        for end in (low, high):
            draw.line((end, y + 10, end, y + 24), fill=_WHISKER, width=3)
    _draw_fitted_text(draw, (_NUMBERS, y), f"{bar.score:.1f}", 28, _INK, 120, anchor="ra")


def _score_to_x(score: float) -> float:
    return _TRACK + (_TRACK_END - _TRACK) * score / 100


def _draw_fitted_text(
    draw: ImageDraw,
    position: tuple[float, float],
    text: str,
    size: int,
    colour: str,
    room: float,
    anchor: str = "la",
    smallest: int = 0,
) -> None:
    """One line within `room` pixels: set smaller down to `smallest`, then cut."""
    from PIL import ImageFont

    min_size = smallest or size
    font = ImageFont.load_default(size)
    while draw.textlength(text, font=font) > room and size > min_size:
        size -= 2
        font = ImageFont.load_default(size)
    while len(text) > 1 and draw.textlength(text, font=font) > room:
        text = f"{text.rstrip('…')[:-1]}…"
    draw.text(position, text, fill=colour, font=font, anchor=anchor)


# A chart as a file that people paste: SVG or PNG in the colours of a theme, with title and source.
# Vega runs in a process of its own, so that the server neither grows by a JavaScript engine nor
# waits for one that hangs, and may load nothing but the chart it is given.

PACKAGE = "vl-convert-python"
INSTALL = "pip install 'evalboard[charts]'"
#: Format -> media type.
FORMATS = {"svg": "image/svg+xml", "png": "image/png"}
Theme = Literal["light", "dark"]
_VEGA_LITE = "6.4"
_WIDTH = 720  # pixels, for a chart that is as wide as there is room
_SCALE = 2  # pixels of a PNG per pixel of the chart
_SECONDS = 60.0
_SANS = "Inter, 'Source Sans', 'Noto Sans SC', 'PingFang SC', 'Microsoft YaHei', sans-serif"
#: Background, text, muted text, lines: those of `.streamlit/config.toml`.
_INKS: Mapping[Theme, tuple[str, str, str, str]] = {
    "light": ("#fdfdfb", "#1b2a2e", "#4f5d60", "#dbe2df"),
    "dark": ("#12191b", "#e5ecec", "#b3bfc0", "#2e3c40"),
}
_CATEGORIES: Mapping[Theme, tuple[str, ...]] = {
    "light": (
        *("#1c6270", "#cf8527", "#7358a4", "#4d8c57"),
        *("#bf4b44", "#3a7cbd", "#8a7754", "#ad5288"),
    ),
    "dark": (
        *("#5fb3c1", "#e2a14b", "#a78bd8", "#7cc28a"),
        *("#e07d74", "#6ba7e0", "#c2ac80", "#d983b5"),
    ),
}


#: The style of words in a chart that have no colour of their own.
QUIET_WORDS = "quiet"


def build_word_styles(theme: Theme) -> dict[str, Any]:
    """The configuration by which words of the style QUIET_WORDS are read on a theme."""
    ink = _INKS[theme][2]
    return {"style": {QUIET_WORDS: {"color": ink, "fill": ink}}}


@cache
def has_chart_renderer() -> bool:
    """Whether the package that draws is installed."""
    try:
        version(PACKAGE)
    except PackageNotFoundError:
        return False
    return True


def render_chart_file(
    spec: Mapping[str, Any], form: str, *, title: str, source: str, theme: Theme = "light"
) -> bytes:
    """A Vega-Lite specification as a file of a format of FORMATS. Raises UsageError where the
    drawing package is not installed, EnvironmentFailure where it fails."""
    if not has_chart_renderer():
        raise UsageError(Note("chart_missing", package=PACKAGE, command=INSTALL))
    request = {
        "form": form,
        "spec": apply_chart_theme(spec, title=title, source=source, theme=theme),
    }
    try:
        completed = subprocess.run(
            [sys.executable, "-m", "evalcore.charts.pictures"],
            input=orjson.dumps(request),
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise EnvironmentFailure(Note("chart_slow", seconds=f"{_SECONDS:.0f}")) from None
    if completed.returncode:
        raise EnvironmentFailure(Note("chart_failed", problem=_last_line(completed.stderr)))
    return completed.stdout


def apply_chart_theme(
    spec: Mapping[str, Any], *, title: str, source: str, theme: Theme = "light"
) -> dict[str, Any]:
    """The specification with a size, a title, a line below it that says where the numbers are from,
    and the look of a theme."""
    background, text, muted, lines = _INKS[theme]
    head = {"text": title, "subtitle": source, "anchor": "start", "frame": "bounds", "offset": 14}
    quiet = {"labelColor": muted, "titleColor": muted, "labelFontSize": 12, "titleFontSize": 12}
    config = {
        "font": _SANS,
        "view": {"stroke": None},
        "title": {"color": text, "subtitleColor": muted, "fontSize": 17, "subtitleFontSize": 12},
        "axis": {**quiet, "gridColor": lines, "domainColor": lines, "tickColor": lines},
        "legend": quiet,
        "header": quiet,
        "range": {"category": list(_CATEGORIES[theme])},
        **build_word_styles(theme),
    }
    sized = {} if "width" in spec else {"width": _WIDTH}
    look = {"background": background, "padding": 18, "title": head, "config": config}
    return {**spec, **sized, **look}


def _last_line(stderr: bytes) -> str:
    lines = stderr.decode(errors="replace").strip().splitlines()
    return lines[-1][:200] if lines else "no reason given"


def _render_from_stdin() -> None:
    """What the other process does: a question on standard input, a picture on standard output."""
    import vl_convert

    request = orjson.loads(sys.stdin.buffer.read())
    options: dict[str, Any] = {"vl_version": _VEGA_LITE, "allowed_base_urls": []}
    if request["form"] == "png":
        picture = vl_convert.vegalite_to_png(request["spec"], scale=_SCALE, **options)
    else:
        picture = vl_convert.vegalite_to_svg(request["spec"], **options).encode()
    sys.stdout.buffer.write(picture)


if __name__ == "__main__":
    _render_from_stdin()

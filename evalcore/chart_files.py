"""A chart as a file that people paste: SVG or PNG in the colours of a theme, with title and source.

Vega runs in a process of its own, so that the server neither grows by a JavaScript engine nor waits
for one that hangs, and may load nothing but the chart it is given.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

import orjson

from evalcore.errors import EnvironmentFailure, UsageError

PACKAGE = "vl-convert-python"
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
    """A Vega-Lite specification as a file of a format of FORMATS.

    Raises UsageError where the drawing package is not installed, EnvironmentFailure where it fails.
    """
    if not has_chart_renderer():
        raise UsageError(f"a chart file needs {PACKAGE}; install it with: pip install {PACKAGE}")
    request = {
        "form": form,
        "spec": apply_chart_theme(spec, title=title, source=source, theme=theme),
    }
    try:
        completed = subprocess.run(
            [sys.executable, "-m", "evalcore.chart_files"],
            input=orjson.dumps(request),
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise EnvironmentFailure(f"drawing the chart took more than {_SECONDS:.0f} s") from None
    if completed.returncode:
        raise EnvironmentFailure(f"the chart could not be drawn: {_last_line(completed.stderr)}")
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

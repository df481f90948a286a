"""Colours of a workbook as hexadecimal digits: given directly, by index, or by theme and tint.

The theme's order and the tint's formula are those of ECMA-376 part 1, 18.8.3 and 18.8.19.
"""

from __future__ import annotations

from collections.abc import Sequence
from colorsys import hls_to_rgb, rgb_to_hls
from typing import Any

_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
#: The theme lists dark before light, its numbers count light before dark.
_SWAPPED = {0: 1, 1: 0, 2: 3, 3: 2}
_SYSTEM_COLOURS = 64  # indexes from here on are the window's own colours


def read_theme_colours(book: Any) -> tuple[str, ...]:
    """The colours of a workbook's theme in the order of the file, () where it has none."""
    from openpyxl.xml.functions import fromstring

    if not book.loaded_theme:
        return ()
    scheme = fromstring(book.loaded_theme).find(f".//{_DRAWING}clrScheme")
    if scheme is None:
        return ()
    return tuple(
        str(colour.get("lastClr") or colour.get("val") or "")[-6:].upper()
        for slot in scheme
        for colour in list(slot)[:1]
    )


def format_cell_fill(cell: Any, theme: Sequence[str]) -> str:
    """What a cell is filled with, as #RRGGBB (two of them for a gradient), "" for nothing."""
    fill = cell.fill
    stops = getattr(fill, "stop", None)
    if stops:
        return " to ".join(filter(None, (_format_colour(stop.color, theme) for stop in stops)))
    if getattr(fill, "fill_type", None) is None:
        return ""
    colour = _format_colour(fill.fgColor, theme)
    return colour if fill.fill_type == "solid" else f"{fill.fill_type} {colour}".strip()


def format_font_colour(cell: Any, theme: Sequence[str]) -> str:
    """The colour of a cell's text as #RRGGBB, "" where it is black or none is set."""
    colour = _format_colour(cell.font.color, theme) if cell.font and cell.font.color else ""
    return "" if colour == "#000000" else colour


def _format_colour(colour: Any, theme: Sequence[str]) -> str:
    from openpyxl.styles.colors import COLOR_INDEX

    if colour.type == "rgb" and isinstance(colour.rgb, str):
        return f"#{colour.rgb[-6:].upper()}"
    if colour.type == "indexed" and 0 <= colour.indexed < min(_SYSTEM_COLOURS, len(COLOR_INDEX)):
        return f"#{COLOR_INDEX[colour.indexed][-6:].upper()}"
    if colour.type == "theme":
        number = _SWAPPED.get(colour.theme, colour.theme)
        if 0 <= number < len(theme) and len(theme[number]) == 6:
            return f"#{_apply_tint(theme[number], float(colour.tint or 0.0))}"
    return ""


def _apply_tint(digits: str, tint: float) -> str:
    """A colour made darker (tint below 0) or lighter by its lightness."""
    red, green, blue = (int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4))
    hue, light, saturation = rgb_to_hls(red, green, blue)
    light = light * (1 + tint) if tint < 0 else light * (1 - tint) + tint
    parts = hls_to_rgb(hue, min(max(light, 0.0), 1.0), saturation)
    return "".join(f"{round(part * 255):02X}" for part in parts)

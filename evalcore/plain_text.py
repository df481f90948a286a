"""Text from outside made harmless: on one line for people, in one cell for a spreadsheet."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

#: Characters that no document may hold, or that hide and reorder text.
UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffe\uffff\ud800-\udfff]"
)
#: What stands where nothing was measured or nothing is known.
DASH = "–"
#: The same in texts for terminals and in files, where programs look for it.
NOT_RUN = "--"
#: A spreadsheet would run a cell that begins like this as a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def to_single_line(text: object, limit: int = 0) -> str:
    """`text` on one line without what hides or reorders it, cut to `limit` characters (0: none)."""
    flat = " ".join(UNSEEN.sub(" ", str(text)).split())
    return flat if not limit or len(flat) <= limit else flat[: limit - 1] + "…"


def to_terminal_text(text: object) -> str:
    """`text` as a terminal may print it: its lines as they are, tabs as blanks, and the replacement
    character for whatever would move the cursor, color, hide or reorder what follows."""
    lines = str(text).replace("\r\n", "\n").expandtabs(4).split("\n")
    return "\n".join(UNSEEN.sub("\ufffd", line) for line in lines)


def format_count(count: int, noun: str) -> str:
    """A number and its noun, which takes an s in the plural: "1 case", "0 cases"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def format_signed(value: float) -> str:
    """A difference for people, with its sign and one digit: +1.2, −7.1."""
    return f"{value:+.1f}".replace("-", "−")


def safe_cell(value: Any) -> Any:
    """Text that a spreadsheet would take for a formula is quoted as text; all else as it is."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def format_csv(rows: Iterable[Iterable[Any]]) -> str:
    """Rows as CSV without formulas; None is an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([safe_cell(cell) for cell in row] for row in rows)
    return text.getvalue()


def round_cell(value: float | None) -> float | None:
    """A number as files hold it, with four digits after the point."""
    return None if value is None else round(value, 4)


def align_columns(rows: Sequence[Sequence[str]]) -> str:
    """Rows of text for a terminal, the columns padded."""
    widths = [max(map(measure_width, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(pad_cell, row, widths)).rstrip() for row in rows)


def measure_width(text: str) -> int:
    """The columns of a terminal that a text takes; Chinese characters take two."""
    return len(text) + sum(unicodedata.east_asian_width(sign) in "WF" for sign in text)


def pad_cell(text: str, width: int) -> str:
    """A text with blanks behind it, `width` columns of a terminal wide."""
    return text + " " * (width - measure_width(text))

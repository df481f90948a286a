"""What is asked of a reader, how it says that it cannot, and in which characters it answers."""

from __future__ import annotations

from evalcore.records import Record

#: Control characters, which say nothing to a reader and which no terminal or server should get.
_CONTROL_CHARACTERS = dict.fromkeys((*range(9), *range(11, 13), *range(14, 32), 127), "\ufffd")


class ReadRequest(Record, frozen=True):
    """One request to read a file.

    `sheet` is a sheet of a workbook or a table of a database, `range` cells (A1:D20) or lines
    (10-40), `pages` pages or slides (1-3); empty where all is wanted. `limit` is the longest text
    in characters, `base` the address of a web page, against which its links are resolved.
    """

    name: str = ""
    sheet: str = ""
    range: str = ""
    pages: str = ""
    limit: int = 20_000
    base: str = ""


class Unreadable(Exception):
    """The file or the part asked for cannot be read; the message is for the model."""


def sanitize_text(text: str) -> str:
    """The text in characters that a message can hold: no controls, no halves of surrogates."""
    return text.encode("utf-8", "replace").decode("utf-8").translate(_CONTROL_CHARACTERS)

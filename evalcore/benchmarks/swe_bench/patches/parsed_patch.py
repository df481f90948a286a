"""What a model wrote as a patch, before anybody has looked into the repository.

Every format is read into this one: files as they are named, with hunks of lines that carry the
marks of a unified diff. Nothing in it is believed yet.
"""

from __future__ import annotations

from typing import Literal

from evalcore.records import Record

Action = Literal["change", "create", "delete", "rename", "whole"]
Format = Literal["unified", "v4a", "search_replace", "full_file"]
NULL = "/dev/null"


class ParsedHunk(Record, frozen=True):
    """`raw` are the lines up to the next header or fence, marks and prose behind them included.

    `start` is the old line that the header names, from 1, 0 where it names none; `counts` the
    numbers of old and new lines that it announces; `scope` the line that it quotes. `closed`: the
    text goes on behind the hunk, if only by a fence; `newline`: else it ends with one. `at_end`:
    the hunk says that it reaches the end of the file.
    """

    raw: tuple[str, ...]
    start: int = 0
    counts: tuple[int, int] | None = None
    scope: str = ""
    closed: bool = True
    newline: bool = True
    at_end: bool = False


class ParsedFile(Record, frozen=True):
    """One file as a patch names it; "" where it does not. `block` numbers the stretch of the reply
    between fences, from 0; `mode` is the mode of a new file, `content` its lines or all of a file's
    lines where it is given whole."""

    old: str = ""
    new: str = ""
    hunks: tuple[ParsedHunk, ...] = ()
    action: Action = "change"
    mode: str = ""
    content: tuple[str, ...] = ()
    block: int = 0


class ParsedPatch(Record, frozen=True):
    """`format` of the text and its files; `alone` where the text held nothing but the patch."""

    format: Format
    files: tuple[ParsedFile, ...]
    alone: bool = False

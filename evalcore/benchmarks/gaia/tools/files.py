"""The tools `list_files` and `read_file`: the attachments by their names, and nothing else.

A path is looked up among the names that were given, and below an archive among its members. It is
never joined to a folder, so that no path leads anywhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from evalcore.benchmarks.gaia.attachments import (
    ReadRequest,
    Unreadable,
    list_archive_members,
    read_attachment_bytes,
    read_content,
)
from evalcore.benchmarks.gaia.attachments.kinds import detect_file_kind
from evalcore.benchmarks.gaia.tools.tool import ToolError, text_tool

_MAX_LISTED_MEMBERS = 200  # members of an archive
_LONGEST_PATH = 500

LIST = text_tool(
    "list_files",
    "Lists the attached files: path, kind and size in bytes of each, and of what archives hold.",
)
READ = text_tool(
    "read_file",
    "Returns the text of an attached file. Workbooks show values, formulas and colours of cells; "
    "pictures and sound show only what their files say of them. A long text is cut, with a note "
    "of how to read on.",
    {"path": "the path as list_files shows it"},
    {
        "sheet": "the name of a sheet (xlsx) or of a table (sqlite)",
        "range": "cells of a sheet like A1:D20, lines of a text or rows of a table like 10-40",
        "pages": "pages of a pdf or slides of a pptx, like 1-3",
    },
)


def list_files(files: Mapping[str, Path]) -> str:
    """A line a file and a line a member of an archive. Raises EnvironmentFailure only."""
    lines: list[str] = []
    for name, path in files.items():
        try:
            content = read_attachment_bytes(path)
            kind = detect_file_kind(name, content[:16])
            lines.append(f"{name}, {kind or 'unknown kind'}, {len(content)} bytes")
            if kind == "zip":
                lines += _list_member_lines(name, content)
        except Unreadable as problem:
            lines.append(f"{name}, not readable: {problem}")
    return "\n".join(lines) or "There are no files."


def _list_member_lines(archive: str, content: bytes) -> list[str]:
    members = list_archive_members(content)
    lines = [
        f"{archive}/{name}, {detect_file_kind(name, b'') or 'unknown kind'}, {size} bytes"
        for name, size in members[:_MAX_LISTED_MEMBERS]
    ]
    if len(members) > _MAX_LISTED_MEMBERS:
        lines.append(f"[{len(members) - _MAX_LISTED_MEMBERS} more files in {archive}]")
    return lines


def read_file(files: Mapping[str, Path], path: str, request: ReadRequest) -> str:
    """The text of a file or of a member of an archive. Raises Refusal and EnvironmentFailure."""
    name, member = _split_attachment_path(files, path)
    try:
        content = read_attachment_bytes(files[name])
        if member and detect_file_kind(name, content[:16]) != "zip":
            raise ToolError(f'"{name}" is not an archive')
        return read_content(content, request, member)
    except Unreadable as problem:
        raise ToolError(f'"{path[:_LONGEST_PATH]}": {problem}') from None


def _split_attachment_path(files: Mapping[str, Path], path: str) -> tuple[str, str]:
    """The attachment a path names, and the path within it."""
    plain = path.strip().removeprefix("./")
    steps = plain.split("/")
    available = ", ".join(files) or "none"
    forbidden = {"..", ".", ""} & set(steps)
    if forbidden or "\\" in plain or "\x00" in plain or len(plain) > _LONGEST_PATH:
        raise ToolError(
            f'"{path[:_LONGEST_PATH]}" is not a path of an attached file; the files: {available}'
        )
    for name in sorted(files, key=len, reverse=True):
        if plain == name:
            return name, ""
        if plain.startswith(f"{name}/"):
            return name, plain[len(name) + 1 :]
    raise ToolError(f'there is no file "{path[:_LONGEST_PATH]}"; the files: {available}')

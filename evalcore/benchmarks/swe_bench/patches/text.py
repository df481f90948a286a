"""Lines of a reply: how text is cut into them and which of them end a patch."""

from __future__ import annotations

import re

#: Names of tags that a reply puts around a patch.
CONTAINERS = "patch|diff|answer|solution|response|output|result|final|code"
_TAG = re.compile(rf"</?(?:{CONTAINERS})>\s*", re.IGNORECASE)


def split_patch_lines(text: str) -> list[str]:
    """The lines without their ends; nothing but a line feed ends one, as in git."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def is_fence(line: str) -> bool:
    return line.startswith(("```", "~~~"))


def is_patch_edge(line: str) -> bool:
    """Whether a line is a fence or a tag around a patch."""
    return is_fence(line) or (line[:1] == "<" and _TAG.fullmatch(line) is not None)

"""Why a text was not made into a patch, in sentences that a person reads."""

from __future__ import annotations

from types import MappingProxyType
from typing import Literal

RefusalKind = Literal[
    "empty",
    "none",
    "cut",
    "short",
    "large",
    "path",
    "file",
    "which_file",
    "unnamed",
    "exists",
    "kind",
    "nowhere",
    "ambiguous",
    "overlap",
    "indent",
    "elided",
    "python",
    "same",
]

PROBLEMS = MappingProxyType[RefusalKind, str](
    {
        "empty": "The reply is empty.",
        "none": "The reply holds no patch in a known format.",
        "cut": "The reply was cut off, so the patch may be incomplete.",
        "short": "A hunk holds fewer lines than its header announces.",
        "large": "The patch is larger than what is repaired.",
        "path": "The patch names a path outside of the repository.",
        "file": "The patch names a file that the repository does not hold.",
        "which_file": "The patch fits more than one file.",
        "unnamed": "A hunk names no file, and none of the repository holds its old lines.",
        "exists": "The patch creates a file that exists.",
        "kind": "The patch holds a binary file, a link or a submodule.",
        "nowhere": "The old lines of a hunk are not in the file.",
        "ambiguous": "The old lines of a hunk fit more than one place.",
        "overlap": "Two hunks change the same lines.",
        "indent": "How the added lines are to be indented cannot be told.",
        "elided": "The new text of a file leaves parts of it out.",
        "python": "A Python file that compiled or is new does not compile after the patch.",
        "same": "The patch changes nothing.",
    }
)


class PatchRefused(Exception):
    """A text that is not repaired; `kind` is a key of PROBLEMS."""

    def __init__(self, kind: RefusalKind) -> None:
        self.kind: RefusalKind = kind
        super().__init__(PROBLEMS[kind])

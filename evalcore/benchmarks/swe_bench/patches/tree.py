"""The repository as the ladder sees it: names of files and their text."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from evalcore.sandbox.folder import Unreadable, read_inside

#: Bytes of a file beyond which it is not read: no source is longer.
MAX_SOURCE_BYTES = 8 << 20


class Tree(Protocol):
    """A repository at its base commit."""

    def read(self, path: str) -> str | None:
        """The text of a file, line ends as they are; None where there is none to read."""

    def paths(self) -> Sequence[str]:
        """All files, relative to the root, with forward slashes."""


class FolderTree:
    """The plain files of a folder: no link is followed, `.git` is left out."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._paths: list[str] | None = None

    def read(self, path: str) -> str | None:
        """None, too, for a file that is no UTF-8 or longer than LARGEST."""
        try:
            return read_inside(self._folder, path, MAX_SOURCE_BYTES).decode("utf-8")
        except (Unreadable, UnicodeDecodeError):
            return None

    def paths(self) -> Sequence[str]:
        if self._paths is None:
            self._paths = sorted(self._list_plain_files())
        return self._paths

    def _list_plain_files(self) -> list[str]:
        paths: list[str] = []
        for folder, below, names in os.walk(self._folder):
            below[:] = [name for name in below if name != ".git"]
            for name in names:
                path = Path(folder) / name
                if stat.S_ISREG(path.lstat().st_mode):
                    paths.append(path.relative_to(self._folder).as_posix())
        return paths

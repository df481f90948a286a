"""Trees made at test time, of git and in memory, and what is in them."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.patch_variants import Files

_GIT = ("git", "-c", "user.name=test", "-c", "user.email=test@localhost")


class MappingTree:
    """A tree of path to text, in memory."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = files

    def read(self, path: str) -> str | None:
        return self._files.get(path)

    def paths(self) -> Sequence[str]:
        return list(self._files)


def make_tree(folder: Path, files: Files) -> Path:
    """A repository with one commit of these files."""
    for path, text in files.items():
        location = folder / path
        location.parent.mkdir(parents=True, exist_ok=True)
        location.write_bytes(text.encode())
    for arguments in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "base")):
        subprocess.run((*_GIT, *arguments), cwd=folder, check=True)
    return folder


def files_of(folder: Path) -> dict[str, str]:
    """The text of all plain files but git's own and those that patch leaves beside others."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes().decode()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".git" not in path.parts and path.suffix not in (".orig", ".rej")
    }


def restore(folder: Path) -> None:
    """The tree as it was committed."""
    for arguments in (("reset", "-q", "--hard"), ("clean", "-ffdxq")):
        subprocess.run((*_GIT, *arguments), cwd=folder, check=True)

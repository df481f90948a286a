"""Going through folders that an untrusted program has written, without following any link.

Every step is taken from an open folder, so a path can neither lead out nor be swapped on the way;
depth and number of what lies there cost no stack and no memory. POSIX only.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from evalcore.errors import EvalboardError

#: Folders deeper than this are not walked into; `remove_tree` goes to any depth.
DEPTH = 64
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_BLOCK = 512  # the unit of st_blocks


class Unreadable(EvalboardError):
    """What a program left behind cannot be read: missing, a link, no plain file, or too long."""


class FolderEntry(NamedTuple):
    """`name` in the open folder `parent`; `facts` are of the entry itself, not of a link's end.

    `is_deepest` marks a folder that was not walked into for its depth.
    """

    parent: int
    name: str
    facts: os.stat_result
    is_deepest: bool = False


def walk_entries(top: Path) -> Iterator[FolderEntry]:
    """`top` itself and all below it, a folder before its content.

    What is gone by the time we come to it and what may not be entered is passed over.
    """
    top = top.resolve()
    parent = os.open(top.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        facts = os.stat(top.name, dir_fd=parent, follow_symlinks=False)
        yield FolderEntry(parent, top.name, facts)
        if stat.S_ISDIR(facts.st_mode):
            yield from _walk_below(parent, top.name, DEPTH)
    finally:
        os.close(parent)


def measure_usage(top: Path, max_entries: int) -> tuple[int, int]:
    """Bytes on disk and number of entries of `top`; counting ends beyond `max_entries` entries.

    Folders too deep to be walked into count as more than `max_entries`: much can hide in them.
    """
    total = count = 0
    for entry in walk_entries(top):
        total += entry.facts.st_blocks * _BLOCK
        count += max_entries + 1 if entry.is_deepest else 1
        if count > max_entries:
            break
    return total, count


def read_inside(folder: Path, name: str, limit: int) -> bytes:
    """The file `name` (a relative path) of `folder`, at most `limit` bytes.

    Raises Unreadable where it is missing, longer, no plain file, or reached through a link.
    """
    path = PurePosixPath(name)
    if path.is_absolute() or not path.parts or ".." in path.parts or "\0" in name:
        raise Unreadable(f"{name!r} is no path inside a folder")
    try:
        with open(_open_file(folder, path), "rb") as file:
            is_plain = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            content = file.read(limit + 1) if is_plain else b""
    except OSError as problem:
        raise Unreadable(f"{name!r} cannot be read: {problem.strerror}") from problem
    if not is_plain:
        raise Unreadable(f"{name!r} is no plain file")
    if len(content) > limit:
        raise Unreadable(f"{name!r} is longer than {limit} bytes")
    return content


def remove_tree(folder: Path) -> None:
    """Delete `folder` with all it holds, whatever the permissions; nothing where it is missing.

    A folder found inside is emptied of folders by moving them up to the top, so depth does not
    matter. No program may be running in it. Raises OSError where something cannot be deleted.
    """
    if not folder.is_dir() or folder.is_symlink():
        folder.unlink(missing_ok=True)
        return
    folder.chmod(0o700)
    top = os.open(folder, _FOLDER)
    try:
        moved = 0
        while names := os.listdir(top)[:1000]:  # noqa: PTH208 - of an open folder
            for name in names:
                moved = _remove_entry(top, name, moved)
    finally:
        os.close(top)
    folder.rmdir()


def _remove_entry(top: int, name: str, moved: int) -> int:
    """Delete one entry of the top folder; returns how many folders have been moved up so far."""
    if not stat.S_ISDIR(os.stat(name, dir_fd=top, follow_symlinks=False).st_mode):
        os.unlink(name, dir_fd=top)
        return moved
    os.chmod(name, 0o700, dir_fd=top)
    folder = os.open(name, _FOLDER, dir_fd=top)
    try:
        for child in os.listdir(folder):  # noqa: PTH208
            if not stat.S_ISDIR(os.stat(child, dir_fd=folder, follow_symlinks=False).st_mode):
                os.unlink(child, dir_fd=folder)
                continue
            os.chmod(child, 0o700, dir_fd=folder)
            moved += 1
            os.rename(child, _choose_unused_name(top, moved), src_dir_fd=folder, dst_dir_fd=top)
    finally:
        os.close(folder)
    os.rmdir(name, dir_fd=top)
    return moved


def _choose_unused_name(top: int, number: int) -> str:
    """A name that the top folder does not have; a program may have guessed the plain ones."""
    while True:
        name = f".removing-{number}-{os.urandom(8).hex()}"
        try:
            os.stat(name, dir_fd=top, follow_symlinks=False)
        except FileNotFoundError:
            return name


def _walk_below(parent: int, name: str, depth: int) -> Iterator[FolderEntry]:
    try:
        folder = os.open(name, _FOLDER, dir_fd=parent)
    except OSError:  # gone, swapped for something else, or closed to us
        return
    try:
        with os.scandir(folder) as listing:
            for dir_entry in listing:
                try:
                    facts = dir_entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                is_folder = stat.S_ISDIR(facts.st_mode)
                yield FolderEntry(folder, dir_entry.name, facts, is_folder and not depth)
                if is_folder and depth:
                    yield from _walk_below(folder, dir_entry.name, depth - 1)
    finally:
        os.close(folder)


def _open_file(folder: Path, path: PurePosixPath) -> int:
    parent = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in path.parts[:-1]:
            deeper = os.open(part, _FOLDER, dir_fd=parent)
            os.close(parent)
            parent = deeper
        return os.open(path.name, _FILE, dir_fd=parent)
    finally:
        os.close(parent)

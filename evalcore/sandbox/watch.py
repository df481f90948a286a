"""Measuring what a running sandbox uses, from outside, by the kernel's process table.

The kernel's own limits hold for one process; totals (memory of all, files in memory, writable
folders) are held by looking here several times a second. Everything inside descends from the first
process inside, whatever it did to detach itself, so following children finds all of it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path

from evalcore.sandbox.folder import usage
from evalcore.sandbox.layout import IN_MEMORY
from evalcore.sandbox.terms import Bind, Ending, Limits

_PAGE = os.sysconf("SC_PAGE_SIZE")
#: Processes of the sandbox itself that may be counted as the program's.
_OURS = 1
#: What an empty file in memory costs the kernel, about.
_INODE = 1024
_DISK_SECONDS = 0.5
#: Looking at a folder takes at most this part of the time.
_DISK_SHARE = 0.05
_NEW_ENTRIES = 100_000
#: Where a file system has less than this left and is losing more, a program that writes is ended.
_FLOOR = 256 << 20


class Watch:
    """Compares what is used with `limits`; made before the program starts."""

    def __init__(self, binds: Iterable[Bind], limits: Limits) -> None:
        self._limits = limits
        self._folders = [Path(bind.source) for bind in binds if bind.writable]
        self._before = self._disk(_NEW_ENTRIES * 10)
        self._free_before = self._free()
        self._next_disk = time.monotonic() + _DISK_SECONDS

    def broken(self, first: int) -> Ending:
        """The limit that is broken now, "" for none; `first` is the first process inside."""
        inside = descendants(first)
        if sum(map(_threads, inside)) > self._limits.processes + _OURS:
            return "processes"
        if self._memory(first, inside) > self._limits.memory_bytes:
            return "memory"
        return "disk" if self._folders and self._disk_broken() else ""

    def _memory(self, first: int, inside: list[int]) -> int:
        """Resident bytes of all. Shared pages are told apart where it matters: that is slow."""
        files = _files_in_memory(first, self._limits.memory_bytes // 2)
        total = files + sum(map(_resident, inside))
        if total <= self._limits.memory_bytes:
            return total
        return files + sum(map(_proportional, inside))

    def _disk_broken(self) -> bool:
        started = time.monotonic()
        if started < self._next_disk:
            return False
        size, count = self._disk(self._before[1] + _NEW_ENTRIES)
        free = self._free()
        now = time.monotonic()
        self._next_disk = now + max(_DISK_SECONDS, (now - started) / _DISK_SHARE)
        return (
            size - self._before[0] > self._limits.disk_bytes
            or count - self._before[1] > _NEW_ENTRIES
            or free < min(_FLOOR, self._free_before)
        )

    def _disk(self, most: int) -> tuple[int, int]:
        found = [usage(folder, most) for folder in self._folders]
        return sum(size for size, _ in found), sum(count for _, count in found)

    def _free(self) -> int:
        found = [os.statvfs(folder) for folder in self._folders]
        return min((facts.f_bavail * facts.f_frsize for facts in found), default=0)


def descendants(first: int) -> list[int]:
    """Every process below `first`, without itself."""
    found: list[int] = []
    waiting = [first]
    while waiting:
        children = _children(waiting.pop())
        found += children
        waiting += children
    return found


def _children(process: int) -> list[int]:
    """Children of all threads of a process, none where it is gone."""
    try:
        threads = os.listdir(f"/proc/{process}/task")  # noqa: PTH208 - names alone, and often
    except OSError:
        return []
    read = (_read(f"/proc/{process}/task/{thread}/children") for thread in threads)
    return [int(number) for text in read for number in text.split()]


def _threads(process: int) -> int:
    """The 20th field of `stat`; the second may hold spaces and brackets, so count from its end."""
    fields = _read(f"/proc/{process}/stat").rpartition(")")[2].split()
    return int(fields[17]) if len(fields) > 17 else 0


def _resident(process: int) -> int:
    fields = _read(f"/proc/{process}/statm").split()
    return int(fields[1]) * _PAGE if len(fields) > 1 else 0


def _proportional(process: int) -> int:
    """Resident bytes with a shared page divided among those who share it."""
    for line in _read(f"/proc/{process}/smaps_rollup").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return _resident(process)


def _files_in_memory(first: int, size: int) -> int:
    """Bytes of the folders in memory, seen through the first process: none can alter its mounts.

    While the sandbox is put together these paths lead elsewhere; the folders are known by `size`.
    """
    total = 0
    for path in IN_MEMORY:
        try:
            facts = os.statvfs(f"/proc/{first}/root{path}")
        except OSError:
            continue
        if abs(facts.f_blocks * facts.f_frsize - size) <= _PAGE:
            total += (facts.f_blocks - facts.f_bfree) * facts.f_frsize
            total += (facts.f_files - facts.f_ffree) * _INODE
    return total


def _read(path: str) -> str:
    """The text of a file of /proc, "" where its process is gone."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""

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

from evalcore.sandbox.folder import measure_usage
from evalcore.sandbox.layout import IN_MEMORY
from evalcore.sandbox.program_types import Bind, Ending, Limits

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


class UsageMonitor:
    """Compares what is used with `limits`; made before the program starts."""

    def __init__(self, binds: Iterable[Bind], limits: Limits) -> None:
        self._limits = limits
        self._folders = [Path(bind.source) for bind in binds if bind.writable]
        self._before = self._measure_disk(_NEW_ENTRIES * 10)
        self._free_before = self._measure_free_disk()
        self._next_disk = time.monotonic() + _DISK_SECONDS

    def find_exceeded_limit(self, first: int) -> Ending:
        """The limit that is broken now, "" for none; `first` is the first process inside."""
        inside = list_descendants(first)
        if sum(map(_count_threads, inside)) > self._limits.processes + _OURS:
            return "processes"
        if self._measure_memory(first, inside) > self._limits.memory_bytes:
            return "memory"
        return "disk" if self._folders and self._exceeds_disk_limit() else ""

    def _measure_memory(self, first: int, inside: list[int]) -> int:
        """Resident bytes of all. Shared pages are told apart where it matters: that is slow."""
        files = _measure_memory_files(first, self._limits.memory_bytes // 2)
        total = files + sum(map(_read_resident_bytes, inside))
        if total <= self._limits.memory_bytes:
            return total
        return files + sum(map(_read_proportional_bytes, inside))

    def _exceeds_disk_limit(self) -> bool:
        started = time.monotonic()
        if started < self._next_disk:
            return False
        size, count = self._measure_disk(self._before[1] + _NEW_ENTRIES)
        free = self._measure_free_disk()
        now = time.monotonic()
        self._next_disk = now + max(_DISK_SECONDS, (now - started) / _DISK_SHARE)
        return (
            size - self._before[0] > self._limits.disk_bytes
            or count - self._before[1] > _NEW_ENTRIES
            or free < min(_FLOOR, self._free_before)
        )

    def _measure_disk(self, max_entries: int) -> tuple[int, int]:
        usages = [measure_usage(folder, max_entries) for folder in self._folders]
        return sum(size for size, _ in usages), sum(count for _, count in usages)

    def _measure_free_disk(self) -> int:
        stats = [os.statvfs(folder) for folder in self._folders]
        return min((facts.f_bavail * facts.f_frsize for facts in stats), default=0)


def list_descendants(first: int) -> list[int]:
    """Every process below `first`, without itself."""
    processes: list[int] = []
    waiting = [first]
    while waiting:
        children = _list_children(waiting.pop())
        processes += children
        waiting += children
    return processes


def _list_children(process: int) -> list[int]:
    """Children of all threads of a process, none where it is gone."""
    try:
        threads = os.listdir(f"/proc/{process}/task")  # noqa: PTH208 - names alone, and often
    except OSError:
        return []
    texts = (_read_proc_file(f"/proc/{process}/task/{thread}/children") for thread in threads)
    return [int(number) for text in texts for number in text.split()]


def _count_threads(process: int) -> int:
    """The 20th field of `stat`; the second may hold spaces and brackets, so count from its end."""
    fields = _read_proc_file(f"/proc/{process}/stat").rpartition(")")[2].split()
    return int(fields[17]) if len(fields) > 17 else 0


def _read_resident_bytes(process: int) -> int:
    fields = _read_proc_file(f"/proc/{process}/statm").split()
    return int(fields[1]) * _PAGE if len(fields) > 1 else 0


def _read_proportional_bytes(process: int) -> int:
    """Resident bytes with a shared page divided among those who share it."""
    for line in _read_proc_file(f"/proc/{process}/smaps_rollup").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return _read_resident_bytes(process)


def _measure_memory_files(first: int, size: int) -> int:
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


def _read_proc_file(path: str) -> str:
    """The text of a file of /proc, "" where its process is gone."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""

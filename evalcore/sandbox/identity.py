"""Who a program is inside: never root, so that the limit on its number of processes binds.

Where we are root, with the right to mount and to become somebody else, the program is a user of its
own: a number high up that no account has. No two programs that run at the same time share one,
because the kernel counts processes per user. Where we are anybody else, the program is ourselves
under another number, in a user namespace, which has its own count.
"""

from __future__ import annotations

import os
import queue
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evalcore.records import Record

_SLOTS = 32
#: CAP_CHOWN, CAP_SETGID, CAP_SETUID, CAP_NET_ADMIN and CAP_SYS_ADMIN by their bits.
_NEEDED = (0, 6, 7, 12, 21)
_ORDINARY = 1000
#: A container may have few user numbers, or only one; then none can be given to programs.
_ENOUGH_USERS = 10_000
#: Numbers kept free at the end of the range, where some systems have special users.
_MARGIN = 64

_free: queue.SimpleQueue[int] = queue.SimpleQueue()
for _slot in range(_SLOTS):
    _free.put(_slot)


class SandboxUser(Record, frozen=True):
    """The program's numbers as seen inside; `own_user` where they are real users of the host."""

    uid: int
    gid: int
    own_user: bool


@contextmanager
def acquire_sandbox_user() -> Iterator[SandboxUser]:
    """Lend an identity for one run; waits where all of this process are in use."""
    users = Path("/proc/self/uid_map").read_text()
    if not _is_privileged() or _parse_uid_range(users)[1] < _ENOUGH_USERS:
        yield SandboxUser(uid=_ORDINARY, gid=_ORDINARY, own_user=False)
        return
    slot = _free.get()
    try:
        number = _choose_uid(slot, users)
        yield SandboxUser(uid=number, gid=number, own_user=True)
    finally:
        _free.put(slot)


def _is_privileged() -> bool:
    """Whether we may mount and become any user without a user namespace."""
    if os.geteuid() != 0:
        return False
    status = Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("CapEff:"))
    held = int(line.split()[1], 16)
    return all(held >> bit & 1 for bit in _NEEDED)


def _choose_uid(slot: int, uid_map: str) -> int:
    """A user number from the upper half of the numbers that exist here (`uid_map` of proc)."""
    first, length = _parse_uid_range(uid_map)
    end = min(first + length, 1 << 31) - _MARGIN
    span = max(1, min(length // 2, 1 << 27))
    return end - 1 - (os.getpid() * _SLOTS + slot) % span


def _parse_uid_range(uid_map: str) -> tuple[int, int]:
    """The first number and the length of the uppermost range of users that exist here."""
    rows = [tuple(map(int, line.split())) for line in uid_map.splitlines()]
    first, _, length = max(rows)
    return first, length

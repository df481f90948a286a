"""Whether a process holds a lock, asked from outside."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


def is_locked(lock: Path) -> bool:
    """Whether a process holds the lock: the kernel frees it however the process ends.

    Asked with a shared lock, so that two who ask at once do not take each other for the holder.
    """
    try:
        handle = os.open(lock, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:  # nobody ever, or a folder that only its owner may write
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False

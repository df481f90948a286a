"""The interpreter's own door: after `lock_down`, Python code opens and starts nothing.

The audit hook sees what goes through Python, not what a C library does by itself; against that
stand the kernel's limits. It cannot be removed again.
"""

from __future__ import annotations

import sys
from typing import Any

#: Audit events that are refused, by their name up to the first dot.
_MODULES = (
    "open mmap socket subprocess os shutil tempfile ctypes pty fcntl ftplib urllib http imaplib "
    "poplib smtplib telnetlib nntplib webbrowser winreg syslog pdb pathlib glob"
)
_REFUSED = frozenset(_MODULES.split())
_REFUSED_FULL = frozenset(("sqlite3.enable_load_extension", "sqlite3.load_extension"))


def _refuse_event(event: str, arguments: tuple[Any, ...]) -> None:
    if event.partition(".")[0] in _REFUSED or event in _REFUSED_FULL:
        raise PermissionError(f"{event} is refused in this process")


def lock_down() -> None:
    """Refuse files, sockets, processes and foreign code in this process from now on."""
    sys.addaudithook(_refuse_event)

"""A service for worker processes that tries what must not be possible, and says what happened."""

from __future__ import annotations

import ctypes
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


class Probe:
    about = {"kind": "probe"}

    def __init__(self) -> None:
        libc = ctypes.CDLL(None)
        # Looked up now: what is tested is the kernel's answer, not the interpreter's.
        opening, making, piping, dying = libc.open, libc.socket, libc.pipe, libc["raise"]
        pair = (ctypes.c_int * 2)()
        self._actions: dict[str, Callable[[Any], Any]] = {
            "echo": lambda value: value,
            "environment": lambda _: dict(os.environ),
            "folder": lambda _: str(Path.cwd()),
            "stderr": lambda text: print(text, file=sys.stderr),
            "stdout": lambda text: print(text, flush=True),
            "open": lambda path: Path(path).read_text(),
            "write": lambda path: Path(path).write_text("x"),
            "socket": lambda _: str(socket.socket()),
            "run": lambda argument: subprocess.run([argument], check=True),
            "system": lambda argument: os.system(argument),
            "thread": lambda _: threading.Thread(target=print).start(),
            "native open": lambda path: opening(path.encode(), os.O_RDONLY),
            "native socket": lambda _: making(2, 1, 0),
            "native pipe": lambda _: piping(pair),
            "memory": lambda size: len(bytearray(size)),
            "sleep": time.sleep,
            "spin": lambda _: self._spin(),
            "exit": lambda status: os._exit(status),
            "crash": lambda _: dying(11),
            "long": lambda size: "x" * size,
            "raise": lambda text: int(text),
        }

    def __call__(self, request: Mapping[str, Any]) -> Any:
        if not request:
            return None
        return self._actions[request["do"]](request.get("with"))

    def _spin(self) -> None:
        while True:
            pass


def open_probe(_: Mapping[str, Any]) -> Probe:
    return Probe()

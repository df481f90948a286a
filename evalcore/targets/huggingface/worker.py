"""The process that owns a model: `python -m evalcore.targets.huggingface.worker`.

Frames come in on standard input (`messages.Start`, then orders), news go out on standard output. A
thread reads the orders, so that the end of the pipe, which is the end of the parent, ends the
process and frees its memory at once, even in the middle of a step.
"""

from __future__ import annotations

import ctypes
import os
import queue
import signal
import sys
import threading
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any

from evalcore.errors import EvalboardError
from evalcore.records import from_json, to_plain
from evalcore.sandbox.worker_process import read_frame, write_frame
from evalcore.targets.huggingface.load import load_checkpoint
from evalcore.targets.huggingface.messages import (
    LoadError,
    LoadingEvent,
    ReadyEvent,
    RefusedEvent,
    StartOrder,
    WorkerEvent,
    WorkerOrder,
    read_order,
)
from evalcore.targets.huggingface.model_files import locate_model

if TYPE_CHECKING:
    from evalcore.targets.huggingface.service import ModelService

_PR_SET_PDEATHSIG = 1

Inbox = queue.SimpleQueue[WorkerOrder]


def start_service(
    start: StartOrder, inbox: Inbox, send: Callable[[WorkerEvent], None]
) -> ModelService | None:
    """The service of a start message, its model loaded; None where it was refused."""
    try:
        model_ref = locate_model(start.key, start.options.revision)
        loaded = load_checkpoint(model_ref, start.options, lambda line: send(LoadingEvent(line)))
    except EvalboardError as problem:
        send(RefusedEvent(problem.kind if isinstance(problem, LoadError) else "", str(problem)))
        return None
    except Exception as problem:  # the library raises what it likes
        message = f"the model cannot be loaded: {type(problem).__name__}: {problem}"
        send(RefusedEvent("", message[:500]))
        return None
    from evalcore.targets.huggingface.service import build_service  # needs torch, which load found

    service = build_service(start, loaded, inbox, send)
    packed_notes: dict[str, Any] = {}
    report = to_plain(loaded.report, packed_notes)
    send(ReadyEvent(report | {"packed_notes": packed_notes} if packed_notes else report))
    return service


def main() -> None:
    _die_with_parent()
    orders, news = _take_pipes()
    first = read_frame(orders)
    if first is None:
        return
    start = from_json(StartOrder, first)
    inbox: Inbox = queue.SimpleQueue()
    threading.Thread(target=_listen_for_orders, args=(orders, inbox), daemon=True).start()
    service = start_service(start, inbox, lambda message: write_frame(news, message))
    if service is None:
        os._exit(1)
    try:
        service.run()
    except BrokenPipeError:
        os._exit(1)


def _listen_for_orders(orders: IO[bytes], inbox: Inbox) -> None:
    while (frame := read_frame(orders)) is not None:
        inbox.put(read_order(frame))
    os._exit(0)


def _take_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """Keep the pipes for ourselves; what a library prints goes to standard error."""
    orders, news = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.dup2(2, 1)
    os.close(nowhere)
    return orders, news


def _die_with_parent() -> None:
    """Ask the kernel, where it can, to end this process with its parent."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    main()

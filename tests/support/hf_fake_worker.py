"""Stands in for the process of a model, without one: run by `python -m`.

The last part of its key says what goes wrong: `refuse`, `die-loading`, `never-ready`, `die-once`
and `die-always` at the first request, `babble` for nonsense on the pipe, `silent` for no answer.
"""

from __future__ import annotations

import os
import signal
import sys

import msgspec

from evalcore.records import Completion, from_json
from evalcore.sandbox.worker_process import read_frame, write_frame
from evalcore.targets.huggingface.messages import (
    AnswerEvent,
    AskOrder,
    FailedEvent,
    LoadingEvent,
    ReadyEvent,
    RefusedEvent,
    StartOrder,
    StatsEvent,
    read_order,
)

REPORT = {
    "architecture": "Fake",
    "parameters": 1_000_000,
    "memory_bytes": 4_000_000,
    "load_seconds": 0.1,
    "dtype": "float32",
    "device": "cpu",
    "context": 100,
    "template": True,
    "tools": True,
    "threads": 1,
    "revision": "",
}


def main() -> None:
    orders, news = sys.stdin.buffer, sys.stdout.buffer
    start = from_json(StartOrder, read_frame(orders) or b"")
    what = start.key.rpartition("/")[2]
    write_frame(news, LoadingEvent("loading the fake"))
    if what == "refuse":
        write_frame(news, RefusedEvent("no_tokenizer", "there is no tokenizer"))
        return
    if what == "die-loading":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "never-ready":
        read_frame(orders)
        return
    write_frame(news, ReadyEvent(REPORT | {"halved": start.halved}))
    while (frame := read_frame(orders)) is not None:
        order = read_order(frame)
        if isinstance(order, AskOrder):
            _answer(order, what, start.halved)


def _answer(order: AskOrder, what: str, halved: int) -> None:
    news, text = sys.stdout.buffer, order.request.messages[-1].content
    if what == "die-always" or (what == "die-once" and not halved):
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "babble":
        news.write(b"\0\0\0\2{]")
        news.flush()
    elif text == "fail":
        write_frame(news, FailedEvent(order.id, "permanent", "as it was asked to"))
    elif what != "silent" and text != "wait":
        seen = msgspec.to_builtins(order.request) | {"secret": os.environ.get("OPENAI_API_KEY")}
        write_frame(news, AnswerEvent(order.id, Completion(text=text, sent=seen)))
        write_frame(news, StatsEvent(12.0, 99, 5_000_000, 3, 4, 1000, halved))


if __name__ == "__main__":
    main()

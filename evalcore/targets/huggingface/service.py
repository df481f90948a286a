"""Answers requests with a loaded model: what a process of `worker` does all day."""

from __future__ import annotations

import os
import queue
import time
from collections.abc import Callable
from dataclasses import dataclass

import msgspec
import torch

from evalcore.errors import EvalboardError
from evalcore.intake.json_text import replace_surrogates
from evalcore.records import Completion, FailureKind, GenerationRequest, ToolCall, Usage
from evalcore.targets.huggingface import chat
from evalcore.targets.huggingface.generate import Engine, Job, Output
from evalcore.targets.huggingface.load import Loaded
from evalcore.targets.huggingface.messages import Answer, Ask, Failed, News, Order, Start, Stats
from evalcore.targets.huggingface.scheduler import Lost, Scheduler, default_budget

_GATHER = 0.02  # seconds that the first request waits for others
_STATS = 1.0  # seconds between two Stats

Inbox = queue.SimpleQueue[Order]


@dataclass(frozen=True)
class _Open:
    """A request that is being worked on."""

    request: GenerationRequest
    prompt: chat.Prompt
    began: float


class Service:
    """Answers the orders of an inbox with one model; `send` takes the news."""

    def __init__(
        self, loaded: Loaded, scheduler: Scheduler, inbox: Inbox, send: Callable[[News], None]
    ) -> None:
        self._loaded, self._scheduler = loaded, scheduler
        self._inbox, self._send = inbox, send
        self._open: dict[str, _Open] = {}
        self._told, self._tokens = time.monotonic(), 0

    def run(self) -> None:
        """For ever; the end of the pipe ends the process."""
        while True:
            self.turn()

    def turn(self) -> None:
        """Take the orders that are there (wait for one where nothing is to do), then one step."""
        for order in self._orders():
            self._take(order)
        for item in self._scheduler.turn():
            self._settle(item)
        self._tell()

    def _orders(self) -> list[Order]:
        orders = []
        if self._scheduler.idle:
            orders.append(self._inbox.get())
            self._told = time.monotonic()  # idle time is no part of a rate
            until = time.monotonic() + _GATHER
            while (left := until - time.monotonic()) > 0:
                try:
                    orders.append(self._inbox.get(timeout=left))
                except queue.Empty:
                    break
        while not self._inbox.empty():
            orders.append(self._inbox.get())
        return orders

    def _take(self, order: Order) -> None:
        if not isinstance(order, Ask):
            self._scheduler.cancel(order.id)
            self._open.pop(order.id, None)
            return
        try:
            self._begin(order)
        except chat.TooLong as problem:
            self._send(Answer(order.id, _overflow(problem)))
        except EvalboardError as problem:
            self._fail(order.id, "permanent", str(problem))
        except Exception as problem:  # a template or tokenizer can raise anything
            self._fail(order.id, "permanent", f"{type(problem).__name__}: {problem}"[:500])

    def _begin(self, order: Ask) -> None:
        request = order.request
        prompt = chat.encode(self._loaded, request)
        if not prompt.ids:
            self._fail(order.id, "permanent", "the prompt is empty")
            return
        job = Job(
            id=order.id,
            ids=prompt.ids,
            max_new=chat.max_new(self._loaded, request, prompt),
            sampling=request.sampling,
            stop=chat.stops(self._loaded, request),
        )
        self._open[order.id] = _Open(request, prompt, time.perf_counter())
        self._scheduler.add(job)

    def _settle(self, item: Output | Lost) -> None:
        begun = self._open.pop(item.id, None)
        if begun is None:
            return  # cancelled
        if isinstance(item, Lost):
            self._fail(item.id, "environment", item.message)
            return
        try:
            done = chat.decode(
                self._loaded, begun.request, begun.prompt, item.new_ids, item.stopped
            )
        except Exception as problem:  # what a model wrote must not end the process
            self._fail(item.id, "environment", f"{type(problem).__name__}: {problem}"[:500])
            return
        self._send(Answer(item.id, self._completed(begun, _writable(done))))

    def _completed(self, begun: _Open, done: Completion) -> Completion:
        sampling = begun.request.sampling
        sent = {
            "temperature": sampling.temperature or 0.0,
            "max_tokens": chat.max_new(self._loaded, begun.request, begun.prompt),
        }
        if sampling.temperature:
            sent |= {"top_p": sampling.top_p or 1.0}
            sent |= {} if sampling.seed is None else {"seed": sampling.seed}
        elapsed = time.perf_counter() - begun.began
        return msgspec.structs.replace(done, latency=elapsed, sent=sent)

    def _fail(self, order: str, kind: FailureKind, message: str) -> None:
        self._send(Failed(order, kind, message))

    def _tell(self) -> None:
        """Once a second, and when nothing is left to do."""
        moment, made = time.monotonic(), self._scheduler.tokens
        if moment - self._told < _STATS and not self._scheduler.idle:
            return
        rate = (made - self._tokens) / max(moment - self._told, 1e-3)
        self._told, self._tokens = moment, made
        self._send(
            Stats(
                tokens_per_second=round(rate, 1),
                tokens=made,
                process_bytes=memory_of(self._loaded),
                batch=len(self._scheduler.engine.rows),
                waiting=self._scheduler.waiting,
                budget_tokens=self._scheduler.budget.tokens,
                halved=self._scheduler.halved,
            )
        )


def _writable(done: Completion) -> Completion:
    """The completion without halves of surrogate pairs: the JSON of a call may hold them escaped,
    and no message of this process can."""
    calls = tuple(
        ToolCall(call.id, replace_surrogates(call.name), replace_surrogates(call.arguments))
        for call in done.tool_calls
    )
    return msgspec.structs.replace(
        done,
        text=replace_surrogates(done.text),
        reasoning=replace_surrogates(done.reasoning),
        tool_calls=calls,
    )


def _overflow(problem: chat.TooLong) -> Completion:
    """An answer that says that the prompt did not fit: of no use to ask again."""
    return Completion(
        finish_reason="context_overflow", usage=Usage(input_tokens=problem.tokens, output_tokens=0)
    )


def memory_of(loaded: Loaded) -> int:
    """Bytes that the process holds where its model is."""
    if loaded.model.device.type == "cuda":
        return int(torch.cuda.memory_reserved(loaded.model.device))
    try:
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123 - a kernel file
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return int(loaded.report.memory_bytes)


def service_of(start: Start, loaded: Loaded, inbox: Inbox, send: Callable[[News], None]) -> Service:
    """The service of a loaded model, with the budget that a start message leaves it."""
    options = start.options
    rows = 1 if loaded.single_rows else options.batch_size
    budget = default_budget(loaded.model, rows, options.batch_tokens)
    for _ in range(start.halved):
        budget = msgspec.structs.replace(budget.halved(budget.tokens), rows=budget.rows // 2 or 1)
    engine = Engine(loaded, exact=rows == 1)
    return Service(loaded, Scheduler(engine, budget), inbox, send)

"""Answers requests with a loaded model, its batch kept full: who joins, who is put back, and what
to do without memory.
"""

from __future__ import annotations

import gc
import os
import queue
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import torch

from evalcore.errors import EvalboardError
from evalcore.intake.json_text import replace_surrogates
from evalcore.records import Completion, FailureKind, GenerationRequest, ToolCall, Usage
from evalcore.targets.huggingface import chat, machine
from evalcore.targets.huggingface.batches import (
    BatchBudget,
    WaitingPrompt,
    count_batch_tokens,
    hash_prefix,
    is_joining_worthwhile,
    select_next_batch,
    select_overgrown_rows,
)
from evalcore.targets.huggingface.generate import (
    DecodeJob,
    DecodeOutput,
    GenerationEngine,
    is_out_of_memory,
)
from evalcore.targets.huggingface.likelihoods import answer_continuations
from evalcore.targets.huggingface.load import LoadedModel
from evalcore.targets.huggingface.messages import (
    AnswerEvent,
    AskOrder,
    FailedEvent,
    StartOrder,
    StatsEvent,
    WorkerEvent,
    WorkerOrder,
)

# Each step admits what is due, moves every row by one token and gives what is finished. Where the
# memory does not suffice, the budget is halved for good and the rows wait again, with the tokens
# that they have; only a row that does not fit by itself is lost.

_CHECK_INTERVAL = 16  # steps between two looks whether answers outgrew the budget
_ROWS = {"cpu": 16, "cuda": 256}
_TOKENS = {"cpu": 32_768, "cuda": 524_288}
_MEMORY_SHARE = 0.5  # of the free memory may hold keys and values


@dataclass(frozen=True)
class LostJob:
    """A job that cannot be done: `message` says why."""

    id: str
    message: str


class Scheduler:
    """Jobs that wait and rows that run, of one engine."""

    def __init__(self, engine: GenerationEngine, budget: BatchBudget) -> None:
        self.engine, self.budget = engine, budget
        self.tokens = 0
        self.halved = 0
        self._waiting: dict[str, tuple[WaitingPrompt, DecodeJob]] = {}
        #: By job, when it first joined a batch and when it had its first token.
        self.joined: dict[str, float] = {}
        self.first_tokens: dict[str, float] = {}
        self._steps = 0

    @property
    def waiting_count(self) -> int:
        return len(self._waiting)

    @property
    def is_idle(self) -> bool:
        return not self._waiting and not self.engine.rows

    def add_job(self, job: DecodeJob) -> None:
        length = len(job.ids) + len(job.begun)
        left = job.max_new - len(job.begun)
        self._waiting[job.id] = (WaitingPrompt(job.id, length, hash_prefix(job.ids), left), job)

    def take_times(self, job_id: str) -> tuple[float | None, float | None]:
        """When a job that is done joined a batch, and when it had its first token."""
        return self.joined.pop(job_id, None), self.first_tokens.pop(job_id, None)

    def drop_job(self, job_id: str) -> None:
        self.take_times(job_id)
        if self._waiting.pop(job_id, None) is None:
            self.engine.withdraw_jobs([job_id])

    def advance_jobs(self) -> list[DecodeOutput | LostJob]:
        finished: list[DecodeOutput | LostJob] = []
        chosen: list[DecodeJob] = []
        try:
            chosen = self._take_joining_jobs()
            for job in chosen:
                self.joined.setdefault(job.id, time.perf_counter())
            finished.extend(self.engine.admit_jobs(chosen))
            for job in chosen:
                self.first_tokens.setdefault(job.id, time.perf_counter())
            self.tokens += len(chosen) + len(self.engine.rows)
            if self.engine.rows:
                finished.extend(self.engine.step())
        except Exception as error:
            finished_ids = {output.id for output in finished}
            unfinished = [job for job in chosen if job.id not in finished_ids]
            finished.extend(self._put_back(unfinished, error))
        self._steps += 1
        if self._steps % _CHECK_INTERVAL == 0:
            overgrown = select_overgrown_rows(self._list_running_prompts(), self.budget)
            for job in self.engine.withdraw_jobs(overgrown):
                self.add_job(job)
        return finished

    def _list_running_prompts(self) -> list[WaitingPrompt]:
        return [
            WaitingPrompt(
                id=row.job.id,
                length=len(row.job.ids) + len(row.new_ids),
                max_new=row.job.max_new - len(row.new_ids),
            )
            for row in self.engine.rows
        ]

    def _take_joining_jobs(self) -> list[DecodeJob]:
        """The jobs that join now; the others have been passed over once more."""
        running = len(self.engine.rows)
        if running and not self.engine.joins:
            return []
        if not is_joining_worthwhile(running, self.waiting_count, self.budget):
            return []
        candidates = [waiting for waiting, _ in self._waiting.values()]
        ids = select_next_batch(candidates, self.budget, self._list_running_prompts())
        chosen = [self._waiting.pop(job_id)[1] for job_id in ids]
        if chosen:
            for name, (waiting, job) in self._waiting.items():
                more = msgspec.structs.replace(waiting, passed=waiting.passed + 1)
                self._waiting[name] = (more, job)
        return chosen

    def _put_back(self, chosen: Sequence[DecodeJob], error: Exception) -> list[LostJob]:
        """After an exception: everything waits again, with less at a time if memory was short. An
        error of the device itself is raised again: nothing works after it in this process."""
        if isinstance(error, torch.AcceleratorError) and not is_out_of_memory(error):
            raise error
        running = self._list_running_prompts()
        jobs = {job.id: job for job in [*chosen, *self.engine.withdraw_jobs()]}
        self.engine.forget_prefixes()
        message = f"{type(error).__name__}: {error}"[:500]
        if not is_out_of_memory(error):
            return [LostJob(name, message) for name in jobs]
        error.__traceback__ = None  # its frames hold the tensors of the step that failed
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        if len(jobs) <= 1:
            message = f"not enough memory for this one prompt: {message}"
            return [LostJob(name, message) for name in jobs]
        fresh = [
            WaitingPrompt(job.id, len(job.ids) + len(job.begun), max_new=job.max_new)
            for job in chosen
            if job.id not in {row.id for row in running}
        ]
        self.budget = self.budget.halve_tokens(count_batch_tokens([*running, *fresh]))
        self.halved += 1
        for job in jobs.values():
            self.add_job(job)
        return []


def default_budget(model: Any, batch_size: int = 0, batch_tokens: int = 0) -> BatchBudget:
    """The budget of a model's device; what is not 0 was asked for."""
    kind = str(model.device.type)
    rows = batch_size or _ROWS.get(kind, _ROWS["cpu"])
    tokens = _TOKENS.get(kind, _TOKENS["cpu"])
    free = machine.memory_available(str(model.device))
    if free:
        tokens = min(tokens, max(1, int(free * _MEMORY_SHARE) // bytes_per_token(model)))
    return BatchBudget(tokens=batch_tokens or tokens, rows=rows)


def bytes_per_token(model: Any) -> int:
    """Bytes that the keys and values of one token take, of what the configuration says."""
    config = model.config.get_text_config(decoder=True)
    heads = getattr(config, "num_attention_heads", None) or 1
    key_value_heads = getattr(config, "num_key_value_heads", None) or heads
    size = getattr(config, "head_dim", None) or config.hidden_size // heads
    width = int(torch.empty((), dtype=model.dtype).element_size())
    return max(1, 2 * int(config.num_hidden_layers) * int(key_value_heads) * int(size) * width)


_GATHER_SECONDS = 0.02  # seconds that the first request waits for others
_STATS_SECONDS = 1.0  # seconds between two Stats

Inbox = queue.SimpleQueue[WorkerOrder]


@dataclass(frozen=True)
class _OpenRequest:
    """A request that is being worked on."""

    request: GenerationRequest
    prompt: chat.Prompt
    began: float


class ModelService:
    """Answers the orders of an inbox with one model; `send` takes the news."""

    def __init__(
        self,
        loaded: LoadedModel,
        scheduler: Scheduler,
        inbox: Inbox,
        send: Callable[[WorkerEvent], None],
    ) -> None:
        self._loaded, self._scheduler = loaded, scheduler
        self._inbox, self._send = inbox, send
        self._open_requests: dict[str, _OpenRequest] = {}
        self._last_stats_time, self._tokens = time.monotonic(), 0

    def run(self) -> None:
        while True:
            self.serve_step()

    def serve_step(self) -> None:
        """Take the orders that are there (wait for one where nothing is to do), then one step."""
        orders = self._collect_orders()
        for order in orders:
            self._handle_order(order)
        self._answer_likelihoods(orders)
        for item in self._scheduler.advance_jobs():
            self._finish_request(item)
        self._send_stats()

    def _collect_orders(self) -> list[WorkerOrder]:
        orders = []
        if self._scheduler.is_idle:
            orders.append(self._inbox.get())
            self._last_stats_time = time.monotonic()  # idle time is no part of a rate
            until = time.monotonic() + _GATHER_SECONDS
            while (left := until - time.monotonic()) > 0:
                try:
                    orders.append(self._inbox.get(timeout=left))
                except queue.Empty:
                    break
        while not self._inbox.empty():
            orders.append(self._inbox.get())
        return orders

    def _handle_order(self, order: WorkerOrder) -> None:
        if not isinstance(order, AskOrder):
            self._scheduler.drop_job(order.id)
            self._open_requests.pop(order.id, None)
            return
        if order.request.continuations:
            return  # answered together, by `_answer_likelihoods`
        try:
            self._start_request(order)
        except chat.PromptTooLong as problem:
            self._send(AnswerEvent(order.id, _build_overflow_completion(problem)))
        except EvalboardError as problem:
            self._send_failure(order.id, "permanent", str(problem))
        except Exception as problem:  # a template or tokenizer can raise anything
            self._send_failure(order.id, "permanent", f"{type(problem).__name__}: {problem}"[:500])

    def _answer_likelihoods(self, orders: Sequence[WorkerOrder]) -> None:
        """Answer the orders for likelihoods together, each alone where one of them fails."""
        asked = [o for o in orders if isinstance(o, AskOrder) and o.request.continuations]
        began = time.perf_counter()
        try:
            completions = answer_continuations(self._loaded, [order.request for order in asked])
        except Exception as problem:
            if isinstance(problem, torch.AcceleratorError) and not is_out_of_memory(problem):
                raise
            if len(asked) > 1:
                for order in asked:
                    self._answer_likelihoods([order])
                return
            kind: FailureKind = (
                "permanent" if isinstance(problem, EvalboardError) else "environment"
            )
            self._send_failure(asked[0].id, kind, f"{type(problem).__name__}: {problem}"[:500])
            return
        latency = (time.perf_counter() - began) / max(1, len(asked))
        for order, completion in zip(asked, completions, strict=True):
            answer = msgspec.structs.replace(completion, latency=latency)
            self._send(AnswerEvent(order.id, answer))

    def _start_request(self, order: AskOrder) -> None:
        request = order.request
        prompt = chat.encode_prompt(self._loaded, request)
        if not prompt.ids:
            self._send_failure(order.id, "permanent", "the prompt is empty")
            return
        job = DecodeJob(
            id=order.id,
            ids=prompt.ids,
            max_new=chat.compute_max_new(self._loaded, request, prompt),
            sampling=request.sampling,
            stop=chat.list_stop_strings(self._loaded, request),
            top_k=self._loaded.top_k,
            min_p=self._loaded.min_p,
            repetition_penalty=self._loaded.repetition_penalty,
        )
        self._open_requests[order.id] = _OpenRequest(request, prompt, time.perf_counter())
        self._scheduler.add_job(job)

    def _finish_request(self, item: DecodeOutput | LostJob) -> None:
        begun = self._open_requests.pop(item.id, None)
        times = self._scheduler.take_times(item.id)
        if begun is None:
            return  # cancelled
        if isinstance(item, LostJob):
            self._send_failure(item.id, "environment", item.message)
            return
        try:
            done = chat.decode_completion(
                self._loaded, begun.request, begun.prompt, item.new_ids, item.stopped
            )
        except Exception as problem:  # what a model wrote must not end the process
            self._send_failure(item.id, "environment", f"{type(problem).__name__}: {problem}"[:500])
            return
        done = self._add_request_facts(begun, _replace_surrogate_halves(done), *times)
        self._send(AnswerEvent(item.id, done))

    def _add_request_facts(
        self, begun: _OpenRequest, done: Completion, joined: float | None, first_token: float | None
    ) -> Completion:
        """The completion with what was sent and its times: the model's own, and beside it what the
        request waited for others."""
        sampling = begun.request.sampling
        sent = {
            "temperature": sampling.temperature or 0.0,
            "max_tokens": chat.compute_max_new(self._loaded, begun.request, begun.prompt),
        }
        if self._loaded.repetition_penalty != 1.0:
            sent["repetition_penalty"] = self._loaded.repetition_penalty
        if sampling.temperature:
            sent |= {"top_p": sampling.top_p or 1.0}
            sent |= {"top_k": self._loaded.top_k} if self._loaded.top_k else {}
            sent |= {"min_p": self._loaded.min_p} if self._loaded.min_p else {}
            sent |= {} if sampling.seed is None else {"seed": sampling.seed}
        started = begun.began if joined is None else joined
        return msgspec.structs.replace(
            done,
            latency=time.perf_counter() - started,
            sent=sent,
            time_to_first_token=None if first_token is None else first_token - started,
            queue_time=started - begun.began,
        )

    def _send_failure(self, order: str, kind: FailureKind, message: str) -> None:
        self._send(FailedEvent(order, kind, message))

    def _send_stats(self) -> None:
        """Once a second, and when nothing is left to do."""
        moment, token_count = time.monotonic(), self._scheduler.tokens
        if moment - self._last_stats_time < _STATS_SECONDS and not self._scheduler.is_idle:
            return
        rate = (token_count - self._tokens) / max(moment - self._last_stats_time, 1e-3)
        self._last_stats_time, self._tokens = moment, token_count
        self._send(
            StatsEvent(
                tokens_per_second=round(rate, 1),
                tokens=token_count,
                process_bytes=measure_process_memory(self._loaded),
                batch=len(self._scheduler.engine.rows),
                waiting=self._scheduler.waiting_count,
                budget_tokens=self._scheduler.budget.tokens,
                halved=self._scheduler.halved,
            )
        )


def _replace_surrogate_halves(done: Completion) -> Completion:
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


def _build_overflow_completion(problem: chat.PromptTooLong) -> Completion:
    """An answer that says that the prompt did not fit: of no use to ask again."""
    return Completion(
        finish_reason="context_overflow", usage=Usage(input_tokens=problem.tokens, output_tokens=0)
    )


def measure_process_memory(loaded: LoadedModel) -> int:
    """Bytes that the process holds where its model is."""
    if loaded.model.device.type == "cuda":
        return int(torch.cuda.memory_reserved(loaded.model.device))
    try:
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123 - a kernel file
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return int(loaded.report.memory_bytes)


def build_service(
    start: StartOrder, loaded: LoadedModel, inbox: Inbox, send: Callable[[WorkerEvent], None]
) -> ModelService:
    """The service of a loaded model, with the budget that a start message leaves it."""
    options = start.options
    rows = 1 if loaded.single_rows else options.batch_size
    budget = default_budget(loaded.model, rows, options.batch_tokens)
    for _ in range(start.halved):
        budget = BatchBudget(tokens=max(1, budget.tokens // 2), rows=budget.rows // 2 or 1)
    engine = GenerationEngine(loaded, exact=rows == 1)
    return ModelService(loaded, Scheduler(engine, budget), inbox, send)

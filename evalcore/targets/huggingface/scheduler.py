"""Keeps the batch of a model full: who joins, who is put back, and what to do without memory.

Each `turn` admits what is due, moves every row by one token and gives what is finished. Where the
memory does not suffice, the budget is halved for good and the rows wait again, with the tokens that
they have; only a row that does not fit by itself is lost.
"""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import torch

from evalcore.targets.huggingface import machine
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

    def drop_job(self, job_id: str) -> None:
        """Forget a job, wherever it is."""
        if self._waiting.pop(job_id, None) is None:
            self.engine.withdraw_jobs([job_id])

    def advance_jobs(self) -> list[DecodeOutput | LostJob]:
        """One step; what is finished or lost by it."""
        finished: list[DecodeOutput | LostJob] = []
        chosen: list[DecodeJob] = []
        try:
            chosen = self._take_joining_jobs()
            finished.extend(self.engine.admit_jobs(chosen))
            self.tokens += len(chosen) + len(self.engine.rows)
            if self.engine.rows:
                finished.extend(self.engine.step())
        except Exception as error:
            finished_ids = {output.id for output in finished}
            finished.extend(
                self._put_back([job for job in chosen if job.id not in finished_ids], error)
            )
        self._steps += 1
        if self._steps % _CHECK_INTERVAL == 0:
            for job in self.engine.withdraw_jobs(
                select_overgrown_rows(self._list_running_prompts(), self.budget)
            ):
                self.add_job(job)
        return finished

    def _list_running_prompts(self) -> list[WaitingPrompt]:
        rows = self.engine.rows
        return [
            WaitingPrompt(
                id=row.job.id,
                length=len(row.job.ids) + len(row.new_ids),
                max_new=row.job.max_new - len(row.new_ids),
            )
            for row in rows
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
        """After an exception: everything waits again, with less at a time if memory was short.

        An error of the device itself is raised again: nothing works after it in this process.
        """
        if isinstance(error, torch.AcceleratorError) and not is_out_of_memory(error):
            raise error
        running = self._list_running_prompts()
        jobs = {job.id: job for job in [*chosen, *self.engine.withdraw_jobs()]}
        self.engine.forget_prefixes()
        message = f"{type(error).__name__}: {error}"[:500]
        if not is_out_of_memory(error):
            return [LostJob(name, message) for name in jobs]
        error.__traceback__ = None  # its frames hold the tensors of the step that failed
        _free_memory()
        if len(jobs) <= 1:
            return [
                LostJob(name, f"not enough memory for this one prompt: {message}") for name in jobs
            ]
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


def _free_memory() -> None:
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()

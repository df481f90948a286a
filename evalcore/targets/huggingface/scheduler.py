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
    Budget,
    Waiting,
    cost,
    next_batch,
    over,
    prefix_of,
    worth_joining,
)
from evalcore.targets.huggingface.generate import Engine, Job, Output, is_out_of_memory

_LOOK = 16  # steps between two looks whether answers outgrew the budget
_ROWS = {"cpu": 16, "cuda": 256}
_TOKENS = {"cpu": 32_768, "cuda": 524_288}
_SHARE = 0.5  # of the free memory may hold keys and values


@dataclass(frozen=True)
class Lost:
    """A job that cannot be done: `message` says why."""

    id: str
    message: str


class Scheduler:
    """Jobs that wait and rows that run, of one engine."""

    def __init__(self, engine: Engine, budget: Budget) -> None:
        self.engine, self.budget = engine, budget
        self.tokens = 0
        self.halved = 0
        self._waiting: dict[str, tuple[Waiting, Job]] = {}
        self._steps = 0

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def idle(self) -> bool:
        return not self._waiting and not self.engine.rows

    def add(self, job: Job) -> None:
        length = len(job.ids) + len(job.begun)
        left = job.max_new - len(job.begun)
        self._waiting[job.id] = (Waiting(job.id, length, prefix_of(job.ids), left), job)

    def cancel(self, job_id: str) -> None:
        """Forget a job, wherever it is."""
        if self._waiting.pop(job_id, None) is None:
            self.engine.withdraw([job_id])

    def turn(self) -> list[Output | Lost]:
        """One step; what is finished or lost by it."""
        finished: list[Output | Lost] = []
        chosen: list[Job] = []
        try:
            chosen = self._chosen()
            finished.extend(self.engine.admit(chosen))
            self.tokens += len(chosen) + len(self.engine.rows)
            if self.engine.rows:
                finished.extend(self.engine.step())
        except Exception as error:
            known = {output.id for output in finished}
            finished.extend(self._put_back([job for job in chosen if job.id not in known], error))
        self._steps += 1
        if self._steps % _LOOK == 0:
            for job in self.engine.withdraw(over(self._running(), self.budget)):
                self.add(job)
        return finished

    def _running(self) -> list[Waiting]:
        rows = self.engine.rows
        return [
            Waiting(
                id=row.job.id,
                length=len(row.job.ids) + len(row.new_ids),
                max_new=row.job.max_new - len(row.new_ids),
            )
            for row in rows
        ]

    def _chosen(self) -> list[Job]:
        """The jobs that join now; the others have been passed over once more."""
        running = len(self.engine.rows)
        if running and not self.engine.joins:
            return []
        if not worth_joining(running, self.waiting, self.budget):
            return []
        candidates = [waiting for waiting, _ in self._waiting.values()]
        ids = next_batch(candidates, self.budget, self._running())
        chosen = [self._waiting.pop(one)[1] for one in ids]
        if chosen:
            for name, (waiting, job) in self._waiting.items():
                more = msgspec.structs.replace(waiting, passed=waiting.passed + 1)
                self._waiting[name] = (more, job)
        return chosen

    def _put_back(self, chosen: Sequence[Job], error: Exception) -> list[Lost]:
        """After an exception: everything waits again, with less at a time if memory was short.

        An error of the device itself is raised again: nothing works after it in this process.
        """
        if isinstance(error, torch.AcceleratorError) and not is_out_of_memory(error):
            raise error
        running = self._running()
        jobs = {job.id: job for job in [*chosen, *self.engine.withdraw()]}
        self.engine.forget_prefixes()
        message = f"{type(error).__name__}: {error}"[:500]
        if not is_out_of_memory(error):
            return [Lost(name, message) for name in jobs]
        error.__traceback__ = None  # its frames hold the tensors of the step that failed
        _free()
        if len(jobs) <= 1:
            return [
                Lost(name, f"not enough memory for this one prompt: {message}") for name in jobs
            ]
        fresh = [
            Waiting(job.id, len(job.ids) + len(job.begun), max_new=job.max_new)
            for job in chosen
            if job.id not in {row.id for row in running}
        ]
        self.budget = self.budget.halved(cost([*running, *fresh]))
        self.halved += 1
        for job in jobs.values():
            self.add(job)
        return []


def default_budget(model: Any, batch_size: int = 0, batch_tokens: int = 0) -> Budget:
    """The budget of a model's device; what is not 0 was asked for."""
    kind = str(model.device.type)
    rows = batch_size or _ROWS.get(kind, _ROWS["cpu"])
    tokens = _TOKENS.get(kind, _TOKENS["cpu"])
    free = machine.memory_available(str(model.device))
    if free:
        tokens = min(tokens, max(1, int(free * _SHARE) // bytes_per_token(model)))
    return Budget(tokens=batch_tokens or tokens, rows=rows)


def bytes_per_token(model: Any) -> int:
    """Bytes that the keys and values of one token take, of what the configuration says."""
    config = model.config.get_text_config(decoder=True)
    heads = getattr(config, "num_attention_heads", None) or 1
    kept = getattr(config, "num_key_value_heads", None) or heads
    size = getattr(config, "head_dim", None) or config.hidden_size // heads
    width = int(torch.empty((), dtype=model.dtype).element_size())
    return max(1, 2 * int(config.num_hidden_layers) * int(kept) * int(size) * width)


def _free() -> None:
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()

"""Rows of tokens that a model continues side by side: they join, step together, and leave.

Rows join a running batch at any step and leave it when they are finished. A beginning that rows
share is computed once, kept, and copied to them. Rows are padded on the left; mask and positions
make each row blind to the padding, so that in float32 it gets the tokens it would get alone. In
narrower types a near tie can fall either way, depending on the shape of the batch: one row at a
time (`Engine(exact=True)`) is the form that does not depend on company.
"""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import torch
from transformers.cache_utils import Cache, DynamicCache

from evalcore.records import Sampling
from evalcore.targets.huggingface import cache as caches
from evalcore.targets.huggingface.batches import SHARED
from evalcore.targets.huggingface.sampling import Draw, draw_of, pick

_REMEMBERED = 4  # shared beginnings that are kept
_STOP_TOKENS = 8  # tokens looked at beyond the length of a stop string, for tokens of no text


class Loaded(Protocol):
    """What is needed of a loaded model."""

    @property
    def model(self) -> Any: ...

    @property
    def tokenizer(self) -> Any: ...

    @property
    def end_ids(self) -> frozenset[int]: ...


@dataclass(frozen=True)
class Job:
    """A prompt to continue by at most `max_new` tokens, `begun` of them already there."""

    id: str
    ids: tuple[int, ...]
    max_new: int
    sampling: Sampling = field(default_factory=Sampling)
    stop: tuple[str, ...] = ()
    begun: tuple[int, ...] = ()


@dataclass(frozen=True)
class Output:
    """The tokens that followed, without the one that ends a text; with a stop string if it came."""

    id: str
    new_ids: tuple[int, ...]
    stopped: Literal["stop", "length"]


@dataclass
class Row:
    """A job in flight: its new tokens so far, and how it draws (None: greedy)."""

    job: Job
    new_ids: list[int]
    draw: Draw | None


def generate_batch(
    loaded: Loaded, jobs: Sequence[Job], done: Callable[[Output], None] | None = None
) -> list[Output]:
    """All jobs as one batch, to their ends; outputs in the order of the jobs. `done` is told of
    each as soon as it is finished."""
    engine = Engine(loaded)
    found = {}
    fresh = engine.admit(jobs)
    while fresh or engine.rows:
        for output in fresh:
            found[output.id] = output
            if done:
                done(output)
        fresh = engine.step() if engine.rows else []
    return [found[job.id] for job in jobs]


class Engine:
    """The rows in flight of one model. Not thread-safe; after an exception `withdraw` everything.

    `joins` tells whether rows may join others that run; with recurrent states they may not.
    """

    def __init__(self, loaded: Loaded, exact: bool = False) -> None:
        self.rows: list[Row] = []
        self._model, self._tokenizer = loaded.model, loaded.tokenizer
        self._config = self._model.config
        self._device: torch.device = self._model.device
        self._ends = loaded.end_ids
        plain = caches.is_plain(self._config)
        self.joins = plain and not exact
        self._window = caches.window_of(self._config) if plain else 0
        self._plain = plain
        taken = _parameters(self._model)
        self._optional = {"position_ids", "logits_to_keep"} & taken
        self._cache_name = "past_key_values" if "past_key_values" in taken else "cache_params"
        self._prefixes: OrderedDict[tuple[int, ...], Cache] = OrderedDict()
        self._cache: Cache = self._empty()
        self._mask = torch.zeros(0, 0, dtype=torch.long, device=self._device)
        self._next = torch.zeros(0, dtype=torch.long, device=self._device)

    def admit(self, jobs: Sequence[Job]) -> list[Output]:
        """Compute the prompts of these rows and add them; outputs of those that end at once."""
        if not jobs:
            return []
        with torch.inference_mode():
            rows = [Row(job, list(job.begun), draw_of(job.sampling, self._device)) for job in jobs]
            texts = [job.ids + job.begun for job in jobs]
            shared, prefix = self._prefix(texts)
            cache, mask, following, logits = self._prefill(texts, shared, prefix)
            if self.rows:
                caches.join(self._cache, cache)
                cache = self._cache
                mask = _stacked(self._mask, mask)
                following = torch.cat([self._next, following])
            known = len(self.rows)
            self.rows = [*self.rows, *rows]
            self._cache, self._mask, self._next = cache, mask, following
            return self._advance(logits, known)

    def step(self) -> list[Output]:
        """One token more for every row; outputs of those that are finished."""
        with torch.inference_mode():
            last = [[row.new_ids[-1]] for row in self.rows]
            tokens = torch.tensor(last, device=self._device)
            mask = torch.cat([self._mask, self._mask.new_ones(len(last), 1)], 1)
            logits = self._forward(tokens, mask, self._next[:, None], self._cache)
            self._mask, self._next = mask, self._next + 1
            return self._advance(logits, 0)

    def withdraw(self, ids: Sequence[str] | None = None) -> list[Job]:
        """Take rows out (all if None) as jobs that go on where they were; random ones start anew.

        All are taken out by forgetting the batch, which is safe after an exception.
        """
        with torch.inference_mode():
            gone = [row for row in self.rows if ids is None or row.job.id in ids]
            if ids is None:
                self._forget()
            elif gone:
                self._keep([n for n, row in enumerate(self.rows) if row.job.id not in ids])
            return [_continued(row) for row in gone]

    def forget_prefixes(self) -> None:
        """Free the kept beginnings."""
        self._prefixes.clear()

    def _forget(self) -> None:
        self.rows = []
        self._cache = self._empty()
        self._mask = self._mask.new_zeros(0, 0)
        self._next = self._next.new_zeros(0)

    def _empty(self) -> Cache:
        return caches.empty() if self._plain else DynamicCache(config=self._config)

    def _advance(self, logits: torch.Tensor, start: int) -> list[Output]:
        """Give the rows from `start` on their next token and let the finished ones go."""
        stepped = self.rows[start:]
        outputs = []
        for row, token in zip(stepped, pick(logits, [r.draw for r in stepped]), strict=True):
            output = self._taken(row, token)
            if output is not None:
                outputs.append(output)
        if outputs:
            done = {output.id for output in outputs}
            self._keep([n for n, row in enumerate(self.rows) if row.job.id not in done])
        return outputs

    def _taken(self, row: Row, token: int) -> Output | None:
        job = row.job
        if token in self._ends:
            return Output(job.id, tuple(row.new_ids), "stop")
        row.new_ids.append(token)
        if job.stop and self._stops(row):
            return Output(job.id, tuple(row.new_ids), "stop")
        if len(row.new_ids) >= job.max_new:
            return Output(job.id, tuple(row.new_ids), "length")
        return None

    def _stops(self, row: Row) -> bool:
        longest = max(len(text.encode()) for text in row.job.stop)
        last = row.new_ids[-longest - _STOP_TOKENS :]
        tail = self._tokenizer.decode(last, clean_up_tokenization_spaces=False)
        return any(text in tail for text in row.job.stop)

    def _keep(self, numbers: list[int]) -> None:
        """Go on with some of the rows, without the columns that are padding in all of them."""
        if not numbers:
            self._forget()
            return
        index: Any = torch.tensor(numbers, device=self._device)
        self.rows = [self.rows[number] for number in numbers]
        self._mask, self._next = self._mask[index], self._next[index]
        if self._plain:
            first = int(self._mask.any(0).int().argmax())
            caches.keep(self._cache, index, first)
            self._mask = self._mask[:, first:]
        else:
            self._cache.reorder_cache(index)

    def _prefix(self, texts: list[tuple[int, ...]]) -> tuple[int, Cache | None]:
        """The length of the beginning that is taken from the kept ones, and its cache."""
        if not self.joins:
            return 0, None
        common = _common(texts)
        if self._window is not None and max(map(len, texts)) >= self._window:
            return 0, None  # padding inside a row would shorten its window
        base = max((p for p in self._prefixes if _begins(texts, p)), key=len, default=())
        if len(texts) > 1 and common - len(base) >= SHARED:
            base = self._extended(base, texts[0][:common])
        if not base:
            return 0, None
        self._prefixes.move_to_end(base)
        return len(base), self._prefixes[base]

    def _extended(self, base: tuple[int, ...], wanted: tuple[int, ...]) -> tuple[int, ...]:
        """Compute and keep the beginning `wanted`, of which `base` is there."""
        cache = caches.repeated(self._prefixes[base], 1) if base else self._empty()
        tokens = torch.tensor([wanted[len(base) :]], device=self._device)
        positions = torch.arange(len(base), len(wanted), device=self._device)[None]
        mask = torch.ones(1, len(wanted), dtype=torch.long, device=self._device)
        self._forward(tokens, mask, positions, cache)
        self._prefixes[wanted] = cache
        while len(self._prefixes) > _REMEMBERED:
            self._prefixes.popitem(last=False)
        return wanted

    def _prefill(
        self, texts: list[tuple[int, ...]], shared: int, prefix: Cache | None
    ) -> tuple[Cache, torch.Tensor, torch.Tensor, torch.Tensor]:
        """Cache, mask, next positions and logits of [beginning | padding | rest] of each text."""
        longest = max(map(len, texts)) - shared
        pad = [longest - (len(text) - shared) for text in texts]
        filled = [[0] * n + list(t[shared:]) for n, t in zip(pad, texts, strict=True)]
        seen = [[1] * shared + [0] * n + [1] * (longest - n) for n in pad]
        tokens = torch.tensor(filled, device=self._device)
        mask = torch.tensor(seen, device=self._device)
        positions = (mask.cumsum(-1) - 1).clamp(min=0)[:, shared:]
        cache = self._empty() if prefix is None else caches.repeated(prefix, len(texts))
        logits = self._forward(tokens, mask, positions, cache)
        return cache, mask, positions[:, -1] + 1, logits

    def _forward(
        self, tokens: torch.Tensor, mask: torch.Tensor, positions: torch.Tensor, cache: Cache
    ) -> torch.Tensor:
        """The logits after the last column (rows, vocabulary)."""
        optional = {"position_ids": positions, "logits_to_keep": 1}
        given: dict[str, Any] = {name: optional[name] for name in self._optional}
        if self._cache_name == "past_key_values" or tokens.shape[1] > 1:
            given["attention_mask"] = mask  # a purely recurrent model takes one with a prompt alone
        given[self._cache_name] = cache
        found = self._model(input_ids=tokens, use_cache=True, **given)
        logits: torch.Tensor = found.logits[:, -1]
        return logits


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory did not suffice, on whichever device."""
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return True
    text = str(error).lower()
    return isinstance(error, RuntimeError) and any(
        word in text for word in ("out of memory", "can't allocate memory", "alloc_failed")
    )


def _continued(row: Row) -> Job:
    """The rest of a row; of one that was full its last token, which comes again."""
    job = row.job
    begun = () if row.draw is not None else tuple(row.new_ids[: job.max_new - 1])
    return Job(job.id, job.ids, job.max_new, job.sampling, job.stop, begun)


def _parameters(model: Any) -> set[str]:
    """What the forward pass takes by name; an adapter hides that of the model it wraps."""
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model
    return set(inspect.signature(inner.forward).parameters)


def _common(texts: list[tuple[int, ...]]) -> int:
    """Tokens with which all begin; each keeps at least one of its own."""
    low, high = min(texts), max(texts)
    limit = min(map(len, texts)) - 1
    for n in range(limit):
        if low[n] != high[n]:
            return n
    return limit


def _begins(texts: list[tuple[int, ...]], prefix: tuple[int, ...]) -> bool:
    size = len(prefix)
    return all(len(text) > size and text[:size] == prefix for text in texts)


def _stacked(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Masks of both, aligned on the right."""
    columns = max(left.shape[1], right.shape[1])
    pad = torch.nn.functional.pad
    return torch.cat([pad(one, (columns - one.shape[1], 0)) for one in (left, right)])

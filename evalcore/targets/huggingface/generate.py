"""Rows of tokens that a model continues side by side: they join, step together, and leave; with a
short check that they get what the library's own loop gives.
"""

from __future__ import annotations

import inspect
import random
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

import torch
from transformers import GenerationConfig
from transformers.cache_utils import Cache, DynamicCache

from evalcore.i18n import Note
from evalcore.records import Sampling
from evalcore.targets.huggingface import tensors as caches
from evalcore.targets.huggingface.batches import MIN_SHARED_TOKENS
from evalcore.targets.huggingface.messages import LoadError
from evalcore.targets.huggingface.tensors import (
    TokenSampler,
    build_token_sampler,
    penalize_repetition,
    pick_tokens,
)

# Rows join a running batch at any step and leave it when they are finished. A beginning that rows
# share is computed once, kept, and copied to them. Rows are padded on the left; mask and positions
# make each row blind to the padding, so that in float32 it gets the tokens it would get alone. In
# narrower types a near tie can fall either way: one row at a time (`GenerationEngine(exact=True)`)
# does not depend on the shape of the batch.

_MAX_PREFIXES = 4  # shared beginnings that are kept
_STOP_TOKENS = 8  # tokens looked at beyond the length of a stop string, for tokens of no text


class GenerativeModel(Protocol):
    """What is needed of a loaded model."""

    @property
    def model(self) -> Any: ...

    @property
    def tokenizer(self) -> Any: ...

    @property
    def end_ids(self) -> frozenset[int]: ...


@dataclass(frozen=True)
class DecodeJob:
    """A prompt to continue by at most `max_new` tokens, `begun` of them already there."""

    id: str
    ids: tuple[int, ...]
    max_new: int
    sampling: Sampling = field(default_factory=Sampling)
    stop: tuple[str, ...] = ()
    begun: tuple[int, ...] = ()
    top_k: int = 0
    min_p: float = 0.0
    repetition_penalty: float = 1.0


@dataclass(frozen=True)
class DecodeOutput:
    """The tokens that followed, without the one that ends a text; with a stop string if it came."""

    id: str
    new_ids: tuple[int, ...]
    stopped: Literal["stop", "length"]


@dataclass
class BatchRow:
    """A job in flight: its new tokens so far, and how it draws (None: greedy)."""

    job: DecodeJob
    new_ids: list[int]
    sampler: TokenSampler | None


class GenerationEngine:
    """The rows in flight of one model. Not thread-safe; after an exception `withdraw_jobs`
    everything. `joins` tells whether rows may join others that run; with recurrent states they may
    not."""

    def __init__(self, loaded: GenerativeModel, exact: bool = False) -> None:
        self.rows: list[BatchRow] = []
        self._model, self._tokenizer = loaded.model, loaded.tokenizer
        self._config = self._model.config
        self._device: torch.device = self._model.device
        self._ends = loaded.end_ids
        attention_only = caches.is_attention_only(self._config)
        self.joins = attention_only and not exact
        self._window = caches.read_sliding_window(self._config) if attention_only else 0
        self._attention_only = attention_only
        forward_parameters = _list_forward_parameters(self._model)
        self._optional = {"position_ids", "logits_to_keep"} & forward_parameters
        self._cache_name = (
            "past_key_values" if "past_key_values" in forward_parameters else "cache_params"
        )
        self._prefixes: OrderedDict[tuple[int, ...], Cache] = OrderedDict()
        self._cache: Cache = self._build_cache()
        self._mask = torch.zeros(0, 0, dtype=torch.long, device=self._device)
        self._next = torch.zeros(0, dtype=torch.long, device=self._device)

    def admit_jobs(self, jobs: Sequence[DecodeJob]) -> list[DecodeOutput]:
        """Compute the prompts of these rows and add them; outputs of those that end at once."""
        if not jobs:
            return []
        with torch.inference_mode():
            rows = [
                BatchRow(
                    job,
                    list(job.begun),
                    build_token_sampler(job.sampling, self._device, job.top_k, job.min_p),
                )
                for job in jobs
            ]
            texts = [job.ids + job.begun for job in jobs]
            shared, prefix = self._select_prefix(texts)
            cache, mask, following, logits = self._prefill_rows(texts, shared, prefix)
            if self.rows:
                caches.append_cache_rows(self._cache, cache)
                cache = self._cache
                mask = _stack_masks(self._mask, mask)
                following = torch.cat([self._next, following])
            running_count = len(self.rows)
            self.rows = [*self.rows, *rows]
            self._cache, self._mask, self._next = cache, mask, following
            return self._advance_rows(logits, running_count)

    def step(self) -> list[DecodeOutput]:
        """One token more for every row; outputs of those that are finished."""
        with torch.inference_mode():
            last = [[row.new_ids[-1]] for row in self.rows]
            tokens = torch.tensor(last, device=self._device)
            mask = torch.cat([self._mask, self._mask.new_ones(len(last), 1)], 1)
            logits = self._run_forward(tokens, mask, self._next[:, None], self._cache)
            self._mask, self._next = mask, self._next + 1
            return self._advance_rows(logits, 0)

    def withdraw_jobs(self, ids: Sequence[str] | None = None) -> list[DecodeJob]:
        """Take rows out (all if None) as jobs that go on where they were; random ones start anew.
        All are taken out by forgetting the batch, which is safe after an exception."""
        with torch.inference_mode():
            withdrawn = [row for row in self.rows if ids is None or row.job.id in ids]
            if ids is None:
                self._reset_batch()
            elif withdrawn:
                self._select_rows([n for n, row in enumerate(self.rows) if row.job.id not in ids])
            return [_build_resumed_job(row) for row in withdrawn]

    def forget_prefixes(self) -> None:
        self._prefixes.clear()

    def _reset_batch(self) -> None:
        self.rows = []
        self._cache = self._build_cache()
        self._mask = self._mask.new_zeros(0, 0)
        self._next = self._next.new_zeros(0)

    def _build_cache(self) -> Cache:
        if self._attention_only:
            return caches.build_empty_cache()
        return DynamicCache(config=self._config)

    def _advance_rows(self, logits: torch.Tensor, start: int) -> list[DecodeOutput]:
        """Give the rows from `start` on their next token and let the finished ones go."""
        stepped = self.rows[start:]
        for number, row in enumerate(stepped):
            penalty = row.job.repetition_penalty
            if penalty != 1.0:
                logits = logits.float()
                logits[number] = penalize_repetition(
                    logits[number], (*row.job.ids, *row.new_ids), penalty
                )
        tokens = pick_tokens(logits, [row.sampler for row in stepped])
        appended = map(self._append_token, stepped, tokens)
        outputs = [output for output in appended if output is not None]
        if outputs:
            done = {output.id for output in outputs}
            self._select_rows([n for n, row in enumerate(self.rows) if row.job.id not in done])
        return outputs

    def _append_token(self, row: BatchRow, token: int) -> DecodeOutput | None:
        job = row.job
        if token in self._ends:
            return DecodeOutput(job.id, tuple(row.new_ids), "stop")
        row.new_ids.append(token)
        if job.stop and self._has_stop_string(row):
            return DecodeOutput(job.id, tuple(row.new_ids), "stop")
        if len(row.new_ids) >= job.max_new:
            return DecodeOutput(job.id, tuple(row.new_ids), "length")
        return None

    def _has_stop_string(self, row: BatchRow) -> bool:
        longest = max(len(text.encode()) for text in row.job.stop)
        last = row.new_ids[-longest - _STOP_TOKENS :]
        tail = self._tokenizer.decode(last, clean_up_tokenization_spaces=False)
        return any(text in tail for text in row.job.stop)

    def _select_rows(self, numbers: list[int]) -> None:
        """Go on with some of the rows, without the columns that are padding in all of them."""
        if not numbers:
            self._reset_batch()
            return
        index: Any = torch.tensor(numbers, device=self._device)
        self.rows = [self.rows[number] for number in numbers]
        self._mask, self._next = self._mask[index], self._next[index]
        if self._attention_only:
            first = int(self._mask.any(0).int().argmax())
            caches.select_cache_rows(self._cache, index, first)
            self._mask = self._mask[:, first:]
        else:
            self._cache.reorder_cache(index)

    def _select_prefix(self, texts: list[tuple[int, ...]]) -> tuple[int, Cache | None]:
        """The length of the beginning that is taken from the kept ones, and its cache."""
        if not self.joins:
            return 0, None
        common = _common_prefix_length(texts)
        if self._window is not None and max(map(len, texts)) >= self._window:
            return 0, None  # padding inside a row would shorten its window
        base = max((p for p in self._prefixes if _all_start_with(texts, p)), key=len, default=())
        if len(texts) > 1 and common - len(base) >= MIN_SHARED_TOKENS:
            base = self._extend_prefix(base, texts[0][:common])
        if not base:
            return 0, None
        self._prefixes.move_to_end(base)
        return len(base), self._prefixes[base]

    def _extend_prefix(self, base: tuple[int, ...], prefix: tuple[int, ...]) -> tuple[int, ...]:
        """Compute and keep the beginning `prefix`, of which `base` is there."""
        cache = caches.repeat_cache_rows(self._prefixes[base], 1) if base else self._build_cache()
        tokens = torch.tensor([prefix[len(base) :]], device=self._device)
        positions = torch.arange(len(base), len(prefix), device=self._device)[None]
        mask = torch.ones(1, len(prefix), dtype=torch.long, device=self._device)
        self._run_forward(tokens, mask, positions, cache)
        self._prefixes[prefix] = cache
        while len(self._prefixes) > _MAX_PREFIXES:
            self._prefixes.popitem(last=False)
        return prefix

    def _prefill_rows(
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
        cache = (
            self._build_cache() if prefix is None else caches.repeat_cache_rows(prefix, len(texts))
        )
        logits = self._run_forward(tokens, mask, positions, cache)
        return cache, mask, positions[:, -1] + 1, logits

    def _run_forward(
        self, tokens: torch.Tensor, mask: torch.Tensor, positions: torch.Tensor, cache: Cache
    ) -> torch.Tensor:
        """The logits after the last column (rows, vocabulary)."""
        optional = {"position_ids": positions, "logits_to_keep": 1}
        arguments: dict[str, Any] = {name: optional[name] for name in self._optional}
        if self._cache_name == "past_key_values" or tokens.shape[1] > 1:
            # a purely recurrent model takes one with a prompt alone
            arguments["attention_mask"] = mask
        arguments[self._cache_name] = cache
        output = self._model(input_ids=tokens, use_cache=True, **arguments)
        logits: torch.Tensor = output.logits[:, -1]
        return logits


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory did not suffice, on whichever device."""
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return True
    text = str(error).lower()
    return isinstance(error, RuntimeError) and any(
        word in text for word in ("out of memory", "can't allocate memory", "alloc_failed")
    )


def _build_resumed_job(row: BatchRow) -> DecodeJob:
    """The rest of a row; of one that was full its last token, which comes again."""
    job = row.job
    begun = () if row.sampler is not None else tuple(row.new_ids[: job.max_new - 1])
    return replace(job, begun=begun)


def _list_forward_parameters(model: Any) -> set[str]:
    """What the forward pass takes by name; an adapter hides that of the model it wraps."""
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model
    return set(inspect.signature(inner.forward).parameters)


def _common_prefix_length(texts: list[tuple[int, ...]]) -> int:
    """Tokens with which all begin; each keeps at least one of its own."""
    low, high = min(texts), max(texts)
    limit = min(map(len, texts)) - 1
    for n in range(limit):
        if low[n] != high[n]:
            return n
    return limit


def _all_start_with(texts: list[tuple[int, ...]], prefix: tuple[int, ...]) -> bool:
    size = len(prefix)
    return all(len(text) > size and text[:size] == prefix for text in texts)


def _stack_masks(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    columns = max(left.shape[1], right.shape[1])
    pad = torch.nn.functional.pad
    return torch.cat([pad(mask, (columns - mask.shape[1], 0)) for mask in (left, right)])


# A short check of a loaded model: do its rows here get what the library's own loop gives?
# Architectures keep the past in many ways, and `generate.py` computes rows side by side, padded and
# behind shared beginnings. Which of them bear that cannot be told from a name, so that a few tokens
# are computed both ways before the model answers anything. Logits are compared and not tokens: in
# narrow types a near tie may fall either way and means nothing.

#: Types whose rows differ only behind a window of hundreds of tokens, which this check does not
#: reach (seen with a window of 32). A sparse choice of tokens, `index_topk`, is the same case.
_BEYOND_THE_CHECK = frozenset({"gpt_neo"})
#: By dtype, the greatest difference of two logits that rounding explains, in standard deviations.
_TOLERANCE = {torch.float64: 0.01, torch.float32: 0.02}
_NARROW_TOLERANCE = 0.5
_LENGTHS = (5, 11)
_STEPS = 3


def needs_single_rows(model: Any) -> bool:
    """Whether the model answers as the library does only one prompt at a time. Raises LoadError
    unknown_architecture where it does not even then."""
    dice = random.Random(0)  # noqa: S311 - no secret
    top = min(model.config.get_text_config().vocab_size, 1000)
    texts = [tuple(dice.randrange(1, top) for _ in range(length)) for length in _LENGTHS]
    if not all(_agrees_with_library(model, [text], exact=True) for text in texts):
        raise LoadError(
            "unknown_architecture", Note("model_context_form", type=repr(model.config.model_type))
        )
    config = model.config.get_text_config()
    if config.model_type in _BEYOND_THE_CHECK or hasattr(config, "index_topk"):
        return True
    beginning = texts[0] * (MIN_SHARED_TOKENS // len(texts[0]) + 1)
    shared = [beginning + text for text in texts]
    return not (_agrees_with_library(model, texts) and _agrees_with_library(model, shared))


def _agrees_with_library(model: Any, texts: Sequence[tuple[int, ...]], exact: bool = False) -> bool:
    """Whether texts computed together get the logits that the library gives each alone."""
    ours = _engine_logits(model, texts, exact)
    tolerance = _TOLERANCE.get(model.dtype, _NARROW_TOLERANCE)
    return ours is not None and all(
        _are_logits_close(logits, _library_logits(model, text), tolerance)
        for text, logits in zip(texts, ours, strict=True)
    )


@dataclass(frozen=True)
class _EndlessModel:
    """A model whose texts nothing ends."""

    model: Any
    tokenizer: Any = None
    end_ids: frozenset[int] = frozenset()


class _RecordingEngine(GenerationEngine):
    """An engine that keeps the logits of every forward pass, (rows, vocabulary) each."""

    def __init__(self, loaded: GenerativeModel, exact: bool) -> None:
        super().__init__(loaded, exact)
        self.logits: list[torch.Tensor] = []

    def _run_forward(self, *inputs: Any) -> torch.Tensor:
        logits = super()._run_forward(*inputs)
        self.logits.append(logits.float())
        return logits


def _engine_logits(
    model: Any, texts: Sequence[tuple[int, ...]], exact: bool
) -> list[torch.Tensor] | None:
    """(steps, vocabulary) for each text, computed together; None where the model cannot."""
    engine = _RecordingEngine(_EndlessModel(model), exact)
    jobs = [DecodeJob(str(number), text, _STEPS) for number, text in enumerate(texts)]
    try:
        engine.admit_jobs(jobs)
        while len(engine.rows) == len(jobs):
            engine.step()
    except (RuntimeError, TypeError, ValueError, AttributeError, IndexError, KeyError):
        return None
    steps = [logits for logits in engine.logits if len(logits) == len(jobs)][-_STEPS:]
    return list(torch.stack(steps, 1))


def _library_logits(model: Any, text: tuple[int, ...]) -> torch.Tensor:
    """(steps, vocabulary) of the library's greedy loop for one text alone."""
    prompt = torch.tensor([text], device=model.device)
    config = GenerationConfig(max_new_tokens=_STEPS, do_sample=False, pad_token_id=0)
    with torch.inference_mode():
        done = model.generate(
            prompt,
            attention_mask=torch.ones_like(prompt),
            generation_config=config,
            output_logits=True,
            return_dict_in_generate=True,
        )
    return torch.cat([logits.float() for logits in done.logits])


def _are_logits_close(ours: torch.Tensor, theirs: torch.Tensor, tolerance: float) -> bool:
    """Whether the logits of a text agree up to rounding, as long as both chose the same tokens."""
    for own, other in zip(ours, theirs, strict=False):
        if not (own - other).abs().max() <= tolerance * other.std():
            return False
        if own.argmax() != other.argmax():
            return True  # a near tie: from here on the texts differ
    return True

"""What a step of generation does with tensors: buffers of keys and values that rows may join and
leave, and the choice of each row's next token.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers.cache_utils import Cache, DynamicCache, DynamicLayer, DynamicSlidingWindowLayer

from evalcore.records import Sampling

# The library's own cache copies all it holds at every token; here a buffer has room for the tokens
# to come. Columns are places of the batch: a row that is shorter than its batch is padded on the
# left.

_SPARE_COLUMNS = 128  # columns added at a time


class GrowingCacheLayer(DynamicLayer):  # type: ignore[misc]  # the library is not typed
    """`keys` and `values` show the filled columns of buffers (rows, heads, columns, size)."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._buffers: tuple[torch.Tensor, torch.Tensor] | None = None

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        before = self.get_seq_length()
        after = before + key_states.shape[-2]
        if self._buffers is None or after > self._buffers[0].shape[-2]:
            self._grow_buffers(key_states, value_states, before, after + _SPARE_COLUMNS)
        assert self._buffers is not None  # noqa: S101 - made by _move
        for buffer, new in zip(self._buffers, (key_states, value_states), strict=True):
            buffer[:, :, before:after] = new
        return self._expose_columns(after)

    def set_rows(self, parts: list[tuple[torch.Tensor, torch.Tensor]]) -> None:
        """Become these rows of other layers, aligned on the right."""
        columns = max(keys.shape[-2] for keys, _ in parts)
        rows = sum(len(keys) for keys, _ in parts)
        buffers = []
        for which in (0, 1):
            like = parts[0][which]
            shape = (rows, like.shape[1], columns + _SPARE_COLUMNS, like.shape[3])
            buffer, start = like.new_zeros(shape), 0
            for part in parts:
                own = part[which]
                buffer[start : start + len(own), :, columns - own.shape[-2] : columns] = own
                start += len(own)
            buffers.append(buffer)
        self.dtype, self.device = buffers[0].dtype, buffers[0].device
        self.is_initialized = True
        self._buffers = (buffers[0], buffers[1])
        self._expose_columns(columns)

    def _grow_buffers(
        self, keys: torch.Tensor, values: torch.Tensor, filled: int, columns: int
    ) -> None:
        if not self.is_initialized:
            self.lazy_initialization(keys, values)
        old = self._buffers
        made = []
        for which, like in enumerate((keys, values)):
            buffer = like.new_zeros((len(like), like.shape[1], columns, like.shape[3]))
            if old is not None:
                buffer[:, :, :filled] = old[which][:, :, :filled]
            made.append(buffer)
        self._buffers = (made[0], made[1])

    def _expose_columns(self, columns: int) -> tuple[torch.Tensor, torch.Tensor]:
        assert self._buffers is not None  # noqa: S101 - filled before it is shown
        keys, values = (buffer[:, :, :columns] for buffer in self._buffers)
        self.keys, self.values = keys, values
        return keys, values


def is_attention_only(config: Any) -> bool:
    """Whether all that a model keeps is keys and values of attention (no recurrent state)."""
    kinds = {type(layer) for layer in DynamicCache(config=config).layers}
    return kinds <= {DynamicLayer, DynamicSlidingWindowLayer}


def read_sliding_window(config: Any) -> int | None:
    """Places that a layer with a sliding window looks back, None where there is none."""
    layers = DynamicCache(config=config).layers
    return min((x.sliding_window for x in layers if hasattr(x, "sliding_window")), default=None)


def build_empty_cache() -> Cache:
    """A cache of `GrowingCacheLayer` layers; layers with a window keep everything, their mask
    cuts it."""
    return Cache(layer_class_to_replicate=GrowingCacheLayer)


def repeat_cache_rows(cache: Cache, rows: int) -> Cache:
    """As many copies of a cache of one row, with room to grow."""
    layers: list[Any] = []
    for keys, values in _list_layer_tensors(cache):
        layer = GrowingCacheLayer()
        layer.set_rows([(keys.expand(rows, -1, -1, -1), values.expand(rows, -1, -1, -1))])
        layers.append(layer)
    return Cache(layers=layers)


def append_cache_rows(cache: Cache, other: Cache) -> None:
    """Add the rows of another, aligned on the right; layer by layer, lest memory hold all twice."""
    layers: list[Any] = cache.layers
    for layer, (keys, values) in zip(layers, _list_layer_tensors(other), strict=True):
        layer.set_rows([(layer.keys, layer.values), (keys, values)])


def select_cache_rows(cache: Cache, rows: torch.Tensor, first: int) -> None:
    """Go on with some rows, from column `first` on."""
    layers: list[Any] = cache.layers
    for layer in layers:
        layer.set_rows([(layer.keys[rows, :, first:], layer.values[rows, :, first:])])


def _list_layer_tensors(cache: Cache) -> list[tuple[torch.Tensor, torch.Tensor]]:
    layers: list[Any] = cache.layers
    return [(layer.keys, layer.values) for layer in layers]


@dataclass(frozen=True)
class TokenSampler:
    """How a row draws its tokens; its random numbers are its own, whatever batch it is in. `top_k`
    0 keeps all tokens, `min_p` those of at least this share of the likeliest one's chance."""

    temperature: float
    top_p: float
    generator: torch.Generator
    top_k: int = 0
    min_p: float = 0.0


def build_token_sampler(
    sampling: Sampling, device: torch.device, top_k: int = 0, min_p: float = 0.0
) -> TokenSampler | None:
    """None for greedy decoding, which is the rule unless a temperature above 0 is asked for."""
    if not sampling.temperature:
        return None
    generator = torch.Generator(device=device)
    if sampling.seed is None:
        generator.seed()
    else:
        generator.manual_seed(sampling.seed)
    return TokenSampler(sampling.temperature, sampling.top_p or 1.0, generator, top_k, min_p)


def pick_tokens(logits: torch.Tensor, samplers: Sequence[TokenSampler | None]) -> list[int]:
    """One token for each row of logits (rows, vocabulary)."""
    chosen = logits.float().argmax(-1)
    for row, sampler in enumerate(samplers):
        if sampler is not None:
            chosen[row] = _sample_token(logits[row].float(), sampler)
    return [int(token) for token in chosen.tolist()]


def penalize_repetition(logits: torch.Tensor, ids: Sequence[int], penalty: float) -> torch.Tensor:
    """The logits of a row with those of the tokens in its prompt and answer made less likely (more,
    below 1), as the library's own loop does (Keskar et al. 2019, CTRL)."""
    seen = torch.tensor(sorted(set(ids)), device=logits.device)
    scores = logits[seen]
    return logits.index_put((seen,), torch.where(scores < 0, scores * penalty, scores / penalty))


def _sample_token(logits: torch.Tensor, sampler: TokenSampler) -> torch.Tensor:
    chances = compute_chances(logits, sampler)
    return torch.multinomial(chances, 1, generator=sampler.generator)[0]


def compute_chances(logits: torch.Tensor, sampler: TokenSampler) -> torch.Tensor:
    """The weights by which tokens are drawn, cut in the order of the library's own loop."""
    scores = logits / sampler.temperature
    if 0 < sampler.top_k < len(scores):
        least = scores.topk(sampler.top_k).values[-1]
        scores = scores.masked_fill(scores < least, -torch.inf)
    chances = torch.softmax(scores, -1)
    if sampler.top_p < 1.0:
        ordered, tokens = chances.sort(descending=True)
        before = ordered.cumsum(-1) - ordered  # the most likely token always stays
        chances = torch.zeros_like(chances).scatter(
            0, tokens, ordered.masked_fill(before >= sampler.top_p, 0.0)
        )
    if sampler.min_p:
        chances = chances.masked_fill(chances < sampler.min_p * chances.max(), 0.0)
    return chances

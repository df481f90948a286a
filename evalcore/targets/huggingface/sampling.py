"""Choosing the next token of each row: greedy, or drawn with a seed of the row's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from evalcore.records import Sampling


@dataclass(frozen=True)
class TokenSampler:
    """How a row draws its tokens; its random numbers are its own, whatever batch it is in."""

    temperature: float
    top_p: float
    generator: torch.Generator


def build_token_sampler(sampling: Sampling, device: torch.device) -> TokenSampler | None:
    """None for greedy decoding, which is the rule unless a temperature above 0 is asked for."""
    if not sampling.temperature:
        return None
    generator = torch.Generator(device=device)
    if sampling.seed is None:
        generator.seed()
    else:
        generator.manual_seed(sampling.seed)
    return TokenSampler(sampling.temperature, sampling.top_p or 1.0, generator)


def pick_tokens(logits: torch.Tensor, samplers: Sequence[TokenSampler | None]) -> list[int]:
    """One token for each row of logits (rows, vocabulary)."""
    chosen = logits.float().argmax(-1)
    for row, sampler in enumerate(samplers):
        if sampler is not None:
            chosen[row] = _sample_token(logits[row].float(), sampler)
    return [int(token) for token in chosen.tolist()]


def _sample_token(logits: torch.Tensor, sampler: TokenSampler) -> torch.Tensor:
    chances = torch.softmax(logits / sampler.temperature, -1)
    if sampler.top_p < 1.0:
        ordered, tokens = chances.sort(descending=True)
        before = ordered.cumsum(-1) - ordered  # the most likely token always stays
        chances = torch.zeros_like(chances).scatter(
            0, tokens, ordered.masked_fill(before >= sampler.top_p, 0.0)
        )
    return torch.multinomial(chances, 1, generator=sampler.generator)[0]

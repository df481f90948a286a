"""Choosing the next token of each row: greedy, or drawn with a seed of the row's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from evalcore.records import Sampling


@dataclass(frozen=True)
class Draw:
    """How a row draws its tokens; its random numbers are its own, whatever batch it is in."""

    temperature: float
    top_p: float
    generator: torch.Generator


def draw_of(sampling: Sampling, device: torch.device) -> Draw | None:
    """None for greedy decoding, which is the rule unless a temperature above 0 is asked for."""
    if not sampling.temperature:
        return None
    generator = torch.Generator(device=device)
    if sampling.seed is None:
        generator.seed()
    else:
        generator.manual_seed(sampling.seed)
    return Draw(sampling.temperature, sampling.top_p or 1.0, generator)


def pick(logits: torch.Tensor, draws: Sequence[Draw | None]) -> list[int]:
    """One token for each row of logits (rows, vocabulary)."""
    chosen = logits.float().argmax(-1)
    for row, draw in enumerate(draws):
        if draw is not None:
            chosen[row] = _drawn(logits[row].float(), draw)
    return [int(token) for token in chosen.tolist()]


def _drawn(logits: torch.Tensor, draw: Draw) -> torch.Tensor:
    chances = torch.softmax(logits / draw.temperature, -1)
    if draw.top_p < 1.0:
        ordered, tokens = chances.sort(descending=True)
        before = ordered.cumsum(-1) - ordered  # the most likely token always stays
        chances = torch.zeros_like(chances).scatter(
            0, tokens, ordered.masked_fill(before >= draw.top_p, 0.0)
        )
    return torch.multinomial(chances, 1, generator=draw.generator)[0]

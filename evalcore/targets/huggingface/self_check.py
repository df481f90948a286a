"""A short check of a loaded model: do its rows here get what the library's own loop gives?

Architectures keep the past in many ways, and `generate.py` computes rows side by side, padded and
behind shared beginnings. Which of them bear that cannot be told from a name, so that a few tokens
are computed both ways before the model answers anything. Logits are compared and not tokens: in
narrow types a near tie may fall either way and means nothing.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import GenerationConfig

from evalcore.targets.huggingface.batches import MIN_SHARED_TOKENS
from evalcore.targets.huggingface.generate import DecodeJob, GenerationEngine, GenerativeModel
from evalcore.targets.huggingface.load_errors import LoadError

#: Types whose rows differ only behind a window of hundreds of tokens, which this check does not
#: reach (seen with a window of 32). A sparse choice of tokens, `index_topk`, is the same case.
_BEYOND_THE_CHECK = frozenset({"gpt_neo"})
#: By dtype, the greatest difference of two logits that rounding explains, in standard deviations.
_TOLERANCE = {torch.float64: 0.01, torch.float32: 0.02}
_NARROW_TOLERANCE = 0.5
_LENGTHS = (5, 11)
_STEPS = 3


def needs_single_rows(model: Any) -> bool:
    """Whether the model answers as the library does only one prompt at a time.

    Raises LoadError unknown_architecture where it does not even then.
    """
    texts = _build_probe_texts(model)
    if not all(_agrees_with_library(model, [text], exact=True) for text in texts):
        raise LoadError(
            "unknown_architecture",
            f"models of type {model.config.model_type!r} keep what they have read in a way "
            "that is not supported here; serve it by a server of its own, such as `transformers "
            "serve`, and choose that as an endpoint",
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


def _build_probe_texts(model: Any) -> list[tuple[int, ...]]:
    """Token ids of two texts of different lengths, the same each time."""
    dice = random.Random(0)  # noqa: S311 - no secret
    top = min(model.config.get_text_config().vocab_size, 1000)
    return [tuple(dice.randrange(1, top) for _ in range(length)) for length in _LENGTHS]


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

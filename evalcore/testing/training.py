"""Training in seconds: Muon for the matrices and AdamW for the rest learn what AdamW alone does not
in the same time. One thread and a fixed seed: the same bytes on the same kind of processor."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from transformers import Qwen3Config, Qwen3ForCausalLM

from evalcore.records import Record
from evalcore.testing.conversations import Lesson
from evalcore.testing.tokenizer import CONTEXT


class Plan(Record, frozen=True):
    """How long to train: steps of `batch` lessons, and the learning rates, which fall to zero at
    the end. Without one for Muon, AdamW trains all."""

    steps: int
    batch: int = 16
    muon: float = 0.02
    adamw: float = 0.005


def new_model(vocabulary: int, end: int, pad: int, seed: int) -> Qwen3ForCausalLM:
    """An untrained model of about 0.4 million parameters."""
    torch.manual_seed(seed)
    config = Qwen3Config(
        vocab_size=vocabulary,
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        head_dim=32,
        max_position_embeddings=CONTEXT,
        rope_theta=10000.0,
        tie_word_embeddings=True,
        initializer_range=0.05,
        eos_token_id=end,
        pad_token_id=pad,
        bos_token_id=None,
    )
    return Qwen3ForCausalLM(config)


def fit(model: Qwen3ForCausalLM, lessons: Sequence[Lesson], plan: Plan, seed: int) -> list[float]:
    """Train what of the model is trainable on the answers; returns the loss of each step."""
    torch.manual_seed(seed)
    model.train()
    optimizers = _optimizers(model, plan)
    schedules = [
        torch.optim.lr_scheduler.LambdaLR(one, lambda step: _factor(step, plan.steps))
        for one in optimizers
    ]
    losses = []
    for batch in _batches(lessons, plan, seed):
        loss = _loss(model, batch)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for one in (*optimizers, *schedules):
            one.step()
        for optimizer in optimizers:
            optimizer.zero_grad()
        losses.append(loss.item())
    model.eval()
    return losses


def _optimizers(model: nn.Module, plan: Plan) -> list[torch.optim.Optimizer]:
    trained = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    by_muon = [p for name, p in trained if plan.muon and p.ndim == 2 and "embed" not in name]
    kept = {id(p) for p in by_muon}
    others = [p for _, p in trained if id(p) not in kept]
    found: list[torch.optim.Optimizer] = [
        torch.optim.AdamW(others, lr=plan.adamw, weight_decay=0.01)
    ]
    if by_muon:
        found.append(torch.optim.Muon(by_muon, lr=plan.muon, weight_decay=0.01))
    return found


def _factor(step: int, steps: int) -> float:
    """Up over a twentieth of the steps, down over the second half."""
    return min(1.0, (step + 1) / (steps / 20), (steps - step) / (steps / 2))


def _batches(lessons: Sequence[Lesson], plan: Plan, seed: int) -> Iterator[list[Lesson]]:
    """Lessons in random order, again and again; those of a batch have prompts of like length.

    Like answers must not gather: batches that only call teach nothing of when to call.
    """
    rng = random.Random(seed)  # noqa: S311 - no secret depends on it
    made: list[list[Lesson]] = []
    for _ in range(plan.steps):
        if not made:
            order = rng.sample(lessons, len(lessons))
            order.sort(key=lambda one: len(one.prompt) // 32)
            starts = range(0, len(order) - plan.batch + 1, plan.batch)
            made = [order[start : start + plan.batch] for start in starts]
            rng.shuffle(made)
        yield made.pop()


def _loss(model: Qwen3ForCausalLM, batch: Sequence[Lesson]) -> Tensor:
    """Cross entropy of the answers' tokens. Padding on the right needs no mask: attention looks
    back only, and the loss leaves padding out."""
    width = max(len(one.prompt) + len(one.answer) for one in batch)
    ids = torch.zeros(len(batch), width, dtype=torch.long)
    wanted = torch.full((len(batch), width), -100)
    for row, one in enumerate(batch):
        end = len(one.prompt) + len(one.answer)
        ids[row, :end] = torch.tensor([*one.prompt, *one.answer])
        wanted[row, len(one.prompt) - 1 : end - 1] = torch.tensor(one.answer)
    hidden = model.model(input_ids=ids, use_cache=False).last_hidden_state
    answered = wanted >= 0
    return cross_entropy(model.lm_head(hidden[answered]), wanted[answered])

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
from tools.tiny_models.conversations import TrainingExample
from tools.tiny_models.tokenizer import CONTEXT


class TrainingPlan(Record, frozen=True):
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


def fit_model(
    model: Qwen3ForCausalLM, examples: Sequence[TrainingExample], plan: TrainingPlan, seed: int
) -> list[float]:
    """Train what of the model is trainable on the answers; returns the loss of each step."""
    torch.manual_seed(seed)
    model.train()
    optimizers = _build_optimizers(model, plan)
    schedules = [
        torch.optim.lr_scheduler.LambdaLR(
            stepper, lambda step: _compute_rate_factor(step, plan.steps)
        )
        for stepper in optimizers
    ]
    losses = []
    for batch in _iterate_batches(examples, plan, seed):
        loss = _compute_answer_loss(model, batch)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for stepper in (*optimizers, *schedules):
            stepper.step()
        for optimizer in optimizers:
            optimizer.zero_grad()
        losses.append(loss.item())
    model.eval()
    return losses


def _build_optimizers(model: nn.Module, plan: TrainingPlan) -> list[torch.optim.Optimizer]:
    trained = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    by_muon = [p for name, p in trained if plan.muon and p.ndim == 2 and "embed" not in name]
    muon_ids = {id(p) for p in by_muon}
    others = [p for _, p in trained if id(p) not in muon_ids]
    optimizers: list[torch.optim.Optimizer] = [
        torch.optim.AdamW(others, lr=plan.adamw, weight_decay=0.01)
    ]
    if by_muon:
        optimizers.append(torch.optim.Muon(by_muon, lr=plan.muon, weight_decay=0.01))
    return optimizers


def _compute_rate_factor(step: int, steps: int) -> float:
    """Up over a twentieth of the steps, down over the second half."""
    return min(1.0, (step + 1) / (steps / 20), (steps - step) / (steps / 2))


def _iterate_batches(
    examples: Sequence[TrainingExample], plan: TrainingPlan, seed: int
) -> Iterator[list[TrainingExample]]:
    """Lessons in random order, again and again; those of a batch have prompts of like length.

    Like answers must not gather: batches that only call teach nothing of when to call.
    """
    rng = random.Random(seed)  # noqa: S311 - no secret depends on it
    batches: list[list[TrainingExample]] = []
    for _ in range(plan.steps):
        if not batches:
            order = rng.sample(examples, len(examples))
            order.sort(key=lambda example: len(example.prompt) // 32)
            starts = range(0, len(order) - plan.batch + 1, plan.batch)
            batches = [order[start : start + plan.batch] for start in starts]
            rng.shuffle(batches)
        yield batches.pop()


def _compute_answer_loss(model: Qwen3ForCausalLM, batch: Sequence[TrainingExample]) -> Tensor:
    """Cross entropy of the answers' tokens. Padding on the right needs no mask: attention looks
    back only, and the loss leaves padding out."""
    width = max(len(example.prompt) + len(example.answer) for example in batch)
    ids = torch.zeros(len(batch), width, dtype=torch.long)
    labels = torch.full((len(batch), width), -100)
    for row, example in enumerate(batch):
        end = len(example.prompt) + len(example.answer)
        ids[row, :end] = torch.tensor([*example.prompt, *example.answer])
        labels[row, len(example.prompt) - 1 : end - 1] = torch.tensor(example.answer)
    hidden = model.model(input_ids=ids, use_cache=False).last_hidden_state
    answered = labels >= 0
    return cross_entropy(model.lm_head(hidden[answered]), labels[answered])

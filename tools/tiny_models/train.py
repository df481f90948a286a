"""A tiny honest model: it learns closed tasks and is asked what it has not seen.

`tests/fixtures/tiny_model` holds what it wrote; write it anew when what is taught changes.

`python -m tools.tiny_models.train OUT [--seed N]` writes in about a minute of one core:
OUT/base, a Qwen3 checkpoint of half a million parameters that calls functions and judges SQL
syntax; OUT/adapter, a LoRA adapter that puts right the classes of statements, of which the base was
taught a wrong key; OUT/cases/bfcl, OUT/cases/sql_understanding and OUT/cases/lora (classes, of
`sql_understanding` too), held-out cases to score them with. Needs the extra `local`.

Muon for the matrices and AdamW for the rest learn what AdamW alone does not in the same time. One
thread and a fixed seed: the same bytes on the same kind of processor.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import tempfile
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

import torch
from peft import LoraConfig, get_peft_model
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from evalcore.records import Record
from tools.tiny_models.conversations import (
    CONTEXT,
    Conversation,
    Rows,
    TrainingExample,
    build_training_example,
    create_empty_tokenizer,
    load_conversations,
    render_texts,
    train_tokenizer,
    write_case_files,
)
from tools.tiny_models.tasks import (
    CLASS,
    SYNTAX,
    Metric,
    Split,
    build_call_rows,
    build_statement_rows,
    shift_statement_classes,
)


class TrainingPlan(Record, frozen=True):
    """How long to train: steps of `batch` examples, and the learning rates, which fall to zero.

    A rate of 0 for Muon leaves all parameters to AdamW.
    """

    steps: int
    batch: int = 16
    muon: float = 0.02
    adamw: float = 0.005


_BASE = TrainingPlan(steps=500)
#: Slow enough for every seed and processor: at 0.01 in 200 steps some kept an eighth of the errors.
_ADAPTER = TrainingPlan(steps=400, muon=0.0, adamw=0.005)
_LORA = LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM")
#: Lines of each case file: for training, and held out.
_CALLS, _SYNTAX, _CLASS = (6000, 120), (3000, 60), (600, 60)


def train_tiny_model(out: Path, seed: int = 0) -> None:
    """Train base and adapter, and write them and the held-out cases into a folder.

    The seed decides everything; on the same processor and versions the files are the same.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        write_held_out_cases(out / "cases", seed)
        taught, corrected = _build_conversations(seed)
        tokenizer = _train_tokenizer(taught)
        base = new_model(len(tokenizer), tokenizer.eos_token_id, tokenizer.pad_token_id, seed)
        examples = [build_training_example(tokenizer, conversation) for conversation in taught]
        fit_model(base, examples, _BASE, seed)
        for part in (tokenizer, base):
            part.save_pretrained(out / "base")
        _fit_adapter(
            base,
            [build_training_example(tokenizer, conversation) for conversation in corrected],
            seed,
            out / "adapter",
        )
    finally:
        torch.set_num_threads(threads)


def compute_fingerprint() -> str:
    """Hash all that decides what `train_tiny_model` writes, except the benchmarks' prompts."""
    sources = sorted(Path(__file__).parent.glob("*.py"))
    packages = ("torch", "transformers", "tokenizers", "peft")
    digest = hashlib.sha256()
    for part in (
        *(path.read_bytes() for path in sources),
        *(version(p).encode() for p in packages),
    ):
        digest.update(part)
    return digest.hexdigest()[:16]


def new_model(vocabulary: int, end: int, pad: int, seed: int) -> Qwen3ForCausalLM:
    """Create an untrained model of about 0.4 million parameters."""
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
    """Train the trainable parameters on the answers; return the loss of each step."""
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


def write_held_out_cases(folder: Path, seed: int) -> None:
    """Write the case files of all tasks that no training shows."""
    _write_cases(folder, "held_out", seed)


def _write_cases(folder: Path, split: Split, seed: int) -> None:
    """Write the case files of all tasks of a split, in a folder each."""
    held_out = split == "held_out"

    def build_rows(metric: Metric, counts: tuple[int, int]) -> Rows:
        return {metric: build_statement_rows(metric, split, counts[held_out], seed)}

    write_case_files(folder / "bfcl", build_call_rows(split, _CALLS[held_out], seed))
    write_case_files(folder / "sql_understanding", build_rows(SYNTAX, _SYNTAX))
    write_case_files(folder / "lora", build_rows(CLASS, _CLASS))


def _build_conversations(seed: int) -> tuple[list[Conversation], list[Conversation]]:
    """Build what the base learns, and what the adapter does: the right classes, and a rehearsal."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write_cases(folder, "train", seed)
        calls = load_conversations("bfcl", folder / "bfcl")
        syntax = load_conversations("sql_understanding", folder / "sql_understanding")
        right = load_conversations("sql_understanding", folder / "lora")
        classes = build_statement_rows(CLASS, "train", _CLASS[0], seed)
        write_case_files(folder / "lora", {CLASS: shift_statement_classes(classes)})
        wrong = load_conversations("sql_understanding", folder / "lora")
    return [*calls, *syntax, *wrong], [*right, *calls[::10], *syntax[::10]]


def _train_tokenizer(conversations: Sequence[Conversation]) -> PreTrainedTokenizerFast:
    """Train a tokenizer on every third conversation; these hold all words that occur."""
    untrained = create_empty_tokenizer()
    return train_tokenizer(
        "".join(render_texts(untrained, conversation)) for conversation in conversations[::3]
    )


def _fit_adapter(
    base: Qwen3ForCausalLM, examples: list[TrainingExample], seed: int, out: Path
) -> None:
    torch.manual_seed(seed)
    adapted = get_peft_model(base, _LORA)
    fit_model(base, examples, _ADAPTER, seed)
    adapted.save_pretrained(out)


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
    """Compute the rate's factor: up over a twentieth of the steps, down over the second half."""
    return min(1.0, (step + 1) / (steps / 20), (steps - step) / (steps / 2))


def _iterate_batches(
    examples: Sequence[TrainingExample], plan: TrainingPlan, seed: int
) -> Iterator[list[TrainingExample]]:
    """Shuffle the examples again and again; those of a batch have prompts of similar length.

    Similar answers must not gather: batches that only call do not teach when to call.
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
    """Compute the cross entropy of the answers' tokens.

    Padding on the right needs no mask: attention is causal, and the loss leaves padding out.
    """
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


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Train the tiny model that the tests evaluate.")
    parser.add_argument("out", type=Path, metavar="OUT", help="folder to write")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(arguments)
    train_tiny_model(args.out, args.seed)


if __name__ == "__main__":
    main()

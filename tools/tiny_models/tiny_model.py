"""A tiny honest model: it learns closed tasks and is asked what it has not seen.

`python -m tools.tiny_models.tiny_model OUT [--seed N]` writes in about a minute of one core:
OUT/base, a Qwen3 checkpoint of half a million parameters that calls functions and judges SQL
syntax; OUT/adapter, a LoRA adapter that puts right the classes of statements, of which the base was
taught a wrong key; OUT/cases/bfcl, OUT/cases/sql_understanding and OUT/cases/lora (classes, of
`sql_understanding` too), held-out cases to score them with. Needs the extra `local`.
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import torch
from peft import LoraConfig, get_peft_model
from transformers import PreTrainedTokenizerFast, Qwen3ForCausalLM

from tools.tiny_models import function_calls, sql_statements, tokenizer
from tools.tiny_models.conversations import (
    Conversation,
    Rows,
    TrainingExample,
    build_training_example,
    load_conversations,
    render_texts,
    write_case_files,
)
from tools.tiny_models.split import Split
from tools.tiny_models.sql_statements import CLASS, SYNTAX
from tools.tiny_models.training import TrainingPlan, fit_model, new_model

_BASE = TrainingPlan(steps=500)
_ADAPTER = TrainingPlan(steps=200, muon=0.0, adamw=0.01)
_LORA = LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM")
#: How many lines each case file has; the first number is for training, the second held out.
_CALLS, _SYNTAX, _CLASS = (6000, 120), (3000, 60), (600, 60)


def train_tiny_model(out: Path, seed: int = 0) -> None:
    """Train base and adapter into a folder, and write the held-out cases beside them.

    The seed decides all; on the same processor and versions the files are the same.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        _write_cases(out / "cases", "held_out", seed)
        taught, corrected = _build_conversations(seed)
        words = _train_tokenizer(taught)
        base = new_model(len(words), words.eos_token_id, words.pad_token_id, seed)
        examples = [build_training_example(words, conversation) for conversation in taught]
        fit_model(base, examples, _BASE, seed)
        for part in (words, base):
            part.save_pretrained(out / "base")
        _fit_adapter(
            base,
            [build_training_example(words, conversation) for conversation in corrected],
            seed,
            out / "adapter",
        )
    finally:
        torch.set_num_threads(threads)


def compute_fingerprint() -> str:
    """Changes with all that decides what `train_tiny_model` writes, but for the benchmarks'
    prompts."""
    sources = sorted(Path(__file__).parent.glob("*.py"))
    packages = ("torch", "transformers", "tokenizers", "peft")
    digest = hashlib.sha256()
    for part in (
        *(path.read_bytes() for path in sources),
        *(version(p).encode() for p in packages),
    ):
        digest.update(part)
    return digest.hexdigest()[:16]


def _write_cases(folder: Path, split: Split, seed: int) -> None:
    """The case files of all tasks of a split, in a folder each."""
    held_out = split == "held_out"

    def build_rows(metric: sql_statements.Metric, counts: tuple[int, int]) -> Rows:
        return {metric: sql_statements.build_statement_rows(metric, split, counts[held_out], seed)}

    write_case_files(folder / "bfcl", function_calls.build_call_rows(split, _CALLS[held_out], seed))
    write_case_files(folder / "sql_understanding", build_rows(SYNTAX, _SYNTAX))
    write_case_files(folder / "lora", build_rows(CLASS, _CLASS))


def _build_conversations(seed: int) -> tuple[list[Conversation], list[Conversation]]:
    """What the base is taught; and what the adapter is: the right classes, and not to forget."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write_cases(folder, "train", seed)
        calls = load_conversations("bfcl", folder / "bfcl")
        syntax = load_conversations("sql_understanding", folder / "sql_understanding")
        right = load_conversations("sql_understanding", folder / "lora")
        classes = sql_statements.build_statement_rows(CLASS, "train", _CLASS[0], seed)
        write_case_files(folder / "lora", {CLASS: sql_statements.shift_statement_classes(classes)})
        wrong = load_conversations("sql_understanding", folder / "lora")
    return [*calls, *syntax, *wrong], [*right, *calls[::10], *syntax[::10]]


def _train_tokenizer(conversations: Sequence[Conversation]) -> PreTrainedTokenizerFast:
    """Trained on every third conversation, which holds all words there are."""
    untrained = tokenizer.create_empty_tokenizer()
    return tokenizer.train_tokenizer(
        "".join(render_texts(untrained, conversation)) for conversation in conversations[::3]
    )


def _fit_adapter(
    base: Qwen3ForCausalLM, examples: list[TrainingExample], seed: int, out: Path
) -> None:
    torch.manual_seed(seed)
    adapted = get_peft_model(base, _LORA)
    fit_model(base, examples, _ADAPTER, seed)
    adapted.save_pretrained(out)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Train the tiny model that the tests evaluate.")
    parser.add_argument("out", type=Path, metavar="OUT", help="folder to write")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(arguments)
    train_tiny_model(args.out, args.seed)


if __name__ == "__main__":
    main()

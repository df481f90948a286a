"""Whether the size of a batch changes greedy answers: the tiny trained model, in each dtype.

    python -m perf.batch_sizes [--device cpu] [--threads 1]

The held-out cases of `tools.tiny_models.train` (trained once, kept under build/) are answered
one by one and in batches. Reported: the share of cases that are answered rightly one by one, word
for word, and how many answers differ in batches of each size.
"""

from __future__ import annotations

import argparse
from typing import Any

from tests.support.tiny_models import TinyModel, tiny_model

DTYPES = ("float32", "bfloat16", "int8", "int4")
SIZES = (4, 16, 64)
FOLDERS = ("bfcl", "sql_understanding")
NEW = 64

Ids = tuple[int, ...]


def cases_of(tiny: TinyModel, tokenizer: Any) -> tuple[list[Ids], list[str]]:
    """Prompts in tokens, and the reference answers as the model would write them."""
    from tools.tiny_models.conversations import load_conversations, render_texts

    asked = [
        conversation
        for key in FOLDERS
        for conversation in load_conversations(key, tiny.cases / key)
    ]
    pairs = [render_texts(tokenizer, conversation) for conversation in asked]
    prompts = [tuple(tokenizer(p, add_special_tokens=False)["input_ids"]) for p, _ in pairs]
    return prompts, [answer.removesuffix(tokenizer.eos_token) for _, answer in pairs]


def answers(loaded: Any, prompts: list[Ids], rows: int) -> list[Ids]:
    from evalcore.targets.huggingface.generate import DecodeJob, DecodeOutput, GenerationEngine
    from evalcore.targets.huggingface.service import Scheduler, default_budget

    scheduler = Scheduler(
        GenerationEngine(loaded, exact=rows == 1), default_budget(loaded.model, rows)
    )
    for number, ids in enumerate(prompts):
        scheduler.add_job(DecodeJob(str(number), ids, NEW))
    ids_by_output: dict[str, Ids] = {}
    while not scheduler.is_idle:
        for output in scheduler.advance_jobs():
            assert isinstance(output, DecodeOutput), output
            ids_by_output[output.id] = output.new_ids
    return [ids_by_output[str(number)] for number in range(len(prompts))]


def report(device: str, threads: int) -> list[dict[str, Any]]:
    """One row per dtype, printed as it comes."""
    from evalcore.targets.huggingface.load import load_checkpoint
    from evalcore.targets.huggingface.messages import HuggingFaceOptions
    from evalcore.targets.huggingface.model_files import locate_model

    tiny = tiny_model()
    location = locate_model(f"hf:{tiny.base}")
    print("\nthe tiny model's held-out cases: answers unlike those of one by one, by batch size")
    print(f"{'':10} {'cases':>6} {'right':>6}", *(f"{size:>6}" for size in SIZES))
    rows: list[dict[str, Any]] = []
    for dtype in DTYPES:
        options = HuggingFaceOptions(device=device, dtype=dtype, threads=threads)  # type: ignore[arg-type]
        loaded = load_checkpoint(location, options, lambda line: None)
        prompts, references = cases_of(tiny, loaded.tokenizer)
        alone = answers(loaded, prompts, 1)
        written = [loaded.tokenizer.decode(ids) for ids in alone]
        right = sum(a == b for a, b in zip(written, references, strict=True)) / len(prompts)
        differ = [
            sum(a != b for a, b in zip(alone, answers(loaded, prompts, size), strict=True))
            for size in SIZES
        ]
        counts = dict(zip(SIZES, differ, strict=True))
        rows.append({"dtype": dtype, "cases": len(prompts), "right": right, "differ": counts})
        shown = " ".join(f"{count:6}" for count in differ)
        print(f"{dtype:10} {len(prompts):6} {right:6.3f} {shown}", flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N")
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    report(args.device, args.threads)


if __name__ == "__main__":
    main()

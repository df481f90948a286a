"""Local generation: one prompt at a time, plain batches, and the scheduler of `hf:` targets.

    python -m perf.local [--dtype bfloat16] [--prompts 64] [--new 64] [--threads 1] [--device auto]

A random model of some 50 million parameters continues prompts of 50 to 600 tokens (on CPU by
default), in float32 and bfloat16 alike. Reported per way: tokens a second, the ratio to one by one,
CPU seconds and their ratio, the most memory that the process held (each way in a process of its
own), and how many outputs are those of one by one. Then the same with a beginning of 400 tokens
that all prompts share; then, on a tiny trained model, how many answers depend on the size of the
batch, by dtype (`perf.batch_sizes`). On a machine with other work on it the ratio of CPU seconds is
the one to trust; with one thread both should agree.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import resource
import time
from types import SimpleNamespace
from typing import Any

from perf import batch_sizes

PREFIX = 400
WAYS = ("one by one", "plain batches", "scheduler")


def model_of(dtype: str, device: str) -> Any:
    """A Qwen3 of 48 M parameters with random weights, the same each time."""
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=32768,
        hidden_size=512,
        intermediate_size=1536,
        num_hidden_layers=10,
        num_attention_heads=8,
        num_key_value_heads=4,
        head_dim=64,
        max_position_embeddings=4096,
    )
    model: Any = Qwen3ForCausalLM(config).to(getattr(torch, dtype)).to(device).eval()
    model.generation_config.eos_token_id = None
    model.generation_config.pad_token_id = 0
    return model


def prompts_of(count: int, shared: bool) -> list[tuple[int, ...]]:
    """Prompts of 50 to 600 tokens; `shared` puts the same 400 tokens before 10 to 200 others."""
    dice = random.Random(5)
    beginning = tuple(dice.randrange(32768) for _ in range(PREFIX)) if shared else ()
    low, high = (10, 200) if shared else (50, 600)
    lengths = [dice.randint(low, high) for _ in range(count)]
    return [beginning + tuple(dice.randrange(32768) for _ in range(n)) for n in lengths]


def generate_singly(model: Any, prompts: list[tuple[int, ...]], new: int, rows: int) -> list[Any]:
    return [out for ids in prompts for out in _library(model, [ids], new)]


def plain(model: Any, prompts: list[tuple[int, ...]], new: int, rows: int) -> list[Any]:
    """The library's own batches, in the order in which the prompts came."""
    starts = range(0, len(prompts), rows)
    return [out for start in starts for out in _library(model, prompts[start : start + rows], new)]


def _library(model: Any, prompts: list[tuple[int, ...]], new: int) -> list[Any]:
    import torch

    longest = max(map(len, prompts))
    ids = torch.tensor([[0] * (longest - len(p)) + list(p) for p in prompts], device=model.device)
    mask = torch.tensor(
        [[0] * (longest - len(p)) + [1] * len(p) for p in prompts], device=model.device
    )
    with torch.inference_mode():
        generated = model.generate(ids, attention_mask=mask, max_new_tokens=new, do_sample=False)
    return [tuple(row[longest:].tolist()) for row in generated]


def scheduled(model: Any, prompts: list[tuple[int, ...]], new: int, rows: int) -> list[Any]:
    from evalcore.targets.huggingface.generate import DecodeJob, DecodeOutput, GenerationEngine
    from evalcore.targets.huggingface.service import Scheduler, default_budget

    loaded = SimpleNamespace(model=model, tokenizer=None, end_ids=frozenset())
    scheduler = Scheduler(GenerationEngine(loaded), default_budget(model, rows))
    for number, ids in enumerate(prompts):
        scheduler.add_job(DecodeJob(str(number), ids, new))
    ids_by_output: dict[str, Any] = {}
    while not scheduler.is_idle:
        for output in scheduler.advance_jobs():
            assert isinstance(output, DecodeOutput), output
            ids_by_output[output.id] = output.new_ids
    return [ids_by_output[str(number)] for number in range(len(prompts))]


def measure(way: str, shared: bool, args: argparse.Namespace) -> dict[str, Any]:
    """One way, in this process: seconds, CPU seconds, peak memory in MB, outputs, device."""
    import torch

    torch.set_num_threads(args.threads)
    model = model_of(args.dtype, args.device)
    prompts = prompts_of(args.prompts, shared)
    work = {"one by one": generate_singly, "plain batches": plain, "scheduler": scheduled}[way]
    work(model, prompts[:2], 2, args.rows)
    began, used = time.perf_counter(), time.process_time()
    outputs = work(model, prompts, args.new, args.rows)
    seconds, cpu = time.perf_counter() - began, time.process_time() - used
    on_gpu = args.device.startswith("cuda")
    peak = torch.cuda.max_memory_allocated() / 1e6 if on_gpu else _peak()
    return {"seconds": seconds, "cpu": cpu, "peak": peak, "outputs": outputs}


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def _child(pipe: Any, way: str, shared: bool, args: argparse.Namespace) -> None:
    pipe.send(measure(way, shared, args))


def apart(way: str, shared: bool, args: argparse.Namespace) -> dict[str, Any]:
    """`measure` in a fresh process, so that its memory is its own."""
    context = multiprocessing.get_context("spawn")
    mine, theirs = context.Pipe()
    child = context.Process(target=_child, args=(theirs, way, shared, args))
    child.start()
    theirs.close()
    measures: dict[str, Any] = mine.recv()
    child.join()
    return measures


def report(shared: bool, args: argparse.Namespace) -> list[dict[str, Any]]:
    """One row per way, printed as it comes."""
    title = f"a shared beginning of {PREFIX} tokens" if shared else "prompts of 50 to 600 tokens"
    print(f"\n{title}: {args.prompts} prompts, {args.new} new tokens each, {args.dtype}, "
          f"{args.device_name}, {args.threads} threads")  # fmt: skip
    print(f"{'':14} {'tok/s':>8} {'ratio':>6} {'CPU s':>7} {'ratio':>6} {'MB':>7} {'equal':>7}")
    rows: list[dict[str, Any]] = []
    first: dict[str, Any] = {}
    for way in WAYS:
        best = min((apart(way, shared, args) for _ in range(args.repeat)), key=lambda r: r["cpu"])
        first = first or best
        made = sum(map(len, best["outputs"]))
        pairs = zip(best["outputs"], first["outputs"], strict=True)
        row = {
            "way": way,
            "shared": shared,
            "tokens_per_second": made / best["seconds"],
            "ratio": first["seconds"] / best["seconds"],
            "cpu_seconds": best["cpu"],
            "cpu_ratio": first["cpu"] / best["cpu"],
            "peak_mb": best["peak"],
            "equal": sum(a == b for a, b in pairs),
        }
        rows.append(row)
        print(
            f"{way:14} {row['tokens_per_second']:8.1f} {row['ratio']:6.2f} {best['cpu']:7.1f} "
            f"{row['cpu_ratio']:6.2f} {best['peak']:7.0f} {row['equal']:4}/{args.prompts}",
            flush=True,
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--dtype", default="bfloat16", choices=("float32", "float16", "bfloat16"))
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N")
    parser.add_argument("--prompts", type=int, default=64)
    parser.add_argument("--new", type=int, default=64, help="new tokens for each prompt")
    parser.add_argument("--rows", type=int, default=0, help="of a batch; 0: 16, on CUDA 64")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=1, help="the best of so many, by CPU seconds")
    parser.add_argument("--json", action="store_true", help="print the tables as JSON, too")
    args = parser.parse_args()
    import torch

    if args.device == "auto":
        args.device = "cuda" if torch.cuda.is_available() else "cpu"
    on_gpu = args.device.startswith("cuda")
    args.device_name = torch.cuda.get_device_name() if on_gpu else "CPU"
    args.rows = args.rows or (64 if on_gpu else 16)
    rows = [row for shared in (False, True) for row in report(shared, args)]
    rows += batch_sizes.report(args.device, args.threads)
    if args.json:
        print(json.dumps(rows))


if __name__ == "__main__":
    main()

"""The tiny model for tests, asked by plain transformers.

`make test` takes it as `tools.tiny_models.train` left it in `tests/fixtures/tiny_model`; `make
test-full` trains it anew and keeps it under build/.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from filelock import FileLock

from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.registry import instantiate_benchmark
from evalcore.records import Record

ROOT = Path(__file__).resolve().parents[2]
TRAINED = ROOT / "tests" / "fixtures" / "tiny_model"
_CALL = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)


class TinyModel(Record, frozen=True):
    """Folders of the checkpoint, the LoRA adapter and the held-out cases of a benchmark each
    (`bfcl`, `sql_understanding`; `lora` is of `sql_understanding` too)."""

    base: Path
    adapter: Path
    cases: Path


def tiny_model() -> TinyModel:
    """The model; with EVALBOARD_TRAIN trained if that has not been done. Skips the test where the
    extra `local` is absent.

    Safe to call from processes side by side: one trains, the others wait.
    """
    if not find_spec("peft"):  # importing it takes seconds that most tests do not need
        pytest.skip("needs the extra local: pip install -e '.[dev,local]'")
    if not os.environ.get("EVALBOARD_TRAIN"):
        return TinyModel(*(TRAINED / name for name in ("base", "adapter", "cases")))
    from tools.tiny_models.train import compute_fingerprint

    folder = ROOT / "build" / "tiny_model" / compute_fingerprint()
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_suffix(".lock")):
        if not folder.exists():
            unfinished = folder.with_suffix(".part")
            command = [sys.executable, "-m", "tools.tiny_models.train", str(unfinished)]
            subprocess.run(
                command, check=True, cwd=ROOT, env={**os.environ, "OMP_NUM_THREADS": "1"}
            )
            unfinished.rename(folder)
    return TinyModel(folder / "base", folder / "adapter", folder / "cases")


@pytest.fixture(scope="session")
def tiny() -> TinyModel:
    """`tiny_model()` as a fixture; import it into the module that uses it."""
    return tiny_model()


def load(tiny: TinyModel, dtype: str = "float32", *, adapter: bool = False):
    """Model and tokenizer; `dtype` is float32, bfloat16, int8 or int4."""
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig

    torch.set_num_threads(1)
    quantized = {
        "int8": BitsAndBytesConfig(load_in_8bit=True),
        "int4": BitsAndBytesConfig(
            load_in_4bit=True,
            bnb_4bit_quant_type="nf4",
            bnb_4bit_compute_dtype=torch.bfloat16,
        ),
    }
    model = AutoModelForCausalLM.from_pretrained(
        tiny.base,
        dtype=torch.float32 if dtype == "float32" else torch.bfloat16,
        quantization_config=quantized.get(dtype),
    )
    if adapter:
        model = PeftModel.from_pretrained(model, str(tiny.adapter))
    return model.eval(), AutoTokenizer.from_pretrained(tiny.base)


def share_right(model, tokenizer, cases: Path, benchmark: str) -> float:
    """The share of a folder's cases that a loaded model passes, by the benchmark's own verdict."""
    from tools.tiny_models.conversations import load_conversations, render_texts

    made = instantiate_benchmark(benchmark)
    samples = made.load_dataset(DatasetSource(path=str(cases)))
    prompts = [
        render_texts(tokenizer, conversation)[0]
        for conversation in load_conversations(benchmark, cases)
    ]
    answers = _answers(model, tokenizer, prompts)
    passed = 0
    for sample, answer in zip(samples, answers, strict=True):
        episode = made.episode_from_answer(
            sample, answer, {"mode": "fc"} if benchmark == "bfcl" else {}
        )
        passed += asyncio.run(made.evaluate_sample(sample, episode)).outcome == "passed"
    return passed / len(samples)


def _answers(model, tokenizer, prompts: list[str], batch: int = 32) -> list:
    import torch

    result = []
    for start in range(0, len(prompts), batch):
        encoded = tokenizer(
            prompts[start : start + batch],
            padding=True,
            add_special_tokens=False,
            return_tensors="pt",
            return_token_type_ids=False,
        )
        with torch.inference_mode():
            made = model.generate(**encoded, max_new_tokens=64, do_sample=False)
        new = made[:, encoded["input_ids"].shape[1] :]
        result += [_parsed(text) for text in tokenizer.batch_decode(new, skip_special_tokens=True)]
    return result


def _parsed(text: str) -> list[dict[str, str]] | str:
    """The calls of an answer as a server returns them, else its text."""
    try:
        calls = [json.loads(body) for body in _CALL.findall(text)]
        return [{"name": c["name"], "arguments": json.dumps(c["arguments"])} for c in calls] or text
    except (ValueError, KeyError, TypeError):
        return text

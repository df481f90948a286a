"""What the model is trained on: the very prompts and reference answers of the benchmarks.

Cases go through the benchmark's own loader, prompt and reference control, so that nothing of
training can differ from what evaluation asks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from transformers import PreTrainedTokenizerFast

from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.bfcl import asking
from evalcore.benchmarks.bfcl.benchmark import Bfcl
from evalcore.benchmarks.bfcl.dataset import entry_of
from evalcore.benchmarks.registry import create
from evalcore.records import Completion, Record, Sample

Rows = Mapping[str, Sequence[Mapping[str, Any]]]


class Conversation(Record, frozen=True):
    """Messages and tools as a chat template takes them; the last message is the answer."""

    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]]


class Lesson(Record, frozen=True):
    """The token ids of a prompt and of its answer, which ends with the end of a turn."""

    prompt: list[int]
    answer: list[int]


def write(folder: Path, rows: Rows) -> Path:
    """Case files of a benchmark, `<metric>.jsonl` each; returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for metric, lines in rows.items():
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in lines)
        (folder / f"{metric}.jsonl").write_text(text, encoding="utf-8")
    return folder


def read(benchmark: str, folder: Path) -> list[Conversation]:
    """The conversations of a folder of case files, answers included. Raises DatasetError."""
    made = create(benchmark)
    samples = made.load_dataset(DatasetSource(path=str(folder)))
    if isinstance(made, Bfcl):
        prompts = [made.build_prompt(sample, "native") for sample in samples]
        tools = [_tools(sample) for sample in samples]
    else:
        prompts = [made.build_prompt(sample) for sample in samples]
        tools = [[] for _ in samples]
    answers = [_message(made.control(sample, "reference", ())) for sample in samples]
    return [
        Conversation([*({"role": m.role, "content": m.content} for m in prompt), answer], offered)
        for prompt, offered, answer in zip(prompts, tools, answers, strict=True)
    ]


def lesson(tokenizer: PreTrainedTokenizerFast, conversation: Conversation) -> Lesson:
    """The conversation in tokens."""
    prompt, answer = texts(tokenizer, conversation)
    return Lesson(*(tokenizer.encode(text, add_special_tokens=False) for text in (prompt, answer)))


def texts(tokenizer: PreTrainedTokenizerFast, conversation: Conversation) -> tuple[str, str]:
    """The prompt, up to where the answer begins, and the answer."""

    def rendered(messages: list[dict[str, Any]], to_be_answered: bool) -> str:
        return str(
            tokenizer.apply_chat_template(
                messages,
                tools=conversation.tools or None,
                add_generation_prompt=to_be_answered,
                tokenize=False,
            )
        )

    prompt = rendered(conversation.messages[:-1], True)
    return prompt, rendered(conversation.messages, False).removeprefix(prompt).rstrip("\n")


def _tools(sample: Sample) -> list[dict[str, Any]]:
    return list(asking.tools(entry_of(sample).functions, sample.metric))


def _message(answer: Completion) -> dict[str, Any]:
    calls = [
        {"type": "function", "function": {"name": c.name, "arguments": json.loads(c.arguments)}}
        for c in answer.tool_calls
    ]
    return {"role": "assistant", "content": answer.text, "tool_calls": calls}

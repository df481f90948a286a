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
from evalcore.benchmarks.bfcl import tool_prompts
from evalcore.benchmarks.bfcl.benchmark import Bfcl
from evalcore.benchmarks.bfcl.dataset import sample_to_entry
from evalcore.benchmarks.registry import instantiate_benchmark
from evalcore.records import Completion, Record, Sample

Rows = Mapping[str, Sequence[Mapping[str, Any]]]


class Conversation(Record, frozen=True):
    """Messages and tools as a chat template takes them; the last message is the answer."""

    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]]


class TrainingExample(Record, frozen=True):
    """The token ids of a prompt and of its answer, which ends with the end of a turn."""

    prompt: list[int]
    answer: list[int]


def write_case_files(folder: Path, rows: Rows) -> Path:
    """Case files of a benchmark, `<metric>.jsonl` each; returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for metric, lines in rows.items():
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in lines)
        (folder / f"{metric}.jsonl").write_text(text, encoding="utf-8")
    return folder


def load_conversations(benchmark: str, folder: Path) -> list[Conversation]:
    """The conversations of a folder of case files, answers included. Raises DatasetError."""
    implementation = instantiate_benchmark(benchmark)
    samples = implementation.load_dataset(DatasetSource(path=str(folder)))
    if isinstance(implementation, Bfcl):
        prompts = [implementation.build_prompt(sample, "native") for sample in samples]
        tools = [_build_tool_list(sample) for sample in samples]
    else:
        prompts = [implementation.build_prompt(sample) for sample in samples]
        tools = [[] for _ in samples]
    answers = [
        _build_answer_message(implementation.control(sample, "reference", ())) for sample in samples
    ]
    return [
        Conversation([*({"role": m.role, "content": m.content} for m in prompt), answer], offered)
        for prompt, offered, answer in zip(prompts, tools, answers, strict=True)
    ]


def build_training_example(
    tokenizer: PreTrainedTokenizerFast, conversation: Conversation
) -> TrainingExample:
    """The conversation in tokens."""
    prompt, answer = render_texts(tokenizer, conversation)
    return TrainingExample(
        *(tokenizer.encode(text, add_special_tokens=False) for text in (prompt, answer))
    )


def render_texts(tokenizer: PreTrainedTokenizerFast, conversation: Conversation) -> tuple[str, str]:
    """The prompt, up to where the answer begins, and the answer."""

    def render_messages(messages: list[dict[str, Any]], to_be_answered: bool) -> str:
        return str(
            tokenizer.apply_chat_template(
                messages,
                tools=conversation.tools or None,
                add_generation_prompt=to_be_answered,
                tokenize=False,
            )
        )

    prompt = render_messages(conversation.messages[:-1], True)
    return prompt, render_messages(conversation.messages, False).removeprefix(prompt).rstrip("\n")


def _build_tool_list(sample: Sample) -> list[dict[str, Any]]:
    return list(tool_prompts.build_function_tools(sample_to_entry(sample).functions, sample.metric))


def _build_answer_message(answer: Completion) -> dict[str, Any]:
    calls = [
        {"type": "function", "function": {"name": c.name, "arguments": json.loads(c.arguments)}}
        for c in answer.tool_calls
    ]
    return {"role": "assistant", "content": answer.text, "tool_calls": calls}

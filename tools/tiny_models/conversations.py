"""What the tiny model is trained on, as text and as tokens.

Texts are the very prompts and reference answers of the benchmarks: cases go through the benchmark's
own loader, prompt and reference control, so that nothing of training can differ from what
evaluation asks. The tokenizer is a byte-level BPE trained on them, with a chat template. Words in
lower case merge across spaces, so that the fixed sentences of a prompt cost few tokens; capitalised
words and numbers stand alone, so that a value is the same token in request and answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.bfcl import tool_prompts
from evalcore.benchmarks.bfcl.benchmark import Bfcl
from evalcore.benchmarks.bfcl.dataset import sample_to_entry
from evalcore.benchmarks.registry import instantiate_benchmark
from evalcore.records import Completion, Record, Sample

Rows = Mapping[str, Sequence[Mapping[str, Any]]]

END = "<|im_end|>"
PAD = "<|endoftext|>"
VOCABULARY = 1280
CONTEXT = 1024

_PIECES = r"(?: ?[a-z_]+)+|[A-Z]+[a-z]*|[0-9]{1,2}| ?[^\sA-Za-z0-9_]+|\s+"

#: ChatML; functions by their signature alone, calls in the manner of Hermes.
TEMPLATE = """\
{%- set system = messages[0].content if messages and messages[0].role == 'system' else '' %}
{%- if system or tools %}
{{- '<|im_start|>system\n' + system }}
{%- for tool in tools or [] %}
{%- if loop.first %}{{- ('\n' if system else '') + 'Functions:' }}{%- endif %}
{{- '\n' + tool.function.name + '(' }}
{%- for name, schema in (tool.function.parameters.properties or {}).items() %}
{{- (', ' if not loop.first else '') + name + ': ' + (schema.type or 'any') }}
{%- endfor %}
{{- ')' }}
{%- endfor %}
{{- '<|im_end|>\n' }}
{%- endif %}
{%- for message in messages %}
{%- if message.role == 'tool' %}
{{- '<|im_start|>user\n<tool_response>\n' + message.content + '\n</tool_response><|im_end|>\n' }}
{%- elif message.role != 'system' or not loop.first %}
{{- '<|im_start|>' + message.role + '\n' + (message.content or '') }}
{%- for call in message.tool_calls or [] %}
{%- if not loop.first %}{{- '\n' }}{%- endif %}
{{- '<tool_call>\n{"name": "' + call.function.name + '", "arguments": ' }}
{{- (call.function.arguments | tojson) + '}\n</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{%- endif %}
"""


class Conversation(Record, frozen=True):
    """Messages and tools as a chat template takes them; the last message is the answer."""

    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]]


class TrainingExample(Record, frozen=True):
    """The token ids of a prompt and of its answer, which ends with the end of a turn."""

    prompt: list[int]
    answer: list[int]


def write_case_files(folder: Path, rows: Rows) -> Path:
    """Write the case files of a benchmark, `<metric>.jsonl` each; return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for metric, lines in rows.items():
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in lines)
        (folder / f"{metric}.jsonl").write_text(text, encoding="utf-8")
    return folder


def load_conversations(benchmark: str, folder: Path) -> list[Conversation]:
    """Load the conversations of a folder of case files, answers included. Raises DatasetError."""
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
    """Encode a conversation."""
    prompt, answer = render_texts(tokenizer, conversation)
    return TrainingExample(
        *(tokenizer.encode(text, add_special_tokens=False) for text in (prompt, answer))
    )


def render_texts(tokenizer: PreTrainedTokenizerFast, conversation: Conversation) -> tuple[str, str]:
    """Render the prompt, up to where the answer begins, and the answer."""

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


def create_empty_tokenizer() -> PreTrainedTokenizerFast:
    """Create a tokenizer of a chat template alone: enough to render texts to train on."""
    return PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE()), chat_template=TEMPLATE)


def train_tokenizer(texts: Iterable[str]) -> PreTrainedTokenizerFast:
    """Train a tokenizer of at most `VOCABULARY` tokens."""
    tokenizer = Tokenizer(models.BPE())
    split = pre_tokenizers.Split(Regex(_PIECES), behavior="isolated")
    bytes_ = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, bytes_])
    tokenizer.decoder = decoders.ByteLevel()
    special = [PAD, "<|im_start|>", END]
    plain = [AddedToken(tag, normalized=False) for tag in ("<tool_call>", "</tool_call>")]
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY - len(plain),
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    # The tags are whole tokens; merging their letters would waste the vocabulary.
    plain_texts = (re.sub(r"<[a-z_|/]+>", "\n", text) for text in texts)
    tokenizer.train_from_iterator(plain_texts, trainer)
    tokenizer.add_tokens(plain)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=END,
        pad_token=PAD,
        model_max_length=CONTEXT,
        padding_side="left",
        chat_template=TEMPLATE,
    )


def _build_tool_list(sample: Sample) -> list[dict[str, Any]]:
    return list(tool_prompts.build_function_tools(sample_to_entry(sample).functions, sample.metric))


def _build_answer_message(answer: Completion) -> dict[str, Any]:
    calls = [
        {"type": "function", "function": {"name": c.name, "arguments": json.loads(c.arguments)}}
        for c in answer.tool_calls
    ]
    return {"role": "assistant", "content": answer.text, "tool_calls": calls}

"""From a request to the tokens of a prompt, and from generated tokens to a completion."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from evalcore.errors import EvalboardError, UsageError
from evalcore.records import Completion, GenerationRequest, Record, ToolCall, Usage
from evalcore.targets.huggingface.chat_messages import (
    NEXT_LINE,
    Turn,
    build_turns,
    flatten_turns,
    format_turn_lines,
    iter_turn_variants,
    wrap_tools,
)
from evalcore.targets.huggingface.load import LoadedModel
from evalcore.targets.huggingface.response import parse_by_response_template
from evalcore.targets.huggingface.template import render_chat_template
from evalcore.targets.huggingface.tool_calls import read_tool_calls
from evalcore.targets.openai_reply import split_thought

#: Tokens of an answer where nobody set a limit.
DEFAULT_MAX_TOKENS = 2048
_OPENED = re.compile(r"<think(?:ing)?>\s*\Z")
_THINK = re.compile(r"\A\s*\[THINK\](.*?)(?:\[/THINK\]|\Z)", re.DOTALL)


class Prompt(Record, frozen=True):
    """What the model is given: token ids, and the text they were made of."""

    ids: tuple[int, ...]
    text: str


class PromptTooLong(EvalboardError):
    """The prompt leaves no room for an answer: `tokens` of the prompt, `limit` of the context."""

    def __init__(self, tokens: int, limit: int) -> None:
        self.tokens, self.limit = tokens, limit
        super().__init__(f"the prompt has {tokens} tokens, the context is {limit}")


def encode_prompt(loaded: LoadedModel, request: GenerationRequest) -> Prompt:
    """The prompt of a request, as the model was trained to be asked (`turns` has the fallbacks).

    Raises TooLong where the context leaves no token for an answer, UsageError where the chat
    template refuses the conversation in every form, and for images.
    """
    if any(message.images for message in request.messages):
        raise UsageError("a local model is asked in text only; ask without images")
    tokenizer, report = loaded.tokenizer, loaded.report
    turns = build_turns(request.messages)
    if not report.tools:
        turns = flatten_turns(turns, request.tools)
    if report.template:
        text = _render_conversation(tokenizer, turns, request, report.tools)
    else:
        text = format_turn_lines(flatten_turns(turns))
    ids = tuple(tokenizer(text, add_special_tokens=not report.template)["input_ids"])
    if len(ids) >= report.context:
        raise PromptTooLong(len(ids), report.context)
    rows = loaded.model.get_input_embeddings().weight.shape[0]
    if max(ids, default=0) >= rows:
        raise UsageError(f"the prompt has token {max(ids)}, the model embeds only {rows}")
    return Prompt(ids, text)


def compute_max_new(loaded: LoadedModel, request: GenerationRequest, prompt: Prompt) -> int:
    """Tokens that the answer may have: as asked, within what the context leaves."""
    requested = request.sampling.max_tokens or DEFAULT_MAX_TOKENS
    return max(1, min(requested, loaded.report.context - len(prompt.ids)))


def list_stop_strings(loaded: LoadedModel, request: GenerationRequest) -> tuple[str, ...]:
    """The texts that end an answer; a model without a template would go on with the user's turn."""
    return request.sampling.stop + (() if loaded.report.template else (NEXT_LINE,))


def decode_completion(
    loaded: LoadedModel,
    request: GenerationRequest,
    prompt: Prompt,
    new_ids: tuple[int, ...],
    stopped: str,
) -> Completion:
    """The completion of generated tokens. `stopped` is stop or length; reasoning and calls are
    taken out of the text, which ends before the first of `list_stop_strings`."""
    tokenizer = loaded.tokenizer
    raw = tokenizer.decode(
        _strip_end_tokens(loaded, new_ids),
        skip_special_tokens=False,
        clean_up_tokenization_spaces=False,
    )
    written = _cut_at_stop(raw, list_stop_strings(loaded, request))
    text, reasoning, calls = _parse_model_answer(tokenizer, request, prompt, written)
    finish = "stop" if len(written) < len(raw) else stopped
    thought = tokenizer(reasoning, add_special_tokens=False)["input_ids"] if reasoning else ()
    return Completion(
        text=text if loaded.report.template else text.strip(),
        reasoning=reasoning,
        tool_calls=calls,
        finish_reason="tool_calls" if calls and finish == "stop" else finish,
        usage=Usage(
            input_tokens=len(prompt.ids),
            output_tokens=len(new_ids),
            reasoning_tokens=len(thought) or None,
        ),
    )


def _strip_end_tokens(loaded: LoadedModel, new_ids: tuple[int, ...]) -> list[int]:
    """The tokens without special ones at their end: what a model writes to end a turn."""
    special = loaded.end_ids | set(loaded.tokenizer.all_special_ids)
    remaining = list(new_ids)
    while remaining and remaining[-1] in special:
        remaining.pop()
    return remaining


def _render_conversation(
    tokenizer: Any, turns: list[Turn], request: GenerationRequest, tools: bool
) -> str:
    """The text of the template, for the first form of the conversation that it takes whole."""
    system = turns[0]["content"].strip() if turns and turns[0]["role"] == "system" else ""
    offered = wrap_tools(request.tools) if tools and request.tools else None
    variables = _thinking_variables(request.sampling.reasoning_effort)
    refusal: Exception | None = None
    spare = None
    for variant in iter_turn_variants(turns):
        try:
            text = render_chat_template(tokenizer, variant, offered, variables)
        except Exception as error:  # templates raise whatever they like
            refusal = error
            continue
        if system in text:
            return text
        spare = spare or text  # it left the system turn out, or wrote it in another form
    if spare is not None:
        return spare
    raise UsageError(f"the model's chat template refuses the conversation: {refusal}"[:400])


def _thinking_variables(effort: str | None) -> Mapping[str, Any]:
    """The variables by which templates turn reasoning on and off; left out where nobody asked."""
    if effort is None:
        return {}
    return {"enable_thinking": effort != "none", "reasoning_effort": effort}


def _cut_at_stop(text: str, ends: tuple[str, ...]) -> str:
    offsets = [offset for end in ends if (offset := text.find(end)) >= 0]
    return text[: min(offsets)] if offsets else text


def _parse_model_answer(
    tokenizer: Any, request: GenerationRequest, prompt: Prompt, written: str
) -> tuple[str, str, tuple[ToolCall, ...]]:
    """Text, reasoning and calls: by the tokenizer's own rules where it has some that work."""
    first = sum(len(message.tool_calls) for message in request.messages)
    parsed = parse_by_response_template(tokenizer, written, prompt.text, request.tools, first)
    if parsed is not None:
        return parsed
    body = f"<think>{written}" if _OPENED.search(prompt.text) else written
    body = _THINK.sub(lambda match: f"<think>{match[1]}</think>", body, count=1)
    reasoning, answer = split_thought(body)
    calls: tuple[ToolCall, ...] = ()
    if request.tools:
        answer, calls = read_tool_calls(answer, request.tools, first)
    return (
        strip_special_tokens(tokenizer, answer),
        strip_special_tokens(tokenizer, reasoning),
        calls,
    )


def strip_special_tokens(tokenizer: Any, text: str) -> str:
    """The text without special tokens, which decoding leaves in for the sake of the calls."""
    for marker in tokenizer.all_special_tokens:
        text = text.replace(marker, "")
    return text

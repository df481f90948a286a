"""From a request to the tokens of a prompt, and from generated tokens to a completion."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from evalcore.errors import EvalboardError, UsageError
from evalcore.records import Completion, GenerationRequest, Record, ToolCall, Usage
from evalcore.targets.huggingface.load import Loaded
from evalcore.targets.huggingface.response import by_response_template
from evalcore.targets.huggingface.template import render
from evalcore.targets.huggingface.tool_calls import read_calls
from evalcore.targets.huggingface.turns import (
    NEXT_LINE,
    Turn,
    lines,
    plain,
    tools_of,
    turns_of,
    variants,
)
from evalcore.targets.openai_reply import split_thought

#: Tokens of an answer where nobody set a limit.
DEFAULT_MAX_TOKENS = 2048
_OPENED = re.compile(r"<think(?:ing)?>\s*\Z")
_THINK = re.compile(r"\A\s*\[THINK\](.*?)(?:\[/THINK\]|\Z)", re.DOTALL)


class Prompt(Record, frozen=True):
    """What the model is given: token ids, and the text they were made of."""

    ids: tuple[int, ...]
    text: str


class TooLong(EvalboardError):
    """The prompt leaves no room for an answer: `tokens` of the prompt, `limit` of the context."""

    def __init__(self, tokens: int, limit: int) -> None:
        self.tokens, self.limit = tokens, limit
        super().__init__(f"the prompt has {tokens} tokens, the context is {limit}")


def encode(loaded: Loaded, request: GenerationRequest) -> Prompt:
    """The prompt of a request, as the model was trained to be asked (`turns` has the fallbacks).

    Raises TooLong where the context leaves no token for an answer, UsageError where the chat
    template refuses the conversation in every form, and for images.
    """
    if any(message.images for message in request.messages):
        raise UsageError("a local model is asked in text only; ask without images")
    tokenizer, report = loaded.tokenizer, loaded.report
    turns = turns_of(request.messages)
    if not report.tools:
        turns = plain(turns, request.tools)
    if report.template:
        text = _rendered(tokenizer, turns, request, report.tools)
    else:
        text = lines(plain(turns))
    ids = tuple(tokenizer(text, add_special_tokens=not report.template)["input_ids"])
    if len(ids) >= report.context:
        raise TooLong(len(ids), report.context)
    rows = loaded.model.get_input_embeddings().weight.shape[0]
    if max(ids, default=0) >= rows:
        raise UsageError(f"the prompt has token {max(ids)}, the model embeds only {rows}")
    return Prompt(ids, text)


def max_new(loaded: Loaded, request: GenerationRequest, prompt: Prompt) -> int:
    """Tokens that the answer may have: as asked, within what the context leaves."""
    wanted = request.sampling.max_tokens or DEFAULT_MAX_TOKENS
    return max(1, min(wanted, loaded.report.context - len(prompt.ids)))


def stops(loaded: Loaded, request: GenerationRequest) -> tuple[str, ...]:
    """The texts that end an answer; a model without a template would go on with the user's turn."""
    return request.sampling.stop + (() if loaded.report.template else (NEXT_LINE,))


def decode(
    loaded: Loaded,
    request: GenerationRequest,
    prompt: Prompt,
    new_ids: tuple[int, ...],
    stopped: str,
) -> Completion:
    """The completion of generated tokens. `stopped` is stop or length; reasoning and calls are
    taken out of the text, which ends before the first of `stops`."""
    tokenizer = loaded.tokenizer
    raw = tokenizer.decode(
        _without_ends(loaded, new_ids),
        skip_special_tokens=False,
        clean_up_tokenization_spaces=False,
    )
    written = _before_stop(raw, stops(loaded, request))
    text, reasoning, calls = _read(tokenizer, request, prompt, written)
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


def _without_ends(loaded: Loaded, new_ids: tuple[int, ...]) -> list[int]:
    """The tokens without special ones at their end: what a model writes to end a turn."""
    special = loaded.end_ids | set(loaded.tokenizer.all_special_ids)
    kept = list(new_ids)
    while kept and kept[-1] in special:
        kept.pop()
    return kept


def _rendered(tokenizer: Any, turns: list[Turn], request: GenerationRequest, tools: bool) -> str:
    """The text of the template, for the first form of the conversation that it takes whole."""
    system = turns[0]["content"].strip() if turns and turns[0]["role"] == "system" else ""
    offered = tools_of(request.tools) if tools and request.tools else None
    variables = _thinking(request.sampling.reasoning_effort)
    refusal: Exception | None = None
    spare = None
    for variant in variants(turns):
        try:
            text = render(tokenizer, variant, offered, variables)
        except Exception as error:  # templates raise whatever they like
            refusal = error
            continue
        if system in text:
            return text
        spare = spare or text  # it left the system turn out, or wrote it in another form
    if spare is not None:
        return spare
    raise UsageError(f"the model's chat template refuses the conversation: {refusal}"[:400])


def _thinking(effort: str | None) -> Mapping[str, Any]:
    """The variables by which templates turn reasoning on and off; left out where nobody asked."""
    if effort is None:
        return {}
    return {"enable_thinking": effort != "none", "reasoning_effort": effort}


def _before_stop(text: str, ends: tuple[str, ...]) -> str:
    places = [at for end in ends if (at := text.find(end)) >= 0]
    return text[: min(places)] if places else text


def _read(
    tokenizer: Any, request: GenerationRequest, prompt: Prompt, written: str
) -> tuple[str, str, tuple[ToolCall, ...]]:
    """Text, reasoning and calls: by the tokenizer's own rules where it has some that work."""
    first = sum(len(message.tool_calls) for message in request.messages)
    told = by_response_template(tokenizer, written, prompt.text, request.tools, first)
    if told is not None:
        return told
    body = f"<think>{written}" if _OPENED.search(prompt.text) else written
    body = _THINK.sub(lambda found: f"<think>{found[1]}</think>", body, count=1)
    reasoning, answer = split_thought(body)
    calls: tuple[ToolCall, ...] = ()
    if request.tools:
        answer, calls = read_calls(answer, request.tools, first)
    return without_markers(tokenizer, answer), without_markers(tokenizer, reasoning), calls


def without_markers(tokenizer: Any, text: str) -> str:
    """The text without special tokens, which decoding leaves in for the sake of the calls."""
    for marker in tokenizer.all_special_tokens:
        text = text.replace(marker, "")
    return text

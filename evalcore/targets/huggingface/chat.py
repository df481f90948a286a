"""From a request to the tokens of a prompt, and from generated tokens to a completion."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from evalcore.call_formats import CallReading, ParsedCall, read_calls, split_marked_thought
from evalcore.errors import EvalboardError, UsageError
from evalcore.i18n import Note
from evalcore.records import Completion, GenerationRequest, Message, Record, ToolCall, Usage
from evalcore.targets.endpoint.chat import wrap_tools
from evalcore.targets.endpoint.dialect import split_thought
from evalcore.targets.huggingface.load import LoadedModel

# Two fallbacks are ours. A model without a template gets lines `System: ...`, `User: ...` and
# `Assistant: ...`. A template that knows no tools gets them described in the system turn, calls as
# JSON between <tool_call> tags and results between <tool_response> tags.

Turn = dict[str, Any]
_WORDS = {"system": "System", "user": "User", "assistant": "Assistant"}
#: Where an answer in lines ends: the model goes on to write the next turn of the user.
NEXT_LINE = "\nUser:"
_TOOLS_INTRO = """Functions can be called. To call one, write for each call
<tool_call>
{"name": "<function_name>", "arguments": {"<argument>": <value>}}
</tool_call>
The functions, described in JSON:"""


def build_turns(messages: Sequence[Message]) -> list[Turn]:
    """The turns as templates take them: arguments of calls as objects, results with the name of
    their function."""
    names = {call.id: call.name for message in messages for call in message.tool_calls}
    return [_build_turn(message, names) for message in messages]


def _build_turn(message: Message, names: Mapping[str, str]) -> Turn:
    turn: Turn = {"role": message.role, "content": message.content}
    if message.role == "tool":
        call_id = message.tool_call_id
        return {**turn, "tool_call_id": call_id, "name": names.get(call_id, "")}
    if message.reasoning:
        turn["reasoning_content"] = message.reasoning
    if message.tool_calls:
        functions = [
            {"name": call.name, "arguments": _parse_turn_arguments(call.arguments)}
            for call in message.tool_calls
        ]
        turn["tool_calls"] = [
            {"id": call.id, "type": "function", "function": function}
            for call, function in zip(message.tool_calls, functions, strict=True)
        ]
    return turn


def _parse_turn_arguments(text: str) -> Any:
    """The object that the text of arguments means, the text itself where it means none."""
    try:
        arguments = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError):
        return text
    return arguments if isinstance(arguments, dict) else text


def iter_turn_variants(turns: Sequence[Turn]) -> Iterator[list[Turn]]:
    """The turns as they are, then changed step by step for templates that refuse something: a
    system turn, turns that do not alternate, calls and results."""
    yield list(turns)
    merged = _merge_system_turn(turns)
    yield merged
    yield _merge_neighbouring_turns(merged)
    yield _merge_neighbouring_turns(_merge_system_turn(flatten_turns(turns)))


def flatten_turns(turns: Sequence[Turn], tools: Sequence[Mapping[str, Any]] = ()) -> list[Turn]:
    """The turns with tools, calls and results as text."""
    changed = [_flatten_turn(turn) for turn in turns]
    if not tools:
        return changed
    listed = "\n".join(json.dumps(tool, ensure_ascii=False) for tool in wrap_tools(tools))
    offer = f"{_TOOLS_INTRO}\n{listed}"
    if changed and changed[0]["role"] == "system":
        first = f"{changed[0]['content']}\n\n{offer}"
        return [{"role": "system", "content": first}, *changed[1:]]
    return [{"role": "system", "content": offer}, *changed]


def _flatten_turn(turn: Turn) -> Turn:
    if turn["role"] == "tool":
        content = f"<tool_response>\n{turn['content']}\n</tool_response>"
        return {"role": "user", "content": content}
    calls = [
        f"<tool_call>\n{json.dumps(call['function'], ensure_ascii=False)}\n</tool_call>"
        for call in turn.get("tool_calls", ())
    ]
    other_fields = {key: value for key, value in turn.items() if key != "tool_calls"}
    return {**other_fields, "content": "\n".join(filter(None, [turn["content"], *calls]))}


def _merge_system_turn(turns: Sequence[Turn]) -> list[Turn]:
    """The system turn's text before the first turn of the user."""
    if not turns or turns[0]["role"] != "system":
        return list(turns)
    system, *rest = turns
    for number, turn in enumerate(rest):
        if turn["role"] == "user":
            content = f"{system['content']}\n\n{turn['content']}"
            return [*rest[:number], {**turn, "content": content}, *rest[number + 1 :]]
    return [{"role": "user", "content": system["content"]}, *rest]


def _merge_neighbouring_turns(turns: Sequence[Turn]) -> list[Turn]:
    merged: list[Turn] = []
    for turn in turns:
        last = merged[-1] if merged else None
        simple = "tool_calls" not in turn and turn["role"] in ("user", "assistant")
        if last and simple and last["role"] == turn["role"] and "tool_calls" not in last:
            merged[-1] = {**last, "content": f"{last['content']}\n\n{turn['content']}"}
        else:
            merged.append(turn)
    return merged


def format_turn_lines(turns: Sequence[Turn]) -> str:
    texts = [f"{_WORDS[turn['role']]}: {turn['content']}" for turn in turns]
    return "\n".join([*texts, "Assistant:"])


# Templates may ask for today's date by `strftime_now(format)`. A macro of that name is put before
# such a template, which tells one day for ever: else caches, comparisons and repeats would break at
# midnight. (Functions given as variables reach no template.)

DAY = datetime(2026, 1, 1, tzinfo=UTC)
_CLOCK = "strftime_now"
_FORMATS = re.compile(_CLOCK + r"\(\s*(?:\"([^\"]{1,100})\"|'([^']{1,100})')")
_MACRO = (
    "{%- macro strftime_now(format) -%}{{ evaluation_day.get(format, evaluation_day.default) }}"
    "{%- endmacro -%}"
)


def render_chat_template(
    tokenizer: Any,
    turns: Sequence[Mapping[str, Any]],
    tools: Sequence[Mapping[str, Any]] | None,
    variables: Mapping[str, Any],
) -> str:
    """The prompt of a conversation, up to the place where the model answers. Raises whatever the
    template raises."""
    offered = list(tools) if tools else None
    template: str = tokenizer.get_chat_template(None, offered)
    if _CLOCK in template:
        formats = {
            double_quoted or single_quoted
            for double_quoted, single_quoted in _FORMATS.findall(template)
        }
        days = {form: DAY.strftime(form) for form in formats} | {"default": DAY.date().isoformat()}
        variables = {**variables, "evaluation_day": days}
        template = _MACRO + template
    text: str = tokenizer.apply_chat_template(
        list(turns),
        tools=offered,
        chat_template=template,
        tokenize=False,
        add_generation_prompt=True,
        **variables,
    )
    return text


_THOUGHTS = ("reasoning_content", "reasoning", "thinking")


def parse_by_response_template(
    tokenizer: Any, written: str, prompt: str, tools: Sequence[Mapping[str, Any]], first: int
) -> Completion | None:
    """Text, reasoning and calls (numbered from `first`); None where the tokenizer has no rules, or
    they do not fit what the model wrote: a call that was cut makes them fail."""
    if getattr(tokenizer, "response_template", None) is None:
        return None
    try:
        response = tokenizer.parse_response(written, prefix=prompt, tools=list(tools) or None)
        calls = tuple(
            _build_template_call(call["function"], first + number)
            for number, call in enumerate(response.get("tool_calls") or ())
        )
        reasoning = next((response[name] for name in _THOUGHTS if response.get(name)), "")
        text = response.get("content") or ""
    except Exception:  # the rules come from a model's folder and may fail in any way
        return None
    if not isinstance(text, str) or not isinstance(reasoning, str):
        return None
    return Completion(
        text=text,
        reasoning=reasoning.strip(),
        tool_calls=calls,
        call_format="response_template" if calls else "",
    )


def _build_template_call(function: Mapping[str, Any], number: int) -> ToolCall:
    arguments = function.get("arguments") or {}
    written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return ToolCall(id=f"call{number:05d}", name=str(function["name"]), arguments=written)


#: Tokens of an answer where nobody set a limit: of a judge, of a model that plays a user.
DEFAULT_MAX_TOKENS = 2048
_OPENED = re.compile(r"<think(?:ing)?>\s*\Z")


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
    Raises PromptTooLong where the context leaves no token for an answer, UsageError where the chat
    template refuses the conversation in every form, and for images."""
    if any(message.images for message in request.messages):
        raise UsageError(Note("local_no_images"))
    tokenizer, report = loaded.tokenizer, loaded.report
    if request.is_text:
        text = "".join(message.content for message in request.messages)
        ids = encode_text(tokenizer, text)
    else:
        text = _render_prompt(loaded, request)
        ids = tuple(tokenizer(text, add_special_tokens=not report.template)["input_ids"])
    if len(ids) >= report.context:
        raise PromptTooLong(len(ids), report.context)
    rows = loaded.model.get_input_embeddings().weight.shape[0]
    if max(ids, default=0) >= rows:
        raise UsageError(Note("token_range", token=max(ids), rows=rows))
    return Prompt(ids, text)


def _render_prompt(loaded: LoadedModel, request: GenerationRequest) -> str:
    """The conversation as the model's template has it, in lines where it has none."""
    turns = build_turns(request.messages)
    if not loaded.report.tools:
        turns = flatten_turns(turns, request.tools)
    if loaded.report.template:
        return _render_conversation(loaded.tokenizer, turns, request, loaded.report.tools)
    return format_turn_lines(flatten_turns(turns))


def encode_text(tokenizer: Any, text: str) -> tuple[int, ...]:
    """The tokens of a text to go on with, behind what the tokenizer puts before every text, unless
    the text begins with that itself."""
    first = tokenizer.bos_token
    begins = bool(first) and text.startswith(first)
    return tuple(tokenizer(text, **({"add_special_tokens": False} if begins else {}))["input_ids"])


def compute_max_new(loaded: LoadedModel, request: GenerationRequest, prompt: Prompt) -> int:
    """Tokens that the answer may have: as asked, within what the context leaves."""
    requested = request.sampling.max_tokens or DEFAULT_MAX_TOKENS
    return max(1, min(requested, loaded.report.context - len(prompt.ids)))


def list_stop_strings(loaded: LoadedModel, request: GenerationRequest) -> tuple[str, ...]:
    """The texts that end an answer; a model without a template would go on with the user's turn."""
    in_lines = not (loaded.report.template or request.is_text)
    return request.sampling.stop + ((NEXT_LINE,) if in_lines else ())


def decode_completion(
    loaded: LoadedModel,
    request: GenerationRequest,
    prompt: Prompt,
    new_ids: tuple[int, ...],
    stopped: str,
) -> Completion:
    """The completion of generated tokens. `stopped` is stop or length; reasoning and calls are
    taken out of the text, which ends before the first of `list_stop_strings`. What goes on with a
    text is taken as it is."""
    if request.is_text:
        return _decode_text(loaded, request, prompt, new_ids, stopped)
    tokenizer = loaded.tokenizer
    raw = tokenizer.decode(
        _strip_end_tokens(loaded, new_ids),
        skip_special_tokens=False,
        clean_up_tokenization_spaces=False,
    )
    written = _cut_at_stop(raw, list_stop_strings(loaded, request))
    answer = _parse_model_answer(tokenizer, request, prompt, written)
    finish = "stop" if len(written) < len(raw) else stopped
    thought = (
        tokenizer(answer.reasoning, add_special_tokens=False)["input_ids"]
        if answer.reasoning
        else ()
    )
    return msgspec.structs.replace(
        answer,
        text=answer.text if loaded.report.template else answer.text.strip(),
        finish_reason="tool_calls" if answer.tool_calls and finish == "stop" else finish,
        usage=Usage(
            input_tokens=len(prompt.ids),
            output_tokens=len(new_ids),
            reasoning_tokens=len(thought) or None,
        ),
    )


def _decode_text(
    loaded: LoadedModel,
    request: GenerationRequest,
    prompt: Prompt,
    new_ids: tuple[int, ...],
    stopped: str,
) -> Completion:
    raw = loaded.tokenizer.decode(new_ids, skip_special_tokens=True)
    written = _cut_at_stop(raw, list_stop_strings(loaded, request))
    return Completion(
        text=written,
        finish_reason="stop" if len(written) < len(raw) else stopped,
        usage=Usage(input_tokens=len(prompt.ids), output_tokens=len(new_ids)),
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
    raise UsageError(Note("template_rejects", problem=str(refusal)[:350]))


def _thinking_variables(effort: str | None) -> Mapping[str, Any]:
    """The variables by which templates turn reasoning on and off; left out where nobody asked."""
    if effort is None:
        return {}
    thinks = effort != "none"
    return {"enable_thinking": thinks, "thinking": thinks, "reasoning_effort": effort}


def _cut_at_stop(text: str, ends: tuple[str, ...]) -> str:
    offsets = [offset for end in ends if (offset := text.find(end)) >= 0]
    return text[: min(offsets)] if offsets else text


def _parse_model_answer(
    tokenizer: Any, request: GenerationRequest, prompt: Prompt, written: str
) -> Completion:
    """Text, reasoning and calls: by the tokenizer's own rules where it has some that work."""
    first = sum(len(message.tool_calls) for message in request.messages)
    parsed = parse_by_response_template(tokenizer, written, prompt.text, request.tools, first)
    if parsed is not None:
        return parsed
    marked, written = split_marked_thought(written)
    body = f"<think>{written}" if _OPENED.search(prompt.text) else written
    reasoning, text = split_thought(body)
    reading = read_calls(text, request.tools) if request.tools else CallReading((), text, "")
    return Completion(
        text=strip_special_tokens(tokenizer, reading.rest),
        reasoning=strip_special_tokens(tokenizer, f"{marked}\n{reasoning}".strip()),
        tool_calls=number_tool_calls(reading.calls, first),
        call_format=reading.format,
    )


def number_tool_calls(calls: Sequence[ParsedCall], first: int) -> tuple[ToolCall, ...]:
    """The calls with ids that go on from a number, in nine letters and digits: the only ids that
    Mistral's templates take back."""
    return tuple(
        ToolCall(
            id=f"call{number:05d}",
            name=name,
            arguments=arguments
            if isinstance(arguments, str)
            else json.dumps(arguments, ensure_ascii=False),
        )
        for number, (name, arguments) in enumerate(calls, first)
    )


def strip_special_tokens(tokenizer: Any, text: str) -> str:
    """The text without special tokens, which decoding leaves in for the sake of the calls."""
    for marker in tokenizer.all_special_tokens:
        text = text.replace(marker, "")
    return text

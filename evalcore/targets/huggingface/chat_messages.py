"""Conversations in the form that chat templates expect, and the changes for those that refuse it.

Two fallbacks are ours. A model without a template gets lines `System: ...`, `User: ...` and
`Assistant: ...`. A template that knows no tools gets them described in the system turn, calls as
JSON between <tool_call> tags and results between <tool_response> tags.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evalcore.records import Message, ToolCall

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
        turn["tool_calls"] = [_build_turn_call(call) for call in message.tool_calls]
    return turn


def _build_turn_call(call: ToolCall) -> Turn:
    function = {"name": call.name, "arguments": _parse_turn_arguments(call.arguments)}
    return {"id": call.id, "type": "function", "function": function}


def _parse_turn_arguments(text: str) -> Any:
    """The object that the text of arguments means, the text itself where it means none."""
    try:
        arguments = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError):
        return text
    return arguments if isinstance(arguments, dict) else text


def wrap_tools(tools: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Tools in the form of templates; a bare description is wrapped."""
    return [
        tool if "function" in tool else {"type": "function", "function": tool} for tool in tools
    ]


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
    """Neighbouring turns of one side as one."""
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
    """Plain turns as lines, up to the place where the model answers."""
    texts = [f"{_WORDS[turn['role']]}: {turn['content']}" for turn in turns]
    return "\n".join([*texts, "Assistant:"])

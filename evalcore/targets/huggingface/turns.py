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
_OFFER = """Functions can be called. To call one, write for each call
<tool_call>
{"name": "<function_name>", "arguments": {"<argument>": <value>}}
</tool_call>
The functions, described in JSON:"""


def turns_of(messages: Sequence[Message]) -> list[Turn]:
    """The turns as templates take them: arguments of calls as objects, results with the name of
    their function."""
    names = {call.id: call.name for message in messages for call in message.tool_calls}
    return [_turn(message, names) for message in messages]


def _turn(message: Message, names: Mapping[str, str]) -> Turn:
    turn: Turn = {"role": message.role, "content": message.content}
    if message.role == "tool":
        called = message.tool_call_id
        return {**turn, "tool_call_id": called, "name": names.get(called, "")}
    if message.reasoning:
        turn["reasoning_content"] = message.reasoning
    if message.tool_calls:
        turn["tool_calls"] = [_called(call) for call in message.tool_calls]
    return turn


def _called(call: ToolCall) -> Turn:
    function = {"name": call.name, "arguments": _arguments(call.arguments)}
    return {"id": call.id, "type": "function", "function": function}


def _arguments(text: str) -> Any:
    """The object that the text of arguments means, the text itself where it means none."""
    try:
        found = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError):
        return text
    return found if isinstance(found, dict) else text


def tools_of(tools: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Tools in the form of templates; a bare description is wrapped."""
    return [
        tool if "function" in tool else {"type": "function", "function": tool} for tool in tools
    ]


def variants(turns: Sequence[Turn]) -> Iterator[list[Turn]]:
    """The turns as they are, then changed step by step for templates that refuse something: a
    system turn, turns that do not alternate, calls and results."""
    yield list(turns)
    merged = _without_system(turns)
    yield merged
    yield _alternating(merged)
    yield _alternating(_without_system(plain(turns)))


def plain(turns: Sequence[Turn], tools: Sequence[Mapping[str, Any]] = ()) -> list[Turn]:
    """The turns with tools, calls and results as text."""
    changed = [_as_text(turn) for turn in turns]
    if not tools:
        return changed
    listed = "\n".join(json.dumps(tool, ensure_ascii=False) for tool in tools_of(tools))
    offer = f"{_OFFER}\n{listed}"
    if changed and changed[0]["role"] == "system":
        first = f"{changed[0]['content']}\n\n{offer}"
        return [{"role": "system", "content": first}, *changed[1:]]
    return [{"role": "system", "content": offer}, *changed]


def _as_text(turn: Turn) -> Turn:
    if turn["role"] == "tool":
        content = f"<tool_response>\n{turn['content']}\n</tool_response>"
        return {"role": "user", "content": content}
    calls = [
        f"<tool_call>\n{json.dumps(call['function'], ensure_ascii=False)}\n</tool_call>"
        for call in turn.get("tool_calls", ())
    ]
    kept = {key: value for key, value in turn.items() if key != "tool_calls"}
    return {**kept, "content": "\n".join(filter(None, [turn["content"], *calls]))}


def _without_system(turns: Sequence[Turn]) -> list[Turn]:
    """The system turn's text before the first turn of the user."""
    if not turns or turns[0]["role"] != "system":
        return list(turns)
    system, *rest = turns
    for number, turn in enumerate(rest):
        if turn["role"] == "user":
            content = f"{system['content']}\n\n{turn['content']}"
            return [*rest[:number], {**turn, "content": content}, *rest[number + 1 :]]
    return [{"role": "user", "content": system["content"]}, *rest]


def _alternating(turns: Sequence[Turn]) -> list[Turn]:
    """Neighbouring turns of one side as one."""
    made: list[Turn] = []
    for turn in turns:
        last = made[-1] if made else None
        simple = "tool_calls" not in turn and turn["role"] in ("user", "assistant")
        if last and simple and last["role"] == turn["role"] and "tool_calls" not in last:
            made[-1] = {**last, "content": f"{last['content']}\n\n{turn['content']}"}
        else:
            made.append(turn)
    return made


def lines(turns: Sequence[Turn]) -> str:
    """Plain turns as lines, up to the place where the model answers."""
    shown = [f"{_WORDS[turn['role']]}: {turn['content']}" for turn in turns]
    return "\n".join([*shown, "Assistant:"])

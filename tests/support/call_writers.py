"""The calls that spellings are tested with, and what writes them into the text of an answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

Call = tuple[str, dict[str, Any]]
Calls = Sequence[Call]

TOOLS: list[dict[str, Any]] = [
    {
        "name": "get_weather",
        "description": "The weather of a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            "required": ["city"],
        },
    },
    {
        "name": "send_mail",
        "description": "Send a mail.",
        "parameters": {
            "type": "object",
            "properties": {
                "to": {"type": "array", "items": {"type": "string"}},
                "body": {"type": "string"},
                "options": {"type": "object"},
                "weight": {"type": "number"},
                "urgent": {"type": "boolean"},
                "parent": {"type": ["string", "null"]},
            },
            "required": ["to", "body"],
        },
    },
    {"name": "list_rooms", "description": "All rooms.", "parameters": {"type": "object"}},
]

ONE: Calls = (("get_weather", {"city": "Oslo", "days": 3}),)
EMPTY: Calls = (("list_rooms", {}),)
#: Nested arguments, unicode, both quotes, line breaks within a string, numbers, booleans and null.
MAIL: Call = (
    "send_mail",
    {
        "to": ["zoë@example.org", "李雷"],
        "body": 'Dear "Zoë",\nit\'s 5 < 6 & done {ok} [1].\n\tBye',
        "options": {"tags": ["a", "b c"], "deep": {"n": [1, 2.5, -3], "none": None, "yes": True}},
        "weight": -0.5,
        "urgent": False,
        "parent": None,
    },
)
TWO: Calls = (("get_weather", {"city": "São Paulo", "days": 12}), MAIL)


class Spelling(NamedTuple):
    """How a family writes calls. `several` says whether one answer can hold more than one call."""

    source: str
    write: Callable[[Calls], str]
    several: bool = True


def dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def objects(calls: Calls, arguments: str = "arguments", name: str = "name") -> list[dict[str, Any]]:
    return [{name: called, arguments: values} for called, values in calls]


def python(calls: Calls) -> str:
    written = (
        f"{name}({', '.join(f'{key}={value!r}' for key, value in values.items())})"
        for name, values in calls
    )
    return ", ".join(written)


def plain(value: Any) -> str:
    """A value between tags: text as it is, everything else as JSON."""
    return value if isinstance(value, str) else dump(value)


def each(form: str, join: str = "", arguments: str = "arguments") -> Callable[[Calls], str]:
    """One text per call, with its name, its arguments and the object of both in JSON."""
    return lambda calls: join.join(
        form.replace("@name", name)
        .replace("@args", dump(values))
        .replace("@call", dump({"name": name, arguments: values}))
        .replace("@number", str(number))
        for number, (name, values) in enumerate(calls)
    )


def whole(before: str, after: str, arguments: str = "arguments") -> Callable[[Calls], str]:
    """A list of the objects of all calls between two texts."""
    return lambda calls: before + dump(objects(calls, arguments)) + after


def tags(before: str, argument: str, after: str, start: str = "", end: str = "", join: str = "\n"):
    """One element per call, with one per argument; @name, @key, @value, @type, @text are set."""

    def write(calls: Calls) -> str:
        texts = []
        for name, values in calls:
            inner = "".join(
                argument.replace("@key", key)
                .replace("@text", "true" if isinstance(value, str) else "false")
                .replace("@type", TYPES[type(value)])
                .replace("@value", plain(value))
                for key, value in values.items()
            )
            texts.append(before.replace("@name", name) + inner + after)
        return start + join.join(texts) + end

    return write


TYPES = {
    **{str: "string", int: "integer", float: "number", bool: "boolean", list: "array"},
    **{dict: "object", type(None): "null"},
}


def gemma(quote: str) -> Callable[[Any], str]:
    """Gemma's notation of values: keys without quotes, texts between tokens."""

    def write(value: Any) -> str:
        if isinstance(value, str):
            return f"{quote}{value}{quote}"
        if isinstance(value, dict):
            return "{" + ",".join(f"{key}:{write(item)}" for key, item in value.items()) + "}"
        if isinstance(value, list):
            return "[" + ",".join(map(write, value)) + "]"
        return dump(value)

    return write


def gemma_calls(before: str, after: str, quote: str) -> Callable[[Calls], str]:
    return lambda calls: "".join(
        f"{before}call:{name}{gemma(quote)(values)}{after}" for name, values in calls
    )


def cohere(calls: Calls) -> str:
    listed = [
        {"tool_call_id": str(number), "tool_name": name, "parameters": values}
        for number, (name, values) in enumerate(calls)
    ]
    thought = "<|START_THINKING|>I will look.<|END_THINKING|>"
    return f"{thought}<|START_ACTION|>{dump(listed)}<|END_ACTION|>"


def minimax_m3(calls: Calls) -> str:
    mark = "]<]minimax[>["

    def element(key: str, value: Any) -> str:
        if isinstance(value, dict):
            inner = "".join(element(name, item) for name, item in value.items())
        elif isinstance(value, list):
            inner = "".join(element("item", item) for item in value)
        else:
            inner = plain(value)
            return f"{mark}<{key}>{inner}{mark}</{key}>"
        return f"{mark}<{key}>{inner}{mark}</{key}>"

    invokes = "".join(
        f'{mark}<invoke name="{name}">'
        + "".join(element(key, value) for key, value in values.items())
        + f"{mark}</invoke>"
        for name, values in calls
    )
    return f"{mark}<tool_call>\n{invokes}\n{mark}</tool_call>"


def kimi_k3(calls: Calls) -> str:
    texts = [
        f'<|open|>call tool="{name}" index="{number}"<|sep|>'
        + "".join(
            f'<|open|>argument key="{key}" type="{TYPES[type(value)]}"<|sep|>{plain(value)}'
            "<|close|>argument<|sep|>"
            for key, value in values.items()
        )
        + "<|close|>call<|sep|>"
        for number, (name, values) in enumerate(calls, 1)
    ]
    body = "".join(texts)
    return f"<|open|>tools<|sep|>{body}<|close|>tools<|sep|><|close|>message<|sep|>"


DS_BEGIN, DS_END = "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"
DS_CALL, DS_SEP, DS_DONE = "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>"

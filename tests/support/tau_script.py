"""What an agent and a user say in conversations that upstream and we play side by side.

It follows from the task and the number of the answer alone, so that both sides hear the same.
"""

from __future__ import annotations

import hashlib
import json
import random
from typing import Any

USER_LINES = (
    "I need some help.",
    "Yes, please.",
    "That is right.\nThank you",
    "And one thing more",
)
STOP = "###STOP###"


def user_line(number: int) -> str:
    return USER_LINES[number] if number < len(USER_LINES) else f"Bye. {STOP}"


def agent_answer(task: dict[str, Any], style: str, number: int) -> dict[str, Any]:
    """The answer to request `number`: the actions of the ground truth with words, mistakes and
    odd forms between them."""
    draw = random.Random(f"{task['key']}/{style}/{number}")
    actions = task["actions"]
    kind = draw.choices(
        ("next", "say", "odd", "unknown", "wrong_type", "prose", "two"), (9, 3, 1, 1, 1, 1, 1)
    )[0]
    action = actions[min(number, len(actions) - 1)] if actions else {"name": "think", "kwargs": {}}
    if kind == "unknown":
        action = {"name": "no_such_tool", "kwargs": {"a": [1, None, {"b": "ü"}]}}
    if kind == "wrong_type":
        action = {"name": action["name"], "kwargs": {k: [v] for k, v in action["kwargs"].items()}}
    if kind == "say":
        return _say(f"Shall I go on, step {number}? The total is $1,093.50 – ok?", style)
    if kind == "prose":
        return {"content": f'I would call {{"name": "{action["name"]}"}} now.', "tool_calls": []}
    if kind == "odd" and style != "tool-calling":
        text = f"Thought:\nhm Action:\nAction: not json {number}"
        return {"content": text, "tool_calls": []}
    return _call(action, style, number, twice=kind == "two")


def _say(text: str, style: str) -> dict[str, Any]:
    if style == "tool-calling":
        return {"content": text, "tool_calls": []}
    return _call({"name": "respond", "kwargs": {"content": text}}, style, 0)


def _call(
    action: dict[str, Any], style: str, number: int, *, twice: bool = False
) -> dict[str, Any]:
    arguments = json.dumps(action["kwargs"])
    if style == "tool-calling":
        calls = [
            {
                "id": f"call_{number}_{position}",
                "type": "function",
                "function": {"name": action["name"], "arguments": arguments},
            }
            for position in range(1 + twice)
        ]
        return {"content": None, "tool_calls": calls}
    thought = "Thought:\nGo on.\n" if style == "react" else ""
    text = f'{thought}Action:\n{{"name": {json.dumps(action["name"])}, "arguments": {arguments}}}'
    return {"content": text, "tool_calls": []}


def hash_request(request: Any) -> str:
    """A request without the fields that hold nothing and whatever the order of its keys."""
    return hashlib.sha256(json.dumps(_without_none(request), sort_keys=True).encode()).hexdigest()


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    return [_without_none(item) for item in value] if isinstance(value, list) else value

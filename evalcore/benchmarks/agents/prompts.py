"""How an agent is asked: the tools natively, or described in the prompt.

Styles: `native` (the server's own tool calls), `json` (a call is one JSON object), `react` (a
thought before every action, words to the user being an action too).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

from evalcore.benchmarks.agents.text import RESPOND
from evalcore.benchmarks.agents.tool import Tool
from evalcore.benchmarks.base import ToolCallMode

Style = Literal["native", "json", "react"]
#: What may be chosen where tools are described in the prompt.
STYLES = ("json", "react")

#: How results of tools are announced in a message, as in tau-bench's text agents.
OUTPUT = "API output: "

#: Both forms, for an agent that talks to a user.
_JSON = """Every reply is either one call of a tool or a message to the user, never both.
To call a tool, reply with nothing but one JSON object:
{"name": "<tool>", "arguments": {"<argument>": <value>}}
Its result comes back in a message that begins with "API output:". Any other reply is read by the
user."""

_REACT = f"""Every reply is a thought and one action:
Thought: <what to do next, and why; the user does not see it>
Action: {{"name": "<tool>", "arguments": {{"<argument>": <value>}}}}
The result of a tool comes back in a message that begins with "API output:". To say something to
the user, the action is:
Action: {{"name": "{RESPOND}", "arguments": {{"content": "<your message>"}}}}"""

#: The form for an agent that works alone.
_ALONE = """Every reply is either one call of a tool or your final answer, never both.
To call a tool, reply with nothing but one JSON object:
{"name": "<tool>", "arguments": {"<argument>": <value>}}
Its result comes back in a message that begins with "API output:". Any other reply ends the task."""


def choose_style(mode: ToolCallMode, chosen: str) -> Style:
    """The style for a way of asking; `chosen` decides where it is by prompt."""
    if mode == "native":
        return "native"
    return "react" if mode == "prompt" and chosen == "react" else "json"


def describe_tools(offered: Sequence[Tool], style: Style, *, alone: bool = False) -> str:
    """What follows the instructions in the system message: nothing where tools are offered
    natively, else the tools and the form of a reply, to a user or `alone`."""
    if style == "native":
        return ""
    listed = json.dumps([_tool_to_dict(tool) for tool in offered], ensure_ascii=False)
    form = _ALONE if alone else _REACT if style == "react" else _JSON
    return f"\n\n# Tools\n{listed}\n\n# Form of your replies\n{form}"


def build_tool_schemas(offered: Sequence[Tool]) -> tuple[dict[str, Any], ...]:
    """The tools as a server takes them."""
    return tuple({"type": "function", "function": _tool_to_dict(tool)} for tool in offered)


def _tool_to_dict(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    }

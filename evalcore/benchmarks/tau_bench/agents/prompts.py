"""How an agent is asked: the policy in the system message, and the tools natively or described.

Styles: `native` (the server's own tool calls), `json` (a call is one JSON object), `react` (a
thought before every action, words to the user being an action too).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

from evalcore.benchmarks.base import Asking
from evalcore.benchmarks.tau_bench.agents.text import RESPOND
from evalcore.benchmarks.tau_bench.environment import Domain, Tool

Style = Literal["native", "json", "react"]
#: What may be chosen where tools are described in the prompt.
STYLES = ("json", "react")

#: How results of tools are announced in a message, as in tau-bench's text agents.
OUTPUT = "API output: "

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


def style_of(asking: Asking, chosen: str) -> Style:
    """The style for a way of asking; `chosen` decides where it is by prompt."""
    if asking == "native":
        return "native"
    return "react" if asking == "prompt" and chosen == "react" else "json"


def system(domain: Domain, style: Style) -> str:
    """The system message: the policy, and unless `native` the tools and the form of a reply."""
    if style == "native":
        return domain.policy
    listed = json.dumps([_described(tool) for tool in domain.tools], ensure_ascii=False)
    form = _REACT if style == "react" else _JSON
    return f"{domain.policy}\n\n# Tools\n{listed}\n\n# Form of your replies\n{form}"


def tools(offered: Sequence[Tool]) -> tuple[dict[str, Any], ...]:
    """The tools as a server takes them."""
    return tuple({"type": "function", "function": _described(tool)} for tool in offered)


def _described(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    }

"""How a target is asked for calls of tools: as its options say, else found out by one request."""

from __future__ import annotations

import re
from typing import get_args

import msgspec

from evalcore.benchmarks.base import ToolCallMode
from evalcore.errors import TargetFailure
from evalcore.records import Failure, GenerationRequest, Message, Sampling
from evalcore.runner.channels import Channel

#: What servers answer that do not take tools, or lack what they need for them.
_STATUSES = (400, 404, 405, 422, 500, 501)
_BROKEN = 500
_SPEAKS_OF_TOOLS = re.compile(r"(?i)\btools?\b|tool[_ -]?(choice|call|use)|function.?call|jinja")
_PROBE = GenerationRequest(
    messages=(Message("user", "What time is it?"),),
    tools=(
        {
            "type": "function",
            "function": {
                "name": "current_time",
                "description": "The present time.",
                "parameters": {"type": "object", "properties": {}},
            },
        },
    ),
    sampling=Sampling(max_tokens=64),
)


async def detect_tool_call_mode(channel: Channel, deadline: float) -> ToolCallMode:
    """The option `asking` of the target, where it is not `auto`; else `native` if it takes tools.

    What the target does not say of itself is asked of its server, once. Raises TargetFailure where
    the server does not answer.
    """
    configured = channel.spec.options.get("asking")
    for mode in get_args(ToolCallMode):
        if configured == mode:
            return mode  # type: ignore[no-any-return]
    takes_tools = channel.target.info.tools
    if takes_tools is None:
        takes_tools = await _takes_tools(channel, deadline)
    return "native" if takes_tools else "prompt"


async def _takes_tools(channel: Channel, deadline: float) -> bool:
    """Whether the server answers a request with tools.

    One that breaks without a word of them is down, or cannot bear them: it shows whether it
    answers without.
    """
    answered = await _answers_tools(channel, deadline)
    if answered is None:
        await channel.generate(msgspec.structs.replace(_PROBE, tools=()), 0, deadline)
        answered = await _answers_tools(channel, deadline)
    return bool(answered)


async def _answers_tools(channel: Channel, deadline: float) -> bool | None:
    """None where the server broke, and gave no reason."""
    try:
        await channel.generate(_PROBE, 0, deadline)
    except TargetFailure as error:
        if _refuses_tools(error.failure):
            return False
        if error.failure.status == _BROKEN:
            return None
        raise
    return True


def _refuses_tools(failure: Failure) -> bool:
    return failure.status in _STATUSES and bool(_SPEAKS_OF_TOOLS.search(failure.message))

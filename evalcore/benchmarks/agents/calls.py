"""Native calls as they can be sent back to a server in the next request."""

from __future__ import annotations

import json
from collections.abc import Sequence

import msgspec

from evalcore.benchmarks.agents.turn import AgentCall
from evalcore.records import ToolCall


def assign_call_ids(calls: Sequence[ToolCall], step: int) -> tuple[ToolCall, ...]:
    """The calls with ids that are there and differ, the same each time that it is played."""
    ids = [call.id for call in calls]
    if all(ids) and len(set(ids)) == len(ids):
        return tuple(calls)
    return tuple(
        msgspec.structs.replace(call, id=f"call_{step}_{at}") for at, call in enumerate(calls)
    )


def repair_call_arguments(
    calls: Sequence[ToolCall], read_as: Sequence[AgentCall]
) -> tuple[ToolCall, ...]:
    """The calls as a server can read them back: many fail on arguments that are no JSON object,
    which would make an error of the target out of what the agent wrote. The transcript keeps them
    as they were."""
    if not calls:
        return ()
    return tuple(
        call if _is_object(call.arguments) else _with_arguments(call, called)
        for call, called in zip(calls, read_as, strict=True)
    )


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _with_arguments(call: ToolCall, called: AgentCall) -> ToolCall:
    return msgspec.structs.replace(call, arguments=json.dumps(called.kwargs))

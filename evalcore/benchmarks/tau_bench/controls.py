"""The agent that knows the answer: the true calls one by one, then what has to be said."""

from __future__ import annotations

import json
from collections.abc import Sequence

from evalcore.benchmarks.tau_bench.environment import Action, Domain, Task
from evalcore.records import Completion, Message, ToolCall

_WAITS = "Is there anything else?"


def reference_step(domain: Domain, task: Task, transcript: Sequence[Message]) -> Completion:
    """What it does next. A call that ends the conversation comes last, after what is said."""
    ending = {tool.name for tool in domain.tools if tool.terminates}
    calls = [one for one in task.actions if one.name not in ending]
    made = sum(len(message.tool_calls) for message in transcript)
    if made < len(calls):
        return _called(calls[made], made)
    said = any(message.role == "assistant" and message.content for message in transcript)
    last = [one for one in task.actions if one.name in ending]
    if task.outputs and not said:
        return Completion(text="\n".join(task.outputs))
    return _called(last[0], made) if last else Completion(text=_WAITS)


def reference_prediction(domain: Domain, task: Task) -> dict[str, object]:
    """The same as an answer that is there already."""
    ending = {tool.name for tool in domain.tools if tool.terminates}
    calls = [one for one in task.actions if one.name not in ending]
    actions = [{"name": one.name, "kwargs": one.kwargs} for one in calls]
    return {"actions": actions, "says": list(task.outputs)}


def _called(action: Action, number: int) -> Completion:
    call = ToolCall(f"call_{number}", action.name, json.dumps(action.kwargs, ensure_ascii=False))
    return Completion(tool_calls=(call,), finish_reason="tool_calls")

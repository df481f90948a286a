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
    calls = [action for action in task.actions if action.name not in ending]
    call_index = sum(len(message.tool_calls) for message in transcript)
    if call_index < len(calls):
        return _build_call_completion(calls[call_index], call_index)
    has_spoken = any(message.role == "assistant" and message.content for message in transcript)
    last = [action for action in task.actions if action.name in ending]
    if task.outputs and not has_spoken:
        return Completion(text="\n".join(task.outputs))
    return _build_call_completion(last[0], call_index) if last else Completion(text=_WAITS)


def reference_prediction(domain: Domain, task: Task) -> dict[str, object]:
    """The same as an answer that is there already."""
    ending = {tool.name for tool in domain.tools if tool.terminates}
    calls = [action for action in task.actions if action.name not in ending]
    actions = [{"name": action.name, "kwargs": action.kwargs} for action in calls]
    return {"actions": actions, "says": list(task.outputs)}


def _build_call_completion(action: Action, number: int) -> Completion:
    call = ToolCall(f"call_{number}", action.name, json.dumps(action.kwargs, ensure_ascii=False))
    return Completion(tool_calls=(call,), finish_reason="tool_calls")

"""The target that knows the answer: with tools it takes the steps of the derivation first."""

from __future__ import annotations

import json
from collections.abc import Sequence

from evalcore.records import Completion, Message, Sample, ToolCall


def reference_step(sample: Sample, transcript: Sequence[Message], *, tools: bool) -> Completion:
    """What it does next."""
    steps = sample.reference.get("derivation", ()) if tools else ()
    call_index = sum(len(message.tool_calls) for message in transcript)
    if call_index < len(steps):
        step = steps[call_index]
        arguments = json.dumps(step["arguments"], ensure_ascii=False)
        call = ToolCall(f"call_{call_index}", step["tool"], arguments)
        return Completion(tool_calls=(call,), finish_reason="tool_calls")
    return Completion(text=f"FINAL ANSWER: {sample.reference['answer']}")

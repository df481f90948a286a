"""Reading an answer by the rules that a tokenizer brings along (its `response_template`)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from evalcore.records import ToolCall

_THOUGHTS = ("reasoning_content", "reasoning", "thinking")


def parse_by_response_template(
    tokenizer: Any,
    written: str,
    prompt: str,
    tools: Sequence[Mapping[str, Any]],
    first: int,
) -> tuple[str, str, tuple[ToolCall, ...]] | None:
    """Text, reasoning and calls (numbered from `first`); None where the tokenizer has no rules, or
    they do not fit what the model wrote: a call that was cut makes them fail."""
    if getattr(tokenizer, "response_template", None) is None:
        return None
    try:
        response = tokenizer.parse_response(written, prefix=prompt, tools=list(tools) or None)
        calls = tuple(
            _build_template_call(call["function"], first + number)
            for number, call in enumerate(response.get("tool_calls") or ())
        )
        reasoning = next((response[name] for name in _THOUGHTS if response.get(name)), "")
        text = response.get("content") or ""
    except Exception:  # the rules come from a model's folder and may fail in any way
        return None
    if not isinstance(text, str) or not isinstance(reasoning, str):
        return None
    return text, reasoning.strip(), calls


def _build_template_call(function: Mapping[str, Any], number: int) -> ToolCall:
    arguments = function.get("arguments") or {}
    written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return ToolCall(id=f"call{number:05d}", name=str(function["name"]), arguments=written)

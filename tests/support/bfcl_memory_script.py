"""What a scripted model answers in BFCL's memory conversations, which upstream and we hold side by
side.

An answer follows from the request alone, so that equal requests get equal answers and the first
that differs changes all later ones.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from typing import Any

from tests.support.tau_script import hash_request

#: Keys that results of tools also have, and some that are none.
_KEYS = ("city", "error", "result", "memory_content", "name_2", "Bad Key", "order_number", "a")
_ODD_TEXTS = ("", "at home (now)", "x" * 301, "y" * 2001, "it's\n\tétude 東京", "z" * 9_000, 7)
_RESULTS = "[{'role': 'tool'"


def answer_request(body: Mapping[str, Any], truths: Mapping[str, str]) -> dict[str, Any] | None:
    """The answer to a request: `content`, and natively `tool_calls`; None where a conversation
    outgrows the context. `truths` are the accepted answers by question."""
    messages = body["messages"]
    draw = random.Random(hash_request(body))
    users = [
        str(message["content"])
        for message in messages
        if message["role"] == "user" and not str(message["content"]).startswith(_RESULTS)
    ]
    replied = messages[-1]["role"] == "tool" or messages[-1]["content"] != users[-1]
    fate = random.Random(users[0] + str("tools" in body)).random()
    never_done = fate < 0.06
    if fate > 0.85 and len(users) > 3:
        return None
    if not never_done and draw.random() < (0.6 if replied else 0.2):
        return {"content": _write_words(draw, truths.get(users[-1], ""))}
    offered = json.dumps(body)
    draw_call = _draw_call
    if "archival_memory_retrieve_all" in offered:
        draw_call = _draw_text_call
    single_text = "memory_append" in offered
    calls = [draw_call(draw, users[-1], single_text) for _ in range(draw.choice((1, 1, 2, 3)))]
    if "tools" not in body:
        return {"content": _write_calls(draw, calls, never_done)}
    made = [
        {
            "id": f"call_{len(messages)}_{number}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for number, (name, arguments) in enumerate(calls)
    ]
    return {"content": draw.choice((None, None, "One moment.")), "tool_calls": made}


def _write_words(draw: random.Random, truth: str) -> str:
    return draw.choice(
        (
            f"{{'answer': '{truth}', 'context': 'as you told me'}}",
            f"It is ({truth.upper()}), I think.",
            f"not{truth}",
            "I do not know.",
            "",
            "[]",
        )
    )


def _write_calls(draw: random.Random, calls: list[tuple[str, dict[str, Any]]], clean: bool) -> str:
    texts = [
        f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"
        for name, arguments in calls
    ]
    text = f"[{', '.join(texts)}]"
    forms = (text, text, text, text[1:-1], f"```\n{text}\n```", f"Saved. {text}", text[:-2])
    return text if clean else draw.choice(forms)


def _draw_call(draw: random.Random, said: str, single_text: bool) -> tuple[str, dict[str, Any]]:
    text = draw.choice((said, said[:280], said[:40], *_ODD_TEXTS))
    if single_text:
        calls: list[tuple[str, dict[str, Any]]] = [
            *[("memory_append", {"text": text})] * 5,
            ("memory_update", {"text": text}),
            ("memory_replace", {"old_text": draw.choice("aeq"), "new_text": "ö"}),
            ("memory_retrieve", {}),
            ("memory_clear", {}),
            ("memory_append", {}),
            ("no_such_tool", {"text": [1, None]}),
            ("remove", {"text": text}),
        ]
        return draw.choice(calls)
    part, key = draw.choice(("core", "archival")), draw.choice(_KEYS)
    calls = [
        *[(f"{part}_memory_add", {"key": key, "value": text})] * 5,
        (f"{part}_memory_add", {"key": f"fact_{draw.randrange(99)}", "value": text}),
        (f"{part}_memory_replace", {"key": key, "value": text}),
        (f"{part}_memory_remove", {"key": key}),
        (f"{part}_memory_retrieve", {"key": key}),
        (f"{part}_memory_list_keys", {}),
        ("core_memory_retrieve_all", {}),
        (f"{part}_memory_add", {"key": key}),
        (f"{part}_memory_clear", {}),
        ("no_such_tool", {"key": {"a": True}}),
    ]
    return draw.choice(calls)


def _draw_text_call(draw: random.Random, said: str, _: bool) -> tuple[str, dict[str, Any]]:
    """A call of the memory that finds texts by likeness."""
    text = draw.choice((said, said[:280], said[:40], *_ODD_TEXTS))
    part, number = draw.choice(("core", "archival")), draw.choice((0, 1, 2, 9, "1", True))
    calls: list[tuple[str, dict[str, Any]]] = [
        *[(f"{part}_memory_add", {"text": text})] * 6,
        (f"{part}_memory_update", {"vec_id": number, "new_text": text}),
        (f"{part}_memory_remove", {"vec_id": number}),
        *[(f"{part}_memory_retrieve", {"query": said, "top_k": draw.choice((1, 3, 50, 0))})] * 2,
        (f"{part}_memory_retrieve", {"query": said}),
        (f"{part}_memory_retrieve_all", {}),
        (f"{part}_memory_clear", {}),
        ("core_memory_key_search", {"query": "a"}),
    ]
    return draw.choice(calls)

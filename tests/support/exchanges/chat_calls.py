"""Chat completions: tool calls."""

from __future__ import annotations

from tests.support.exchange_parts import (
    add,
    call,
    chat,
    ok,
)

add(
    "call: arguments are an object",
    "chat",
    ok,
    chat(None, "tool_calls", tool_calls=[call("add", {"a": 1})]),
    calls=[("add", '{"a": 1}')],
)
add(
    "call: arguments null",
    "chat",
    ok,
    chat(None, "tool_calls", tool_calls=[call("add", None)]),
    calls=[("add", "{}")],
)
add(
    "call: arguments empty",
    "chat",
    ok,
    chat(None, "tool_calls", tool_calls=[call("add", "")]),
    calls=[("add", "")],
)
add(
    "call: broken arguments are the model's",
    "chat",
    ok,
    chat(None, "tool_calls", tool_calls=[call("add", '{"a": ')]),
    calls=[("add", '{"a": ')],
)
add(
    "call: no ids",
    "chat",
    ok,
    chat(
        None,
        "tool_calls",
        tool_calls=[
            {"function": {"name": "add", "arguments": "{}"}},
            {"function": {"name": "sub", "arguments": "{}"}},
        ],
    ),
    calls=[("add", "{}"), ("sub", "{}")],
)
add(
    "call: ids are numbers",
    "chat",
    ok,
    chat(None, "tool_calls", tool_calls=[call(id=0), call("sub", id=1)]),
    calls=[("add", "{}"), ("sub", "{}")],
)
add(
    "call: one id for two",
    "chat",
    ok,
    chat(None, "tool_calls", tool_calls=[call(), call("sub")]),
    calls=[("add", "{}"), ("sub", "{}")],
)
add(
    "call: ended by stop",
    "chat",
    ok,
    chat(None, "stop", tool_calls=[call()]),
    calls=[("add", "{}")],
)
add(
    "call: no finish reason",
    "chat",
    ok,
    chat(None, None, tool_calls=[call()]),
    calls=[("add", "{}")],
)
add("call: an empty list", "chat", ok, chat("ok", "stop", tool_calls=[]), text="ok", calls=[])
add(
    "call: the older form",
    "chat",
    ok,
    chat(None, "function_call", function_call={"name": "add", "arguments": "{}"}),
    calls=[("add", "{}")],
)
add(
    "call: older form null beside content",
    "chat",
    ok,
    chat("ok", "stop", function_call=None),
    text="ok",
)
add(
    "call: a call without a function",
    "chat",
    "provider",
    chat(None, "tool_calls", tool_calls=[{"id": "c"}]),
)
add("call: null in the list", "chat", "provider", chat(None, "tool_calls", tool_calls=[None]))
add(
    "call: one call in place of a list",
    "chat",
    ok,
    chat(None, "tool_calls", tool_calls=call()),
    calls=[("add", "{}")],
)
add(
    "call: no name is the model's",
    "chat",
    ok,
    chat(None, "tool_calls", tool_calls=[call(None)]),
    calls=[("", "{}")],
)
add("call: said to be, but none came", "chat", ok, chat("ok", "tool_calls"), text="ok", calls=[])
add(
    "call: blocks in the content",
    "chat",
    ok,
    chat(
        [
            {"type": "text", "text": "well"},
            {"type": "tool_use", "id": "t", "name": "add", "input": {}},
        ],
        "tool_use",
    ),
    text="well",
    calls=[("add", "{}")],
)
add(
    "call: name with marks of harmony",
    "chat",
    ok,
    chat(None, "tool_calls", tool_calls=[call("add<|channel|>commentary")]),
    calls=[("add<|channel|>commentary", "{}")],
)
add(
    "call: cut by the limit",
    "chat",
    "model:length",
    chat(None, "length", tool_calls=[call("add", '{"a": 1, "b')]),
)
add(
    "call: function is flat",
    "chat",
    ok,
    chat(None, "tool_calls", tool_calls=[{"id": "c", "name": "add", "arguments": "{}"}]),
    calls=[("add", "{}")],
)

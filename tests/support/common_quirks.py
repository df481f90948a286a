"""What servers of no provider in particular really do, one entry per quirk."""

from __future__ import annotations

from tests.support.quirk_server import (
    Quirk,
    always,
    call,
    ended,
    error,
    message,
    refuse,
    stream,
)

COMMON_QUIRKS: tuple[Quirk, ...] = (
    Quirk("any: no usage", always(200, {"choices": message()["choices"]}), text="ok"),
    Quirk("any: nothing but null", always(200, message(None, None)), finish="unknown"),
    Quirk(
        "any: arguments as an object",
        always(200, message(None, "tool_calls", tool_calls=[call(arguments={"a": 1})])),
        finish="tool_calls",
        calls=("add",),
    ),
    Quirk(
        "any: the older form of a call",
        always(200, message(None, "function_call", function_call=call()["function"])),
        finish="tool_calls",
        calls=("add",),
    ),
    Quirk(
        "any: a stream though none was asked for",
        always(200, stream({"content": "o"}, {"content": "k"}, ended("stop"))),
        text="ok",
        options={"stream": False},
    ),
    Quirk(
        "any: a stream of another content type",
        always(200, stream({"content": "ok"}, ended("stop")), {"content-type": "text/plain"}),
        text="ok",
    ),
    Quirk(
        "any: a stream without an end",
        always(200, stream({"content": "hal"}, end=b"")),
        "malformed",
    ),
    Quirk(
        "any: streams are empty, whole answers are not",
        lambda body: (200, b"data: [DONE]\n\n" if body.get("stream") else message()),
        text="ok",
        requests=2,
        unsent=("stream",),
    ),
    Quirk(
        "any: neither streamed nor whole",
        lambda body: (
            400,
            error(
                "streaming is not supported"
                if body.get("stream")
                else "this model only support stream mode"
            ),
        ),
        kind="permanent",
        requests=12,
    ),
    Quirk(
        "any: a stream without the word at its end",
        always(200, stream({"content": "ok"}, ended("stop"), end=b"")),
        text="ok",
    ),
    Quirk("any: an empty stream", always(200, b"data: [DONE]\n\n"), "malformed", requests=2),
    Quirk(
        "any: calls as blocks",
        always(
            200,
            message([{"type": "tool_use", "id": "t", "name": "add", "input": {}}], "tool_use"),
        ),
        finish="tool_calls",
        calls=("add",),
    ),
    Quirk("any: blocks without a type", always(200, message([{"text": "ok"}])), text="ok"),
    Quirk("any: a refusal", always(200, message(None, refusal="I cannot")), text="I cannot"),
    Quirk("any: an end of thought only", always(200, message("hm</think>\n\nok")), text="ok"),
    Quirk(
        "any: channels in the text",
        always(
            200,
            message(
                "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final"
                "<|message|>ok<|return|>"
            ),
        ),
        text="ok",
    ),
    Quirk(
        "any: channels without marks",
        always(200, message("analysishm.assistantfinalok")),
        text="ok",
    ),
    Quirk(
        "any: two calls of one id",
        always(200, message(None, "tool_calls", tool_calls=[call(), call("sub")])),
        finish="tool_calls",
        calls=("add", "sub"),
    ),
    *(
        Quirk(f"any: finish_reason {reason}", always(200, message("ok", reason)), "", "", end, "ok")
        for reason, end in (
            ("model_length", "length"),
            ("MAX_TOKENS", "length"),
            ("STOP", "stop"),
            ("end_turn", "stop"),
            ("SAFETY", "content_filter"),
        )
    ),
    Quirk("any: an end that nobody knows", always(200, message("ok", "whim")), "malformed", "whim"),
    Quirk(
        "any: a wait as a duration in the header",
        always(429, error("slow"), {"retry-after": "41s"}),
        kind="rate_limited",
        retry_after=41.0,
    ),
    Quirk(
        "any: a wait by the draft of the IETF",
        always(429, error("slow"), {"ratelimit": '"default";r=0;t=50'}),
        kind="rate_limited",
        retry_after=50.0,
    ),
    Quirk("gateway: a key is wrong", always(401, error("bad key")), "permanent", "bad key"),
    Quirk("gateway: a page", always(200, b"<html>login</html>"), "malformed", "base_url"),
    Quirk(
        "gateway: no streaming",
        refuse("streaming is not supported by this server", lambda body: body.get("stream"), 501),
        text="ok",
        requests=2,
        unsent=("stream",),
    ),
)

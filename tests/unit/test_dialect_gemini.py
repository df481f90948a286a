"""Gemini's own API: requests as it wants them, real-looking replies read, whole or streamed."""

from __future__ import annotations

import json

import pytest

from evalcore.records import Completion, Failure, GenerationRequest, Message, Sampling, ToolCall
from evalcore.targets.endpoint.dialect import Capabilities
from evalcore.targets.endpoint.gemini import ContentStream, GeminiDialect, parse_content

WHOLE = Capabilities(stream=False)
NOTHING_SET = Sampling()
CALL = {
    "functionCall": {"name": "get_weather", "args": {"city": "Oslo"}},
    "thoughtSignature": "CpkBAdHtim8=",
}
SECOND = {"functionCall": {"name": "get_time", "args": {}, "id": "fc-2"}}
USAGE = {
    "promptTokenCount": 50,
    "cachedContentTokenCount": 40,
    "candidatesTokenCount": 10,
    "thoughtsTokenCount": 30,
    "totalTokenCount": 90,
}


def content(*parts, finish="STOP", **fields):
    candidate = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    return {
        "candidates": [candidate | fields],
        "usageMetadata": USAGE,
        "modelVersion": "gemini-3-pro",
        "responseId": "r1",
    }


def build(*messages, tools=(), sampling=NOTHING_SET, model="gemini-3-pro", known=WHOLE, **extra):
    dialect = GeminiDialect(model, extra)
    parameters = dialect.build_parameters(sampling, known)
    return dialect.build_request(GenerationRequest(messages, tuple(tools)), parameters, known)


def test_a_request_nests_what_the_parameters_say_flat():
    built = build(
        Message("system", "Be brief."),
        Message("user", "Hi."),
        tools=[{"name": "f", "parameters": {"type": "object", "additionalProperties": False}}],
        sampling=Sampling(0.0, 0.9, 500, 7, ("END",), "high"),
        generationConfig={"topK": 5},
        safetySettings=[],
    )
    assert built.path == "/models/gemini-3-pro:generateContent"
    assert built.body == {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [{"role": "user", "parts": [{"text": "Hi."}]}],
        "generationConfig": {
            "temperature": 0.0,
            "topP": 0.9,
            "maxOutputTokens": 500,
            "stopSequences": ["END"],
            "seed": 7,
            "thinkingConfig": {"thinkingLevel": "high", "includeThoughts": True},
            "topK": 5,
        },
        "tools": [
            {
                "functionDeclarations": [
                    {
                        "name": "f",
                        "parametersJsonSchema": {
                            "type": "object",
                            "properties": {},
                            "additionalProperties": False,
                        },
                    }
                ]
            }
        ],
        "safetySettings": [],
    }


def test_the_path_says_that_it_streams_and_the_model_cannot_leave_it():
    path = build(Message("user", "Hi."), model="models/../x", known=Capabilities()).path
    assert path == "/models/..%2Fx:streamGenerateContent?alt=sse"


@pytest.mark.parametrize(
    ("model", "effort", "config"),
    [
        ("gemini-2.5-flash", "none", {"thinkingBudget": 0}),
        ("gemini-2.5-flash", "low", {"thinkingBudget": 1024, "includeThoughts": True}),
        ("gemini-3-flash", "none", {"thinkingLevel": "minimal"}),
        ("gemini-3-flash", "max", {"thinkingLevel": "xhigh", "includeThoughts": True}),
        ("gemini-3-flash", None, None),
    ],
)
def test_an_effort_becomes_what_the_model_knows(model, effort, config):
    body = build(Message("user", "?"), model=model, sampling=Sampling(reasoning_effort=effort)).body
    assert body.get("generationConfig", {}).get("thinkingConfig") == config


def test_a_model_without_a_system_turn_reads_it_in_the_first_turn_of_the_user():
    known = Capabilities(stream=False, fold_system=True)
    body = build(Message("system", "Be brief."), Message("user", "Hi."), known=known).body
    assert "systemInstruction" not in body
    assert body["contents"][0]["parts"] == [{"text": "Be brief.\n\nHi."}]


def test_an_answer_is_read():
    thought = {"text": "Look it up.", "thought": True}
    done = parse_content(content(thought, {"text": "Let me see."}, CALL, SECOND), {"seed": 1})
    assert isinstance(done, Completion)
    assert done.text == "Let me see."
    assert done.reasoning == "Look it up."
    assert done.tool_calls == (
        ToolCall("call_1", "get_weather", '{"city": "Oslo"}'),
        ToolCall("fc-2", "get_time", "{}"),
    )
    assert done.finish_reason == "tool_calls"
    assert (done.usage.input_tokens, done.usage.cached_tokens) == (50, 40)
    assert (done.usage.output_tokens, done.usage.reasoning_tokens) == (40, 30)
    assert done.model == "gemini-3-pro"


def test_signatures_go_back_and_all_results_in_one_turn():
    thought = {"text": "Look it up.", "thought": True}
    done = parse_content(content(thought, CALL, SECOND), {})
    assert isinstance(done, Completion)
    turn = Message("assistant", tool_calls=done.tool_calls, opaque=done.opaque)
    first, second = done.tool_calls
    body = build(
        Message("user", "?"),
        turn,
        Message("tool", "4 C", tool_call_id=first.id),
        Message("tool", "noon", tool_call_id=second.id),
    ).body
    assert body["contents"][1:] == [
        {"role": "model", "parts": [CALL, SECOND]},
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "get_weather", "response": {"output": "4 C"}}},
                {
                    "functionResponse": {
                        "id": "fc-2",
                        "name": "get_time",
                        "response": {"output": "noon"},
                    }
                },
            ],
        },
    ]


def test_calls_that_were_not_taken_are_left_out():
    done = parse_content(content(CALL, SECOND), {})
    assert isinstance(done, Completion)
    turn = Message("assistant", tool_calls=done.tool_calls[:1], opaque=done.opaque)
    assert build(Message("user", "?"), turn).body["contents"][1]["parts"] == [CALL]


def test_a_turn_of_another_model_is_built_from_text_calls_and_images():
    call = ToolCall("toolu_1", "f", '{"a": 1}')
    body = build(
        Message("user", "?", images=("data:image/png;base64,AA", "gs://b/x.png")),
        Message("assistant", "Hm.", tool_calls=(call,), opaque={"anthropic": [{"type": "text"}]}),
    ).body
    assert body["contents"] == [
        {
            "role": "user",
            "parts": [
                {"text": "?"},
                {"inlineData": {"mimeType": "image/png", "data": "AA"}},
                {"fileData": {"fileUri": "gs://b/x.png"}},
            ],
        },
        {
            "role": "model",
            "parts": [
                {"text": "Hm."},
                {"functionCall": {"id": "toolu_1", "name": "f", "args": {"a": 1}}},
            ],
        },
    ]


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("STOP", "stop"),
        ("MAX_TOKENS", "length"),
        ("SAFETY", "content_filter"),
        ("RECITATION", "content_filter"),
        ("PROHIBITED_CONTENT", "content_filter"),
        ("LANGUAGE", "content_filter"),
        ("", "unknown"),
    ],
)
def test_ends_of_an_answer(reason, finish):
    done = parse_content(content({"text": "A"}, finish=reason), {})
    assert isinstance(done, Completion)
    assert (done.text, done.finish_reason) == ("A", finish)


def test_an_empty_answer_is_an_answer():
    reply = content()
    del reply["candidates"][0]["content"]
    done = parse_content(reply, {})
    assert isinstance(done, Completion)
    assert (done.text, done.finish_reason) == ("", "stop")


def test_a_prompt_that_was_blocked_is_refused_by_policy():
    reply = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": USAGE}
    done = parse_content(reply, {})
    assert isinstance(done, Completion)
    assert done.finish_reason == "content_filter"


EXHAUSTED = {"error": {"code": 429, "message": "Quota", "status": "RESOURCE_EXHAUSTED"}}


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (content(finish="MALFORMED_FUNCTION_CALL"), "model_output"),
        (content(finish="UNEXPECTED_TOOL_CALL"), "model_output"),
        (content(finish="TOO_MANY_TOOL_CALLS"), "model_output"),
        (content(finish="OTHER"), "retryable"),
        (content(finish="MISSING_THOUGHT_SIGNATURE"), "permanent"),
        (content(finish="SOMETHING_NEW"), "malformed"),
        (EXHAUSTED, "rate_limited"),
        ([EXHAUSTED], "rate_limited"),
        ({"candidates": []}, "malformed"),
        (content({"text": 3}), "malformed"),
        (content({"functionCall": {}}), "malformed"),
        (content(7), "malformed"),
        ([], "malformed"),
    ],
)
def test_what_is_no_answer(reply, kind):
    failed = parse_content(reply, {})
    assert isinstance(failed, Failure)
    assert failed.kind == kind


def stream(*chunks) -> tuple[ContentStream, list[bool]]:
    assembler = ContentStream()
    return assembler, [assembler.add_event("", json.dumps(chunk).encode()) for chunk in chunks]


def test_a_stream_reads_as_the_whole_answer():
    assembler, pieces = stream(
        content({"text": "Look ", "thought": True}, finish=""),
        content({"text": "it up.", "thought": True}, finish=""),
        content({"text": "Let "}, finish=""),
        content({"text": "me see."}, CALL, finish=""),
        content({"text": "", "thoughtSignature": "Aa=="}),
    )
    assert pieces == [True, True, True, True, False]
    assert assembler.is_complete
    done = parse_content(assembler.build_reply(), {})
    assert isinstance(done, Completion)
    assert done.text == "Let me see."
    assert done.reasoning == "Look it up."
    assert done.opaque == {
        "gemini": [{"text": "Let me see."}, CALL, {"text": "", "thoughtSignature": "Aa=="}]
    }
    assert assembler.build_reply() == assembler.build_reply()


def test_what_has_arrived_of_a_cut_stream_is_kept():
    assembler, _ = stream(content({"text": "Let "}, finish=""))
    assert not assembler.is_complete
    done = parse_content(assembler.build_reply(), {})
    assert isinstance(done, Completion)
    assert (done.text, done.finish_reason) == ("Let ", "unknown")


def test_a_blocked_prompt_and_an_error_end_a_stream():
    blocked, _ = stream({"promptFeedback": {"blockReason": "SAFETY"}})
    assert blocked.is_complete
    assert parse_content(blocked.build_reply(), {}).finish_reason == "content_filter"
    failed, _ = stream(content({"text": "Let "}, finish=""), EXHAUSTED)
    assert failed.is_complete
    assert parse_content(failed.build_reply(), {}).kind == "rate_limited"


def test_an_empty_stream_is_no_reply():
    assert ContentStream().build_reply() is None


def test_vertex_takes_a_token():
    assert GeminiDialect("m", {}).authorize("k", "", b"") == {"x-goog-api-key": "k"}
    assert GeminiDialect("m", {}, bearer=True).authorize("k", "", b"") == {
        "Authorization": "Bearer k"
    }

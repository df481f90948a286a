"""`openai:` targets against the loopback server: what is sent, what is read, what each fault is."""

from __future__ import annotations

import json

import pytest

from evalcore.access.secrets import Secrets
from evalcore.errors import IntakeError
from evalcore.intake.http import decode_json
from evalcore.records import (
    Completion,
    GenerationRequest,
    Message,
    Sampling,
    TargetSpec,
    ToolCall,
    Usage,
    from_json,
    to_json,
)
from evalcore.settings import Endpoint, Settings
from evalcore.targets.endpoint.chat import parse_chat_completion
from evalcore.targets.endpoint.dialect import split_thought
from evalcore.targets.endpoint.options import read_openai_options
from evalcore.targets.endpoint.target import create_openai_target
from tests.support.openai_targets import STREAM, TOOL, ask, chat, failure_of, script
from tests.support.openai_targets import opened as opened
from tests.support.openai_targets import server as server


async def test_a_plain_answer(opened, server):
    target = await opened()
    done = await target.generate(ask("Compute 40 + 2"))
    assert done.text == "42"
    assert done.finish_reason == "stop"
    assert done.model == "loopback-1"
    assert done.usage == Usage(input_tokens=4, output_tokens=7, reasoning_tokens=3, cached_tokens=2)
    assert 0 < done.latency < 5
    assert done.sent == {"model": "loopback-1", **STREAM}
    assert server.get("/last")["body"] == {
        "model": "loopback-1",
        **STREAM,
        "messages": [{"role": "user", "content": "Compute 40 + 2"}],
    }


async def test_sampling_of_the_target_wins_over_the_requests(opened, server):
    target = await opened(
        {"temperature": "0.5", "max_tokens": "64", "extra_body": '{"top_k": 3}', "stop": "##"}
    )
    request = ask("hi", sampling=Sampling(temperature=0.0, seed=7, reasoning_effort="low"))
    done = await target.generate(request)
    expected = {
        "model": "loopback-1",
        "temperature": 0.5,
        "max_tokens": 64,
        "seed": 7,
        "stop": ["##"],
        "reasoning_effort": "low",
        "top_k": 3,
        **STREAM,
    }
    assert done.sent == expected
    sent = server.get("/last")["body"]
    assert {name: sent[name] for name in expected} == expected


async def test_tools_calls_and_results_are_mapped(opened, server):
    target = await opened()
    call = ToolCall(id="c1", name="add", arguments='{"a": 1}')
    messages = (
        Message(role="system", content="be brief"),
        Message(role="user", content="add"),
        Message(role="assistant", reasoning="secret thoughts", tool_calls=(call,)),
        Message(role="tool", content="2", tool_call_id="c1"),
    )
    done = await target.generate(GenerationRequest(messages=messages, tools=(TOOL,)))
    assert "tools" not in done.sent
    sent = server.get("/last")["body"]
    assert sent["tools"] == [{"type": "function", "function": TOOL}]
    assert sent["messages"][2] == {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
        ],
    }
    assert sent["messages"][3] == {"role": "tool", "content": "2", "tool_call_id": "c1"}


async def test_reasoning_goes_back_only_where_the_endpoint_wants_it(opened, server):
    endpoint = Endpoint(base_url=server.base_url, send_reasoning=True, local=True)
    settings = Settings(endpoints={"thinker": endpoint})
    target = await opened({"base_url": ""}, key="openai:thinker/m", settings=settings)
    messages = (
        Message(role="user", content="a"),
        Message(role="assistant", content="b", reasoning="because"),
        Message(role="user", content="c"),
    )
    await target.generate(GenerationRequest(messages=messages, tools=(TOOL,)))
    assert server.get("/last")["body"]["messages"][1]["reasoning_content"] == "because"
    await target.generate(GenerationRequest(messages=messages))
    assert "reasoning_content" not in server.get("/last")["body"]["messages"][1]


async def test_a_tool_call_in_the_answer(opened):
    target = await opened()
    calls = [
        {"id": "c9", "type": "function", "function": {"name": "add", "arguments": '{"a": '}},
        {"function": {"name": "parsed", "arguments": {"b": 2}}},
    ]
    reply = chat({"content": None, "tool_calls": calls}, finish_reason="tool_calls")
    done = await target.generate(script(reply))
    assert done.tool_calls == (
        ToolCall(id="c9", name="add", arguments='{"a": '),
        ToolCall(id="call_1", name="parsed", arguments='{"b": 2}'),
    )
    assert (done.text, done.finish_reason) == ("", "tool_calls")


@pytest.mark.parametrize(
    ("message", "text", "reasoning"),
    [
        ({"content": "a", "reasoning_content": "r"}, "a", "r"),
        ({"content": "a", "reasoning": "r"}, "a", "r"),
        ({"content": "<think>\nr\n</think>\n\na"}, "a", "r"),
        ({"content": "<think>never ended"}, "", "never ended"),
        ({"content": "opened by the prompt</think>a"}, "opened by the prompt", None),
        ({"content": "x <think>r</think> y"}, "x <think>r</think> y", ""),
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "ab", ""),
        (
            {
                "content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "r"}]},
                    {"type": "text", "text": "a"},
                ]
            },
            "a",
            "r",
        ),
        ({"content": None, "refusal": "I will not"}, "I will not", ""),
        ({"content": None}, "", ""),
        ({"content": ""}, "", ""),
    ],
    ids=range(11),
)
async def test_answer_and_reasoning_are_told_apart(opened, message, text, reasoning):
    done = await (await opened()).generate(script(chat(message)))
    if reasoning is None:  # the thought was opened in the prompt
        assert (done.text, done.reasoning) == ("a", text)
    else:
        assert (done.text, done.reasoning) == (text, reasoning)


def test_split_thought_takes_only_the_first():
    assert split_thought("<think>a</think>b<think>c</think>") == ("a", "b<think>c</think>")
    assert split_thought("no thought") == ("", "no thought")


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        ({"cost": 0.00014}, 0.00014),
        ({"cost": 0}, 0.0),
        ({"cost": 0.01, "is_byok": False, "cost_details": {"upstream_inference_cost": None}}, 0.01),
        ({"cost": 0.01, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.2}}, 0.21),
        ({"cost": 0, "is_byok": True}, None),
        ({"cost": 0, "is_byok": True, "cost_details": [1]}, None),
        ({"cost": {"input_tokens_cost": 0.1, "total_cost": 0.3}}, 0.3),
        *(({"cost": odd}, None) for odd in (-1, "1", True, None, [], {}, 1e300, 10**30)),
    ],
)
async def test_what_the_provider_says_that_a_request_cost_is_read(opened, usage, cost):
    done = await (await opened()).generate(script(chat({"content": "a"}) | {"usage": usage}))
    assert done.usage.cost == (cost if cost is None else pytest.approx(cost))


@pytest.mark.parametrize("cost", ["NaN", "Infinity", "1e999", "-1e-9"])
def test_a_cost_that_is_no_amount_does_not_exist(cost):
    body = json.dumps(chat({"content": "a"}) | {"usage": {"cost": "HERE"}})
    done = parse_chat_completion(decode_json(body.replace('"HERE"', cost).encode()), {})
    assert getattr(done, "usage", Usage()) == Usage()


@pytest.mark.parametrize(
    "usage",
    [None, "many", {"prompt_tokens": "5", "completion_tokens": -1}, {"prompt_tokens": True}],
)
async def test_odd_usage_is_unknown_and_no_error(opened, usage):
    done = await (await opened()).generate(script(chat({"content": "a"}) | {"usage": usage}))
    assert done.usage == Usage()


@pytest.mark.parametrize(
    ("fault", "kind", "status"),
    [
        ("429", "rate_limited", 429),
        ("429-retry-after", "rate_limited", 429),
        ("500", "retryable", 500),
        ("503", "retryable", 503),
        ("400", "permanent", 400),
        ("malformed", "malformed", 200),
        ("html", "malformed", 200),
        ("error-body", "malformed", 200),
        ("no-choices", "malformed", 200),
        ("cut", "malformed", None),
        ("reset", "retryable", None),
        ("close", "retryable", None),
        ("stall", "retryable", None),
        ("unparsable", "model_output", 500),
    ],
)
async def test_each_fault_has_its_kind_and_the_target_goes_on(opened, fault, kind, status):
    target = await opened(timeout=0.4 if fault == "stall" else 60.0)
    failure = await failure_of(target, ask(f"!fault {fault}"))
    assert (failure.kind, failure.status) == (kind, status)
    assert failure.message
    assert failure.retry_after == (0.05 if fault == "429-retry-after" else None)
    assert (await target.generate(ask("Compute 1 + 1"))).text == "2"


@pytest.mark.parametrize("fault", ["empty", "null"])
async def test_an_empty_answer_is_an_answer(opened, fault):
    done = await (await opened()).generate(ask(f"!fault {fault}"))
    assert (done.text, done.tool_calls) == ("", ())


@pytest.mark.parametrize(
    "body",
    [
        chat({"content": 5}),
        chat({"content": {"a": 1}}),
        chat({"content": "a", "tool_calls": [5]}),
        chat({"content": "a", "tool_calls": [{"id": "x"}]}),
        {"choices": [{"message": "text"}]},
        {"choices": ["text"]},
        {"choices": "text"},
        {"choices": None, "error": None},
        [],
        "",
        "[" * 50_000,
    ],
    ids=range(11),
)
async def test_replies_of_the_wrong_shape_are_malformed(opened, body):
    assert (await failure_of(await opened(), script(body))).kind == "malformed"


def test_bytes_that_are_no_utf8_are_malformed():
    with pytest.raises(IntakeError):
        decode_json(b'{"a": "\xff\xfe"}')


async def test_connection_refused_is_retryable(opened):
    target = await opened({"base_url": "http://127.0.0.1:9/v1"})
    failure = await failure_of(target, ask("hi"))
    assert failure.kind == "retryable"
    assert "is it running" in failure.message


async def test_a_refused_limit_is_sent_by_its_other_name_from_then_on(opened, server):
    target = await opened({"max_tokens": 9})
    done = await target.generate(ask("!refuse max_tokens"))
    assert done.sent["max_completion_tokens"] == 9
    assert "max_tokens" not in done.sent
    assert done.attempts == 2
    before = server.stats()["requests"]
    again = await target.generate(ask("hi"))
    assert again.attempts == 1
    assert again.sent["max_completion_tokens"] == 9
    assert server.stats()["requests"] == before + 1
    assert target.info.card["token_field"] == "max_completion_tokens"


async def test_refused_sampling_is_dropped_and_said(opened):
    target = await opened({"temperature": 0, "seed": 1, "max_tokens": 5})
    done = await target.generate(ask("!refuse temperature seed max_tokens"))
    assert done.sent == {"model": "loopback-1", "max_completion_tokens": 5, **STREAM}
    assert done.attempts == 4
    assert target.info.card["dropped"] == ["seed", "temperature"]


async def test_a_limit_refused_by_both_names_is_an_error(opened):
    target = await opened({"max_tokens": 9})
    failure = await failure_of(target, ask("!refuse max_tokens max_completion_tokens"))
    assert (failure.kind, failure.status) == ("permanent", 400)


async def test_a_wrong_value_is_an_error_and_is_not_dropped(opened):
    target = await opened({"temperature": 9})
    reply = script({"error": {"message": "temperature must be between 0 and 2"}}, status=400)
    assert (await failure_of(target, reply)).kind == "permanent"
    assert target.info.card["dropped"] == []


async def test_a_parameter_forced_by_extra_body_does_not_loop(opened):
    target = await opened({"extra_body": {"temperature": 1}})
    failure = await failure_of(target, ask("!refuse temperature"))
    assert failure.kind == "permanent"


def test_stop_is_a_list_or_one_text():
    for args, read_as in (("##", ("##",)), ('["a", "b"]', ("a", "b")), ("5", ("5",))):
        options = read_openai_options(TargetSpec(key="openai:m", options={"stop": args}))
        assert options.stop == read_as


def test_the_revision_tells_endpoints_and_options_apart():
    def revision(key, **options):
        return create_openai_target(
            TargetSpec(key=key, options=options), Settings(), Secrets()
        ).info.revision

    assert revision("openai:m") == revision("openai:m")
    assert len({revision("openai:m"), revision("openai:n"), revision("openai:m", seed=1)}) == 3
    assert revision("openai:vllm/m") != revision("openai:m")


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("stop", "stop"),
        ("STOP", "stop"),
        ("end_turn", "stop"),
        ("eos_token", "stop"),
        ("MAX_TOKENS", "length"),
        ("model_length", "length"),
        ("function_call", "tool_calls"),
        ("content_filter: PROHIBITED_CONTENT", "content_filter"),
        ("SAFETY", "content_filter"),
        (None, "unknown"),
        ("", "unknown"),
    ],
)
async def test_the_models_own_ends_are_read_in_the_fields_words(opened, reason, finish):
    reply = script(chat({"content": "a"}, finish_reason=reason))
    done = await (await opened()).generate(reply)
    assert (done.text, done.finish_reason) == ("a", finish)


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("error", "retryable"),
        ("insufficient_system_resource", "retryable"),
        ("abort", "retryable"),
        ("function_call_filter: MALFORMED_FUNCTION_CALL", "model_output"),
        ("pause_for_lunch", "malformed"),
        (7, "malformed"),
        (["stop"], "malformed"),
        ("x" * 9000, "malformed"),
    ],
)
async def test_an_answer_that_the_server_broke_off_is_none(opened, reason, kind):
    failure = await failure_of(await opened(), script(chat({"content": "a"}, finish_reason=reason)))
    assert (failure.kind, failure.status) == (kind, 200)
    assert str(reason)[:20] in failure.message
    assert len(failure.message) <= 500


@pytest.mark.parametrize(
    ("more", "kind", "status"),
    [
        ({"error": {"code": 502, "message": "upstream is down"}}, "retryable", 502),
        ({"error": {"code": "429", "message": "upstream is down"}}, "rate_limited", 429),
        ({"error": {"message": "upstream is down"}}, "malformed", 200),
        ({"error": "upstream is down"}, "malformed", 200),
    ],
)
async def test_an_error_beside_a_message_counts(opened, more, kind, status):
    in_choice = chat({"content": "half"}, finish_reason="error", **more)
    neighbour = chat({"content": "half"}) | more
    for body in (in_choice, neighbour):
        failure = await failure_of(await opened(), script(body))
        assert (failure.kind, failure.status) == (kind, status)
        assert "upstream is down" in failure.message


@pytest.mark.parametrize("reason", ["content_filter: PROHIBITED_CONTENT", "MAX_TOKENS"])
async def test_an_end_without_a_message_is_an_empty_answer(opened, reason):
    body = {"choices": [{"finish_reason": reason, "index": 0}]}
    done = await (await opened()).generate(script(body))
    assert (done.text, done.finish_reason) == (
        "",
        "length" if "TOKENS" in reason else "content_filter",
    )


@pytest.mark.parametrize(
    ("status", "code"), [(400, "content_filter"), (200, 400), (200, "content_filter")]
)
async def test_a_refusal_by_policy_is_the_same_end_whatever_its_status(
    opened, server, status, code
):
    error = {"code": code, "message": "content_filter"}
    error["innererror"] = {"code": "ResponsibleAIPolicyViolation"}
    before = server.stats()["requests"]
    done = await (await opened()).generate(script({"error": error}, status=status))
    assert (done.text, done.finish_reason) == ("", "content_filter")
    assert server.stats()["requests"] == before + 1


async def test_half_a_surrogate_pair_is_data(opened):
    call = {
        "id": "c",
        "function": {"name": "f\ud800", "arguments": '{"a": "\\ud800", "b": "\ud800"}'},
    }
    message = {"content": "a\ud800b", "reasoning": "\udfff", "tool_calls": [call]}
    done = await (await opened()).generate(script(chat(message) | {"model": "m\ud800"}))
    assert (done.text, done.reasoning, done.model) == ("a\ufffdb", "\ufffd", "m\ufffd")
    (read_call,) = done.tool_calls
    assert read_call.name == "f\ufffd"
    assert json.loads(read_call.arguments) == {"a": "\ufffd", "b": "\ufffd"}
    assert from_json(Completion, to_json(done)) == done


@pytest.mark.parametrize("tokens", ["1" + "0" * 30, "NaN", "Infinity", "1e999", "-1", "0.5", '"7"'])
async def test_a_count_out_of_range_is_unknown(opened, tokens):
    body = json.dumps(chat({"content": "a"}) | {"usage": {"prompt_tokens": "HERE"}})
    done = await (await opened()).generate(script(body.replace('"HERE"', tokens)))
    assert (done.text, done.usage) == ("a", Usage())


async def test_epochs_have_seeds_of_their_own(opened):
    target = await opened({"seed": 7})
    sent = [
        (await target.generate(ask("hi", epoch=epoch))).sent["seed"] for epoch in (0, 1, 2, 1, 0)
    ]
    assert sent[0] == sent[4] == 7
    assert sent[1] == sent[3]
    assert len({*sent}) == 3
    assert all(0 <= seed < 2**31 for seed in sent)
    forced = await opened({"extra_body": {"seed": 7}})
    assert (await forced.generate(ask("hi", epoch=1))).sent["seed"] == sent[1]
    random = await opened({"seed": -1})
    assert (await random.generate(ask("hi", epoch=1))).sent["seed"] == -1
    none = await opened()
    assert "seed" not in (await none.generate(ask("hi", epoch=1))).sent


async def test_a_limit_that_does_not_fit_beside_the_prompt_is_lowered_once(opened, server):
    target = await opened({"max_tokens": 4000})
    done = await target.generate(ask("!room 4096 1000"))
    assert done.sent["max_tokens"] == 3096
    assert done.attempts == 2
    assert done.text
    short = await target.generate(ask("!room 9096 1000"))
    assert short.sent["max_tokens"] == 4000  # what one prompt left over binds no other
    over = await target.generate(ask("!room 4096 5000"))
    assert over.finish_reason == "context_overflow"


async def test_a_limit_beyond_the_models_is_lowered_and_remembered(opened, server):
    target = await opened({"max_tokens": 4000})
    assert (await target.generate(ask("!room 4096 0 1024"))).sent["max_tokens"] == 1024
    before = server.stats()["requests"]
    assert (await target.generate(ask("hi"))).sent["max_tokens"] == 1024
    assert server.stats()["requests"] == before + 1
    assert target.info.card["most_tokens"] == 1024


async def test_a_limit_that_is_refused_without_a_number_is_named_and_no_overflow(opened):
    target = await opened({"max_tokens": 4000})
    error = {"code": "context_length_exceeded", "message": "max_tokens is too large"}
    failure = await failure_of(target, script({"error": error}, status=400))
    assert failure.kind == "permanent"
    assert "max_tokens" in failure.message


async def test_a_packed_reply_is_read_and_one_beyond_the_limit_is_a_failure(opened):
    limits = Settings(request_timeout=60.0, max_reply_bytes=1_000_000)
    target = await opened(settings=limits)
    assert (await target.generate(ask("!packed gzip 900000"))).text == "x" * 900_000
    for packing in ("gzip", "none"):
        failure = await failure_of(target, ask(f"!packed {packing} 1100000"))
        assert (failure.kind, failure.status) == ("malformed", None)
        assert "max_reply_bytes" in failure.message
    failure = await failure_of(target, ask("!packed gzip 1100000 500"))
    assert (failure.kind, failure.status) == ("retryable", 500)

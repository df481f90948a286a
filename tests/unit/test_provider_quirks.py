"""Every quirk of the providers of chat completions, through the real target over loopback."""

from __future__ import annotations

import pytest

from evalcore.access.secrets import Secrets
from evalcore.errors import TargetFailure
from evalcore.records import GenerationRequest, Message, TargetSpec, ToolCall
from evalcore.settings import Settings
from evalcore.targets.endpoint.target import EndpointTarget, create_openai_target
from tests.support.provider_quirks import QUIRKS
from tests.support.quirk_server import SENT, Quirk, call, message, serve_quirk, stream

TOOL = {"name": "add", "description": "sum", "parameters": {"type": "object", "properties": {}}}
ASKED = (Message("system", "be brief"), Message("user", "hi"))


async def open_target(base_url: str, **options: object) -> EndpointTarget:
    spec = TargetSpec("openai:m", {"base_url": base_url, **options})
    target = create_openai_target(spec, Settings(request_timeout=20.0), Secrets({}))
    await target.open(lambda line: None)
    return target


@pytest.mark.parametrize("quirk", QUIRKS, ids=[quirk.name for quirk in QUIRKS])
async def test_a_quirk_has_its_outcome(quirk: Quirk) -> None:
    async with serve_quirk(quirk.respond) as server:
        target = await open_target(server.base_url, **SENT, **quirk.options)
        try:
            if quirk.kind:
                with pytest.raises(TargetFailure) as caught:
                    await target.generate(GenerationRequest(ASKED))
                failure = caught.value.failure
                assert (failure.kind, failure.retry_after) == (quirk.kind, quirk.retry_after)
                assert quirk.words in failure.message
            else:
                done = await target.generate(GenerationRequest(ASKED))
                assert (done.finish_reason, done.text) == (quirk.finish, quirk.text)
                assert tuple(made.name for made in done.tool_calls) == quirk.calls
                assert len({made.id for made in done.tool_calls}) == len(quirk.calls)
                assert quirk.sent.items() <= server.bodies[-1].items()
                assert not {*quirk.unsent} & server.bodies[-1].keys()
                if quirk.requests > 1:  # what was learned is remembered
                    await target.generate(GenerationRequest(ASKED))
                    assert len(server.bodies) == quirk.requests + 1 or "max_tokens" in quirk.sent
                    del server.bodies[quirk.requests :]
            assert len(server.bodies) == quirk.requests
        finally:
            await target.close()


SIGNED = {"google": {"thought_signature": "EqQBCg=="}}
DETAILS = [{"type": "reasoning.encrypted", "data": "abc", "id": "r1", "index": 0}]


@pytest.mark.parametrize("streamed", [False, True])
async def test_opaque_fields_go_back_with_their_turn(streamed: bool) -> None:
    made = call(extra_content=SIGNED)
    fields = {"reasoning_content": "hm", "reasoning_details": DETAILS, "tool_calls": [made]}
    whole = message(None, "tool_calls", **fields)
    ending = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
    reply = stream({"content": "", **fields}, ending) if streamed else whole
    async with serve_quirk(lambda body: (200, reply)) as server:
        target = await open_target(server.base_url)
        first = await target.generate(GenerationRequest(ASKED, tools=(TOOL,)))
        assert "EqQBCg" not in first.text + first.reasoning
        turn = Message(
            "assistant", first.text, first.reasoning, first.tool_calls, opaque=first.opaque
        )
        result = Message("tool", "3", tool_call_id=first.tool_calls[0].id)
        await target.generate(GenerationRequest((*ASKED, turn, result), tools=(TOOL,)))
        await target.close()
    sent = server.bodies[-1]["messages"][2]
    assert sent["tool_calls"][0]["extra_content"] == SIGNED
    assert sent["reasoning_details"] == DETAILS
    assert sent["reasoning_content"] == "hm"


async def test_an_opaque_field_that_another_server_refuses_is_left_out() -> None:
    def respond(body: dict) -> tuple[int, object]:
        if "reasoning_details" in body["messages"][2]:
            words = "messages.2.reasoning_details: Extra inputs are not permitted"
            return 400, {"error": {"message": words}}
        return 200, message()

    turn = Message("assistant", "x", opaque={"chat": {"message": {"reasoning_details": DETAILS}}})
    async with serve_quirk(respond) as server:
        target = await open_target(server.base_url)
        done = await target.generate(GenerationRequest((*ASKED, turn, Message("user", "on"))))
        await target.close()
    assert (done.text, done.attempts) == ("ok", 2)


async def test_ids_of_calls_have_nine_letters_where_the_server_takes_no_other() -> None:
    def respond(body: dict) -> tuple[int, object]:
        call_id = body["messages"][2]["tool_calls"][0]["id"]
        if len(call_id) != 9:
            words = f"Tool call id was {call_id} but must be a-z, A-Z, 0-9, with a length of 9."
            return 400, {"error": {"message": words}}
        assert body["messages"][3]["tool_call_id"] == call_id
        return 200, message()

    turn = Message("assistant", tool_calls=(ToolCall("call_1_0", "add", "{}"),))
    result = Message("tool", "3", tool_call_id="call_1_0")
    async with serve_quirk(respond) as server:
        target = await open_target(server.base_url)
        done = await target.generate(GenerationRequest((*ASKED, turn, result), tools=(TOOL,)))
        await target.close()
    assert done.text == "ok"
    assert len(server.bodies) == 2


async def test_a_gateway_gets_the_header_of_its_tenant() -> None:
    def respond(body: dict) -> tuple[int, object]:
        if "X-Tenant" not in server.headers[-1]:
            return 403, {"error": {"message": "the header X-Tenant is missing"}}
        return 200, message()

    async with serve_quirk(respond) as server:
        target = await open_target(server.base_url)
        with pytest.raises(TargetFailure, match="X-Tenant is missing") as caught:
            await target.generate(GenerationRequest(ASKED))
        assert caught.value.failure.kind == "permanent"
        await target.close()
        target = await open_target(server.base_url, headers={"X-Tenant": "t-1"})
        assert (await target.generate(GenerationRequest(ASKED))).text == "ok"
        await target.close()
    assert server.headers[-1]["X-Tenant"] == "t-1"


async def test_the_cost_that_a_provider_states_is_recorded() -> None:
    reply = message() | {"usage": {"prompt_tokens": 3, "completion_tokens": 2, "cost": 0.00014}}
    async with serve_quirk(lambda body: (200, reply)) as server:
        target = await open_target(server.base_url)
        assert (await target.generate(GenerationRequest(ASKED))).usage.cost == 0.00014
        await target.close()

"""Past turns that a server refuses go out again mended; what may be of anything else does not."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from evalcore.access.secrets import Secrets
from evalcore.errors import TargetFailure
from evalcore.records import Completion, GenerationRequest, Message, TargetSpec, ToolCall
from evalcore.settings import Settings
from evalcore.targets.endpoint.target import create_openai_target
from evalcore.targets.endpoint.turns import EMPTY_TEXT, MENDS, find_mend, mend_turns
from tests.support.exchange_parts import TOOL, Exchange, chat, claude, error, response, say, spoken
from tests.support.provider_exchanges import serve_exchange

ASKED = (Message("system", "be brief"), Message("user", "hi"))


def made(*calls: ToolCall, text: str = "", **fields: object) -> Message:
    return Message("assistant", text, "", calls, **fields)


def result(call_id: str, text: str = "3") -> Message:
    return Message("tool", text, tool_call_id=call_id)


BROKEN = made(ToolCall("c1", "add", '{"a": '))


async def ask(exchange: Exchange, *turns: Message) -> tuple[Completion, list[dict], dict]:
    async with serve_exchange(exchange) as (base_url, bodies):
        spec = TargetSpec("openai:m", {"base_url": base_url, "api": exchange.api})
        target = create_openai_target(spec, Settings(request_timeout=20.0), Secrets({}))
        await target.open(lambda line: None)
        try:
            before = ASKED[:1] if turns == BEGUN else ASKED
            request = GenerationRequest((*before, *turns), tools=(TOOL,))
            return await target.generate(request), bodies, target.info.card
        finally:
            await target.close()


def arguments_are_objects(body: dict) -> bool:
    calls = [call for turn in body["messages"] for call in turn.get("tool_calls") or ()]
    return all(call["function"]["arguments"].startswith("{") and json_ok(call) for call in calls)


def json_ok(call: dict) -> bool:
    try:
        return isinstance(json.loads(call["function"]["arguments"]), dict)
    except ValueError:
        return False


def roles_alternate(body: dict) -> bool:
    roles = [turn["role"] for turn in body["messages"] if turn["role"] != "system"]
    pairs = [pair for pair in pairwise(roles) if pair != ("tool", "tool")]
    return roles[0] == "user" and all(a != b and (a, b) != ("tool", "user") for a, b in pairs)


def results_match(body: dict) -> bool:
    turns = body["messages"]
    made_ids = [call["id"] for turn in turns for call in turn.get("tool_calls") or ()]
    return made_ids == [turn["tool_call_id"] for turn in turns if turn["role"] == "tool"]


def texts_are_there(body: dict) -> bool:
    return all(
        turn.get("tool_calls") or (turn["content"] or "").strip() for turn in body["messages"]
    )


def ids_differ(body: dict) -> bool:
    ids = [call["id"] for turn in body["messages"] for call in turn.get("tool_calls") or ()]
    return len({*ids}) == len(ids) and all(len(name) == 9 for name in ids) and results_match(body)


SAME = (
    made(ToolCall("c", "add", "{}")),
    result("c"),
    made(ToolCall("c", "add", '{"a": 1}')),
    result("c", "4"),
)
BEGUN = (Message("assistant", "Hello"), Message("user", "hi"))
TWO_USERS = (Message("assistant", "well"), Message("user", "a"), Message("user", "b"))
CASES = (
    (
        "vllm",
        400,
        "Expecting property name enclosed in double quotes: line 1 column 7",
        (BROKEN, result("c1")),
        arguments_are_objects,
        "arguments",
    ),
    (
        "template",
        500,
        "Can only get item pairs from a mapping.",
        (BROKEN, result("c1")),
        arguments_are_objects,
        "arguments",
    ),
    (
        "fireworks",
        400,
        "Invalid tool call arguments: must be a valid JSON object",
        (BROKEN, result("c1")),
        arguments_are_objects,
        "arguments",
    ),
    (
        "mistral's ids",
        400,
        "Tool call id was c but must be a-z, A-Z, 0-9, with a length of 9.",
        SAME,
        ids_differ,
        "ids",
    ),
    (
        "openai's ids",
        400,
        "Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with "
        "maximum length 40",
        SAME,
        ids_differ,
        "ids",
    ),
    ("unique ids", 400, "tool_call ids must be unique", SAME, ids_differ, "ids"),
    (
        "openai's results",
        400,
        "An assistant message with 'tool_calls' must be followed by tool messages responding "
        "to each 'tool_call_id'.",
        (made(ToolCall("a", "add", "{}"), ToolCall("b", "add", "{}")), result("a")),
        results_match,
        "results",
    ),
    (
        "mistral's results",
        400,
        "Not the same number of function calls and responses",
        (made(ToolCall("a", "add", "{}")), Message("user", "on")),
        results_match,
        "results",
    ),
    (
        "deepseek",
        400,
        "deepseek-reasoner does not support successive user or assistant messages",
        TWO_USERS,
        roles_alternate,
        "alternating",
    ),
    (
        "llama.cpp",
        500,
        "Conversation roles must alternate user/assistant/user/assistant/...",
        TWO_USERS,
        roles_alternate,
        "alternating",
    ),
    (
        "begins with the model",
        400,
        "First message must be from the user",
        BEGUN,
        roles_alternate,
        "alternating",
    ),
    (
        "mistral's order",
        400,
        "Unexpected role 'user' after role 'tool'",
        (made(ToolCall("a", "add", "{}")), result("a"), Message("user", "on")),
        roles_alternate,
        "alternating",
    ),
    (
        "mistral's text",
        400,
        "Assistant message must have either content or tool_calls, but not none.",
        (made(), Message("user", "on")),
        texts_are_there,
        "texts",
    ),
    (
        "groq's text",
        400,
        "messages.2.content must be non-empty",
        (made(), Message("user", "on")),
        texts_are_there,
        "texts",
    ),
)


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
async def test_a_refused_turn_is_mended_and_the_card_says_so(case):
    name, status, words, turns, accepts, mend = case
    exchange = Exchange(
        name, "chat", "fine", lambda body: chat() if accepts(body) else (status, error(words))
    )
    done, bodies, card = await ask(exchange, *turns)
    assert (done.text, done.attempts, len(bodies)) == ("ok", 2, 2)
    assert card["past_turns"] == [mend]
    assert "past_turns" not in done.sent


async def test_words_that_nobody_knows_are_tried_once_with_all_turns_mended():
    exchange = Exchange(
        "odd",
        "chat",
        "fine",
        lambda body: chat() if arguments_are_objects(body) else (400, error("Bad.")),
    )
    done, bodies, card = await ask(exchange, BROKEN, result("c1"))
    assert (done.text, len(bodies), done.sent["past_turns"]) == ("ok", 2, "mended")
    assert "past_turns" not in card  # nobody knows what it was


@pytest.mark.parametrize(
    ("status", "words", "requests"),
    [
        (400, "Bad.", 2),
        (422, "Bad.", 2),
        (401, "Bad key", 1),
        (404, "no such model", 1),
        (500, "Bad.", 1),
        (400, "Your credit balance is too low", 1),
    ],
)
async def test_the_first_refusal_is_told_where_mending_does_not_help(status, words, requests):
    exchange = Exchange(
        "odd", "chat", "provider", lambda body: (status, error(f"{words} {len(sent)}"))
    )
    sent: list[int] = []
    async with serve_exchange(exchange) as (base_url, bodies):
        spec = TargetSpec("openai:m", {"base_url": base_url})
        target = create_openai_target(spec, Settings(request_timeout=20.0), Secrets({}))
        await target.open(lambda line: None)
        with pytest.raises(TargetFailure) as caught:
            await target.generate(GenerationRequest((*ASKED, BROKEN, result("c1")), tools=(TOOL,)))
        await target.close()
    assert words in caught.value.failure.message
    assert len(bodies) == requests


async def test_a_first_turn_is_asked_once():
    with pytest.raises(TargetFailure):
        await ask(
            Exchange("odd", "chat", "provider", lambda body: (400, error("arguments must be JSON")))
        )


@pytest.mark.parametrize(
    ("words", "empty"),
    [
        ("The `reasoning_content` in the thinking mode must be passed back to the API.", False),
        (
            "thinking is enabled but reasoning_content is missing in assistant tool call "
            "message at index 2",
            True,
        ),
    ],
)
async def test_thoughts_go_back_where_a_server_wants_them(words, empty):
    def respond(body):
        return chat() if "reasoning_content" in body["messages"][2] else (400, error(words))

    thought = "" if empty else "hm"
    turn = Message("assistant", "", thought, (ToolCall("c", "add", "{}"),))
    done, bodies, _ = await ask(Exchange("deepseek", "chat", "fine", respond), turn, result("c"))
    assert (done.text, len(bodies)) == ("ok", 2)
    assert bodies[-1]["messages"][2]["reasoning_content"] == (thought or " ")


SIGNED = [{"type": "thinking", "thinking": "hm", "signature": "x"}, {"type": "text", "text": "a"}]
SEALED = [{"type": "reasoning", "encrypted_content": "x", "summary": []}]


async def test_thoughts_of_another_model_are_left_out_where_they_are_refused():
    words = "messages.1.content.0: Invalid `signature` in `thinking` block"

    def refuse_thoughts(body):
        return (
            (400, error(words)) if "thinking" in json.dumps(body["messages"]) else claude([say()])
        )

    turn = Message("assistant", "a", opaque={"anthropic": SIGNED})
    done, bodies, _ = await ask(
        Exchange("claude", "anthropic", "fine", refuse_thoughts), turn, Message("user", "b")
    )
    assert (done.text, len(bodies)) == ("ok", 2)

    def refuse_seals(body):
        words = "The encrypted content gAAA could not be verified."
        sealed = "encrypted_content" in json.dumps(body["input"])
        return (
            (400, error(words, code="invalid_encrypted_content"))
            if sealed
            else response([spoken()])
        )

    turn = Message("assistant", "a", opaque={"responses": SEALED})
    done, bodies, _ = await ask(
        Exchange("openai", "responses", "fine", refuse_seals), turn, Message("user", "b")
    )
    assert (done.text, len(bodies)) == ("ok", 2)


def test_turns_that_are_well_stay_as_they_are():
    turns = (
        *ASKED,
        made(ToolCall("abcdefghi", "add", '{"a": 1}'), text="well"),
        result("abcdefghi"),
    )
    assert mend_turns(turns, MENDS - {"ids"}) == turns
    assert mend_turns((), MENDS) == ()


def test_all_mends_together_leave_a_conversation_that_any_server_takes():
    turns = (
        *ASKED,
        Message("user", "again"),
        made(ToolCall("c", "add", "{'a': 1}"), ToolCall("c", "add", "nonsense")),
        result("c", ""),
        made(),
        Message("user", ""),
    )
    mended = mend_turns(turns, MENDS)
    roles = [turn.role for turn in mended]
    assert roles == ["system", "user", "assistant", "tool", "tool", "assistant", "user"]
    first, second = mended[2].tool_calls
    assert json.loads(second.arguments) == {"arguments": "nonsense"}
    assert [turn.tool_call_id for turn in mended[3:5]] == [first.id, second.id]
    assert mended[3].content == mended[5].content == mended[6].content == EMPTY_TEXT


def test_words_about_other_things_mend_nothing():
    for words in ("Internal error", "tools[0].function.name is invalid", "rate limit reached", ""):
        assert find_mend(words, (*ASKED, BROKEN), frozenset()) is None
    assert find_mend("roles must alternate", ASKED, frozenset()) is None
    assert find_mend("roles must alternate", (*ASKED, BROKEN), MENDS) is None

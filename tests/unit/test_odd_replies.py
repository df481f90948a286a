"""Replies and streams of the native APIs with any part replaced: read or refused, never a crash."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from evalcore.errors import IntakeError
from evalcore.records import Completion, Failure, GenerationRequest, Message, to_json
from evalcore.targets.endpoint.anthropic import AnthropicDialect
from evalcore.targets.endpoint.dialect import ApiDialect, Capabilities
from evalcore.targets.endpoint.gemini import GeminiDialect
from evalcore.targets.endpoint.responses import ResponsesDialect
from tests.support.vendor_server import KEY, VendorServer

DIALECTS = {
    "responses": (ResponsesDialect("able-1", {}), "/v1/responses"),
    "anthropic": (AnthropicDialect("able-1", {}), "/v1/messages"),
    "gemini": (GeminiDialect("able-1", {}), "/v1beta/models/able-1:x"),
}
HEADERS = {
    "authorization": f"Bearer {KEY}",
    "x-api-key": KEY,
    "x-goog-api-key": KEY,
    "anthropic-version": "1",
}
JUNK: tuple[Any, ...] = (
    None,
    0,
    -1,
    1e308,
    "",
    "x",
    "\ud800",
    True,
    [],
    [None],
    {},
    {"x": 1},
    [[]],
)
TOOL = {"name": "get_weather"}


def ask(api: str, *, stream: bool) -> Any:
    """What the emulated vendor replies to a request with tools."""
    dialect, path = DIALECTS[api]
    known = Capabilities(stream=stream)
    parameters = dialect.build_parameters(GenerationRequest(()).sampling, known)
    request = GenerationRequest((Message("user", "Weather?"),), (TOOL,))
    body = json.loads(to_json(dialect.build_request(request, parameters, known).body))
    status, reply = VendorServer().answer(path + "?alt=sse" * stream, HEADERS, body)
    assert status == 200
    return reply


def replace_parts(value: Any) -> Iterator[Any]:
    """The value with each of its parts left out, or replaced by each kind of junk."""
    places = list(_list_places(value))
    for place in places:
        for junk in (*JUNK, ...):
            changed = copy.deepcopy(value)
            holder = changed
            for step in place[:-1]:
                holder = holder[step]
            if junk is ...:
                del holder[place[-1]]
            else:
                holder[place[-1]] = junk
            yield changed


def _list_places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for step, item in items:
        yield (*path, step)
        if isinstance(item, dict | list):
            yield from _list_places(item, (*path, step))


def check_outcome(dialect: ApiDialect, reply: Any) -> None:
    outcome = dialect.parse_reply(reply, {})
    assert isinstance(outcome, Completion | Failure)
    if isinstance(outcome, Completion):  # it is journaled, and goes back in the next turn
        assert isinstance(outcome.text, str)
        assert isinstance(outcome.reasoning, str)
        to_json(outcome)
        turn = Message("assistant", outcome.text, "", outcome.tool_calls, opaque=outcome.opaque)
        request = GenerationRequest((Message("user", "?"), turn, Message("user", "!")))
        to_json(dialect.build_request(request, {"model": "m"}, Capabilities()).body)


@pytest.mark.parametrize("api", DIALECTS)
def test_a_reply_with_any_part_replaced(api):
    dialect, _ = DIALECTS[api]
    for reply in (*JUNK, *replace_parts(ask(api, stream=False))):
        check_outcome(dialect, reply)


@pytest.mark.parametrize("api", DIALECTS)
def test_a_stream_with_any_part_replaced_or_in_any_order(api):
    dialect, _ = DIALECTS[api]
    events = ask(api, stream=True)
    shuffled = [random.Random(seed).sample(events, len(events)) for seed in range(50)]
    for changed in (*replace_parts(events), *shuffled):
        assembler = dialect.start_stream()
        try:
            for event in changed:
                kind = event.get("type") if isinstance(event, dict) else ""
                assembler.add_event(str(kind), json.dumps(event).encode())
        except IntakeError:
            continue
        reply = assembler.build_reply()
        if reply is not None:
            check_outcome(dialect, reply)

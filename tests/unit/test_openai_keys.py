"""Keys of OpenAI-compatible targets: where they go, and that nothing repeats them."""

from __future__ import annotations

import base64
import json
import logging
import traceback

import pytest

from evalcore.access.secrets import Secrets, redact_keys
from evalcore.errors import TargetFailure, UsageError
from evalcore.records import (
    TargetSpec,
    to_json,
)
from evalcore.settings import Settings
from evalcore.targets.endpoint.options import read_openai_options
from evalcore.targets.endpoint.target import create_openai_target
from tests.support.openai_targets import KEY, ask, chat, script
from tests.support.openai_targets import opened as opened
from tests.support.openai_targets import server as server


async def test_the_key_goes_into_the_header_only(opened, server):
    target = await opened()
    done = await target.generate(ask("hello"))
    head = server.get("/last")["head"]
    assert f"authorization: bearer {KEY}".lower() in [line.lower() for line in head]
    assert KEY not in str(done) + repr(target) + str(target.info) + json.dumps(
        server.get("/last")["body"]
    )


@pytest.mark.parametrize("status", [400, 401, 403, 500, 429])
async def test_the_key_never_leaks_from_a_failing_request(opened, caplog, status):
    caplog.set_level(logging.INFO)
    target = await opened()
    echo = script({"error": {"message": f"bad key {KEY} in Bearer {KEY}"}}, status=status)
    with pytest.raises(TargetFailure) as caught:
        await target.generate(echo)
    error = caught.value
    assert "[key removed]" in error.failure.message
    assert error.__cause__ is None
    assert error.__context__ is None
    shown = "".join(traceback.format_exception(error)) + repr(vars(error)) + caplog.text
    assert KEY not in shown
    if status in (401, 403):
        assert "TEST_KEY" in error.failure.message


async def test_a_missing_key_names_the_variable(server, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    target = create_openai_target(TargetSpec(key="openai:gpt-5.5"), Settings(), Secrets())
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        await target.open(lambda line: None)


@pytest.mark.parametrize("key", ["two words", "caf\u00e9-key-12345", "line\nbreak"])
async def test_a_key_that_cannot_be_one_is_refused_without_repeating_it(server, key):
    spec = TargetSpec(key="openai:m", options={"base_url": server.base_url, "api_key_env": "K"})
    target = create_openai_target(spec, Settings(), Secrets({"K": key}))
    with pytest.raises(UsageError, match="variable K") as caught:
        await target.open(lambda line: None)
    assert key not in str(caught.value)


async def test_a_local_server_needs_no_key(server, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    spec = TargetSpec(key="openai:m", options={"base_url": server.base_url})
    target = create_openai_target(spec, Settings(), Secrets())
    await target.open(lambda line: None)
    assert (await target.generate(ask("Compute 1 + 2"))).text == "3"
    await target.close()
    await target.close()


async def test_the_organization_of_the_environment_is_told_to_nobody_else(
    opened, server, monkeypatch
):
    monkeypatch.setenv("OPENAI_ORG_ID", "org-secret")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-secret")
    await (await opened()).generate(ask("hi"))
    assert "secret" not in " ".join(server.get("/last")["head"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"api_key": "sk-0123456789"}, "unknown option 'api_key'"),
        ({"temperature": "warm"}, "temperature"),
        ({"max_tokens": "many"}, "max_tokens"),
        ({"extra_body": "no json"}, "extra_body"),
    ],
)
def test_bad_options_are_named_and_their_values_not_repeated(options, message):
    with pytest.raises(UsageError, match=message) as caught:
        read_openai_options(TargetSpec(key="openai:m", options=options))
    assert str(next(iter(options.values()))) not in str(caught.value)


def forms_of(key):
    return {
        "plain": key,
        "lower case": key.lower(),
        "url": "".join(f"%{ord(c):02X}" for c in key),
        "json": "".join(f"\\u{ord(c):04x}" for c in key),
        "json in json": "".join(f"\\\\u{ord(c):04X}" for c in key),
        "html": "".join(f"&#{ord(c)};" for c in key),
        "hex": key.encode().hex(),
        "base64": base64.b64encode(key.encode()).decode(),
        "basic": base64.b64encode(f":{key}".encode()).decode(),
        "bearer": base64.b64encode(f"Authorization: Bearer {key}\n".encode()).decode(),
        "base64url": base64.urlsafe_b64encode(f"xx{key}".encode()).decode(),
    }


@pytest.mark.parametrize("form", forms_of(""))
async def test_a_key_that_the_server_repeats_in_an_answer_is_removed(opened, form):
    shown = forms_of(KEY)[form]
    call = {"id": shown, "function": {"name": shown, "arguments": json.dumps({"k": shown})}}
    message = {"content": f"a {shown} b", "reasoning": shown, "tool_calls": [call]}
    body = chat(message) | {"model": f"m {shown}"}
    done = await (await opened()).generate(script(body))
    written = to_json(done).decode()
    middle = shown[4:-6]  # the ends of base64 depend on what stands around it
    assert middle not in written
    assert "[key removed]" in done.text
    assert done.text.startswith("a ")
    assert done.text.endswith(" b")


@pytest.mark.parametrize(
    "text", ["SELECT api_key = 'sk-0123456789abcdef'", "Bearer abcdefghijklmnop"]
)
async def test_what_merely_looks_like_a_key_stays_in_an_answer(opened, text):
    assert (await (await opened()).generate(script(chat({"content": text})))).text == text


@pytest.mark.parametrize("key", ["password", "test", "EMPTY", "changeme"])
def test_a_key_that_is_a_plain_word_tears_no_answer(key):
    assert redact_keys(f"SELECT {key} FROM t", [key]) == f"SELECT {key} FROM t"


async def test_the_query_of_an_address_goes_with_every_request(opened, server):
    address = f"{server.base_url}/openai/deployments/d?api-version=2024-10-21&a=b%20c&a=d&e="
    target = await opened({"base_url": address})
    for _ in range(2):
        assert (await target.generate(ask("Compute 1 + 1"))).text == "2"
        line = server.get("/last")["head"][0]
        path = "/v1/openai/deployments/d/chat/completions"
        assert line == f"POST {path}?api-version=2024-10-21&a=b%20c&a=d&e= HTTP/1.1"

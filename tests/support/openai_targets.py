"""A target before the loopback server, and what makes its requests and replies."""

from __future__ import annotations

import json

import pytest

from evalcore.access.secrets import Secrets
from evalcore.errors import TargetFailure
from evalcore.records import (
    GenerationRequest,
    Message,
    TargetSpec,
)
from evalcore.settings import Settings
from evalcore.targets.endpoint.target import create_openai_target
from tests.support.loopback_server import serve

STREAM = {"stream": True, "stream_options": {"include_usage": True}}
KEY = "canary-Zq7x-0123456789-KEY"
TOOL = {"name": "add", "description": "sum", "parameters": {"type": "object", "properties": {}}}


@pytest.fixture(scope="module")
def server():
    with serve() as running:
        yield running


@pytest.fixture
async def opened(server):
    """A function that makes an open target; all are closed afterwards."""
    made = []

    async def make(options=None, key="openai:loopback-1", settings=None, timeout=60.0):
        values = {"base_url": server.base_url, "api_key_env": "TEST_KEY", **(options or {})}
        settings = settings or Settings(request_timeout=timeout)
        target = create_openai_target(
            TargetSpec(key=key, options=values), settings, Secrets({"TEST_KEY": KEY})
        )
        made.append(target)
        await target.open(lambda line: None)
        return target

    yield make
    for target in made:
        await target.close()


def ask(text, **more):
    return GenerationRequest(messages=(Message(role="user", content=text),), **more)


def script(body, status=200, **headers):
    return ask("!reply " + json.dumps({"status": status, "headers": headers, "body": body}))


def chat(message, **more):
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}
    return {"model": "m-1", "choices": [choice | more]}


async def failure_of(target, request):
    with pytest.raises(TargetFailure) as caught:
        await target.generate(request)
    return caught.value.failure

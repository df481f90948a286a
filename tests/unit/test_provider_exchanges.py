"""Whose matter an exchange with a provider is: labels given before any code saw the reply."""

from __future__ import annotations

from collections import Counter

import pytest

from evalcore.access.secrets import Secrets
from evalcore.errors import TargetFailure
from evalcore.records import Completion, GenerationRequest, Message, TargetSpec
from evalcore.settings import Settings
from evalcore.targets.endpoint.target import create_openai_target
from evalcore.targets.failures import find_lasting_cause
from tests.support.provider_exchanges import EXCHANGES, TOOL, Exchange, serve_exchange

ASKED = (Message("system", "be brief"), Message("user", "hi"))
OPTIONS = {"max_tokens": 4000, "temperature": 0, "top_p": 0.9, "seed": 1, "stop": ["\n\n"]}
FAILED_ENDS = ("length", "content_filter", "context_overflow", "unparsable")


async def ask(exchange: Exchange, client: str) -> Completion | TargetFailure:
    async with serve_exchange(exchange) as (base_url, _):
        options = {"base_url": base_url, "api": exchange.api, "reasoning_effort": "low", **OPTIONS}
        spec = TargetSpec("openai:m", options | {"client": client})
        target = create_openai_target(spec, Settings(request_timeout=20.0), Secrets({}))
        await target.open(lambda line: None)
        try:
            return await target.generate(GenerationRequest(ASKED, tools=(TOOL,)))
        except TargetFailure as failure:
            return failure
        finally:
            await target.close()


def label_outcome(outcome: Completion | TargetFailure) -> set[str]:
    """All labels that an outcome satisfies."""
    if isinstance(outcome, Completion):
        end = outcome.finish_reason
        return {f"model:{end}" if end in FAILED_ENDS else "fine"}
    failure = outcome.failure
    if failure.kind == "model_output":
        return {"model:unparsable"}
    lasting = {"provider:lasting"} if find_lasting_cause(failure) else set()
    return {"provider", f"provider:{failure.kind}", *lasting}


#: The Responses dialect goes by the SDK of itself; some of chat completions when asked to.
ASKED_BY = [(entry, "aiohttp") for entry in EXCHANGES if entry.api == "responses"]
ASKED_BY += [(entry, "openai") for entry in EXCHANGES if entry.api == "chat"][::9]
ASKED_BY += [(entry, "auto") for entry in EXCHANGES]


@pytest.mark.parametrize(
    ("exchange", "client"),
    ASKED_BY,
    ids=[f"{entry.name} by {client}" for entry, client in ASKED_BY],
)
async def test_an_outcome_is_of_whom_it_should_be(exchange: Exchange, client: str) -> None:
    outcome = await ask(exchange, client)
    assert exchange.label in label_outcome(outcome), outcome
    if exchange.label == "fine":
        assert isinstance(outcome, Completion)
        made = [(call.name, call.arguments) for call in outcome.tool_calls]
        assert exchange.text is None or outcome.text == exchange.text
        assert exchange.calls is None or made == list(exchange.calls)


def test_the_exchanges_are_many_of_every_kind_and_dialect() -> None:
    assert len({entry.name for entry in EXCHANGES}) == len(EXCHANGES) >= 500
    kinds = Counter((entry.api, entry.label.partition(":")[0]) for entry in EXCHANGES)
    apis = ("chat", "responses", "anthropic", "gemini")
    assert all(kinds[api, kind] >= 5 for api in apis for kind in ("fine", "model", "provider"))

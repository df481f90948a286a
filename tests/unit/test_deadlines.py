"""Time limits look at progress; what has arrived of an answer is recorded, and one that is whole
needs no end of its stream."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from evalcore.access.secrets import Secrets
from evalcore.cli.main import main
from evalcore.errors import TargetFailure
from evalcore.records import Completion, GenerationRequest, Message, TargetSpec
from evalcore.settings import Settings
from evalcore.store.run_folder import RunFolder
from evalcore.targets.base import collect_partial_answers
from evalcore.targets.endpoint.dialect import is_answer
from evalcore.targets.endpoint.target import create_openai_target
from tests.support.cases import syntax_cases
from tests.support.quirk_server import ended, stream

ASKED = GenerationRequest((Message("user", "hi"),))
HALF = stream({"content": "half"}, end=b"")
WHOLE = stream({"content": "whole"}, ended("stop"))
FOREVER = 60.0


@asynccontextmanager
async def serve_pieces(*pieces: tuple[float, bytes]) -> AsyncIterator[str]:
    """A server whose every reply is a stream of these pieces, each after so many seconds."""

    async def answer(request: web.Request) -> web.StreamResponse:
        reply = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await reply.prepare(request)
        for delay, piece in pieces:
            await asyncio.sleep(delay)
            await reply.write(piece)
        return reply

    app = web.Application()
    app.router.add_post("/v1/chat/completions", answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()


async def ask(base_url: str, **options: float) -> tuple[Completion | str, list[Completion]]:
    """The answer or the kind of failure, and the parts of answers that were cut."""
    spec = TargetSpec("openai:m", {"base_url": base_url, **options})
    target = create_openai_target(spec, Settings(), Secrets({}))
    await target.open(lambda line: None)
    partial: list[Completion] = []
    try:
        with collect_partial_answers(partial.append):
            return await target.generate(ASKED), partial
    except TargetFailure as error:
        return error.failure.kind, partial
    finally:
        await target.close()


async def test_an_answer_may_take_longer_than_the_limit_while_it_goes_on() -> None:
    slow = [(0.25, b": keep-alive\n\n")] * 11
    async with serve_pieces(*slow, (0.0, WHOLE)) as base_url:
        done, partial = await ask(base_url, timeout=2.0)
    assert isinstance(done, Completion)
    assert done.text == "whole"
    assert done.latency > 2.0
    assert done.time_to_first_token is not None
    assert 2.0 < done.time_to_first_token <= done.latency
    assert partial == []


@pytest.mark.parametrize(
    ("options", "kind"),
    [({"timeout": 0.5}, "retryable"), ({"timeout": 30.0, "whole_timeout": 0.5}, "timeout")],
)
async def test_what_has_arrived_of_a_cut_answer_is_handed_over(
    options: dict[str, float], kind: str
) -> None:
    async with serve_pieces((0.0, HALF), (FOREVER, b"")) as base_url:
        ended_by, [partial] = await ask(base_url, **options)
    assert ended_by == kind
    assert partial.text == "half"
    assert not is_answer(partial)


async def test_an_answer_that_ends_too_early_is_handed_over_too() -> None:
    async with serve_pieces((0.0, HALF)) as base_url:
        ended_by, [partial] = await ask(base_url)
    assert (ended_by, partial.text) == ("malformed", "half")


async def test_a_cancelled_request_hands_over_what_has_arrived() -> None:
    async with serve_pieces((0.0, HALF), (FOREVER, b"")) as base_url:
        partial: list[Completion] = []
        spec = TargetSpec("openai:m", {"base_url": base_url})
        target = create_openai_target(spec, Settings(), Secrets({}))
        await target.open(lambda line: None)
        with pytest.raises(TimeoutError), collect_partial_answers(partial.append):
            await asyncio.wait_for(target.generate(ASKED), 1.5)
        await target.close()
    assert [cut.text for cut in partial] == ["half"]


@pytest.mark.parametrize("pieces", [[WHOLE], [WHOLE.removesuffix(b"data: [DONE]\n\n")]])
async def test_a_whole_answer_needs_no_end_of_its_stream(pieces: Sequence[bytes]) -> None:
    waits = [(0.0, piece) for piece in pieces]
    async with serve_pieces(*waits, (FOREVER, b"")) as base_url:
        done, partial = await ask(base_url, timeout=20.0)
    assert isinstance(done, Completion)
    assert (done.text, partial) == ("whole", [])


async def test_a_run_journals_what_was_paid_for(tmp_path, capsys) -> None:
    cases = str(syntax_cases(tmp_path / "cases", 2))
    data = str(tmp_path / "data")
    async with serve_pieces((0.0, HALF), (FOREVER, b"")) as base_url:
        words = ["run", "--target", "openai:m", "--benchmarks", "sql_understanding"]
        words += ["--dataset", cases, "--data", data]
        for option in (f"base_url={base_url}", "timeout=30", "whole_timeout=0.5"):
            words += ["--target-option", option]
        assert await asyncio.to_thread(main, words) == 3
    [path] = (tmp_path / "data" / "runs").iterdir()
    calls = list(RunFolder(path).read_calls())
    assert [call.completion.text for call in calls] == ["half", "half"]
    assert not any(is_answer(call.completion) for call in calls)
    assert RunFolder(path).read_summary().errors == {"timeout": 2}
    lines = (path / "calls" / "main.jsonl").read_text().splitlines()
    assert all(json.loads(line)["completion"]["finish_reason"] == "timeout" for line in lines)

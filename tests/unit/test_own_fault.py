"""A request that breaks a server is told from a server that is broken."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from evalcore.benchmarks.bfcl.entry import load_file
from evalcore.errors import TargetFailure
from evalcore.records import Completion, Failure
from evalcore.runner.channels import attribute_failure
from tests.support import quiet_server
from tests.support.cases import syntax_cases
from tests.support.hf_runs import Done, evaluate

BROKEN = Failure(kind="retryable", message="HTTP 500: Internal Server Error", status=500)
LOST = Failure(kind="retryable", message="the connection was lost")
OTHER = Failure(kind="retryable", message="HTTP 500: no space left on device", status=500)
BUSY = Failure(kind="retryable", message="HTTP 503: overloaded", status=503)
ANSWER = Completion(text="ok")
BUNDLED = Path(__file__).parents[2] / "datasets" / "bfcl"


def script(*outcomes: Completion | Failure):
    """An attempt with these outcomes, the last of them for ever."""
    left = list(outcomes)

    async def attempt() -> Completion:
        popped = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(popped, Failure):
            raise TargetFailure(popped)
        return popped

    return attempt


@pytest.mark.parametrize("again", [(BROKEN,), (LOST, BROKEN), (BUSY, LOST, BROKEN)])
async def test_what_breaks_a_server_that_answers_is_at_fault(again) -> None:
    failure = await attribute_failure([BROKEN, LOST], script(*again), script(LOST, ANSWER))
    assert failure is not None
    assert (failure.finish_reason, failure.text) == ("unparsable", "")
    assert failure.attempts == 2 + len(again)


async def test_what_is_answered_in_the_end_is_an_answer() -> None:
    assert await attribute_failure([BROKEN, BROKEN], script(ANSWER), script(ANSWER)) == ANSWER


@pytest.mark.parametrize(
    ("failures", "again", "control"),
    [
        ([BROKEN], BROKEN, BROKEN),  # the server is broken for all
        ([BROKEN], LOST, ANSWER),
        ([BROKEN], OTHER, ANSWER),
        ([BROKEN, OTHER], BROKEN, ANSWER),  # not the same each time
        ([LOST], BROKEN, ANSWER),
        ([BUSY], BUSY, ANSWER),  # an overload is no answer to a request
    ],
)
async def test_else_the_server_may_be_at_fault(failures, again, control) -> None:
    assert await attribute_failure(failures, script(again), script(control)) is None


@contextmanager
def server(breaks: Callable[[str], bool]) -> Iterator[str]:
    """The base_url of a server that says "no" but breaks, without a word, on some bodies."""

    class Handler(quiet_server.Handler):
        def do_POST(self) -> None:
            broken = breaks(self.content().decode())
            reply = b"Internal Server Error" if broken else json.dumps(_NO).encode()
            self.send(500 if broken else 200, {}, reply)

    with quiet_server.listening(Handler) as port:
        yield f"http://127.0.0.1:{port}/v1"


_NO = {"choices": [{"message": {"content": '{"has_syntax_error": "no"}'}, "finish_reason": "stop"}]}


@pytest.fixture
def asked(tmp_path: Path, monkeypatch) -> Callable[[str], Done]:
    """Runs six cases of syntax, which differ by a number, on a server."""
    monkeypatch.setenv("EVALBOARD_RETRY_BASE", "0.05")
    cases = syntax_cases(tmp_path / "cases", 6)

    def run(base_url: str) -> Done:
        words = ("--benchmarks", "sql_understanding", "--dataset", str(cases))
        options = {"base_url": base_url}
        return evaluate(tmp_path / "data", "--target", "openai:m", *words, options=options)

    return run


def test_the_call_that_breaks_a_server_is_failed_and_measured(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("EVALBOARD_RETRY_BASE", "0.05")
    words = ("--benchmarks", "bfcl", "--metrics", "simple_javascript")
    first = next(entry for entry in load_file(BUNDLED / "simple_javascript.jsonl"))
    question = json.dumps(first.question[0][0]["content"], ensure_ascii=False)
    with server(lambda body: question in body) as base_url:
        options = {"base_url": base_url, "asking": "native"}
        done = evaluate(tmp_path / "data", "--target", "openai:m", *words, options=options)
    assert done.status == 0
    assert done.outcomes("bfcl") == {"failed": 12}  # none of the answers is a call
    ends = {call.key: call.completion.finish_reason for call in done.folder.read_calls()}
    assert [key for key, end in ends.items() if end == "unparsable"] == [
        f"bfcl/simple_javascript/{first.id}"
    ]


def test_without_tools_a_server_that_breaks_on_one_sample_is_at_fault_itself(asked) -> None:
    with server(lambda body: "SELECT 4 + 4" in body) as base_url:
        done = asked(base_url)
    assert done.status == 3
    assert done.outcomes("sql_understanding") == {"passed": 5, "target_error": 1}


def test_an_outage_for_the_rest_of_the_run_fails_no_sample_of_the_model(asked) -> None:
    seen: list[str] = []

    def breaks(body: str) -> bool:
        seen.append(body)
        return len(seen) > 3

    with server(breaks) as base_url:
        done = asked(base_url)
    assert done.status == 3
    assert done.outcomes("sql_understanding") == {"passed": 3, "target_error": 3}


def test_a_server_that_breaks_by_tools_alone_is_asked_by_a_prompt(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("EVALBOARD_RETRY_BASE", "0.01")
    words = ("--benchmarks", "bfcl", "--metrics", "simple_python", "--max-samples", "4")
    with server(lambda body: '"tools"' in body) as base_url:
        options = {"base_url": base_url}
        done = evaluate(tmp_path / "data", "--target", "openai:m", *words, options=options)
    assert done.status == 0
    assert {verdict.details["mode"] for verdict in done.verdicts("bfcl")} == {"prompt_python"}

"""The budget of a run: reserved before a request, never exceeded, raised to go on."""

from __future__ import annotations

import asyncio
import json

import pytest

from evalcore.cli.main import main
from evalcore.errors import RunStopped, UsageError
from evalcore.records import Completion, GenerationRequest, Message, Sampling, Usage
from evalcore.runner import run_request
from evalcore.runner.budget import RunBudget
from evalcore.store.run_folder import RunFolder
from evalcore.targets.pricing import Quote
from tests.support.capability_server import serve_capabilities
from tests.support.cases import syntax_cases

ASKED = GenerationRequest(messages=(Message("user", "x" * 40),))
CASES = 12
#: Of an answer with 100 tokens of prompt and 10 of answer, at 1000 USD per million.
PRICE = 0.11


def dollar_per_token(usage: Usage) -> Quote:
    return Quote(float((usage.input_tokens or 0) + (usage.output_tokens or 0)), "user_table")


async def pay(budget: RunBudget, tokens: int, request: GenerationRequest = ASKED) -> None:
    """One answer of so many tokens to a prompt of ten."""
    reserved = await budget.reserve("target", request, dollar_per_token)
    await asyncio.sleep(0)
    usage = Usage(input_tokens=10, output_tokens=tokens)
    budget.settle("target", reserved, Completion(usage=usage), usage, dollar_per_token)


@pytest.mark.parametrize("limit", [1100.0, 1500.0, 2000.0])
async def test_requests_in_flight_do_not_exceed_the_budget_together(limit):
    budget = RunBudget(limit)
    done = await asyncio.gather(*(pay(budget, 90) for _ in range(200)), return_exceptions=True)
    assert limit - 100 < budget.spent <= limit
    assert all(isinstance(end, RunStopped) for end in done if end is not None)
    assert budget.reserved == 0.0


async def test_a_request_with_a_limit_reserves_no_more_than_that():
    budget = RunBudget(100.0)
    short = GenerationRequest(
        messages=(Message("user", "x" * 40),), sampling=Sampling(max_tokens=5)
    )
    await pay(budget, 5, short)
    with pytest.raises(RunStopped, match=r"budget of \$100"):
        await budget.reserve("judge:x", ASKED, dollar_per_token)


async def test_an_answer_that_never_came_gives_its_reservation_back():
    budget = RunBudget(2000.0)
    reserved = await budget.reserve("target", ASKED, dollar_per_token)
    waiting = asyncio.create_task(budget.reserve("target", ASKED, dollar_per_token))
    await asyncio.sleep(0)
    assert not waiting.done()
    budget.settle("target", reserved, None, Usage(), dollar_per_token)
    assert await waiting == reserved
    assert budget.spent == 0.0


async def test_without_a_limit_nothing_waits():
    budget = RunBudget()
    await asyncio.gather(*(pay(budget, 10_000) for _ in range(50)))
    assert budget.limit == 0.0


@pytest.mark.parametrize("amount", [-1.0, float("nan"), float("inf")])
def test_an_odd_amount_is_no_budget(amount):
    with pytest.raises(UsageError, match="amount in USD"):
        run_request.check_budget(amount)


@pytest.fixture
def priced(tmp_path, monkeypatch):
    """The words of a run of 12 cases on a server, at a known price."""
    toml = tmp_path / "evalboard.toml"
    toml.write_text('[prices."able"]\ninput = 1000.0\noutput = 1000.0\n')
    monkeypatch.setenv("EVALBOARD_CONFIG", str(toml))
    cases = str(syntax_cases(tmp_path / "cases", CASES))
    data = str(tmp_path / "data")

    def words(server, *more: str) -> list[str]:
        target = ["--target", "openai:able", "--target-option", f"base_url={server.base_url}"]
        command = ["run", *target, "--benchmarks", "sql_understanding", "--dataset", cases]
        return [*command, "--data", data, *more]

    return words


def test_a_run_stops_in_time_and_is_resumed_with_a_larger_budget(priced, capsys, tmp_path):
    with serve_capabilities(text='{"has_syntax_error": "no"}') as server:
        assert main(priced(server, "--budget", "0.5", "--json")) == 3
        run_id = json.loads(capsys.readouterr().out)["run_id"]
        folder = RunFolder(tmp_path / "data" / "runs" / run_id)
        assert len(server.bodies) == 4
        summary = folder.read_summary()
        assert summary.state == "incomplete"
        assert summary.totals.cost == pytest.approx(4 * PRICE)
        assert summary.benchmarks["sql_understanding"].coverage == pytest.approx(4 / CASES)
        assert not summary.errors
        data = ["--data", str(tmp_path / "data")]
        assert main(["show", run_id, *data]) == 3
        assert "budget of $0.5" in capsys.readouterr().out
        assert main(["resume", run_id, *data]) == 3  # the same budget pays for nothing more
        assert len(server.bodies) == 4
        assert main(["resume", run_id, "--budget", "0.8", *data]) == 3
        assert len(server.bodies) == 7
        assert main(["resume", run_id, "--budget", "0", *data]) == 0
        assert len(server.bodies) == CASES
    assert folder.read_summary().message == ""
    assert "--budget 0.5" in folder.read_spec().command


def test_an_unknown_price_asks_for_prices_before_anything_is_sent(priced, capsys, monkeypatch):
    with serve_capabilities() as server:
        command = priced(server, "--budget", "1")
        command[2] = "openai:never-heard-of"
        assert main(command) == 2
        assert '[prices."never-heard-of"]' in capsys.readouterr().err
        assert server.bodies == []


def test_an_estimate_says_when_the_budget_is_too_small(priced, capsys):
    with serve_capabilities() as server:
        assert main(priced(server, "--budget", "0.001", "--estimate")) == 0
        shown = capsys.readouterr().out
        assert server.bodies == []
    assert "more than the budget of $0.001" in shown
    assert "requests      12" in shown

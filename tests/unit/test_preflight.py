"""A preflight learns what a target can do in at most five requests, and a run gets a copy."""

from __future__ import annotations

import itertools
import json

import pytest

from evalcore.access.secrets import Secrets
from evalcore.cli.main import main
from evalcore.records import TargetSpec
from evalcore.runner import preflight
from evalcore.runner.run_request import ConnectionReport
from evalcore.settings import Settings
from evalcore.store.run_folder import RunFolder
from evalcore.targets import registry
from tests.support.capability_server import CapabilityServer, serve_capabilities
from tests.support.cases import syntax_cases

PARAMETERS = ("max_tokens", "temperature", "seed", "top_p")


async def probe(server: CapabilityServer, **options) -> ConnectionReport:
    spec = TargetSpec("openai:able", {"base_url": server.base_url, **options})
    target = registry.create_target(spec, Settings(), Secrets())
    await target.open(lambda line: None)
    try:
        return await preflight.probe_target(target, spec, Settings())
    finally:
        await target.close()


def states(report: ConnectionReport) -> dict[str, str]:
    return {line.name: line.state for line in report.capabilities}


async def test_a_model_that_can_do_everything_takes_four_requests():
    with serve_capabilities() as server:
        report = await probe(server)
    assert report.ok
    assert len(server.bodies) == report.requests == 4
    learned = states(report)
    assert [name for name, state in learned.items() if state == "yes"] == [
        *("key", "model", "tools", "tool_results", "sampling", "token_limit"),
        *(["streaming"] if learned["streaming"] == "yes" else []),
        "usage",
    ]
    assert report.model == "able-1"
    result = server.bodies[2]["messages"]
    assert [message["role"] for message in result] == ["user", "assistant", "tool"]
    assert result[2]["tool_call_id"] == result[1]["tool_calls"][0]["id"]
    sent = set().union(*server.bodies)
    assert {"temperature", "seed", "top_p"} <= sent


@pytest.mark.parametrize(
    "refused", [names for n in range(5) for names in itertools.combinations(PARAMETERS, n)]
)
async def test_no_refusal_takes_more_than_five_requests(refused):
    with serve_capabilities(refused=refused) as server:
        report = await probe(server)
    assert report.ok
    assert len(server.bodies) <= preflight.REQUEST_LIMIT
    learned = {line.name: line for line in report.capabilities}
    assert learned["tools"].state == "yes"
    if {"temperature"} & set(refused):
        assert learned["sampling"].state == "no"
        assert "temperature" in learned["sampling"].detail


@pytest.mark.parametrize(("status", "name"), [(401, "key"), (403, "key"), (404, "model")])
async def test_a_dead_key_and_an_unknown_model_cost_one_request(status, name):
    with serve_capabilities(failure=(status, "no such thing")) as server:
        report = await probe(server)
    assert (report.ok, len(server.bodies)) == (False, 1)
    assert states(report)[name] == "no"
    assert "no such thing" in report.message


@pytest.mark.parametrize("tools", ["ignored", "refused"])
async def test_a_model_without_tools_is_said_to_have_none(tools):
    with serve_capabilities(tools=tools, tokens=None) as server:
        report = await probe(server)
    learned = states(report)
    assert (learned["tools"], learned["tool_results"]) == ("no", "unknown")
    assert learned["token_limit"] == "yes"
    assert (learned["usage"], learned["price"]) == ("no", "no")
    assert len(server.bodies) <= preflight.REQUEST_LIMIT


def test_the_command_prints_the_card_and_a_run_stores_it(tmp_path, capsys):
    data = ["--data", str(tmp_path / "data")]
    cases = str(syntax_cases(tmp_path / "cases", 2))
    with serve_capabilities() as server:
        target = ["openai:able", "--target-option", f"base_url={server.base_url}"]
        assert main(["preflight", *target, *data]) == 0
        assert "Tool calls" in capsys.readouterr().out
        command = ["run", "--target", *target, "--benchmarks", "sql_understanding", *data]
        assert main([*command, "--dataset", cases, "--json"]) == 0
    run_id = json.loads(capsys.readouterr().out)["run_id"]
    card = RunFolder(tmp_path / "data" / "runs" / run_id).read_card()
    stored = {line["name"]: line["state"] for line in card["preflight"]["capabilities"]}
    assert stored["tools"] == "yes"
    assert card["model"] == "able"


def test_the_card_of_another_target_or_of_another_day_is_none(tmp_path):
    settings = Settings(data=str(tmp_path))
    spec = TargetSpec("openai:able")
    report = ConnectionReport(True, "", identity=spec.identity, at="2020-01-01T00:00:00+00:00")
    assert preflight.load_preflight(spec, settings) is None
    preflight.store_preflight(report, settings)
    assert preflight.load_preflight(spec, settings) is None
    (tmp_path / "preflights").joinpath(next((tmp_path / "preflights").iterdir())).write_text("{")
    assert preflight.build_run_card(spec, settings) == {}

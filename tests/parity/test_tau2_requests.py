"""Under protocol=official tau2-bench's agent and user are asked in upstream's words."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from evalcore.benchmarks.tau2_bench.card import BANK, RETRIEVALS
from evalcore.benchmarks.tau2_bench.environment.tasks import read_task
from evalcore.exchange.tau2_bench import read_tau2_texts
from evalcore.settings import ROOT
from tests.support.tau2_parity import load_all_tasks

DRIVER = "tests.support.tau2_upstream_requests"
LINE = "Hello there."
#: Domains whose users have no tools; those of the others are compared in whole episodes.
FIRST_REQUESTS = ("retail", "airline")


@pytest.fixture(scope="module")
def asked(tau2_checkout, tau2_python):
    """What upstream's own code asks, by domain."""
    policies = {domain: f"The policy of {domain}." for domain in FIRST_REQUESTS}
    policies["retrievals"] = [*RETRIEVALS]
    done = subprocess.run(
        [tau2_python, "-m", DRIVER, str(tau2_checkout)],
        input=json.dumps(policies),
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "TAU2_DATA_DIR": str(tau2_checkout / "data")},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def plain(messages):
    return [(message["role"], message["content"]) for message in messages]


@pytest.mark.parametrize("domain", FIRST_REQUESTS)
def test_requests_are_upstreams(tau2_checkout, asked, domain):
    texts, theirs = read_tau2_texts(tau2_checkout), asked[domain]
    assert json.loads(texts.tools[domain]) == theirs["tools"]
    assert json.dumps(json.loads(texts.tools[domain])) == json.dumps(theirs["tools"])
    assert plain(theirs["agent"]) == [
        ("system", texts.build_agent_prompt(f"The policy of {domain}.")),
        ("assistant", texts.greeting),
        ("user", LINE),
    ]
    assert theirs["temperatures"] == [texts.temperature, texts.user_temperature]
    path = tau2_checkout / "data" / "tau2" / "domains" / domain / "tasks.json"
    tasks = [read_task(row) for row in json.loads(path.read_text("utf-8"))]
    assert {task.id for task in tasks} == theirs["users"].keys()
    for task in tasks:
        assert plain(theirs["users"][task.id]) == [
            ("system", texts.build_user_prompt(task.user_scenario)),
            ("user", texts.greeting),
        ]


@pytest.mark.parametrize("retrieval", RETRIEVALS)
def test_the_bank_is_asked_as_upstream_asks(tau2_checkout, asked, retrieval):
    texts, theirs = read_tau2_texts(tau2_checkout), asked["retrievals"][retrieval]
    world, tasks = load_all_tasks(tau2_checkout, BANK)
    assert json.dumps(texts.list_tool_schemas(BANK, retrieval)) == json.dumps(theirs["tools"])
    assert texts.bank.tools["user"] == json.dumps(theirs["user_tools"])
    for task, policy in zip(tasks, theirs["policies"], strict=False):
        assert texts.bank.build_policy(retrieval, world, task.required_documents) == policy

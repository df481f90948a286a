"""What visitors may use up: runs of a day, runs at once, money."""

from __future__ import annotations

import json
import time

import msgspec
import pytest

from evalcore.access import policy
from evalcore.access.policy import OPERATOR, AccessDenied
from evalcore.errors import UsageError
from evalcore.records import Completion, GenerationRequest, Message, TargetSpec, Usage
from evalcore.results import Progress
from evalcore.runner import client, request_policy
from evalcore.runner.budget import RunBudget, estimate_usage
from evalcore.runner.run_request import RunRequest
from evalcore.settings import Price, Settings
from evalcore.targets.base import TargetInfo
from tests.support.loopback_server import serve
from tests.support.visitors import INSIDE, NULL, guarded, planned, with_mode


@pytest.fixture
def settings(tmp_path, monkeypatch) -> Settings:
    return guarded(tmp_path, monkeypatch)


@pytest.fixture
def limited(settings) -> Settings:
    return with_mode(
        settings, "passcode", runs_per_day=3, runs_at_once=2, run_budget=1.0, day_budget=4.0
    )


def test_runs_of_a_day_are_counted_in_the_store(limited):
    who = INSIDE["passcode"]
    mark, now = policy.compute_visitor_id(limited, who), time.time()
    planned(limited, "passcode", mark, created=now - 90_000, cost=0.0)  # the day before
    planned(limited, "passcode", "another", created=now - 50, cost=0.0)
    planned(limited, "", "", created=now - 40, cost=9.0)  # the operator's
    planned(limited, "passcode", mark, created=now - 30, cost=0.0)
    gone = planned(limited, "passcode", mark, created=now - 20, cost=0.0)
    request_policy.check_quota(limited, who)
    with pytest.raises(AccessDenied, match="3 runs a day"):
        request_policy.check_quota(limited, who, 2)
    client.delete_run(gone.run_id, limited, visitor=who)
    planned(limited, "passcode", mark, created=now - 10, cost=0.0)
    with pytest.raises(AccessDenied, match="3 runs a day to each visitor; 3 were started"):
        request_policy.check_quota(limited, who)
    with pytest.raises(AccessDenied, match="3 runs a day"):
        client.launch_run(NULL, {}, limited, visitor=who)
    request_policy.check_quota(limited, OPERATOR)


def test_runs_at_once_are_limited(limited):
    who, now = INSIDE["passcode"], time.time()
    planned(limited, "passcode", "a", created=now)
    request_policy.check_quota(limited, who)
    waiting = planned(limited, "passcode", "b", created=now)
    with pytest.raises(AccessDenied, match="2 runs at once"):
        request_policy.check_quota(limited, who)
    request_policy.check_quota(limited, who, resumed_run=waiting.run_id)


def test_the_money_of_a_day_is_counted_and_kept_for_runs_at_work(limited):
    who, now = INSIDE["passcode"], time.time()
    planned(limited, "passcode", "a", created=now - 60, cost=2.5)
    request_policy.check_quota(limited, who)
    ended = planned(limited, "passcode", "b", created=now - 50, cost=0.6)
    with pytest.raises(AccessDenied, match=r"\$4 a day"):
        request_policy.check_quota(limited, who)
    (ended.path / "progress.json").write_bytes(
        msgspec.json.encode(Progress(run_id=ended.run_id, state="incomplete", cost=0.1))
    )
    request_policy.check_quota(limited, who)
    planned(limited, "passcode", "c", created=now)  # its whole budget may yet be spent
    with pytest.raises(AccessDenied, match=r"\$4 a day"):
        request_policy.check_quota(limited, who)
    free = msgspec.structs.replace(limited, day_budget=0.0)
    request_policy.check_quota(free, who)


def test_an_unknown_cost_counts_as_the_whole_budget(limited):
    folder = planned(limited, "passcode", "a", created=time.time() - 60, cost=0.0)
    plain = json.loads((folder.path / "progress.json").read_bytes()) | {"cost": None}
    (folder.path / "progress.json").write_text(json.dumps(plain))
    assert request_policy.compute_quota_usage(limited, INSIDE["passcode"]).spent == 1.0


def test_a_model_of_unknown_price_is_not_asked_on_a_budget():
    info = TargetInfo(
        kind="endpoint",
        title="x",
        max_in_flight=1,
        start_in_flight=1,
        revision="",
        card={"model": "never-heard-of", "endpoint": "https://api.example.org/v1"},
    )
    spec = TargetSpec("openai:never-heard-of")
    with pytest.raises(UsageError, match="price is unknown"):
        RunBudget(1.0).check_price(spec, info, Settings())
    RunBudget().check_price(spec, info, Settings())
    priced = Settings(prices={"never-heard-of": Price(input=1.0, output=2.0)})
    RunBudget(1.0).check_price(spec, info, priced)


def test_tokens_that_a_server_does_not_count_are_counted_by_length():
    asked = GenerationRequest(messages=(Message(role="user", content="x" * 400),))
    assert estimate_usage(asked, Completion(text="y" * 40)) == Usage(
        input_tokens=100, output_tokens=10
    )
    usage = Usage(input_tokens=7, output_tokens=3)
    assert estimate_usage(asked, Completion(text="y" * 40, usage=usage)) == usage
    paid = estimate_usage(asked, Completion(text="y" * 40, usage=Usage(cost=0.5)))
    assert paid == Usage(input_tokens=100, output_tokens=10, cost=0.5)


def test_a_run_ends_where_its_budget_does(settings):
    """What was paid for stays; the run says why the other cases were not asked."""
    with serve() as server:
        bound = with_mode(
            settings,
            "open",
            prices={"test": Price(input=1000.0, output=1000.0)},
        )
        request = RunRequest(
            target="openai:test",
            benchmarks=("sql_understanding",),
            target_options={"base_url": server.base_url},
            max_samples=12,
            concurrency=1,
            budget=0.8,
        )
        from evalcore.access.secrets import Secrets
        from evalcore.runner.execute import execute_run
        from evalcore.runner.plan import create_folder, plan_run

        folder = create_folder(plan_run(request, bound), bound)
        summary = execute_run(folder, bound, Secrets({"OPENAI_API_KEY": "sk-0123456789abcdef"}))
        asked = server.stats()["requests"]
    assert not summary.is_complete
    assert 0 < asked < 12
    assert "budget of $0.8" in summary.message
    assert all(
        verdict.verdict.score is not None for verdict in folder.read_verdicts(summary.scoring)
    )

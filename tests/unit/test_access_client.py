"""The door for pages in every mode: what it refuses, and what of the server a worker never gets."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import time

import msgspec
import pytest

from evalcore import access, login, passcode
from evalcore.access import ANYBODY, OPERATOR, AccessDenied, Visitor
from evalcore.errors import TargetFailure, UsageError
from evalcore.records import Completion, GenerationRequest, Message, Progress, TargetSpec, Usage
from evalcore.runner import allowance, client, processes
from evalcore.runner.purse import Purse, counted
from evalcore.runner.request import RunRequest
from evalcore.settings import Price, Settings
from evalcore.store.run_folder import RunFolder
from evalcore.targets.base import TargetInfo
from tests.support.loopback_server import serve
from tests.support.page_stores import RUN, evidence_run

CODE = "correct horse battery"
INSIDE = {
    "passcode": Visitor(proved=True),
    "oidc": Visitor(name="https://id.example|7", proved=True),
}
OUTSIDE = {
    "read-only": Visitor(name="https://id.example|7", proved=True),
    "passcode": ANYBODY,
    "oidc": Visitor(name="https://id.example|8"),
}
NULL = RunRequest(target="control:null", benchmarks=("sql_understanding",), max_samples=2)


@pytest.fixture
def settings(tmp_path, monkeypatch) -> Settings:
    monkeypatch.setattr(access, "_own_machine", None)
    monkeypatch.setenv(passcode.VARIABLE, CODE)
    monkeypatch.delenv("EVALBOARD_ACCESS", raising=False)
    for name in ("EVALBOARD_CONFIG", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return Settings(data=str(tmp_path / "data"), shipped=str(tmp_path / "none"))


def with_mode(settings: Settings, mode: str, **changes: object) -> Settings:
    return msgspec.structs.replace(settings, access=mode, **changes)


DOORS = {
    "launch": lambda s, v: client.launch(NULL, {}, s, visitor=v),
    "launch_pair": lambda s, v: client.launch_pair(
        NULL, TargetSpec("control:noop"), {}, s, visitor=v
    ),
    "resume": lambda s, v: client.resume(RUN, {}, s, visitor=v),
    "rescore": lambda s, v: client.rescore(RUN, s, visitor=v),
    "cancel": lambda s, v: client.cancel(RUN, s, visitor=v),
    "delete": lambda s, v: client.delete(RUN, s, visitor=v),
    "restore": lambda s, v: client.restore(RUN, s, visitor=v),
    "estimate": lambda s, v: client.estimate(NULL, s, visitor=v),
    "test_connection": lambda s, v: client.test_connection("control:null", {}, {}, s, visitor=v),
    "look_at_model": lambda s, v: client.look_at_model("hf:/etc", {}, s, visitor=v),
    "worker_log": lambda s, v: client.worker_log(RUN, s, visitor=v),
}


@pytest.mark.parametrize("mode", list(OUTSIDE))
@pytest.mark.parametrize("door", list(DOORS))
def test_every_door_is_shut_to_those_outside(settings, monkeypatch, mode, door):
    def started(*given, **more):
        raise AssertionError("a process was started")

    monkeypatch.setattr(subprocess, "run", started)
    monkeypatch.setattr(subprocess, "Popen", started)
    evidence_run(settings.runs_dir)
    before = sorted(str(path) for path in settings.data_dir.rglob("*"))
    with pytest.raises(AccessDenied):
        DOORS[door](with_mode(settings, mode), OUTSIDE[mode])
    assert sorted(str(path) for path in settings.data_dir.rglob("*")) == before


@pytest.mark.parametrize("door", list(DOORS))
def test_no_door_opens_without_saying_who_asks(door):
    asked = inspect.signature(getattr(client, door)).parameters["visitor"]
    assert asked.kind is inspect.Parameter.KEYWORD_ONLY
    assert asked.default is inspect.Parameter.empty


@pytest.mark.parametrize("door", list(DOORS))
def test_a_server_on_all_addresses_is_shut_without_a_setting(settings, door):
    access.listening_on(None)
    with pytest.raises(AccessDenied, match="read-only"):
        DOORS[door](settings, ANYBODY)


def test_a_run_of_a_visitor_says_under_which_access_and_not_by_whom(settings):
    known = with_mode(settings, "oidc")
    run = client.launch(NULL, {}, known, visitor=INSIDE["oidc"])
    spec = RunFolder(settings.runs_dir / run).spec()
    assert spec.access == "oidc"
    assert spec.started_by == access.mark(known, INSIDE["oidc"])
    assert "id.example" not in (settings.runs_dir / run / "spec.json").read_text()
    wait(RunFolder(settings.runs_dir / run))
    forged = msgspec.structs.replace(NULL, access="oidc", started_by="somebody")
    own = client.launch(forged, {}, settings, visitor=OPERATOR)
    assert RunFolder(settings.runs_dir / own).spec().started_by == ""
    wait(RunFolder(settings.runs_dir / own))


def test_a_worker_gets_no_secret_of_the_server(settings, monkeypatch):
    for name in (passcode.VARIABLE, login.SECRET, login.COOKIE):
        monkeypatch.setenv(name, "do not tell")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-for-the-worker")
    for visitor in (OPERATOR, INSIDE["passcode"]):
        given = processes.environment(with_mode(settings, "passcode"), visitor)
        assert "do not tell" not in given.values()
        assert given["OPENAI_API_KEY"] == "sk-for-the-worker"
    assert given["EVALBOARD_ACCESS"] == "passcode"


BOUND = {
    "allow_endpoints": ("deepseek", "api.example.org"),
    "allow_applications": ("sqlflash",),
    "allow_models": ("Qwen/Qwen3-0.6B", "/srv/models/own", "../up"),
    "allow_datasets": ("sql_ours", "team/*", "/srv/cases.jsonl", "../secret"),
}
#: What a request is changed to, and the setting or option that the refusal names.
REFUSED = [
    ({"target": "openai:gpt-5"}, "allow_endpoints"),
    ({"target": "openai:ollama/x"}, "allow_endpoints"),
    ({"target": "openai:x", "target_options": {"base_url": "https://evil.example/v1"}}, "allow_e"),
    ({"target": "openai:deepseek/x", "target_options": {"base_url": "https://e.example"}}, "allow"),
    ({"target": "openai:deepseek/x", "target_options": {"api_key_env": "AWS_KEY"}}, "api_key_env"),
    ({"target": "openai:deepseek/x", "target_options": {"extra_body": {"model": "y"}}}, "extra_b"),
    ({"target": "hf:/etc"}, "allow_models"),
    ({"target": "hf:/srv/models/own"}, "allow_models"),
    ({"target": "hf:../up"}, "allow_models"),
    ({"target": "hf:~/model"}, "allow_models"),
    ({"target": "hf:./model"}, "allow_models"),
    ({"target": "hf:Qwen/Qwen3-8B"}, "allow_models"),
    ({"target": "hf:Qwen/Qwen3-0.6B/../../x"}, "allow_models"),
    ({"target": "hf:Qwen/Qwen3-0.6B", "target_options": {"adapter": "/srv/a"}}, "allow_models"),
    ({"target": "hf:Qwen/Qwen3-0.6B", "target_options": {"trust_remote_code": True}}, "trust_r"),
    ({"target": "hf:Qwen/Qwen3-0.6B", "target_options": {"trust_remote_code": "yes"}}, "trust_r"),
    ({"target": "hf:Qwen/Qwen3-0.6B", "target_options": {"allow_pickle": "1"}}, "allow_pickle"),
    ({"target": "app:sqlshift"}, "allow_applications"),
    ({"target": "app:/etc/passwd.yaml"}, "allow_applications"),
    ({"target": "app:../sqlflash"}, "allow_applications"),
    ({"target": "app:sqlflash", "target_options": {"base_url": "http://e.example"}}, "allow_end"),
    ({"target": "other:x"}, "kind 'other'"),
    ({"dataset": "/etc/passwd"}, "allow_datasets"),
    ({"dataset": "/srv/cases.jsonl"}, "allow_datasets"),
    ({"dataset": "../secret"}, "allow_datasets"),
    ({"dataset": "~/cases.jsonl"}, "allow_datasets"),
    ({"dataset": "team/../../secret"}, "allow_datasets"),
    ({"dataset": "team/a/b"}, "allow_datasets"),
    ({"dataset": "team/.."}, "allow_datasets"),
    ({"dataset": "team\\..\\x"}, "allow_datasets"),
    ({"dataset": "unheard"}, "allow_datasets"),
    ({"options": {"sql_understanding": {"prompt": "/etc/passwd"}}}, "prompt"),
    ({"options": {"sql_understanding": {"data_path": "/etc/passwd"}}}, "allow_datasets"),
    ({"options": {"sql_understanding": {"postgres_dsn": "postgres://x"}}}, "postgres_dsn"),
    ({"judges": ("openai:gpt-5",)}, "allow_endpoints"),
    ({"judges": ("openai:x?base_url=http://169.254.169.254/v1",)}, "allow_endpoints"),
    ({"judges": ("hf:/etc",)}, "allow_models"),
]


@pytest.mark.parametrize("mode", list(INSIDE))
@pytest.mark.parametrize(("changes", "named"), REFUSED)
def test_what_no_list_allows_is_refused_before_anything_is_read(settings, mode, changes, named):
    bound = with_mode(settings, mode, **BOUND)
    request = msgspec.structs.replace(NULL, **changes)
    seen = access.seen_by(bound, INSIDE[mode])
    with pytest.raises(UsageError, match=named):
        client.allowed.check(request, seen, client.Secrets())
    client.allowed.check(request, access.seen_by(bound, OPERATOR), client.Secrets())


ALLOWED = [
    {},
    {"target": "baseline:sqlglot"},
    {"target": "openai:deepseek/deepseek-chat"},
    {"target": "openai:x", "target_options": {"base_url": "https://api.example.org/v1"}},
    {"target": "hf:Qwen/Qwen3-0.6B", "target_options": {"trust_remote_code": False}},
    {"target": "hf:Qwen/Qwen3-0.6B", "target_options": {"adapter": "Qwen/Qwen3-0.6B"}},
    {"target": "app:sqlflash"},
    {"dataset": "sql_ours"},
    {"dataset": "team/week-1"},
    {"dataset": "sql_understanding"},
    {"options": {"sql_understanding": {"mode": "scale", "weights.syntax": 2}}},
    {"judges": ("openai:deepseek/deepseek-chat",)},
]


@pytest.mark.parametrize("changes", ALLOWED)
def test_what_a_list_allows_is_not_refused(settings, changes):
    seen = access.seen_by(with_mode(settings, "passcode", **BOUND), INSIDE["passcode"])
    client.allowed.check(msgspec.structs.replace(NULL, **changes), seen, client.Secrets())


def test_the_models_that_play_a_user_are_bound_too(settings):
    seen = with_mode(settings, "passcode", **BOUND)
    options = {"tau_bench": {"use_llm_user": True, "user_model": "openai:gpt-5"}}
    request = RunRequest(target="control:null", benchmarks=("tau_bench",), options=options)
    with pytest.raises(UsageError, match="allow_endpoints"):
        client.allowed.check(request, seen, client.Secrets())


@pytest.mark.parametrize(("changes", "named"), REFUSED[:3] + REFUSED[6:7] + REFUSED[22:23])
def test_a_refused_request_leaves_no_run(settings, changes, named):
    bound = with_mode(settings, "passcode", **BOUND)
    request = msgspec.structs.replace(NULL, **changes)
    for door in (client.launch, client.estimate):
        arguments = (request, {}, bound) if door is client.launch else (request, bound)
        with pytest.raises(UsageError, match=named):
            door(*arguments, visitor=INSIDE["passcode"])
    assert list(settings.runs_dir.glob("*")) == []


def test_a_model_that_is_not_allowed_is_not_looked_at(settings, tmp_path):
    (tmp_path / "config.json").write_text("{}")
    bound = with_mode(settings, "passcode", **BOUND)
    look = client.look_at_model(f"hf:{tmp_path}", {}, bound, visitor=INSIDE["passcode"])
    assert "allow_models" in look.problem
    assert look.about is None


def test_the_operators_variables_are_no_keys_of_a_visitor(settings, monkeypatch):
    """He is asked for the key, and is not told whether the server has one of that name."""
    bound = with_mode(settings, "passcode", **BOUND)
    options = {"base_url": "https://api.example.org/v1", "api_key_env": "SERVER_KEY"}
    monkeypatch.setenv("SERVER_KEY", "sk-of-the-operator")
    assert client.missing_keys("openai:x", options, bound) == ("SERVER_KEY",)
    assert client.missing_keys("openai:x", options, settings) == ()
    monkeypatch.setenv("DEEPSEEK_API_KEY", "sk-of-the-operator")
    assert client.missing_keys("openai:deepseek/x", {}, bound) == ()


def test_a_visitors_run_keeps_its_limits_when_the_operator_goes_on(settings):
    """Also when the server starts again and resumes what was interrupted."""
    with serve() as server:
        run = planned(settings, "passcode", "m", created=time.time())
        spec = msgspec.structs.replace(
            run.spec(),
            target=TargetSpec("openai:test", {"base_url": server.base_url}),
        )
        (run.path / "spec.json").write_bytes(msgspec.json.encode(spec))
        client.resume(run.run_id, {}, settings, visitor=OPERATOR)
        for _ in range(200):
            if run.progress() is not None and run.progress().state == "incomplete":
                break
            time.sleep(0.1)
        assert "allow_endpoints" in run.progress().message
        assert server.stats()["requests"] == 0


def planned(settings: Settings, mode: str, mark: str, *, created: float, cost: float | None = None):
    """A run folder of a visitor, ended at that cost where one is given."""
    run = time.strftime("%Y%m%d-%H%M%S", time.gmtime(created)) + f"-{os.urandom(3).hex()}"
    made = evidence_run(settings.runs_dir)
    folder = RunFolder(made.path.rename(settings.runs_dir / run))
    spec = msgspec.structs.replace(folder.spec(), run_id=run, access=mode, started_by=mark)
    (folder.path / "spec.json").write_bytes(msgspec.json.encode(spec))
    (folder.path / "summary.json").unlink(missing_ok=True)
    if cost is not None:
        folder.write_progress(Progress(run_id=run, state="incomplete", cost=cost))
        (folder.path / "worker.lock").touch()
    return folder


@pytest.fixture
def limited(settings) -> Settings:
    return with_mode(
        settings, "passcode", runs_per_day=3, runs_at_once=2, run_budget=1.0, day_budget=4.0
    )


def test_runs_of_a_day_are_counted_in_the_store(limited):
    who = INSIDE["passcode"]
    mark, now = access.mark(limited, who), time.time()
    planned(limited, "passcode", mark, created=now - 90_000, cost=0.0)  # the day before
    planned(limited, "passcode", "another", created=now - 50, cost=0.0)
    planned(limited, "", "", created=now - 40, cost=9.0)  # the operator's
    planned(limited, "passcode", mark, created=now - 30, cost=0.0)
    gone = planned(limited, "passcode", mark, created=now - 20, cost=0.0)
    allowance.check(limited, who)
    with pytest.raises(AccessDenied, match="3 runs a day"):
        allowance.check(limited, who, 2)
    client.delete(gone.run_id, limited, visitor=who)
    planned(limited, "passcode", mark, created=now - 10, cost=0.0)
    with pytest.raises(AccessDenied, match="3 runs a day to each visitor; 3 were started"):
        allowance.check(limited, who)
    with pytest.raises(AccessDenied, match="3 runs a day"):
        client.launch(NULL, {}, limited, visitor=who)
    allowance.check(limited, OPERATOR)


def test_runs_at_once_are_limited(limited):
    who, now = INSIDE["passcode"], time.time()
    planned(limited, "passcode", "a", created=now)
    allowance.check(limited, who)
    waiting = planned(limited, "passcode", "b", created=now)
    with pytest.raises(AccessDenied, match="2 runs at once"):
        allowance.check(limited, who)
    allowance.check(limited, who, again=waiting.run_id)


def test_the_money_of_a_day_is_counted_and_kept_for_runs_at_work(limited):
    who, now = INSIDE["passcode"], time.time()
    planned(limited, "passcode", "a", created=now - 60, cost=2.5)
    allowance.check(limited, who)
    ended = planned(limited, "passcode", "b", created=now - 50, cost=0.6)
    with pytest.raises(AccessDenied, match=r"\$4 a day"):
        allowance.check(limited, who)
    (ended.path / "progress.json").write_bytes(
        msgspec.json.encode(Progress(run_id=ended.run_id, state="incomplete", cost=0.1))
    )
    allowance.check(limited, who)
    planned(limited, "passcode", "c", created=now)  # its whole budget may yet be spent
    with pytest.raises(AccessDenied, match=r"\$4 a day"):
        allowance.check(limited, who)
    free = msgspec.structs.replace(limited, day_budget=0.0)
    allowance.check(free, who)


def test_an_unknown_cost_counts_as_the_whole_budget(limited):
    folder = planned(limited, "passcode", "a", created=time.time() - 60, cost=0.0)
    plain = json.loads((folder.path / "progress.json").read_bytes()) | {"cost": None}
    (folder.path / "progress.json").write_text(json.dumps(plain))
    assert allowance.used_by(limited, INSIDE["passcode"]).spent == 1.0


def test_a_purse_is_emptied_and_then_nothing_is_asked():
    purse = Purse(0.5)
    purse.check()
    purse.pay(0.3)
    purse.pay(None)
    purse.check()
    purse.pay(0.2)
    with pytest.raises(TargetFailure, match=r"\$0\.5, is used up") as caught:
        purse.check()
    assert caught.value.failure.kind == "permanent"
    unlimited = Purse()
    unlimited.pay(1e6)
    unlimited.check()


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
        Purse(1.0).check_price(spec, info, Settings())
    Purse().check_price(spec, info, Settings())
    priced = Settings(prices={"never-heard-of": Price(input=1.0, output=2.0)})
    Purse(1.0).check_price(spec, info, priced)


def test_tokens_that_a_server_does_not_count_are_counted_by_length():
    asked = GenerationRequest(messages=(Message(role="user", content="x" * 400),))
    assert counted(asked, Completion(text="y" * 40)) == Usage(input_tokens=100, output_tokens=10)
    told = Usage(input_tokens=7, output_tokens=3)
    assert counted(asked, Completion(text="y" * 40, usage=told)) == told


def test_a_run_ends_where_its_budget_does(settings):
    """What was paid for stays; the other cases say why there is no answer."""
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
        )
        from evalcore.runner import channels
        from evalcore.runner.execute import execute
        from evalcore.runner.plan import create_folder, plan
        from evalcore.secrets import Secrets

        folder = create_folder(plan(request, bound), bound)
        original = channels.Channels.__init__

        def limited(self, *given):
            original(self, *given)
            self.purse = Purse(0.4)

        channels.Channels.__init__ = limited
        try:
            summary = execute(folder, bound, Secrets({"OPENAI_API_KEY": "sk-0123456789abcdef"}))
        finally:
            channels.Channels.__init__ = original
        asked = server.stats()["requests"]
    assert not summary.complete
    assert 0 < asked < 12
    notes = {one.verdict.note for one in folder.verdicts(summary.scoring)}
    assert any("budget of this run" in text for text in notes)


def wait(folder: RunFolder) -> None:
    for _ in range(300):
        if folder.state() in ("done", "incomplete"):
            return
        time.sleep(0.1)
    raise AssertionError(folder.state())

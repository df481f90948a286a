"""The door for pages in every mode: what it refuses, and what of the server a worker never gets."""

from __future__ import annotations

import inspect
import subprocess
import time

import msgspec
import pytest

from evalcore.access import login, policy
from evalcore.access.policy import ANYBODY, OPERATOR, AccessDenied
from evalcore.records import TargetSpec
from evalcore.runner import client, jobs
from evalcore.settings import Settings
from evalcore.store.run_folder import RunFolder
from tests.support.page_stores import RUN, evidence_run
from tests.support.visitors import INSIDE, NULL, OUTSIDE, guarded, with_mode


@pytest.fixture
def settings(tmp_path, monkeypatch) -> Settings:
    return guarded(tmp_path, monkeypatch)


DOORS = {
    "launch_run": lambda s, v: client.launch_run(NULL, {}, s, visitor=v),
    "launch_pair": lambda s, v: client.launch_pair(
        NULL, TargetSpec("control:noop"), {}, s, visitor=v
    ),
    "resume_run": lambda s, v: client.resume_run(RUN, {}, s, visitor=v),
    "rescore_run": lambda s, v: client.rescore_run(RUN, s, visitor=v),
    "cancel_run": lambda s, v: client.cancel_run(RUN, s, visitor=v),
    "delete_run": lambda s, v: client.delete_run(RUN, s, visitor=v),
    "restore_run": lambda s, v: client.restore_run(RUN, s, visitor=v),
    "estimate_run": lambda s, v: client.estimate_run(NULL, s, visitor=v),
    "test_connection": lambda s, v: client.test_connection("control:null", {}, {}, s, visitor=v),
    "list_models": lambda s, v: client.list_models("openai", {}, {}, s, visitor=v),
    "inspect_model": lambda s, v: client.inspect_model("hf:/etc", {}, s, visitor=v),
    "worker_log": lambda s, v: client.worker_log(RUN, s, visitor=v),
}


@pytest.mark.parametrize("mode", list(OUTSIDE))
@pytest.mark.parametrize("door", list(DOORS))
def test_every_door_is_shut_to_those_outside(settings, monkeypatch, mode, door):
    def started(*args, **more):
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
    policy.set_listen_address(None)
    with pytest.raises(AccessDenied, match="read-only"):
        DOORS[door](settings, ANYBODY)


def test_a_run_of_a_visitor_says_under_which_access_and_not_by_whom(settings):
    mode = with_mode(settings, "oidc")
    run = client.launch_run(NULL, {}, mode, visitor=INSIDE["oidc"])
    spec = RunFolder(settings.runs_dir / run).read_spec()
    assert spec.access == "oidc"
    assert spec.started_by == policy.compute_visitor_id(mode, INSIDE["oidc"])
    assert "id.example" not in (settings.runs_dir / run / "spec.json").read_text()
    wait(RunFolder(settings.runs_dir / run))
    forged = msgspec.structs.replace(NULL, access="oidc", started_by="somebody")
    own = client.launch_run(forged, {}, settings, visitor=OPERATOR)
    assert RunFolder(settings.runs_dir / own).read_spec().started_by == ""
    wait(RunFolder(settings.runs_dir / own))


def test_a_worker_gets_no_secret_of_the_server(settings, monkeypatch):
    for name in (login.VARIABLE, login.SECRET, login.COOKIE):
        monkeypatch.setenv(name, "do not tell")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-for-the-worker")
    for visitor in (OPERATOR, INSIDE["passcode"]):
        environment = jobs.build_environment(with_mode(settings, "passcode"), visitor)
        assert "do not tell" not in environment.values()
        assert environment["OPENAI_API_KEY"] == "sk-for-the-worker"
    assert environment["EVALBOARD_ACCESS"] == "passcode"


def wait(folder: RunFolder) -> None:
    for _ in range(3000):
        if folder.current_state() in ("done", "incomplete"):
            return
        time.sleep(0.1)
    raise AssertionError(folder.current_state())

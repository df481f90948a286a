"""Results are kept without anybody asking: processes beside the server, the command line."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time

import pytest

from evalcore.access.secrets import Secrets
from evalcore.cli import main
from evalcore.runner import jobs, worker
from evalcore.settings import Settings
from evalcore.store import hub_state
from evalcore.store.hub_state import HubState
from evalcore.views import runs as queries
from evalcore.web import application
from tests.support.hub_repository import REPO, TOKEN, Store, serving
from tests.support.stored_runs import finish

pytestmark = pytest.mark.slow

RUN = "20260101-100000-aaaaaa"
PATIENCE = 180.0


@pytest.fixture
def hub(monkeypatch, tmp_path):
    with serving(Store()) as store:
        options = {
            "HF_ENDPOINT": store.address,
            "HF_TOKEN": TOKEN,
            "EVALBOARD_DATA": str(tmp_path / "data"),
            "EVALBOARD_SHIPPED": str(tmp_path / "none"),
            "EVALBOARD_HUB_REPO": REPO,
            "EVALBOARD_RETRY_BASE": "0.01",
        }
        for name, value in options.items():
            monkeypatch.setenv(name, value)
        yield store


@pytest.fixture
def here(hub, tmp_path) -> Settings:
    return Settings(
        data=str(tmp_path / "data"),
        shipped=str(tmp_path / "none"),
        hub_repo=REPO,
        retry_base=0.01,
    )


def wait_for(done) -> None:
    end = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < end, "nothing came"
        time.sleep(0.05)


def test_the_command_line_sends_and_takes_back(hub, here, tmp_path, capsys):
    finish(here.runs_dir, RUN)
    assert main.main(["hub", "push", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["sent"] == [RUN]
    other = str(tmp_path / "other")
    assert main.main(["hub", "pull", "--repo", REPO, "--data", other]) == 0
    assert "1 run downloaded" in capsys.readouterr().out
    assert (tmp_path / "other" / "runs" / RUN / "summary.json").is_file()


def test_the_command_line_tells_what_is_wrong(hub, here, capsys, monkeypatch):
    assert main.main(["hub", "push", "--repo", "nonsense"]) == 2
    assert "OWNER/NAME" in capsys.readouterr().err
    monkeypatch.delenv("HF_TOKEN")
    assert main.main(["hub", "pull"]) == 2
    assert "HF_TOKEN" in capsys.readouterr().err


def test_what_was_not_sent_shows_in_text_and_status(hub, here, capsys, monkeypatch):
    monkeypatch.setenv("LAB_API_KEY", "a-key-nobody-may-see")
    finish(here.runs_dir, RUN).write_card({"said": "a-key-nobody-may-see"})
    assert main.main(["hub", "push"]) == 3
    assert f"{RUN} was not uploaded" in capsys.readouterr().out


def test_a_push_that_is_killed_before_its_commit_is_made_up_for(hub, here):
    finish(here.runs_dir, RUN)
    words = [sys.executable, "-m", "evalcore", "hub", "push"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as push:
        hub.before_commit = push.kill
        push.communicate(timeout=PATIENCE)
    assert push.returncode == -signal.SIGKILL
    assert len(hub.large) == 1, "the archive was there, and nothing pointed to it"
    uploads = hub.count("PUT")
    hub.files.clear()  # whatever came of the commit that was under way
    assert main.main(["hub", "push"]) == 0
    assert [RUN in name for name in hub.files] == [True]
    assert hub.count("PUT") == uploads, "what was uploaded is not uploaded again"


def test_a_worker_sends_when_its_run_has_ended(hub, here, monkeypatch):
    from evalcore.runner.plan import create_folder, plan_run
    from evalcore.runner.run_request import RunRequest

    request = RunRequest("baseline:sqlglot", ("sql_understanding",), max_samples=2)
    folder = create_folder(plan_run(request, here), here)
    worker.work_on_run(folder, here, Secrets())
    wait_for(lambda: hub_state.read_hub_state(here).sent_at)
    assert any(folder.run_id in name for name in hub.files)


@pytest.mark.full
def test_a_server_takes_back_before_it_serves_and_sends_what_is_missing(hub, here):
    finish(here.runs_dir, RUN)
    jobs.schedule_push(here)
    wait_for(lambda: hub_state.read_hub_state(here).sent_at)
    (here.runs_dir / RUN).rename(here.data_dir / "lost")
    hub_state.write_hub_state(here, HubState())
    finish(here.runs_dir, "20260102-100000-bbbbbb")
    application.fetch_hub_results()
    assert (here.runs_dir / RUN / "summary.json").is_file()
    wait_for(lambda: len(hub.files) == 2)
    wait_for(lambda: hub_state.read_hub_state(here).sent_at)


def test_a_hub_that_does_not_answer_holds_no_start_up(hub, here, caplog):
    hub.exists, started = True, threading.Event()
    hub.reply = lambda *request: started.wait(PATIENCE) and (500, {}, b"")
    jobs.pull_from_hub(here, timeout=0.2)
    started.set()
    assert "continues in the background" in caplog.text


def test_a_hub_that_refuses_holds_no_start_up(hub, here, monkeypatch, caplog):
    monkeypatch.setenv("HF_TOKEN", "hf_" + "nobodyOfThisBoard" * 2)
    application.fetch_hub_results()
    assert "failed" in caplog.text
    assert "not valid" in (here.data_dir / "hub.log").read_text(encoding="utf-8")
    assert "not valid" in hub_state.read_hub_state(here).problem


def test_nothing_is_started_where_nothing_is_kept(here, monkeypatch, caplog):
    monkeypatch.setattr(subprocess, "Popen", lambda *args, **more: pytest.fail("started"))
    jobs.schedule_push(Settings(data=here.data))
    jobs.pull_from_hub(Settings(data=here.data))
    monkeypatch.delenv("HF_TOKEN")
    jobs.schedule_push(here)
    jobs.pull_from_hub(here)
    assert "HF_TOKEN is not set" in caplog.text


def test_no_token_stands_in_the_arguments_of_a_process(here, monkeypatch):
    seen = []
    real = subprocess.Popen

    def started(command, **more):
        seen.append(command)
        return real([sys.executable, "-c", "0"], **more)

    monkeypatch.setattr(subprocess, "Popen", started)
    jobs.schedule_push(here)
    assert TOKEN not in " ".join(seen[0])


def test_the_state_that_pages_show(here, monkeypatch):
    assert queries.load_hub_status(Settings(data=here.data)) is None
    assert queries.load_hub_status(here) == queries.HubSyncStatus(REPO, token=True)
    hub_state.write_hub_state(
        here, HubState(REPO, "2026-01-01T10:00", "", "it broke", {RUN: "too large"})
    )
    assert queries.load_hub_status(here) == queries.HubSyncStatus(
        REPO, True, "2026-01-01T10:00", "", "it broke", {RUN: "too large"}
    )
    hub_state.write_hub_state(here, HubState("another/place", "2026-01-01T10:00"))
    assert queries.load_hub_status(here) == queries.HubSyncStatus(REPO, token=True)
    (here.data_dir / "hub.json").write_text("{torn", encoding="utf-8")
    assert hub_state.read_hub_state(here) == HubState()

"""Whole runs of `tau_bench`: controls, a server as agent and as user, and a kill in between."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evalcore import settings as configuration
from evalcore.access.secrets import Secrets
from evalcore.records import Episode
from evalcore.results import RunSummary
from evalcore.runner.execute import execute_run
from evalcore.runner.plan import create_folder, plan_run
from evalcore.runner.run_request import RunRequest
from evalcore.settings import ROOT
from evalcore.store.run_folder import RunFolder
from tests.support import tau_data, tau_server
from tests.support.shared_data import shared_data
from tests.support.tau_data import CANCEL, IDLE, PLAYABLE

pytestmark = pytest.mark.slow

LOOK = {"name": "get_order_details", "kwargs": {"order_id": "#W1"}}
SCRIPT = (LOOK, "What is your order number?", "And the reason?", CANCEL, "Done. Anything else?")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tau_data.write(tmp_path / "data")


def collect_turns(folder: RunFolder) -> dict[tuple[str, int], tuple[object, ...]]:
    """What must not depend on how a run went: transcripts, states and ends of all episodes."""
    episodes: dict[tuple[str, int], Episode] = {
        (line.episode.key, line.episode.epoch): line.episode for line in folder.read_episodes()
    }
    return {
        key: (item.messages, item.state, item.termination, item.usage, item.completions)
        for key, item in episodes.items()
    }


def result(summary: RunSummary) -> tuple[object, ...]:
    score = summary.benchmarks["tau_bench"]
    return score.score, score.interval, score.outcomes, score.groups, score.metrics


def test_the_reference_scores_100_and_null_what_doing_nothing_is_worth(tmp_path, folder):
    ceiling, _ = tau_data.run(tmp_path / "a", folder, "control:reference", epochs=2)
    floor, _ = tau_data.run(tmp_path / "b", folder, "control:null", epochs=2)
    p0 = 100 * IDLE / (PLAYABLE + 1)
    best, worst = ceiling.benchmarks["tau_bench"], floor.benchmarks["tau_bench"]
    assert (ceiling.state, best.score) == ("done", 100)
    assert (best.groups["pass^2"], best.groups["adjusted"]) == (100, 100)
    assert worst.score == worst.groups["p0"] == best.groups["p0"] == pytest.approx(p0)
    assert worst.groups["adjusted"] == 0


def test_the_bundled_reference_scores_100_and_null_exactly_p0(tmp_path):
    path = ROOT / "datasets" / "tau_bench"
    if not path.is_dir():
        pytest.skip("the bundled tasks are absent: datasets/tau_bench")
    ceiling, _ = tau_data.run(tmp_path / "a", path, "control:reference")
    floor, _ = tau_data.run(tmp_path / "b", path, "control:null")
    best, worst = ceiling.benchmarks["tau_bench"], floor.benchmarks["tau_bench"]
    assert (ceiling.state, best.score) == ("done", 100)
    assert worst.score == pytest.approx(worst.groups["p0"])
    assert {name: metric.samples >= 40 for name, metric in best.metrics.items()} == {
        "retail": True,
        "airline": True,
    }


@pytest.mark.full
def test_on_the_official_train_split_too(tmp_path):
    """5 of its 500 tasks need nothing to be done; the 185 tasks in free prose are left out."""
    data = shared_data("tau_bench")
    ceiling, made = tau_data.run(tmp_path / "a", data, "control:reference")
    floor, _ = tau_data.run(tmp_path / "b", data, "control:null")
    best, worst = ceiling.benchmarks["tau_bench"], floor.benchmarks["tau_bench"]
    assert {line.sample.id.rsplit("/", 1)[0] for line in made.read_samples()} == {"retail/train"}
    assert (best.samples, best.score) == (500, 100)
    assert worst.score == worst.groups["p0"] == pytest.approx(1)


@pytest.mark.parametrize("asking", ["native", "auto"])
def test_a_server_is_an_agent(tmp_path, folder, asking):
    with tau_server.serve(SCRIPT) as server:
        options = {"base_url": server.base_url, "asking": asking}
        summary, made = tau_data.run(
            tmp_path, folder, "openai:m", {"split": "dev"}, target_options=options
        )
    assert summary.benchmarks["tau_bench"].score == 100
    [episode] = [line.episode for line in made.read_episodes()]
    assert episode.completions == len(SCRIPT)
    assert (episode.usage.input_tokens, episode.state["ended"]) == (50, "user_stop")


def test_a_model_plays_the_user_under_its_own_role(tmp_path, folder):
    with tau_server.serve((CANCEL, "Cancelled.")) as server:
        user = f"openai:user?base_url={server.base_url}&temperature=0"
        summary, made = tau_data.run(
            tmp_path,
            folder,
            "openai:m",
            {"use_llm_user": "true", "user_model": user, "domain": "retail", "split": "test"},
            target_options={"base_url": server.base_url, "asking": "native"},
            use_cache=False,
        )
    assert summary.state == "done"
    assert summary.benchmarks["tau_bench"].samples == len(tau_data.RETAIL)
    roles = {call.role for call in made.read_calls()}
    assert roles == {"target", f"user:{user}"}
    ends = {line.episode.state["ended"] for line in made.read_episodes()}
    assert ends == {"user_stop"}
    assert summary.totals.input_tokens == 10 * server.models["m"]


def planned(
    tmp_path: Path, folder: Path, server: tau_server.TauServer, **more: object
) -> RunFolder:
    settings = configuration.load_settings(tmp_path)
    request = RunRequest(
        target="openai:m",
        benchmarks=("tau_bench",),
        dataset=str(folder),
        target_options={"base_url": server.base_url, "asking": "native"},
        use_cache=False,
        **more,  # type: ignore[arg-type]
    )
    return create_folder(plan_run(request, settings), settings)


def again(made: RunFolder, tmp_path: Path) -> RunSummary:
    return execute_run(made, configuration.load_settings(tmp_path), Secrets({}))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("stored", [0, 1, 3, 7, 12])
def test_resumed_in_the_middle_of_an_episode_nothing_is_asked_twice(tmp_path, folder, stored):
    """A kill leaves the journal of calls up to some line, and no episode for the last ones."""
    with tau_server.serve(SCRIPT) as server:
        made = planned(tmp_path, folder, server, concurrency=1)
        whole, before = again(made, tmp_path), collect_turns(made)
        asked = server.asked.total()
        calls = made.path / "calls" / "main.jsonl"
        lines = calls.read_bytes().splitlines(keepends=True)
        assert len(lines) == asked > stored
        calls.write_bytes(b"".join(lines[:stored]))
        for location in (made.path / "generations", *(made.path / "verdicts").iterdir()):
            for path in location.glob("*.jsonl"):
                path.unlink()
        resumed = again(made, tmp_path)
    assert server.asked.total() == asked + asked - stored
    assert result(resumed) == result(whole)
    assert collect_turns(made) == before


def test_a_killed_worker_is_resumed_to_the_same_result(tmp_path, folder):
    with tau_server.serve(SCRIPT, delay=0.05) as server:
        whole = planned(tmp_path / "whole", folder, server)
        expected = again(whole, tmp_path / "whole")
        once = server.asked.total()
        made = planned(tmp_path / "killed", folder, server, concurrency=2)
        calls = made.path / "calls" / "main.jsonl"
        command = [sys.executable, "-m", "evalcore.runner.worker", str(made.path)]
        for journaled in (2, 8):
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            until = time.monotonic() + 180
            while _lines(calls) < journaled and time.monotonic() < until:
                time.sleep(0.005)
            assert process.poll() is None
            process.send_signal(signal.SIGKILL)
            process.wait()
        resumed = again(made, tmp_path / "killed")
    assert result(resumed) == result(expected)
    assert collect_turns(made) == collect_turns(whole)
    # Only what was under way at a kill may be asked again.
    assert server.asked.total() - once <= once + 2 * 2


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def test_the_run_remembers_its_options(tmp_path, folder):
    summary, made = tau_data.run(
        tmp_path, folder, "control:null", {"max_turns": "15", "domain": "retail", "split": "dev"}
    )
    options = made.read_spec().benchmarks[0].options
    assert (options["max_turns"], options["domain"]) == (15, "retail")
    assert "max_turns=15" in summary.benchmarks["tau_bench"].label
    assert made.read_spec().benchmarks[0].full is True

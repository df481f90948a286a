"""Whole runs of `bfcl` against a server, in every way of asking, and the controls' scores."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalcore import settings as configuration
from evalcore.access.secrets import Secrets
from evalcore.benchmarks.bfcl.card import CARD
from evalcore.benchmarks.bfcl.categories import AGENTIC, MULTI_TURN
from evalcore.records import Verdict
from evalcore.results import RunSummary
from evalcore.runner.execute import execute_run
from evalcore.runner.plan import create_folder, plan_run
from evalcore.runner.run_request import RunRequest
from evalcore.store.run_folder import RunFolder
from tests.support.tool_server import serve

pytestmark = pytest.mark.slow


def run(tmp_path: Path, target: str, **request: object) -> tuple[RunSummary, RunFolder]:
    settings = configuration.load_settings(tmp_path / "data")
    asked = RunRequest(target=target, benchmarks=("bfcl",), **request)  # type: ignore[arg-type]
    folder = create_folder(plan_run(asked, settings), settings)
    return execute_run(folder, settings, Secrets({})), folder


def verdicts(summary: RunSummary, folder: RunFolder) -> list[Verdict]:
    return [line.verdict for line in folder.read_verdicts(summary.scoring)]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("asking", "mode"),
    [
        ("native", "fc"),
        ("auto", "fc"),
        ("prompt", "prompt_python"),
        ("json", "prompt_name_arguments"),
    ],
)
def test_a_right_answer_is_right_however_it_was_asked_for(
    tmp_path: Path, asking: str, mode: str
) -> None:
    with serve() as server:
        options = {"base_url": server.base_url, "asking": asking}
        metrics = tuple(key for key in CARD.weights if key not in AGENTIC)
        summary, folder = run(tmp_path, "openai:m", target_options=options, metrics=metrics)
    result = verdicts(summary, folder)
    wrong = [(v.metric, v.id, v.details, v.note) for v in result if v.outcome != "passed"]
    assert wrong == []
    assert summary.state == "done"
    python = [v for v in result if "java" not in v.metric and v.metric not in MULTI_TURN]
    assert {v.details["mode"] for v in python} == {mode}
    conversations = [v for v in result if v.metric in MULTI_TURN]
    assert {v.details["call_reading"] for v in conversations} <= {"native"}
    offered = sum(bool(body.get("tools")) for body in server.requests)
    without = sum(line.sample.input["functions"] == "[]" for line in folder.read_samples())
    assert offered == (len(server.requests) - without if mode == "fc" else 0)


def test_auto_asks_by_prompt_where_the_server_takes_no_tools(tmp_path: Path) -> None:
    with serve("refuses") as server:
        options = {"base_url": server.base_url}
        summary, folder = run(tmp_path, "openai:m", target_options=options, metrics=("multiple",))
    assert summary.benchmarks["bfcl"].score == 100
    assert {v.details["mode"] for v in verdicts(summary, folder)} == {"prompt_python"}
    assert sum(bool(body.get("tools")) for body in server.requests) == 1


def test_what_the_target_said_of_itself_is_kept_with_the_run(tmp_path: Path) -> None:
    with serve() as server:
        options = {"base_url": server.base_url, "asking": "native"}
        _, folder = run(tmp_path, "openai:m", target_options=options, metrics=("parallel",))
    assert folder.read_card()["model"] == "m"
    assert folder.read_card()["base_url"] == server.base_url


def test_names_with_dots_are_offered_without_them(tmp_path: Path) -> None:
    with serve() as server:
        options = {"base_url": server.base_url, "asking": "native"}
        run(tmp_path, "openai:m", target_options=options, metrics=("parallel",))
    names = {tool["function"]["name"] for body in server.requests for tool in body["tools"]}
    assert "room_book_practice" in names
    assert not any("." in name for name in names)


def test_a_failing_server_is_never_a_right_abstention(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("EVALBOARD_MAX_ATTEMPTS", "1")
    with serve() as server:
        server.failing = True
        options = {"base_url": server.base_url, "asking": "native"}
        summary, folder = run(
            tmp_path, "openai:m", target_options=options, metrics=("irrelevance",)
        )
    assert {v.outcome for v in verdicts(summary, folder)} == {"target_error"}
    assert summary.benchmarks["bfcl"].score is None
    assert summary.state == "incomplete"


def test_the_reference_scores_100_and_null_the_share_of_abstentions(tmp_path: Path) -> None:
    """The official score gives hallucination 10 of its 100 points."""
    ceiling, _ = run(tmp_path / "a", "control:reference")
    floor, folder = run(tmp_path / "b", "control:null")
    assert ceiling.benchmarks["bfcl"].score == 100
    assert floor.benchmarks["bfcl"].score == pytest.approx(10)
    passed = {v.metric for v in verdicts(floor, folder) if v.outcome == "passed"}
    assert passed == {"irrelevance", "live_irrelevance"}
    groups = floor.benchmarks["bfcl"].groups
    assert groups["hallucination"] == 100
    assert groups["single_turn"] == pytest.approx(100 / 3)
    assert groups["overall"] == pytest.approx(10)


def test_scoring_twice_in_one_process_gives_the_same_verdicts(tmp_path: Path) -> None:
    first, folder = run(tmp_path, "control:reference", metrics=("multi_turn_base",))
    again = execute_run(
        folder, configuration.load_settings(tmp_path / "data"), Secrets({}), generate=False
    )
    assert again.benchmarks == first.benchmarks

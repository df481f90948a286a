"""Whole runs of `gaia`: controls on the bundled questions, and a server as an agent with tools."""

from __future__ import annotations

import json

import pytest

from evalcore.benchmarks.registry import instantiate_benchmark
from evalcore.errors import UsageError
from evalcore.settings import ROOT
from tests.support import agentic, gaia_files, tau_server

BUNDLED = ROOT / "datasets" / "gaia"
QUESTION = {
    "task_id": "q-1",
    "Question": "How many kinds of files are in the archive?",
    "Level": 1,
    "Final answer": "7",
    "file_name": "",
}


def write(folder, *rows, split="validation"):
    folder.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / f"{split}.jsonl").write_text(lines, encoding="utf-8")
    return folder


def asked(tmp_path, script, *rows, native=True, **options):
    """What an agent that follows a script makes of some rows."""
    asking = "native" if native else "json"
    with tau_server.serve(script) as server:
        summary, folder = agentic.run(
            tmp_path / "runs",
            "gaia",
            "openai:m",
            dataset=write(tmp_path / "data", *(rows or (QUESTION,))),
            target_options={"base_url": server.base_url, "asking": asking},
            **options,
        )
    return summary, folder, agentic.verdicts(folder, summary)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["local", "describe", "none"])
def test_the_reference_scores_100_and_null_and_noop_nothing(tmp_path, mode):
    options = {"levels": "1,2,3", "tool_mode": mode}
    best, made = agentic.run(tmp_path / "a", "gaia", "control:reference", **options)
    score = best.benchmarks["gaia"]
    assert (best.state, score.score, score.views["strict"]) == ("done", 100, 100)
    assert score.samples >= 60
    calls = [len(line.episode.state.get("calls", ())) for line in made.read_episodes()]
    assert (max(calls) >= 4) is (mode == "local")
    if mode == "local":
        return
    for idle in ("control:null", "control:noop"):
        worst, _ = agentic.run(tmp_path / idle[8:], "gaia", idle, **options)
        assert (worst.state, worst.benchmarks["gaia"].score) == ("done", 0)


def test_an_agent_reads_every_kind_of_attachment_and_answers(tmp_path):
    data = tmp_path / "data"
    (data / "files").mkdir(parents=True)
    members = {name: make() for name, (make, _) in gaia_files.KINDS.items() if "/" not in name}
    (data / "files" / "all.zip").write_bytes(gaia_files.zipped(members))
    row = {**QUESTION, "file_name": "files/all.zip", "Final answer": "1764"}
    looks = [{"name": "read_file", "kwargs": {"path": f"all.zip/{name}"}} for name in members]
    outside = ["../../etc/passwd", "/etc/passwd", "all.zip/../../x", "files/../../secret"]
    tries = [{"name": "read_file", "kwargs": {"path": path}} for path in outside]
    script = [
        {"name": "list_files", "kwargs": {}},
        *looks,
        *tries,
        {"name": "calculator", "kwargs": {"expression": "42 ** 2"}},
        {"name": "python", "kwargs": {"code": "import os; print(os.listdir())"}},
        {"name": "final_answer", "kwargs": {"answer": "1764"}},
    ]
    summary, folder, outcome = asked(tmp_path, script, row, tool_mode="local", max_steps=60)
    assert summary.benchmarks["gaia"].score == 100
    [episode] = [line.episode for line in folder.read_episodes()]
    results = [call["result"] for call in episode.state["calls"]]
    assert len(results) == len(script) - 1
    assert all(name in results[0] for name in members)
    for name, result in zip(members, results[1:], strict=False):
        assert not result.startswith("Error: "), (name, result)
    refused = results[1 + len(members) : 1 + len(members) + len(outside)]
    assert all(result.startswith("Error: ") for result in refused)
    assert (results[-2], "all.zip" in results[-1]) == ("1764", True)
    assert outcome["q-1"].details["extraction"] == "final_answer"
    assert outcome["q-1"].details["call_reading"] == "native"


def test_tools_that_are_told_in_the_prompt_are_called_in_text(tmp_path):
    call = json.dumps({"name": "calculator", "arguments": {"expression": "3 + 4"}})
    script = [call, "It is seven.\nFINAL ANSWER: 7"]
    summary, folder, _ = asked(tmp_path, script, native=False, tool_mode="local")
    assert summary.benchmarks["gaia"].score == 100
    [episode] = [line.episode for line in folder.read_episodes()]
    assert episode.state["calls"][0]["result"] == "7"


def test_an_agent_that_never_answers_has_failed_at_its_limit(tmp_path):
    script = [{"name": "calculator", "kwargs": {"expression": "1 + 1"}}]
    summary, _, result = asked(tmp_path, script, tool_mode="local", max_steps=3)
    assert (summary.state, summary.benchmarks["gaia"].score) == ("done", 0)
    assert (result["q-1"].outcome, result["q-1"].reason) == ("failed", "budget")


@pytest.mark.parametrize(
    ("reply", "right", "strict"),
    [
        ("Thus.\nFINAL ANSWER: 7", 100, 100),
        ("<think>FINAL ANSWER: 9</think>FINAL ANSWER: 7", 100, 100),
        ("ANSWER: 5\nANSWER: 7", 100, 0),
        ("It is 7", 0, 0),
        ("FINAL ANSWER: 17", 0, 0),
    ],
)
def test_extraction_decides_what_is_scored_and_strict_stands_beside(tmp_path, reply, right, strict):
    summary, _, _ = asked(tmp_path, [reply], tool_mode="none")
    score = summary.benchmarks["gaia"]
    assert (score.score, score.views) == (right, {"lenient": right, "strict": strict})


def test_the_bare_style_takes_the_whole_reply(tmp_path):
    summary, _, _ = asked(tmp_path, ["7"], tool_mode="none", prompt_style="bare")
    assert summary.benchmarks["gaia"].views == {"lenient": 100, "strict": 100}


def test_levels_make_the_same_column_however_they_are_written():
    written = (["1", "2"], [1, 2], "2,1", ["1", 2])
    assert {
        str(instantiate_benchmark("gaia", {"levels": item}).options["levels"]) for item in written
    } == {"[1, 2]"}


def test_hidden_answers_are_answered_and_never_scored(tmp_path):
    row = {**QUESTION, "Final answer": "?"}
    data = write(tmp_path / "data", row, split="test")
    summary, folder = agentic.run(
        tmp_path / "runs", "gaia", "control:noop", dataset=data, split="test", tool_mode="none"
    )
    [verdict] = agentic.verdicts(folder, summary).values()
    assert (verdict.outcome, verdict.reason, verdict.score) == (
        "not_executed",
        "hidden_answer",
        None,
    )
    assert not summary.benchmarks["gaia"].complete


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"levels": "1,4"}, "gaia.levels"),
        ({"levels": ""}, "gaia.levels"),
        ({"tool_mode": "magic"}, "gaia.tool_mode"),
        ({"max_steps": 0}, "gaia.max_steps"),
        ({"tool_mode": "web"}, "API_KEY"),
    ],
)
def test_what_cannot_be_run_is_said_before(tmp_path, monkeypatch, options, named):
    for key in ("TAVILY_API_KEY", "SERPER_API_KEY", "BRAVE_API_KEY"):
        monkeypatch.delenv(key, raising=False)
    with pytest.raises(UsageError, match=named):
        agentic.run(tmp_path, "gaia", "control:null", **options)


def test_the_search_service_and_the_day_are_recorded(tmp_path, monkeypatch):
    monkeypatch.setenv("SERPER_API_KEY", "a-key-of-a-test")
    script = [{"name": "final_answer", "kwargs": {"answer": 7}}]
    summary, folder, result = asked(tmp_path, script, tool_mode="web")
    assert folder.read_spec().benchmarks[0].options["provider"] == "serper"
    assert result["q-1"].details["provider"] == "serper"
    assert len(result["q-1"].details["date"]) == len("2026-01-31")
    assert summary.benchmarks["gaia"].score == 100
    assert not any("a-key-of-a-test" in p.read_text() for p in folder.path.rglob("*.json*"))

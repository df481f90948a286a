"""Answers to GAIA as its leaderboard takes them: bare, one line for each declared sample."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evalcore.errors import UsageError
from evalcore.exchange.gaia import GaiaExport, export_gaia_run
from evalcore.records import (
    BenchmarkSpec,
    Episode,
    Failure,
    Message,
    RunSpec,
    Sample,
    TargetSpec,
    ToolCall,
)
from evalcore.store.journal import Journal
from evalcore.store.run_folder import RunFolder, StoredEpisode

#: In two parts, since no id of this form may stand in the project.
GATED = "0f0f0f0f-1111-4222-" + "8333-444455556666"


def make_run(root: Path, *pairs: tuple[str, Episode | None], benchmark: str = "gaia") -> RunFolder:
    """A run of samples by their ids, each with its episode or none."""
    samples = [
        Sample("level_1", name, {"question": "?"}, meta={"gated": True} if name == GATED else {})
        for name, _ in pairs
    ]
    benchmark_spec = BenchmarkSpec(
        benchmark, "agentic", "d", "d1", {}, {}, "1", "1", "c1", len(samples)
    )
    folder = RunFolder(root / "run")
    spec = RunSpec(
        "run", "2026-02-01T10:00:00.000+00:00", TargetSpec("openai:m"), (benchmark_spec,), epochs=2
    )
    folder.create(spec, [(benchmark, sample) for sample in samples])
    with Journal(folder.path / "generations" / "w1.jsonl") as journal:
        for _, episode in pairs:
            if episode is not None:
                journal.append(StoredEpisode(benchmark, episode))
    return folder


def build_episode(name: str, answer: str = "", **more) -> Episode:
    return Episode(key=f"level_1/{name}", epoch=0, answer=answer, **more)


def written(tmp_path: Path, *pairs: tuple[str, Episode | None]) -> tuple[GaiaExport, list[dict]]:
    out = tmp_path / "out" / "answers.jsonl"
    done = export_gaia_run(make_run(tmp_path, *pairs), out)
    return done, [json.loads(line) for line in out.read_text(encoding="ascii").splitlines()]


def test_only_the_bare_answer_goes_out(tmp_path):
    long = "I thought. ANSWER: 3\nFINAL ANSWER: **17**\nThat is all."
    done, rows = written(
        tmp_path,
        ("a", build_episode("a", long)),
        ("b", build_episode("b", "Paris")),
        ("c", build_episode("c", "It is clear.", state={"answer": "b, c"})),
        ("d", build_episode("d", state={"answer": 17})),
        ("e", build_episode("e", state={"answer": ["x", "y"]})),
    )
    assert [row["model_answer"] for row in rows] == ["17", "Paris", "b, c", "17", "x, y"]
    assert rows[0] == {"task_id": "a", "model_answer": "17", "reasoning_trace": long}
    assert done == GaiaExport(samples=5, missing=0, gated=0)


def test_every_declared_sample_has_its_line_in_its_order(tmp_path):
    failure = Failure("retryable", "server error", 503)
    done, rows = written(
        tmp_path,
        ("z", None),
        ("failed", build_episode("failed", "half", failure=failure)),
        ("blank", build_episode("blank", " \n")),
        ("null", build_episode("null", state={"answer": None})),
        ("a", build_episode("a", "FINAL ANSWER: 1")),
    )
    assert [(row["task_id"], row["model_answer"]) for row in rows] == [
        ("z", ""),
        ("failed", ""),
        ("blank", ""),
        ("null", ""),
        ("a", "1"),
    ]
    assert (done.samples, done.missing) == (5, 4)


def test_the_last_journaled_episode_of_the_first_epoch_counts(tmp_path):
    folder = make_run(tmp_path, ("a", build_episode("a", "FINAL ANSWER: 1")))
    with Journal(folder.path / "generations" / "w2.jsonl") as journal:
        journal.append(StoredEpisode("gaia", build_episode("a", "FINAL ANSWER: 2")))
        later = Episode(key="level_1/a", epoch=1, answer="FINAL ANSWER: 3")
        journal.append(StoredEpisode("gaia", later))
    export_gaia_run(folder, tmp_path / "out.jsonl")
    assert json.loads((tmp_path / "out.jsonl").read_text())["model_answer"] == "2"


def test_the_trace_holds_what_the_model_did_and_not_what_it_was_given(tmp_path):
    call = ToolCall("1", "calculator", '{"expression": "6 * 7"}')
    transcript = (
        Message("system", "the rules"),
        Message("user", "the question"),
        Message("assistant", "I calculate.", reasoning="Easy.", tool_calls=(call,)),
        Message("tool", "the content of a file", tool_call_id="1"),
        Message("assistant", "Done."),
    )
    episode = build_episode("a", "Done.", messages=transcript, state={"answer": "42"})
    _, [row] = written(tmp_path, ("a", episode))
    lines = ["Easy.", "I calculate.", 'calculator({"expression": "6 * 7"})', "Done."]
    assert row["reasoning_trace"].split("\n") == lines
    assert row["model_answer"] == "42"


def test_hostile_text_stays_in_its_line(tmp_path):
    text = 'FINAL ANSWER: "a", "b"\x00\u2028\u202e{"task_id": "x"}'
    _, rows = written(tmp_path, ("a", build_episode("a", text)), ("b\n\u2028", None))
    assert [row["task_id"] for row in rows] == ["a", "b\n\u2028"]
    assert rows[0]["reasoning_trace"] == text


def test_gated_questions_are_counted(tmp_path):
    done, _ = written(tmp_path, (GATED, build_episode(GATED, "FINAL ANSWER: 1")), ("own", None))
    assert done.gated == 1


def test_a_run_without_gaia_and_a_place_that_is_none_are_refused(tmp_path):
    other = make_run(tmp_path, ("a", None), benchmark="bfcl")
    with pytest.raises(UsageError, match="run run contains no gaia"):
        export_gaia_run(other, tmp_path / "out.jsonl")
    assert not (tmp_path / "out.jsonl").exists()
    with pytest.raises(UsageError, match="--out"):
        export_gaia_run(make_run(tmp_path / "own", ("a", None)), tmp_path)

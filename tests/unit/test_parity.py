"""`evalcore parity`: equal and differing answers of two targets, and what their verdicts say."""

from __future__ import annotations

import json
import os

import pytest

from evalcore.cli.main import main
from evalcore.store.run_folder import find_run
from tests.support import engine_program
from tests.support.cases import syntax_cases
from tests.support.model_folders import model_folder


@pytest.fixture
def words(tmp_path, monkeypatch) -> list[str]:
    """A command over three cases, with stand-ins of which SGLang and llama.cpp answer otherwise."""
    for program, reply in (("vllm", ""), ("sglang", '{"has_syntax_error": "yes"}')):
        engine_program.install(tmp_path / "bin", program, reply)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    folder = model_folder(tmp_path / "m")
    cases = syntax_cases(tmp_path / "cases", 3)
    common = ["--benchmarks", "sql_understanding", "--dataset", str(cases)]
    return [f"hf:{folder}?engine=vllm", f"hf:{folder}", *common, "--data", str(tmp_path / "data")]


def test_the_same_answers_are_equal(words, capsys, tmp_path):
    words[1] += "?engine=vllm&seed=1"
    assert main(["parity", *words]) == 0
    shown = capsys.readouterr().out
    assert "equal answers: 3 of 3 (100.0%)" in shown
    assert "better on 0 and worse on 0" in shown
    (first, second) = (find_run(p.name, [p.parent]) for p in (tmp_path / "data/runs").iterdir())
    assert {run.read_spec().target.options["engine_version"] for run in (first, second)} == {
        "1.2.3"
    }


def test_answers_that_differ_are_named_and_their_verdicts_paired(words, capsys):
    words[1] += "?engine=sglang"
    assert main(["parity", *words, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["answers"], report["equal"], report["verdicts"]) == (3, 0, 3)
    assert report["better"] + report["worse"] == 3
    difference = report["differences"][0]
    assert difference["benchmark"] == "sql_understanding"
    assert difference["candidate"] == '{"has_syntax_error": "yes"}'
    assert difference["position"] == len('{"has_syntax_error": "')


@pytest.mark.full
def test_a_candidate_without_answers_is_incomplete(words, capsys):
    words[1] += "?engine=sglang&server_args=--stand-in dies-always"
    assert main(["parity", *words]) == 3
    assert "not compared: 3 cases without an answer" in capsys.readouterr().out


def test_what_cannot_be_compared_is_refused(words, capsys):
    for more, said in (
        (["--target-option", "temperature=0.7"], "omit temperature"),
        (["--epochs", "2"], "asks each case once"),
        (["--target-option", "engine=vllm"], "both targets are the same"),
    ):
        assert main(["parity", *words, *more]) == 2
        assert said in capsys.readouterr().err

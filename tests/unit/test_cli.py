"""The command line: its JSON, its exit statuses, its messages, and how quickly it helps."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from evalcore.cli.main import main
from evalcore.sqlkit.equivalence.decider import Decider
from tests.support.cases import syntax_cases
from tests.support.hangs import stop_hang


@pytest.fixture
def cases(tmp_path: Path) -> str:
    return str(syntax_cases(tmp_path / "cases", 6))


@pytest.fixture
def data(tmp_path: Path) -> str:
    return str(tmp_path / "data")


def call(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(words)
    shown = capsys.readouterr()
    return status, shown.out, shown.err


RUN = ("run", "--target", "control:reference", "--benchmarks", "sql_understanding", "--json")


def test_run_ends_with_one_json_line(
    capsys: pytest.CaptureFixture[str], cases: str, data: str
) -> None:
    status, out, _ = call(capsys, *RUN, "--dataset", cases, "--data", data)
    result = json.loads(out.splitlines()[-1])
    score = result["benchmarks"]["sql_understanding"]
    assert status == 0
    assert set(result) == {"run_id", "target", "complete", "benchmarks"}
    assert set(score) == {"score", "interval", "coverage", "metrics", "outcomes"}
    assert (result["target"], result["complete"], score["score"]) == (
        "control:reference",
        True,
        100.0,
    )
    assert score["metrics"]["syntax_error_detection"] == {"score": 100.0, "samples": 6}
    assert score["interval"][0] < 100.0 == score["interval"][1]

    status, shown, _ = call(capsys, "show", result["run_id"], "--json", "--data", data)
    details = json.loads(shown)
    assert (status, {name: details[name] for name in result}) == (0, result)
    assert (details["errors"], details["failed"]) == ([], [])


def test_rescore_and_resume_ask_nothing_and_change_nothing(
    capsys: pytest.CaptureFixture[str], cases: str, data: str
) -> None:
    _, out, _ = call(capsys, *RUN, "--dataset", cases, "--data", data)
    run_id = json.loads(out)["run_id"]
    for verb in ("rescore", "resume"):
        status, again, _ = call(capsys, verb, run_id, "--json", "--data", data)
        assert (status, json.loads(again)) == (0, json.loads(out))


def test_a_run_reads_the_same_whenever_it_is_shown(
    capsys: pytest.CaptureFixture[str], data: str
) -> None:
    _, ran, _ = call(capsys, *RUN[:-1], "--max-samples", "6", "--data", data)
    (run_id,) = (path.name for path in (Path(data) / "runs").iterdir())
    assert len(re.findall(r"^  \w+ .* samples?$", ran, re.MULTILINE)) > 1
    assert call(capsys, "resume", run_id, "--data", data)[1] == ran
    assert call(capsys, "show", run_id, "--data", data)[1].startswith(ran)


@pytest.mark.parametrize("form", ["json", "csv", "md", "html"])
def test_export(
    capsys: pytest.CaptureFixture[str], cases: str, data: str, form: str, tmp_path: Path
) -> None:
    _, out, _ = call(capsys, *RUN, "--dataset", cases, "--data", data)
    run_id, path = json.loads(out)["run_id"], tmp_path / f"report.{form}"
    status, shown, _ = call(capsys, "export", run_id, "--format", form, "--data", data)
    assert status == 0
    assert "sql_understanding" in shown
    words = ("export", run_id, "--format", form, "--out", str(path), "--data", data)
    assert call(capsys, *words)[0] == 0
    assert path.read_text(encoding="utf-8") == shown


def test_score_keeps_the_order_and_writes_a_line_each(
    capsys: pytest.CaptureFixture[str], cases: str, tmp_path: Path
) -> None:
    predictions, out = tmp_path / "p.jsonl", tmp_path / "v.jsonl"
    answers = [
        {"id": "c3", "prediction": '{"has_syntax_error": "no"}'},
        {"id": "c0", "prediction": {"has_syntax_error": "yes"}},
        {"id": "c1", "prediction": "I do not know"},
        {"id": "c2", "prediction": None, "metric": "syntax_error_detection"},
    ]
    predictions.write_text("\n".join(map(json.dumps, answers)), encoding="utf-8")
    words = ("score", "sql_understanding", "--predictions", str(predictions), "--dataset", cases)
    assert call(capsys, *words, "--out", str(out))[0] == 0
    lines = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [line["id"] for line in lines] == ["c3", "c0", "c1", "c2"]
    assert [line["passed"] for line in lines] == [True, False, False, False]
    assert [line["score"] for line in lines] == [1.0, 0.0, 0.0, 0.0]
    fields = {"id", "metric", "outcome", "passed", "score", "views", "note", "details"}
    assert all(set(line) == fields for line in lines)
    assert lines[2]["details"]["extraction"] == "none"
    assert call(capsys, *words, "--out", str(out), "--evidence")[0] == 0
    assert "evidence" in json.loads(out.read_text(encoding="utf-8").splitlines()[0])


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "line 1: is not JSON"),
        ('{"prediction": "x"}', "line 1, field id: is missing"),
        ('{"id": "c0"}', "line 1, field prediction: is missing"),
        ('{"id": "c99", "prediction": "x"}', "line 1, field id: no case 'c99'"),
        ('{"id": ["c0"], "prediction": "x"}', "line 1, field id: must be a string"),
        ('{"id": null, "prediction": "x"}', "line 1, field id: must be a string"),
        ('{"id": "c0", "prediction": "x", "metric": 5}', "line 1, field metric: benchmark"),
        ('{"id": "c0", "prediction": "x", "metric": "poetry"}', "no metric 'poetry'; it has:"),
        ('{"id": "c0", "prediction": "x", "votes": "yes"}', "line 1, field votes: votes: 'yes' is"),
    ],
)
def test_bad_predictions_name_line_and_field(
    capsys: pytest.CaptureFixture[str], cases: str, tmp_path: Path, line: str, problem: str
) -> None:
    predictions, out = tmp_path / "p.jsonl", tmp_path / "v.jsonl"
    predictions.write_text(line, encoding="utf-8")
    out.write_text("kept", encoding="utf-8")
    words = ("score", "sql_understanding", "--predictions", str(predictions), "--dataset", cases)
    status, _, err = call(capsys, *words, "--out", str(out))
    assert status == 2
    assert problem in err
    assert out.read_text(encoding="utf-8") == "kept"


def test_hostile_predictions_become_strict_json(
    capsys: pytest.CaptureFixture[str], cases: str, tmp_path: Path
) -> None:
    predictions, out = tmp_path / "p.jsonl", tmp_path / "v.jsonl"
    answers = [
        '{"has_syntax_error": [NaN, 1e999, -Infinity]}',
        '{"has_syntax_error": "\\ud800"}',
        '"\\ud800 {\\"has_syntax_error\\": \\"\\\\udfff\\"}"',
        '{"has_syntax_error": ' + "9" * 4000 + "}",
    ]
    lines = [f'{{"id": "c{n}", "prediction": {answer}}}' for n, answer in enumerate(answers)]
    predictions.write_text("\n".join(lines), encoding="utf-8-sig")
    words = ("score", "sql_understanding", "--predictions", str(predictions), "--dataset", cases)
    assert call(capsys, *words, "--out", str(out), "--evidence")[0] == 0
    read = [
        json.loads(line, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
        for line in out.read_text(encoding="utf-8").splitlines()
    ]
    assert [line["outcome"] for line in read] == ["failed"] * 4


@pytest.mark.slow
@pytest.mark.full
def test_thousands_of_predictions_take_seconds(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    cases = syntax_cases(tmp_path / "cases", 3000)
    predictions = tmp_path / "p.jsonl"
    rows = [{"id": f"c{n}", "prediction": {"has_syntax_error": "no"}} for n in range(3000)]
    predictions.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    words = ("score", "sql_understanding", "--predictions", str(predictions))
    with stop_hang():
        status, _, _ = call(
            capsys, *words, "--dataset", str(cases), "--out", str(tmp_path / "v.jsonl")
        )
        assert status == 0


def test_a_data_folder_that_is_none_is_one_clear_line(
    capsys: pytest.CaptureFixture[str], cases: str, tmp_path: Path
) -> None:
    path = tmp_path / "file"
    path.write_text("x", encoding="utf-8")
    status, _, err = call(capsys, *RUN, "--dataset", cases, "--data", str(path))
    assert (status, err.count("\n")) == (2, 1)
    assert f"the data folder {path} cannot be written (Not a directory)" in err
    assert "set EVALBOARD_DATA to a folder that can" in err
    status, _, err = call(capsys, *RUN, "--data", str(tmp_path), "--dataset", "a" * 5000)
    assert (status, "name too long" in err) == (2, True)


def test_a_missing_key_starts_nothing(
    capsys: pytest.CaptureFixture[str],
    cases: str,
    data: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    words = (*RUN, "--dataset", cases, "--data", data, "--target", "openai:any")
    status, _, err = call(capsys, *words)
    assert (status, "OPENAI_API_KEY" in err) == (2, True)
    assert not (Path(data) / "runs").exists()


def test_an_interrupted_command_says_so(
    capsys: pytest.CaptureFixture[str], data: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("evalcore.settings.load_settings", interrupted)
    status, _, err = call(capsys, "list", "runs", "--data", data)
    assert (status, err) == (130, "evalcore: interrupted\n")


@pytest.mark.parametrize("where", ["callback", "destructor"])
@pytest.mark.parametrize("pairs", [False, True])
def test_an_interrupt_that_is_swallowed_ends_the_comparison(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    where: str,
    pairs: bool,
) -> None:
    """What SQLite made of a callback that broke off is no decision."""
    decide, sent = Decider.decide, []

    def interrupt(*action: object) -> int:
        sent.append(signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)  # here the handler raises
        return sqlite3.SQLITE_OK

    class Prover:
        __del__ = interrupt

    def decide_late(*arguments: Any) -> Any:
        if where == "destructor":
            Prover()
        else:
            connection = sqlite3.connect(":memory:")
            connection.set_authorizer(interrupt)
            with pytest.raises(sqlite3.DatabaseError, match="not authorized"):
                connection.execute("SELECT 1")
        return decide(*arguments)

    monkeypatch.setattr(Decider, "decide", decide_late)
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
    schema, out = tmp_path / "schema.sql", tmp_path / "out.jsonl"
    schema.write_text("CREATE TABLE t (a INTEGER)", encoding="utf-8")
    words = ["--engine", "sqlite", "--schema", str(schema)]
    words += ["--reference", "SELECT a FROM t", "--answer", "SELECT a FROM t ORDER BY 1"]
    if pairs:
        pair = {"id": "1", "engine": "sqlite", "schema": "CREATE TABLE t (a INTEGER)"}
        pair |= {"reference": "SELECT a FROM t", "answer": "SELECT a + 0 FROM t"}
        file = tmp_path / "pairs.jsonl"
        file.write_text(json.dumps(pair), encoding="utf-8")
        words = ["--pairs", str(file), "--out", str(out)]
    status, stdout, err = call(capsys, "equivalent", *words)
    assert (status, stdout, err) == (130, "", "evalcore: interrupted\n")
    assert not pairs or not out.read_text(encoding="utf-8")
    assert sent
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--target", ""), "--target is missing"),
        (("--target", "ghost:x"), "unknown kind of target 'ghost:x'"),
        (("--target", "baseline:x"), "baseline:sqlglot"),
        (("--target", "control:x"), "control:reference"),
        (("--target", "openai:"), "names no model"),
        (("--option", "mode=scale"), "BENCHMARK.KEY=VALUE"),
        (("--option", "sql_understanding.mode"), "KEY=VALUE"),
        (("--target-option", "temperature"), "KEY=VALUE"),
        (("--target-option", "a=b"), "has no options"),
    ],
)
def test_bad_arguments_exit_with_2_and_start_nothing(
    capsys: pytest.CaptureFixture[str], data: str, words: tuple[str, ...], message: str
) -> None:
    status, _, err = call(capsys, *RUN, "--data", data, *words)
    assert status == 2
    assert message in err
    assert not (Path(data) / "runs").exists()


def test_an_unknown_run_is_named(capsys: pytest.CaptureFixture[str], data: str) -> None:
    for verb in ("show", "resume", "rescore", "cancel"):
        status, _, err = call(capsys, verb, "../../etc", "--data", data)
        assert (status, "no run '../../etc'" in err) == (2, True)


@pytest.mark.parametrize("what", ["benchmarks", "targets", "datasets", "runs"])
def test_lists(capsys: pytest.CaptureFixture[str], data: str, what: str) -> None:
    status, out, _ = call(capsys, "list", what, "--json", "--data", data)
    assert status == 0
    assert isinstance(json.loads(out), list)
    assert call(capsys, "list", what, "--data", data)[1]


def test_flags_win_over_a_config_file_which_gets_its_files(
    capsys: pytest.CaptureFixture[str], cases: str, data: str, tmp_path: Path
) -> None:
    config = tmp_path / "run.yaml"
    config.write_text(
        f"target: control:null\nmax_samples: 3\noutput_dir: {tmp_path}\nexperiment_name: mine\n",
        encoding="utf-8",
    )
    words = (*RUN, "--dataset", cases, "--data", data, "--config", str(config))
    status, out, err = call(capsys, *words)
    assert (status, json.loads(out)["target"]) == (0, "control:reference")
    notice = f"{config}: --target control:reference overrides target: control:null\n"
    assert err == f"evalcore: {notice}"
    results = json.loads((tmp_path / "mine" / "results.json").read_text(encoding="utf-8"))
    assert results["experiment_name"] == "mine"
    assert {p.name for p in (tmp_path / "mine").iterdir()} == {
        "results.json",
        "results.csv",
        "report.md",
    }


def test_help_loads_nothing_heavy() -> None:
    code = """
import sys
from evalcore.cli.main import main
try:
    main(["--help"])
except SystemExit:
    pass
heavy = "torch transformers datasets openai pandas numpy sqlglot streamlit duckdb tinydb".split()
sys.exit(", ".join(name for name in heavy if name in sys.modules) or 0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_batch_size_is_an_option_of_the_target(
    capsys: pytest.CaptureFixture[str], cases: str, data: str
) -> None:
    status, _, message = call(capsys, *RUN, "--batch-size", "1", "--dataset", cases, "--data", data)
    assert status == 2
    assert "control:reference has no options, got: batch_size" in message

"""Expected answers that do not run, or that an engine contradicts, enter by no door."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from evalcore.access.policy import OPERATOR
from evalcore.benchmarks.sql_understanding.benchmark import SqlUnderstanding
from evalcore.cli.main import main
from evalcore.errors import UsageError
from evalcore.records import Sample
from evalcore.runner import dataset_check, gold, jobs
from evalcore.runner.jobs import TaskContext, data_client
from evalcore.runner.jobs.data_client import DatasetLocation, OwnCard, Upload
from evalcore.runner.plan import plan_run
from evalcore.runner.run_request import RunRequest
from evalcore.settings import Settings
from evalcore.store import datasets
from evalcore.store.headers import create_comparison_sides, format_comparison_note
from tests.support.gold_cases import (
    BROKEN,
    CONTRADICTED,
    KEY,
    PART,
    RIGHT,
    UNCONFIRMED,
    without_mysql,
    write_cases,
)

__all__ = ["without_mysql"]

pytestmark = pytest.mark.slow

REFUSED = [(CONTRADICTED, "the engine returns"), (BROKEN, "no such table: nowhere")]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data=str(tmp_path / "data"), shipped=str(tmp_path / "none"))


def command(verb: str, file: Path, settings: Settings) -> list[str]:
    """The words of a command by which a file enters."""
    predictions = file.with_name("predictions.jsonl")
    predictions.write_text("")
    words = {
        "validate": ["datasets", "validate", file, "--benchmark", KEY],
        "add": ["datasets", "add", file, "--benchmark", KEY, "--name", "mine"],
        "run": ["run", "--target", "control:null", "--benchmarks", KEY, "--dataset", file],
        "folder": [
            "run",
            "--target",
            "control:null",
            "--benchmarks",
            KEY,
            "--dataset",
            file.parent,
        ],
        "option": [
            *("run", "--target", "control:null", "--benchmarks", KEY),
            *("--option", f"{KEY}.data_path={file}"),
        ],
        "score": [
            *("score", KEY, "--dataset", file),
            *("--predictions", predictions, "--out", file.with_name("out.jsonl")),
        ],
    }
    return [str(word) for word in [*words[verb], "--data", settings.data]]


VERBS = ("validate", "add", "run", "folder", "option", "score")


@pytest.mark.sampled(4)
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(("row", "words"), REFUSED)
def test_every_command_refuses_it(
    verb: str,
    row: dict[str, Any],
    words: str,
    settings: Settings,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = write_cases(tmp_path / "own", RIGHT, row)
    assert main(command(verb, file, settings)) == 2
    shown = "".join(capsys.readouterr())
    assert "line 2" in shown
    assert "expected" in shown
    assert words in shown
    if verb not in ("validate", "add"):
        assert str(file) in shown
    assert datasets.load_own_cards(settings) == []
    assert not list(settings.runs_dir.glob("*"))
    assert not file.with_name("out.jsonl").exists()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.usefixtures("without_mysql")
def test_every_command_takes_what_nothing_here_runs_and_says_so(
    verb: str, settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_cases(tmp_path / "own", RIGHT, UNCONFIRMED)
    main(command(verb, file, settings))
    shown = "".join(capsys.readouterr())
    assert "not confirmed" in shown
    assert "no engine here runs mysql" in shown
    assert "apt-get install mariadb-server" in shown
    assert bool(datasets.load_own_cards(settings)) == (verb == "add")
    assert bool(list(settings.runs_dir.glob("*"))) == (verb in ("run", "folder", "option"))


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("row", "words"), REFUSED)
def test_what_a_page_keeps_or_starts_is_refused(
    row: dict[str, Any], words: str, settings: Settings, tmp_path: Path
) -> None:
    content = b"\n" + json.dumps(RIGHT).encode() + b"\n\n" + json.dumps(row).encode()
    upload = Upload(KEY, "mine.jsonl", content, PART)
    result, stored = data_client.save_upload(upload, OwnCard(KEY, "mine"), OPERATOR, settings)
    assert stored is None
    [error] = result.errors
    assert (error.line, error.field) == (4, "expected")
    assert words in error.problem
    assert list((settings.data_dir / "datasets" / "own").glob("*")) == []
    path = write_cases(tmp_path / "own", row)
    request = RunRequest(target="control:null", benchmarks=(KEY,), dataset=str(path))
    with pytest.raises(UsageError, match=r"line 1, field expected: .*; fix it, or .*mode=scale"):
        jobs.call_task("make_plan", {"request": request}, settings, str, visitor=OPERATOR)
    assert not list(settings.runs_dir.glob("*"))


@pytest.mark.usefixtures("without_mysql")
def test_what_a_page_starts_unconfirmed_says_so_in_its_note(
    settings: Settings, tmp_path: Path
) -> None:
    path = write_cases(tmp_path / "own", RIGHT, UNCONFIRMED)
    request = RunRequest(target="control:null", benchmarks=(KEY,), dataset=str(path), note="mine")
    run_id = jobs.call_task("make_plan", {"request": request}, settings, str, visitor=OPERATOR)
    spec = json.loads((settings.runs_dir / run_id / "spec.json").read_text())
    assert spec["note"].startswith(f"mine\n{KEY}: 1 of 2 expected answers are not confirmed")


@pytest.mark.usefixtures("without_mysql")
def test_the_note_of_a_pair_stays_what_machines_read(settings: Settings, tmp_path: Path) -> None:
    path, note = (
        write_cases(tmp_path / "own", UNCONFIRMED),
        format_comparison_note(create_comparison_sides()[0]),
    )
    request = RunRequest(target="control:null", benchmarks=(KEY,), dataset=str(path), note=note)
    run_id = jobs.call_task("make_plan", {"request": request}, settings, str, visitor=OPERATOR)
    assert json.loads((settings.runs_dir / run_id / "spec.json").read_text())["note"] == note


def test_what_was_confirmed_is_not_run_again(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_cases(tmp_path / "own", RIGHT)
    request = RunRequest(target="control:null", benchmarks=(KEY,), dataset=str(path))
    made = plan_run(request, settings)
    asked: list[DatasetLocation] = []
    ask: Callable[..., gold.GoldReport] = gold.confirm_gold

    def counted(location: DatasetLocation, *rest: Any) -> gold.GoldReport:
        asked.append(location)
        return ask(location, *rest)

    monkeypatch.setattr(gold, "confirm_gold", counted)
    for _ in range(2):
        assert gold.require_gold(made.gold, made.samples, settings) == []
    assert len(asked) == 1
    write_cases(tmp_path / "own", RIGHT | {"counterexamples": [RIGHT["expected"]]})
    made = plan_run(request, settings)  # the hash of its samples is the same
    with pytest.raises(UsageError, match="field counterexamples"):
        gold.require_gold(made.gold, made.samples, settings)
    for note in (settings.data_dir / "gold").iterdir():
        note.write_text("{torn")
    write_cases(tmp_path / "own", RIGHT)
    made = plan_run(request, settings)
    assert gold.require_gold(made.gold, made.samples, settings) == []
    assert len(asked) == 3


def test_only_the_cases_of_the_run_are_run(settings: Settings, tmp_path: Path) -> None:
    path = write_cases(tmp_path / "own", CONTRADICTED, RIGHT)
    request = RunRequest(
        target="control:null", benchmarks=(KEY,), dataset=str(path), max_samples=1, seed=0
    )
    made = plan_run(request, settings)
    [sample] = made.samples[KEY]
    report = gold.confirm_gold(made.gold[KEY], settings, [sample.key])
    assert report.samples == 1
    assert bool(report.contradicted) == (sample.id == "wrong")


@pytest.mark.parametrize(
    ("dataset", "options"), [("", {}), (KEY, {}), ("FILE", {KEY: {"mode": "scale"}})]
)
def test_bundled_sets_and_the_published_rule_are_not_run(
    dataset: str, options: dict[str, dict[str, str]], settings: Settings, tmp_path: Path
) -> None:
    dataset = dataset.replace("FILE", str(write_cases(tmp_path / "own", CONTRADICTED)))
    request = RunRequest(
        target="control:null", benchmarks=(KEY,), dataset=dataset, options=options, max_samples=1
    )
    assert plan_run(request, settings).gold == {}


def test_a_second_case_of_one_kind_is_no_contradiction(settings: Settings, tmp_path: Path) -> None:
    dataset_location = DatasetLocation(
        KEY, str(write_cases(tmp_path, RIGHT, RIGHT | {"case_id": "again"}))
    )
    report = gold.confirm_gold(dataset_location, settings)
    assert (report.samples, report.contradicted, report.unconfirmed) == (2, (), 0)
    assert list(report.engines) == ["sqlite"]


CONVERSION = {
    "case_id": "c",
    "difficulty_level": "1",
    "source_dialect": "MySQL",
    "target_dialect": "SQLite",
    "schema": ["CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER)"],
    "sql": "SELECT id, IFNULL(a, 0) AS a FROM t",
    "reference": "SELECT id, COALESCE(a, 0) AS a FROM t",
}
REWRITE = {
    "case_id": "r",
    "difficulty_level": "1",
    "db_type": "SQLite",
    "description": "Rows by a day.",
    "create_table_statements": ["CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER)"],
    "sql": "SELECT id FROM t WHERE a + 0 = 5",
    "reference": "SELECT id FROM t WHERE a = 6",
    "expected": {"optimization_rules": []},
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("benchmark", "part", "row", "field", "words"),
    [
        ("dialect_conversion", "logical_equivalence", CONVERSION, "", ""),
        (
            *("dialect_conversion", "logical_equivalence"),
            *(CONVERSION | {"reference": "SELECT id, nowhere FROM t"}, "reference", "nowhere"),
        ),
        (
            *("dialect_conversion", "logical_equivalence"),
            *(CONVERSION | {"schema": ["CREATE TABL t (id)"]}, "reference", "syntax error"),
        ),
        (
            *("dialect_conversion", "logical_equivalence"),
            CONVERSION | {"variants": ["SELECT id, a FROM t"]},
            *("variants", "variant 1 does not pass"),
        ),
        (
            *("dialect_conversion", "logical_equivalence"),
            CONVERSION | {"counterexamples": ["SELECT id, IFNULL(a, 0) AS a FROM t"]},
            *("counterexamples", "counterexample 1 does not fail"),
        ),
        ("dialect_conversion", "logical_equivalence", CONVERSION | {"reference": ""}, "", ""),
        ("sql_optimization", "rewrite", REWRITE, "reference", "differ"),
    ],
)
def test_every_benchmark_of_engines_refuses_it(
    benchmark: str,
    part: str,
    row: dict[str, Any],
    field: str,
    words: str,
    settings: Settings,
    tmp_path: Path,
) -> None:
    dataset_location = DatasetLocation(benchmark, str(write_cases(tmp_path, row, part=part)))
    report = gold.confirm_gold(dataset_location, settings)
    assert report.unconfirmed == 0, report.reason
    assert {contradicted.field for contradicted in report.contradicted} == (
        {field} if field else set()
    )
    if field:
        assert words in report.contradicted[0].problem
        assert report.contradicted[0].source == f"{part}.jsonl:1"


def test_a_process_that_fails_or_takes_too_long_leaves_everything_unconfirmed(
    settings: Settings, tmp_path: Path
) -> None:
    gone = gold.confirm_gold(DatasetLocation(KEY, str(tmp_path / "gone")), settings)
    assert (gone.unconfirmed, gone.complete) == (1, False)
    assert "no such file" in gone.reason
    path = write_cases(tmp_path, RIGHT, CONTRADICTED)
    late = gold.confirm_gold(DatasetLocation(KEY, str(path)), settings, seconds=0)
    assert (late.unconfirmed, late.complete) == (2, False)
    assert "no time" in late.reason
    assert not (settings.data_dir / "gold").exists()


def test_a_case_on_which_the_check_breaks_shields_no_other(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [RIGHT | {"case_id": f"r{number}"} for number in range(5)]
    dataset_location = DatasetLocation(
        KEY, str(write_cases(tmp_path, *rows, RIGHT | {"case_id": "odd"}, CONTRADICTED))
    )
    check = SqlUnderstanding.validate_dataset

    def broken(benchmark: SqlUnderstanding, samples: Sequence[Sample]) -> Any:
        if any(sample.id == "odd" for sample in samples):
            raise RecursionError("too deep")
        return check(benchmark, samples)

    monkeypatch.setattr(SqlUnderstanding, "validate_dataset", broken)
    report = dataset_check.confirm_samples(TaskContext(settings), dataset_location)
    assert [contradicted.sample for contradicted in report.contradicted] == [f"{PART}/wrong"]
    assert (report.unconfirmed, report.complete) == (1, True)
    assert "RecursionError: too deep" in report.reason


@pytest.mark.full
def test_statements_that_exhaust_an_engine_or_a_parser_are_answered_by_case(
    settings: Settings, tmp_path: Path
) -> None:
    endless = "WITH RECURSIVE r(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM r) SELECT max(a) FROM r"
    deep = f"SELECT {'(' * 5_000}1{')' * 5_000} AS a"
    rows = [
        RIGHT | {"case_id": "endless", "sql": endless},
        RIGHT | {"case_id": "deep", "sql": deep},
        RIGHT | {"case_id": "file", "sql": "ATTACH DATABASE '/tmp/gold.db' AS x"},
        RIGHT,
        CONTRADICTED,
    ]
    report = gold.confirm_gold(DatasetLocation(KEY, str(write_cases(tmp_path, *rows))), settings)
    assert report.complete
    refused = {contradicted.sample.partition("/")[2] for contradicted in report.contradicted}
    assert refused | {"deep"} == {"endless", "deep", "file", "wrong"}

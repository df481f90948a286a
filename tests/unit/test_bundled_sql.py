"""The bundled set: controls score what they deserve, sizes are as promised, prompts are fair.

`control:reference` scores 100 by definition. `control:null` answers nothing and `control:noop`
repeats the statement: neither is a JSON answer, so doing nothing deserves 0.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from evalcore import settings as configuration
from evalcore.access.secrets import Secrets
from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.sql_understanding.benchmark import SqlUnderstanding
from evalcore.cli.main import main
from evalcore.records import Sample
from evalcore.runner import dataset_check
from evalcore.runner.execute import execute_run
from evalcore.runner.plan import create_folder, dataset_hash, plan_run
from evalcore.runner.run_request import RunRequest

pytestmark = pytest.mark.slow

FOLDER = Path(configuration.load_settings().datasets) / "sql_understanding"
LEAST = {
    "execution_accuracy": 60,
    "sql_identification": 40,
    "explain_detection": 30,
    "syntax_error_detection": 60,
}


@pytest.fixture(scope="module")
def samples() -> list[Sample]:
    return SqlUnderstanding({"mode": "verified"}).load_dataset(DatasetSource(path=str(FOLDER)))


@pytest.mark.parametrize("mode", ["verified", "scale"])
@pytest.mark.parametrize(
    ("target", "floor"),
    [("control:reference", 100.0), ("control:null", 0.0), ("control:noop", 0.0)],
)
def test_controls_score_what_they_deserve(
    tmp_path: Path, target: str, floor: float, mode: str
) -> None:
    settings = configuration.load_settings(tmp_path)
    request = RunRequest(
        target=target,
        benchmarks=("sql_understanding",),
        options={"sql_understanding": {"mode": mode}},
    )
    summary = execute_run(create_folder(plan_run(request, settings), settings), settings, Secrets())
    score = summary.benchmarks["sql_understanding"]
    assert summary.is_complete
    assert score.score == floor
    assert {metric.score for metric in score.metrics.values()} == {floor}


@pytest.mark.full
def test_the_check_on_real_engines_finds_nothing() -> None:
    [report] = dataset_check.check_datasets(
        ["sql_understanding"], configuration.load_settings(), processes=1
    )
    assert report.findings == ()
    assert set(report.engines) == {"sqlite", "duckdb", "postgres", "mysql"}


def test_the_check_finds_what_is_wrong(tmp_path: Path) -> None:
    line = (FOLDER / "execution_accuracy.jsonl").read_text(encoding="utf-8").splitlines()[0]
    good = json.loads(line)
    wrong = {**good, "case_id": "wrong", "expected": good["counterexamples"][0]}
    tame = {**good, "case_id": "tame", "counterexamples": [good["expected"]]}
    file = tmp_path / "execution_accuracy.jsonl"
    rows = [json.dumps(row) for row in (good, wrong, tame)]
    file.write_text("\n".join(rows), encoding="utf-8")
    [report] = dataset_check.check_datasets([str(file)], configuration.load_settings(), processes=1)
    problems = {(f.sample.split("/")[1], f.problem.split()[0]) for f in report.findings}
    assert ("wrong", "the") in problems  # the engine returns something else
    assert ("tame", "counterexample") in problems
    assert ("tame", "is") in problems  # the same statement again


@pytest.mark.full
def test_sets_are_checked_side_by_side_in_their_order(capsys) -> None:
    sets = ["gaia", "bfcl"]
    assert main(["datasets", "check", *sets, "--jobs", "2", "--json"]) == 0
    assert [report["dataset"] for report in json.loads(capsys.readouterr().out)] == sets
    assert main(["datasets", "check", "gaia", "--every", "20", "--json"]) == 0
    [report] = json.loads(capsys.readouterr().out)
    assert 0 < report["samples"] < 10
    assert main(["datasets", "check", "gaia", "nosuch"]) != 0
    assert "nosuch" in capsys.readouterr().err


def test_sizes_and_spread(samples: list[Sample]) -> None:
    counts = Counter(sample.metric for sample in samples)
    assert all(counts[metric] >= least for metric, least in LEAST.items())
    assert {(s.metric, s.difficulty) for s in samples} == {(m, d) for m in LEAST for d in (1, 2, 3)}
    dialects = {s.input["dialect"] for s in samples if s.metric == "sql_identification"}
    assert {"oracle", "tsql", "mysql", "postgres", "sqlite", "duckdb"} <= dialects


def test_each_engine_has_as_many_cases_and_half_of_them_join_three_tables(
    samples: list[Sample],
) -> None:
    tables = [s for s in samples if s.metric == "execution_accuracy"]
    by_dialect = Counter(s.input["dialect"] for s in tables)
    assert set(by_dialect) == {"sqlite", "duckdb", "postgres", "mysql"}
    assert min(by_dialect.values()) >= 0.9 * max(by_dialect.values())
    syntax = Counter(s.input["dialect"] for s in samples if s.metric == "syntax_error_detection")
    assert set(syntax) == set(by_dialect)
    assert min(syntax.values()) >= 0.9 * max(syntax.values())
    read = [sum("CREATE TABLE" in ddl.upper() for ddl in s.input["schema"]) for s in tables]
    assert sum(count >= 3 for count in read) >= len(tables) / 2


def test_plans_of_several_steps_stand_on_three_engines(samples: list[Sample]) -> None:
    benchmark = SqlUnderstanding({"mode": "verified"})
    plans = [s for s in samples if s.metric == "explain_detection"]
    several = Counter(
        s.input["dialect"] for s in plans if len(s.reference["expected"]["steps"]) > 1
    )
    assert set(several) == {"sqlite", "postgres", "mysql"}
    assert several.total() > len(plans) / 2
    for sample in plans:
        prompt = benchmark.build_prompt(sample)[0].content
        assert sample.input["engine"] in prompt
        assert ("ANALYZE was never run" in prompt) is (sample.input["dialect"] == "sqlite")


def test_statements_to_identify_are_not_told_by_their_first_word(samples: list[Sample]) -> None:
    """Of the cases that have to be read the first word, comments apart, gives at most 60 %."""
    read = [s for s in samples if s.metric == "sql_identification"][58:]
    words = [
        re.match(
            r"[\s(]*(\w+)", re.sub(r"--[^\n]*|/\*.*?\*/", " ", s.input["sql"], flags=re.DOTALL)
        )
        for s in read
    ]
    kinds = [s.reference["expected"]["statement_type"] for s in read]
    pairs = zip(words, kinds, strict=True)
    assert sum(word is not None and word[1].upper() == kind for word, kind in pairs) <= 0.6 * len(
        read
    )


def test_every_case_has_a_counterexample_and_names_its_engine(samples: list[Sample]) -> None:
    for sample in samples:
        assert sample.meta["counterexamples"], sample.key
        assert sample.meta["provenance"]["engine"], sample.key


def test_the_card_states_counts_and_hash(samples: list[Sample]) -> None:
    card = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert dataset_hash(samples) in card
    for metric, count in Counter(sample.metric for sample in samples).items():
        assert f"| `{metric}` | {count} |" in card


@pytest.mark.parametrize("mode", ["verified", "scale"])
def test_no_prompt_and_no_request_depends_on_the_reference(
    samples: list[Sample], mode: str
) -> None:
    """A case with the same fields but other values in its answer is asked in the same words."""
    benchmark = SqlUnderstanding({"mode": mode})
    for sample in samples:
        blank = dict.fromkeys(sample.reference["expected"])
        other = msgspec.structs.replace(sample, reference={**sample.reference, "expected": blank})
        assert benchmark.build_prompt(sample) == benchmark.build_prompt(other), sample.key
        request = json.dumps(benchmark.request_input(sample))
        trap = sample.meta["provenance"].get("trap", "-no trap-")
        assert trap not in benchmark.build_prompt(sample)[0].content + request
        assert benchmark.request_input(sample) == benchmark.request_input(other)


def test_the_dialect_is_always_told(samples: list[Sample]) -> None:
    benchmark = SqlUnderstanding({"mode": "verified"})
    titles = ("SQLite", "DuckDB", "PostgreSQL", "MySQL", "Oracle", "SQL Server")
    for sample in samples:
        prompt = benchmark.build_prompt(sample)[0].content
        assert any(title in prompt for title in titles), sample.key


def test_verified_prompts_do_not_tell_queries_from_changes(samples: list[Sample]) -> None:
    """The published template gives the kind of answer away; ours is the same for both."""
    benchmark = SqlUnderstanding({"mode": "verified"})
    for sample in samples:
        if sample.metric == "execution_accuracy":
            assert "table_state" not in benchmark.build_prompt(sample)[0].content

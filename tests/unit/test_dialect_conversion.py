"""`dialect_conversion`: reading cases, asking, and ruling by execution on the target's engine."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evalcore import catalog
from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.dialect_conversion.benchmark import DialectConversion
from evalcore.errors import DatasetError
from evalcore.records import Episode, Sample, Verdict
from evalcore.settings import ROOT
from evalcore.targets.baseline import Baseline
from tests.support.shared_data import shared_data

FOLDER = ROOT / "datasets" / "dialect_conversion"
CASE: dict[str, Any] = {
    "case_id": "x-1",
    "difficulty_level": "2",
    "source_dialect": "MySQL",
    "target_dialect": "SQLite",
    "source_schema": ["CREATE TABLE t (a int, b varchar(9))"],
    "schema": ["CREATE TABLE t (a INTEGER, b VARCHAR(9))"],
    "sql": "SELECT IF(a > 3, b, 'none') AS b FROM t",
    "reference": "SELECT CASE WHEN a > 3 THEN b ELSE 'none' END AS b FROM t",
    "variants": ["SELECT IIF(a > 3, b, 'none') AS b FROM t"],
    "counterexamples": ["SELECT IIF(a >= 3, b, 'none') AS b FROM t"],
}


@pytest.fixture(scope="module")
def benchmark() -> Iterator[DialectConversion]:
    made = DialectConversion({"mode": "verified"})
    yield made
    made.close()


@pytest.fixture(scope="module")
def bundled(benchmark: DialectConversion) -> list[Sample]:
    return benchmark.load_dataset(DatasetSource(path=str(FOLDER)))


def samples_of(
    folder: Path, *rows: dict[str, Any], metric: str = "logical_equivalence"
) -> list[Sample]:
    (folder / f"{metric}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return DialectConversion({"mode": "verified"}).load_dataset(DatasetSource(path=str(folder)))


def rule(benchmark: DialectConversion, sample: Sample, answer: str) -> Verdict:
    episode = Episode(key=benchmark.generation_key(sample), epoch=0, answer=answer)
    return asyncio.run(benchmark.evaluate_sample(sample, episode))


def test_a_right_conversion_passes_by_execution(
    benchmark: DialectConversion, tmp_path: Path
) -> None:
    sample = samples_of(tmp_path, CASE)[0]
    for answer in (CASE["reference"], *CASE["variants"]):
        verdict = rule(benchmark, sample, answer)
        assert (verdict.outcome, verdict.evidence_kind, verdict.score) == (
            "passed",
            "executed",
            1.0,
        )
        assert verdict.details["databases"] >= 16
        assert verdict.views == {"strict": 1.0, "lenient": 1.0}


def test_a_wrong_conversion_fails_with_its_counterexample(
    benchmark: DialectConversion, tmp_path: Path
) -> None:
    sample = samples_of(tmp_path, CASE)[0]
    verdict = rule(benchmark, sample, CASE["counterexamples"][0])
    assert (verdict.outcome, verdict.reason) == ("failed", "wrong_answer")
    kinds = [section.kind for section in verdict.evidence]
    assert kinds == ["code", "database", "table_diff"]
    database = verdict.evidence[1].body["tables"][0]
    assert (database["name"], database["columns"]) == ("t", ["a", "b"])
    assert [row[0] for row in database["rows"]] == [3]
    diff = verdict.evidence[2].body
    assert diff["expected"] == [["none"]]
    assert diff["missing"] == [["none"]]


@pytest.mark.parametrize(
    ("answer", "reason", "error"),
    [
        ("", "empty", "empty"),
        ("I would rather not.", "format", "format"),
        ("SELECT IF(a > 3 FROM t", "invalid_sql", "syntax_error"),
        ("SELECT none_such(a) FROM t", "invalid_sql", "error"),
        ("CREATE VIRTUAL TABLE v USING fts5(a)", "invalid_sql", "forbidden"),
        ("SELECT a, b FROM t", "wrong_answer", "columns_count"),
    ],
)
def test_answers_that_fail(
    benchmark: DialectConversion, tmp_path: Path, answer: str, reason: str, error: str
) -> None:
    verdict = rule(benchmark, samples_of(tmp_path, CASE)[0], answer)
    assert (verdict.outcome, verdict.score) == ("failed", 0.0)
    assert (verdict.reason, verdict.details["error_type"]) == (reason, error)


def test_a_fence_costs_only_the_strict_view(benchmark: DialectConversion, tmp_path: Path) -> None:
    sample = samples_of(tmp_path, CASE)[0]
    verdict = rule(benchmark, sample, f"Here:\n```sql\n{CASE['reference']}\n```")
    assert verdict.outcome == "passed"
    assert verdict.views == {"strict": 0.0, "lenient": 1.0}


def test_what_the_stated_version_lacks_fails(benchmark: DialectConversion, tmp_path: Path) -> None:
    old = CASE | {"target_dialect": "PostgreSQL", "target_version": "9.2"}
    sample = samples_of(tmp_path, old)[0]
    verdict = rule(benchmark, sample, "SELECT count(*) FILTER (WHERE a > 3) FROM t")
    assert (verdict.outcome, verdict.details["error_type"]) == ("failed", "version")
    assert "9.4" in verdict.note


def test_without_an_engine_nothing_is_guessed(
    benchmark: DialectConversion, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from evalcore.errors import MissingDependency

    def missing(name: str) -> None:
        raise MissingDependency(f"SQL engine {name} is not installed; do this")

    sample = samples_of(tmp_path, CASE)[0]
    monkeypatch.setattr(benchmark.decider, "_open", missing)
    verdict = rule(benchmark, sample, "SELECT 5 FROM t")
    assert (verdict.outcome, verdict.score, verdict.reason) == ("not_executed", None, "no_engine")
    assert "do this" in verdict.note


def test_cases_without_a_reference_are_parsed_and_left_open(
    benchmark: DialectConversion, tmp_path: Path
) -> None:
    bare = {k: CASE[k] for k in ("case_id", "difficulty_level", "source_dialect", "sql")}
    sample = samples_of(tmp_path, bare | {"target_dialect": "Postgresql-9.2"})[0]
    assert rule(benchmark, sample, "SELECT (").reason == "wrong_answer"
    verdict = rule(benchmark, sample, "SELECT b FROM t")
    assert (verdict.outcome, verdict.reason) == ("not_executed", "no_panel")


def test_by_the_published_rule_nothing_is_decided_without_a_panel(tmp_path: Path) -> None:
    made = DialectConversion({"mode": "scale"})
    verdict = rule(made, samples_of(tmp_path, CASE)[0], CASE["reference"])
    made.close()
    assert (verdict.outcome, verdict.score, verdict.reason) == ("not_executed", None, "no_panel")


def test_the_question_names_both_sides_and_no_reference(
    benchmark: DialectConversion, tmp_path: Path
) -> None:
    sample = samples_of(tmp_path, CASE | {"target_version": "3.45"})[0]
    text = benchmark.build_prompt(sample)[0].content
    for name in ("MySQL", "SQLite 3.45", CASE["sql"], CASE["schema"][0], CASE["source_schema"][0]):
        assert name in text
    assert CASE["reference"] not in text + json.dumps(benchmark.request_input(sample))


def test_equal_questions_of_two_metrics_share_one_answer(
    benchmark: DialectConversion, tmp_path: Path
) -> None:
    samples_of(tmp_path, CASE)
    samples = samples_of(tmp_path, CASE, metric="syntax_error_detection")
    assert {s.metric for s in samples} == {"logical_equivalence", "syntax_error_detection"}
    assert len({benchmark.generation_key(s) for s in samples}) == 1


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"target_dialect": "dBASE"}, "target_dialect"),
        ({"source_dialect": ""}, "source_dialect"),
        ({"data": ["INSERT"]}, "data"),
        ({"schema": [1]}, "schema"),
        ({"ordered": "yes"}, "ordered"),
    ],
)
def test_a_bad_case_names_file_line_and_field(
    tmp_path: Path, change: dict[str, Any], field: str
) -> None:
    with pytest.raises(DatasetError, match=rf"logical_equivalence\.jsonl, line 2, field {field}"):
        samples_of(tmp_path, CASE, CASE | {"case_id": "x-2"} | change)


def test_the_published_files_are_read_unchanged(benchmark: DialectConversion) -> None:
    data = shared_data("scale/dataset/dialect_conversion")
    samples = benchmark.load_dataset(DatasetSource(path=str(data)))
    assert len(samples) == 72
    assert {s.metric for s in samples} == set(catalog.benchmark_card("dialect_conversion").weights)


def test_the_bundled_set_is_what_its_card_says(bundled: list[Sample]) -> None:
    assert len(bundled) >= 120
    card = (FOLDER / "README.md").read_text()
    for metric in catalog.benchmark_card("dialect_conversion").weights:
        mine = [s for s in bundled if s.metric == metric]
        wrong = sum(len(s.meta["counterexamples"]) for s in mine)
        assert f"| `{metric}` | {len(mine)} | {wrong} |" in card
    for sample in bundled:
        assert sample.reference["engine"]
        assert sample.meta["variants"]
        assert len(sample.meta["counterexamples"]) >= 3


def test_the_bundled_sources_are_many_and_some_are_long(bundled: list[Sample]) -> None:
    sources = Counter(sample.input["source_dialect"].split(" 1")[0] for sample in bundled)
    nine = "Oracle|SQL Server|DB2|OceanBase (Oracle mode)|DM|Snowflake|BigQuery|Hive|ClickHouse"
    assert all(sources[name] >= 6 for name in nine.split("|")), sources
    long_statements = [s for s in bundled if 4_000 <= len(s.input["sql"]) <= 9_000]
    assert len(long_statements) >= 40
    assert {s.metric for s in long_statements} >= {"big_sql_conversion", "domestic_database"}
    longest = [s for s in long_statements if len(s.input["sql"]) >= 6_000]
    assert len(longest) >= 10
    longest_sources = {sample.input["source_dialect"].split(" 1")[0] for sample in longest}
    assert longest_sources >= {"DM", "Hive", "DB2", "Snowflake", "Oracle"}


@pytest.mark.full
def test_controls_on_one_case_of_each_target(
    benchmark: DialectConversion, bundled: list[Sample]
) -> None:
    """`evalcore datasets check` does this for every case; here one for each metric and target."""
    chosen = {(s.metric, s.input["target_dialect"]): s for s in reversed(bundled)}
    for sample in chosen.values():
        for kind, outcome in (("reference", "passed"), ("null", "failed")):
            answer = benchmark.control(sample, kind, ()).text
            verdict = rule(benchmark, sample, answer)
            assert verdict.outcome == outcome, (sample.key, kind, verdict.note)
        wrong = rule(benchmark, sample, sample.meta["counterexamples"][0])
        assert wrong.outcome == "failed", sample.key


async def test_the_transpiler_competes(benchmark: DialectConversion, tmp_path: Path) -> None:
    from evalcore.records import GenerationRequest, TargetSpec

    sample = samples_of(tmp_path, CASE)[0]
    target = Baseline(TargetSpec(key="baseline:sqlglot"))
    request = GenerationRequest(messages=(), input=benchmark.request_input(sample))
    answer = (await target.generate(request)).text
    assert "IF(" not in answer.replace("IIF(", "")
    episode = Episode(key="k", epoch=0, answer=answer)
    assert (await benchmark.evaluate_sample(sample, episode)).outcome == "passed"
    constant = Baseline(TargetSpec(key="baseline:constant"))
    assert (await constant.generate(request)).text == "SELECT 1"

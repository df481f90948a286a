"""Index advice: created for real, and judged by the work that is left."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.sql_optimization import advice
from evalcore.benchmarks.sql_optimization.benchmark import SqlOptimization
from evalcore.errors import DatasetError, MissingDependency
from evalcore.i18n import DEFAULT, Note, translate_note
from evalcore.records import Episode, Sample, Verdict
from evalcore.settings import ROOT
from evalcore.sqlkit.engines import Execution, Limits, Work
from evalcore.sqlkit.index_advice import (
    AdvisedIndex,
    Expectation,
    check_advice,
    check_sentence,
    read_advice,
    read_index,
)
from evalcore.sqlkit.schema import read_schema
from tests.support.engines import SERVERS, server_engine
from tests.support.shared_data import shared_data

pytestmark = pytest.mark.slow

FILE = ROOT / "datasets" / "sql_optimization" / "index_advice.jsonl"
CASE: dict[str, Any] = {
    "case_id": "x-1",
    "difficulty_level": "1",
    "db_type": "SQLite",
    "create_table_statements": ["CREATE TABLE t (a INTEGER PRIMARY KEY, b INTEGER, c INTEGER)"],
    "sql": "SELECT a, c FROM t WHERE b = 77",
    "expected": {"alternatives": [{"table": "t", "columns": ["b"]}]},
}


@pytest.fixture(scope="module")
def benchmark() -> Iterator[SqlOptimization]:
    made = SqlOptimization({"mode": "verified"})
    yield made
    made.close()


@pytest.fixture(scope="module")
def bundled(benchmark: SqlOptimization) -> dict[str, Sample]:
    samples = benchmark.load_dataset(DatasetSource(path=str(FILE)))
    return {sample.id: sample for sample in samples}


def rule(benchmark: SqlOptimization, sample: Sample, answer: str) -> Verdict:
    episode = Episode(key=benchmark.generation_key(sample), epoch=0, answer=answer)
    return asyncio.run(benchmark.evaluate_sample(sample, episode))


def samples_of(folder: Path, *rows: dict[str, Any]) -> list[Sample]:
    file = folder / "index_advice.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return SqlOptimization({"mode": "verified"}).load_dataset(DatasetSource(path=str(file)))


# Checking, with works that are told


def worked(amount: int) -> Work:
    return Work(execution=Execution(status="ok"), unit="rows", amount=amount)


def refused(message: str, status: Any = "error") -> Work:
    return Work(execution=Execution(status=status, message=message, stage="setup"))


def index(*columns: str) -> AdvisedIndex:
    return read_index("t", columns, "mysql")


EXPECTATION = Expectation(alternatives=(index("a", "b"), index("b", "a")))


class StatedAdvice:
    """Works by the columns indexed, in place of an engine."""

    def __init__(self, **works: Work | int) -> None:
        self.works = {name: worked(w) if isinstance(w, int) else w for name, w in works.items()}

    def __call__(self, ddl: tuple[str, ...]) -> Work:
        names = [text.split()[2].removeprefix("advised_") for text in ddl]
        return self.works["_and_".join(names) or "without"]


@pytest.mark.parametrize(
    ("advised", "works", "result"),
    [
        ([index("a", "b")], {}, "as_good"),
        ([index("a", "b", "c")], {"a_b_c": 109}, "as_good"),  # 100 * 1.05 and the grain
        ([index("a", "b", "c")], {"a_b_c": 110}, "weaker"),
        ([index("a")], {"a": 300}, "weaker"),
        ([index("a")], {"a": 900}, "useless"),
        ([index("c")], {"c": 1000}, "useless"),
        ([index("z")], {"z": refused("no column z")}, "invalid"),
        ([index("(lower(a))")], {"lower_a": refused("near (", "syntax_error")}, "unsupported"),
        ([index("a", "b"), index("c")], {"a_b_and_c": 100, "c": 1000}, "needless"),
        ([index("a"), index("b")], {"a_and_b": 100, "a": 600, "b": 700}, "as_good"),
        ([index("a", "b")], {"without": 100}, "no_effect"),
        ([index("a", "b")], {"without": refused("out of time")}, "no_count"),
        ([index(*"abc"[:n], "z") for n in range(3)] * 2, {}, "too_many"),
    ],
)
def test_the_effect_decides(
    advised: list[AdvisedIndex], works: dict[str, Any], result: str
) -> None:
    message = StatedAdvice(**{"without": 1000, "a_b": 104, "b_a": 100, **works})
    assert check_advice(message, advised, EXPECTATION, "mysql").finding == result


def test_the_index_that_can_be_left_out_is_named() -> None:
    message = StatedAdvice(without=1000, a_b=100, b_a=100, c=1000, a_b_and_c=100)
    effect = check_advice(message, [index("a", "b"), index("c")], EXPECTATION, "mysql")
    assert effect.index == index("c")
    assert effect.best == worked(100)


@pytest.mark.parametrize(
    ("text", "expected", "result"),
    [
        ("No index is needed.", Expectation(none_ok=True), "right_sentence"),
        ("No index is needed.", Expectation(cannot_ok=True), "cannot_help"),
        ("No index can help.", Expectation(none_ok=True), "not_needed"),
        ("No index can help.", Expectation(cannot_ok=True), "right_sentence"),
        ("No index can help.", EXPECTATION, "helps"),
    ],
)
def test_sentences_are_right_where_the_case_says_so(
    text: str, expected: Expectation, result: str
) -> None:
    message = StatedAdvice(without=1000, a_b=100, b_a=100)
    assert check_sentence(message, read_advice(text, "mysql"), expected, "mysql").finding == result


def test_an_index_is_wrong_where_none_is_good() -> None:
    message = StatedAdvice(without=1000, a=100)
    for flag, result in (("none_ok", "not_needed"), ("cannot_ok", "cannot_help")):
        effect = check_advice(message, [index("a")], Expectation(**{flag: True}), "mysql")
        assert (effect.finding, effect.after) == (result, worked(100))


def test_a_sentence_stays_open_where_nothing_helps_or_can_be_counted() -> None:
    text = read_advice("No index is needed.", "mysql")
    idle = StatedAdvice(without=1000, a_b=1000, b_a=990)
    assert check_sentence(idle, text, EXPECTATION, "mysql").finding == "no_effect"
    broken = StatedAdvice(without=refused("out of time"))
    assert check_sentence(broken, text, EXPECTATION, "mysql").finding == "no_count"


# The metric, on engines


@pytest.mark.full  # `evalcore datasets check` confirms them too
def test_every_sqlite_case_keeps_its_word(
    benchmark: SqlOptimization, bundled: dict[str, Sample]
) -> None:
    cases = [sample for sample in bundled.values() if sample.reference["engine"] == "sqlite"]
    assert len(cases) >= 14
    for sample in cases:
        right = [advice.find_reference_advice(sample), *sample.meta["variants"]]
        wrong = [*sample.meta["counterexamples"], sample.input["sql"], ""]
        assert len(right) > len(sample.reference["expected"]["alternatives"])
        for answers, outcome in ((right, "passed"), (wrong, "failed")):
            for answer in answers:
                verdict = rule(benchmark, sample, answer)
                assert verdict.outcome == outcome, (sample.id, answer, verdict.note)


@pytest.mark.full
@pytest.mark.parametrize("name", SERVERS)
@pytest.mark.parametrize("id_", ["ix-017", "ix-027", "ix-035", "ix-044"])
def test_server_cases_keep_their_word(
    benchmark: SqlOptimization, bundled: dict[str, Sample], name: str, id_: str
) -> None:
    sample = bundled[id_]
    if sample.reference["engine"] != name:
        return
    server_engine(name, Limits()).close()  # skips where there is none
    for answer in sample.meta["variants"]:
        assert rule(benchmark, sample, answer).outcome == "passed", answer
    for answer in sample.meta["counterexamples"]:
        assert rule(benchmark, sample, answer).outcome == "failed", answer


def test_the_evidence_shows_plans_and_every_known_index(
    benchmark: SqlOptimization, bundled: dict[str, Sample]
) -> None:
    verdict = rule(benchmark, bundled["ix-003"], "CREATE INDEX i ON file_notes (file_no)")
    assert (verdict.outcome, verdict.reason) == ("failed", "wrong_answer")
    facts = verdict.details
    assert (facts["error_type"], facts["work_unit"]) == ("weaker", "vm_steps")
    assert facts["work_best"] < facts["work_after"] < facts["work_before"]
    plans, works = verdict.evidence
    assert (plans.kind, plans.body["unit"]) == ("plans", "vm_steps")
    assert plans.body["before"]["plan"][0] == "SCAN file_notes"
    assert "advised_file_no" in plans.body["after"]["plan"][0]
    assert [row[0] for row in works.body["rows"]] == [
        "-",
        "file_notes (file_no)",
        "file_notes (file_no, written_at)",
    ]


def test_equal_advice_gets_equal_verdicts_whatever_its_name(
    benchmark: SqlOptimization, bundled: dict[str, Sample]
) -> None:
    texts = [f"CREATE INDEX {name} ON repairs (serial_no)" for name in ("a", "zz", '"q;q"')]
    verdicts = [rule(benchmark, bundled["ix-001"], text) for text in texts]
    assert verdicts[0] == verdicts[1] == verdicts[2]
    assert verdicts[0].views == {"strict": 1.0, "lenient": 1.0}


@pytest.mark.parametrize(
    ("answer", "error", "note"),
    [
        ("CREATE INDEX i ON nowhere (a)", "invalid", "no such table: main.nowhere"),
        ("CREATE INDEX i ON repairs (colour)", "invalid", "no such column: colour"),
        ("CREATE INDEX i ON sqlite_master (name)", "invalid", "may not be indexed"),
        ("CREATE INDEX i ON repairs (random())", "invalid", "non-deterministic"),
        ("CREATE INDEX i ON repairs (load_extension('x'))", "invalid", "load_extension"),
        ("CREATE INDEX i ON repairs ((SELECT 1))", "unreadable", "a query inside an index"),
        ("CREATE INDEX i ON repairs (serial_no); DROP TABLE repairs", "unreadable", "DROP TABLE"),
    ],
)
def test_an_invalid_index_fails_with_what_the_engine_says(
    benchmark: SqlOptimization, bundled: dict[str, Sample], answer: str, error: str, note: str
) -> None:
    verdict = rule(benchmark, bundled["ix-001"], answer)
    assert (verdict.outcome, verdict.reason) == ("failed", "invalid_sql")
    assert verdict.details["error_type"] == error
    assert note in verdict.note


def test_a_unique_index_must_hold_for_the_rows(
    benchmark: SqlOptimization, bundled: dict[str, Sample], tmp_path: Path
) -> None:
    text = "CREATE UNIQUE INDEX i ON repairs (serial_no)"
    verdict = rule(benchmark, bundled["ix-001"], text)
    assert (verdict.outcome, verdict.reason) == ("failed", "invalid_sql")
    assert "UNIQUE constraint failed: repairs.serial_no" in verdict.note
    alternatives = [{"table": "t", "columns": ["b", "a"]}]
    (sample,) = samples_of(tmp_path, {**CASE, "expected": {"alternatives": alternatives}})
    verdict = rule(benchmark, sample, "CREATE UNIQUE INDEX i ON t (b, a) WHERE b IS NOT NULL")
    assert verdict.outcome == "passed"
    assert verdict.details["unique_index"] is True
    assert verdict.details["partial_index"] is True


def test_shotgun_advice_fails_and_what_stands_around_good_advice_does_not_matter(
    benchmark: SqlOptimization, bundled: dict[str, Sample]
) -> None:
    for sample in bundled.values():
        if sample.reference["engine"] != "sqlite":
            continue
        schema = read_schema(sample.input["schema"], "sqlite")
        columns = [(t.name, c.name) for t in schema.tables for c in t.columns]
        each = [f"CREATE INDEX i ON {table} ({column})" for table, column in columns]
        right = advice.find_reference_advice(sample).rstrip(";.")
        for shots in ([right, *each], [right, *each[:2]], [right] * 25 + each[:3], each * 9):
            verdict = rule(benchmark, sample, ";\n".join(shots))
            assert verdict.outcome == "failed", (sample.id, shots)
        around = [
            f"Here it is:\n```sql\n{right};\n```\nIt avoids reading the whole table.",
            f"{right};\n\nEXPLAIN QUERY PLAN {sample.input['sql']}\n{sample.input['explain']}",
        ]
        for text in around:
            verdict = rule(benchmark, sample, text)
            assert (verdict.outcome, verdict.views["strict"]) == ("passed", 0.0), (sample.id, text)


def test_verdicts_are_the_same_in_another_process_of_the_engine(
    benchmark: SqlOptimization, bundled: dict[str, Sample]
) -> None:
    again = SqlOptimization({"mode": "verified"})
    for id_ in ("ix-003", "ix-006", "ix-008"):
        for answer in (*bundled[id_].meta["variants"], *bundled[id_].meta["counterexamples"]):
            assert rule(again, bundled[id_], answer) == rule(benchmark, bundled[id_], answer)
    again.close()


def test_reasoning_does_not_count_as_the_answer(
    benchmark: SqlOptimization, bundled: dict[str, Sample]
) -> None:
    text = "<think>CREATE INDEX i ON repairs (shop)</think>CREATE INDEX i ON repairs (serial_no)"
    verdict = rule(benchmark, bundled["ix-001"], text)
    assert (verdict.outcome, verdict.views["strict"]) == ("passed", 0.0)


def test_without_the_engine_it_is_not_executed(
    benchmark: SqlOptimization, bundled: dict[str, Sample], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> None:
        raise MissingDependency(f"{name} is not there")

    made = SqlOptimization({"mode": "verified"})
    monkeypatch.setattr(made.meter._engines, "get", missing)
    sample = bundled["ix-016"]
    verdict = rule(made, sample, advice.find_reference_advice(sample))
    assert (verdict.outcome, verdict.reason) == ("not_executed", "no_engine")
    assert "postgres is not there" in verdict.note
    right = rule(made, bundled["ix-023"], "No index is needed.")
    assert (right.outcome, right.evidence_kind) == ("passed", "checked")


def test_a_database_that_nothing_here_runs(tmp_path: Path, benchmark: SqlOptimization) -> None:
    (sample,) = samples_of(tmp_path, {**CASE, "db_type": "Oracle"})
    verdict = rule(benchmark, sample, "CREATE INDEX i ON t (b)")
    assert (verdict.outcome, verdict.reason) == ("not_executed", "no_engine")


@pytest.mark.parametrize(
    ("expected", "field"),
    [
        ({"alternatives": [{"table": "t"}]}, "expected.alternatives"),
        ({"alternatives": [{"table": "t", "columns": ["a,"]}]}, "expected.alternatives"),
        ({"alternatives": []}, "expected"),
        (7, "expected"),
    ],
)
def test_a_wrong_expectation_is_named(tmp_path: Path, expected: Any, field: str) -> None:
    with pytest.raises(DatasetError) as error:
        samples_of(tmp_path, {**CASE, "expected": expected})
    assert field in str(error.value)


def test_all_right_answers_of_a_case(tmp_path: Path, benchmark: SqlOptimization) -> None:
    expected = {
        "alternatives": [{"table": "t", "columns": ["b"]}, {"table": "t", "columns": ["b", "c"]}],
        "cannot_ok": True,
    }
    (sample,) = samples_of(tmp_path, {**CASE, "expected": expected})
    assert sample.meta["variants"] == [
        "CREATE INDEX ix_b ON t (b);",
        "CREATE INDEX ix_b_c ON t (b, c);",
        "No index can help.",
    ]
    assert [rule(benchmark, sample, text).outcome for text in sample.meta["variants"]] == [
        "failed",  # the longer one covers the statement, which is an eighth less work
        "passed",
        "passed",
    ]


def test_scales_own_cases_are_for_a_panel(benchmark: SqlOptimization) -> None:
    path = shared_data("scale/dataset/sql_optimization/index_advice.jsonl")
    samples = benchmark.load_dataset(DatasetSource(path=str(path)))
    assert len(samples) == 88
    assert {sample.reference["engine"] for sample in samples} == {"mysql"}
    verdict = rule(benchmark, samples[0], advice.find_reference_advice(samples[0]))
    assert (verdict.outcome, verdict.reason) == ("not_executed", "no_panel")
    assert rule(benchmark, samples[0], "").outcome == "failed"


@pytest.mark.parametrize("finding", list(advice.OUTCOMES_BY_FINDING))
def test_every_note_has_a_translation(finding: str) -> None:
    values = {"message": "m", "index": "i", "most": 5, "before": 9, "after": 8, "best": 7}
    note = Note(advice.OUTCOMES_BY_FINDING[finding][2], **values)
    assert translate_note(note, DEFAULT) == note
    assert translate_note(note, "zh") != note

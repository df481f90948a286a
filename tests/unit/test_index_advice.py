"""Index advice: read from answers, created for real, and judged by the work that is left."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.sql_optimization import advice
from evalcore.benchmarks.sql_optimization.benchmark import SqlOptimization
from evalcore.errors import DatasetError, MissingDependency
from evalcore.i18n import DEFAULT, retell
from evalcore.records import Episode, Sample, Verdict
from evalcore.settings import ROOT
from evalcore.sqlkit.engines.base import Execution, Limits, Work
from evalcore.sqlkit.index_advice import (
    AdvisedIndex,
    Expectation,
    Unreadable,
    check_advice,
    check_sentence,
    ddl_of,
    placed,
    read_advice,
    read_index,
)
from evalcore.sqlkit.schema import read_schema
from tests.support.engines import SERVERS, server_engine
from tests.support.shared_data import shared_data

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


# Reading


@pytest.mark.parametrize(
    ("text", "dialect", "form", "targets"),
    [
        ("CREATE INDEX i ON t (a)", "sqlite", "strict", ["t (a)"]),
        ("create index if not exists i on t(a desc, b);\n", "sqlite", "strict", ["t (a desc, b)"]),
        ("```sql\nCREATE INDEX i ON t (a);\n```", "sqlite", "lenient", ["t (a)"]),
        ("Use this: CREATE INDEX i ON t (a);", "sqlite", "lenient", ["t (a)"]),
        ('{"index": "CREATE INDEX i ON t (a)"}', "sqlite", "lenient", ["t (a)"]),
        ("The best is CREATE INDEX i ON t (a) I think.", "sqlite", "lenient", ["t (a)"]),
        (
            "CREATE INDEX i ON t(a); CREATE INDEX k ON u(b, c); Reason: no index is needed else.",
            "mysql",
            "lenient",
            ["t (a)", "u (b, c)"],
        ),
        (
            "CREATE INDEX i ON t (a)\nReason: it covers.",
            "mysql",
            "lenient",
            ["t (a)"],
        ),
        (
            "CREATE INDEX CONCURRENTLY ON public.t USING btree (a NULLS LAST, (b + 1)) "
            "INCLUDE (c, d) WITH (fillfactor = 70) WHERE state = 'it''s' AND b IS NOT NULL;",
            "postgres",
            "strict",
            ["t (a NULLS LAST, (b + 1)) INCLUDE (c, d) WHERE state = 'it''s' AND b IS NOT NULL"],
        ),
        (
            "CREATE INDEX i USING BTREE ON `t` (`b`(10), c DESC) COMMENT 'x' ALGORITHM=INPLACE;",
            "mysql",
            "strict",
            ["`t` (`b`(10), c DESC)"],
        ),
        (
            "ALTER TABLE t ADD INDEX i (a, b(5) DESC), ADD UNIQUE KEY k USING BTREE (c);",
            "mysql",
            "strict",
            ["t (a, b(5) DESC)", "t (c)"],
        ),
        ("CREATE INDEX i ON t (a); CREATE INDEX k ON t (a)", "sqlite", "strict", ["t (a)"]),
        ("CREATE INDEX i ON t (a /* first */, b)", "sqlite", "strict", ["t (a, b)"]),
        ("CREATE INDEX i ON t (a); DROP TABLE t;", "sqlite", "lenient", ["t (a)"]),
    ],
)
def test_statements_are_found(text: str, dialect: str, form: str, targets: list[str]) -> None:
    found = read_advice(text, dialect)
    assert (found.says, found.form, found.problem) == ("create", form, "")
    assert [index.target for index in found.indexes] == targets


def test_parts_of_an_index() -> None:
    text = "CREATE UNIQUE INDEX i ON t USING hash (a DESC, lower(b), c text_pattern_ops)"
    (index,) = read_advice(text, "postgres").indexes
    assert (index.unique, index.method, index.on_expressions) == (True, "hash", True)
    assert [key.column for key in index.keys] == ["a", "", "c"]
    assert [key.descending for key in index.keys] == [True, False, False]
    (index,) = read_advice("CREATE FULLTEXT INDEX i ON t (b(7))", "mysql").indexes
    assert (index.kind, index.keys[0].column, index.keys[0].prefix) == ("fulltext", "b", 7)


@pytest.mark.parametrize(
    ("text", "says", "form"),
    [
        ("No index is needed.", "none", "strict"),
        ("no index is needed", "none", "strict"),
        ("No index can help.", "cannot", "strict"),
        ("No index is needed: the key serves, so no index can help more.", "none", "lenient"),
        ("No new indexes are required.", "none", "lenient"),
        ("There is no need to create an additional index.", "none", "lenient"),
        ("No performance issues; no indexes need to be created.", "none", "lenient"),
        ("当前查询性能满足要求，无需创建新索引", "none", "lenient"),
        ("email 列已有唯一索引，对于该查询无需创建新的索引", "none", "lenient"),
        ("无性能问题", "none", "lenient"),
        ("无法通过索引解决SQL性能问题，函数导致索引失效", "cannot", "lenient"),
        ("不等于操作符会导致全表扫描，不建议通过索引优化", "cannot", "lenient"),
        (
            "Unable to solve SQL performance issues by creating indexes. Reason: LIKE.",
            "cannot",
            "lenient",
        ),
        ("An index would not help here.", "cannot", "lenient"),
        ("I thought of CREATE INDEX i ON t (a), but no index can help.", "cannot", "lenient"),
        ("SELECT a FROM t", "nothing", "none"),
        ("Add some index.", "nothing", "none"),
        ("", "nothing", "none"),
    ],
)
def test_sentences_are_told_apart(text: str, says: str, form: str) -> None:
    found = read_advice(text, "mysql")
    assert (found.says, found.form, found.indexes) == (says, form, ())


@pytest.mark.parametrize(
    "text",
    [
        "CREATE INDEX i ON t",
        "CREATE INDEX i ON t (a, )",
        "CREATE INDEX i ON t (a",
        "CREATE INDEX i ON t ((SELECT max(a) FROM t))",
        "CREATE INDEX i ON t (a) WHERE b IN (SELECT a FROM t)",
        "CREATE INDEX i ON t (a) WHERE b = 1 ORDER BY c",
        "CREATE INDEX i ON t USING evil (a)",
        "ALTER TABLE t ADD INDEX i",
        "CREATE INDEX i ON t (a, (b = e'x'))",
    ],
)
def test_what_cannot_be_read_is_said_and_nothing_is_left_to_run(text: str) -> None:
    found = read_advice(text, "postgres")
    assert (found.says, found.indexes) == ("create", ())
    assert found.problem


def test_hostile_answers_are_read_in_linear_time() -> None:
    start = time.perf_counter()
    for text in ("CREATE INDEX `" * 20_000, "CREATE INDEX i ON t (" * 9_000, "no need " * 30_000):
        read_advice(text, "mysql")
    assert time.perf_counter() - start < 2


def test_only_our_own_spelling_is_executed() -> None:
    text = (
        "CREATE UNIQUE INDEX \"i; DROP TABLE t\" ON t (substr(a, 1, 2), b DESC) WHERE b <> 'x''y'"
    )
    assert ddl_of(read_advice(text, "sqlite").indexes, "sqlite") == (
        "CREATE INDEX advised_substr_a_1_2_b_desc ON t (substr(a, 1, 2), b DESC) WHERE b <> 'x''y'",
    )
    spelled = ddl_of(
        read_advice("CREATE INDEX i USING HASH ON t (a, `b c`(3))", "mysql").indexes, "mysql"
    )
    assert spelled == ("CREATE INDEX advised_a_b_c_3 USING hash ON t (a, `b c`(3))",)


def test_names_stay_apart_and_short() -> None:
    indexes = [read_index(table, ["a"] * 40, "postgres") for table in ("t", "u", "v")]
    names = [text.split()[2] for text in ddl_of(indexes, "postgres")]
    assert len(set(names)) == 3
    assert max(map(len, names)) <= 60


def test_a_table_keeps_the_schema_that_the_ddl_gives_it() -> None:
    schema = read_schema(["CREATE TABLE sales.orders (a int)"], "postgres")
    assert placed(read_index("orders", ["a"], "postgres"), schema).table == "sales.orders"
    assert placed(read_index("other.things", ["a"], "postgres"), schema).table == "things"


def test_an_alternative_that_is_none_is_refused() -> None:
    with pytest.raises(Unreadable, match="columns"):
        read_index("t", [], "sqlite")


# Checking, with works that are told


def worked(amount: int) -> Work:
    return Work(execution=Execution(status="ok"), unit="rows", amount=amount)


def refused(message: str, status: Any = "error") -> Work:
    return Work(execution=Execution(status=status, message=message, stage="setup"))


def index(*columns: str) -> AdvisedIndex:
    return read_index("t", columns, "mysql")


KNOWN = Expectation(alternatives=(index("a", "b"), index("b", "a")))


class Told:
    """Works by the columns indexed, in place of an engine."""

    def __init__(self, **works: Work | int) -> None:
        self.works = {name: worked(w) if isinstance(w, int) else w for name, w in works.items()}

    def __call__(self, ddl: tuple[str, ...]) -> Work:
        names = [text.split()[2].removeprefix("advised_") for text in ddl]
        return self.works["_and_".join(names) or "without"]


@pytest.mark.parametrize(
    ("advised", "works", "found"),
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
def test_the_effect_decides(advised: list[AdvisedIndex], works: dict[str, Any], found: str) -> None:
    told = Told(**{"without": 1000, "a_b": 104, "b_a": 100, **works})
    assert check_advice(told, advised, KNOWN, "mysql").found == found


def test_the_index_that_can_be_left_out_is_named() -> None:
    told = Told(without=1000, a_b=100, b_a=100, c=1000, a_b_and_c=100)
    effect = check_advice(told, [index("a", "b"), index("c")], KNOWN, "mysql")
    assert effect.index == index("c")
    assert effect.best == worked(100)


@pytest.mark.parametrize(
    ("text", "expected", "found"),
    [
        ("No index is needed.", Expectation(none_ok=True), "right_sentence"),
        ("No index is needed.", Expectation(cannot_ok=True), "cannot_help"),
        ("No index can help.", Expectation(none_ok=True), "not_needed"),
        ("No index can help.", Expectation(cannot_ok=True), "right_sentence"),
        ("No index can help.", KNOWN, "helps"),
    ],
)
def test_sentences_are_right_where_the_case_says_so(
    text: str, expected: Expectation, found: str
) -> None:
    told = Told(without=1000, a_b=100, b_a=100)
    assert check_sentence(told, read_advice(text, "mysql"), expected, "mysql").found == found


def test_an_index_is_wrong_where_none_is_good() -> None:
    told = Told(without=1000, a=100)
    for flag, found in (("none_ok", "not_needed"), ("cannot_ok", "cannot_help")):
        effect = check_advice(told, [index("a")], Expectation(**{flag: True}), "mysql")
        assert (effect.found, effect.after) == (found, worked(100))


def test_a_sentence_stays_open_where_nothing_helps_or_can_be_counted() -> None:
    said = read_advice("No index is needed.", "mysql")
    idle = Told(without=1000, a_b=1000, b_a=990)
    assert check_sentence(idle, said, KNOWN, "mysql").found == "no_effect"
    broken = Told(without=refused("out of time"))
    assert check_sentence(broken, said, KNOWN, "mysql").found == "no_count"


# The metric, on engines


def test_every_sqlite_case_keeps_its_word(
    benchmark: SqlOptimization, bundled: dict[str, Sample]
) -> None:
    cases = [sample for sample in bundled.values() if sample.reference["engine"] == "sqlite"]
    assert len(cases) >= 14
    for sample in cases:
        right = [advice.reference(sample), *sample.meta["variants"]]
        wrong = [*sample.meta["counterexamples"], sample.input["sql"], ""]
        assert len(right) > len(sample.reference["expected"]["alternatives"])
        for answers, outcome in ((right, "passed"), (wrong, "failed")):
            for answer in answers:
                verdict = rule(benchmark, sample, answer)
                assert verdict.outcome == outcome, (sample.id, answer, verdict.note)


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
    ],
)
def test_an_invalid_index_fails_with_what_the_engine_says(
    benchmark: SqlOptimization, bundled: dict[str, Sample], answer: str, error: str, note: str
) -> None:
    verdict = rule(benchmark, bundled["ix-001"], answer)
    assert (verdict.outcome, verdict.reason) == ("failed", "invalid_sql")
    assert verdict.details["error_type"] == error
    assert note in verdict.note


def test_flags_for_what_is_left_out_and_what_is_partial(
    benchmark: SqlOptimization, bundled: dict[str, Sample]
) -> None:
    text = "CREATE UNIQUE INDEX i ON repairs (serial_no) WHERE serial_no IS NOT NULL"
    verdict = rule(benchmark, bundled["ix-001"], text)
    assert verdict.outcome == "passed"
    assert verdict.details["unique_ignored"] is True
    assert verdict.details["partial_index"] is True


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
    monkeypatch.setattr(made.meter, "_open", missing)
    sample = bundled["ix-016"]
    verdict = rule(made, sample, advice.reference(sample))
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
    verdict = rule(benchmark, samples[0], advice.reference(samples[0]))
    assert (verdict.outcome, verdict.reason) == ("not_executed", "no_panel")
    assert rule(benchmark, samples[0], "").outcome == "failed"


@pytest.mark.parametrize("finding", list(advice._RULINGS))
def test_every_note_has_a_translation(finding: str) -> None:
    values = {"message": "m", "index": "i", "most": 5, "before": 9, "after": 8, "best": 7}
    told = advice._RULINGS[finding][2].format_map(values)
    assert retell(told, DEFAULT) == told
    assert retell(told, "zh") != told

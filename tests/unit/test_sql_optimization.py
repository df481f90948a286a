"""`sql_optimization`: doing nothing earns nothing, rewrites are executed, counted and read."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.sql_optimization.benchmark import SqlOptimization
from evalcore.benchmarks.sql_optimization.card import CARD
from evalcore.benchmarks.sql_optimization.rewrites import Assessment
from evalcore.errors import DatasetError, MissingDependency
from evalcore.records import Completion, Episode, GenerationRequest, Sample, TargetSpec, Verdict
from evalcore.settings import ROOT
from evalcore.sqlkit.engines import Execution, Limits, Work
from evalcore.sqlkit.equivalence import Equivalence
from evalcore.targets.baseline import Baseline
from tests.support.engines import server_engine
from tests.support.judges import Scripted
from tests.support.shared_data import shared_data

FOLDER = ROOT / "datasets" / "sql_optimization"
SCHEMA = [
    "CREATE TABLE visits (id INTEGER PRIMARY KEY, day TEXT NOT NULL, room INTEGER NOT NULL)",
    "CREATE INDEX ix_day ON visits (day)",
]
CASE: dict[str, Any] = {
    "case_id": "x-1",
    "difficulty_level": "2",
    "db_type": "SQLite",
    "description": "Visits of one year.",
    "create_table_statements": SCHEMA,
    "sql": "SELECT id, room FROM visits WHERE substr(day, 1, 4) = '2024'",
    "reference": "SELECT id, room FROM visits WHERE day >= '2024' AND day < '2025'",
    "variants": ["SELECT v.id, v.room FROM visits AS v WHERE v.day >= '2024' AND v.day < '2025'"],
    "counterexamples": ["SELECT id, room FROM visits WHERE day > '2024-01-01' AND day < '2025'"],
    "expected": {
        "optimization_rules": [
            {"rule_id": "1", "difficulty_level": "3", "rationale": "bare", "check": "sargable"},
            {"rule_id": "2", "difficulty_level": "1", "rationale": "none", "check": "or_to_in"},
        ]
    },
}
#: Right, another statement, and no faster: the same function over the column.
IDLE = "SELECT id, room FROM visits WHERE substr(day, 1, 4) = '2024' AND id = id"
WORSE = (
    "SELECT id, room FROM visits WHERE substr(day, 1, 4) = '2024' "
    "AND (SELECT count(*) FROM visits AS o WHERE o.room >= 0) >= 0 "
    "AND EXISTS (SELECT 1 FROM visits AS p WHERE p.room + p.id IS NOT NULL AND p.id = visits.id)"
)


@pytest.fixture(scope="module")
def benchmark() -> Iterator[SqlOptimization]:
    made = SqlOptimization({"mode": "verified"})
    yield made
    made.close()


def samples_of(folder: Path, *rows: dict[str, Any], stem: str = "rewrite") -> dict[str, Sample]:
    (folder / f"{stem}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    loaded = SqlOptimization({"mode": "verified"}).load_dataset(DatasetSource(path=str(folder)))
    return {sample.key: sample for sample in loaded}


def rule(benchmark: SqlOptimization, sample: Sample, answer: str, context: Any = None) -> Verdict:
    episode = Episode(key=benchmark.generation_key(sample), epoch=0, answer=answer)
    return asyncio.run(benchmark.evaluate_sample(sample, episode, context))


def outcomes(benchmark: SqlOptimization, samples: dict[str, Sample], answer: str) -> dict[str, str]:
    return {key: rule(benchmark, sample, answer).outcome for key, sample in samples.items()}


EQUIVALENT, RUNS = "logical_equivalence/x-1", "syntax_error_detection/x-1"
BARE, LISTED = "optimization_depth/x-1/1", "optimization_depth/x-1/2"


def test_a_case_feeds_three_metrics_with_one_answer(
    benchmark: SqlOptimization, tmp_path: Path
) -> None:
    samples = samples_of(tmp_path, CASE)
    assert set(samples) == {EQUIVALENT, RUNS, BARE, LISTED}
    assert len({benchmark.generation_key(s) for s in samples.values()}) == 1
    assert [samples[key].difficulty for key in (EQUIVALENT, BARE, LISTED)] == [2, 3, 1]


@pytest.mark.parametrize(
    ("answer", "equivalent", "runs", "bare"),
    [
        (CASE["reference"], "passed", "passed", "passed"),
        (CASE["variants"][0], "passed", "passed", "passed"),
        (CASE["sql"], "failed", "failed", "failed"),
        (
            "-- better\nselect id, room from visits where (substr(day,1,4)) = '2024';",
            *["failed"] * 3,
        ),
        (CASE["counterexamples"][0], *["failed"] * 3),
        (
            "SELECT room, id FROM visits WHERE day >= '2024' AND day < '2025'",
            *["failed"] * 3,
        ),
        ("SELECT id FROM visits", "failed", "failed", "failed"),
        ("SELECT id, room FROM visit WHERE day >= '2024'", "failed", "failed", "failed"),
        ("EXPLAIN QUERY PLAN " + CASE["reference"], "passed", "passed", "passed"),  # lenient alone
        ("", "failed", "failed", "failed"),
        (IDLE, *["failed"] * 3),
        (WORSE, *["failed"] * 3),
        (f"WITH q AS ({CASE['sql']}) SELECT * FROM q", *["failed"] * 3),
        (f"{CASE['sql']} LIMIT 1000", *["failed"] * 3),
        (f"{CASE['sql']} AND 1 = 1", *["failed"] * 3),
        ("SELECT id, room FROM visits WHERE 0 = 1", *["failed"] * 3),
    ],
)
def test_what_earns_what(
    benchmark: SqlOptimization, tmp_path: Path, answer: str, equivalent: str, runs: str, bare: str
) -> None:
    result = outcomes(benchmark, samples_of(tmp_path, CASE), answer)
    assert (result[EQUIVALENT], result[RUNS], result[BARE]) == (equivalent, runs, bare)


def test_the_reasons_tell_apart_unchanged_worse_and_absent(
    benchmark: SqlOptimization, tmp_path: Path
) -> None:
    samples = samples_of(tmp_path, CASE)

    def error(key: str, answer: str) -> str:
        return str(rule(benchmark, samples[key], answer).details["error_type"])

    assert error(EQUIVALENT, CASE["sql"]) == "unchanged"
    assert error(EQUIVALENT, WORSE) == "worse"
    assert error(BARE, IDLE) == "no_saving"
    verdict = rule(benchmark, samples[EQUIVALENT], IDLE)
    assert (verdict.outcome, verdict.reason, verdict.score) == ("failed", "no_saving", 0.0)


def test_work_before_and_after_is_counted_and_shown(
    benchmark: SqlOptimization, tmp_path: Path
) -> None:
    verdict = rule(benchmark, samples_of(tmp_path, CASE)[EQUIVALENT], CASE["reference"])
    assert verdict.details["work_unit"] == "vm_steps"
    assert verdict.details["work_after"] < verdict.details["work_before"] / 2
    plans = verdict.evidence[-1]
    assert (plans.kind, plans.body["unit"]) == ("plans", "vm_steps")
    assert any("ix_day" in line for line in plans.body["after"]["plan"])
    assert not any("ix_day" in line for line in plans.body["before"]["plan"])


def test_an_effect_like_the_reference_counts_where_the_tree_shows_nothing(
    benchmark: SqlOptimization, tmp_path: Path
) -> None:
    """The rule asks for an IN list, which is not there; the work is that of the reference."""
    sample = samples_of(tmp_path, CASE)[LISTED]
    verdict = rule(benchmark, sample, CASE["reference"])
    assert verdict.outcome == "passed"
    assert "as little" in verdict.note


def test_without_an_engine_nothing_is_guessed(
    benchmark: SqlOptimization, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> None:
        raise MissingDependency(f"SQL engine {name} is not installed; do this")

    sample = samples_of(tmp_path, CASE)[EQUIVALENT]
    monkeypatch.setattr(benchmark.decider, "_open", missing)
    verdict = rule(benchmark, sample, "SELECT 7 AS id, 8 AS room FROM visits")
    assert (verdict.outcome, verdict.reason) == ("not_executed", "no_engine")


ORACLE = {
    key: value
    for key, value in CASE.items()
    if key not in ("reference", "variants", "counterexamples")
} | {
    "db_type": "oracle",
    "expected": {
        "optimization_rules": [
            {"rule_id": "1", "difficulty_level": "3", "rationale": "bare"},
            {"rule_id": "2", "difficulty_level": "1", "rationale": "something said in words only"},
        ]
    },
}


def test_cases_of_others_go_to_the_panel_where_nothing_executes(
    benchmark: SqlOptimization, tmp_path: Path
) -> None:
    samples = samples_of(tmp_path, ORACLE)
    answer = CASE["reference"]
    assert all(benchmark.may_be_judged(sample) for sample in samples.values())
    bare = rule(benchmark, samples[EQUIVALENT], answer)
    assert (bare.outcome, bare.reason) == ("not_executed", "no_engine")
    yes = '{"answer": "yes", "reason": "same"}'
    for key, reply, kind in (
        (EQUIVALENT, [yes], "Does STATEMENT B"),
        (RUNS, [yes], "Would Oracle accept"),
        (LISTED, [yes, '{"rules": ["2"], "reason": "seen"}'], "Which of the improvements"),
    ):
        asker = Scripted({"openai:j": reply})
        verdict = rule(benchmark, samples[key], answer, asker)
        assert (verdict.outcome, verdict.evidence_kind) == ("passed", "judged"), key
        assert kind in asker.requests["openai:j"][-1].messages[-1].content
    unchanged = rule(benchmark, samples[EQUIVALENT], CASE["sql"], Scripted({"openai:j": [yes]}))
    assert (unchanged.outcome, unchanged.details["error_type"]) == ("failed", "unchanged")


def test_authored_cases_never_go_to_a_panel(benchmark: SqlOptimization, tmp_path: Path) -> None:
    samples = samples_of(tmp_path, CASE)
    assert not any(benchmark.may_be_judged(sample) for sample in samples.values())
    asker = Scripted({"openai:j": ['{"answer": "yes", "reason": ""}']})
    rule(benchmark, samples[EQUIVALENT], CASE["counterexamples"][0], asker)
    assert not asker.requests


def test_by_the_published_rule_execution_only_stands_beside(tmp_path: Path) -> None:
    made = SqlOptimization({"mode": "scale"})
    sample = samples_of(tmp_path, CASE)[EQUIVALENT]
    wrong = CASE["counterexamples"][0]
    verdict = rule(made, sample, wrong, Scripted({"openai:j": ['{"answer": "yes"}']}))
    made.close()
    assert (verdict.outcome, verdict.evidence_kind) == ("passed", "judged")
    assert verdict.details["executed"] == "failed"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"db_type": "dBASE"}, "db_type"),
        ({"sql": ""}, "sql"),
        ({"data": ["INSERT"]}, "data"),
        ({"expected": {"optimization_rules": [{"rule_id": "1"}]}}, "expected.optimization_rules"),
        ({"expected": {"optimization_rules": "all"}}, "expected.optimization_rules"),
    ],
)
def test_a_bad_case_names_file_line_and_field(
    tmp_path: Path, change: dict[str, Any], field: str
) -> None:
    with pytest.raises(DatasetError, match=rf"rewrite\.jsonl, line 2, field {field}"):
        samples_of(tmp_path, CASE, CASE | {"case_id": "x-2"} | change)


def test_the_published_files_are_read_unchanged(benchmark: SqlOptimization) -> None:
    data = shared_data("scale/dataset/sql_optimization")
    samples = benchmark.load_dataset(DatasetSource(path=str(data)))
    assert Counter(sample.metric for sample in samples) == {
        "logical_equivalence": 50,
        "syntax_error_detection": 50,
        "optimization_depth": 94,
        "index_advice": 88,
    }
    assert {sample.metric for sample in samples} == set(CARD.weights)


def test_the_bundled_set_is_as_large_and_varied_as_it_says(benchmark: SqlOptimization) -> None:
    samples = benchmark.load_dataset(DatasetSource(path=str(FOLDER)))
    counts = Counter(sample.metric for sample in samples)
    assert counts["logical_equivalence"] + counts["index_advice"] >= 100
    for sample in samples:
        if sample.metric in ("logical_equivalence", "index_advice"):
            assert len(sample.meta["counterexamples"]) >= 3, sample.key
    assert {sample.reference["engine"] for sample in samples} == {
        "sqlite",
        "duckdb",
        "postgres",
        "mysql",
    }


def test_the_question_holds_no_reference(benchmark: SqlOptimization, tmp_path: Path) -> None:
    for sample in samples_of(tmp_path, CASE).values():
        text = benchmark.build_prompt(sample)[0].content
        assert CASE["sql"] in text
        assert SCHEMA[0] in text
        whole = text + json.dumps(benchmark.request_input(sample))
        assert CASE["reference"] not in whole
        assert "sargable" not in whole


def test_the_controls_answer_as_their_names_say(benchmark: SqlOptimization, tmp_path: Path) -> None:
    sample = samples_of(tmp_path, CASE)[EQUIVALENT]
    completions = {k: benchmark.control(sample, k, ()) for k in ("reference", "null", "noop")}
    assert completions == {
        "reference": Completion(text=CASE["reference"]),
        "null": Completion(text=""),
        "noop": Completion(text=CASE["sql"]),
    }


def test_the_baseline_rewrites_and_advises(benchmark: SqlOptimization, tmp_path: Path) -> None:
    baseline = Baseline(TargetSpec(key="baseline:sqlglot"))

    def ask(sample: Sample) -> str:
        request = GenerationRequest(messages=(), input=benchmark.request_input(sample))
        return asyncio.run(baseline.generate(request)).text

    doubled = CASE | {"sql": "SELECT id FROM (SELECT id, room FROM visits) AS s WHERE room = 3"}
    rewritten = ask(samples_of(tmp_path, doubled)[EQUIVALENT])
    assert rewritten.count("SELECT") == 1
    index = {
        "case_id": "i-1",
        "difficulty_level": "1",
        "db_type": "SQLite",
        "create_table_statements": SCHEMA,
        "sql": "SELECT id FROM visits WHERE day > '2024' AND room = 3",
        "expected": {"alternatives": [{"table": "visits", "columns": ["room", "day"]}]},
    }
    samples = samples_of(tmp_path, index, stem="index_advice")
    assert ask(samples["index_advice/i-1"]) == "CREATE INDEX advised_1 ON visits (room, day)"


#: Fewer days go through the function than before, and more than are asked for.
HALF = "SELECT id, room FROM visits WHERE day < 'k11' AND substr(day, 1, 4) = '2024'"


def test_the_score_grows_with_the_work_saved(benchmark: SqlOptimization, tmp_path: Path) -> None:
    samples = samples_of(tmp_path, CASE)
    shares = {}
    for name, answer in (("all", CASE["reference"]), ("half", HALF)):
        verdicts = {key: rule(benchmark, sample, answer) for key, sample in samples.items()}
        assert {verdicts[key].outcome for key in (EQUIVALENT, RUNS)} == {"passed"}
        assert verdicts[EQUIVALENT].score == verdicts[RUNS].score
        assert verdicts[EQUIVALENT].details["effect"] == "work"
        shares[name] = verdicts[EQUIVALENT].score
        assert verdicts[EQUIVALENT].views == {"strict": shares[name], "lenient": shares[name]}
    assert shares["all"] == 1.0
    assert 0.1 < shares["half"] < 0.95


def test_rows_are_compared_on_the_large_database_too(
    benchmark: SqlOptimization, tmp_path: Path
) -> None:
    """Right on every database of the question, and empty on the scaled one: no limit of which a
    database of its own is made."""
    few = "length(hex(zeroblob((SELECT count(*) FROM visits)))) < length(hex(zeroblob(75))) * 40"
    answer = f"{CASE['reference']} AND {few}"
    verdict = rule(benchmark, samples_of(tmp_path, CASE)[EQUIVALENT], answer)
    assert (verdict.outcome, verdict.reason) == ("failed", "wrong_answer")
    assert verdict.details["counterexample_profile"] == "scaled"
    shown = rule(benchmark, samples_of(tmp_path, CASE)[EQUIVALENT], CASE["reference"])
    assert shown.details["scaled_compared"] is True


def test_the_case_page_gets_the_work_as_a_table(benchmark: SqlOptimization, tmp_path: Path) -> None:
    verdict = rule(benchmark, samples_of(tmp_path, CASE)[EQUIVALENT], HALF)
    table = next(section for section in verdict.evidence if section.title == "works")
    assert (table.kind, table.body["columns"]) == ("table", ["statement", "vm_steps", "saved"])
    rows = {row[0]: row[1:] for row in table.body["rows"]}
    assert list(rows) == ["before", "after", "best"]
    assert rows["before"][0] > rows["after"][0] > rows["best"][0]
    assert verdict.details["work_best"] == rows["best"][0]


def count_work(amount: int, visited: int = 0) -> Work:
    return Work(execution=Execution(status="ok"), unit="pages", amount=amount, visited=visited)


def ended_by_the_clock(seconds: float, **fields: Any) -> Work:
    return Work(execution=Execution(status="timeout", elapsed=seconds, **fields))


def took(seconds: float) -> Work:
    return Work(execution=Execution(status="ok", elapsed=seconds), unit="pages", amount=100)


@pytest.mark.parametrize(
    ("before", "after", "saves", "worse"),
    [
        (ended_by_the_clock(30.0), took(1.0), True, False),
        (took(1.0), ended_by_the_clock(30.0), False, True),
        # a machine so busy that the other nearly ran into its limit, too, decides nothing
        (ended_by_the_clock(30.0), took(20.0), None, False),
        (took(20.0), ended_by_the_clock(30.0), None, False),
        # nor does a server that went away, or one that could not be filled
        (took(1.0), Work(execution=Execution(status="crashed")), None, False),
        (took(1.0), ended_by_the_clock(30.0, stage="setup"), None, False),
    ],
)
def test_only_a_statement_that_fails_of_its_own_is_worse(
    before: Work, after: Work, saves: bool | None, worse: bool
) -> None:
    assessment = Assessment(False, Equivalence("equivalent"), before=before, after=after)
    assert (assessment.saves_work, assessment.is_worse) == (saves, worse)


@pytest.mark.parametrize(
    ("before", "after", "best", "share"),
    [
        (count_work(1000), count_work(100), count_work(100), 1.0),
        (count_work(1000), count_work(50), count_work(100), 1.0),
        (count_work(1000), count_work(550), count_work(100), 0.5),
        (count_work(1000), count_work(950), count_work(100), 0.0),
        (count_work(1000), count_work(1500), count_work(100), 0.0),
        (count_work(1000), count_work(500), count_work(1000), 1.0),
        # the original runs into its limit of time: what the answer takes is held against the best
        (ended_by_the_clock(30.0), count_work(100), count_work(100), 1.0),
        (ended_by_the_clock(30.0), count_work(440), count_work(100), 0.25),
        (ended_by_the_clock(30.0), count_work(90_000), count_work(100), 0.0),
        # fewer pages, and as many rows in a materialized CTE
        (count_work(92_000, 16_000_000), count_work(23, 16_000_000), count_work(23, 9_000), 0.0),
        (count_work(92_000, 16_000_000), count_work(23, 8_000_000), count_work(23, 9_000), 0.5),
        # a join buffer whose rows no counter sees
        (count_work(22_000, 21_000), count_work(2_000, 1_002_000), count_work(900, 20_000), 0.0),
        # fewer pages for somewhat more rows: another plan
        (count_work(12_000, 8_000), count_work(60, 20_000), count_work(60, 20_000), 1.0),
    ],
)
def test_the_share_of_the_saving(before: Work, after: Work, best: Work, share: float) -> None:
    assessment = Assessment(False, Equivalence("equivalent"), before=before, after=after, best=best)
    assert assessment.saved_share == pytest.approx(share, abs=0.01)
    assert bool(assessment.saves_work) == (share > 0)


FANNED = (
    "CREATE TABLE a (id INT PRIMARY KEY, g INT, KEY ig (g))",
    "CREATE TABLE b (id INT PRIMARY KEY, g INT, KEY ig (g))",
    *(
        f"INSERT INTO {table} VALUES " + ", ".join(f"({n}, {n % 10})" for n in range(300))
        for table in "ab"
    ),
)


def test_rows_behind_a_join_buffer_are_visited_rows() -> None:
    """MariaDB reads few rows for a join without an index, and compares each with each."""
    with server_engine("mysql", Limits()) as engine:
        if "MariaDB" not in engine.version:
            pytest.skip("a real MySQL joins by hash")
        joined = engine.measure(FANNED, "SELECT count(*) FROM a JOIN b ON a.g = b.g")
        hidden = engine.measure(FANNED, "SELECT count(*) FROM a JOIN b ON a.g + 0 = b.g + 0")
    assert hidden.amount < joined.amount / 5
    assert hidden.visited >= 90_000 > 4 * joined.visited


def test_rows_of_a_materialized_cte_are_visited_rows() -> None:
    setup = (
        "CREATE TABLE t (a INT NOT NULL, b INT NOT NULL)",
        "INSERT INTO t SELECT n, n % 10 FROM generate_series(1, 1000) AS n",
    )
    nested = "SELECT count(*) FROM {0} AS x WHERE (SELECT max(a) FROM {0} AS y WHERE y.b = x.a) > 0"
    with server_engine("postgres", Limits()) as engine:
        plain = engine.measure(setup, nested.format("t"))
        stored = engine.measure(setup, "WITH q AS (SELECT * FROM t) " + nested.format("q"))
    assert stored.amount < plain.amount / 50
    assert stored.visited >= plain.visited >= 1_000_000

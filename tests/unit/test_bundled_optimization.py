"""The bundled cases of `sql_optimization`: controls score what they deserve, engine by engine.

`control:reference` gives the authored answers, which must score 100 in every metric; `control:noop`
returns the statement and `control:null` nothing, which must score 0. `make test` runs some cases of
each engine, `make test-full` all: that all references and variants pass, and counterexamples fail,
on every engine is what `evalcore datasets check` proves.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.sql_optimization.benchmark import SqlOptimization
from evalcore.benchmarks.sql_optimization.card import CARD
from evalcore.records import Episode, Sample, Verdict
from evalcore.settings import ROOT
from evalcore.sqlkit.engines import Limits
from evalcore.sqlkit.rewrite_rules import has_rewrite, is_rearranged_statement
from tests.support.cosmetic_noise import NOISE
from tests.support.cosmetic_rewrites import DISGUISES, disguise_sample
from tests.support.engines import SERVERS, server_engine
from tests.support.honest_rewrites import HONEST

pytestmark = pytest.mark.slow

FOLDER = ROOT / "datasets" / "sql_optimization"
ENGINES = ("sqlite", "duckdb", *SERVERS)
#: One case in so many is run.
THINNED = 16
each_step = pytest.mark.parametrize("step", [THINNED, pytest.param(1, marks=pytest.mark.full)])


@pytest.fixture(scope="module")
def benchmark() -> Iterator[SqlOptimization]:
    made = SqlOptimization({"mode": "verified"})
    yield made
    made.close()


@pytest.fixture(scope="module")
def samples(benchmark: SqlOptimization) -> list[Sample]:
    return benchmark.load_dataset(DatasetSource(path=str(FOLDER)))


def of_engine(samples: list[Sample], name: str, step: int) -> list[Sample]:
    """The samples of every `step`th case of an engine; skips where the engine is absent."""
    if name in SERVERS:
        server_engine(name, Limits()).close()
    own = [sample for sample in samples if sample.reference["engine"] == name]
    cases = sorted({sample.id.split("/")[0] for sample in own})[::step]
    return [sample for sample in own if sample.id.split("/")[0] in cases]


def judged(benchmark: SqlOptimization, samples: list[Sample], kind: str) -> list[Verdict]:
    return rule_answers(benchmark, samples, lambda s: benchmark.control(s, kind, ()).text)


def rule_answers(
    benchmark: SqlOptimization, samples: list[Sample], write_answer: Callable[[Sample], str]
) -> list[Verdict]:
    async def rule_all() -> list[Verdict]:
        return [
            await benchmark.evaluate_sample(
                sample,
                Episode(key=benchmark.generation_key(sample), epoch=0, answer=write_answer(sample)),
            )
            for sample in samples
        ]

    return asyncio.run(rule_all())


@pytest.mark.sampled(5)
@each_step
@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize(
    ("kind", "outcome", "score"),
    [
        ("reference", "passed", 100.0),
        ("noop", "failed", 0.0),
        ("null", "failed", 0.0),
        ("cte", "failed", 0.0),
        ("limit", "failed", 0.0),
        ("tautology", "failed", 0.0),
    ],
)
def test_controls_score_what_they_deserve(
    benchmark: SqlOptimization,
    samples: list[Sample],
    name: str,
    kind: str,
    outcome: str,
    score: float,
    step: int,
) -> None:
    asked = of_engine(samples, name, step)
    verdicts = judged(benchmark, asked, kind)
    wrong = {s.key: v.note for s, v in zip(asked, verdicts, strict=True) if v.outcome != outcome}
    assert not wrong
    total = benchmark.aggregate(asked, verdicts, CARD.weights)
    assert total.score == score
    assert {total.metrics[metric].score for metric in {s.metric for s in asked}} == {score}


def test_sizes_and_spread(samples: list[Sample]) -> None:
    cases = Counter((s.metric, s.reference["engine"]) for s in samples)
    assert {metric for metric, _ in cases} == set(CARD.weights)
    for metric in ("logical_equivalence", "syntax_error_detection", "optimization_depth"):
        assert {engine for result, engine in cases if result == metric} == set(ENGINES)
    assert {s.difficulty for s in samples} == {1, 2, 3}


@each_step
def test_the_reference_of_an_index_case_reads_less_than_no_index(
    benchmark: SqlOptimization, samples: list[Sample], step: int
) -> None:
    asked = [s for s in of_engine(samples, "sqlite", step) if s.metric == "index_advice"]
    verdicts = judged(benchmark, asked, "reference")
    counted = [v.details for v in verdicts if "work_after" in v.details]
    assert len(counted) >= -(-10 // step)
    for facts in counted:
        assert facts["work_after"] <= 0.8 * facts["work_before"]


#: A disguise may by chance give an engine a better plan: so many points of 100.
FLOOR = 5.0
#: Those that may change a plan, and so are ruled on every case; the others on every fourth.
NEAR_FLOOR = ("ask_for_own_key", "filter_tables_too", "split_tables", "read_distinct_rows")


def test_a_disguise_earns_nothing_on_a_case(
    benchmark: SqlOptimization, samples: list[Sample]
) -> None:
    """The first of SQLite's, in every third disguise."""
    rewrites = [s for s in samples if s.metric == "logical_equivalence"]
    asked = of_engine(rewrites, "sqlite", len(rewrites))
    for name in list(DISGUISES)[::3]:
        (verdict,) = rule_answers(benchmark, asked, lambda s, n=name: disguise_sample(n, s))
        assert (name, verdict.outcome, verdict.score) == (name, "failed", 0.0)


@pytest.mark.full
def test_no_disguise_earns_more_than_the_floor(
    benchmark: SqlOptimization, samples: list[Sample]
) -> None:
    for name in SERVERS:
        server_engine(name, Limits()).close()
    asked = [s for s in samples if s.metric != "index_advice"]
    ruled: dict[str, list[tuple[Sample, Verdict]]] = {name: [] for name in DISGUISES}
    cases = sorted({s.id.split("/")[0] for s in asked})
    for number, case in enumerate(cases):  # a case is prepared once for all
        own = [s for s in asked if s.id.split("/")[0] == case]
        for name in DISGUISES:
            if name in NOISE and name not in NEAR_FLOOR and number % 4:
                continue
            verdicts = rule_answers(benchmark, own, lambda s, n=name: disguise_sample(n, s))
            ruled[name] += zip(own, verdicts, strict=True)
    totals = {
        name: benchmark.aggregate(*map(list, zip(*pairs, strict=True)), CARD.weights).score
        for name, pairs in ruled.items()
    }
    assert {name: total for name, total in totals.items() if total > FLOOR} == {}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("case", HONEST)
def test_an_honest_rewrite_is_paid(
    benchmark: SqlOptimization, samples: list[Sample], case: str
) -> None:
    own = [s for s in samples if s.id.split("/")[0] == case]
    if own[0].reference["engine"] in SERVERS:
        server_engine(own[0].reference["engine"], Limits()).close()
    asked = [s for s in own if s.metric == "logical_equivalence"]
    (verdict,) = rule_answers(benchmark, asked, lambda _: HONEST[case])
    assert (verdict.outcome, (verdict.score or 0) >= 0.5) == ("passed", True)


#: Those that only wrap a statement or reorder its joins, whatever the statement.
ARRANGEMENTS = (
    "swap_joins",
    "sort_in_subquery",
    "sort_tables",
    "nest_deeply",
    "wrap_tables",
    "name_tables",
    "materialize",
    "read_distinct_rows",
    "fence_tables",
    "split_tables",
    "assert_truth",
    "ask_for_own_key",
    "join_constant_row",
)


@pytest.mark.parametrize("step", [60, pytest.param(1, marks=pytest.mark.full)])
def test_an_arrangement_is_known_again_and_no_authored_rewrite_is_one(
    samples: list[Sample], step: int
) -> None:
    rewrites = [s for s in samples if s.metric == "logical_equivalence"]
    missed, mistaken = [], []
    for number, sample in enumerate(rewrites):
        dialect, schema = sample.reference["dialect"], sample.input["schema"]
        for order, name in enumerate(ARRANGEMENTS):
            answer = disguise_sample(name, sample)
            asked = (number + order) % step == 0
            if asked and not is_rearranged_statement(sample.input["sql"], answer, dialect, schema):
                missed.append((sample.id, name))
        answer = sample.reference["reference"]
        asked = number % max(1, step // 10) == 0
        if asked and is_rearranged_statement(sample.input["sql"], answer, dialect, schema):
            mistaken.append(sample.id)
    assert len(missed) <= 6  # of 1,248, where a statement has CTEs of its own
    assert mistaken == []


@pytest.mark.sampled(3)
@pytest.mark.parametrize("step", [60, pytest.param(1, marks=pytest.mark.full)])
def test_no_disguise_hides_a_fault_from_its_rule(samples: list[Sample], step: int) -> None:
    """Whatever a disguise saves, the syntax tree shows no improvement in it."""
    rules = [s for s in samples if s.metric == "optimization_depth"]
    fooled = [
        (sample.id, sample.reference["rule"]["check"], name)
        for number, sample in enumerate(rules)
        for order, name in enumerate(DISGUISES)
        if (number + order) % step == 0 and name != "filter_tables_too"  # which pushes them down
        if has_rewrite(
            sample.reference["rule"]["check"],
            sample.input["sql"],
            disguise_sample(name, sample),
            sample.reference["dialect"],
            sample.input["schema"],
        )
    ]
    assert fooled == []

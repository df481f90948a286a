"""Limits of rows beyond what a result may be: an answer that has one which the reference lacks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from evalcore.sqlkit.engines import Engine
from evalcore.sqlkit.engines.registry import EnginePool
from evalcore.sqlkit.equivalence import Equivalence, EquivalenceQuestion, answer_trials
from evalcore.sqlkit.equivalence.decider import Decider
from evalcore.sqlkit.equivalence.evidence import build_decision_details, describe_decision
from evalcore.sqlkit.equivalence.trials import Trials
from tests.support.engines import LIMITS, SERVERS, server_engine

SCHEMA = (
    "CREATE TABLE shop (id INT PRIMARY KEY, town VARCHAR(20) NOT NULL)",
    "CREATE TABLE sale (id INT PRIMARY KEY, shop_id INT REFERENCES shop (id), "
    "day DATE, sum DECIMAL(9, 2), note VARCHAR(30))",
)
ALL = "SELECT id, sum FROM sale WHERE sum > 10"
JOINED = "SELECT s.town, a.day FROM sale a JOIN shop s ON s.id = a.shop_id ORDER BY a.id"


@pytest.fixture(scope="module")
def engines() -> Iterator[EnginePool]:
    with EnginePool() as pool:
        yield pool


def decide(engines: EnginePool, reference: str, answer: str, engine: str = "sqlite") -> Equivalence:
    question = EquivalenceQuestion(engine=engine, schema=SCHEMA, reference=reference)
    return Decider(engines.get).decide(question, answer)


@pytest.mark.parametrize(
    "engine",
    ["sqlite", "duckdb", *(pytest.param(name, marks=pytest.mark.full) for name in SERVERS)],
)
def test_a_limit_above_the_rows_of_a_result_is_seen(engines: EnginePool, engine: str) -> None:
    if engine in SERVERS:
        server_engine(engine, LIMITS).close()  # skips with the remedy where there is none
    decision = decide(engines, JOINED, f"{JOINED} LIMIT 20000", engine)
    assert decision.status == "different"
    example = decision.counterexample
    assert example is not None
    assert example.expected is not None
    assert example.actual is not None
    assert (example.reason, example.subject) == ("row_count", "COUNT(*)")
    assert example.actual.rows == ((20_000,),)
    assert example.expected.rows[0][0] > 20_000
    assert example.tables["sale"].truncated


@pytest.mark.full
@pytest.mark.parametrize(
    ("reference", "answer"),
    [
        (f"{ALL} LIMIT 30000", ALL),
        (f"{ALL} LIMIT 30000", f"{ALL} LIMIT 40000"),
        (ALL, f"SELECT * FROM ({ALL} LIMIT 12000) x"),
        (ALL, f"WITH q AS ({ALL}) SELECT * FROM q LIMIT 9950"),
        ("SELECT DISTINCT note FROM sale", "SELECT DISTINCT note FROM sale LIMIT 50000"),
        ("SELECT note FROM sale GROUP BY note", "SELECT note FROM sale GROUP BY note LIMIT 15000"),
        ("SELECT COUNT(*) FROM sale", "SELECT COUNT(*) FROM (SELECT 1 FROM sale LIMIT 15000) x"),
        (
            "SELECT shop_id FROM sale GROUP BY shop_id",
            "SELECT shop_id FROM sale GROUP BY shop_id HAVING COUNT(*) < 15000",
        ),
        (
            ALL,
            "SELECT id, sum FROM (SELECT id, sum, ROW_NUMBER() OVER (ORDER BY id) AS n FROM sale "
            "WHERE sum > 10) x WHERE n <= 11000",
        ),
        ("SELECT id FROM sale", "SELECT id FROM sale LIMIT -1 OFFSET 12000"),
    ],
)
def test_every_limit_of_rows_counts(engines: EnginePool, reference: str, answer: str) -> None:
    assert decide(engines, reference, answer).status == "different"


@pytest.mark.parametrize(
    ("reference", "answer"),
    [
        (ALL, f"{ALL} LIMIT 9223372036854775807"),
        (ALL, f"{ALL} LIMIT 2147483647"),
        ("SELECT SUM(sum) FROM sale", "SELECT SUM(sum) FROM sale LIMIT 20000"),
        ("SELECT id FROM sale WHERE id = 5", "SELECT id FROM sale WHERE id = 5 LIMIT 1000000"),
        (f"{JOINED} LIMIT 100", f"SELECT * FROM ({JOINED} LIMIT 5000000) x LIMIT 100"),
        (
            "SELECT id FROM sale WHERE EXISTS (SELECT 1 FROM shop)",
            "SELECT id FROM sale WHERE EXISTS (SELECT 1 FROM shop LIMIT 20000)",
        ),
    ],
)
def test_a_limit_that_cuts_nothing_off_is_none(
    engines: EnginePool, reference: str, answer: str
) -> None:
    assert decide(engines, reference, answer).status == "equivalent"


def test_a_limit_on_rows_that_cannot_be_counted_is_not_equivalent(engines: EnginePool) -> None:
    schema = ("CREATE TABLE step (day DATE PRIMARY KEY, note TEXT)",)  # no copies: a key of days
    question = EquivalenceQuestion(
        engine="sqlite", schema=schema, reference="SELECT note FROM step"
    )
    decision = Decider(engines.get).decide(question, "SELECT note FROM step LIMIT 20000")
    assert (decision.status, decision.cause) == ("undecided", "row_limit")


@pytest.mark.parametrize("limit", [200_000, 2_000_000_000])
def test_a_limit_too_large_to_be_tested_is_never_equivalent(
    engines: EnginePool, limit: int
) -> None:
    decision = decide(engines, ALL, f"{ALL} LIMIT {limit}")
    assert (decision.status, decision.cause) == ("undecided", "row_limit")
    assert f"{limit:,}" in decision.message


def test_databases_on_which_a_reference_does_not_end_are_named(
    engines: EnginePool, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = answer_trials.collect_trials

    def run_out(engine: Engine, question: EquivalenceQuestion, *rest: Any, **more: Any) -> Trials:
        made = tried(engine, question, *rest, **more)
        return Trials(made.schema, (), failed=1, slow=1) if isinstance(rest[1], tuple) else made

    monkeypatch.setattr(answer_trials, "collect_trials", run_out)
    counted = "SELECT COUNT(*) FROM sale"
    decision = decide(engines, counted, f"{counted} LIMIT 1000")
    assert (decision.status, decision.left_out) == ("equivalent", 1)
    assert describe_decision(decision).code == "exec_left_out"
    assert build_decision_details(decision)["databases_left_out"] == 1

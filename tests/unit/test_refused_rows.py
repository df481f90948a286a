"""Rows that engines refuse are dropped and the others kept; keys that a statement computes meet
rows that are there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from evalcore.sqlkit.engines.registry import EnginePool
from evalcore.sqlkit.equivalence import EquivalenceQuestion
from evalcore.sqlkit.equivalence.decider import Decider
from evalcore.sqlkit.equivalence.refused_rows import drop_refused_rows
from evalcore.sqlkit.equivalence.trials import prepare_trials
from evalcore.sqlkit.generate import Database
from evalcore.sqlkit.schema import read_schema

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def engines() -> Iterator[EnginePool]:
    with EnginePool() as pool:
        yield pool


def drop(engines: EnginePool, engine: str, ddl: tuple[str, ...], rows: object) -> object:
    question = EquivalenceQuestion(engine=engine, schema=ddl, reference="SELECT 1")
    database = Database("made", {"t": rows})  # type: ignore[dict-item]
    left = drop_refused_rows(engines.get(engine), question, read_schema(ddl, engine), database)
    return None if left is None else left.tables["t"]


CHECKS = {
    "sqlite": "unicode(code) = 97",
    "duckdb": "code[1] = 'a'",
    "mysql": "conv(hex(code), 16, 10) BETWEEN 24832 AND 25087",
    "postgres": "code ~ '^a(?=b|c)'",
}


@pytest.mark.parametrize("engine", CHECKS)
def test_a_row_is_dropped_that_a_check_refuses(engines: EnginePool, engine: str) -> None:
    ddl = (f"CREATE TABLE t (id INT PRIMARY KEY, code VARCHAR(9) CHECK ({CHECKS[engine]}))",)
    rows = ((1, "ab"), (2, "xb"), (3, None), (4, "ac"))
    assert drop(engines, engine, ddl, rows) == (rows[0], rows[2], rows[3])
    assert drop(engines, engine, ddl, rows[2:]) is None


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_of_rows_that_an_index_takes_for_one_the_first_is_kept(
    engines: EnginePool, engine: str
) -> None:
    ddl = (
        "CREATE TABLE t (id INT PRIMARY KEY, code VARCHAR(9), n INT)",
        "CREATE UNIQUE INDEX open_code ON t (lower(code)) WHERE n IS NULL",
    )
    rows = ((1, "a", None), (2, "A", None), (3, "A", 1), (4, None, None), (5, None, None))
    assert drop(engines, engine, ddl, rows) == (rows[0], *rows[2:])


def test_a_check_that_fails_itself_drops_nothing(engines: EnginePool) -> None:
    ddl = ("CREATE TABLE t (id INT PRIMARY KEY, n INT CHECK (1 / n >= 0))",)
    assert drop(engines, "postgres", ddl, ((1, 0), (2, 1))) is None


SCHEMAS = {
    "sqlite": "starts TEXT NOT NULL, ends TEXT, CHECK (julianday(ends) - julianday(starts) < 30)",
    "duckdb": "starts DATE NOT NULL, ends DATE, CHECK (ends < starts + INTERVAL 30 DAY)",
    "mysql": "starts DATE NOT NULL, ends DATE, CHECK (datediff(ends, starts) < 30)",
    "postgres": "starts date NOT NULL, ends date, "
    "EXCLUDE USING btree (starts WITH =) WHERE (false), CHECK (ends < starts + INTERVAL '30 days')",
}


@pytest.mark.parametrize("engine", SCHEMAS)
def test_no_database_is_lost_to_a_check(engines: EnginePool, engine: str) -> None:
    ddl = (f"CREATE TABLE stays (id INT PRIMARY KEY, {SCHEMAS[engine]})",)
    sql = "SELECT starts, COUNT(*) FROM stays WHERE ends IS NOT NULL GROUP BY starts"
    tried = prepare_trials(engines.get(engine), EquivalenceQuestion(engine, ddl, sql))
    assert tried.failed == 0
    assert sum(trial.shows for trial in tried.usable) > 20


READINGS = (
    "CREATE TABLE readings (id INT PRIMARY KEY, meter INT NOT NULL, value INT)",
    "CREATE TABLE totals (code VARCHAR(20) PRIMARY KEY, value INT)",
)
ADDED = "SELECT 'M-' || id, value FROM readings WHERE value > 4"
MERGED = (
    "MERGE INTO totals USING (SELECT 'M-' || id AS code, value FROM readings WHERE value > 4) r "
    "ON totals.code = r.code "
)
WRITES = [
    (
        "sqlite",
        f"INSERT OR IGNORE INTO totals {ADDED}",
        f"INSERT OR REPLACE INTO totals {ADDED}",
        f"INSERT INTO totals {ADDED} ON CONFLICT DO NOTHING",
    ),
    (
        "postgres",
        f"INSERT INTO totals {ADDED} ON CONFLICT (code) DO UPDATE "
        "SET value = COALESCE(totals.value, excluded.value)",
        f"INSERT INTO totals {ADDED} ON CONFLICT (code) DO UPDATE "
        "SET value = COALESCE(excluded.value, totals.value)",
        f"{MERGED} WHEN MATCHED AND totals.value IS NULL THEN UPDATE SET value = r.value "
        "WHEN NOT MATCHED THEN INSERT VALUES (r.code, r.value)",
    ),
    (
        "mysql",
        "INSERT INTO totals SELECT CONCAT('M-', id), value FROM readings WHERE value > 4 "
        "ON DUPLICATE KEY UPDATE totals.value = totals.value + 1",
        "INSERT IGNORE INTO totals SELECT CONCAT('M-', id), value FROM readings WHERE value > 4",
        "INSERT INTO totals SELECT CONCAT('M', '-', r.id), r.value FROM readings r "
        "WHERE 4 < r.value ON DUPLICATE KEY UPDATE totals.value = 1 + totals.value",
    ),
]


@pytest.mark.parametrize(("engine", "reference", "other", "same"), WRITES)
def test_keys_that_are_computed_meet_rows(
    engines: EnginePool, engine: str, reference: str, other: str, same: str
) -> None:
    decider = Decider(engines.get)
    question = EquivalenceQuestion(engine, READINGS, reference)
    seen = decider.decide(question, other)
    assert seen.status == "different"
    assert seen.counterexample is not None
    assert seen.counterexample.profile == "what it adds is there"
    assert decider.decide(question, same).status == "equivalent"


@pytest.mark.parametrize("answer", ["code LIKE 'GOT'", "BINARY code = 'GOT'"])
def test_a_key_is_spelled_otherwise_where_a_collation_overlooks_it(
    engines: EnginePool, answer: str
) -> None:
    ddl = ("CREATE TABLE depots (code VARCHAR(9) COLLATE utf8mb4_general_ci PRIMARY KEY, n INT)",)
    question = EquivalenceQuestion("mysql", ddl, "SELECT n FROM depots WHERE code = 'GOT'")
    seen = Decider(engines.get).decide(question, f"SELECT n FROM depots WHERE {answer}")
    assert seen.status == "different"

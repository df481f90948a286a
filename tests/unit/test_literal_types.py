"""Literals of rare column types: every engine accepts those that the generator draws from."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from evalcore.sqlkit.engines.registry import EnginePool
from evalcore.sqlkit.generate import generate_databases, render_inserts
from evalcore.sqlkit.schema import read_schema
from tests.support.engines import LIMITS, SERVERS, server_engine

COLUMNS = {
    "postgres": "a INT[], t TEXT[], i INTERVAL, n INET, c CIDR, m MACADDR, u UUID, b BIT(3), "
    "v BIT VARYING(9), s TSVECTOR, r INT4RANGE, p POINT, e mood, d DATERANGE, k TSRANGE",
    "mysql": "s SET('a','b','c'), e ENUM('x','y'), y YEAR, b BIT(8), f BIT(1), u UUID",
    "duckdb": "a INT[], t VARCHAR[], i INTERVAL, u UUID, b BIT, h HUGEINT, e mood, "
    "s STRUCT(a INT, b VARCHAR), m MAP(VARCHAR, INT), z INT[][]",
}
MOOD = "CREATE TYPE mood AS ENUM ('sad', 'it''s ok', 'happy')"


@pytest.fixture(scope="module")
def engines() -> Iterator[EnginePool]:
    with EnginePool() as pool:
        yield pool


@pytest.mark.parametrize("name", COLUMNS)
def test_every_engine_takes_what_is_generated(engines: EnginePool, name: str) -> None:
    if name in SERVERS:
        server_engine(name, LIMITS).close()  # skips with the remedy where there is none
    ddl = [f"CREATE TABLE w (id INTEGER PRIMARY KEY, {COLUMNS[name]})"]
    ddl = ddl if name == "mysql" else [MOOD, *ddl]
    schema = read_schema(ddl, name)
    [table] = schema.tables
    literal = [column.name for column in table.columns if column.choices]
    assert len(literal) >= 3, literal
    databases = generate_databases(schema, [("SELECT * FROM w WHERE id > 1", name)], seed=1)
    assert databases
    seen: dict[str, set[str]] = {column: set() for column in literal}
    for database in databases:
        setup = (*ddl, *render_inserts(schema, database, name))
        done = engines.get(name).execute(setup, "SELECT * FROM w")
        assert done.status == "ok", done.message
        assert done.table is not None
        for column in literal:
            index = done.table.columns.index(column)
            seen[column] |= {repr(row[index]) for row in done.table.rows}
    assert all(len(values) > 2 for column, values in seen.items() if column != "z"), seen


def test_a_uuid_is_a_key_of_any_number_of_rows(engines: EnginePool) -> None:
    ddl = ["CREATE TABLE w (id UUID PRIMARY KEY, n INTEGER)"]
    schema = read_schema(ddl, "duckdb")
    for database in generate_databases(schema, [("SELECT n FROM w", "duckdb")], seed=2):
        setup = (*ddl, *render_inserts(schema, database, "duckdb"))
        assert engines.get("duckdb").execute(setup, "SELECT n FROM w").status == "ok"

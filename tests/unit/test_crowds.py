"""Crowds: many rows on few values, which lead to few others and meet what statements ask for."""

from __future__ import annotations

import re
from collections import Counter

from evalcore.sqlkit.generate import Database, generate_sparse_databases
from evalcore.sqlkit.schema import read_schema


def list_crowds(ddl: tuple[str, ...], sql: str, dialect: str) -> list[Database]:
    schema = read_schema(ddl, dialect)
    made = generate_sparse_databases(schema, [(sql, dialect)], seed=1)
    return [each for each in made if each.profile.startswith("a crowd")]


def test_crowds_hold_two_spellings_month_ends_and_texts_that_collide() -> None:
    columns = "id INT PRIMARY KEY, series TEXT NOT NULL, no TEXT NOT NULL, sold DATE"
    sql = "SELECT COUNT(DISTINCT series || no), MAX(sold + INTERVAL '1 month') FROM tickets"
    crowds = list_crowds((f"CREATE TABLE tickets ({columns})",), sql, "postgres")
    texts = {row[1:3] for each in crowds for row in each.tables["tickets"]}
    assert {("1", "11"), ("11", "1")} <= texts
    named = {each.profile: each.tables["tickets"] for each in crowds}
    days = {str(row[3]) for row in named["a crowd at month ends"]}
    ends = {"2024-12-31", "2025-01-31", "2025-02-28", "2025-03-31", "2025-04-30"}
    assert len(ends & days) >= 3


def test_a_choice_that_a_condition_leaves_out_is_rare() -> None:
    ddl = ("CREATE TABLE t (id INT PRIMARY KEY, kind TEXT CHECK (kind IN ('a', 'b', 'off')))",)
    crowds = list_crowds(ddl, "SELECT id FROM t WHERE kind <> 'off'", "postgres")
    kinds = Counter(row[1] for each in crowds for row in each.tables["t"])
    assert kinds["a"] + kinds["b"] > 3 * kinds["off"] > 0


def test_ages_are_told_about_a_day_after_february() -> None:
    ddl = ("CREATE TABLE t (id INT PRIMARY KEY, born DATE, filed DATE)",)
    sql = "SELECT id FROM t WHERE year(filed) - year(born) - (filed < born) >= 18"
    named = {each.profile: each.tables["t"] for each in list_crowds(ddl, sql, "duckdb")}
    days = {cell for row in named["a crowd at birthdays"] for cell in row[1:]}
    assert {"2024-07-01", "2042-07-01"} <= days
    plain = list_crowds(ddl, "SELECT id FROM t WHERE born < filed", "duckdb")
    assert "a crowd at birthdays" not in {each.profile for each in plain}


def test_what_joins_a_key_without_reference_leads_to_all_its_rows() -> None:
    ddl = (
        "CREATE TABLE cards (id INT PRIMARY KEY, code TEXT, closed DATE)",
        "CREATE TABLE fresh (code TEXT PRIMARY KEY, n INT)",
    )
    sql = "SELECT n FROM cards c JOIN fresh f ON f.code = c.code WHERE c.closed IS NULL"
    named = {each.profile: each.tables for each in list_crowds(ddl, sql, "duckdb")}
    tables = named["a crowd of couples"]
    assert len({row[1] for row in tables["cards"]} & {row[0] for row in tables["fresh"]}) > 5
    assert sum(row[2] is None for row in tables["cards"]) > 4


def test_moments_meet_the_clock_that_is_asked_for() -> None:
    ddl = ("CREATE TABLE t (id INT PRIMARY KEY, at_time TIMESTAMP NOT NULL)",)
    sql = "SELECT id FROM t WHERE CAST(at_time AS TIME) >= TIME '18:20:00'"
    cells = {row[1] for each in list_crowds(ddl, sql, "duckdb") for row in each.tables["t"]}
    assert {cell[11:] for cell in cells} >= {"18:20:00", "18:20:01"}


def test_texts_of_days_are_moved_in_the_form_that_is_read() -> None:
    ddl = ("CREATE TABLE t (id INT PRIMARY KEY, day_text TEXT, day DATE)",)
    sql = "SELECT MAX(strptime(day_text, '%d/%m/%Y')), MIN(day) FROM t WHERE day > '2024-05-01'"
    for each in list_crowds(ddl, sql, "duckdb"):
        cells = [row[1] for row in each.tables["t"] if row[1] is not None]
        assert all(re.fullmatch(r"\d\d/\d\d/\d{4}", cell) for cell in cells)
        assert cells


def test_a_document_is_known_by_its_check() -> None:
    ddl = ("CREATE TABLE t (id INTEGER PRIMARY KEY, tags TEXT NOT NULL CHECK (json_valid(tags)))",)
    made = list_crowds(ddl, "SELECT id FROM t ORDER BY id", "sqlite")
    assert all(len(each.tables["t"]) > 2 for each in made)

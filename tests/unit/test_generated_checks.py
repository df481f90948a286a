"""CHECK conditions: what is told of a row without an engine, and that generated rows keep them."""

from __future__ import annotations

import pytest

from evalcore.sqlkit.generate import generate_databases, generate_sparse_databases
from evalcore.sqlkit.generate.checks import compile_checks, solve_checks
from evalcore.sqlkit.schema import read_schema


@pytest.mark.parametrize("dialect", ["postgres", "sqlite", "mysql", "duckdb"])
def test_a_check_of_a_value_or_none_is_read_in_each_dialect(dialect: str) -> None:
    has_value, has_none = compile_checks(("a IS NOT NULL", "a IS NULL"), dialect)
    assert [check({"a": value}) for check in (has_value, has_none) for value in (1, None)] == [
        True,
        False,
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("dialect", "check", "kept", "refused"),
    [
        ("sqlite", "a IS date(a)", "2024-02-29", "2024-2-9"),
        ("sqlite", "a = date(a)", "ash", "2024-02-29 10:00:00"),
        ("sqlite", "a GLOB '[0-9][0-9]*'", "12x", "1x"),
        ("sqlite", "a NOT LIKE 'AB%'", "xab", "abc"),
        ("postgres", "a LIKE 'AB%'", "ABc", "abc"),
        ("postgres", "a ~ '^[A-Z]{2}[0-9]+$'", "AB1", "ab1"),
        ("postgres", "a = date_trunc('month', a)", "2024-02-01", "2024-02-02"),
        ("postgres", "a >= DATE '2020-01-01'", "2020-01-01", "2019-12-31"),
        ("postgres", "a % 5 = 0", 10, 11),
        ("duckdb", "regexp_full_match(a, '[A-Z]+')", "AB", "AB1"),
        ("postgres", "LENGTH(RTRIM(a, ' ')) >= 3", " ab", "ab "),
        ("duckdb", "length(trim(a)) > 2 AND coalesce(a, '') <> 'abc'", "abcd", " ab "),
        ("mysql", "LENGTH(a) = 3", "abc", "中文字"),
        ("mysql", "DAY(a) = 1", "2024-02-01", "2024-02-10"),
        ("mysql", "a = ROUND(a, 1)", 2.5, 2.25),
    ],
)
def test_checks_are_kept_and_refused_without_an_engine(
    dialect: str, check: str, kept: object, refused: object
) -> None:
    (keeps,) = compile_checks((check,), dialect)
    assert keeps({"a": kept})
    assert not keeps({"a": refused})


def test_what_a_check_says_outright_is_solved() -> None:
    assert solve_checks(("c = a + b",), {"a": 1, "b": 2.5, "c": 9}, "sqlite") == {"c": 3.5}


@pytest.mark.parametrize(
    ("dialect", "ddl"),
    [
        ("sqlite", "code TEXT NOT NULL UNIQUE, CHECK (length(code) = 6)"),
        ("postgres", "code TEXT NOT NULL UNIQUE CHECK (code ~ '^[A-Z]{3}-[0-9]{4}$')"),
        ("duckdb", "code DATE NOT NULL, n INT, m INT, CHECK (day(code) = 1 AND m = n * 2)"),
    ],
)
def test_rows_keep_checks_that_hardly_any_value_keeps(dialect: str, ddl: str) -> None:
    schema = read_schema([f"CREATE TABLE t (id INT PRIMARY KEY, {ddl})"], dialect)
    checks = compile_checks(schema.tables[0].checks, dialect, unclear=False)
    names = [column.name for column in schema.tables[0].columns]
    databases = generate_databases(schema, [("SELECT * FROM t", dialect)], seed=1)
    for database in databases:
        rows = [dict(zip(names, row, strict=True)) for row in database.tables["t"]]
        assert all(check(row) for row in rows for check in checks)
        assert len(rows) > 1


@pytest.mark.parametrize(
    "pattern", [".?" * 50, ".{0,9}" * 15, ".*" * 50, "(.?)*" * 20, "?{*x" * 9_999]
)
def test_a_check_that_would_match_for_ever_is_left_to_the_engine(pattern: str) -> None:
    (is_unclear,) = compile_checks([f"note REGEXP '^{pattern}~$'"], "mysql")
    (is_clear,) = compile_checks([f"note REGEXP '^{pattern}~$'"], "mysql", unclear=False)
    assert is_unclear({"note": "x" * 200})
    assert not is_clear({"note": "x" * 200})


CHECKED = {
    "sqlite": (
        "CREATE TABLE loans (id INTEGER PRIMARY KEY, "
        "lent TEXT NOT NULL CHECK (date(lent) IS lent), due TEXT NOT NULL, "
        "CHECK (due >= lent), tags TEXT CHECK (json_valid(tags) AND json_type(tags) = 'array'))",
        "SELECT strftime('%Y-%m', lent), COUNT(*), MAX(json_extract(tags, '$[0]')) "
        "FROM loans GROUP BY 1",
    ),
    "duckdb": (
        "CREATE TABLE loans (id INTEGER PRIMARY KEY, lent TIMESTAMP NOT NULL CHECK "
        "(lent >= TIMESTAMP '2000-01-01'), due TIMESTAMP, CHECK (due >= lent))",
        "SELECT max(date_diff('day', lent, due)) FROM loans WHERE due IS NOT NULL",
    ),
    "postgres": (
        "CREATE TABLE loans (id int PRIMARY KEY, lent date NOT NULL, due date CHECK (due > lent), "
        "doc jsonb CHECK (jsonb_typeof(doc) = 'object'))",
        "SELECT lent, count(*) FROM loans WHERE doc ->> 'kind' = 'book' GROUP BY lent",
    ),
}


@pytest.mark.parametrize("dialect", CHECKED)
def test_rows_keep_the_checks_on_times_and_documents(dialect: str) -> None:
    ddl, sql = CHECKED[dialect]
    schema = read_schema((ddl,), dialect)
    keeps = compile_checks(schema.tables[0].checks, dialect, unclear=False)
    names = [column.name for column in schema.tables[0].columns]
    made = [
        *generate_databases(schema, [(sql, dialect)], seed=1),
        *generate_sparse_databases(schema, [(sql, dialect)], seed=1),
    ]
    rows = [row for each in made for row in each.tables["loans"]]
    assert sum(bool(each.tables["loans"]) for each in made) > 0.8 * len(made)
    assert all(check(dict(zip(names, row, strict=True))) for row in rows for check in keeps)


def test_a_check_of_a_document_too_deep_to_be_read_is_unclear() -> None:
    for unclear in (True, False):
        (keeps,) = compile_checks(["json_valid(note)"], "sqlite", unclear=unclear)
        assert keeps({"note": "[" * 100_000}) == unclear

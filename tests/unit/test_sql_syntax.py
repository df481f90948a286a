"""Statements as pairs of text and what the parser should say of them."""

from __future__ import annotations

import re

import pytest

from evalcore.errors import UsageError
from evalcore.sqlkit.dialects import dialect_name
from evalcore.sqlkit.syntax import (
    check_well_formed,
    classify_statement,
    find_changed_table,
    fold_statement,
)
from tests.support.rows import each_row

NAMES = [
    ("MySQL", "mysql"),
    ("PostgreSQL", "postgres"),
    ("postgres", "postgres"),
    ("SQLite", "sqlite"),
    ("DuckDB", "duckdb"),
    ("Oracle", "oracle"),
    ("SQL Server", "tsql"),
    ("SQLServer", "tsql"),
]


@pytest.mark.parametrize(("text", "name"), NAMES)
def test_dialect_name(text: str, name: str) -> None:
    assert dialect_name(text) == name


def test_a_statement_nested_too_deep_changes_no_table() -> None:
    assert find_changed_table("DELETE FROM t WHERE a = " + "(" * 3000 + "1", "mysql") is None


@pytest.mark.parametrize("function", [check_well_formed, classify_statement, fold_statement])
def test_unknown_dialect_is_a_usage_error(function: object) -> None:
    assert callable(function)
    with pytest.raises(UsageError, match="known: SQLite, DuckDB"):
        function("SELECT 1", "Klingon")


WELL_FORMED = [
    ("SELECT a, count(*) FROM t GROUP BY a HAVING count(*) > 1", "mysql"),
    ("SELECT * FROM t WHERE a = ANY (ARRAY[1, 2])", "postgres"),
    ("SELECT TOP 3 * FROM t", "tsql"),
    ("SELECT 1; SELECT 2", "sqlite"),
    ("SAVEPOINT a", "postgres"),
    ("RELEASE SAVEPOINT a;", "sqlite"),
    ("SAVE TRANSACTION a", "tsql"),
    ("END", "sqlite"),
    ("RENAME TABLE a TO b", "mysql"),
]


@pytest.mark.parametrize(("sql", "dialect"), WELL_FORMED)
def test_well_formed(sql: str, dialect: str) -> None:
    assert check_well_formed(sql, dialect)[0]


MALFORMED = [
    ("SELECT * FROM", "mysql", "line 1, column 13: Expected table name"),
    ("SELEC 1", "sqlite", "Unexpected token"),
    ("garbage", "mysql", "no statement"),
    ("a + 1", "sqlite", "no statement"),
    ("SELECT 'a", "mysql", "Error tokenizing"),
    ("SELECT (1", "postgres", "Expecting \\)"),
    ("", "mysql", "there is no statement"),
    ("-- only a comment", "mysql", "there is no statement"),
    ("SELECT " + "(" * 20_000, "mysql", "."),
]


@pytest.mark.parametrize(("sql", "dialect", "message"), MALFORMED)
def test_malformed(sql: str, dialect: str, message: str) -> None:
    good, problem = check_well_formed(sql, dialect)
    assert not good
    assert re.search(message, problem)


def test_a_statement_that_is_only_known_by_its_first_word_says_so() -> None:
    assert check_well_formed("ALTER TABLE a FROB b", "mysql") == (
        True,
        "known by its first word only",
    )


CLASSES = [
    ("SELECT 1", "sqlite", ("DML", "SELECT")),
    ("/* INSERT */ -- UPDATE\n SELECT 1", "mysql", ("DML", "SELECT")),
    ("(SELECT 1) UNION (SELECT 2)", "mysql", ("DML", "SELECT")),
    ("VALUES (1)", "sqlite", ("DML", "SELECT")),
    ("WITH a AS (SELECT 1) SELECT * FROM a", "oracle", ("DML", "SELECT")),
    ("WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a", "postgres", ("DML", "INSERT")),
    ("WITH a AS (SELECT 1) DELETE FROM t WHERE FROB !! 1", "tsql", ("DML", "DELETE")),
    ("INSERT INTO t SELECT * FROM u", "oracle", ("DML", "INSERT")),
    ("REPLACE INTO t VALUES (1)", "mysql", ("DML", "INSERT")),
    ("UPDATE t SET a = 1", "tsql", ("DML", "UPDATE")),
    ("DELETE a FROM a JOIN b ON a.i = b.i", "mysql", ("DML", "DELETE")),
    (
        "MERGE INTO a USING b ON (a.i = b.i) WHEN MATCHED THEN UPDATE SET a.x = 1",
        "oracle",
        ("DML", "MERGE"),
    ),
    ("CREATE TABLE t AS SELECT 1", "postgres", ("DDL", "CREATE")),
    ("CREATE OR REPLACE PROCEDURE p AS BEGIN NULL; END;", "oracle", ("DDL", "CREATE")),
    ("ALTER TABLE a RENAME TO b", "postgres", ("DDL", "ALTER")),
    ("DROP INDEX i ON t", "mysql", ("DDL", "DROP")),
    ("RENAME TABLE a TO b", "mysql", ("DDL", "RENAME")),
    ("RENAME a TO b", "oracle", ("DDL", "RENAME")),
    ("TRUNCATE TABLE t", "tsql", ("DDL", "TRUNCATE")),
    ("GRANT SELECT ON t TO u", "postgres", ("DCL", "GRANT")),
    ("REVOKE ALL ON t FROM u", "mysql", ("DCL", "REVOKE")),
    ("BEGIN", "sqlite", ("TCL", "BEGIN")),
    ("START TRANSACTION", "mysql", ("TCL", "BEGIN")),
    ("BEGIN TRANSACTION", "tsql", ("TCL", "BEGIN")),
    ("COMMIT WORK", "oracle", ("TCL", "COMMIT")),
    ("END", "sqlite", ("TCL", "COMMIT")),
    ("SAVEPOINT a", "oracle", ("TCL", "SAVEPOINT")),
    ("SAVE TRANSACTION a", "tsql", ("TCL", "SAVEPOINT")),
    ("ROLLBACK TO SAVEPOINT a", "postgres", ("TCL", "ROLLBACK")),
    (
        "WITH a AS (SELECT 'INSERT INTO') DELETE a OUTPUT deleted.x INTO b FROM c",
        "tsql",
        ("DML", "DELETE"),
    ),
    ("EXPLAIN SELECT 1", "mysql", None),
    ("hello", "mysql", None),
    ("", "mysql", None),
]


@each_row(("sql", "dialect", "expected"), CLASSES)
def test_statement_class(sql: str, dialect: str, expected: tuple[str, str] | None) -> None:
    assert classify_statement(sql, dialect) == expected


SAME = [
    ("SELECT a FROM t WHERE b = 'x' AND c > 1", "select q from u where r='yy' and s>22 -- note"),
    ("SELECT a AS x FROM t", "SELECT b AS y FROM u"),
    ("SELECT a FROM", "SELECT b FROM"),
    ("INSERT INTO t (a) VALUES (1)", 'INSERT INTO u ("b") VALUES (2)'),
]
DIFFERENT = [
    ("SELECT a FROM t", "SELECT a FROM t LIMIT 1"),
    ("SELECT min(a) FROM t", "SELECT max(a) FROM t"),
    ("SELECT a FROM t WHERE b = 1", "SELECT a FROM t WHERE b = '1'"),
    ("SELECT a FROM t LEFT JOIN u ON x = y", "SELECT a FROM t JOIN u ON x = y"),
    ("SELECT a FROM", "SELECT a WHERE"),
    ("SELECT f(a)", "SELECT g(a)"),
]


@pytest.mark.parametrize(("left", "right"), SAME)
def test_fold_of_the_same_form(left: str, right: str) -> None:
    assert fold_statement(left, "sqlite") == fold_statement(right, "sqlite")


@pytest.mark.parametrize(("left", "right"), DIFFERENT)
def test_fold_of_another_form(left: str, right: str) -> None:
    assert fold_statement(left, "sqlite") != fold_statement(right, "sqlite")

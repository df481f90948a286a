"""Bounded proofs of equivalence: what is proved, refuted, and left alone."""

from __future__ import annotations

import sys

import pytest

from evalcore.sqlkit.prover import BOUNDS, prove_equivalence
from evalcore.sqlkit.schema import read_schema

DDL = (
    "CREATE TABLE dept (id INT PRIMARY KEY, title VARCHAR(20) NOT NULL)",
    "CREATE TABLE emp (id INT PRIMARY KEY, name VARCHAR(20), dept_id INT REFERENCES dept (id),"
    " salary DECIMAL(10, 2) CHECK (salary >= 0), hired DATE, active BOOLEAN)",
)
DIALECTS = ("sqlite", "duckdb", "postgres", "mysql")


def prove(reference, answer, dialect="postgres", ordered=False):
    return prove_equivalence(read_schema(DDL, dialect), reference, answer, dialect, ordered)


EQUAL = [
    ("SELECT id FROM emp WHERE salary > 10", "SELECT id FROM emp WHERE NOT salary <= 10"),
    ("SELECT id FROM emp WHERE salary < 0", "SELECT id FROM emp WHERE 1 = 0"),
    (
        "SELECT e.id FROM emp e JOIN dept d ON d.id = e.dept_id",
        "SELECT id FROM emp WHERE dept_id IS NOT NULL",
    ),
    (
        "SELECT id FROM dept WHERE id NOT IN (SELECT dept_id FROM emp WHERE dept_id IS NOT NULL)",
        "SELECT id FROM dept d WHERE NOT EXISTS (SELECT 1 FROM emp e WHERE e.dept_id = d.id)",
    ),
    (
        "SELECT d.id, COUNT(e.id) FROM dept d LEFT JOIN emp e ON e.dept_id = d.id GROUP BY d.id",
        "SELECT d.id, (SELECT COUNT(*) FROM emp e WHERE e.dept_id = d.id) FROM dept d",
    ),
    ("SELECT DISTINCT dept_id FROM emp", "SELECT dept_id FROM emp GROUP BY dept_id"),
    (
        "SELECT id FROM emp WHERE salary = (SELECT MAX(salary) FROM emp)",
        "SELECT id FROM emp e WHERE salary IS NOT NULL"
        " AND NOT EXISTS (SELECT 1 FROM emp f WHERE f.salary > e.salary)",
    ),
    (
        "WITH x AS (SELECT id, salary FROM emp) SELECT SUM(salary) FROM x WHERE id IN (1, 2)",
        "SELECT SUM(salary) FROM emp WHERE id = 1 OR id = 2",
    ),
    (
        "SELECT COUNT(DISTINCT dept_id) FROM emp",
        "SELECT COUNT(*) FROM (SELECT dept_id FROM emp WHERE dept_id IS NOT NULL"
        " GROUP BY dept_id) x",
    ),
]
DIFFERENT = [
    ("SELECT id FROM emp WHERE salary > 10", "SELECT id FROM emp WHERE salary >= 10"),
    ("SELECT id FROM emp", "SELECT e.id FROM emp e JOIN dept d ON d.id = e.dept_id"),
    (
        "SELECT id FROM dept WHERE id NOT IN (SELECT dept_id FROM emp)",
        "SELECT id FROM dept d WHERE NOT EXISTS (SELECT 1 FROM emp e WHERE e.dept_id = d.id)",
    ),
    (
        "SELECT d.id, COUNT(e.id) FROM dept d LEFT JOIN emp e ON e.dept_id = d.id GROUP BY d.id",
        "SELECT d.id, COUNT(*) FROM dept d LEFT JOIN emp e ON e.dept_id = d.id GROUP BY d.id",
    ),
    ("SELECT dept_id FROM emp", "SELECT DISTINCT dept_id FROM emp"),
    (
        "SELECT id FROM emp WHERE salary >= ALL (SELECT salary FROM emp)",
        "SELECT id FROM emp WHERE salary = (SELECT MAX(salary) FROM emp)",
    ),
    ("SELECT SUM(salary) FROM emp", "SELECT COALESCE(SUM(salary), 0) FROM emp"),
    ("SELECT id FROM emp WHERE active", "SELECT id FROM emp WHERE active IS NOT FALSE"),
    ("SELECT AVG(salary) FROM emp", "SELECT AVG(COALESCE(salary, 0)) FROM emp"),
]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(("reference", "answer"), EQUAL)
def test_equal_queries_are_proved_up_to_the_last_bound(reference, answer, dialect):
    proof = prove(reference, answer, dialect)
    assert (proof.status, proof.rows) == ("proved", BOUNDS[-1]), proof.reason


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(("reference", "answer"), DIFFERENT)
def test_different_queries_give_a_database_within_the_constraints(reference, answer, dialect):
    proof = prove(reference, answer, dialect)
    assert proof.status == "refuted", proof.reason
    departments = [row[0] for row in proof.database.tables["dept"]]
    assert len(departments) == len(set(departments)) <= BOUNDS[-1]
    for row in proof.database.tables["emp"]:
        assert row[2] is None or row[2] in departments
        assert row[3] is None or row[3] >= 0


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("SELECT id FROM emp LIMIT 1000", "limit"),
        ("SELECT id FROM emp OFFSET 0", "offset"),
        ("SELECT id FROM emp FETCH FIRST 5 ROWS ONLY", "limit"),
        ("SELECT ROW_NUMBER() OVER (ORDER BY id) FROM emp", "Window"),
        ("SELECT DISTINCT ON (dept_id) id FROM emp", "on"),
        ("SELECT id FROM emp TABLESAMPLE SYSTEM (10)", "sample"),
        ("SELECT id FROM emp FOR UPDATE", "locks"),
        ("SELECT RANDOM() FROM emp", "Rand"),
        ("SELECT salary / id FROM emp", "Div"),
        ("SELECT CAST(name AS INT) FROM emp", "cast"),
        ("SELECT (SELECT id FROM dept) FROM emp", "several rows"),
        ("SELECT dept_id FROM emp GROUP BY ROLLUP (dept_id)", "Rollup"),
        ("SELECT id FROM emp JOIN LATERAL (SELECT 1 FROM dept) x ON true", "Lateral"),
        ("WITH RECURSIVE x AS (SELECT 1 AS id) SELECT id FROM x", "recursive"),
        ("SELECT id FROM emp WHERE name COLLATE \"C\" = 'a'", "collation"),
        ("SELECT id FROM emp WHERE salary BETWEEN SYMMETRIC 3 AND 1", "symmetric"),
        ("DELETE FROM emp", "more or less than one query"),
        ("SELECT id FROM emp; SELECT id FROM emp", "more or less than one query"),
        ("SELECT nothing FROM emp", "parser"),
        ("SELECT id FROM nowhere", ""),
        ("SELECT (" * 500 + "1" + ")" * 500, ""),
        ("SELECT 1 WHERE " + " OR ".join(["1 = 1"] * 2000), "long"),
    ],
)
def test_what_is_not_covered_is_left_alone_and_says_why(sql, reason):
    proof = prove(sql, sql)
    assert proof.status == "unsupported"
    assert reason in proof.reason


def test_a_negation_that_a_parser_keeps_in_an_argument_is_read():
    assert prove("SELECT id FROM emp WHERE name IS NOT NULL", "SELECT id FROM emp").rows == 3
    same = "SELECT id FROM emp WHERE NOT name IS NULL"
    assert prove("SELECT id FROM emp WHERE name IS NOT NULL", same).status == "proved"


def test_a_statement_needs_no_solver_beside_its_own_spelling(monkeypatch):
    monkeypatch.setattr("evalcore.sqlkit.prover._prove_up_to", None)
    assert prove("SELECT id FROM emp", "select emp.id\nFROM emp").status == "proved"


def test_letters_in_a_text_are_no_spelling():
    assert prove("SELECT id FROM emp WHERE name = 'a'", "SELECT id FROM emp WHERE name = 'A'").rows


def test_order_counts_where_it_is_asked_for():
    statements = ("SELECT id, name FROM emp ORDER BY name", "SELECT id, name FROM emp")
    assert prove(*statements).status == "proved"
    assert prove(*statements, ordered=True).status == "unsupported"
    descending = "SELECT id, name FROM emp ORDER BY name DESC"
    assert prove(statements[0], descending, ordered=True).status == "unsupported"
    longer = "SELECT id, name FROM (SELECT * FROM emp) x ORDER BY 2"
    assert prove(statements[0], longer, ordered=True).status == "proved"
    keys = [f"SELECT name FROM emp ORDER BY {key}" for key in ("id", "dept_id", "id + 0")]
    assert prove(keys[0], keys[1], ordered=True).status == "refuted"
    assert prove(keys[0], keys[2], ordered=True).status == "proved"


@pytest.mark.parametrize(
    ("reference", "answer"),
    [
        ("SELECT DISTINCT name FROM emp", "SELECT MIN(name) FROM emp GROUP BY name"),
        ("SELECT id FROM emp WHERE name = 'É'", "SELECT id FROM emp WHERE name = 'é'"),
        ("SELECT UPPER(name) FROM emp", "SELECT UPPER(name) FROM emp WHERE 1 = 1"),
    ],
)
def test_texts_that_a_collation_calls_equal_are_left_alone(reference, answer):
    assert prove(reference, answer, "mysql").status == "unsupported"


def test_texts_equal_by_collation_are_not_the_same_rows():
    statements = [
        f"SELECT {side}.name FROM emp a JOIN emp b ON a.name = b.name AND a.id < b.id"
        for side in "ab"
    ]
    assert prove(*statements, "postgres").status == "proved"
    assert prove(*statements, "mysql").status == "refuted"


def test_equal_questions_get_equal_answers():
    question = DIFFERENT[3]
    assert prove(*question) == prove(*question)


def test_without_the_solver_nothing_is_proved(monkeypatch):
    monkeypatch.setitem(sys.modules, "z3", None)
    assert prove(*EQUAL[0]).status == "unavailable"

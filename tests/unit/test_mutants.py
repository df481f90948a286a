"""Mutants: every rule at work, never the original again, always the same, nothing from nonsense."""

from __future__ import annotations

import pytest
import sqlglot

from tests.support.rows import each_row
from tools.sql_mutants import RULES, Mutant, generate_mutants, normal_form

#: Kind of a change, a statement, what the change makes of it.
EXAMPLES = [
    ("comparison", "SELECT a FROM t WHERE a < 3", "SELECT a FROM t WHERE a <= 3"),
    ("and_or", "SELECT a FROM t WHERE a AND b", "SELECT a FROM t WHERE a OR b"),
    ("predicate_dropped", "SELECT a FROM t WHERE a AND b", "SELECT a FROM t WHERE b"),
    ("filter_dropped", "SELECT a FROM t WHERE a", "SELECT a FROM t"),
    ("filter_dropped", "DELETE FROM t WHERE a", "DELETE FROM t"),
    (
        "filter_dropped",
        "SELECT a FROM t GROUP BY a HAVING COUNT(*) > b",
        "SELECT a FROM t GROUP BY a",
    ),
    ("not_dropped", "SELECT a FROM t WHERE NOT a", "SELECT a FROM t WHERE a"),
    ("not_added", "SELECT a FROM t WHERE a IN (b, c)", "SELECT a FROM t WHERE NOT a IN (b, c)"),
    (
        "not_added",
        "SELECT a FROM t WHERE EXISTS(SELECT 1 FROM u)",
        "SELECT a FROM t WHERE NOT EXISTS(SELECT 1 FROM u)",
    ),
    ("null_test", "SELECT a FROM t WHERE a IS NULL", "SELECT a FROM t WHERE a IS NOT NULL"),
    ("null_default", "SELECT COALESCE(a, 0) FROM t", "SELECT a FROM t"),
    ("number", "SELECT a FROM t WHERE a = 3", "SELECT a FROM t WHERE a = 4"),
    ("number", "SELECT a + 1.5 FROM t", "SELECT a + 2.0 FROM t"),
    (
        "number",
        "SELECT a + INTERVAL '2' DAY FROM t",
        "SELECT a + INTERVAL '3 DAY' FROM t",
    ),
    (
        "text",
        "SELECT a FROM t WHERE a = '2024-02-29'",
        "SELECT a FROM t WHERE a = '2024-03-01'",
    ),
    ("text", "SELECT a FROM t WHERE a = 'new'", "SELECT a FROM t WHERE a = 'ne'"),
    ("pattern", "SELECT a FROM t WHERE a LIKE 'x%'", "SELECT a FROM t WHERE a LIKE 'x'"),
    ("pattern", "SELECT a FROM t WHERE a LIKE 'x%'", "SELECT a FROM t WHERE a LIKE 'x_'"),
    ("limit", "SELECT a FROM t ORDER BY a LIMIT 3", "SELECT a FROM t ORDER BY a LIMIT 4"),
    (
        "limit",
        "SELECT a FROM t ORDER BY a FETCH FIRST 3 ROWS ONLY",
        "SELECT a FROM t ORDER BY a FETCH FIRST 2 ROWS ONLY",
    ),
    ("limit_dropped", "SELECT a FROM t ORDER BY a LIMIT 3", "SELECT a FROM t ORDER BY a"),
    ("join", "SELECT a FROM t JOIN u ON x = y", "SELECT a FROM t LEFT JOIN u ON x = y"),
    ("join", "SELECT a FROM t FULL JOIN u ON x = y", "SELECT a FROM t JOIN u ON x = y"),
    ("distinct", "SELECT DISTINCT a FROM t", "SELECT a FROM t"),
    ("distinct", "SELECT a FROM t", "SELECT DISTINCT a FROM t"),
    ("distinct", "SELECT b FROM t GROUP BY a, b", "SELECT DISTINCT b FROM t GROUP BY a, b"),
    ("count", "SELECT COUNT(a) FROM t", "SELECT COUNT(*) FROM t"),
    ("count", "SELECT COUNT(DISTINCT a) FROM t", "SELECT COUNT(a) FROM t"),
    ("aggregate", "SELECT MIN(a) FROM t", "SELECT MAX(a) FROM t"),
    ("aggregate_distinct", "SELECT SUM(a) FROM t", "SELECT SUM(DISTINCT a) FROM t"),
    ("aggregate_distinct", "SELECT SUM(DISTINCT a) FROM t", "SELECT SUM(a) FROM t"),
    ("arithmetic", "SELECT a + b FROM t", "SELECT a - b FROM t"),
    ("function", "SELECT FLOOR(a) FROM t", "SELECT CEIL(a) FROM t"),
    ("direction", "SELECT a FROM t ORDER BY a", "SELECT a FROM t ORDER BY a DESC"),
    ("order_dropped", "SELECT a FROM t ORDER BY a, b", "SELECT a FROM t ORDER BY a"),
    (
        "set_operation",
        "SELECT a FROM t UNION SELECT b FROM u",
        "SELECT a FROM t UNION ALL SELECT b FROM u",
    ),
    (
        "set_operation",
        "SELECT a FROM t EXCEPT SELECT b FROM u",
        "SELECT a FROM t INTERSECT SELECT b FROM u",
    ),
    ("group_dropped", "SELECT a FROM t GROUP BY a, b", "SELECT a FROM t GROUP BY a"),
    (
        "between",
        "SELECT a FROM t WHERE a BETWEEN 1 AND 5",
        "SELECT a FROM t WHERE (a >= 1 AND a < 5)",
    ),
    ("in_item_dropped", "SELECT a FROM t WHERE a IN (b, c)", "SELECT a FROM t WHERE a IN (c)"),
    (
        "case",
        "SELECT CASE WHEN a THEN b ELSE c END FROM t",
        "SELECT CASE WHEN a THEN b END FROM t",
    ),
    (
        "window",
        "SELECT SUM(a) OVER (PARTITION BY b ORDER BY c) FROM t",
        "SELECT SUM(a) OVER (ORDER BY c) FROM t",
    ),
    (
        "frame",
        "SELECT SUM(a) OVER (ORDER BY c ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM t",
        "SELECT SUM(a) OVER (ORDER BY c ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) FROM t",
    ),
    (
        "rank",
        "SELECT RANK() OVER (ORDER BY c) FROM t",
        "SELECT DENSE_RANK() OVER (ORDER BY c) FROM t",
    ),
    (
        "end_of_window",
        "SELECT FIRST_VALUE(a) OVER (ORDER BY c) FROM t",
        "SELECT LAST_VALUE(a) OVER (ORDER BY c) FROM t",
    ),
    (
        "quantifier",
        "SELECT a FROM t WHERE a > ANY(SELECT b FROM u)",
        "SELECT a FROM t WHERE a > ALL (SELECT b FROM u)",
    ),
]


@each_row(("kind", "sql", "changed"), EXAMPLES)
def test_a_rule_changes_one_place(kind: str, sql: str, changed: str) -> None:
    assert normal_form(changed, "postgres") in [
        mutant.sql for mutant in generate_mutants(sql, "postgres") if mutant.kind == kind
    ]


def test_every_rule_has_an_example() -> None:
    assert {kind for kind, _, _ in RULES} == {kind for kind, _, _ in EXAMPLES}


#: A statement and the kind that must not touch it, for the change could never show.
NOT_TOUCHED = [
    ("SELECT a FROM t GROUP BY a", "distinct"),
    ("SELECT a + 1, b FROM t GROUP BY 1, b", "distinct"),
    ("SELECT SUM(a) FROM t", "distinct"),
    ("SELECT x FROM (SELECT COUNT(*) AS x FROM t) AS s GROUP BY x", "distinct"),
    ("SELECT (SELECT MAX(a) FROM t)", "aggregate_distinct"),
    ("SELECT a FROM t WHERE EXISTS(SELECT 1 FROM u)", "number"),
    ("SELECT CAST(a AS DECIMAL(8, 2)) FROM t", "number"),
    ("SELECT a FROM t ORDER BY 1", "number"),
    ("CREATE INDEX i ON t(a)", "direction"),
    ("SELECT a FROM t CROSS JOIN u", "join"),
    ("SELECT a FROM t NATURAL JOIN u", "join"),
    ("SELECT TO_CHAR(a, 'YYYY') FROM t", "text"),
]


@pytest.mark.parametrize(("sql", "kind"), NOT_TOUCHED)
def test_what_could_never_show_is_left_alone(sql: str, kind: str) -> None:
    assert kind not in {mutant.kind for mutant in generate_mutants(sql, "postgres")}


LONG = (
    "WITH big AS (SELECT g.id, COALESCE(g.tag, 'none') AS tag, SUM(v.amount) AS total "
    "FROM grants AS g LEFT JOIN votes AS v ON v.grant_id = g.id AND v.cast_on >= '2024-01-01' "
    "WHERE g.kind IN ('a', 'b') AND NOT g.closed GROUP BY g.id, COALESCE(g.tag, 'none') "
    "HAVING COUNT(*) > 2) SELECT tag, total, RANK() OVER (PARTITION BY tag ORDER BY total DESC) "
    "AS place FROM big WHERE total BETWEEN 10 AND 90 ORDER BY total DESC, tag LIMIT 5 OFFSET 1"
)


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb", "postgres", "mysql"])
def test_mutants_are_distinct_parse_and_come_again_the_same(dialect: str) -> None:
    made = generate_mutants(LONG, dialect)
    texts = [mutant.sql for mutant in made]
    assert len(made) > 60
    assert len(set(texts)) == len(texts)
    assert normal_form(LONG, dialect) not in texts
    assert made == generate_mutants(LONG, dialect)
    for text in texts:
        assert normal_form(text, dialect)


def test_the_normal_form_is_its_own() -> None:
    plain = normal_form("select  A from t -- why\n where (b) <> 1;", "sqlite")
    assert normal_form(plain, "sqlite") == plain
    assert generate_mutants(plain, "sqlite") == generate_mutants(
        "select  A from t where (b) <> 1", "sqlite"
    )


def test_each_of_several_statements_is_changed_alone() -> None:
    script = "DELETE FROM t WHERE a = 1; SELECT b FROM t WHERE c"
    texts = [mutant.sql for mutant in generate_mutants(script, "sqlite")]
    assert "DELETE FROM t;\nSELECT b FROM t WHERE c" in texts
    assert "DELETE FROM t WHERE a = 1;\nSELECT b FROM t" in texts


@pytest.mark.parametrize("nonsense", ["SELECT FROM (", "SELECT 'a", "))", "CREATE TABLE t ("])
def test_what_does_not_parse_is_an_error(nonsense: str) -> None:
    with pytest.raises(sqlglot.errors.SqlglotError):
        generate_mutants(nonsense, "postgres")


@pytest.mark.parametrize("empty", ["", ";", "-- only a comment", "SELECT 1 FROM t WHERE a = b;;"])
def test_hardly_anything_gives_hardly_anything(empty: str) -> None:
    assert len(generate_mutants(empty, "sqlite")) <= 8


def test_a_body_that_is_passed_through_is_left_alone() -> None:
    body = "CREATE FUNCTION f() RETURNS INT LANGUAGE plpgsql AS $$ BEGIN RETURN 1 + 2; END $$"
    assert all("1 + 2" in mutant.sql for mutant in generate_mutants(body, "postgres"))


def test_hostile_text_stays_text() -> None:
    made = generate_mutants("SELECT a FROM t WHERE a = 'x''; DROP TABLE t; --'", "sqlite")
    assert made
    for mutant in made:
        assert isinstance(mutant, Mutant)
        assert len(sqlglot.parse(mutant.sql, read="sqlite")) == 1


@pytest.mark.parametrize("text", ["2024-13-45", "9999-12-31", "0001-01-01"])
def test_dates_at_the_edge_and_beyond(text: str) -> None:
    made = generate_mutants(f"SELECT a FROM t WHERE a = '{text}'", "postgres")
    assert all(mutant.sql for mutant in made)


def test_very_deep_nesting_ends() -> None:
    deep = "SELECT a FROM t WHERE " + "(" * 500 + "a = 1" + ")" * 500
    with pytest.raises(sqlglot.errors.ParseError, match="nested too deeply"):
        generate_mutants(deep, "sqlite")
    assert generate_mutants(deep.replace("(" * 490, "").replace(")" * 490, ""), "sqlite")

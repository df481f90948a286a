"""Single databases that tell two statements apart on purpose, whatever the seed: the edges, each in
an island that all other conditions let pass, and the clusters."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from evalcore.sqlkit.engines.registry import EnginePool
from evalcore.sqlkit.generate import (
    Database,
    generate_clusters,
    generate_edge_databases,
    generate_sparse_databases,
    render_inserts,
)
from evalcore.sqlkit.generate import _read_statements as read_statements
from evalcore.sqlkit.schema import read_schema

SEEDS = (1, 2, 3)
DDL = (
    "CREATE TABLE readers (reader_id INTEGER PRIMARY KEY, plan VARCHAR(12) NOT NULL, "
    "gone DATE, points INTEGER NOT NULL)",
    "CREATE TABLE visits (visit_id INTEGER PRIMARY KEY, reader_id INTEGER NOT NULL, "
    "minutes INTEGER NOT NULL, day DATE, note VARCHAR(12))",
    "CREATE TABLE refunds (refund_id INTEGER PRIMARY KEY, reader_id INTEGER NOT NULL, "
    "cents INTEGER NOT NULL, FOREIGN KEY (reader_id) REFERENCES readers (reader_id))",
)


@pytest.fixture(scope="module")
def engines() -> Iterator[EnginePool]:
    with EnginePool() as pool:
        yield pool


def tells_apart(engines: EnginePool, database: Database, *statements: str) -> bool:
    setup = (*DDL, *render_inserts(read_schema(DDL, "sqlite"), database, "sqlite"))
    results = [engines.get("sqlite").execute(setup, sql) for sql in statements]
    assert all(result.status == "ok" for result in results), [r.message for r in results]
    return len({result.table.rows for result in results if result.table}) > 1


def build_edges(sql: str, seed: int) -> Database:
    schema = read_schema(DDL, "sqlite")
    edges = generate_edge_databases(schema, ((sql, "sqlite"),), seed=seed)[0]
    return edges.apply_edges(edges.edges)


#: A condition of a statement, and those that a database has to tell it from.
CORRELATED = (
    "SELECT r.reader_id FROM readers AS r WHERE r.plan IN ('gold', 'silver') AND r.gone IS NULL "
    "AND (SELECT COUNT(*) FROM refunds AS x WHERE x.reader_id = r.reader_id AND {refund}) = 0 "
    "AND EXISTS (SELECT 1 FROM visits AS y WHERE y.reader_id = r.reader_id AND {visit}) ORDER BY 1"
)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("changed", "other"),
    [
        ("refund", "x.cents >= 0"),
        ("refund", "x.cents > 1"),
        ("refund", "x.cents > -1"),
        ("visit", "y.minutes > 30"),
        ("visit", "y.minutes >= 29"),
        ("visit", "y.minutes >= 31"),
    ],
)
def test_a_comparison_in_a_correlated_query_has_an_island_that_it_alone_decides(
    engines: EnginePool, seed: int, changed: str, other: str
) -> None:
    conditions = {"refund": "x.cents > 0", "visit": "y.minutes >= 30"}
    sql = CORRELATED.format(**conditions)
    mutant = CORRELATED.format(**conditions | {changed: other})
    assert tells_apart(engines, build_edges(sql, seed), sql, mutant)


@pytest.mark.parametrize("seed", SEEDS)
def test_an_edge_decides_although_an_alternative_could_make_up_for_it(
    engines: EnginePool, seed: int
) -> None:
    sql = "SELECT reader_id FROM readers WHERE gone < '2024-05-01' OR plan = 'gold' ORDER BY 1"
    for other in ("gone <= '2024-05-01' OR plan = 'gold'", "gone < '2024-04-30' OR plan = 'gold'"):
        mutant = f"SELECT reader_id FROM readers WHERE {other} ORDER BY 1"
        assert tells_apart(engines, build_edges(sql, seed), sql, mutant)


@pytest.mark.parametrize("seed", SEEDS)
def test_an_alias_of_a_literal_is_a_constant(engines: EnginePool, seed: int) -> None:
    sql = (
        "WITH term (first, last) AS (SELECT '2024-01-08', '2024-06-14') SELECT v.visit_id "
        "FROM visits AS v CROSS JOIN term AS t WHERE v.day {low} t.first AND v.day {high} t.last"
    )
    right = sql.format(low=">=", high="<=")
    for mutant in (sql.format(low=">", high="<="), sql.format(low=">=", high="<")):
        assert tells_apart(engines, build_edges(right, seed), right, mutant)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("SUM(v.minutes) > 20", "SUM(DISTINCT v.minutes) > 20"),
        ("SUM(v.minutes) > 20", "MAX(v.minutes) > 20"),
        ("SUM(v.minutes) > 0", "MAX(v.minutes) > 0"),
        ("r.points <= SUM(v.minutes)", "r.points <= SUM(DISTINCT v.minutes)"),
        ("r.points <= SUM(v.minutes)", "r.points < SUM(v.minutes)"),
        ("r.points >= MAX(v.minutes)", "r.points > MAX(v.minutes)"),
    ],
)
def test_clusters_tell_aggregates_apart(
    engines: EnginePool, seed: int, right: str, wrong: str
) -> None:
    sql = (
        "SELECT r.reader_id FROM readers AS r JOIN visits AS v ON v.reader_id = r.reader_id "
        "GROUP BY r.reader_id, r.points HAVING {}"
    )
    schema = read_schema(DDL, "sqlite")
    statements = ((sql.format(right), "sqlite"),)
    database = generate_clusters(schema, *read_statements(schema, statements), seed)
    assert database is not None
    assert tells_apart(engines, database, sql.format(right), sql.format(wrong))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_cluster_has_a_rank_behind_two_that_are_tied(engines: EnginePool, seed: int) -> None:
    sql = (
        "SELECT visit_id, {}() OVER (PARTITION BY reader_id ORDER BY minutes DESC) FROM visits "
        "ORDER BY 1"
    )
    schema = read_schema(DDL, "sqlite")
    statements = ((sql.format("RANK"), "sqlite"),)
    database = generate_clusters(schema, *read_statements(schema, statements), seed)
    assert database is not None
    assert tells_apart(engines, database, sql.format("RANK"), sql.format("DENSE_RANK"))


@pytest.mark.parametrize("seed", SEEDS)
def test_it_shows_which_of_two_tied_rows_is_taken(engines: EnginePool, seed: int) -> None:
    sql = (
        "SELECT note FROM (SELECT note, ROW_NUMBER() OVER (PARTITION BY reader_id "
        "ORDER BY minutes DESC, visit_id {}) AS rn FROM visits) WHERE rn = 1 ORDER BY 1"
    )
    schema = read_schema(DDL, "sqlite")
    statements = ((sql.format("ASC"), "sqlite"),)
    database = generate_clusters(schema, *read_statements(schema, statements), seed)
    assert database is not None
    assert tells_apart(engines, database, sql.format("ASC"), sql.format("DESC"))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_most_frequent_is_not_the_first(engines: EnginePool, seed: int) -> None:
    sql = (
        "SELECT day FROM (SELECT day, ROW_NUMBER() OVER (PARTITION BY reader_id ORDER BY {} day) "
        "AS rn FROM visits WHERE day >= '2024-05-06' GROUP BY reader_id, day) WHERE rn = 1 "
        "ORDER BY 1"
    )
    schema = read_schema(DDL, "sqlite")
    statements = ((sql.format("COUNT(*) DESC,"), "sqlite"),)
    database = generate_clusters(schema, *read_statements(schema, statements), seed)
    assert database is not None
    assert tells_apart(engines, database, sql.format("COUNT(*) DESC,"), sql.format(""))


def test_a_database_holds_zeros_to_divide_by(engines: EnginePool) -> None:
    sql = (
        "SELECT r.reader_id FROM readers AS r JOIN visits AS v ON v.reader_id = r.reader_id "
        "GROUP BY 1 HAVING SUM(r.points) {} 0 AND SUM(v.minutes) = 0 ORDER BY 1"
    )
    schema = read_schema(DDL, "sqlite")
    databases = generate_sparse_databases(schema, ((sql.format("="), "sqlite"),), seed=1)
    zeros = next(database for database in databases if database.profile == "only zeros")
    assert tells_apart(engines, zeros, sql.format("="), sql.format("<>"))


def test_what_stands_for_a_null_is_no_condition() -> None:
    """A good row is not one whose value equals the default of COALESCE."""
    sql = "SELECT reader_id, SUM(COALESCE(minutes, 0)) FROM visits WHERE minutes >= 30 GROUP BY 1"
    database = build_edges(sql, 1)
    minutes = [row[2] for row in database.tables["visits"]]
    assert sum(value >= 30 for value in minutes) > len(minutes) / 2


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("r.points + q.total <= 0", "r.points + q.total <= 1"),
        ("r.points + q.total <= 0", "r.points + q.total < 0"),
        ("r.points * 2 >= q.total * 3", "r.points * 2 > q.total * 3"),
        ("r.points * 2 >= q.total * 3", "r.points * 2 >= q.total * 4"),
        ("r.gone < q.newest", "r.gone <= q.newest"),
        ("r.points > COALESCE(q.total, 0)", "r.points >= COALESCE(q.total, 0)"),
    ],
)
def test_a_comparison_of_columns_of_two_tables_is_tested_where_it_turns(
    engines: EnginePool, seed: int, right: str, wrong: str
) -> None:
    sql = (
        "WITH q AS (SELECT v.reader_id, SUM(v.minutes) AS total, MAX(v.day) AS newest "
        "FROM visits AS v GROUP BY v.reader_id) SELECT r.reader_id FROM readers AS r "
        "JOIN q ON q.reader_id = r.reader_id WHERE {} ORDER BY 1"
    )
    assert tells_apart(
        engines, build_edges(sql.format(right), seed), sql.format(right), sql.format(wrong)
    )


@pytest.mark.parametrize(
    "condition",
    [
        " OR ".join(f"points = {n}" for n in range(1100)),
        "points > reader_id" + " + 1" * 300,
    ],
)
def test_long_conditions_are_read(condition: str) -> None:
    build_edges(f"SELECT reader_id FROM readers WHERE {condition}", 1)


def test_chained_queries_do_not_multiply_their_columns() -> None:
    parts = [
        f"q{n} AS (SELECT a + b + c AS a, a + b + c AS b, a + b + c AS c FROM q{n - 1})"
        for n in range(1, 12)
    ]
    first = "q0 AS (SELECT reader_id AS a, points AS b, points AS c FROM readers)"
    build_edges(f"WITH {', '.join([first, *parts])} SELECT a FROM q11 WHERE a + b > c", 1)

"""Databases made to tell rewrites apart: what they hold, and that they keep every constraint."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from evalcore.sqlkit.engines.registry import EnginePool
from evalcore.sqlkit.equivalence import EquivalenceQuestion
from evalcore.sqlkit.equivalence.decider import Decider
from evalcore.sqlkit.generate import (
    Database,
    covers_statement,
    generate_added_edges,
    generate_edge_databases,
    generate_sparse_databases,
    order_own_references,
    render_inserts,
)
from evalcore.sqlkit.generate.database import drop_dangling_rows, shrink_database
from evalcore.sqlkit.generate.edges import list_plain_documents
from evalcore.sqlkit.generate.hints import read_hints
from evalcore.sqlkit.generate.regex_samples import sample_matches
from evalcore.sqlkit.generate.usage import read_usage
from evalcore.sqlkit.schema import read_schema

DDL = (
    "CREATE TABLE teams (id INTEGER PRIMARY KEY, name VARCHAR(8) NOT NULL UNIQUE)",
    "CREATE TABLE staff (id INTEGER PRIMARY KEY, boss INTEGER, team INTEGER NOT NULL, "
    "pay DECIMAL(6, 2), age INTEGER CHECK (age > 17), born DATE, note VARCHAR(12), "
    "FOREIGN KEY (boss) REFERENCES staff (id), FOREIGN KEY (team) REFERENCES teams (id))",
)
SQL = (
    "SELECT t.name, s.id, s.pay, s.age, s.note FROM staff s JOIN teams t ON t.id = s.team "
    "WHERE s.born < '2024-03-01' AND s.pay > 100 AND SUBSTR(s.note, 1, 5) <> 'Rome'"
)
ENGINES = ("sqlite", "duckdb")


@pytest.fixture(scope="module")
def engines() -> Iterator[EnginePool]:
    with EnginePool() as pool:
        yield pool


def list_databases(engine: str) -> list[Database]:
    schema, statements = read_schema(DDL, engine), ((SQL, engine),)
    sparse = generate_sparse_databases(schema, statements, seed=3)
    edges = generate_edge_databases(schema, statements, seed=3)
    return [*sparse, *(database.apply_edges(database.edges) for database in edges)]


@pytest.mark.parametrize("engine", ENGINES)
def test_every_database_keeps_the_constraints(engines: EnginePool, engine: str) -> None:
    schema = read_schema(DDL, engine)
    for database in list_databases(engine):
        assert drop_dangling_rows(schema, database) == database
        loaded = order_own_references(schema, database)
        done = engines.get(engine).execute((*DDL, *render_inserts(schema, loaded, engine)), SQL)
        assert done.status == "ok", (database.profile, done.message)


def test_tables_lack_rows_in_every_way() -> None:
    databases = {database.profile: database.tables for database in list_databases("sqlite")}
    assert not any(databases["all empty"].values())
    assert {len(rows) for rows in databases["one row"].values()} == {1}
    assert databases["teams empty"] == {"teams": (), "staff": ()}  # no row can lack its team
    assert databases["teams empty"].keys() == databases["staff empty"].keys()
    assert databases["staff empty"]["teams"]
    assert all(row[1] is row[3] is row[6] is None for row in databases["only nulls"]["staff"])


def test_columns_have_the_edges_of_types_and_statements() -> None:
    rows = next(d for d in list_databases("sqlite") if d.profile == "edges").tables["staff"]
    pay, age, born, note = ({row[n] for row in rows} for n in (3, 4, 5, 6))
    assert {None, 100, 100.01, 99.99, 0.01, -0.01, 2.5} <= pay
    assert None in age
    assert all(value > 17 for value in age if value is not None)
    assert {"2024-02-29", "2024-03-01", "2024-12-31", "2021-01-03"} <= born
    assert {"", " ", "Rome", "rome", "Rome ", "Abcde", "Abcdef", "中文字", "😀"} <= note
    assert all(len(text) <= 12 for text in note if text is not None)


def test_a_unique_column_may_be_null_more_than_once(engines: EnginePool) -> None:
    ddl = ("CREATE TABLE codes (id INTEGER PRIMARY KEY, code VARCHAR(9) UNIQUE)",)
    sql = "SELECT code FROM codes"
    schema = read_schema(ddl, "sqlite")
    database = next(iter(generate_edge_databases(schema, ((sql, "sqlite"),), seed=2)))
    rows = database.apply_edges(database.edges).tables["codes"]
    assert sum(code is None for _, code in rows) >= 2
    question = EquivalenceQuestion(engine="sqlite", schema=ddl, reference=sql)
    decider = Decider(engines.get)
    assert decider.decide(question, "SELECT DISTINCT code FROM codes").status == "different"


def test_texts_of_a_length_may_end_in_blanks(engines: EnginePool) -> None:
    ddl = ("CREATE TABLE codes (id INTEGER PRIMARY KEY, code VARCHAR(34) UNIQUE)",)
    question = EquivalenceQuestion(
        engine="sqlite", schema=ddl, reference="SELECT id FROM codes WHERE LENGTH(code) = 22"
    )
    answer = "SELECT id FROM codes WHERE LENGTH(TRIM(code)) = 22"
    assert Decider(engines.get).decide(question, answer).status == "different"


def test_extreme_numbers_stand_apart() -> None:
    databases = {database.profile: database for database in list_databases("duckdb")}
    assert 2**31 - 1 in {row[4] for row in databases["largest numbers"].tables["staff"]}
    assert 2**31 - 1 not in {row[4] for row in databases["edges"].tables["staff"]}
    assert "smallest numbers" in databases


def test_equal_questions_have_equal_databases() -> None:
    assert list_databases("sqlite") == list_databases("sqlite")


def test_json_is_grown_from_paths_and_literals() -> None:
    schema = read_schema(("CREATE TABLE d (id INTEGER PRIMARY KEY, body TEXT)",), "sqlite")
    sql = "SELECT id FROM d WHERE json_extract(body, '$.size') > 40 AND body ->> '$.kind' = 'box'"
    (database,) = generate_edge_databases(schema, ((sql, "sqlite"),), seed=1)[:1]
    texts = {row[1] for row in database.apply_edges(database.edges).tables["d"]}
    for text in (
        '{"size": "x", "kind": null}',
        '{"size": 41, "kind": "x"}',
        '{"size": "40", "kind": "x"}',
    ):
        assert text in texts
    assert '{"kind": "x"}' in texts  # without the other key


def test_a_document_has_a_list_beside_the_texts_that_are_compared() -> None:
    usage = read_usage(
        (("SELECT body ->> '$.state' = 'paid', body -> '$.items' FROM d", "duckdb"),)
    )
    documents = [json.loads(text) for text in list_plain_documents(usage)]
    states = {each.get("state") for each in documents if isinstance(each.get("items"), list)}
    assert {"paid", "paidx", "pai"} <= states


def test_a_statement_is_covered_where_the_databases_hold_all_its_values() -> None:
    schema = read_schema(("CREATE TABLE t (a INTEGER, b INTEGER)",), "sqlite")
    asked = (("SELECT a FROM t WHERE a > 5", "sqlite"),)
    assert covers_statement(schema, asked, ("SELECT x.a FROM t x WHERE x.a > 5", "sqlite"))
    for other in ("a >= 5", "a > 60", "a > 5 AND b IS NULL", "a > 5 LIMIT 20", "a > 5 AND b = 44"):
        assert not covers_statement(schema, asked, (f"SELECT a FROM t WHERE {other}", "sqlite"))


def test_only_values_that_an_answer_adds_are_put_into_its_own_database() -> None:
    schema = read_schema(("CREATE TABLE t (a INTEGER, b INTEGER)",), "sqlite")
    asked = (("SELECT a FROM t WHERE a > 500 AND b = 44", "sqlite"),)
    answer = "SELECT a FROM t WHERE a > 500 AND b IN (44, 77)"
    added = generate_added_edges(schema, asked, (answer, "sqlite"), seed=1)
    cells = {(edge.column, edge.value) for edge in added.edges}
    assert cells == {(1, None), (1, 76), (1, 77), (1, 78)}
    assert not generate_added_edges(schema, asked, asked[0], seed=1).edges


def test_a_row_is_taken_away_with_those_that_refer_to_it() -> None:
    schema = read_schema(DDL, "sqlite")
    staff = tuple((n, None, n % 5, None, None, None, None) for n in range(1, 40))
    database = Database("x", {"teams": tuple((n, f"t{n}") for n in range(5)), "staff": staff})
    small = shrink_database(
        schema, database, lambda d: any(row[0] == 17 for row in d.tables["staff"])
    )
    assert small.tables == {"teams": ((2, "t2"),), "staff": (staff[16],)}


def test_rows_follow_those_of_their_table_that_they_refer_to() -> None:
    schema = read_schema(DDL, "duckdb")
    rows = tuple((n, n - 1 or None, 1, None, None, None, None) for n in (4, 3, 1, 2))
    ordered = order_own_references(schema, Database("x", {"staff": rows})).tables["staff"]
    assert [row[0] for row in ordered] == [1, 2, 3, 4]


def test_no_statement_for_duckdb_holds_a_row_and_one_that_refers_to_it() -> None:
    schema = read_schema(DDL, "duckdb")
    bosses = {1: None, 2: None, 3: 1, 4: 2, 5: 4, 6: None}
    rows = tuple((n, boss, 1, None, None, None, None) for n, boss in bosses.items())
    inserts = render_inserts(schema, Database("x", {"staff": rows}), "duckdb")
    assert [text.count("\n") for text in inserts] == [2, 2, 2]  # 1 and 2, 3 and 4, 5 and 6
    assert len(render_inserts(schema, Database("x", {"staff": rows}), "sqlite")) == 1


@pytest.mark.parametrize(
    ("pattern", "sample"),
    [
        ("^AB[0-9]{4}$", "AB0000"),
        ("^(?:foo|bar)+$", "barbar"),
        ("^[[:alpha:]]+[0-9]*$", "k"),
        ("^o'?neil", "o'neil"),
        (r"^\d{3}-\d{4}$", "777-7777"),
        ("^[^0-9]+$", "BB"),
    ],
)
def test_patterns_are_sampled(pattern: str, sample: str) -> None:
    assert sample in sample_matches(pattern)


@pytest.mark.parametrize("pattern", ["", "(a|b", "[", "[a", "\\", "a" * 500, "(" * 150])
def test_a_pattern_that_cannot_be_read_has_no_samples(pattern: str) -> None:
    assert sample_matches(pattern) == ()


def test_a_recursion_has_a_database_with_one_long_chain() -> None:
    ddl = ["CREATE TABLE edge (src INTEGER NOT NULL, dst INTEGER NOT NULL, PRIMARY KEY (src, dst))"]
    sql = (
        "WITH RECURSIVE r(n) AS (SELECT dst FROM edge WHERE src = 7 UNION SELECT e.dst FROM edge e "
        "JOIN r ON e.src = r.n) SELECT n FROM r"
    )
    databases = generate_sparse_databases(read_schema(ddl, "sqlite"), ((sql, "sqlite"),), seed=1)
    chains = [database for database in databases if database.profile == "a long chain"]
    assert [database.tables["edge"][:3] for database in chains] == [((7, 8), (8, 9), (9, 10))]
    tree = ["CREATE TABLE node (id INTEGER PRIMARY KEY, up INTEGER REFERENCES node (id))"]
    sql = (
        "WITH RECURSIVE t AS (SELECT id, 1 AS d FROM node WHERE up IS NULL UNION ALL "
        "SELECT n.id, d + 1 FROM node n JOIN t ON n.up = t.id WHERE d < 40) SELECT MAX(d) FROM t"
    )
    databases = generate_sparse_databases(read_schema(tree, "sqlite"), ((sql, "sqlite"),), seed=1)
    rows = max((database.tables["node"] for database in databases), key=len)
    assert len(rows) > 40
    assert [up for _, up in rows] == [None, *(key for key, _ in rows[:-1])]


def test_nested_paths_end_at_values_of_every_kind() -> None:
    ddl = ["CREATE TABLE t (id INTEGER PRIMARY KEY, doc JSONB)"]
    sql = "SELECT id FROM t WHERE doc -> 'ship' ->> 'zip' ~ '^0+1$' AND doc #>> '{tags,0}' = 'a'"
    database = generate_edge_databases(read_schema(ddl, "postgres"), ((sql, "postgres"),), seed=1)[
        0
    ]
    documents = [json.loads(edge.value) for edge in database.edges if edge.column and edge.value]
    objects = [document for document in documents if isinstance(document, dict)]
    ships = [ship for document in objects if isinstance(ship := document.get("ship"), dict)]
    zips = [ship.get("zip") for ship in ships]
    assert all(value in zips for value in ("01", 5, None))
    assert any(document.get("tags") == ["a"] for document in objects)


@pytest.mark.parametrize(
    ("engine", "condition", "value"),
    [
        ("postgres", "a SIMILAR TO '(x|y)z%'", "xz"),
        ("postgres", "regexp_match(a, '^q[0-9]+') IS NOT NULL", "q0"),
        ("mysql", "a NOT REGEXP '^q[0-9]+$'", "q99"),
        ("duckdb", "regexp_extract(a, '^q([0-9]+)', 1) = '7'", "q444"),
        ("duckdb", "list_contains(a, 'red')", "red"),
        ("duckdb", "a['depth'] > 3", "depth"),
        ("postgres", "a + INTERVAL '1 month' > DATE '2024-02-29'", "2024-01-31"),
        ("mysql", "DATE_ADD(a, INTERVAL 2 DAY) > '2024-03-01'", "2024-02-28"),
    ],
)
def test_patterns_lists_and_intervals_are_mined(engine: str, condition: str, value: str) -> None:
    hints = read_hints(((f"SELECT 1 FROM t WHERE {condition}", engine),))
    assert value in [constant.value for constant in hints.constants["a"]]


def test_equated_texts_differ_in_case_or_blanks_alone() -> None:
    ddl = ("CREATE TABLE a (id INT PRIMARY KEY, t TEXT)", "CREATE TABLE b (id INT, t TEXT)")
    sql = "SELECT a.id FROM a JOIN b ON a.t = b.t"
    databases = generate_sparse_databases(read_schema(ddl, "sqlite"), ((sql, "sqlite"),), seed=1)
    spelled = next(each for each in databases if each.profile == "spellings")
    assert all({"x", "X", "x "} <= {row[1] for row in rows} for rows in spelled.tables.values())
    by_key = "SELECT a.id FROM a JOIN b ON a.id = b.id"
    others = generate_sparse_databases(read_schema(ddl, "sqlite"), ((by_key, "sqlite"),), seed=1)
    assert "spellings" not in [each.profile for each in others]


@pytest.mark.parametrize(
    ("profile", "is_right"),
    [("keys below 0", lambda n: n < 0), ("keys far apart", lambda n: n > 9)],
)
def test_keys_and_what_refers_to_them_are_renumbered(profile: str, is_right: object) -> None:
    assert callable(is_right)
    (database,) = (each for each in list_databases("sqlite") if each.profile == profile)
    staff = database.tables["staff"]
    assert all(is_right(row[0]) and is_right(row[2]) for row in staff)
    assert {row[1] for row in staff if row[1] is not None} <= {row[0] for row in staff}


def test_a_column_that_must_be_json_takes_null_where_the_library_says_so(
    engines: EnginePool,
) -> None:
    ddl = ("CREATE TABLE d (id INTEGER PRIMARY KEY, body TEXT CHECK (json_valid(body)))",)
    done = engines.get("sqlite").execute(ddl, "INSERT INTO d VALUES (1, NULL)")
    assert read_schema(ddl, "sqlite").tables[0].columns[1].nullable == (done.status == "ok")
    assert read_schema(ddl, "mysql").tables[0].columns[1].nullable


def list_cells(
    ddl: tuple[str, ...], sql: str, dialect: str, table: str, column: int
) -> set[object]:
    schema, statements = read_schema(ddl, dialect), ((sql, dialect),)
    made = [
        *(
            each.apply_edges(each.edges)
            for each in generate_edge_databases(schema, statements, seed=1)
        ),
        *generate_sparse_databases(schema, statements, seed=1),
    ]
    return {row[column] for each in made for row in each.tables[table]}


def test_what_a_column_is_computed_from_meets_the_conditions_on_it() -> None:
    ddl = ("CREATE TABLE t (id INT PRIMARY KEY, code TEXT, size INT AS (length(trim(code))))",)
    codes = list_cells(ddl, "SELECT id FROM t WHERE size >= 9", "duckdb", "t", 1)
    assert {8, 9} <= {len(code) for code in codes if code}


def test_a_chain_leads_over_two_references_from_where_the_recursion_begins() -> None:
    ddl = (
        "CREATE TABLE cairns (id INT PRIMARY KEY)",
        "CREATE TABLE paths (a INT REFERENCES cairns (id), b INT REFERENCES cairns (id), "
        "PRIMARY KEY (a, b))",
    )
    sql = (
        "WITH RECURSIVE r (id) AS (SELECT 1 UNION SELECT p.b FROM paths p JOIN r ON p.a = r.id) "
        "SELECT id FROM r"
    )
    made = generate_sparse_databases(read_schema(ddl, "postgres"), ((sql, "postgres"),), seed=1)
    (chain,) = (each for each in made if each.profile == "a long chain")
    reached, ways = [1], dict(chain.tables["paths"])
    while (after := ways.get(reached[-1])) is not None and after not in reached:
        reached.append(after)
    assert len(reached) > 12


def test_the_largest_numbers_stand_in_groups_of_their_own() -> None:
    schema = read_schema(
        ("CREATE TABLE t (id INTEGER PRIMARY KEY, kind TEXT, n INTEGER)",), "sqlite"
    )
    statements = (("SELECT kind, SUM(n) / COUNT(*) FROM t GROUP BY kind", "sqlite"),)
    named = {
        each.base.profile: each for each in generate_edge_databases(schema, statements, seed=1)
    }
    rows = named["largest numbers"].apply_edges(named["largest numbers"].edges).tables["t"]
    assert len({row[1] for row in rows}) == len(rows)
    assert 2**63 - 1 in {row[2] for row in rows}


def test_documents_hold_what_is_alike_as_text_alone() -> None:
    ddl = ("CREATE TABLE t (id INT PRIMARY KEY, doc JSON)",)
    sql = "SELECT id FROM t WHERE doc -> '$.asked' = doc -> '$.seen'"
    cells = list_cells(ddl, sql, "duckdb", "t", 1)
    assert {'{"asked": 5, "seen": "5"}', '{"asked": 5, "seen": 5}'} <= cells


def test_a_share_that_sums_are_held_against_is_met_by_numbers_other_than_nought() -> None:
    ddl = (
        "CREATE TABLE policies (id INT PRIMARY KEY, premium DECIMAL(10, 2) NOT NULL)",
        "CREATE TABLE claims (id INT PRIMARY KEY, policy_id INT NOT NULL REFERENCES policies (id), "
        "amount DECIMAL(10, 2) NOT NULL, approved TINYINT)",
    )
    sql = (
        "SELECT p.id FROM policies p JOIN claims c ON c.policy_id = p.id GROUP BY p.id, p.premium "
        "HAVING SUM(IF(c.approved = 1, c.amount, 0)) > p.premium * 0.7 OR p.premium = 0"
    )
    edges = generate_edge_databases(read_schema(ddl, "mysql"), ((sql, "mysql"),), seed=1)[0]
    tables = edges.apply_edges(edges.edges).tables
    premiums = dict(tables["policies"])
    assert any(
        premiums[policy] and approved == 1 and abs(amount - 0.7 * premiums[policy]) < 1e-9
        for _, policy, amount, approved in tables["claims"]
    )

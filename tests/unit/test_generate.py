"""Generated databases: repeatable, within what the DDL allows, near what statements ask for."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from evalcore.sqlkit.engines.registry import open_engine
from evalcore.sqlkit.generate import (
    TIED,
    Database,
    generate_databases,
    generate_edge_databases,
    generate_scaled_database,
    generate_sparse_databases,
    permute_rows,
    render_inserts,
    shrink_database,
)
from evalcore.sqlkit.generate.clocks import list_anniversaries
from evalcore.sqlkit.generate.conditions import Constant
from evalcore.sqlkit.generate.hints import read_hints
from evalcore.sqlkit.schema import Schema, read_schema

DDL = (
    "CREATE TABLE crews (id INTEGER PRIMARY KEY, name VARCHAR(12) NOT NULL UNIQUE, "
    "grade INTEGER CHECK (grade BETWEEN 1 AND 5), lead INTEGER REFERENCES crews (id))",
    "CREATE TABLE tours (id INTEGER PRIMARY KEY, crew_id INTEGER NOT NULL REFERENCES crews (id), "
    "starts DATE NOT NULL, fee DECIMAL(6, 2), UNIQUE (crew_id, starts))",
)
SQL = (
    "SELECT c.name, SUM(t.fee) AS total FROM crews c JOIN tours t ON t.crew_id = c.id "
    "WHERE t.starts >= '2024-05-01' AND c.name LIKE 'North%' GROUP BY c.name "
    "HAVING COUNT(*) > 2 AND SUM(t.fee) > 150 ORDER BY total LIMIT 4"
)
SCHEMA = read_schema(DDL, "sqlite")
STATEMENTS = [(SQL, "sqlite")]


def test_hints_follow_aliases_joins_and_counts() -> None:
    hints = read_hints([(SQL, "sqlite")])
    assert Constant(">=", "2024-05-01") in hints.constants["starts"]
    assert Constant("like", "North%") in hints.constants["name"]
    assert Constant(">", 150) in hints.constants["fee"]
    assert hints.find_family("crew_id") == hints.find_family("id")
    assert set(hints.counts) == {2, 4}
    assert "fee" in hints.sorted  # ORDER BY total, which is SUM(fee)


def test_what_does_not_parse_gives_no_hints() -> None:
    assert read_hints([("SELECT FROM (", "sqlite")]).constants == {}


def test_equal_arguments_give_equal_databases() -> None:
    first = generate_databases(SCHEMA, [(SQL, "sqlite")], seed=7)
    assert first == generate_databases(SCHEMA, [(SQL, "sqlite")], seed=7)
    assert first != generate_databases(SCHEMA, [(SQL, "sqlite")], seed=8)
    assert len(first) == 16


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_every_database_fits_its_tables(engine: str) -> None:
    schema = read_schema(DDL, engine)
    with open_engine(engine) as opened:
        for database in generate_databases(schema, [(SQL, engine)], seed=3):
            setup = (*DDL, *render_inserts(schema, database, engine))
            counts = opened.execute(
                setup, "SELECT (SELECT COUNT(*) FROM crews), (SELECT COUNT(*) FROM tours)"
            )
            assert counts.status == "ok", (database.profile, counts.message)
            assert counts.table is not None
            assert counts.table.rows[0] == tuple(map(len, database.tables.values()))
            broken = opened.execute(
                setup,
                "SELECT COUNT(*) FROM tours t LEFT JOIN crews c ON c.id = t.crew_id "
                "WHERE c.id IS NULL",
            )
            assert broken.table is not None
            assert broken.table.rows == ((0,),)


def test_most_databases_have_rows_for_the_query() -> None:
    """Under four conditions at once, of which one counts the rows of a group."""
    filled = {False: 0, True: 0}
    with open_engine("sqlite") as engine:
        for eager in filled:
            for database in generate_databases(SCHEMA, [(SQL, "sqlite")], seed=11, eager=eager):
                seen = engine.execute((*DDL, *render_inserts(SCHEMA, database, "sqlite")), SQL)
                filled[eager] += bool(seen.table and seen.table.rows)
    assert filled[False] >= 3
    assert filled[True] >= 10


def test_cells_satisfy_just_miss_and_nearly_match() -> None:
    cells = {
        str(cell)
        for database in generate_databases(SCHEMA, [(SQL, "sqlite")], seed=1)
        for rows in database.tables.values()
        for row in rows
        for cell in row
    }
    assert {"2024-05-01", "2024-04-30", "2024-05-02", "150", "150.01"} <= cells
    assert "North" in cells
    assert any(cell.startswith("nORTH") or cell == "pNorth" for cell in cells)


def test_keys_that_something_orders_are_distinct_where_the_profile_says_so() -> None:
    for database in generate_databases(SCHEMA, [(SQL, "sqlite")], seed=5):
        if database.profile.startswith("distinct"):
            fees = [row[3] for row in database.tables["tours"] if row[3] is not None]
            assert len(fees) == len(set(fees)) > 3


def test_permuted_keeps_the_rows_and_changes_their_order() -> None:
    database = Database("x", {"a": tuple((n,) for n in range(5)), "b": ((1,), (2,)), "c": ()})
    twin = permute_rows(database)
    for name, rows in database.tables.items():
        assert sorted(twin.tables[name]) == sorted(rows)
        assert twin.tables[name] != rows or len(rows) < 2


def test_scaled_has_rare_and_frequent_values() -> None:
    database = generate_scaled_database(SCHEMA, [(SQL, "sqlite")], seed=2, rows=2000)
    assert len(database.tables["tours"]) > 1500
    names = [row[1] for row in database.tables["crews"]]
    assert len(set(names)) == len(names) > 100


def test_shrink_keeps_only_what_the_difference_needs() -> None:
    database = Database(
        "x", {"a": tuple((n,) for n in range(40)), "b": tuple((n,) for n in range(9))}
    )
    small = shrink_database(
        Schema(tables=()), database, lambda d: (17,) in d.tables["a"] and (3,) in d.tables["b"]
    )
    assert small.tables == {"a": ((17,),), "b": ((3,),)}


def test_shrink_gives_back_what_it_cannot_make_smaller() -> None:
    database = Database("x", {"a": ((1,), (2,))})
    assert shrink_database(Schema(tables=()), database, lambda d: False) == database


SOLVED = [
    ("SELECT 1 FROM t WHERE a > 12 * 5", Constant(">", 60)),
    ("SELECT 1 FROM t WHERE a * 2 - 40 >= 300", Constant(">=", 170)),
    ("SELECT 1 FROM t WHERE 8 < a / 4", Constant(">", 32)),
    ("SELECT 1 FROM t WHERE a * -2 > 8", Constant(">", 8)),
    ("SELECT 1 FROM t WHERE a / 0 > 8", Constant(">", 8)),
    ("SELECT 1 FROM t WHERE NOT a > 7", Constant("<=", 7)),
    ("SELECT 1 FROM t WHERE NOT (a IN (3, 4))", Constant("<>", 4)),
    ("SELECT 1 FROM t WHERE a NOT LIKE 'x%'", Constant("not like", "x%")),
    ("SELECT 1 FROM t WHERE a GLOB 'x?*'", Constant("like", "x_%")),
    ("SELECT 1 FROM t WHERE a IS DISTINCT FROM 3", Constant("<>", 3)),
    ("SELECT 1 FROM t WHERE NOT a", Constant("=", 0)),
    ("WITH v (low) AS (VALUES (5)) SELECT 1 FROM t, v WHERE t.a > v.low", Constant(">", 5)),
    ("SELECT 1 FROM t, (VALUES (5, 6), (7, 8)) AS v (x, y) WHERE t.a < y", Constant("<", 8)),
    ("SELECT 1 FROM t, (SELECT 3 AS a) AS v WHERE t.a = v.a", Constant("=", 3)),
    ("SELECT 1 FROM t WHERE b || '-' || a = 'x-1'", Constant("=", "1")),
    ("SELECT 1 FROM t WHERE CONCAT(a, ' of ', b) = 'House of Commons'", Constant("=", "House")),
]


@pytest.mark.parametrize(("sql", "constant"), SOLVED)
def test_constants_are_those_at_which_a_condition_turns(sql: str, constant: Constant) -> None:
    assert constant in read_hints([(sql, "sqlite")]).constants["a"]


@pytest.mark.parametrize("huge", ["1e400", "9" * 400, "1e300 * 1e300", "1 / 0"])
def test_arithmetic_beyond_numbers_gives_no_constant(huge: str) -> None:
    for constant in read_hints(
        [(f"SELECT 1 FROM t WHERE a + {huge} > {huge}", "sqlite")]
    ).constants["a"]:
        assert constant.value is not None


TEXT = "CREATE TABLE a (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, size INTEGER NOT NULL)"
OTHER = "CREATE TABLE b (id INTEGER PRIMARY KEY, note TEXT)"


def test_rows_miss_one_condition_alone() -> None:
    sql = "SELECT id FROM a WHERE kind <> 'store' AND size > 1000"
    schema = read_schema([TEXT], "sqlite")
    rows = [r for d in generate_databases(schema, [(sql, "sqlite")], seed=4) for r in d.tables["a"]]
    assert sum(kind == "store" and size > 1000 for _, kind, size in rows) > 3
    assert sum(kind != "store" and size in (999, 1000) for _, kind, size in rows) > 3


def test_tables_joined_by_their_keys_hold_different_ones() -> None:
    sql = "SELECT 1 FROM a JOIN b ON b.id = a.id"
    schema = read_schema([TEXT, OTHER], "sqlite")
    keys = [
        [{row[0] for row in rows} for rows in database.tables.values()]
        for database in generate_databases(schema, [(sql, "sqlite")], seed=4)
    ]
    assert sum(bool(item - other) and bool(other - item) for item, other in keys) >= 6
    assert sum(bool(item & other) for item, other in keys) >= 12


def test_some_databases_have_one_parent_or_few() -> None:
    made = {d.profile: d for d in generate_databases(SCHEMA, [], seed=1)}
    assert len(made["one parent"].tables["crews"]) == 1
    assert 1 < len(made["few parents"].tables["crews"]) <= 3
    assert len(made["few parents"].tables["tours"]) > 10


def test_rows_have_their_groups_in_common() -> None:
    sql = "SELECT kind, size, MAX(id) FROM a GROUP BY kind, size"
    schema = read_schema([TEXT], "sqlite")
    for database in generate_databases(schema, [(sql, "sqlite")], seed=4):
        rows = database.tables["a"]
        if len(rows) >= 14 and not database.profile.startswith("distinct"):
            assert len({row[1:] for row in rows}) < len(rows)


def test_tied_rows_outnumber_the_limit():
    schema = read_schema(["CREATE TABLE t (id INTEGER PRIMARY KEY, at INTEGER, b TEXT)"], "sqlite")
    asked = [("SELECT id FROM t ORDER BY at, id LIMIT 7", "sqlite")]
    databases = generate_sparse_databases(schema, asked, seed=1)
    tied = next(database for database in databases if database.profile == TIED)
    counts = Counter(row[1] for row in tied.tables["t"])
    assert len(counts) <= 2
    assert min(counts.values()) > 7
    assert [row[0] for row in tied.tables["t"]] != sorted(row[0] for row in tied.tables["t"])


def test_a_table_holds_the_word_that_stands_for_its_total():
    schema = read_schema(["CREATE TABLE t (code TEXT, n INTEGER)"], "sqlite")
    sql = "SELECT CASE WHEN n > 5 THEN 'ALL' ELSE code END AS code FROM t"
    databases = generate_sparse_databases(schema, [(sql, "sqlite")], seed=1)
    replaced = next(each for each in databases if each.profile == "replaced values")
    assert {row[0] for row in replaced.tables["t"]} == {"ALL"}


@pytest.mark.parametrize(
    ("number", "day"),
    [
        (202302, "2023-01-09"),
        (202302, "2023-01-08"),
        (202302, "2023-02-01"),
        (20230315, "2023-03-15"),
    ],
)
def test_edges_hold_the_days_at_which_a_packed_number_turns(number, day):
    schema = read_schema(["CREATE TABLE t (entered DATE)"], "postgres")
    sql = f"SELECT 1 FROM t WHERE CAST(TO_CHAR(entered, 'IYYYIW') AS INT) >= {number}"
    edges = next(iter(generate_edge_databases(schema, [(sql, "postgres")], seed=1)))
    assert day in {edge.value for edge in edges.edges}


def test_nulls_for_which_something_stands_meet_the_edges_of_other_columns():
    schema = read_schema(["CREATE TABLE t (title TEXT, name TEXT)"], "sqlite")
    sql = "SELECT 1 FROM t WHERE LENGTH(name) + COALESCE(LENGTH(title), 0) > 2"
    beside = next(
        each
        for each in generate_edge_databases(schema, [(sql, "sqlite")], seed=1)
        if each.base.profile == "edges beside nulls"
    )
    assert {row[0] for row in beside.base.tables["t"]} == {None}
    assert any(len(str(edge.value)) == 3 for edge in beside.edges if edge.column == 1)


def test_texts_held_against_a_number_are_filled() -> None:
    schema = read_schema(["CREATE TABLE t (code VARCHAR(8) PRIMARY KEY)"], "mysql")
    asked = [("SELECT code FROM t WHERE code < 5", "mysql")]
    databases = generate_sparse_databases(schema, asked, seed=1)
    assert any(database.tables["t"] for database in databases)


def test_unique_texts_stay_apart_where_case_is_overlooked() -> None:
    schema = read_schema(["CREATE TABLE t (code VARCHAR(8) NOT NULL UNIQUE)"], "mysql")
    asked = [("SELECT code FROM t WHERE code IN ('li', 'LI', 'Li')", "mysql")]
    for database in generate_databases(schema, asked, seed=1):
        texts = [row[0].casefold() for row in database.tables["t"]]
        assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("verb", ["REPLACE", "INSERT OR REPLACE"])
def test_a_row_that_replaces_meets_others_in_each_key(verb: str) -> None:
    schema = read_schema(["CREATE TABLE t (id INT PRIMARY KEY, code TEXT UNIQUE)"], "sqlite")
    asked = [(f"{verb} INTO t VALUES (3, 'B2')", "sqlite")]
    named = {each.profile: each for each in generate_sparse_databases(schema, asked, seed=1)}
    rows = named["conflicts apart"].tables["t"]
    assert [row for row in rows if row[0] == 3 and row[1] != "B2"]
    assert [row for row in rows if row[0] != 3 and row[1] == "B2"]
    assert not {3, "B2"} & {cell for row in named["no conflicts"].tables["t"] for cell in row}


def test_hours_that_are_asked_for_are_within_the_days_that_are() -> None:
    schema = read_schema(("CREATE TABLE runs (id INT PRIMARY KEY, began DATETIME)",), "mysql")
    sql = (
        "SELECT id FROM runs WHERE began >= '2024-05-06' AND began < '2024-05-13' "
        "AND DATE_FORMAT(began, '%H') IN ('07', '17')"
    )
    databases = generate_databases(schema, [(sql, "mysql")], seed=1)
    times = {row[1] for database in databases for row in database.tables["runs"]}
    assert any(str(time).startswith("2024-05-06 17:") for time in times)


def test_a_column_beside_which_days_are_compared_holds_what_its_check_allows() -> None:
    ddl = (
        "CREATE TABLE scans (id INT PRIMARY KEY, at TIMESTAMP, kind VARCHAR "
        "CHECK (kind IN ('IN', 'OUT')))"
    )
    sql = (
        "SELECT id, date_diff('day', LAG(at) OVER (PARTITION BY kind ORDER BY at), at) AS gap, "
        "date_diff('day', CASE WHEN kind = 'IN' THEN at END, at) AS rest FROM scans"
    )
    databases = generate_databases(read_schema((ddl,), "duckdb"), [(sql, "duckdb")], seed=1)
    assert {row[2] for each in databases for row in each.tables["scans"]} >= {"IN", "OUT"}


def test_in_a_crowd_rows_lead_to_few_others() -> None:
    made = {each.profile: each for each in generate_sparse_databases(SCHEMA, STATEMENTS, seed=1)}
    few, many = made["a crowd of equals"], made["a crowd"]
    assert made == {
        each.profile: each for each in generate_sparse_databases(SCHEMA, STATEMENTS, seed=1)
    }
    for crowd in (few, many):
        leads = [row[1] for row in crowd.tables["tours"]]
        assert len(leads) > 2 * len(set(leads))
        assert set(leads) <= {row[0] for row in crowd.tables["crews"]}
    fees = [row[3] for row in few.tables["tours"] if row[3] is not None]
    assert len(fees) > len(set(fees))


def test_rows_that_differ_in_keys_alone_share_what_they_are_computed_from() -> None:
    ddl = [
        "CREATE TABLE p (id INT PRIMARY KEY, rate INT)",
        "CREATE TABLE c (p INT REFERENCES p (id), at TIMESTAMP, n INT, PRIMARY KEY (p, at))",
    ]
    asked = [("SELECT p, SUM(n * rate / 1000) FROM c JOIN p ON p.id = c.p GROUP BY p", "duckdb")]
    schema = read_schema(ddl, "duckdb")
    named = {each.profile: each for each in generate_sparse_databases(schema, asked, seed=1)}
    rows = named["alike"].tables["c"]
    assert len(rows) == 5
    assert len({(row[0], row[2]) for row in rows[:4]}) == 1
    assert rows[4][0] == rows[0][0]
    assert rows[4][2] < rows[0][2]
    assert min(row[1] for row in named["alike"].tables["p"]) >= 30


DAY, NUMBER = r"\d{4}-\d{1,2}-\d{1,2}", r"-?\d+(\.\d+)?"


@pytest.mark.parametrize(
    ("dialect", "read", "form", "share"),
    [
        ("sqlite", "date(note, '+1 month')", DAY, 0.7),
        ("sqlite", "substr(note, 6, 2)", DAY, 0.7),
        ("sqlite", "CAST(note AS INTEGER) + 1", NUMBER, 0.6),
        ("sqlite", "note < date('now', '-1 month')", DAY, 0.7),
        ("mysql", "LAST_DAY(note)", DAY, 0.7),
        ("mysql", "STR_TO_DATE(note, '%d/%m/%Y')", r"\d\d/\d\d/\d{4}", 0.7),
        ("mysql", "TIME_TO_SEC(note)", r"\d\d:\d\d:\d\d", 0.5),
        ("postgres", "note::date", rf"{DAY}|31 Dec 1999", 1),
        ("postgres", "to_date(note, 'YYYYMMDD')", r"\d{8}", 1),
        ("postgres", "to_date(note, 'FMYYYY')", r"\d{4}", 1),
        ("postgres", "note::int", r"-?\d+", 1),
        ("postgres", "note::interval", r"[-:\d]+( (day|month|hour|minute|year)s?)?.*", 1),
        ("duckdb", "CAST(trim(note) AS DATE)", DAY, 1),
        ("duckdb", "strptime(note, '%d.%m.%Y')", r"\d\d\.\d\d\.\d{4}", 1),
        ("duckdb", "d.h::TIME FROM (SELECT note AS h FROM t) d", r"\d\d:\d\d:\d\d", 1),
    ],
)
def test_columns_of_text_hold_what_statements_read_in_them(dialect, read, form, share):
    schema = read_schema(("CREATE TABLE t (id INT PRIMARY KEY, note VARCHAR(40))",), dialect)
    sql = f"SELECT {read}" if " FROM " in read else f"SELECT {read} FROM t WHERE id < 5"
    texts = [
        row[1]
        for database in generate_databases(schema, [(sql, dialect)], seed=3)
        for row in database.tables["t"]
        if row[1] is not None
    ]
    matches = [text for text in texts if re.fullmatch(rf"(?:{form})(?:[ T]\d\d:\d\d:\d\d)?", text)]
    assert len(matches) >= share * len(texts) > 50


@pytest.mark.parametrize(
    ("dialect", "call"),
    [
        ("postgres", "to_date(note, '{}')"),
        ("duckdb", "try_strptime(note, '{}')"),
        ("mysql", "STR_TO_DATE(note, '{}')"),
    ],
)
@pytest.mark.parametrize("form", ["YYYY YYYY", "%Y %Y", "%", "%Y-%m-%d %", "((%Y", "%-d", "%Q", ""])
def test_a_format_that_nothing_is_written_in_is_passed_over(dialect, call, form):
    schema = read_schema(("CREATE TABLE t (id INT PRIMARY KEY, note VARCHAR(40))",), dialect)
    statements = [(f"SELECT {call.format(form)} FROM t WHERE id < 5", dialect)]
    assert generate_databases(schema, statements, seed=3)
    assert generate_edge_databases(schema, statements, seed=3)


@pytest.mark.parametrize(
    "value",
    ["1e400", "'2024-13-45'", "'0000-00-00'", "'99999-01-01'", "'２０２４-０１-０１'", "'²'", "''"],
)
@pytest.mark.parametrize("dialect", ["sqlite", "mysql"])
def test_a_constant_that_is_no_day_or_number_breaks_nothing(dialect, value):
    schema = read_schema(("CREATE TABLE t (id INT PRIMARY KEY, note VARCHAR(40))",), dialect)
    statements = [(f"SELECT id FROM t WHERE date(note) < {value} OR note = {value}", dialect)]
    assert generate_databases(schema, statements, seed=1)
    assert generate_edge_databases(schema, statements, seed=1)


def test_two_references_to_a_table_lead_to_two_rows_where_a_check_asks_for_it() -> None:
    ddl = (
        "CREATE TABLE teams (id INT PRIMARY KEY)",
        "CREATE TABLE games (id INT PRIMARY KEY, home INT NOT NULL REFERENCES teams (id), "
        "guest INT NOT NULL REFERENCES teams (id), CHECK (home <> guest))",
    )
    sql = "SELECT h.id, g.id FROM games JOIN teams h ON h.id = home JOIN teams g ON g.id = guest"
    for each in generate_sparse_databases(read_schema(ddl, "mysql"), [(sql, "mysql")], seed=1):
        assert all(row[1] != row[2] for row in each.tables["games"])


def test_a_reference_of_two_columns_leads_to_a_row() -> None:
    ddl = (
        "CREATE TABLE stakes (site INT NOT NULL, no INT NOT NULL, PRIMARY KEY (site, no))",
        "CREATE TABLE readings (id INT PRIMARY KEY, site INT NOT NULL, no INT NOT NULL, "
        "FOREIGN KEY (site, no) REFERENCES stakes (site, no))",
    )
    sql = "SELECT no, COUNT(*) FROM readings GROUP BY no"
    for edges in generate_edge_databases(read_schema(ddl, "sqlite"), [(sql, "sqlite")], seed=1):
        made = edges.apply_edges(edges.edges).tables
        assert {row[1:] for row in made["readings"]} <= set(made["stakes"])


def test_an_identity_is_given_its_numbers() -> None:
    ddl = "CREATE TABLE t (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, n int)"
    schema = read_schema((ddl,), "postgres")
    made = generate_databases(schema, [("SELECT n FROM t", "postgres")], seed=1)[0]
    assert " OVERRIDING SYSTEM VALUE VALUES" in render_inserts(schema, made, "postgres")[0]


def test_documents_grow_from_the_words_and_documents_of_statements() -> None:
    schema = read_schema(("CREATE TABLE t (id INT PRIMARY KEY, tags JSON NOT NULL)",), "mysql")
    sql = (
        "SELECT id FROM t WHERE JSON_CONTAINS(tags, '\"sale\"') OR JSON_CONTAINS(tags, '[\"new\"]')"
    )
    made = generate_databases(schema, [(sql, "mysql")], seed=1)
    cells = {row[1] for each in made for row in each.tables["t"]}
    assert {'["wholesale"]', '["x", "new"]'} <= cells


@pytest.mark.parametrize(
    "condition",
    [
        pytest.param(f"doc = '{'[' * 3000}{']' * 3000}'", id="json too deep to be read"),
        pytest.param(f"note = '{'[' * 990}{']' * 990}'", id="json nearly too deep"),
        pytest.param("doc = '[NaN]'", id="no number of json"),
        pytest.param(f"id >= {'9' * 500}", id="a number beyond all floats"),
    ],
)
def test_hostile_statements_end_no_generation(condition: str) -> None:
    ddl = "CREATE TABLE t (id INT PRIMARY KEY, doc JSON, note TEXT)"
    schema = read_schema((ddl,), "sqlite")
    asked = [(f"SELECT id FROM t WHERE {condition}", "sqlite")]
    made = (
        *generate_databases(schema, asked, seed=1),
        *generate_sparse_databases(schema, asked, seed=1),
    )
    cells = {str(row[1]) for each in made for row in each.tables["t"]}
    assert cells
    assert "[NaN]" not in cells


def test_no_anniversary_is_after_the_last_year() -> None:
    assert list_anniversaries("9999-12-31", (18,), "date") == ["9999-12-31", "9999-12-30"]

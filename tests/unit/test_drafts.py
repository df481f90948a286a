"""Own cases from pasted SQL: statements and their lines, the dialect, what engines give, names."""

from __future__ import annotations

import json
from functools import partial

import pytest

from evalcore.access.policy import OPERATOR
from evalcore.cli.main import main
from evalcore.runner.drafts import (
    MAX_PASTED_BYTES,
    Draft,
    DraftInput,
    build_upload,
    list_draft_parts,
    make_slug,
)
from evalcore.runner.jobs import TaskContext, data_client
from evalcore.runner.jobs.data_client import OwnCard
from evalcore.runner.jobs.draft_service import draft_cases
from evalcore.runner.plan import plan_run
from evalcore.runner.run_request import RunRequest
from evalcore.sqlkit.dialect_guess import guess_dialects, split_script
from evalcore.sqlkit.engines import Limits, registry
from tests.support.boards import settings_in

SCHEMA = """CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT);
-- rows; of it
INSERT INTO t VALUES (1, 'x;y'),
 (2, NULL);"""


ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT max(n) FROM r"


def draft(part="execution_accuracy", statements="SELECT a, b FROM t ORDER BY a", **options):
    benchmark = next(key for key, parts in list_draft_parts().items() if part in parts)
    fields = {"schema": SCHEMA, "dialect": "sqlite"} | options
    asked = DraftInput(benchmark, part, statements=statements, **fields)
    return asked, draft_cases(TaskContext(None), asked)


# Statements and their lines.


def test_a_semicolon_in_text_comment_or_body_ends_nothing():
    script = "-- a;b\nSELECT ';' ; /* ; */\n\nSELECT \"x;\" FROM `y;`;\n" + (
        "CREATE FUNCTION f() RETURNS int AS $$ SELECT 1; $$ LANGUAGE sql"
    )
    statements = split_script(script)
    assert [each.line for each in statements] == [2, 4, 5]
    assert [each.text[:8] for each in statements] == ["SELECT '", 'SELECT "', "CREATE F"]


@pytest.mark.parametrize("script", ["", ";;;", "-- only a comment", "/* open", "  \n;\n"])
def test_a_script_without_a_statement(script):
    assert split_script(script) == []


@pytest.mark.parametrize(
    "script", ["SELECT 'open", 'SELECT "open', "SELECT $$open", "SELECT `open"]
)
def test_an_open_quote_hides_the_rest(script):
    assert [each.text for each in split_script(f"{script}; SELECT 2")] == [f"{script}; SELECT 2"]


# Dialects.


@pytest.mark.parametrize(
    ("sql", "dialect"),
    [
        ("CREATE TABLE `t` (a INT UNSIGNED AUTO_INCREMENT PRIMARY KEY) ENGINE=InnoDB", "mysql"),
        ("CREATE TABLE t (a SERIAL, b JSONB); SELECT b::text FROM t WHERE b ILIKE 'x'", "postgres"),
        ("CREATE TABLE t (a INTEGER PRIMARY KEY AUTOINCREMENT) ", "sqlite"),
        ("SELECT * EXCLUDE (a) FROM t QUALIFY ROW_NUMBER() OVER (ORDER BY a) = 1", "duckdb"),
        ("SELECT NVL(a, 0) FROM t WHERE ROWNUM < 3 AND d < SYSDATE", "oracle"),
        ("SELECT TOP 3 [a] FROM t WHERE d < GETDATE()", "tsql"),
    ],
)
def test_a_dialect_shows_by_its_spellings(sql, dialect):
    guesses = guess_dialects([each.text for each in split_script(sql)])
    assert guesses[0].dialect == dialect
    assert guesses[0].confidence > 0.5
    assert sum(guess.confidence for guess in guesses) == pytest.approx(1.0, abs=0.01)


def test_plain_sql_leaves_it_open():
    assert guess_dialects(["SELECT a FROM t"])[0].confidence < 0.3


def test_only_a_guess_without_a_dialect():
    _, made = draft(dialect="")
    assert made.guesses
    assert made.cases == ()
    assert made.problems == ()


# What engines give.


def test_a_query_and_a_change_give_their_tables():
    _, made = draft(statements="SELECT b FROM t ORDER BY a;\nUPDATE t SET b = 'z' WHERE a = 2")
    assert made.problems == ()
    first, second = (case.row["expected"] for case in made.cases)
    assert first == {"result_type": "select", "columns": ["b"], "rows": [["x;y"], [None]]}
    assert second["table_name"] == "t"
    assert second["rows"] == [[1, "x;y"], [2, "z"]]


@pytest.mark.parametrize("part", [part for parts in list_draft_parts().values() for part in parts])
def test_what_is_drafted_of_every_part_is_valid(tmp_path, part):
    target = {"target": "duckdb"} if part in list_draft_parts()["dialect_conversion"] else {}
    asked, made = draft(part, "SELECT a, b FROM t WHERE a > 1", **target)
    assert made.problems == ()
    validation = data_client.validate_upload(
        build_upload(asked, made), OPERATOR, settings_in(tmp_path)
    )
    assert validation.errors == ()
    assert validation.summary.samples >= 1


def test_a_problem_names_statement_and_line_and_keeps_the_others():
    _, made = draft(statements="SELECT a FROM t;\n\nSELECT nope\nFROM t;\nSELECT b FROM t")
    assert [(each.field, each.statement, each.line) for each in made.problems] == [
        ("statements", 2, 3)
    ]
    assert "nope" in made.problems[0].problem
    assert [case.number for case in made.cases] == [1, 3]
    assert not made.is_complete


def test_a_problem_of_the_schema_names_its_statement():
    _, made = draft(schema=SCHEMA + "\nINSERT INTO missing VALUES (1);\nCREATE TABLE u (x INT);")
    assert [(each.field, each.statement, each.line) for each in made.problems] == [("schema", 3, 5)]


def test_a_backslash_ends_no_text_but_in_mysql():
    assert len(split_script("SELECT 'a\\'; SELECT 2")) == 2
    assert len(split_script("SELECT 'a\\'; SELECT 2", "mysql")) == 1
    assert len(split_script("SELECT a #> '{x}'; SELECT 2")) == 2


@pytest.mark.parametrize(
    ("dialect", "sql"),
    [
        ("sqlite", "ATTACH DATABASE '/tmp/evil.db' AS evil"),
        ("sqlite", "SELECT load_extension('x')"),
        ("sqlite", ENDLESS),
        ("duckdb", "COPY t TO '/tmp/evil.csv'"),
        ("duckdb", "SELECT * FROM read_csv('/etc/passwd')"),
        ("duckdb", "INSTALL httpfs"),
    ],
)
@pytest.mark.parametrize("field", ["statements", "schema"])
def test_hostile_sql_ends_as_a_problem(monkeypatch, dialect, sql, field):
    monkeypatch.setattr(registry, "open_engine", partial(registry.open_engine, limits=Limits(1)))
    texts = {"statements": sql} if field == "statements" else {"schema": f"{SCHEMA}\n{sql}"}
    _, made = draft(dialect=dialect, **texts)
    assert made.problems
    assert made.problems[0].field == field
    assert made.cases == ()


@pytest.mark.parametrize(
    "options",
    [
        {"statements": "  ;; -- nothing"},
        {"statements": "SELECT 1\0"},
        {"statements": "SELECT 1;" * 201},
        {"schema": "SELECT 1;" * 501},
        {"schema": "x" * MAX_PASTED_BYTES},
        {"dialect": "oracle"},
        {"dialect": "klingon"},
        {"part": "sql_identification", "statements": "🙂"},
    ],
)
def test_what_cannot_be_drafted_is_a_problem_and_no_error(options):
    _, made = draft(**options)
    assert made.problems
    assert made.cases == ()


def test_a_large_paste_within_the_limit_is_read():
    rows = ",".join(f"({number}, '{'x' * 40}')" for number in range(10, 15_000))
    schema = f"CREATE TABLE t (a INTEGER, b TEXT); INSERT INTO t VALUES {rows}"
    assert 700_000 < len(schema) < MAX_PASTED_BYTES
    _, made = draft(schema=schema, statements="SELECT COUNT(*) FROM t")
    assert made.cases[0].row["expected"]["rows"] == [[14_990]]


def test_mixed_dialects_name_those_that_do_not_run():
    mixed = "SELECT a FROM t;\nSELECT TOP 1 a FROM t;\nSELECT a::text FROM t"
    _, made = draft(statements=mixed)
    assert [case.number for case in made.cases] == [1]
    assert [each.line for each in made.problems] == [2, 3]


def test_a_reference_of_the_persons_own_is_executed():
    _, made = draft(
        "logical_equivalence",
        "SELECT a FROM t ORDER BY a",
        target="duckdb",
        references={1: "SELECT a FROM t ORDER BY 1;"},
    )
    assert made.cases[0].row["reference"] == "SELECT a FROM t ORDER BY 1"
    _, wrong = draft(
        "logical_equivalence", "SELECT a FROM t", target="duckdb", references={1: "SELECT z FROM t"}
    )
    assert wrong.problems[0].field == "reference"


# Names and saving.


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("Orders of März", "orders-of-marz"),
        ("  --  A/B: test!! ", "a-b-test"),
        ("x" * 100, "x" * 32),
    ],
)
def test_a_title_becomes_a_name(title, slug):
    assert make_slug(title) == slug
    assert make_slug(title, {slug}) == f"{slug}-2"
    assert make_slug(title, {slug, f"{slug}-2"}) == f"{slug}-3"


@pytest.mark.parametrize("title", ["订单查询", "🙂", "", "../..", "ЗАКАЗЫ"])
def test_any_title_gives_a_usable_name(tmp_path, title):
    name = make_slug(title)
    assert not data_client.is_name_taken("sql_understanding", name, settings_in(tmp_path))
    assert make_slug("订单") != make_slug("客户")


def test_a_saved_draft_can_be_evaluated_at_once(tmp_path, monkeypatch):
    settings = settings_in(tmp_path)
    monkeypatch.setenv("EVALBOARD_DATA", settings.data)
    asked, made = draft(statements="SELECT a FROM t;SELECT b FROM t WHERE a = 1")
    card = OwnCard(asked.benchmark, make_slug("订单"), "", "", "订单")
    validation, saved = data_client.save_upload(build_upload(asked, made), card, OPERATOR, settings)
    assert validation.ok
    assert saved is not None
    assert saved.samples == 2
    request = RunRequest("control:reference", (asked.benchmark,), dataset=saved.name)
    plan = plan_run(request, settings)
    assert [len(samples) for samples in plan.samples.values()] == [2]


def test_an_empty_draft_is_no_upload_that_passes(tmp_path):
    asked = DraftInput("sql_understanding", "execution_accuracy", "", "")
    validation = data_client.validate_upload(
        build_upload(asked, Draft()), OPERATOR, settings_in(tmp_path)
    )
    assert not validation.ok


# Starter files.


@pytest.mark.parametrize(
    "benchmark", ["sql_understanding", "dialect_conversion", "sql_optimization", "bfcl", "gaia"]
)
def test_a_starter_file_is_valid_as_it_stands(tmp_path, capsys, benchmark):
    path, data = tmp_path / "cases.jsonl", str(tmp_path / "data")
    assert main(["datasets", "template", benchmark, "--out", str(path), "--data", data]) == 0
    assert path.read_text(encoding="utf-8").startswith("# Cases for")
    capsys.readouterr()
    flags = ["--benchmark", benchmark, "--data", data, "--json"]
    assert main(["datasets", "validate", str(path), *flags]) == 0
    assert json.loads(capsys.readouterr().out)["validation"]["summary"]["samples"] >= 1
    assert main(["datasets", "template", benchmark, "--out", str(path), "--data", data]) == 2
    assert "already" in capsys.readouterr().err


def test_a_starter_file_of_one_part_and_of_none(tmp_path, capsys):
    flags = ["--data", str(tmp_path)]
    assert (
        main(["datasets", "template", "sql_understanding", "--part", "sql_identification", *flags])
        == 0
    )
    text = capsys.readouterr().out
    assert "# sql_identification" in text
    assert "explain_detection" not in text
    one = ["datasets", "template", "sql_understanding", "--part", "sql_identification"]
    assert main([*one, "--lang", "zh", *flags]) == 0
    assert "#   sql (必填, 文本): SELECT" in capsys.readouterr().out
    assert main(["datasets", "template", "sql_understanding", "--part", "nope", *flags]) == 2
    assert "must be one of" in capsys.readouterr().err
    assert main(["datasets", "template", "nope", *flags]) == 2

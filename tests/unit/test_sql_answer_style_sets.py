"""Sets of ways in which models answer with SQL, as data: see `sql_answer_styles/*.toml`.

What is compared is what an engine would run: without layout, comments and a client's commands.
"""

from __future__ import annotations

import html
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from evalcore.benchmarks.sql_answer import extract_sql
from evalcore.settings import ROOT
from evalcore.sqlkit.dialects import parse_server
from tests.support.rows import each_row

FOLDER = Path(__file__).parent / "sql_answer_styles"
SETS = {path.stem: tomllib.loads(path.read_text("utf-8")) for path in FOLDER.glob("*.toml")}
STYLES = [(stem, style) for stem, styles in sorted(SETS.items()) for style in styles["styles"]]


#: How a statement is written in a reply, by the word after the colon of its placeholder.
SPELLINGS = {
    "": str,
    "one": lambda sql: " ".join(sql.split()),
    "json": lambda sql: json.dumps(sql)[1:-1],
    "json2": lambda sql: json.dumps(json.dumps(sql)[1:-1])[1:-1],
    "indent": lambda sql: sql.replace("\n", "\n    "),
    "quote": lambda sql: sql.replace("\n", "\n> "),
    "plus": lambda sql: sql.replace("\n", "\n+"),
    "minus": lambda sql: sql.replace("\n", "\n-"),
    "html": html.escape,
    "nbsp": lambda sql: sql.replace(" ", "\u00a0"),
    "wide": lambda sql: sql.translate(str.maketrans("(),;=", "（），；＝")),
    "smart": lambda sql: re.sub("'([^'\n]*)'", "\u2018\\1\u2019", sql),
    "upper": str.upper,
}


def write_reply(reply: str, question: dict[str, str]) -> str:
    """The reply with the statements of its question for ⟦A⟧, ⟦O⟧ and ⟦name:spelling⟧."""
    names = {"A": question["answer"], "O": question["original"], **question}
    return re.sub(
        r"⟦(\w+):?(\w*)⟧", lambda m: SPELLINGS[m[2]](names[m[1]].strip()), reply.lstrip("\n")
    )


def normalize(sql: str) -> str:
    sql = re.sub(r"/\*.*?\*/", " ", sql, flags=re.S)
    sql = re.sub(r"--[^\n]*", "", sql)
    delimiter = re.search(r"(?mi)^\s*DELIMITER\s+(\S+)\s*$", sql)
    if delimiter:
        sql = re.sub(r"(?mi)^\s*DELIMITER\s+\S+\s*$", "", sql)
        sql = sql.replace(delimiter[1], ";")
    sql = re.sub(r"(?mi)^\s*(?:/|GO)\s*$", "", sql)
    return re.sub(r";\s*;", ";", " ".join(sql.split())).strip("; ")


def test_each_set_is_as_large_as_its_name_says() -> None:
    for stem, styles in SETS.items():
        assert len(styles["styles"]) == int(stem.split("_")[1])


@each_row(("stem", "style"), STYLES)
def test_a_style_is_read_as_its_answer(stem: str, style: dict[str, Any]) -> None:
    question = SETS[stem]["questions"][style["question"]]
    reply = write_reply(style["reply"], question)
    answer = extract_sql(reply, question["dialect"], question["original"].strip())
    assert normalize(answer.sql) == normalize(style.get("expected", question["answer"]))
    assert (answer.kind == "none") == (not answer.sql)


#: Statements that look like something else to a reader of prose; each is read as it stands.
ODD = {
    "JSON in the strings of a routine": (
        "oracle",
        "CREATE OR REPLACE PROCEDURE p(r OUT CLOB) IS\n  q VARCHAR2(99);\nBEGIN\n"
        "  q := 'SELECT id FROM t WHERE d = :1';\n  r := '{\"rows\": [';\n"
        "  r := r || '{\"id\": \"a\"},' || ']}';\nEND;",
    ),
    "numbers that begin lines": (
        "oracle",
        "CREATE PROCEDURE p IS\nBEGIN\n  INSERT INTO t SELECT\n    0 AS a,\n    1 AS b,\n"
        "    2 AS c\n  FROM dual;\nEND;",
    ),
    "a body without BEGIN and END": (
        "postgres",
        "CREATE PROCEDURE [dbo].[p] AS\nDECLARE @d int\nDELETE FROM t WHERE n = @d\n"
        "IF @@ERROR <> 0\nBEGIN\n    GOTO Bad\nEND\nUPDATE l SET e = 1\nRETURN\nBad:\nPRINT '回滚'",
    ),
    "SET NOCOUNT ON in a body": (
        "tsql",
        "CREATE OR ALTER PROCEDURE p\nAS\nBEGIN\n    SET NOCOUNT ON;\n    SELECT 1;\nEND;",
    ),
    "tags of a mapper file": (
        "mysql",
        "SELECT a.id FROM t AS a WHERE a.n = 0 <if test=\"x != null\">AND a.x IN <foreach item='i'>"
        "#{i}</foreach></if> ORDER BY a.id",
    ),
    "an alias that is an article": ("postgres", "SELECT a.id, a.n FROM t AS a ORDER BY a.id"),
    "an operator that begins a line": (
        "postgres",
        "SELECT a,\n       EXTRACT(YEAR FROM b) * 12\n       + EXTRACT(MONTH FROM b) AS m\nFROM t",
    ),
    "an operator in mixed case that begins a line": (
        "postgres",
        "SELECT a\nFROM t\nWHERE b > 1\n   OR c IS NULL",
    ),
    "entities in a literal": ("mysql", "SELECT REPLACE(a, '&amp;', '&') FROM t WHERE b < 1"),
    "full-width characters in literals": (
        "postgres",
        "SELECT '（；' || a AS \"名，称\" FROM t WHERE b = '‘x’'",
    ),
    "XML in a literal": ("postgres", "SELECT xpath('/plan', '<plan><b>x</b></plan>')"),
    "an escaped underscore": ("mysql", "SELECT a FROM t WHERE b LIKE '%\\_x%' AND c LIKE '\\*'"),
    "a line break in a literal": ("mysql", "SELECT REPLACE(a, '\\n', ' ') FROM t"),
    "a named argument": ("oracle", "SELECT f(x => 1, y => 2) FROM dual"),
    "columns named like settings of a client": (
        "oracle",
        "UPDATE t\nSET verify = 1,\n    prompt = 'x'\nWHERE long = 2",
    ),
    "braces": ("postgres", 'SELECT \'{"sql": "SELECT 1"}\'::jsonb AS a'),
}
WRAPPERS = (
    "{sql}",
    "{sql};\n\nThis statement runs as it stands.",
    "{sql}\n\nThe function was replaced, and the rest is as before.",
    "Here is the converted statement:\n\n{sql}",
    "Sure, here it is.\n\n{sql}\n\n- The function is replaced.\n- The rest stays.",
    "```sql\n{sql}\n```\nThis uses the function.",
    "转换后的SQL：\n{sql}\n说明：函数已替换。",
    "<answer>\n{sql}\n</answer>",
)


@each_row("wrapper", WRAPPERS)
@each_row("name", ODD)
def test_odd_looking_statements_are_read_whole(name: str, wrapper: str) -> None:
    dialect, sql = ODD[name]
    answer = extract_sql(wrapper.format(sql=sql), dialect, "")
    assert normalize(answer.sql) == normalize(sql)
    assert (answer.kind == "strict") == (wrapper == "{sql}")


def test_an_answer_that_holds_the_original_is_read_whole() -> None:
    """A script quoted in an answer is left out only where it stands by itself."""
    original = "CREATE OR REPLACE PROCEDURE p IS\nBEGIN\n  DELETE FROM t;\nEND;"
    inside = f"CREATE PROCEDURE q AS\nBEGIN\n  EXECUTE IMMEDIATE '{original}';\nEND;"
    assert extract_sql(inside, "oracle", original).sql == inside
    for more in ("", "\nCREATE OR REPLACE PROCEDURE q IS\nBEGIN\n  p;\nEND;"):
        text = f"```sql\n{original}{more}\n```"
        assert extract_sql(text, "oracle", original).sql == original + more


def _authored_statements() -> list[tuple[str, str, str, str]]:
    """(case, dialect, original, statement) of all references and variants that are bundled."""
    statements = []
    files = [*(ROOT / "datasets" / "dialect_conversion").glob("*.jsonl")]
    for path in sorted([*files, ROOT / "datasets" / "sql_optimization" / "rewrite.jsonl"]):
        for line in path.read_text("utf-8").splitlines():
            case = json.loads(line)
            server = case.get("target_dialect") or case["db_type"]
            dialect = parse_server(server, case.get("target_version", "")).dialect
            for sql in (case.get("reference"), *case.get("variants", [])):
                if sql:
                    bare = sql.strip().rstrip(";")
                    statements.append((case["case_id"], dialect, case["sql"], bare))
    return statements


def _wrap(sql: str, original: str) -> list[str]:
    lines = sql.split("\n")
    numbered = "\n".join(f"{number} | {line}" for number, line in enumerate(lines, 1))
    return [
        *(wrapper.format(sql=sql) for wrapper in WRAPPERS),
        json.dumps({"sql": sql, "explanation": "SELECT stays"}),
        "\n".join(f"> {line}" for line in lines),
        f"```\n{numbered}\n```",
        f"Original:\n```sql\n{original}\n```\nConverted:\n```sql\n{sql};\n```",
        f"Original:\n{original}\n\nConverted:\n{sql}",
    ]


#: Further words after the statement "A" and before it; N is the original.
AROUND = (
    *("{A}\n======\nNote: uses LIMIT.", "{A}\nreplaces NVL with COALESCE and ROWNUM with LIMIT"),
    *("{A}\n\n(NVL is COALESCE in PostgreSQL.)", "{A}\n– NVL became COALESCE", "{A}\n🎉 Done!"),
    *("{A}\n-> NVL became COALESCE", "{A}\n\nLIMIT 5 replaces ROWNUM <= 5.", "{A}\nDone"),
    *("{A};\n\nOr, using FETCH:\n\nSELECT 1 AS name FROM staff;", "### `{A}`", "**`{A}`**"),
    *(
        "{A};\n\nIn MySQL it would be:\nSELECT IFNULL(name, 'x') AS name FROM staff;",
        "So: {A}",
        "Step 1: {N}\nStep 2: {A}",
    ),
    *("| Original | Converted |\n|---|---|\n| {N} | {A} |", "~~{N}~~\n{A}", "`{N}` => `{A}`"),
    *('{{"sql": "{N}"}}\n{{"sql": "{A}"}}', '{{"sql": "{A}"}}\nThis uses LIMIT.'),
    *(
        'cursor.execute("{A}")',
        'sql = """{A}"""',
        "final_sql = {A}",
        "<SQLQuery>\n{A}\n</SQLQuery>",
    ),
    *("{A}\nتم استبدال الدالة", "คำตอบ: {A}", "Το ερώτημα:\n{A}\nΗ συνάρτηση άλλαξε."),
    *("See https://x.invalid/?q=SELECT+1 for details.\n{A}", "It's simple; don't use NVL:\n{A}"),
    *("{A}\n\nFrom now on, use LIMIT.", "{A}\n\nWith LIMIT the planner stops after 5 rows."),
)


@each_row("text", AROUND)
def test_words_and_marks_around_a_statement_are_left_out(text: str) -> None:
    question = SETS["first_120"]["questions"]["pg"]
    answer, original = question["answer"], question["original"]
    read = extract_sql(text.format(A=answer, N=original), "postgres", original)
    assert normalize(read.sql) == answer


def _check_authored_statements(statements: list[tuple[str, str, str, str]]) -> None:
    for case, dialect, original, sql in statements:
        for text in _wrap(sql, original):
            read = extract_sql(text, dialect, original).sql
            assert normalize(read) == normalize(sql), (case, text)


def test_authored_statements_are_read_whole_in_every_wrapper() -> None:
    _check_authored_statements(_authored_statements()[::60])


@pytest.mark.full
def test_all_authored_statements_are_read_whole_in_every_wrapper() -> None:
    """Of 7,000 wrapped statements none is cut short, and none is read with the words round it."""
    _check_authored_statements(_authored_statements())


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "text",
    [
        "<think>" * 20_000,
        "x <think>" * 20_000,
        "\n" * 100_000 + "done",
        "<sql>" * 30_000,
        "[SQL]" * 30_000,
        "「" * 100_000,
        "“SELECT " * 20_000,
        "\\boxed{" * 20_000,
        "<![CDATA[" * 20_000 + "]]>",
        "mysql> SELECT a\n    -> FROM t\n" * 1_000,
        "'" * 100_000,
        '"""' * 40_000,
        "SELECT 1 → " * 15_000,
        "CREATE PROCEDURE p AS BEGIN " * 6_000,
        "CREATE PROCEDURE p AS BEGIN END;\n" * 5_000,
        "Question: x\nSELECT 1 FROM t\n" * 3_000,
        "&lt;" * 40_000,
        "`SELECT a FROM t` " * 9_000,
        "+ a\n- b\n" * 20_000,
        '{"sql": ' * 20_000,
        "I recommend option 1. Prefer the first one. " * 4_000,
        "CREATE PROC p AS\nGO\nSELECT 1\n" * 6_000,
        "*SELECT 1* because, which " * 7_000,
        " " * 100_000 + "option",
        "~~a" * 30_000,
        "《SELECT " * 20_000,
        "a:\n  b: |\n    SELECT 1\n" * 6_000,
        "@@ -1 +1 @@\n-SELECT 1\n+SELECT 2\n\n" * 4_000,
        "| a | b |\n|---|---|\n" * 6_000,
        "(a) SELECT 1\n" * 800 + "I settle on (a).",
        "<x>SELECT 1</x>" * 8_000,
        "SELECT 1\n----\n" * 8_000,
        'r#"SELECT ' * 16_000,
        "<<SQL\n" * 25_000,
        "I'd go with B\n" + "A)" + "\n" * 150_000 + "x",
        "A)\n```sql\n" * 15_000 + "choose option B",
        "CREATE PROCEDURE p AS BEGIN \\n" + "\\n" * 60_000,
        "CREATE INDEX i ON t (a);\n" * 6_000,
        "| Option | Correct? |\n|---|---|\n| A | no |\n\n" * 3_000,
        "| Correct? |\n|---|\n" + "| no |\n" * 20_000,
        "<table><tr><td>" * 9_000,
        '{"A": false, "B": [' * 8_000,
        "Option A: wrong. " * 8_000,
    ],
    ids=range(43),
)
def test_a_hostile_answer_is_read_at_all(text: str) -> None:
    """Repetitions that a pattern of more than linear time would not end on."""
    assert extract_sql(text, "mysql", "SELECT 1 FROM t").kind in ("strict", "lenient", "none")
    assert extract_sql(f"```sql\n{text}", "postgres", "SELECT 1 FROM t").kind != "strict"

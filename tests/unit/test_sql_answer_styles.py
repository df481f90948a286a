"""Ways in which models answer with SQL: each is read as its one answer, or as none, never wrongly.

`O` is the statement of the question, `A` its answer; both stand in the styles as models write them.
"""

from __future__ import annotations

import json

import pytest

from evalcore.benchmarks.sql_answer import extract_sql
from evalcore.settings import ROOT
from evalcore.sqlkit.dialects import parse_server
from tests.support.rows import each_row

O = "SELECT id, room FROM visits WHERE substr(day, 1, 4) = '2024'"  # noqa: E741
A = "SELECT id, room FROM visits WHERE day >= '2024' AND day < '2025'"
M = "SELECT id,\n       room\nFROM visits\nWHERE day >= '2024'\n  AND day < '2025'\nORDER BY id"
W = "WITH v AS (SELECT id, room FROM visits WHERE day >= '2024')\nSELECT id, room FROM v"
P = (
    "CREATE OR REPLACE FUNCTION f(a integer) RETURNS integer AS $$\nBEGIN\n  RETURN a + 1;\nEND;\n"
    "$$ LANGUAGE plpgsql;"
)
I = "CREATE INDEX ix_day ON visits (day);"  # noqa: E741
ALT = "SELECT v.id, v.room FROM visits AS v WHERE v.day BETWEEN '2024' AND '2024-12-31'"

STYLES: dict[str, tuple[str, str]] = {
    "bare": (A, A),
    "semicolon": (A + ";", A + ";"),
    "crlf": (M.replace("\n", "\r\n"), M),
    "bom": ("\ufeff" + A, A),
    "zero width": (A.replace("SELECT", "SEL\u200bECT") + "\u2060", A),
    "nbsp": (A.replace(" ", "\u00a0"), A),
    "prose after blank line": (f"{A}\n\nThis query uses the index on day.", A),
    "prose on the next line": (f"{A};\nThis rewrite avoids the function call.", f"{A};"),
    "prose without semicolon": (f"{M}\nThe rewrite lets the engine use the index.", M),
    "prose on the same line": (f"{A}; This avoids the function.", f"{A};"),
    "heading after": (f"{A}\n\nExplanation:\n- the column is bare\n- the index is used", A),
    "lone heading after": (f"{A}\nExplanation\nthe column is bare.", A),
    "markdown heading after": (f"{A}\n\n### Why\nIt is faster.", A),
    "bold heading after": (f"{A};\n\n**Explanation**: the column is bare", f"{A};"),
    "bullets after": (f"{M};\n\n- `day` is bare now\n- no function", f"{M};"),
    "numbered after": (f"{M}\n\n1. The column is bare.\n2. No function.", M),
    "apostrophes after": (f"{M}\n\nIt's faster, and doesn't scan; that's why.", M),
    "chinese after": (f"{A}\n\n说明：去掉了函数，可以使用索引。", A),
    "chinese on the next line": (f"{A};\n该改写可以使用索引。", f"{A};"),
    "prose before": (f"Here is the rewrite:\n\n{A}", A),
    "prose before and after": (f"Sure! Here you go:\n\n{M}\n\nLet me know if it helps.", M),
    "label": (f"Optimized SQL: {A}", A),
    "label on a line": (f"Converted SQL:\n{A}", A),
    "bold label": (f"**Optimized SQL:** {A}", A),
    "chinese label": (f"优化后的SQL：{A}", A),
    "chinese label converted": (f"转换后的SQL：\n{A}\n", A),
    "chinese final answer": (f"先分析。\n最终答案：{A}", A),
    "final answer": (f"I think about it.\nFinal answer: {A}", A),
    "the answer is": (f"The optimized query is {A};", f"{A};"),
    "label and original": (f"Original SQL: {O}\nOptimized SQL: {A}", A),
    "chinese label and original": (f"原始SQL：\n{O}\n\n优化后的SQL：\n{A}", A),
    "original after": (f"Optimized SQL:\n{A}\n\nOriginal SQL:\n{O}", A),
    "fence": (f"```sql\n{A}\n```", A),
    "fence without language": (f"```\n{A}\n```", A),
    "fence mysql": (f"```mysql\n{A}\n```", A),
    "fence plsql": (f"```plsql\n{A}\n```", A),
    "fence with words": (f"```sql title=answer\n{A}\n```", A),
    "tildes": (f"~~~sql\n{A}\n~~~", A),
    "four marks": (f"````sql\n{A}\n````", A),
    "indented fence": (f"1. Rewrite:\n   ```sql\n   {A}\n   ```", A),
    "one line fence": (f"```sql {A} ```", A),
    "no break after the mark": (f"```{A}\n```", A),
    "open fence": (f"```sql\n{A}", A),
    "crlf fence": (f"```sql\r\n{A}\r\n```\r\nDone.", A),
    "fence and prose": (f"Here:\n```sql\n{A}\n```\nIt selects by SELECT on the day.", A),
    "fence with prose in it": (f"```sql\n{A};\nThis uses the index on the day.\n```", f"{A};"),
    "original fence first": (f"Original:\n```sql\n{O}\n```\nNew:\n```sql\n{A}\n```", A),
    "original fence last": (f"```sql\n{A}\n```\nThe original was:\n```sql\n{O}\n```", A),
    "unnamed original last": (f"```sql\n{A}\n```\nCompare:\n```sql\n{O};\n```", A),
    "alternative last": (f"```sql\n{A}\n```\nAlternatively:\n```sql\n{ALT}\n```", A),
    "alternative in chinese": (f"```sql\n{A}\n```\n另一种写法：\n```sql\n{ALT}\n```", A),
    "index last": (f"```sql\n{A}\n```\nAlso create this index:\n```sql\n{I}\n```", A),
    "index first": (f"First an index:\n```sql\n{I}\n```\nThen:\n```sql\n{A}\n```", A),
    "index in the same fence": (f"```sql\n{A};\n{I}\n```", f"{A};"),
    "usage last": (f"```sql\n{A}\n```\nTo verify:\n```sql\nEXPLAIN {A}\n```", A),
    "usage with a select": (
        f"```sql\n{A}\n```\nYou can test it with an example:\n"
        "```sql\nSELECT count(*) FROM visits\n```",
        A,
    ),
    "corrected": (f"```sql\n{ALT}\n```\nWait, better:\n```sql\n{A}\n```", A),
    "draft and final": (f"First draft:\n```sql\n{ALT}\n```\nFinal:\n```sql\n{A}\n```", A),
    "final then fragment": (
        f"Final query:\n```sql\n{A}\n```\nwith\n```sql\nSELECT ... FROM x\n```",
        A,
    ),
    "both in a fence": (
        f"```sql\n-- Original\n{O};\n-- Optimized\n{A};\n```",
        f"-- Optimized\n{A};",
    ),
    "two bare statements": (f"{O};\n\nbecomes\n\n{A};", f"{A};"),
    "bare then index": (f"{A};\n\nYou may also want an index:\n{I}", f"{A};"),
    "bare then alternative": (f"{A};\n\nAlternatively, you can use:\n{ALT};", f"{A};"),
    "tag sql": (f"<sql>{A}</sql>", A),
    "tag answer": (f"Let me see.\n<answer>\n{A}\n</answer>", A),
    "fence in a tag": (f"<answer>\n```sql\n{A}\n```\n</answer>", A),
    "tag pre": (f"<pre>{A}</pre> is right.", A),
    "json": (f'{{"sql": "{A}"}}', A),
    "json after prose": (f'Here is the result: {{"optimized_sql": "{A}", "why": "x"}}', A),
    "json with the original": (f'{{"original_sql": "{O}", "optimized_sql": "{A}"}}', A),
    "json nested": (f'{{"result": {{"sql": "{A}"}}}}', A),
    "json in a fence": (f'```json\n{{"sql": "{A}", "index": "{I}"}}\n```', A),
    "inline": (f"Use `{A}` here.", A),
    "inline words": (f"The column `day` is bare in `{A}`.", A),
    "bold": (f"**{A}**", A),
    "quoted": (f'The answer: "{A}"', A),
    "quote block": (f"> {A}", A),
    "thinking": (f"<think>SELECT 1 maybe\n```sql\n{ALT}\n```</think>\n{A}", A),
    "thinking without a start": (f"{ALT}\n</think>\n```sql\n{A}\n```", A),
    "cte": (f"```sql\n{W}\n```", W),
    "cte and prose": (f"{W}\n\nWith this CTE the filter runs first.", W),
    "with in prose": (f"With the index, the query is:\n{A}", A),
    "select in prose": (f"Select the rows by range instead:\n\n{A}", A),
    "update in prose": (f"Update your query as follows:\n{A}", A),
    "fence in a comment": (f"```sql\n-- was ```{O}```\n{A}\n```", f"-- was ```{O}```\n{A}"),
    "sql in a string": (
        "```sql\nSELECT 'DROP TABLE x; SELECT 1' AS s FROM visits\n```",
        "SELECT 'DROP TABLE x; SELECT 1' AS s FROM visits",
    ),
    "prose in a string": (
        "SELECT 'a\nThis is a text; so it is.\nb' AS s FROM visits",
        "SELECT 'a\nThis is a text; so it is.\nb' AS s FROM visits",
    ),
    "comment after": (f"{A} -- uses the index", f"{A} -- uses the index"),
    "unchanged": (f"The statement is already optimal:\n```sql\n{O}\n```", O),
    "unchanged with a hint": (f"No change needed:\n{O}\n\nYou may add an index:\n{I}", O),
    "no change needed": ("No change is needed.", ""),
    "no change in chinese": ("该语句无需修改。", ""),
    "refusal": ("I cannot rewrite this statement with the information given.", ""),
    "explain output": ("| id | select_type |\n|---|---|\n| 1 | SIMPLE |", ""),
    "empty": ("", ""),
}


@each_row("name", STYLES)
def test_a_style_is_read_as_its_answer(name: str) -> None:
    text, expected = STYLES[name]
    sql = extract_sql(text, "mysql", O)
    assert sql.sql == expected
    assert (sql.kind == "none") == (expected == "")
    if sql.kind == "strict":
        assert text.strip().lstrip("\ufeff").startswith(("SELECT", "SEL\u200b", "WITH"))


@each_row("dialect", ["postgres", "sqlite", "duckdb", "oracle", "tsql"])
@each_row("name", [name for name in STYLES if name != "sql in a string"])
def test_a_style_is_read_alike_in_every_dialect(name: str, dialect: str) -> None:
    text, expected = STYLES[name]
    assert extract_sql(text, dialect, O).sql == expected


SCRIPTS = {
    "routine": (P, P),
    "routine in a fence with a call": (
        f"```sql\n{P}\n```\nUsage:\n```sql\nSELECT f(1);\n```",
        P,
    ),
    "routine and prose": (f"{P}\n\nThe function adds one.", P),
    "routine with a delimiter": (
        "```\nDELIMITER $$\nCREATE PROCEDURE p() BEGIN SELECT 1; END$$\nDELIMITER ;\n```",
        "DELIMITER $$\nCREATE PROCEDURE p() BEGIN SELECT 1; END$$\nDELIMITER ;",
    ),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_routine_is_read_whole(name: str) -> None:
    text, expected = SCRIPTS[name]
    original = "CREATE PROCEDURE p IS BEGIN NULL; END;"
    assert extract_sql(text, "postgres", original).sql == expected


def test_a_script_is_read_whole_where_one_was_asked_for() -> None:
    original = "CREATE TABLE a (x INT); INSERT INTO a VALUES (1);"
    answer = "CREATE TABLE a (x integer);\nINSERT INTO a VALUES (1);"
    assert extract_sql(f"```sql\n{answer}\n```", "postgres", original).sql == answer
    apart = "```sql\nCREATE TABLE a (x integer);\n```\nthen\n```sql\nINSERT INTO a VALUES (1);\n```"
    assert extract_sql(apart, "postgres", original).sql == answer


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1;\n" * 20_000,
        "```sql\nSELECT 1\n```\n" * 8_000,
        "<sql>SELECT 1</sql>" * 9_000,
        "SELECT " + "(" * 190_000,
        "SELECT a\nis: SELECT b the x. \n" * 6_000,
        "SELECT 1 /*" * 15_000,
        "SELECT $$" * 20_000,
        "SELECT " + "a||" * 15_000,
        "SELECT a FROM t\n" + "This is a line of prose.\n" * 8_000,
    ],
    ids=range(9),
)
def test_a_hostile_answer_is_read_at_all(text: str) -> None:
    """What took minutes or longer where each piece was read to the end of the text."""
    assert extract_sql(text, "postgres", O).kind in ("strict", "lenient", "none")


DIALECTS = ROOT / "datasets" / "dialect_conversion"


@pytest.mark.parametrize("metric", ["logical_equivalence", "domestic_database"])
def test_authored_answers_are_read_whole_bare_and_fenced(metric: str) -> None:
    """Statements that nobody wrote for the reader: none is cut, in the form asked for or fenced."""
    for line in (DIALECTS / f"{metric}.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        dialect = parse_server(case["target_dialect"], case.get("target_version", "")).dialect
        answer = case["reference"].strip()
        for text in (answer, f"```sql\n{answer}\n```"):
            sql = extract_sql(text, dialect, case["sql"])
            assert sql.sql == answer, case["case_id"]
            assert (sql.kind == "strict") == (text == answer)

"""Index advice as it is read from answers, and spelled anew before anything is executed."""

from __future__ import annotations

import pytest

from evalcore.benchmarks.sql_optimization.advice import drop_mentioned_indexes
from evalcore.sqlkit.index_advice import (
    UnreadableIndex,
    build_index_ddl,
    qualify_index_table,
    read_advice,
    read_index,
)
from evalcore.sqlkit.schema import read_schema
from tests.support.hangs import stop_hang


@pytest.mark.parametrize(
    ("text", "dialect", "form", "targets"),
    [
        ("CREATE INDEX i ON t (a)", "sqlite", "strict", ["t (a)"]),
        ("create index if not exists i on t(a desc, b);\n", "sqlite", "strict", ["t (a desc, b)"]),
        ("```sql\nCREATE INDEX i ON t (a);\n```", "sqlite", "lenient", ["t (a)"]),
        ("Use this: CREATE INDEX i ON t (a);", "sqlite", "lenient", ["t (a)"]),
        ('{"index": "CREATE INDEX i ON t (a)"}', "sqlite", "lenient", ["t (a)"]),
        ("The best is CREATE INDEX i ON t (a) I think.", "sqlite", "lenient", ["t (a)"]),
        (
            "CREATE INDEX i ON t(a); CREATE INDEX k ON u(b, c); Reason: no index is needed else.",
            "mysql",
            "lenient",
            ["t (a)", "u (b, c)"],
        ),
        (
            "CREATE INDEX i ON t (a)\nReason: it covers.",
            "mysql",
            "lenient",
            ["t (a)"],
        ),
        (
            "CREATE INDEX CONCURRENTLY ON public.t USING btree (a NULLS LAST, (b + 1)) "
            "INCLUDE (c, d) WITH (fillfactor = 70) WHERE state = 'it''s' AND b IS NOT NULL;",
            "postgres",
            "strict",
            ["t (a NULLS LAST, (b + 1)) INCLUDE (c, d) WHERE state = 'it''s' AND b IS NOT NULL"],
        ),
        (
            "CREATE INDEX i USING BTREE ON `t` (`b`(10), c DESC) COMMENT 'x' ALGORITHM=INPLACE;",
            "mysql",
            "strict",
            ["`t` (`b`(10), c DESC)"],
        ),
        (
            "ALTER TABLE t ADD INDEX i (a, b(5) DESC), ADD UNIQUE KEY k USING BTREE (c);",
            "mysql",
            "strict",
            ["t (a, b(5) DESC)", "t (c)"],
        ),
        ("CREATE INDEX i ON t (a); CREATE INDEX k ON t (a)", "sqlite", "strict", ["t (a)"]),
        ("CREATE INDEX i ON t (a /* first */, b)", "sqlite", "strict", ["t (a, b)"]),
        (
            "CREATE INDEX i ON t (a); Drop table scans, they are slow.",
            "sqlite",
            "lenient",
            ["t (a)"],
        ),
        (
            "CREATE INDEX i ON t (a)\nEXPLAIN SELECT a FROM t\nSCAN t",
            "sqlite",
            "lenient",
            ["t (a)"],
        ),
    ],
)
def test_statements_are_found(text: str, dialect: str, form: str, targets: list[str]) -> None:
    advice = read_advice(text, dialect)
    assert (advice.says, advice.form, advice.problem) == ("create", form, "")
    assert [index.target for index in advice.indexes] == targets


def test_parts_of_an_index() -> None:
    text = "CREATE UNIQUE INDEX i ON t USING hash (a DESC, lower(b), c text_pattern_ops)"
    (index,) = read_advice(text, "postgres").indexes
    assert (index.unique, index.method, index.on_expressions) == (True, "hash", True)
    assert [key.column for key in index.keys] == ["a", "", "c"]
    assert [key.descending for key in index.keys] == [True, False, False]
    (index,) = read_advice("CREATE FULLTEXT INDEX i ON t (b(7))", "mysql").indexes
    assert (index.kind, index.keys[0].column, index.keys[0].prefix) == ("fulltext", "b", 7)


@pytest.mark.parametrize(
    ("text", "says", "form"),
    [
        ("No index is needed.", "none", "strict"),
        ("no index is needed", "none", "strict"),
        ("No index can help.", "cannot", "strict"),
        ("No index is needed: the key serves, so no index can help more.", "none", "lenient"),
        ("No new indexes are required.", "none", "lenient"),
        ("There is no need to create an additional index.", "none", "lenient"),
        ("No performance issues; no indexes need to be created.", "none", "lenient"),
        ("当前查询性能满足要求，无需创建新索引", "none", "lenient"),
        ("email 列已有唯一索引，对于该查询无需创建新的索引", "none", "lenient"),
        ("无性能问题", "none", "lenient"),
        ("无法通过索引解决SQL性能问题，函数导致索引失效", "cannot", "lenient"),
        ("不等于操作符会导致全表扫描，不建议通过索引优化", "cannot", "lenient"),
        (
            "Unable to solve SQL performance issues by creating indexes. Reason: LIKE.",
            "cannot",
            "lenient",
        ),
        ("An index would not help here.", "cannot", "lenient"),
        ("I thought of CREATE INDEX i ON t (a), but no index can help.", "cannot", "lenient"),
        ("SELECT a FROM t", "nothing", "none"),
        ("Add some index.", "nothing", "none"),
        ("", "nothing", "none"),
    ],
)
def test_sentences_are_told_apart(text: str, says: str, form: str) -> None:
    advice = read_advice(text, "mysql")
    assert (advice.says, advice.form, advice.indexes) == (says, form, ())


@pytest.mark.parametrize(
    "text",
    [
        "CREATE INDEX i ON t",
        "CREATE INDEX i ON t (a, )",
        "CREATE INDEX i ON t (a",
        "CREATE INDEX i ON t ((SELECT max(a) FROM t))",
        "CREATE INDEX i ON t (a) WHERE b IN (SELECT a FROM t)",
        "CREATE INDEX i ON t (a) WHERE b = 1 ORDER BY c",
        "CREATE INDEX i ON t USING evil (a)",
        "ALTER TABLE t ADD INDEX i",
        "CREATE INDEX i ON t (a, (b = e'x'))",
    ],
)
def test_what_cannot_be_read_is_said_and_nothing_is_left_to_run(text: str) -> None:
    advice = read_advice(text, "postgres")
    assert (advice.says, advice.indexes) == ("create", ())
    assert advice.problem


@pytest.mark.parametrize(
    "harm",
    [
        "DROP TABLE t",
        "drop table if exists main.t cascade;",
        "DROP INDEX i ON t;",
        "DROP DATABASE `shop`",
        "TRUNCATE t",
        "DELETE FROM t WHERE a = 1",
        "DELETE FROM t",
        "UPDATE t SET a = 1",
        "INSERT INTO t VALUES (1)",
        "ALTER TABLE t DROP COLUMN a",
        "ALTER TABLE t MODIFY a INT",
        "GRANT ALL ON t TO PUBLIC",
    ],
)
@pytest.mark.parametrize("frame", ["CREATE INDEX i ON t (a); {0}", "{0}\nNo index is needed."])
def test_advice_that_does_harm_is_refused_as_a_whole(harm: str, frame: str) -> None:
    advice = read_advice(frame.format(harm), "mysql")
    assert (advice.says, advice.indexes) == ("create", ())
    assert harm.split()[0] in advice.problem


def test_more_statements_than_are_read_are_not_passed_over() -> None:
    text = "CREATE INDEX i ON t (a);\n" * 30
    assert read_advice(text, "sqlite").problem == "30 statements, of which 24 are read"


def test_hostile_answers_are_read_in_linear_time() -> None:
    with stop_hang():
        for text in (
            "CREATE INDEX `" * 20_000,
            "CREATE INDEX i ON t (" * 9_000,
            "no need " * 30_000,
            "\nDROP TABLE " * 9_000,
            "\nALTER TABLE a.b" + " " * 90_000,
            "\nUPDATE a" * 11_000,
        ):
            read_advice(text, "mysql")


def test_only_our_own_spelling_is_executed() -> None:
    text = (
        "CREATE UNIQUE INDEX \"i; DROP TABLE t\" ON t (substr(a, 1, 2), b DESC) WHERE b <> 'x''y'"
    )
    assert build_index_ddl(read_advice(text, "sqlite").indexes, "sqlite") == (
        "CREATE UNIQUE INDEX advised_substr_a_1_2_b_desc ON t (substr(a, 1, 2), b DESC) "
        "WHERE b <> 'x''y'",
    )
    spelled = build_index_ddl(
        read_advice("CREATE INDEX i USING HASH ON t (a, `b c`(3))", "mysql").indexes, "mysql"
    )
    assert spelled == ("CREATE INDEX advised_a_b_c_3 USING hash ON t (a, `b c`(3))",)


def test_names_stay_apart_and_short() -> None:
    indexes = [read_index(table, ["a"] * 40, "postgres") for table in ("t", "u", "v")]
    names = [text.split()[2] for text in build_index_ddl(indexes, "postgres")]
    assert len(set(names)) == 3
    assert max(map(len, names)) <= 60


def test_a_table_keeps_the_schema_that_the_ddl_gives_it() -> None:
    schema = read_schema(["CREATE TABLE sales.orders (a int)"], "postgres")
    assert (
        qualify_index_table(read_index("orders", ["a"], "postgres"), schema).table == "sales.orders"
    )
    assert (
        qualify_index_table(read_index("other.things", ["a"], "postgres"), schema).table == "things"
    )


def test_an_alternative_that_is_none_is_refused() -> None:
    with pytest.raises(UnreadableIndex, match="columns"):
        read_index("t", [], "sqlite")


_FENCED = "```sql\nCREATE INDEX i ON t (a, b);\n```"


@pytest.mark.parametrize(
    "text",
    [
        f"Recommended:\n{_FENCED}\nAlternatively, a covering index:\n"
        "```sql\nCREATE INDEX k ON t (a, b) INCLUDE (c);\n```",
        f"```sql\nCREATE INDEX k ON t (b, a);\n```\nWait, the equality comes first:\n{_FENCED}",
        f"The existing `CREATE INDEX k ON t (b)` does not help. Create:\n\n{_FENCED}",
        f"{_FENCED}\n如果还要覆盖 c，可以：\n```sql\nCREATE INDEX k ON t (a, b, c);\n```",
        f"Do not use this:\n```sql\nCREATE INDEX k ON t (b);\n```\nUse this index:\n{_FENCED}",
        "CREATE INDEX k ON t (c);\n\nWait, not c. Instead:\n\nCREATE INDEX k ON t (a, b);",
        "CREATE INDEX k ON t (a, b);\n\nAvoid `CREATE INDEX i ON t (c)`.",
    ],
)
def test_an_index_that_is_only_mentioned_is_not_advised(text: str) -> None:
    advice = read_advice(drop_mentioned_indexes(text), "postgres")
    assert [index.table for index in advice.indexes] == ["t"]
    assert len(advice.indexes[0].keys) == 2
    assert not advice.problem


@pytest.mark.parametrize(
    "text",
    [
        "CREATE INDEX i ON t (a);\nCREATE INDEX k ON u (b);",
        "1. `CREATE INDEX i ON t (a)`\n2. `CREATE INDEX k ON u (b)`",
        "t:\n```sql\nCREATE INDEX i ON t (a);\n```\nu:\n```sql\nCREATE INDEX k ON u (b);\n```",
        "If you like:\n```sql\nCREATE INDEX i ON t (a);\nCREATE INDEX k ON u (b);\n```",
    ],
)
def test_all_indexes_that_are_advised_are_left(text: str) -> None:
    assert len(read_advice(drop_mentioned_indexes(text), "postgres").indexes) == 2

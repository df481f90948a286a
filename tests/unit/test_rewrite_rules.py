"""Rewrites told from parse trees: what was done, what was not, and what only looks like it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlglot import tokenize

from evalcore.errors import UsageError
from evalcore.settings import ROOT
from evalcore.sqlkit.dialects import parse_server
from evalcore.sqlkit.rewrite_rules import (
    DETECTORS,
    detector_for,
    has_rewrite,
    is_rearranged_statement,
    is_same_statement,
    parsed_query,
)
from tests.support.hangs import stop_hang
from tests.support.rewrite_cases import CASES, SCHEMA

FILE = ROOT / "datasets" / "sql_optimization" / "rewrite.jsonl"


def check_rule(check: str, original: str, answer: str) -> bool | None:
    return has_rewrite(check, original, answer, "sqlite", SCHEMA)


RIGHT = [
    pytest.param(check, original, rewrite, id=check)
    for check, (original, rewrite, _) in CASES.items()
]
TRAPS = [
    pytest.param(check, original, trap, id=f"{check}-{folder}")
    for check, (original, _, traps) in CASES.items()
    for folder, trap in enumerate(traps)
]


def test_every_detector_has_a_case() -> None:
    assert set(CASES) == set(DETECTORS)


@pytest.mark.parametrize(("check", "original", "rewrite"), RIGHT)
def test_the_rewrite_is_told(check: str, original: str, rewrite: str) -> None:
    assert check_rule(check, original, rewrite) is True
    assert check_rule(check, original, f"-- {original}\n{rewrite};") is True
    assert check_rule(check, rewrite, original) is False, "the way back"


@pytest.mark.parametrize(("check", "original", "trap"), TRAPS)
def test_what_only_looks_like_the_rewrite_is_refused(check: str, original: str, trap: str) -> None:
    assert check_rule(check, original, trap) is False


def disguises(original: str, rewrite: str) -> Iterator[str]:
    """The statement as it was, in other clothes; and the rewrite with what it replaces."""
    yield original
    yield f"/* {rewrite} */ {original} -- EXISTS UNION ALL OVER () LIMIT 1"
    yield f"{original.lower()} ;;"
    yield f"SELECT * FROM ({original}) AS whole"
    yield f"SELECT * FROM (SELECT * FROM ({original}) AS inside) AS whole"
    yield f"WITH whole AS ({original}) SELECT * FROM whole"
    yield f"WITH idle AS ({rewrite}) {original}"
    yield f"WITH idle AS ({original}) {rewrite}"
    yield f"WITH idle AS ({rewrite}), more AS (SELECT * FROM idle) {original}"


@pytest.mark.parametrize(("check", "original", "rewrite"), RIGHT)
def test_no_disguise_of_the_statement_passes(check: str, original: str, rewrite: str) -> None:
    for text in disguises(original, rewrite):
        assert check_rule(check, original, text) is False, text


UNREADABLE = [
    "",
    " ;; ",
    "I would rewrite it.",
    "SELECT 'abc",
    "\x00\ufffd'`\"((",
    "SELECT id FROM o; SELECT id FROM k",
    "DELETE FROM o",
    "EXPLAIN SELECT id FROM o",
    "SELECT id FROM o WHERE " + "(" * 4_000 + "c = 1" + ")" * 4_000,
]


@pytest.mark.parametrize("check", DETECTORS)
def test_what_is_no_single_query_stays_undecided(check: str) -> None:
    for text in UNREADABLE:
        assert check_rule(check, CASES[check][0], text) is None, text
        assert check_rule(check, text, CASES[check][1]) is None, text


def test_an_unknown_name_is_an_error() -> None:
    with pytest.raises(UsageError, match="make_it_fast"):
        check_rule("make_it_fast", "SELECT 1", "SELECT 2")


# Hostile and huge


def ladder(rungs: int, body: str) -> str:
    steps = ", ".join(f"c{n} AS ({body.format(below=f'c{n - 1}')})" for n in range(1, rungs))
    return f"WITH c0 AS (SELECT * FROM o), {steps} SELECT id FROM c{rungs - 1} WHERE c = 1"


def series(text: str, count: int, between: str) -> str:
    return between.join(text.format(n=n) for n in range(count))


HUGE: dict[str, Callable[[int], str]] = {
    "or": lambda n: "SELECT id FROM o WHERE " + series("c = {n}", n, " OR "),
    "or of and": lambda n: "SELECT id FROM o WHERE " + series("(c = {n} AND id = 1)", n, " OR "),
    "in": lambda n: f"SELECT id FROM o WHERE c IN ({series('{n}', n, ', ')})",
    "union": lambda n: series("SELECT id FROM o WHERE c = {n}", n, " UNION "),
    "columns": lambda n: f"SELECT q.* FROM (SELECT {series('c AS c{n}', n, ', ')} FROM o) AS q",
    "stars": lambda n: f"SELECT * FROM {series('(SELECT * FROM o) AS q{n}', n, ', ')}",
    "joins": lambda n: "SELECT o.id FROM o " + series("JOIN k AS k{n} ON k{n}.id = o.c", n, " "),
    "exists": lambda n: (
        "SELECT id FROM o WHERE "
        + series("EXISTS (SELECT 1 FROM k WHERE k.id = o.c + {n})", n, " AND ")
    ),
    "scalars": lambda n: f"SELECT {series('(SELECT MAX(c) FROM o) AS m{n}', n, ', ')}",
    "ladder": lambda n: ladder(n, "SELECT x.id, x.c FROM {below} AS x"),
    "doubling": lambda n: ladder(n, "SELECT x.id, y.c FROM {below} AS x, {below} AS y"),
    "stars doubling": lambda n: ladder(n, "SELECT * FROM {below} AS x, {below} AS y"),
    "nested": lambda n: f"SELECT id FROM {'(SELECT id FROM ' * n}o{') AS q' * n}",
    "nots": lambda n: "SELECT id FROM o WHERE " + "NOT " * n + "c = 1",
    "cases": lambda n: f"SELECT id FROM o WHERE {'CASE WHEN c = 1 THEN ' * n}1{' END' * n}",
    "sum": lambda n: f"SELECT id FROM o WHERE c = {series('1', n, ' + ')}",
}


@pytest.mark.sampled(7)
@pytest.mark.slow
@pytest.mark.parametrize("name", HUGE)
@pytest.mark.parametrize("tokens", [2_500, 10_000])
def test_huge_statements_are_read_soon_or_left_open(name: str, tokens: int) -> None:
    """Two seconds of the processor for all detectors together, with nothing remembered."""
    per = -(-len(tokenize(HUGE[name](20), read="sqlite")) // 20)
    text, plain = HUGE[name](tokens // per), "SELECT id FROM o WHERE c = 1 OR c = 2"
    for original, answer in ((plain, text), (text, plain)):
        parsed_query._read_cached_query.cache_clear()
        with stop_hang():
            results = {check: check_rule(check, original, answer) for check in DETECTORS}
        assert set(results.values()) <= {True, False, None}
        if len(tokenize(text, read="sqlite")) > parsed_query.MAX_TOKENS:
            assert set(results.values()) == {None}


def test_a_query_of_itself_ends() -> None:
    for text in (
        "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 5) "
        "SELECT n FROM r WHERE n > 2",
        "WITH r AS (SELECT * FROM r) SELECT * FROM r WHERE n > 2",
    ):
        for check in DETECTORS:
            assert check_rule(check, text, "SELECT id FROM o WHERE c > 2") in (True, False, None)


# The bundled cases


def bundled() -> Iterator[tuple[dict[str, Any], str, str]]:
    for line in FILE.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        for rule in case["expected"]["optimization_rules"]:
            yield case, rule["check"], parse_server(case["db_type"]).dialect


@pytest.mark.full
@pytest.mark.slow
def test_every_bundled_rule_is_told_in_every_right_answer_and_not_in_the_statement() -> None:
    seen = set()
    for case, check, dialect in bundled():
        ddl, original = case["create_table_statements"], case["sql"]
        for answer in (case["reference"], *case["variants"]):
            assert has_rewrite(check, original, answer, dialect, ddl) is True, (
                case["case_id"],
                answer,
            )
        for text in disguises(original, case["reference"]):
            rewrite = has_rewrite(check, original, text, dialect, ddl)
            assert rewrite in (False, None), (case["case_id"], check, text)
        for wrong in case["counterexamples"]:
            assert has_rewrite(check, original, wrong, dialect, ddl) in (True, False, None)
        seen.add(check)
    assert seen == set(DETECTORS)


@pytest.mark.parametrize(
    ("check", "original", "answer", "is_told"),
    [
        ("distinct_removed", "SELECT DISTINCT id, (SELECT COUNT(*) FROM k WHERE k.id = o.c) FROM o",
         "SELECT o.id, q.n FROM o LEFT JOIN (SELECT id, COUNT(*) AS n FROM k GROUP BY id) AS q "
         "ON q.id = o.c", True),
        ("distinct_removed", "SELECT DISTINCT id, (SELECT COUNT(*) FROM k WHERE k.id = o.c) FROM o",
         "SELECT id, (SELECT COUNT(*) FROM k WHERE k.id = o.c) FROM o GROUP BY id, c", False),
        ("distinct_removed", "SELECT DISTINCT id, (SELECT COUNT(*) FROM k WHERE k.id = o.c) FROM o",
         "SELECT o.id, q.n FROM (SELECT id, c FROM o GROUP BY id, c) AS o LEFT JOIN (SELECT id, "
         "COUNT(*) AS n FROM k GROUP BY id) AS q ON q.id = o.c", False),
        ("redundant_predicate_removed", "SELECT id FROM o WHERE id IS NOT NULL AND c = 1",
         "SELECT id FROM o WHERE c = 1", True),
        ("redundant_predicate_removed", "SELECT id FROM o WHERE id IS NULL AND c = 1",
         "SELECT id FROM o WHERE c = 1", False),
        ("redundant_predicate_removed", "SELECT id FROM o WHERE id IS NOT NULL AND c = 1",
         "SELECT id FROM o WHERE NOT id IS NULL AND c = 1", False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("dialect", ["sqlite", "postgres", "mysql"])
def test_a_rule_is_told_beside_others(
    check: str, original: str, answer: str, is_told: bool, dialect: str
) -> None:
    assert has_rewrite(check, original, answer, dialect, SCHEMA) is is_told


# The same statement, and rules in words


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("SELECT id FROM o WHERE c = 1", "select ID\nfrom O -- x\nwhere (1 = c);", True),
        ("SELECT id FROM o AS x WHERE x.c > 1", "SELECT y.id FROM o y WHERE 1 < y.c", True),
        ("SELECT * FROM k", "SELECT id, name, city FROM k", True),
        ("SELECT id FROM o WHERE c IN (1, 2)", "SELECT id FROM o WHERE c IN (2, 1)", True),
        ("WITH q AS (SELECT id FROM o) SELECT id FROM q", "WITH z AS (SELECT id FROM o) TABLE z",
         False),
        ("SELECT id FROM o WHERE c = 1", "SELECT id FROM o WHERE c = 2", False),
        ("SELECT id, c FROM o", "SELECT c, id FROM o", False),
        ("no query", "NO  query", True),
        ("no query", "another", False),
    ],
)  # fmt: skip
def test_equal_statements_are_known_again(a: str, b: str, same: bool) -> None:
    assert is_same_statement(a, b, "sqlite", SCHEMA) is same


@pytest.mark.parametrize(
    ("rationale", "check"),
    [
        ("谓词下推：将外层条件移入子查询", "predicate_pushdown"),
        ("隐式转换：去掉 COALESCE", "sargable"),
        ("隐式转换：字符串与数字比较", "implicit_conversion"),
        ("高选择性谓词前置", None),
        ("", None),
    ],
)
def test_rules_in_words_have_their_detector(rationale: str, check: str | None) -> None:
    assert detector_for(rationale) == check


@pytest.mark.parametrize(
    ("answer", "rearranged"),
    [
        ("WITH q AS (SELECT o.id FROM o JOIN k ON k.id = o.c) SELECT * FROM q", True),
        ("SELECT * FROM (SELECT * FROM (SELECT o.id FROM o, k WHERE o.c = k.id) a) b", True),
        ("SELECT o.id FROM k JOIN (SELECT * FROM o ORDER BY 1) AS o ON k.id = o.c", True),
        ("WITH p AS (SELECT * FROM k) SELECT o.id FROM o CROSS JOIN p WHERE o.c = p.id", True),
        ("SELECT o.id FROM k JOIN (SELECT * FROM o LIMIT 9) AS o ON k.id = o.c", False),
        ("SELECT o.id FROM k JOIN (SELECT DISTINCT * FROM o) AS o ON k.id = o.c", True),
        ("SELECT o.id FROM k JOIN (SELECT DISTINCT c, id FROM o) AS o ON k.id = o.c", False),
        ("SELECT o.id FROM k JOIN (SELECT * FROM o LIMIT 9000000000) AS o ON k.id = o.c", True),
        ("SELECT o.id FROM k JOIN (SELECT * FROM o LIMIT 9 OFFSET 9) AS o ON k.id = o.c", False),
        (
            "SELECT o.id FROM k JOIN (SELECT * FROM o WHERE c > 1 UNION ALL SELECT * FROM o WHERE "
            "NOT c > 1 OR c IS NULL) AS o ON k.id = o.c",
            True,
        ),
        (
            "SELECT o.id FROM k JOIN (SELECT * FROM o WHERE c > 1 UNION ALL SELECT * FROM k) AS o "
            "ON k.id = o.c",
            False,
        ),
        ("SELECT o.id FROM o JOIN k ON k.id = o.c WHERE (k.id > 1) IS TRUE", False),
        ("SELECT o.id FROM k JOIN (SELECT * FROM o WHERE c > 1) AS o ON k.id = o.c", False),
        ("SELECT o.id FROM o LEFT JOIN k ON k.id = o.c", False),
        ("SELECT k.id FROM o JOIN k ON k.id = o.c", False),
        ("SELECT o.id FROM o WHERE o.c IN (SELECT id FROM k)", False),
        ("WITH RECURSIVE q AS (SELECT o.id FROM o JOIN k ON k.id = o.c) SELECT * FROM q", False),
        ("SELECT o.id FROM o JOIN k", False),
        ("SELECT", False),
        ("(" * 500 + "SELECT 1" + ")" * 500, False),
    ],
)
def test_rearranged_statements_are_known_again(answer: str, rearranged: bool) -> None:
    original = "SELECT o.id FROM o JOIN k ON k.id = o.c"
    assert is_rearranged_statement(original, answer, "sqlite", SCHEMA) is rearranged


@pytest.mark.parametrize("dialect", ["sqlite", "postgres", "duckdb", "mysql"])
def test_a_condition_that_is_true_is_the_condition(dialect: str) -> None:
    original, answer = (f"SELECT id FROM o WHERE {c}" for c in ("c > 1", "(c > 1) IS TRUE"))
    assert is_rearranged_statement(original, answer, dialect, SCHEMA)
    for other in ("(c > 1) IS FALSE", "(c > 1) IS NOT TRUE", "(c > 2) IS TRUE"):
        changed = f"SELECT id FROM o WHERE {other}"
        assert not is_rearranged_statement(original, changed, dialect, SCHEMA)

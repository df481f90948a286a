"""What is exact compares exactly, what a statement leaves behind counts, and bytes count apart."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from evalcore.cli.main import main
from evalcore.sqlkit.engines.registry import EnginePool
from evalcore.sqlkit.equivalence import Equivalence, EquivalenceQuestion
from evalcore.sqlkit.equivalence.decider import Decider
from evalcore.sqlkit.result_tables import ResultTable, compare_tables, to_json_cell
from evalcore.sqlkit.row_matching import DOUBLE_TOLERANCE, CellRules

DDL = (
    "CREATE TABLE t (id INTEGER PRIMARY KEY, price DECIMAL(18, 6) NOT NULL, name VARCHAR(20) "
    "COLLATE NOCASE)",
    "CREATE TABLE gone (id INTEGER PRIMARY KEY)",
)
EXACT = CellRules(exact=True, tolerance=DOUBLE_TOLERANCE)


@pytest.fixture(scope="module")
def decider() -> Iterator[Decider]:
    with EnginePool() as pool:
        yield Decider(pool.get)


def ask(decider: Decider, engine: str, reference: str, answer: str) -> Equivalence:
    question = EquivalenceQuestion(engine=engine, schema=DDL, reference=reference)
    return decider.decide(question, answer)


def compare_cells(left: object, right: object) -> bool:
    tables = [
        ResultTable(("c",), ((to_json_cell(cell),),), decimals=(0,) * isinstance(cell, Decimal))
        for cell in (left, right)
    ]
    return compare_tables(tables[0], tables[1], rules=EXACT).equal


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (Decimal("1.50"), Decimal("1.5"), True),
        (Decimal("0.1"), Decimal("0.10000001"), False),
        (Decimal("123456789012345678.91"), Decimal("123456789012345678.92"), False),
        (Decimal("123456789012345678.91"), Decimal("123456789012345678.910"), True),
        (Decimal(5), 5, True),
        (Decimal("0.3"), 0.1 + 0.2, True),  # a float on one side has its tolerance
        (0.3, 0.1 + 0.2, True),
        (0.3, 0.30001, False),
        (2**53, 2**53 + 1, False),
    ],
)
def test_decimals_are_exact_and_floats_nearly(left: object, right: object, same: bool) -> None:
    assert compare_cells(left, right) is same
    assert compare_cells(right, left) is same


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_a_difference_below_the_former_tolerance_is_seen(decider: Decider, engine: str) -> None:
    reply = ask(decider, engine, "SELECT id, price FROM t", "SELECT id, price + 0.00001 FROM t")
    assert reply.status == "different"


def test_a_date_is_not_its_midnight_where_both_are_text(decider: Decider) -> None:
    reference = "SELECT id, date('2024-01-05') FROM t"
    answer = "SELECT id, datetime('2024-01-05') FROM t"
    assert ask(decider, "sqlite", reference, answer).status == "different"


def test_what_differs_by_collation_alone_is_said(decider: Decider) -> None:
    reply = ask(decider, "sqlite", "SELECT id, name FROM t", "SELECT id, UPPER(name) FROM t")
    assert reply.status == "different"
    assert reply.counterexample is not None
    assert reply.counterexample.reason == "collation"
    reply = ask(decider, "duckdb", "SELECT id, id FROM t", "SELECT id, id + 1 FROM t")
    assert reply.counterexample is not None
    assert reply.counterexample.reason == "rows"


def test_a_real_difference_wins_over_one_of_collation(decider: Decider) -> None:
    answer = "SELECT id, UPPER(COALESCE(name, 'none')) FROM t"
    reply = ask(decider, "sqlite", "SELECT id, name FROM t", answer)
    assert reply.counterexample is not None
    assert reply.counterexample.reason == "rows"


@pytest.mark.parametrize(
    ("reference", "answer", "status"),
    [
        ("DELETE FROM t WHERE id > 3", "DELETE FROM t WHERE id >= 3", "different"),
        ("DELETE FROM t WHERE id > 3", "DELETE FROM t WHERE NOT id <= 3", "equivalent"),
        ("DELETE FROM t WHERE id > 3", "DELETE FROM gone WHERE id > 3", "different"),
        ("SELECT id FROM t", "DELETE FROM t RETURNING id", "different"),
        ("DELETE FROM t RETURNING id", "DELETE FROM t RETURNING id, name", "different"),
        ("SELECT id FROM t", "DROP TABLE gone", "different"),
    ],
)
def test_all_tables_are_compared_afterwards(
    decider: Decider, reference: str, answer: str, status: str
) -> None:
    assert ask(decider, "sqlite", reference, answer).status == status


def test_a_pair_is_decided_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = tmp_path / "schema.sql"
    schema.write_text("CREATE TABLE a (n INTEGER);")
    flags = ["--engine", "sqlite", "--schema", str(schema), "--reference", "SELECT n FROM a"]
    assert main(["equivalent", *flags, "--answer", "SELECT a.n FROM a", "--json"]) == 0
    decision = json.loads(capsys.readouterr().out)
    assert (decision["status"], decision["level"]) == ("equivalent", "proved")
    assert main(["equivalent", *flags, "--answer", "SELECT DISTINCT n FROM a"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("different: On a generated database the number of rows differs.")
    assert "\na (n)\n" in printed


def test_pairs_are_decided_line_by_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = {"engine": "sqlite", "schema": "CREATE TABLE a (n INTEGER)"}
    statements = {
        "same": ("SELECT n FROM a", "SELECT a.n FROM a"),
        "other": ("SELECT n FROM a", "SELECT n + 1 FROM a"),
        "refused": ("SELECT n FROM a", "SELECT m FROM a"),
        "both refused": ("SELECT k FROM a", "SELECT m FROM a"),
    }
    lines = [
        json.dumps({"id": name, **base, "reference": reference, "answer": answer})
        for name, (reference, answer) in statements.items()
    ]
    pairs, out = tmp_path / "pairs.jsonl", tmp_path / "out.jsonl"
    pairs.write_text("\n".join(lines))
    assert main(["equivalent", "--pairs", str(pairs), "--out", str(out)]) == 0
    decisions = [json.loads(line) for line in out.read_text().splitlines()]
    assert [decision["id"] for decision in decisions] == list(statements)
    statuses = [decision["status"] for decision in decisions]
    assert statuses == ["equivalent", "different", "invalid", "invalid"]
    assert decisions[1]["counterexample"]["tables"]["a"]["rows"]
    assert "2 invalid" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "problem"),
    [("{", "line 1"), ('{"id": "x"}', "engine"), ('{"id": 1}', "id")],
)
def test_a_pair_that_cannot_be_read_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, problem: str
) -> None:
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text(line)
    assert main(["equivalent", "--pairs", str(pairs)]) == 2
    assert problem in capsys.readouterr().err
    assert main(["equivalent", "--engine", "sqlite"]) == 2

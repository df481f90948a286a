"""Each claim of docs/security.md names tests that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.support.rows import each_row

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "security.md").read_text("utf-8")
CLAIMS = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", TEXT)))


@each_row("file", sorted({file for file, _ in CLAIMS}))
def test_a_named_test_exists(file: str) -> None:
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    functions = [
        node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    named = {test for owner, test in CLAIMS if owner == file}
    assert named - {function.name for function in functions} == set()


def test_every_row_of_a_table_of_claims_names_a_test() -> None:
    tables = re.findall(r"\| they cannot \| shown by \|\n\| --- \| --- \|\n((?:\|.*\|\n)+)", TEXT)
    rows = [row for table in tables for row in table.splitlines()]
    assert len(tables) == 6
    assert len(rows) > 30
    assert not [row for row in rows if not re.search(r"`tests/[\w/]+\.py::test_\w+`", row)]


def test_every_mention_of_a_test_is_checked() -> None:
    mentions = re.findall(r"tests/[\w/]+\.py::\w+", TEXT)
    assert {f"{file}::{test}" for file, test in CLAIMS} == set(mentions)

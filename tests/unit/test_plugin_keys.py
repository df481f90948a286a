"""A benchmark is one folder: its key stands in no code but its own and the built-in list. The same
holds for a kind of target and for an SQL engine."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from evalcore import catalog

ROOT = Path(__file__).resolve().parents[2]
#: The built-in lists, and modules that may name any benchmark, with the reason.
ALLOWED = {
    "evalcore/catalog.py": "the built-in list, and the members of the built-in suites",
    "evalcore/exchange/scale/exporter.py": "SCALE's own names of what it publishes",
    "evalcore/exchange/scale/forms.py": "SCALE's own names of what it publishes, with its weights",
    "evalcore/exchange/scale/verify.py": "SCALE's own names of what it publishes",
    "evalcore/benchmarks/agents.py": "imports BFCL's reader of calls, which all agents share",
}
BUILT_IN = sorted(catalog._builtin_keys())


def iterate_strings(source: str) -> Iterator[tuple[int, str]]:
    """Every text in code that is no docstring, and every import as text, with its line."""
    tree = ast.parse(source)
    docstrings = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.Constant) and id(node) not in docstrings:
            yield node.lineno, str(node.value)


def contains_word(text: str, key: str) -> bool:
    return re.search(rf"(?<![A-Za-z0-9]){re.escape(key)}(?![A-Za-z0-9])", text) is not None


def list_modules() -> list[Path]:
    folders = (ROOT / "evalcore", ROOT / "pages")
    return [ROOT / "app.py", *(path for folder in folders for path in sorted(folder.rglob("*.py")))]


def belongs_to(path: str, key: str) -> bool:
    """Whether a module is in the benchmark's folder, or its exchange with others."""
    return path.startswith((f"evalcore/benchmarks/{key}/", f"evalcore/exchange/{key}"))


def test_a_benchmark_is_named_in_its_own_code_only():
    named: dict[str, list[str]] = {}
    for module in list_modules():
        path = module.relative_to(ROOT).as_posix()
        for line, text in iterate_strings(module.read_text("utf-8")):
            for key in BUILT_IN:
                if contains_word(text, key) and not belongs_to(path, key):
                    named.setdefault(path, []).append(f"{path}:{line}: {key}")
    assert [line for path, lines in named.items() if path not in ALLOWED for line in lines] == []
    assert sorted(named) == sorted(ALLOWED), "an exception that is none any more goes from the list"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_benchmark_is_named_in_its_own_catalogue_only(language):
    """Codes of notes are persisted in runs and stand in a flat catalogue of their own."""
    for path in (ROOT / "evalcore/i18n" / language).glob("*.json"):
        if path.stem in (*BUILT_IN, "note"):
            continue
        names = json.loads(path.read_text("utf-8"))
        assert [n for n in names for key in BUILT_IN if contains_word(n, key)] == [], path.name


def test_words_are_seen_in_every_kind_of_code():
    source = 'f"launch.{x}.bfcl"\nfrom a.bfcl import b\nc = {"bfcl-v3": 1}\n"""bfcl"""\n'
    seen = [line for line, text in iterate_strings(source) if contains_word(text, "bfcl")]
    assert sorted(seen) == [1, 2, 3]
    assert contains_word(".bfcl", "bfcl")
    assert not contains_word("bfclx", "bfcl")

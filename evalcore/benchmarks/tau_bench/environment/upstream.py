"""Tasks in upstream's own files: Python whose literals are read from the syntax tree, never run."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from evalcore.benchmarks.tau_bench.environment.files import read_data_text
from evalcore.errors import DatasetError


def parse_python_tasks(path: Path) -> list[tuple[int, dict[str, Any]]]:
    """The keywords of each `Task(...)` in the list that the file assigns, with its line; actions
    as {name, kwargs}. Raises DatasetError where anything but literals stands in them."""
    try:
        tree = ast.parse(read_data_text(path))
        for node in tree.body:
            value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
            if isinstance(value, ast.List) and value.elts:
                return [(item.lineno, _parse_call(item, "Task")) for item in value.elts]
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError) as error:
        raise DatasetError(path, None, "", f"is no file of tasks: {error}") from None
    raise DatasetError(path, None, "", "assigns no list of tasks")


def _parse_call(node: ast.expr, name: str) -> dict[str, Any]:
    """The keywords of `name(keyword=literal, ...)`. Raises ValueError for anything else."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)) or node.args:
        raise ValueError(f"line {node.lineno} is no {name}(...) of keywords")
    if node.func.id != name:
        raise ValueError(f"line {node.lineno} is no {name}(...)")
    return {word.arg or "": _parse_literal(word.arg, word.value) for word in node.keywords}


def _parse_literal(keyword: str | None, node: ast.expr) -> Any:
    if keyword == "actions" and isinstance(node, ast.List):
        return [_parse_call(item, "Action") for item in node.elts]
    return ast.literal_eval(node)

"""What a query costs PostgreSQL: the pages it touches, counted by the server itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from evalcore.sqlkit.engines.served.database_pool import QueryCost
from evalcore.sqlkit.table import ResultTable

_ASK = "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, SUMMARY OFF, FORMAT JSON) "
_PAGES = tuple(
    f"{kind} {way} Blocks" for kind in ("Shared", "Local", "Temp") for way in ("Hit", "Read")
)


def measure_pages(run: Callable[[str], ResultTable | None], sql: str) -> QueryCost:
    """Run a query twice and take the second count, which holds no reading of the catalogue."""
    for _ in range(2):
        table = run(_ASK + sql)
    root = table.rows[0][0][0]["Plan"] if table else {}
    return QueryCost(
        unit="pages",
        amount=sum(int(root.get(name, 0)) for name in _PAGES),
        plan=tuple(_iter_plan_lines(root)),
    )


def _iter_plan_lines(node: Mapping[str, Any], depth: int = 0) -> Iterator[str]:
    """The operators, each with what it works on and how many rows came out of it."""
    object_name = node.get("Index Name") or node.get("Relation Name") or node.get("CTE Name") or ""
    words = [node.get("Join Type", ""), node.get("Node Type", ""), object_name]
    rows, loops = node.get("Actual Rows", 0), node.get("Actual Loops", 1)
    yield f"{'  ' * depth}{' '.join(filter(None, words))} (rows {rows:g}, loops {loops:g})"
    for child in node.get("Plans", ()):
        yield from _iter_plan_lines(child, depth + 1)

"""Small BFCL entries that tests write answers to."""

from __future__ import annotations

from typing import Any

from evalcore.benchmarks.bfcl.dataset import FLAGGED, Defect
from evalcore.benchmarks.bfcl.entry import BfclEntry


def function(name: str, properties: dict[str, Any], required: tuple[str, ...] = ()) -> Any:
    """A description in the schema dialect; a property given as text is its type."""
    schemas = {
        key: {"type": schema} if isinstance(schema, str) else schema
        for key, schema in properties.items()
    }
    parameters = {"type": "dict", "properties": schemas, "required": list(required)}
    return {"name": name, "description": "", "parameters": parameters}


def entry(category: str, functions: list[Any], truth: list[Any] | None = None) -> BfclEntry:
    """An entry whose question does not matter to the test."""
    question = [[{"role": "user", "content": "Please."}]]
    return BfclEntry(f"{category}_0", category, question, functions, truth)


def weather(category: str = "simple_python") -> BfclEntry:
    """One function, `weather.now(city, days=, units=)`: a right call is city Oslo, days 3."""
    offered = function(
        "weather.now", {"city": "string", "days": "integer", "units": "string"}, ("city",)
    )
    truth = [
        {"weather.now": {"city": ["Oslo", "Oslo, Norway"], "days": [3], "units": ["", "metric"]}}
    ]
    return entry(category, [offered], None if "relevance" in category else truth)


def list_flagged_ids(defect: Defect) -> frozenset[str]:
    return frozenset(sample_id for sample_id, flag in FLAGGED.items() if flag.defect == defect)

"""What the items of the API hold, for its description: field -> JSON type.

A `?` behind a type says that the field is null where it is unknown or was not run.
"""

from __future__ import annotations

from typing import Any

ITEMS: dict[str, dict[str, str]] = {
    "Board": {
        "key": "string",
        "suite": "string",
        "published": "boolean",
        "whole": "boolean",
        "members": "array",
        "orders": "array",
        "columns": "array",
        "floors": "object",
    },
    "Row": {
        "identity": "string",
        "target_key": "string",
        "kind": "string",
        "status": "string",
        "rank": "integer?",
        "rank_low": "integer?",
        "rank_high": "integer?",
        "group": "integer?",
        "leader": "string?",
        "score": "number?",
        "low": "number?",
        "high": "number?",
        "coverage": "number",
        "scores": "object",
        "metrics": "object",
        "passed": "integer",
        "measured": "integer",
        "errors": "integer",
        "cost": "number?",
        "input_tokens": "number?",
        "output_tokens": "number?",
        "latency": "number?",
        "date": "string?",
        "run_id": "string",
        "self_judged": "boolean",
    },
    "Run": {
        "run_id": "string",
        "state": "string",
        "target": "string",
        "target_key": "string",
        "benchmarks": "array",
        "created_at": "string",
        "origin": "string",
        "epochs": "integer",
        "note": "string",
        "total": "integer",
        "generated": "integer",
        "scored": "integer",
        "fraction": "number",
        "outcomes": "object",
        "errors": "object",
        "complete": "boolean",
        "scores": "object",
        "requests": "integer",
        "rate": "number",
        "eta": "number?",
        "wall": "number?",
        "input_tokens": "integer?",
        "output_tokens": "integer?",
        "cost": "number?",
        "cost_sources": "array",
    },
    "Case": {
        "benchmark": "string",
        "metric": "string",
        "id": "string",
        "epoch": "integer",
        "difficulty": "integer",
        "case_weight": "number?",
        "weight": "number?",
        "dialect": "string?",
        "outcome": "string",
        "score": "number?",
        "evidence_kind": "string?",
        "reason": "string?",
        "cause": "string?",
        "error_type": "string?",
        "note": "string?",
        "extraction": "string?",
        "finish_reason": "string?",
        "latency": "number?",
        "input_tokens": "integer?",
        "output_tokens": "integer?",
        "cost": "number?",
        "attempts": "integer?",
        "cached": "boolean?",
    },
}
#: What a page of a resource holds beside items, total and next.
EXTRA_FIELDS: dict[str, dict[str, Any]] = {
    "Row": {"board": {"$ref": "#/components/schemas/Board"}, "by": {"type": "string"}},
    "Case": {"run": {"type": "string"}},
}


def build_schemas() -> dict[str, Any]:
    """Every item and the error as JSON schemas."""
    items = {name: item_schema(fields) for name, fields in ITEMS.items()}
    texts = {"code": {"type": "string"}, "message": {"type": "string"}}
    error = {
        "type": "object",
        "required": list(texts),
        "properties": texts | {"parameter": {"type": "string"}},
    }
    holder = {"type": "object", "required": ["error"], "properties": {"error": error}}
    return {**items, "Error": holder}


def item_schema(fields: dict[str, str]) -> dict[str, Any]:
    return {
        "type": "object",
        "required": list(fields),
        "properties": {name: _parse_json_type(json_type) for name, json_type in fields.items()},
    }


def _parse_json_type(json_type: str) -> dict[str, Any]:
    name = json_type.removesuffix("?")
    return {"type": [name, "null"] if json_type.endswith("?") else name}


def page_schema(item: str) -> dict[str, Any]:
    """A page of items."""
    properties = {
        "items": {"type": "array", "items": {"$ref": f"#/components/schemas/{item}"}},
        "total": {"type": "integer"},
        "next": {"type": ["string", "null"], "description": "address of the next page"},
        **EXTRA_FIELDS.get(item, {}),
    }
    return {"type": "object", "required": list(properties), "properties": properties}

"""Boards, rankings, runs and cases as plain JSON data: the same numbers as the pages show.

What is unknown or was not run is None, never 0 and never NaN. Nothing here tells where a file lies:
reasons of broken runs and the options of a target are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from evalcore.queries.boards import Board, Column, compute_floors
from evalcore.queries.ranking import SUITE, list_board_orders
from evalcore.queries.runs import RunRow
from evalcore.store.headers import RunHeader

Data = dict[str, Any]

_RUN = (
    *("run_id", "state", "benchmarks", "created_at", "origin", "epochs", "note"),
    *("total", "generated", "scored", "fraction", "outcomes", "errors", "complete", "scores"),
    *("requests", "rate", "eta", "wall", "input_tokens", "output_tokens", "cost"),
    "cost_sources",
)
_CASE = (
    *("benchmark", "metric", "id", "epoch", "difficulty", "case_weight", "weight", "dialect"),
    *("outcome", "score", "evidence_kind", "reason", "cause", "error_type", "note", "extraction"),
    *("finish_reason", "latency", "input_tokens", "output_tokens", "cost", "attempts", "cached"),
)
#: Counts that a frame holds as floats wherever one of them is unknown.
_COUNTS = frozenset({"epoch", "difficulty", "input_tokens", "output_tokens", "attempts"})


def board_data(headers: Sequence[RunHeader], board: Board) -> Data:
    """A board: key, suite, published, whole, members, orders, a list of columns, and floors.

    `compute_floors` holds per order the scores (0 to 100) of the control targets.
    """
    choices = list_board_orders(board)
    return {
        "key": board.key,
        "suite": board.suite,
        "published": board.published,
        "whole": board.has_all_members,
        "members": list(board.members),
        "orders": choices,
        "columns": [_build_column_data(column) for column in board.columns.values()],
        "floors": {by: compute_floors(headers, board, "" if by == SUITE else by) for by in choices},
    }


def _build_column_data(column: Column) -> Data:
    values = {name: getattr(column, name) for name in column.__struct_fields__}
    return values | {"metrics": list(column.metrics)}


def ranking_data(frame: pd.DataFrame, board: Board) -> list[Data]:
    """The rows of a ranking in its order; `scores` by benchmark and `metrics` by
    "benchmark/metric" are 0 to 100, other fields as `queries.ranking.ranking` names them."""
    rows = []
    for record in frame.to_dict("records"):
        row = {str(name): to_json_value(value) for name, value in record.items()}
        scores = {name: row.pop(name) for name in board.columns}
        metrics = {name: row.pop(name) for name in board.metrics}
        rows.append(row | {"scores": scores, "metrics": metrics})
    return rows


def run_data(row: RunRow) -> Data:
    """A run as it stands now; `target` is the identity of its target."""
    data = {name: getattr(row, name) for name in _RUN}
    target = {"target": row.target.identity, "target_key": row.target.key}
    return data | target | {"benchmarks": list(row.benchmarks)}


def case_data(cases: pd.DataFrame) -> list[Data]:
    """Cases of a run from a page of `queries.cases.case_page`, in the declared order."""
    return [
        {name: _to_case_count(name, to_json_value(record[name])) for name in _CASE}
        for record in cases.to_dict("records")
    ]


def _to_case_count(name: str, value: Any) -> Any:
    return int(value) if name in _COUNTS and value is not None else value


def to_json_value(value: Any) -> Any:
    """A cell of a frame as JSON data: a missing one is None, a time is text in ISO 8601."""
    if pd.isna(value):
        return None
    if isinstance(value, pd.Timestamp):
        return value.isoformat()
    return value.item() if hasattr(value, "item") else value

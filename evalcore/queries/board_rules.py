"""Why two boards are two: which declared rules their columns do not share."""

from __future__ import annotations

from collections.abc import Iterable

from evalcore.errors import EvalboardError
from evalcore.queries.boards import Board, Column
from evalcore.queries.comparison_runs import RuleDifference, find_rule_differences
from evalcore.records import BenchmarkSpec, Record
from evalcore.settings import Settings
from evalcore.store.headers import RunHeader
from evalcore.store.run_folder import find_run


class ColumnDifference(Record, frozen=True):
    """A benchmark on which a board differs from a base: the columns of both, `base` None where it
    has none; `differences` are as far as the runs declare them."""

    benchmark: str
    base: Column | None
    other: Column
    differences: tuple[RuleDifference, ...] = ()


def find_column_differences(
    settings: Settings, headers: Iterable[RunHeader], base: Board, other: Board
) -> tuple[ColumnDifference, ...]:
    """Every benchmark of `other` whose column is not that of `base`, and what sets it apart."""
    all_headers = list(headers)
    column_differences = []
    for benchmark, column in other.columns.items():
        ours = base.columns.get(benchmark)
        if ours is None or ours.key != column.key:
            first = _find_column_spec(settings, all_headers, ours) if ours else None
            second = _find_column_spec(settings, all_headers, column) if first else None
            rule_differences = find_rule_differences(first, second) if first and second else ()
            column_differences.append(ColumnDifference(benchmark, ours, column, rule_differences))
    return tuple(column_differences)


def _find_column_spec(
    settings: Settings, headers: Iterable[RunHeader], column: Column
) -> BenchmarkSpec | None:
    """How a run of the column declares it; None where none can be read."""
    for header in headers:
        score = header.benchmarks.get(column.benchmark)
        if score is None or score.column != column.key:
            continue
        try:
            spec = find_run(header.run_id, settings.run_roots).read_spec()
        except EvalboardError:
            continue
        return next(
            (
                benchmark_spec
                for benchmark_spec in spec.benchmarks
                if benchmark_spec.key == column.benchmark
            ),
            None,
        )
    return None

"""Why two boards are two: which declared rules their columns do not share."""

from __future__ import annotations

from collections.abc import Iterable

from evalcore.errors import EvalboardError
from evalcore.queries.boards import Board, Column
from evalcore.queries.lineup import Difference, differences
from evalcore.records import BenchmarkSpec, Record
from evalcore.settings import Settings
from evalcore.store.headers import RunHeader
from evalcore.store.run_folder import find_run


class Apart(Record, frozen=True):
    """A benchmark on which a board differs from a base: the columns of both, `base` None where it
    has none; `differences` are as far as the runs declare them."""

    benchmark: str
    base: Column | None
    other: Column
    differences: tuple[Difference, ...] = ()


def apart(
    settings: Settings, headers: Iterable[RunHeader], base: Board, other: Board
) -> tuple[Apart, ...]:
    """Every benchmark of `other` whose column is not that of `base`, and what sets it apart."""
    known = list(headers)
    found = []
    for benchmark, column in other.columns.items():
        ours = base.columns.get(benchmark)
        if ours is None or ours.key != column.key:
            first = _spec(settings, known, ours) if ours else None
            second = _spec(settings, known, column) if first else None
            told = differences(first, second) if first and second else ()
            found.append(Apart(benchmark, ours, column, told))
    return tuple(found)


def _spec(settings: Settings, headers: Iterable[RunHeader], column: Column) -> BenchmarkSpec | None:
    """How a run of the column declares it; None where none can be read."""
    for header in headers:
        score = header.benchmarks.get(column.benchmark)
        if score is None or score.column != column.key:
            continue
        try:
            spec = find_run(header.run_id, settings.run_roots).read_spec()
        except EvalboardError:
            continue
        return next((one for one in spec.benchmarks if one.key == column.benchmark), None)
    return None

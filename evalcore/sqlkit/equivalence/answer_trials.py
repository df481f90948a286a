"""Databases made for one answer: they reach its own constants and the limits of its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from evalcore.sqlkit.engines import Engine
from evalcore.sqlkit.equivalence import EquivalenceQuestion
from evalcore.sqlkit.equivalence.trials import (
    Trial,
    Trials,
    collect_trials,
    prepare_edge_trials,
    source_from_database,
)
from evalcore.sqlkit.generate import (
    covers_statement,
    generate_added_crowds,
    generate_added_edges,
    generate_crowded_database,
    generate_databases,
    list_row_limits,
)
from evalcore.sqlkit.schema import Schema

#: Limits that `choose` has no sizes for; beyond the larger one a result could not be compared:
#: see `row_limits`.
TESTED_LIMITS = range(9, 9_901)
_MAX_LIMITS = 2
#: So many rows per row of a limit, tried one after another, and never more than these.
_CROWDS, _MAX_CROWD_ROWS = (1.25, 4), 9_990


def iter_answer_trials(
    engine: Engine,
    open_patient: Callable[[], Engine],
    question: EquivalenceQuestion,
    schema: Schema,
    answer: str,
    count: int,
) -> Iterator[Trials]:
    """Databases that also reach the constants and the limits of an answer, so that a wrong one
    shows; none for constants where it holds no value that the question's statements do not."""
    asked = ((question.reference, question.engine), *question.related)
    other = (answer, question.engine)
    if not covers_statement(schema, asked, other):
        edges = generate_added_edges(schema, asked, other, seed=question.seed)
        if edges.edges:
            yield prepare_edge_trials(engine, question, schema, (edges,), answer)
        mined = (other, asked[0])
        generated = generate_databases(schema, mined, seed=question.seed + 1, count=count)
        crowds = generate_added_crowds(schema, mined, seed=question.seed + 1)
        sources = map(source_from_database, (*generated, *crowds))
        yield collect_trials(engine, question, schema, sources, answer)
    limited = _prepare_limit_trials(engine, question, schema, answer)
    if limited.slow or limited.unstable:  # by other work on the machine, which is not to decide
        limited = _prepare_limit_trials(open_patient(), question, schema, answer)
        limited = msgspec.structs.replace(limited, patient=True)
    yield limited


def _prepare_limit_trials(
    engine: Engine, question: EquivalenceQuestion, schema: Schema, answer: str
) -> Trials:
    """Databases on which the reference shows more rows than the answer's own limits let through,
    or as many as its own do, and on how many others it met the limits of a call or was unstable.

    Only for limits that stand in none of the other statements; where conditions let too few rows
    pass, there is none.
    """
    asked = ((question.reference, question.engine), *question.related)
    stated = frozenset().union(*(list_row_limits(sql, dialect) for sql, dialect in asked))
    added = list_row_limits(answer, question.engine)
    dropped = list_row_limits(*asked[0]) - added
    limits = sorted(limit for limit in (added - stated) | dropped if limit in TESTED_LIMITS)
    usable: list[Trial] = []
    slow = unstable = 0
    for limit in limits[-_MAX_LIMITS:]:
        for factor in _CROWDS:
            size = min(_MAX_CROWD_ROWS, int(factor * limit) + 10)
            rows = generate_crowded_database(schema, asked, seed=question.seed, rows=size)
            tried = collect_trials(engine, question, schema, (source_from_database(rows),))
            slow, unstable = slow + tried.slow, unstable + tried.unstable
            tables = [
                table for trial in tried.usable for table in trial.expected.tables.values() if table
            ]
            # too many rows to shrink: their number is what tells
            usable += [msgspec.structs.replace(trial, rows=None) for trial in tried.usable]
            if any(len(table.rows) > limit for table in tables):
                break
            if not any(table.rows for table in tables):
                break  # more rows would pass no better
    return Trials(schema, tuple(usable), unstable=unstable, slow=slow)

"""What a verdict on function calls rests on, as sections for the Case page."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from evalcore.benchmarks.bfcl.decode.call import Call, plain
from evalcore.benchmarks.bfcl.entry import Entry
from evalcore.benchmarks.bfcl.multi_turn.checkers import Difference, Outcome
from evalcore.benchmarks.bfcl.score import Scored
from evalcore.records import Section


def of_calls(entry: Entry, scored: Scored) -> tuple[Section, ...]:
    """The decoded calls beside the accepted values, with the place of the first mismatch."""
    if scored.calls is None and not entry.ground_truth:
        return ()
    body = {
        "answer": None if scored.calls is None else _listed(scored.calls),
        "accepted": None if entry.ground_truth is None else _listed(entry.ground_truth),
        "output": scored.output,
        "expected": scored.expected,
        "argument": [plain(step) for step in scored.argument],
    }
    return (Section(kind="calls", title="calls", body=body),)


def of_turns(outcome: Outcome) -> tuple[Section, ...]:
    """Every call with its result, the first difference of the states, the missing results."""
    sections = []
    rows = [
        [number, side, call, result]
        for number, turn in enumerate(outcome.turns, 1)
        for side, made in (("answer", turn.called), ("reference", turn.expected))
        for call, result in made
    ]
    if outcome.difference is not None:
        sections.append(_difference(outcome.difference))
    if outcome.missing:
        missing = [[plain(one)] for one in outcome.missing]
        sections.append(_table("missing_results", ["result"], missing))
    if rows:
        sections.append(_table("turns", ["turn", "by", "call", "result"], rows))
    return tuple(sections)


def _difference(found: Difference) -> Section:
    path = ".".join((found.api, found.attribute, *found.path))
    pair = {"expected": found.expected, "actual": found.actual}
    body = {**pair, "differences": [{"path": path, **pair}]}
    return Section(kind="tree_diff", title="state_difference", body=body)


def _table(title: str, columns: list[str], rows: list[list[Any]]) -> Section:
    return Section(kind="table", title=title, body={"columns": columns, "rows": rows})


def _listed(calls: Iterable[Call]) -> list[dict[str, Any]]:
    return [
        {"name": str(name), "arguments": plain(arguments)}
        for call in calls
        for name, arguments in call.items()
    ]

"""What a verdict on function calls rests on, as sections for the Case page."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from evalcore.benchmarks.bfcl.decode.call import Call, to_plain_value
from evalcore.benchmarks.bfcl.entry import BfclEntry
from evalcore.benchmarks.bfcl.multi_turn.checkers import ReplayOutcome, StateDifference
from evalcore.benchmarks.bfcl.score import ViewResult
from evalcore.records import Section


def build_call_sections(entry: BfclEntry, scored: ViewResult) -> tuple[Section, ...]:
    """The decoded calls beside the accepted values, with the place of the first mismatch."""
    if scored.calls is None and not entry.ground_truth:
        return ()
    body = {
        "answer": None if scored.calls is None else _list_call_rows(scored.calls),
        "accepted": None if entry.ground_truth is None else _list_call_rows(entry.ground_truth),
        "output": scored.output,
        "expected": scored.expected,
        "argument": [to_plain_value(step) for step in scored.argument],
    }
    return (Section(kind="calls", title="calls", body=body),)


def build_turn_sections(outcome: ReplayOutcome) -> tuple[Section, ...]:
    """Every call with its result, the first difference of the states, the missing results."""
    sections = []
    rows = [
        [number, side, call, result]
        for number, turn in enumerate(outcome.turns, 1)
        for side, made in (("answer", turn.called), ("reference", turn.expected))
        for call, result in made
    ]
    if outcome.difference is not None:
        sections.append(_build_state_section(outcome.difference))
    if outcome.missing:
        missing = [[to_plain_value(result)] for result in outcome.missing]
        sections.append(_build_table_section("missing_results", ["result"], missing))
    if rows:
        sections.append(_build_table_section("turns", ["turn", "by", "call", "result"], rows))
    return tuple(sections)


def _build_state_section(difference: StateDifference) -> Section:
    path = ".".join((difference.api, difference.attribute, *difference.path))
    pair = {"expected": difference.expected, "actual": difference.actual}
    body = {**pair, "differences": [{"path": path, **pair}]}
    return Section(kind="tree_diff", title="state_difference", body=body)


def _build_table_section(title: str, columns: list[str], rows: list[list[Any]]) -> Section:
    return Section(kind="table", title=title, body={"columns": columns, "rows": rows})


def _list_call_rows(calls: Iterable[Call]) -> list[dict[str, Any]]:
    return [
        {"name": str(name), "arguments": to_plain_value(arguments)}
        for call in calls
        for name, arguments in call.items()
    ]

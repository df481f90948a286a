"""Calls of an answer beside the accepted ones, argument by argument, for the eyes of a reader.

The verdict itself was reached by the scorer: here its finding is only put at its place. Values are
held against each other by plain equality, which decides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from evalcore.records import Record

ArgumentMark = Literal["accepted", "mismatch", "missing", "extra", "omitted", "differs", "unmarked"]
#: Stands among the accepted values where an argument may be left out.
OMITTED = ""
#: Calls of either side that are looked at: an answer may hold any number.
MAX_CALLS = 40
_NOT_ON_THE_WIRE = re.compile(r"[^A-Za-z0-9_-]")


class ArgumentComparison(Record, frozen=True):
    """One argument. `accepted` are the alternatives, `is_present` whether the answer has the
    argument; `differs` is no fault that was found, only equal to none. `mismatch_path` leads from
    the argument's value to the first mismatch."""

    name: str
    mark: ArgumentMark
    is_present: bool = False
    value: Any = None
    accepted: tuple[Any, ...] = ()
    mismatch_path: tuple[str, ...] = ()


class CallPair(Record, frozen=True):
    """A call of the answer and the accepted one it is held against; a name is empty where there is
    no call on that side."""

    answered: str
    accepted: str
    lines: tuple[ArgumentComparison, ...] = ()

    @property
    def same_name(self) -> bool:
        """Whether both name one function; servers take names without dots."""
        return _to_wire_name(self.answered) == _to_wire_name(self.accepted)


def pair_calls(body: Mapping[str, Any]) -> list[CallPair]:
    """The calls of a `calls` section, the pair that the finding is about first.

    Raises KeyError, TypeError, ValueError or AttributeError for a body of another form.
    """
    answer, accepted = (
        list(body["answer"] or ())[:MAX_CALLS],
        list(body["accepted"] or ())[:MAX_CALLS],
    )
    index_pairs = _match_calls(answer, accepted, body["output"], body["expected"])
    judged = body["output"] is not None or body["expected"] is not None
    path = tuple(map(str, body["argument"]))
    return [
        _build_call_pair(
            answer[left] if left is not None else None,
            accepted[right] if right is not None else None,
            path if judged and not number else (),
            clean=not judged and len(answer) == len(accepted),
        )
        for number, (left, right) in enumerate(index_pairs)
    ]


def _match_calls(
    answer: Sequence[Any], accepted: Sequence[Any], output: int | None, expected: int | None
) -> list[tuple[int | None, int | None]]:
    """Indices of calls that belong together: those of the finding, then the most alike."""
    left, right = list(range(len(answer))), list(range(len(accepted)))
    index_pairs: list[tuple[int | None, int | None]] = []
    if output in left and expected in right:
        index_pairs.append((output, expected))
    elif len(left) == len(right) == 1:
        index_pairs.append((0, 0))
    for answer_index, accepted_index in index_pairs:
        left, right = (
            [a for a in left if a != answer_index],
            [b for b in right if b != accepted_index],
        )
    alike = sorted(
        (_compute_similarity(answer[a], accepted[b]), -b, -a) for a in left for b in right
    )
    for likeness, b, a in reversed(alike):
        if likeness > (0, 0) and -a in left and -b in right:
            index_pairs.append((-a, -b))
            left.remove(-a)
            right.remove(-b)
    return [*index_pairs, *((None, b) for b in right), *((a, None) for a in left)]


def _compute_similarity(call: Mapping[str, Any], accepted: Mapping[str, Any]) -> tuple[int, int]:
    """Whether they name one function, and how many arguments are as accepted."""
    arguments = call["arguments"]
    right = sum(
        n in arguments and _is_accepted(arguments[n], values)
        for n, values in accepted["arguments"].items()
    )
    return int(_to_wire_name(call["name"]) == _to_wire_name(accepted["name"])), right


def _build_call_pair(
    call: Mapping[str, Any] | None,
    accepted: Mapping[str, Any] | None,
    path: tuple[str, ...],
    *,
    clean: bool,
) -> CallPair:
    answer_arguments = dict(call["arguments"]) if call else {}
    accepted_arguments = dict(accepted["arguments"]) if accepted else {}
    lines = [
        _compare_argument(
            name,
            answer_arguments,
            accepted_arguments,
            path,
            compared=bool(call and accepted),
            clean=clean,
        )
        for name in [
            *accepted_arguments,
            *(name for name in answer_arguments if name not in accepted_arguments),
        ]
    ]
    return CallPair(
        answered=str(call["name"]) if call else "",
        accepted=str(accepted["name"]) if accepted else "",
        lines=tuple(lines),
    )


def _compare_argument(
    name: str,
    answer_arguments: Mapping[str, Any],
    accepted_arguments: Mapping[str, Any],
    path: tuple[str, ...],
    *,
    compared: bool,
    clean: bool,
) -> ArgumentComparison:
    """`clean`: the scorer found no fault, so that what is given is as accepted."""
    values = (
        tuple(accepted_arguments[name])
        if isinstance(accepted_arguments.get(name), list | tuple)
        else ()
    )
    has_mismatch = path[:1] == (name,)
    mark: ArgumentMark = "unmarked"
    if compared and name not in answer_arguments:
        mark = "omitted" if OMITTED in values and not has_mismatch else "missing"
    elif compared and name not in accepted_arguments:
        mark = "extra"
    elif compared and has_mismatch:
        mark = "mismatch"
    elif compared:
        mark = "accepted" if clean or _is_accepted(answer_arguments[name], values) else "differs"
    return ArgumentComparison(
        name=str(name),
        mark=mark,
        is_present=name in answer_arguments,
        value=answer_arguments.get(name),
        accepted=values,
        mismatch_path=path[1:] if has_mismatch else (),
    )


def _is_accepted(value: Any, alternatives: Any) -> bool:
    return any(_equals_accepted(value, alternative) for alternative in alternatives)


def _equals_accepted(value: Any, accepted: Any) -> bool:
    """Equality, where an accepted object holds the alternatives of each of its keys."""
    if isinstance(value, dict) and isinstance(accepted, dict):
        all_accepted = all(
            key in accepted and _is_accepted(value[key], accepted[key]) for key in value
        )
        return all_accepted and all(key in value or OMITTED in accepted[key] for key in accepted)
    if isinstance(value, list) and isinstance(accepted, list) and len(value) == len(accepted):
        return all(map(_equals_accepted, value, accepted))
    return bool(value == accepted)


def _to_wire_name(name: object) -> str:
    return _NOT_ON_THE_WIRE.sub("_", str(name))

"""Calls of an answer beside the accepted ones, argument by argument, for the eyes of a reader.

The verdict itself was reached by the scorer: here its finding is only put at its place. Values are
held against each other by plain equality, which decides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from evalcore.records import Record

Mark = Literal["accepted", "mismatch", "missing", "extra", "omitted", "differs", "unmarked"]
#: Stands among the accepted values where an argument may be left out.
OMITTED = ""
#: Calls of either side that are looked at: an answer may hold any number.
MOST = 40
_NOT_ON_THE_WIRE = re.compile(r"[^A-Za-z0-9_-]")


class Line(Record, frozen=True):
    """One argument. `accepted` are the alternatives, `given` whether the answer has the argument;
    `differs` is no fault that was found, only equal to none. `place` leads from the argument's
    value to the first mismatch."""

    name: str
    mark: Mark
    given: bool = False
    value: Any = None
    accepted: tuple[Any, ...] = ()
    place: tuple[str, ...] = ()


class Pair(Record, frozen=True):
    """A call of the answer and the accepted one it is held against; a name is empty where there is
    no call on that side."""

    answered: str
    accepted: str
    lines: tuple[Line, ...] = ()

    @property
    def same_name(self) -> bool:
        """Whether both name one function; servers take names without dots."""
        return _wire(self.answered) == _wire(self.accepted)


def pairs(body: Mapping[str, Any]) -> list[Pair]:
    """The calls of a `calls` section, the pair that the finding is about first.

    Raises KeyError, TypeError, ValueError or AttributeError for a body of another form.
    """
    answer, accepted = list(body["answer"] or ())[:MOST], list(body["accepted"] or ())[:MOST]
    found = _joined(answer, accepted, body["output"], body["expected"])
    judged = body["output"] is not None or body["expected"] is not None
    path = tuple(map(str, body["argument"]))
    return [
        _pair(
            answer[left] if left is not None else None,
            accepted[right] if right is not None else None,
            path if judged and not number else (),
            clean=not judged and len(answer) == len(accepted),
        )
        for number, (left, right) in enumerate(found)
    ]


def _joined(
    answer: Sequence[Any], accepted: Sequence[Any], output: int | None, expected: int | None
) -> list[tuple[int | None, int | None]]:
    """Indices of calls that belong together: those of the finding, then the most alike."""
    left, right = list(range(len(answer))), list(range(len(accepted)))
    joined: list[tuple[int | None, int | None]] = []
    if output in left and expected in right:
        joined.append((output, expected))
    elif len(left) == len(right) == 1:
        joined.append((0, 0))
    for one, other in joined:
        left, right = [a for a in left if a != one], [b for b in right if b != other]
    alike = sorted((_alike(answer[a], accepted[b]), -b, -a) for a in left for b in right)
    for likeness, b, a in reversed(alike):
        if likeness > (0, 0) and -a in left and -b in right:
            joined.append((-a, -b))
            left.remove(-a)
            right.remove(-b)
    return [*joined, *((None, b) for b in right), *((a, None) for a in left)]


def _alike(call: Mapping[str, Any], accepted: Mapping[str, Any]) -> tuple[int, int]:
    """Whether they name one function, and how many arguments are as accepted."""
    given = call["arguments"]
    right = sum(
        n in given and _among(given[n], values) for n, values in accepted["arguments"].items()
    )
    return int(_wire(call["name"]) == _wire(accepted["name"])), right


def _pair(
    call: Mapping[str, Any] | None,
    accepted: Mapping[str, Any] | None,
    path: tuple[str, ...],
    *,
    clean: bool,
) -> Pair:
    given = dict(call["arguments"]) if call else {}
    wanted = dict(accepted["arguments"]) if accepted else {}
    lines = [
        _line(name, given, wanted, path, compared=bool(call and accepted), clean=clean)
        for name in [*wanted, *(name for name in given if name not in wanted)]
    ]
    return Pair(
        answered=str(call["name"]) if call else "",
        accepted=str(accepted["name"]) if accepted else "",
        lines=tuple(lines),
    )


def _line(
    name: str,
    given: Mapping[str, Any],
    wanted: Mapping[str, Any],
    path: tuple[str, ...],
    *,
    compared: bool,
    clean: bool,
) -> Line:
    """`clean`: the scorer found no fault, so that what is given is as accepted."""
    values = tuple(wanted[name]) if isinstance(wanted.get(name), list | tuple) else ()
    found = path[:1] == (name,)
    mark: Mark = "unmarked"
    if compared and name not in given:
        mark = "omitted" if OMITTED in values and not found else "missing"
    elif compared and name not in wanted:
        mark = "extra"
    elif compared and found:
        mark = "mismatch"
    elif compared:
        mark = "accepted" if clean or _among(given[name], values) else "differs"
    return Line(
        name=str(name),
        mark=mark,
        given=name in given,
        value=given.get(name),
        accepted=values,
        place=path[1:] if found else (),
    )


def _among(value: Any, alternatives: Any) -> bool:
    return any(_equal(value, one) for one in alternatives)


def _equal(value: Any, accepted: Any) -> bool:
    """Equality, where an accepted object holds the alternatives of each of its keys."""
    if isinstance(value, dict) and isinstance(accepted, dict):
        given = all(key in accepted and _among(value[key], accepted[key]) for key in value)
        return given and all(key in value or OMITTED in accepted[key] for key in accepted)
    if isinstance(value, list) and isinstance(accepted, list) and len(value) == len(accepted):
        return all(map(_equal, value, accepted))
    return bool(value == accepted)


def _wire(name: object) -> str:
    return _NOT_ON_THE_WIRE.sub("_", str(name))

"""What is wrong with an answer: upstream's error type, and where in the calls it was found."""

from __future__ import annotations

from evalcore.records import Record

#: One step of a path: an argument or dictionary key, or an index within a list.
Step = str | int


class Finding(Record, frozen=True):
    """The first mismatch of an answer.

    `path` leads from the argument's name into its value, and is empty where no argument is at
    fault. `output` and `expected` are the indices of the call among the answer's calls and among
    the reference's. `cause` is the error type of the call that came nearest, where `error_type`
    itself only says that no call matched.
    """

    error_type: str
    message: str
    path: tuple[Step, ...] = ()
    output: int | None = 0
    expected: int | None = 0
    cause: str = ""

"""The errors that evalcore raises on purpose; each message says what is wrong and what to do.

No message may hold a key: text that came from outside passes `evalcore.access.secrets.scrub` first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from evalcore.i18n import Note, find_environment_language, translate_note

if TYPE_CHECKING:  # the records themselves are read by what raises these errors
    from evalcore.records import Failure

P = ParamSpec("P")
T = TypeVar("T")


def find_alike_name(name: object, names: Iterable[str], cutoff: float = 0.6) -> str:
    """The name that is most like an unknown one, by at least `cutoff` (0 to 1); "" for none."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(str(name)[:80], list(names), 1, cutoff)), "")


def suggest_name(problem: str, name: object, names: Iterable[str], cutoff: float = 0.6) -> str:
    """The problem of an unknown name, with the name that is most like it, where one is."""
    alike = find_alike_name(name, names, cutoff)
    return Note("did_you_mean", problem=problem, name=alike) if alike else problem


def join_notes(notes: Sequence[str]) -> str:
    """Several problems as one text."""
    joined = notes[0]
    for note in notes[1:]:
        joined = Note("joined", first=joined, second=note)
    return joined


def describe_os_error(error: Exception) -> str:
    """What is wrong, without the path that the system's errors repeat."""
    return (error.strerror if isinstance(error, OSError) else "") or str(error)


class EvalboardError(Exception):
    """Base of all errors of this package."""


class UsageError(EvalboardError):
    """A bad argument, option or configuration; the command line exits with status 2."""


class IntakeError(EvalboardError, ValueError):
    """A text from outside that is not what it should be; whoever reads it adds where it stands."""


class FileError(UsageError):
    """A file that cannot be used; `problem` says why without naming it."""

    def __init__(self, path: Path | str, problem: str | Exception) -> None:
        self.path = str(path)
        self.problem = problem if isinstance(problem, str) else describe_os_error(problem)
        super().__init__(Note("located", location=path, problem=self.problem))


class DatasetError(UsageError):
    """A case file that cannot be used: names the file, the line (from 1) and the field."""

    def __init__(self, path: Path | str, line: int | None, field: str, problem: str) -> None:
        self.path, self.line, self.field, self.problem = str(path), line, field, problem
        location = Note("at_line", location=path, line=line) if line else str(path)
        location = Note("at_field", location=location, field=field) if field else location
        super().__init__(Note("located", location=location, problem=problem))


class MissingDependency(UsageError):
    """An optional library is not installed."""


class RunFolderError(EvalboardError):
    """A run folder that cannot be read; nothing in it was changed."""

    @classmethod
    def locate(cls, path: Path | str, error: Exception) -> RunFolderError:
        """What is wrong with a path."""
        return cls(Note("located", location=path, problem=describe_os_error(error)))


class RunRemoved(RunFolderError):
    """The folder of a run went away under its worker, which makes nothing of it anew."""

    def __init__(self, path: Path) -> None:
        super().__init__(Note("run_removed", path=path))


class IndexFileError(EvalboardError):
    """The index cannot be read or written; the run folders, from which it is rebuilt, are whole."""


class RunBusy(EvalboardError):
    """A worker holds the lock of this run."""


class RunStopped(EvalboardError):
    """A run must ask nothing more, for a reason that concerns all of its samples: what is in flight
    is waited for, what is not yet asked stays open, and the run can be resumed."""


class BudgetSpent(RunStopped):
    """What is left of the budget may not pay for another answer."""


class TargetFailure(EvalboardError):
    """A request to a target did not yield a completion."""

    def __init__(self, failure: Failure) -> None:
        self.failure = failure
        super().__init__(failure.localizable_message)


class EnvironmentFailure(EvalboardError):
    """Our own side failed (engine, sandbox): never a wrong answer of the model."""


class CannotWrite(EnvironmentFailure):
    """Nothing can be written into a run any more, so that asking on would be in vain."""

    def __init__(self, path: Path, error: OSError) -> None:
        super().__init__(Note("run_cannot_write", path=path, problem=error.strerror or error))


def speak_plainly(function: Callable[P, T]) -> Callable[P, T]:
    """Make a UsageError of what the disk refuses, and say what is wrong in the language of the
    environment, as the command line does."""

    @wraps(function)
    def call(*arguments: P.args, **named: P.kwargs) -> T:
        try:
            try:
                return function(*arguments, **named)
            except OSError as error:
                raise FileError(error.filename or "evalcore", error) from error
        except EvalboardError as error:
            text = translate_note(str(error), find_environment_language(), in_terminal=True)
            error.args = (text, *error.args[1:])
            raise

    return call

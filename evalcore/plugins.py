"""Load what other distributions add by entry points, and keep their faults from all the rest.

A plug-in is code of somebody else that runs in this process. One that cannot be imported, or brings
something that is not usable, is left out and named with a remedy; everything else goes on without
it. What this cannot prevent: a plug-in that ends the process on purpose (`os._exit`) or crashes it.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import redirect_stdout
from importlib.metadata import Distribution, EntryPoint, distributions, entry_points
from math import isfinite
from typing import Any, TypeVar

import msgspec

from evalcore.errors import UsageError
from evalcore.i18n import Note
from evalcore.plain_text import to_single_line
from evalcore.records import Record

BENCHMARKS = "evalcore.benchmarks"
SUITES = "evalcore.suites"
TARGETS = "evalcore.targets"
FACTORIES = "evalcore.target_factories"
ENGINES = "evalcore.engines"
#: Seconds that an import may take; a card is data and needs no heavy import.
IMPORT_SECONDS = 20.0
#: What keys may look like: they stand in URLs, file names, options (`KEY.name=value`) and frames.
_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_LONGEST = 300  # characters of a reason
_UNKNOWN = "unknown distribution"

R = TypeVar("R", bound=Record)
_thread = threading.local()
_redirect_lock = threading.Lock()  # two threads that redirect would restore the wrong stream


class SkippedPlugin(Record, frozen=True):
    """A plug-in that is not used: its entry point, the distribution, why, and what helps."""

    name: str
    distribution: str
    why: str
    remedy: str

    def __str__(self) -> str:
        return f"left out: {self.name} ({self.distribution}): {self.why}; {self.remedy}"


class UnusablePlugin(Exception):
    """Why a plug-in's object cannot be used, with what its author can do."""

    def __init__(self, why: str, remedy: str) -> None:
        self.why, self.remedy = why, remedy
        super().__init__(why)


def load_plugins(
    group: str, kind: type[R], reserved: Iterable[str], check: Callable[[R], str]
) -> tuple[list[R], list[SkippedPlugin]]:
    """The records of a group that can be used, by name of distribution, and those that cannot.
    `check` returns the key of a record and raises Unusable. Of equal keys the first counts; those
    in `reserved` are built in and come before all plug-ins."""
    keys, usable, skipped = dict.fromkeys(reserved, "Evalboard"), [], []
    for point in _list_entry_points(group):
        try:
            record = _to_plugin_record(_import_plugin(point), kind)
            key = check(record)
            if key in keys:
                raise UnusablePlugin(f"the key {key!r} is taken by {keys[key]}", "rename it")
        except UnusablePlugin as error:
            skipped.append(_build_skipped_plugin(point, error))
            continue
        keys[key] = _describe_distribution(point)
        usable.append(record)
    return usable, skipped


def list_installed_plugins() -> list[tuple[str, str, str]]:
    """The entry points of all groups, usable or not: what they add, name, distribution."""
    return [
        (group.rpartition(".")[2].replace("_", " "), point.name, _describe_distribution(point))
        for group in (BENCHMARKS, SUITES, TARGETS, FACTORIES, ENGINES)
        for point in _list_entry_points(group)
    ]


def load_factory(group: str, name: str) -> Any | None:
    """Load the callable of the first entry point of that name; None if there is none. Raises
    UsageError, naming the distribution, if it cannot be used."""
    point = next(
        (candidate for candidate in _list_entry_points(group) if candidate.name == name), None
    )
    if point is None:
        return None
    try:
        factory = _import_plugin(point)
        if not callable(factory):
            raise UnusablePlugin(
                f"its object is a {_get_type_name(factory)}, not a function", "fix the plug-in"
            )
    except UnusablePlugin as error:
        raise UsageError(str(_build_skipped_plugin(point, error))) from None
    return factory


def is_key(key: str) -> bool:
    """Whether a text can stand as a key in an address, an option and a frame."""
    return _KEY.fullmatch(key) is not None


def check_key(what: str, key: str) -> None:
    """Raises Unusable for a key that cannot stand in an address or an option."""
    if not is_key(key):
        raise UnusablePlugin(
            f"{what} {key[:80]!r} is not usable as a key",
            "use letters, digits, _ and -, at most 64, a letter first",
        )


def check_unique(what: str, keys: Iterable[str]) -> None:
    """Raises Unusable for keys that are unusable or stand there twice."""
    seen: set[str] = set()
    for key in keys:
        check_key(what, key)
        if key in seen:
            raise UnusablePlugin(f"{what} {key!r} is listed twice", "remove or rename the second")
        seen.add(key)


def check_weight(what: str, weight: float | None) -> None:
    """Raises Unusable for a weight that is negative, infinite or NaN."""
    if weight is not None and not (isfinite(weight) and weight >= 0):
        raise UnusablePlugin(f"{what} has the weight {weight}", "give a finite number from 0 up")


def _list_entry_points(group: str) -> list[EntryPoint]:
    """By distribution and name: which of two comes first must not depend on the file system."""
    try:
        points = list(entry_points(group=group))
    except Exception:  # one installed distribution with damaged metadata spoils the whole answer
        points = [point for item in distributions() for point in _read_entry_points(item, group)]
    return sorted(points, key=lambda item: (_describe_distribution(item), item.name))


def _read_entry_points(distribution: Distribution, group: str) -> list[EntryPoint]:
    """The entry points of one distribution; none where its metadata cannot be read."""
    try:
        return list(distribution.entry_points.select(group=group))
    except Exception:
        return []


def _import_plugin(point: EntryPoint) -> Any:
    """The object of an entry point, imported in a thread of its own. What it prints goes to
    standard error, since standard output may be data. Raises Unusable, whatever the import raises,
    and where it takes longer than IMPORT_SECONDS."""
    if getattr(_thread, "importing", False):
        raise UsageError(Note("plugin_early"))
    outcome: list[Any] = []
    failure: list[BaseException] = []

    def run_import() -> None:
        _thread.importing = True
        try:
            outcome.append(point.load())
        except BaseException as error:  # SystemExit too: a plug-in does not end the application
            failure.append(error)

    thread = threading.Thread(target=run_import, name=f"plug-in {point.name}", daemon=True)
    with _redirect_lock, redirect_stdout(sys.stderr):
        thread.start()
        thread.join(IMPORT_SECONDS)
    if failure:
        raise UnusablePlugin(_format_error_line(failure[0]), "fix, upgrade or uninstall it")
    if not outcome:
        raise UnusablePlugin(
            f"its import takes more than {IMPORT_SECONDS:g} seconds",
            "let the entry point name a light module that contains only the card",
        )
    return outcome[0]


def _to_plugin_record(loaded: Any, kind: type[R]) -> R:
    """The object as a record whose every field has its declared type."""
    if not isinstance(loaded, kind):
        raise UnusablePlugin(
            f"its object is a {_get_type_name(loaded)}, not a {kind.__name__}",
            f"let the entry point name a {kind.__name__}",
        )
    try:
        return msgspec.convert(msgspec.to_builtins(loaded), kind)
    except (msgspec.ValidationError, TypeError, ValueError, RecursionError) as error:
        raise UnusablePlugin(
            f"a field of its {kind.__name__} is wrong: {_format_error_line(error)}", "fix it"
        ) from (error)
    except AttributeError as error:
        raise UnusablePlugin(
            f"its {kind.__name__} lacks a field: {_format_error_line(error)}", "fill it"
        ) from error


def _build_skipped_plugin(point: EntryPoint, error: UnusablePlugin) -> SkippedPlugin:
    return SkippedPlugin(
        to_single_line(point.name, _LONGEST),
        _describe_distribution(point),
        to_single_line(error.why, _LONGEST),
        error.remedy,
    )


def _describe_distribution(point: EntryPoint) -> str:
    """Name and version; metadata of others may lack or break either."""
    try:
        name, version = (str(getattr(point.dist, part, "") or "") for part in ("name", "version"))
    except Exception:
        return _UNKNOWN
    return to_single_line(f"{name} {version}", _LONGEST) or _UNKNOWN


def _get_type_name(value: Any) -> str:
    return value.__name__ if isinstance(value, type) else type(value).__name__


def _format_error_line(error: BaseException) -> str:
    """An error as one line; its own text may fail or be of any length."""
    try:
        text = str(error)
    except Exception:
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__

"""What can be said of a patch without running it: the place it changes, and how near it is to gold.

None of this says that an issue is resolved. A correct patch can share no line with the gold patch
and a wrong one nearly all of them, so these numbers are a funnel and a hint, and never a verdict.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from evalcore.benchmarks.swe_bench.diff import FileDiff, Hunk, parse
from evalcore.benchmarks.swe_bench.machinery_paths import test_infrastructure
from evalcore.records import Record

__all__ = [
    "Measures",
    "measures",
    "suspicious_lines",
    "test_infrastructure",
    "touched_infrastructure",
]

#: Added text that a patch of source code hardly needs and a forged test result does: ending the
#: process, hooks of the runner, the words and marks that a log is graded by.
_MARKS = ("os._exit", "pytest_runtest", "PASSED ", ">>>>> ", "SWEBENCH_TEST_EXIT_CODE")
#: How much of suspicious lines is kept: lines, and characters of each.
_KEPT_LINES, _KEPT_LENGTH = 50, 200

#: A changed line with its file: (path, "+" or "-", text without blanks at its end).
ChangedLine = tuple[str, str, str]


class Measures(Record, frozen=True):
    """The funnel of one patch; shares are 0 to 1.

    `applied` is how the official chain applied the patch: "" for not at all, None: not tried.
    Precision, recall and F1 look at source files: test infrastructure counts only where the gold
    patch touches it too, so that a patch which adds a test of its own loses nothing.
    """

    files: int
    file_precision: float
    file_recall: float
    hunk_recall: float
    line_f1: float
    touches_source: bool
    identical_to_gold: bool
    infrastructure: tuple[str, ...] = ()
    suspicious: tuple[str, ...] = ()
    applied: str | None = None


def measures(gold: str, patch: str, applied: str | None = None) -> Measures:
    """Compare a patch with the gold patch; both are unified diffs of the same tree."""
    wanted, all_files = parse(gold), parse(patch)
    places = {_place(one) for one in wanted}
    files = [one for one in all_files if _place(one) in places or not _is_infrastructure(one)]
    touched = {_place(one) for one in files}
    return Measures(
        files=len({_place(one) for one in all_files}),
        file_precision=_share(len(touched & places), len(touched)),
        file_recall=_share(len(touched & places), len(places)),
        hunk_recall=_hunk_recall(wanted, files),
        line_f1=_line_f1(wanted, files),
        touches_source=any(not _is_infrastructure(one) for one in all_files),
        identical_to_gold=bool(all_files) and _normalised(wanted) == _normalised(all_files),
        infrastructure=touched_infrastructure(patch),
        suspicious=suspicious_lines(patch),
        applied=applied,
    )


def touched_infrastructure(patch: str) -> tuple[str, ...]:
    """Every path of test infrastructure that a header of the patch names, sorted."""
    named = {path for one in parse(patch) for path in one.named}
    return tuple(sorted(path for path in named if test_infrastructure(path)))


def suspicious_lines(patch: str) -> tuple[str, ...]:
    """Added lines that could forge test results, shortened; at most 50."""
    added = (line for one in parse(patch) for hunk in one.hunks for line in hunk.added)
    found = []
    for line in added:
        if _suspicious(line):
            found.append(line.strip()[:_KEPT_LENGTH])
            if len(found) == _KEPT_LINES:
                break
    return tuple(found)


def _suspicious(line: str) -> bool:
    _, modules, rest = line.partition("sys.modules")
    return any(mark in line for mark in _MARKS) or (bool(modules) and "pytest" in rest)


def _place(one: FileDiff) -> str:
    """Where the file lies before the patch; a new file after it."""
    return one.old_path or one.new_path


def _is_infrastructure(one: FileDiff) -> bool:
    return test_infrastructure(one.path)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _hunk_recall(gold: Sequence[FileDiff], files: Sequence[FileDiff]) -> float:
    """The share of gold hunks in whose lines (with context, before the patch) something changes."""
    changed: dict[str, set[int]] = {}
    for one in files:
        places = changed.setdefault(_place(one), set())
        for hunk in one.hunks:
            places.update(_changed_places(hunk))
    hunks = [(_place(one), hunk) for one in gold for hunk in one.hunks]
    hit = [
        any(
            hunk.old_start <= line < hunk.old_start + max(hunk.old_count, 1)
            for line in changed.get(path, ())
        )
        for path, hunk in hunks
    ]
    return _share(sum(hit), len(hit))


def _changed_places(hunk: Hunk) -> Iterable[int]:
    """Old line numbers that a hunk removes, and those on both sides of what it inserts."""
    at = hunk.old_start if hunk.old_count else hunk.old_start + 1
    for line in hunk.lines:
        if line.startswith("+"):
            yield from (at - 1, at)
        elif not line.startswith("\\"):
            if line.startswith("-"):
                yield at
            at += 1


def _line_f1(gold: Sequence[FileDiff], files: Sequence[FileDiff]) -> float:
    """F1 of the changed lines as multisets; blank lines say nothing and are left out."""
    wanted = Counter(line for line in _changed_lines(gold) if line[2])
    given = Counter(line for line in _changed_lines(files) if line[2])
    return _share(2 * (wanted & given).total(), wanted.total() + given.total())


def _changed_lines(files: Iterable[FileDiff]) -> Iterable[ChangedLine]:
    for one in files:
        for hunk in one.hunks:
            for line in hunk.lines:
                if line.startswith(("+", "-")):
                    yield _place(one), line[0], line[1:].rstrip()


def _normalised(files: Sequence[FileDiff]) -> list[tuple[str, str, list[ChangedLine]]]:
    """The changes of a patch without context, line numbers, blanks at line ends and file order."""
    return sorted(
        (one.old_path, one.new_path, list(_changed_lines([one])))
        for one in files
        if one.hunks or one.old_path != one.new_path
    )

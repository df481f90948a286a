"""What can be said of a patch without running it: the places it changes, whether they belong to
the machinery of tests, and how near it is to the reference.

None of this says that an issue is resolved. A correct patch can share no line with the gold patch
and a wrong one nearly all of them, so these numbers are a funnel and a hint, and never a verdict.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import PurePosixPath

from evalcore.benchmarks.swe_bench.diff import FileDiff, Hunk, parse_diff
from evalcore.records import Record

# Which files decide how tests are found, run and reported, instead of what the program does. A
# patch that touches one of them can make tests pass without solving anything, so the hardened run
# leaves them out. SWE-bench builds its gold patches from paths without the word "test", so that the
# rules on names below cost no gold patch anything; only configuration that a project also ships
# (`setup.cfg`, `pyproject.toml`) can be part of one, and the gold patch is run hardened as well.

#: Read by pytest, tox, nox and coverage before a test runs, or by Python at its start.
_NAMES = frozenset(
    {
        *("conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini"),
        *("noxfile.py", "setup.cfg", "pyproject.toml", ".coveragerc"),
        *("sitecustomize.py", "usercustomize.py"),
    }
)
#: Path entries that Python runs at its start, and byte code that stands in for a source file.
_SUFFIXES = (".pth", ".pyc")
_TEST_FILES = ("test_*.py", "*_test.py", "test.py", "tests.py")
_FOLDERS = frozenset({"test", "tests", "testing", "e2e", "__pycache__"})
#: Modules of the runner: one of this name at the top of a repository would be imported instead.
_SHADOWED = frozenset({"pytest", "_pytest", "pluggy", "iniconfig", "unittest"})


def is_test_infrastructure(path: str) -> bool:
    """Whether a path of a repository, with `/` between its parts, is test infrastructure."""
    parts = PurePosixPath(path).parts
    if not parts:
        return False
    name = parts[-1]
    return (
        name in _NAMES
        or name.endswith(_SUFFIXES)
        or any(fnmatchcase(name, pattern) for pattern in _TEST_FILES)
        or not _FOLDERS.isdisjoint(parts[:-1])
        or parts[0].removesuffix(".py") in _SHADOWED
    )


is_test_infrastructure.__test__ = False  # type: ignore[attr-defined]  # pytest: this is no test


#: Added text that a patch of source code hardly needs and a forged test result does: ending the
#: process, hooks of the runner, the words and marks that a log is graded by.
_MARKS = ("os._exit", "pytest_runtest", "PASSED ", ">>>>> ", "SWEBENCH_TEST_EXIT_CODE")
#: How much of suspicious lines is kept: lines, and characters of each.
_MAX_LINES, _MAX_LINE_LENGTH = 50, 200

#: A changed line with its file: (path, "+" or "-", text without blanks at its end).
ChangedLine = tuple[str, str, str]


class Measures(Record, frozen=True):
    """The funnel of one patch; shares are 0 to 1. `applied` is how the official chain applied the
    patch: "" for not at all, None: not tried. Precision, recall and F1 look at source files: test
    infrastructure counts only where the gold patch touches it too, so that a patch which adds a
    test of its own loses nothing."""

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


def measure_patch(gold: str, patch: str, applied: str | None = None) -> Measures:
    """Compare a patch with the gold patch; both are unified diffs of the same tree."""
    gold_files, all_files = parse_diff(gold), parse_diff(patch)
    gold_paths = {_original_path(file) for file in gold_files}
    files = [
        file
        for file in all_files
        if _original_path(file) in gold_paths or not is_test_infrastructure(file.path)
    ]
    patch_paths = {_original_path(file) for file in files}
    return Measures(
        files=len({_original_path(file) for file in all_files}),
        file_precision=_safe_ratio(len(patch_paths & gold_paths), len(patch_paths)),
        file_recall=_safe_ratio(len(patch_paths & gold_paths), len(gold_paths)),
        hunk_recall=_compute_hunk_recall(gold_files, files),
        line_f1=_compute_line_f1(gold_files, files),
        touches_source=not all(is_test_infrastructure(file.path) for file in all_files),
        identical_to_gold=bool(all_files)
        and _normalize_changes(gold_files) == _normalize_changes(all_files),
        infrastructure=find_touched_infrastructure(patch),
        suspicious=find_suspicious_lines(patch),
        applied=applied,
    )


def find_touched_infrastructure(patch: str) -> tuple[str, ...]:
    """Every path of test infrastructure that a header of the patch names, sorted."""
    header_paths = {path for file in parse_diff(patch) for path in file.header_paths}
    return tuple(sorted(path for path in header_paths if is_test_infrastructure(path)))


def find_suspicious_lines(patch: str) -> tuple[str, ...]:
    """Added lines that could forge test results, shortened; at most 50."""
    added = (line for file in parse_diff(patch) for hunk in file.hunks for line in hunk.added_lines)
    suspicious = (line.strip()[:_MAX_LINE_LENGTH] for line in added if _is_suspicious_line(line))
    return tuple(islice(suspicious, _MAX_LINES))


def _is_suspicious_line(line: str) -> bool:
    _, _, rest = line.partition("sys.modules")
    return "pytest" in rest or any(mark in line for mark in _MARKS)


def _original_path(file: FileDiff) -> str:
    """Where the file lies before the patch; a new file after it."""
    return file.old_path or file.new_path


def _safe_ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _compute_hunk_recall(gold: Sequence[FileDiff], files: Sequence[FileDiff]) -> float:
    """The share of gold hunks in whose lines (with context, before the patch) something changes."""
    changed: dict[str, set[int]] = {}
    for file in files:
        line_numbers = changed.setdefault(_original_path(file), set())
        for hunk in file.hunks:
            line_numbers.update(_iter_changed_numbers(hunk))
    hits: list[bool] = []
    for file in gold:
        lines = changed.get(_original_path(file), set())
        for hunk in file.hunks:
            end = hunk.old_start + max(hunk.old_count, 1)
            hits.append(any(hunk.old_start <= line < end for line in lines))
    return _safe_ratio(sum(hits), len(hits))


def _iter_changed_numbers(hunk: Hunk) -> Iterable[int]:
    """Old line numbers that a hunk removes, and those on both sides of what it inserts."""
    at = hunk.old_start if hunk.old_count else hunk.old_start + 1
    for line in hunk.lines:
        if line.startswith("+"):
            yield from (at - 1, at)
        elif not line.startswith("\\"):
            if line.startswith("-"):
                yield at
            at += 1


def _compute_line_f1(gold: Sequence[FileDiff], files: Sequence[FileDiff]) -> float:
    """F1 of the changed lines as multisets; blank lines say nothing and are left out."""
    gold_lines = Counter(line for line in _iter_changed_lines(gold) if line[2])
    patch_lines = Counter(line for line in _iter_changed_lines(files) if line[2])
    return _safe_ratio(
        2 * (gold_lines & patch_lines).total(), gold_lines.total() + patch_lines.total()
    )


def _iter_changed_lines(files: Iterable[FileDiff]) -> Iterable[ChangedLine]:
    for file in files:
        for hunk in file.hunks:
            for line in hunk.lines:
                if line.startswith(("+", "-")):
                    yield _original_path(file), line[0], line[1:].rstrip()


def _normalize_changes(files: Sequence[FileDiff]) -> list[tuple[str, str, list[ChangedLine]]]:
    """The changes of a patch without context, line numbers, blanks at line ends and file order."""
    return sorted(
        (file.old_path, file.new_path, list(_iter_changed_lines([file])))
        for file in files
        if file.hunks or file.old_path != file.new_path
    )

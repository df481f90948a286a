"""The official way of taking a patch out of a reply, traps included, and of applying it to a
git work tree, from strict to fuzzy.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from evalcore.benchmarks.swe_bench.checkout import build_git_environment
from evalcore.errors import EnvironmentFailure
from evalcore.i18n import Note
from evalcore.records import Record
from evalcore.sandbox.filesystem import remove_tree

# The official way of taking a patch out of a reply. Source of the rules: `extract_diff` of swebench
# 5.0.2. Candidates are what stands between a pair of equal tags, then what stands in a fence. The
# first one labelled `diff` or `patch` is the patch, else the first of any label, else the reply up
# to `</s>`. So a draft before the final patch wins, and so does any tag of prose where no label
# fits. The ladder (`repair_patch`) does better; this is the measure. Both searches take linear
# time: where each name is closed is looked up in advance.

_LABELS = frozenset({"diff", "patch"})
_OPENING = re.compile(r"<([\w-]+)>")
_CLOSING = re.compile(r"</([\w-]+)>")
_FENCE = re.compile(r"```(\w+)?\n")


def extract_official_patch(text: str) -> str:
    """The patch that the official extraction finds in `text`; text of any kind if there is none."""
    candidates = [*_iter_tagged_bodies(text), *_iter_fenced_bodies(text)]
    labelled = next((body for label, body in candidates if label in _LABELS), None)
    if labelled is not None:
        return labelled
    return candidates[0][1] if candidates else text.split("</s>")[0]


def _iter_tagged_bodies(text: str) -> Iterator[tuple[str, str]]:
    """(name, content) of pairs of equal tags that do not lie in one another, in order."""
    closings: dict[str, list[int]] = {}
    for closing in _CLOSING.finditer(text):
        closings.setdefault(closing[1], []).append(closing.start())
    passed = 0
    for opening in _OPENING.finditer(text):
        if opening.start() < passed:
            continue
        positions = closings.get(opening[1], [])
        nearest = bisect_left(positions, opening.end())
        if nearest < len(positions):
            end = positions[nearest]
            passed = end + len(opening[1]) + len("</>")
            yield opening[1], text[opening.end() : end]


def _iter_fenced_bodies(text: str) -> Iterator[tuple[str, str]]:
    """(language, content) of closed fences, in order."""
    at = 0
    while opening := _FENCE.search(text, at):
        end = text.find("```", opening.end())
        if end < 0:
            return
        at = end + len("```")
        yield opening[1] or "", text[opening.end() : end]


# Applying a patch to a git work tree, from strict to fuzzy. Source of the rules: `GIT_APPLY_CMDS`
# and their loop in swebench 5.0.2. The commands are tried in order, with `git checkout -- . ; git
# clean -fd` before each but the first; the first that ends with status 0 has applied the patch,
# whether it changed anything or not. If none does, a patch that could be taken back counts as
# already applied. The patch is hostile. git takes no path out of the tree, none in `.git` and none
# behind a link. GNU patch takes `.git` (a hook or a filter there would be run by the next git
# command), so git's folder is elsewhere while it runs, and a tree in which it leaves a `.git` is
# put back; and it runs `ed` on ed scripts, so that text which could be one never reaches it.

ApplyMethod = Literal["apply", "3way", "reject", "fuzz", "already", ""]

#: Seconds that one command may take; one that takes longer has failed.
SECONDS = 60.0
#: Characters of a patch beyond which none is tried.
MAX_PATCH_CHARS = 16_000_000
_FUZZY = ("patch", "--batch", "--forward", "--fuzz=5", "-p1", "-i")
#: The question whether the patch is in the tree already comes last.
_METHODS: tuple[tuple[ApplyMethod, tuple[str, ...]], ...] = (
    ("apply", ("git", "apply", "--verbose")),
    ("3way", ("git", "apply", "--verbose", "--3way")),
    ("reject", ("git", "apply", "--verbose", "--reject")),
    ("fuzz", _FUZZY),
    ("already", ("git", "apply", "--check", "--reverse")),
)
_RESET = (("git", "checkout", "--", "."), ("git", "clean", "-fd"))
_PRISTINE = (("git", "reset", "--hard", "--quiet"), ("git", "clean", "-ffdx", "--quiet"))
_STATUS = (
    *("git", "status", "--porcelain", "-z", "--untracked-files=all"),
    *("--ignored=traditional", "--ignore-submodules=all", "--no-renames"),
)
#: A line by which GNU patch takes what follows for a script of the editor ed.
_ED_COMMAND = re.compile(r"^[ \tX]*\d[\d,]*[ \t]*[acdis][ \t\r]*$", re.MULTILINE)
_LEFTOVERS = (".orig", ".rej")
_LOG = 20_000  # characters kept of what one command prints


class ApplyResult(Record, frozen=True):
    """`how` the patch was applied, "" where it was not and the tree is as before; `log` of all
    commands; `changed` is False where a patch was applied and the tree is still the same."""

    how: ApplyMethod = ""
    log: str = ""
    changed: bool = False


class _CommandResult(Record, frozen=True):
    ok: bool
    output: str


def apply_official(checkout: Path, patch: str) -> ApplyResult:
    """Apply `patch` to a clean work tree with the official chain. Raises EnvironmentFailure where
    git or patch is missing or the folder is no work tree."""
    if not (checkout / ".git").exists():
        raise EnvironmentFailure(Note("git_no_tree", path=checkout))
    if len(patch) > MAX_PATCH_CHARS:
        return ApplyResult(log=f"a patch of more than {MAX_PATCH_CHARS} characters is not tried")
    before = _read_git_status(checkout)
    with tempfile.TemporaryDirectory(prefix="evalcore-patch-") as folder:
        file = Path(folder) / "patch.diff"
        file.write_bytes(patch.encode("utf-8", "replace"))
        log: list[str] = []
        how = _try_methods(checkout, file, patch, log)
    if not how:
        _run_all(_PRISTINE, checkout)
    changed = bool(how) and _read_git_status(checkout) != before
    return ApplyResult(how, "\n".join(log), changed)


def _try_methods(checkout: Path, file: Path, patch: str, log: list[str]) -> ApplyMethod:
    """The first method that applies the patch; what the commands print goes to `log`."""
    for how, command in _METHODS:
        if how not in ("apply", "already"):
            _run_all(_RESET, checkout)  # what cannot be reset stays as it is there, too
        if how == "fuzz":
            result = _apply_fuzzy(checkout, file, patch)
        else:
            result = _run_patch_command((*command, str(file)), checkout)
        log.append(f"$ {' '.join(command)}: {'ok' if result.ok else 'failed'}\n{result.output}")
        if result.ok:
            return how
    return ""


def _run_all(commands: Iterable[tuple[str, ...]], folder: Path) -> None:
    for command in commands:
        _run_patch_command(command, folder)


def _apply_fuzzy(checkout: Path, file: Path, patch: str) -> _CommandResult:
    if _ED_COMMAND.search(patch):
        return _CommandResult(
            False, "not run: the text could be taken for a script of the editor ed"
        )
    with _move_git_aside(checkout):
        result = _run_patch_command((*_FUZZY, str(file)), checkout)
        planted = _find_git_entries(checkout)
        for path in planted:
            remove_tree(path)
    if planted:
        _run_all(_RESET, checkout)
        return _CommandResult(
            False, f"{result.output}\nundone: the patch writes into a folder .git"
        )
    return result


@contextmanager
def _move_git_aside(checkout: Path) -> Iterator[None]:
    """Keep git's own folder out of the tree for a while, beside it, so that it is only renamed."""
    try:
        aside = Path(tempfile.mkdtemp(prefix=".evalcore-git-", dir=checkout.parent))
    except OSError as error:
        raise EnvironmentFailure(Note("git_beside", message=error)) from error
    (checkout / ".git").rename(aside / "git")
    try:
        yield
    finally:
        (aside / "git").rename(checkout / ".git")
        aside.rmdir()


def _find_git_entries(checkout: Path) -> list[Path]:
    paths: list[Path] = []
    for folder, below, names in os.walk(checkout):
        hits = [name for name in (*below, *names) if name.casefold() == ".git"]
        paths += [Path(folder) / name for name in hits]
        below[:] = [name for name in below if name not in hits]
    return paths


def _read_git_status(checkout: Path) -> frozenset[str]:
    """What differs from the commit, without the files that patch leaves beside what it changes."""
    result = _run_patch_command(_STATUS, checkout, whole=True)
    if not result.ok:
        raise EnvironmentFailure(Note("git_status", path=checkout, message=result.output[-300:]))
    entries = filter(None, result.output.split("\0"))
    return frozenset(entry for entry in entries if not _is_leftover(entry, checkout))


def _is_leftover(entry: str, checkout: Path) -> bool:
    path = Path(entry[3:])
    return (
        entry[:2] in ("??", "!!")
        and path.suffix in _LEFTOVERS
        and (checkout / path.with_suffix("")).exists()
    )


def _run_patch_command(
    command: tuple[str, ...], folder: Path, *, whole: bool = False
) -> _CommandResult:
    """Run one command in its own process group. Raises EnvironmentFailure where it is missing."""
    try:
        child = subprocess.Popen(
            command,
            cwd=folder,
            env=build_git_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except FileNotFoundError:
        name = command[0]
        raise EnvironmentFailure(Note("not_installed", program=name, package=name)) from None
    try:
        output, _ = child.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
        return _CommandResult(False, f"killed after {SECONDS:g} s")
    text = output.decode("utf-8", "replace")
    if len(text) > _LOG and not whole:
        text = f"{text[: _LOG // 2]}\n[...]\n{text[-_LOG // 2 :]}"
    return _CommandResult(child.returncode == 0, text)

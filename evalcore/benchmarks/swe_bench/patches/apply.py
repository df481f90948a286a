"""Applying a patch to a git work tree in the official way, from strict to fuzzy.

Source of the rules: `GIT_APPLY_CMDS` and their loop in swebench 5.0.2. The commands are tried in
order, with `git checkout -- . ; git clean -fd` before each but the first; the first that ends with
status 0 has applied the patch, whether it changed anything or not. If none does, a patch that could
be taken back counts as already applied.

The patch is hostile. git takes no path out of the tree, none in `.git` and none behind a link. GNU
patch takes `.git` (a hook or a filter there would be run by the next git command), so git's folder
is elsewhere while it runs, and a tree in which it leaves a `.git` is put back; and it runs `ed` on
ed scripts, so that text which could be one never reaches it.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from evalcore.benchmarks.swe_bench.execution.git import environment
from evalcore.errors import EnvironmentFailure
from evalcore.records import Record
from evalcore.sandbox.folder import remove

How = Literal["apply", "3way", "reject", "fuzz", "already", ""]

#: Seconds that one command may take; one that takes longer has failed.
SECONDS = 60.0
#: Characters of a patch beyond which none is tried.
LARGEST = 16_000_000
_GIT_COMMANDS: tuple[tuple[How, tuple[str, ...]], ...] = (
    ("apply", ("git", "apply", "--verbose")),
    ("3way", ("git", "apply", "--verbose", "--3way")),
    ("reject", ("git", "apply", "--verbose", "--reject")),
)
_FUZZY = ("patch", "--batch", "--forward", "--fuzz=5", "-p1", "-i")
_BACK = ("git", "apply", "--check", "--reverse")
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
_NOT_INSTALLED = "{} is not installed; install it (Debian: apt install {})"


class Applied(Record, frozen=True):
    """`how` the patch was applied, "" where it was not and the tree is as before; `log` of all
    commands; `changed` is False where a patch was applied and the tree is still the same."""

    how: How = ""
    log: str = ""
    changed: bool = False


class _Ended(Record, frozen=True):
    ok: bool
    output: str


def apply_official(checkout: Path, patch: str) -> Applied:
    """Apply `patch` to a clean work tree with the official chain.

    Raises EnvironmentFailure where git or patch is missing or the folder is no work tree.
    """
    if not (checkout / ".git").exists():
        raise EnvironmentFailure(f"no work tree of git: {checkout}")
    if len(patch) > LARGEST:
        return Applied(log=f"a patch of more than {LARGEST} characters is not tried")
    before = _status(checkout)
    with tempfile.TemporaryDirectory(prefix="evalcore-patch-") as folder:
        file = Path(folder) / "patch.diff"
        file.write_bytes(patch.encode("utf-8", "replace"))
        how, log = _chain(checkout, file)
        if not how:
            how, log = _last_attempts(checkout, file, patch, log)
    if not how:
        for command in _PRISTINE:
            _run(command, checkout)
    return Applied(how=how, log="\n".join(log), changed=bool(how) and _status(checkout) != before)


def _chain(checkout: Path, file: Path) -> tuple[How, list[str]]:
    log: list[str] = []
    for number, (how, command) in enumerate(_GIT_COMMANDS):
        if number:
            _reset(checkout)
        ended = _run((*command, str(file)), checkout)
        log.append(_titled(command, ended))
        if ended.ok:
            return how, log
    return "", log


def _last_attempts(checkout: Path, file: Path, patch: str, log: list[str]) -> tuple[How, list[str]]:
    """GNU patch with fuzz, then the question whether the patch is in the tree already."""
    _reset(checkout)
    ended = _fuzzy(checkout, file, patch)
    log = [*log, _titled(_FUZZY, ended)]
    if ended.ok:
        return "fuzz", log
    ended = _run((*_BACK, str(file)), checkout)
    return ("already" if ended.ok else ""), [*log, _titled(_BACK, ended)]


def _fuzzy(checkout: Path, file: Path, patch: str) -> _Ended:
    if _ED_COMMAND.search(patch):
        return _Ended(False, "not run: the text could be taken for a script of the editor ed")
    with _without_git(checkout):
        ended = _run((*_FUZZY, str(file)), checkout)
        planted = _planted(checkout)
        for place in planted:
            remove(place)
    if planted:
        _reset(checkout)
        return _Ended(False, f"{ended.output}\nundone: the patch writes into a folder .git")
    return ended


@contextmanager
def _without_git(checkout: Path) -> Iterator[None]:
    """Keep git's own folder out of the tree for a while, beside it, so that it is only renamed."""
    try:
        aside = Path(tempfile.mkdtemp(prefix=".evalcore-git-", dir=checkout.parent))
    except OSError as error:
        raise EnvironmentFailure(f"cannot write beside the work tree: {error}") from error
    (checkout / ".git").rename(aside / "git")
    try:
        yield
    finally:
        (aside / "git").rename(checkout / ".git")
        aside.rmdir()


def _planted(checkout: Path) -> list[Path]:
    """Whatever in the tree is called `.git`, in any case."""
    found: list[Path] = []
    for folder, below, names in os.walk(checkout):
        hits = [name for name in (*below, *names) if name.casefold() == ".git"]
        found += [Path(folder) / name for name in hits]
        below[:] = [name for name in below if name not in hits]
    return found


def _reset(checkout: Path) -> None:
    """As the official loop does it; what cannot be reset stays as it is there, too."""
    for command in _RESET:
        _run(command, checkout)


def _status(checkout: Path) -> frozenset[str]:
    """What differs from the commit, without the files that patch leaves beside what it changes."""
    ended = _run(_STATUS, checkout, whole=True)
    if not ended.ok:
        raise EnvironmentFailure(f"git status failed in {checkout}: {ended.output[-300:]}")
    entries = {entry for entry in ended.output.split("\0") if entry}
    return frozenset(entry for entry in entries if not _is_leftover(entry, checkout))


def _is_leftover(entry: str, checkout: Path) -> bool:
    path = Path(entry[3:])
    return (
        entry[:2] in ("??", "!!")
        and path.suffix in _LEFTOVERS
        and (checkout / path.with_suffix("")).exists()
    )


def _titled(command: tuple[str, ...], ended: _Ended) -> str:
    return f"$ {' '.join(command)}: {'ok' if ended.ok else 'failed'}\n{ended.output}"


def _run(command: tuple[str, ...], folder: Path, *, whole: bool = False) -> _Ended:
    """Run one command in its own process group. Raises EnvironmentFailure where it is missing."""
    try:
        child = subprocess.Popen(
            command,
            cwd=folder,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except FileNotFoundError:
        name = command[0]
        raise EnvironmentFailure(_NOT_INSTALLED.format(name, name)) from None
    try:
        output, _ = child.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
        return _Ended(False, f"killed after {SECONDS:g} s")
    text = output.decode("utf-8", "replace")
    return _Ended(child.returncode == 0, text if whole or len(text) <= _LOG else _middle_out(text))


def _middle_out(text: str) -> str:
    return f"{text[: _LOG // 2]}\n[...]\n{text[-_LOG // 2 :]}"

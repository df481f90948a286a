"""The work tree of a task at its base commit alone, the git that makes it, and the Python that
its tests run with.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from evalcore.benchmarks.swe_bench import Task
from evalcore.errors import EnvironmentFailure
from evalcore.i18n import Note
from evalcore.records import Record, content_hash
from evalcore.sandbox.filesystem import remove_tree
from evalcore.sandbox.program import Bind, Limits, Program, run_program

# git, held to what a call says: no hook, no configuration of system or user, no network.
# Repositories and patches are hostile. Only the file protocol is allowed, so that no repository
# can make git start a helper of its own, and nothing asks for a password.

SECONDS = 300.0
#: Read as the user's configuration, which unlike `-c` also holds for the helpers that git starts.
_CONFIGURATION = (Path(__file__).parent / "git_settings.ini").read_text(encoding="utf-8")


def run_git(*arguments: str | Path, folder: Path) -> str:
    """Run git in a folder and return its output; file names that are not UTF-8 are escaped. Raises
    EnvironmentFailure if git is missing, fails or takes longer than SECONDS."""
    try:
        process = subprocess.run(
            ["git", *map(str, arguments)],
            cwd=folder,
            env=build_git_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except FileNotFoundError:
        raise EnvironmentFailure(Note("not_installed", program="git", package="git")) from None
    except subprocess.TimeoutExpired:
        raise EnvironmentFailure(
            Note("git_slow", verb=arguments[0], seconds=f"{SECONDS:g}")
        ) from None
    if process.returncode:
        stderr = process.stderr.decode("utf-8", "replace").strip()[-500:]
        raise EnvironmentFailure(Note("git_failed", verb=arguments[0], message=stderr))
    return process.stdout.decode("utf-8", "surrogateescape")


def build_git_environment() -> dict[str, str]:
    """All that git knows of us: where programs are, and the configuration of this module."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": os.devnull,
        "LC_ALL": "C",
        "TZ": "UTC",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": _write_git_config(),
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_ALLOW_PROTOCOL": "file",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
    }


@cache
def _write_git_config() -> str:
    """The path of the configuration, written once for this process and gone with it."""
    folder = tempfile.TemporaryDirectory(prefix="evalcore-git-")
    _config_folders.append(folder)
    config_path = Path(folder.name) / "config"
    config_path.write_text(_CONFIGURATION, encoding="utf-8")
    return str(config_path)


_config_folders: list[tempfile.TemporaryDirectory[str]] = []


# The work tree of a task: its base commit alone, without past, future, remotes or names. It is
# fetched by its hash with a depth of one, so that the repository holds no object that only another
# commit has: a patched program that looks around in it finds no later fix.


def checkout_task(task: Task, tree: Path) -> Path:
    """Make the work tree of a task in the folder `tree`, which must not exist yet; returns it.
    Raises EnvironmentFailure where the repository is missing, broken or without the base commit."""
    if not task.repository:
        raise EnvironmentFailure(
            Note("swe_repository_missing", repo=task.repo, task=task.instance_id)
        )
    source = Path(task.repository)
    if not source.exists():
        raise EnvironmentFailure(Note("swe_repository_gone", task=task.instance_id, path=source))
    try:
        with tempfile.TemporaryDirectory(prefix="evalcore-git-") as scratch:
            store = _unpack_bundle(source, Path(scratch)) if source.is_file() else source.resolve()
            tree.mkdir(parents=True)
            run_git("init", "-q", ".", folder=tree)
            fetch_args = (f"file://{store}", task.base_commit)
            run_git("fetch", "-q", "--depth=1", "--no-tags", *fetch_args, folder=tree)
    except EnvironmentFailure as error:
        commit = f"{task.instance_id}: commit {task.base_commit[:12]}"
        raise EnvironmentFailure(
            Note("swe_commit", commit=commit, path=source, message=error)
        ) from None
    run_git("checkout", "-q", "--detach", task.base_commit, folder=tree)
    (tree / ".git" / "FETCH_HEAD").unlink()
    shutil.rmtree(tree / ".git" / "logs", ignore_errors=True)
    return tree


@contextmanager
def temporary_checkout(task: Task) -> Iterator[Path]:
    """The work tree of a task in a folder of its own, gone with all in it after the block."""
    folder = Path(tempfile.mkdtemp(prefix="evalcore-swe-"))
    try:
        yield checkout_task(task, folder / "tree")
    finally:
        remove_tree(folder)


class TreeChanges(Record, frozen=True):
    """`paths` of a work tree that are not as in a commit, sorted; `created` are those of them that
    the commit does not have; `base` are all files of the commit."""

    paths: tuple[str, ...]
    created: tuple[str, ...]
    base: frozenset[str]


def find_tree_changes(tree: Path, base: str) -> TreeChanges:
    """How a work tree differs from the commit `base`. Files count that git would ignore, since
    Python does not, and those of a nested repository."""
    options = ("--name-only", "-z", "--no-renames", "--no-ext-diff")
    changed = run_git("diff", *options, base, folder=tree)
    tracked = _list_tracked_files(tree, base)
    created = _list_tree_files(tree) - tracked
    paths = sorted({*filter(None, changed.split("\0")), *created})
    return TreeChanges(tuple(paths), tuple(sorted(created)), tracked)


def restore_paths(tree: Path, base: str, paths: Sequence[str]) -> None:
    """Bring some paths of a work tree back to what they are in the commit `base`."""
    tracked = _list_tracked_files(tree, base) if paths else frozenset()
    for path in paths:
        parents = list(Path(path).parents)[:-1]
        if path in tracked:
            _clear_parents(tree, path)
            run_git("checkout", "-q", base, "--", f":(literal){path}", folder=tree)
        elif not any((tree / parent).is_symlink() for parent in parents):
            # Behind a link of the patch the path would lie elsewhere.
            (tree / path).unlink(missing_ok=True)


def _unpack_bundle(bundle: Path, scratch: Path) -> Path:
    """A bundle as a repository: only from one can a single commit be fetched."""
    store = scratch / "store.git"
    run_git("init", "-q", "--bare", store, folder=scratch)
    refspecs = ("+refs/*:refs/bundled/*", "+HEAD:refs/bundled/HEAD")
    run_git("fetch", "-q", bundle.resolve(), *refspecs, folder=store)
    return store


def _list_tracked_files(tree: Path, commit: str) -> frozenset[str]:
    listing = run_git("ls-tree", "-r", "-z", "--name-only", commit, folder=tree)
    return frozenset(filter(None, listing.split("\0")))


def _list_tree_files(tree: Path) -> set[str]:
    """All files and links of a work tree, except for git's own folder."""
    paths: set[str] = set()
    for folder, below, names in os.walk(tree):
        inside = Path(folder).relative_to(tree)
        links = [name for name in below if (Path(folder) / name).is_symlink()]
        paths.update(str(inside / name) for name in (*names, *links))
        if folder == str(tree):
            below.remove(".git")
    return paths


def _clear_parents(tree: Path, path: str) -> None:
    """Remove links and files that stand where the folders of a path should be."""
    for parent in reversed(list(Path(path).parents)[:-1]):
        blocker = tree / parent
        if blocker.is_symlink() or blocker.is_file():
            blocker.unlink()
    if (tree / path).is_dir() and not (tree / path).is_symlink():
        shutil.rmtree(tree / path)


#: Where the official images have conda; scripts of the data set read this file.
ACTIVATE = "/opt/miniconda3/bin/activate"
#: A script that traces its commands does not trace these: a log says nothing of where we live.
_ACTIVATE = """\
case $- in *x*) traced=yes ;; *) traced= ;; esac
{{ set +x; }} 2>/dev/null
export PATH="{prefix}/bin:$PATH"
conda() {{ :; }}
test -z "$traced" || set -x
"""
_SYSTEM = (Path("/usr"), Path("/bin"), Path("/lib"), Path("/lib64"))
_ASK = "import json, sys; print(json.dumps([sys.prefix, sys.base_prefix, sys.version.split()[0]]))"
_SECONDS = 30.0
_CHECK = Limits(seconds=60.0, cpu_seconds=60, output_bytes=64 << 10)


class Interpreter(Record, frozen=True):
    """`contents` is a hash of the version and of the distributions that are installed; `own` says
    that it is the one that we run with."""

    executable: str
    prefix: str
    base_prefix: str
    version: str
    contents: str
    own: bool

    @property
    def binds(self) -> tuple[Bind, ...]:
        """What must be seen inside, besides the system and the interpreter that we run with."""
        ours = {sys.prefix, sys.base_prefix}
        prefixes = [name for name in (self.prefix, self.base_prefix) if name not in ours]
        return tuple(
            Bind(source=name, target=name)
            for name in dict.fromkeys(prefixes)
            if not any(Path(name).is_relative_to(root) for root in _SYSTEM)
        )

    def write_activate_shim(self, folder: Path) -> Bind:
        """A file of a folder in place of conda's `activate`: this interpreter comes first, and
        there is a `conda` that does nothing."""
        activate_path = folder / "activate"
        activate_path.write_text(_ACTIVATE.format(prefix=self.prefix), "utf-8")
        return Bind(source=str(activate_path), target=ACTIVATE)


def find_task_python(task: Task, folder: Path) -> Path | None:
    """The Python of a folder of environments that fits a task, None where there is none. Looked for
    are `<instance_id>` and `<owner>__<name>-<version>`, in this order."""
    for name in (task.instance_id, f"{task.repo.replace('/', '__')}-{task.version}"):
        python = folder / name / "bin" / "python"
        if "/" not in name and python.exists():
            return python.absolute()
    return None


@cache
def inspect_interpreter(python: Path | None = None) -> Interpreter:
    """What is known of an interpreter, of the running one for None. Raises EnvironmentFailure where
    it cannot be started."""
    if python is None:
        prefix, base, version = sys.prefix, sys.base_prefix, sys.version.split()[0]
    else:
        prefix, base, version = _query_prefixes(str(python))
    distributions = sorted(
        path.name for path in Path(prefix).glob("lib/python*/site-packages/*.dist-info")
    )
    contents = content_hash([version, distributions])
    executable = str(python or sys.executable)
    return Interpreter(executable, prefix, base, version, contents, own=python is None)


def _query_prefixes(executable: str) -> tuple[str, str, str]:
    try:
        command = [executable, "-I", "-c", _ASK]
        done = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=True)
        prefix, base, version = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise EnvironmentFailure(Note("swe_no_python", program=executable, message=error)) from None
    return str(prefix), str(base), str(version)


@cache
def check_interpreter(python: Interpreter, module: str) -> None:
    """Make sure, once, that the interpreter starts inside and has a module ("" for none). A missing
    interpreter ends a script with status 127, which grades like failed tests: so it is found here.
    Raises EnvironmentFailure."""
    code = f"import {module}" if module else "pass"
    with tempfile.TemporaryDirectory(prefix="evalcore-swe-") as folder:
        binds = (*python.binds, python.write_activate_shim(Path(folder)))
        command = f'source {ACTIVATE} && python -c "{code}"'
        done = run_program(Program(argv=("bash", "-c", command), binds=binds), _CHECK)
    if done.exit_code != 0:
        raise EnvironmentFailure(
            Note(
                "swe_no_tests",
                program=python.executable,
                ended=f"{code!r} ended with {done.exit_code}",
                message=done.output.strip()[-300:],
                module=module or "Python",
            )
        )

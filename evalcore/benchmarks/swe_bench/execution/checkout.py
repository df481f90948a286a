"""The work tree of a task: its base commit alone, without past, future, remotes or names.

The commit is fetched by its hash with a depth of one, so that the repository holds no object that
only another commit has: a patched program that looks around in it finds no later fix.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from evalcore.benchmarks.swe_bench.execution.git import git
from evalcore.benchmarks.swe_bench.task import Task
from evalcore.errors import EnvironmentFailure
from evalcore.records import Record


def checkout(task: Task, place: Path) -> Path:
    """Make the work tree of a task in the folder `place`, which must not exist yet; returns it.

    Raises EnvironmentFailure where the repository is missing, broken or without the base commit.
    """
    if not task.repository:
        raise EnvironmentFailure(
            f"no repository of {task.repo} is at hand for {task.instance_id}; "
            "name a folder of bundles or checkouts in the setting swe_repositories"
        )
    source = Path(task.repository)
    if not source.exists():
        raise EnvironmentFailure(f"the repository of {task.instance_id} is gone: {source}")
    try:
        with tempfile.TemporaryDirectory(prefix="evalcore-git-") as scratch:
            store = _unbundled(source, Path(scratch)) if source.is_file() else source.resolve()
            place.mkdir(parents=True)
            git("init", "-q", ".", folder=place)
            wanted = (f"file://{store}", task.base_commit)
            git("fetch", "-q", "--depth=1", "--no-tags", *wanted, folder=place)
    except EnvironmentFailure as error:
        commit = f"{task.instance_id}: commit {task.base_commit[:12]}"
        raise EnvironmentFailure(f"{commit} cannot be had from {source}: {error}") from None
    git("checkout", "-q", "--detach", task.base_commit, folder=place)
    (place / ".git" / "FETCH_HEAD").unlink()
    shutil.rmtree(place / ".git" / "logs", ignore_errors=True)
    return place


class Changes(Record, frozen=True):
    """`paths` of a work tree that are not as in a commit, sorted; `created` are those of them that
    the commit does not have; `base` are all files of the commit."""

    paths: tuple[str, ...]
    created: tuple[str, ...]
    base: frozenset[str]


def changes(tree: Path, base: str) -> Changes:
    """How a work tree differs from the commit `base`.

    Files count that git would ignore, since Python does not, and those of a nested repository.
    """
    differing = git("diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", base, folder=tree)
    tracked = _tracked(tree, base)
    created = _present(tree) - tracked
    paths = sorted({*_names(differing), *created})
    return Changes(tuple(paths), tuple(sorted(created)), tracked)


def restore(tree: Path, base: str, paths: Sequence[str]) -> None:
    """Bring some paths of a work tree back to what they are in the commit `base`."""
    if not paths:
        return
    tracked = _tracked(tree, base)
    for path in paths:
        if path in tracked:
            _clear_way(tree, path)
            git("checkout", "-q", base, "--", f":(literal){path}", folder=tree)
        elif not _through_link(tree, path):
            (tree / path).unlink(missing_ok=True)


def _unbundled(bundle: Path, scratch: Path) -> Path:
    """A bundle as a repository: only from one can a single commit be fetched."""
    store = scratch / "store.git"
    git("init", "-q", "--bare", store, folder=scratch)
    wanted = ("+refs/*:refs/bundled/*", "+HEAD:refs/bundled/HEAD")
    git("fetch", "-q", bundle.resolve(), *wanted, folder=store)
    return store


def _tracked(tree: Path, commit: str) -> frozenset[str]:
    return frozenset(_names(git("ls-tree", "-r", "-z", "--name-only", commit, folder=tree)))


def _names(listing: str) -> list[str]:
    return [name for name in listing.split("\0") if name]


def _present(tree: Path) -> set[str]:
    """All files and links of a work tree, except for git's own folder."""
    found: set[str] = set()
    for folder, below, names in os.walk(tree):
        inside = Path(folder).relative_to(tree)
        links = [name for name in below if (Path(folder) / name).is_symlink()]
        found.update(str(inside / name) for name in (*names, *links))
        if folder == str(tree):
            below.remove(".git")
    return found


def _through_link(tree: Path, path: str) -> bool:
    """Whether a link of the patch stands in the way to a path, which then lies elsewhere."""
    parents = list(Path(path).parents)[:-1]
    return any((tree / parent).is_symlink() for parent in parents)


def _clear_way(tree: Path, path: str) -> None:
    """Remove links and files that stand where the folders of a path should be."""
    for parent in reversed(list(Path(path).parents)[:-1]):
        place = tree / parent
        if place.is_symlink() or place.is_file():
            place.unlink()
    if (tree / path).is_dir() and not (tree / path).is_symlink():
        shutil.rmtree(tree / path)

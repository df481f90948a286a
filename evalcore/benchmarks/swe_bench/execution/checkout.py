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

from evalcore.benchmarks.swe_bench.execution.git import run_git
from evalcore.benchmarks.swe_bench.task import Task
from evalcore.errors import EnvironmentFailure
from evalcore.records import Record


def checkout_task(task: Task, tree: Path) -> Path:
    """Make the work tree of a task in the folder `tree`, which must not exist yet; returns it.

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
            store = _unpack_bundle(source, Path(scratch)) if source.is_file() else source.resolve()
            tree.mkdir(parents=True)
            run_git("init", "-q", ".", folder=tree)
            fetch_args = (f"file://{store}", task.base_commit)
            run_git("fetch", "-q", "--depth=1", "--no-tags", *fetch_args, folder=tree)
    except EnvironmentFailure as error:
        commit = f"{task.instance_id}: commit {task.base_commit[:12]}"
        raise EnvironmentFailure(f"{commit} cannot be had from {source}: {error}") from None
    run_git("checkout", "-q", "--detach", task.base_commit, folder=tree)
    (tree / ".git" / "FETCH_HEAD").unlink()
    shutil.rmtree(tree / ".git" / "logs", ignore_errors=True)
    return tree


class TreeChanges(Record, frozen=True):
    """`paths` of a work tree that are not as in a commit, sorted; `created` are those of them that
    the commit does not have; `base` are all files of the commit."""

    paths: tuple[str, ...]
    created: tuple[str, ...]
    base: frozenset[str]


def find_tree_changes(tree: Path, base: str) -> TreeChanges:
    """How a work tree differs from the commit `base`.

    Files count that git would ignore, since Python does not, and those of a nested repository.
    """
    changed = run_git(
        "diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", base, folder=tree
    )
    tracked = _list_tracked_files(tree, base)
    created = _list_tree_files(tree) - tracked
    paths = sorted({*_split_nul_names(changed), *created})
    return TreeChanges(tuple(paths), tuple(sorted(created)), tracked)


def restore_paths(tree: Path, base: str, paths: Sequence[str]) -> None:
    """Bring some paths of a work tree back to what they are in the commit `base`."""
    if not paths:
        return
    tracked = _list_tracked_files(tree, base)
    for path in paths:
        if path in tracked:
            _clear_parents(tree, path)
            run_git("checkout", "-q", base, "--", f":(literal){path}", folder=tree)
        elif not _is_behind_link(tree, path):
            (tree / path).unlink(missing_ok=True)


def _unpack_bundle(bundle: Path, scratch: Path) -> Path:
    """A bundle as a repository: only from one can a single commit be fetched."""
    store = scratch / "store.git"
    run_git("init", "-q", "--bare", store, folder=scratch)
    refspecs = ("+refs/*:refs/bundled/*", "+HEAD:refs/bundled/HEAD")
    run_git("fetch", "-q", bundle.resolve(), *refspecs, folder=store)
    return store


def _list_tracked_files(tree: Path, commit: str) -> frozenset[str]:
    return frozenset(
        _split_nul_names(run_git("ls-tree", "-r", "-z", "--name-only", commit, folder=tree))
    )


def _split_nul_names(listing: str) -> list[str]:
    return [name for name in listing.split("\0") if name]


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


def _is_behind_link(tree: Path, path: str) -> bool:
    """Whether a link of the patch stands in the way to a path, which then lies elsewhere."""
    parents = list(Path(path).parents)[:-1]
    return any((tree / parent).is_symlink() for parent in parents)


def _clear_parents(tree: Path, path: str) -> None:
    """Remove links and files that stand where the folders of a path should be."""
    for parent in reversed(list(Path(path).parents)[:-1]):
        blocker = tree / parent
        if blocker.is_symlink() or blocker.is_file():
            blocker.unlink()
    if (tree / path).is_dir() and not (tree / path).is_symlink():
        shutil.rmtree(tree / path)

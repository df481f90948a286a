"""Finished runs in an object store: a bundle each, at any address that fsspec understands.

An object store cannot append, so runs at work stay on a disk. What comes from a bucket is imported
like any submitted bundle: bounded, checked, and scored again here.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from evalcore.access.secrets import describe_address, scrub_address
from evalcore.errors import EvalboardError, MissingDependency, UsageError
from evalcore.exchange.bundle.contents import LARGEST
from evalcore.exchange.bundle.exporter import export_bundle
from evalcore.exchange.bundle.importer import import_bundle
from evalcore.i18n import Note
from evalcore.records import ProgressCallback, Record
from evalcore.settings import Settings
from evalcore.store.index import load_headers
from evalcore.store.run_folder import find_run, is_run_id

_SUFFIX = ".zip"
_MOST_OBJECTS = 100_000


class BucketSync(Record, frozen=True):
    """What a transfer did: runs by name, and by name why one was not transferred."""

    moved: tuple[str, ...] = ()
    present: tuple[str, ...] = ()
    problems: dict[str, str] = {}


def push_runs(
    url: str, runs: Sequence[str], settings: Settings, progress: ProgressCallback
) -> BucketSync:
    """Upload bundles of finished runs, by default of all that were run here and are not there yet;
    nothing there is overwritten. Raises UsageError for a bucket that cannot be used."""
    own = (h for h in load_headers(settings) if not h.shipped and h.origin != "imported")
    chosen = runs or [h.run_id for h in own]
    moved: list[str] = []
    present: list[str] = []
    problems: dict[str, str] = {}
    with _open_bucket(url) as (files, root), tempfile.TemporaryDirectory() as scratch:
        files.makedirs(root, exist_ok=True)
        there = _list_bundles(files, root)
        for run in dict.fromkeys(chosen):
            if run in there:
                present.append(run)
                continue
            try:
                bundle = Path(scratch) / f"{run}{_SUFFIX}"
                export_bundle(find_run(run, [settings.runs_dir]), bundle, settings)
            except EvalboardError as error:
                problems[run] = str(error)
                continue
            _upload(files, bundle, f"{root}/{run}{_SUFFIX}")
            bundle.unlink()
            moved.append(run)
            progress(Note("run_uploaded", run=run))
    return BucketSync(tuple(moved), tuple(present), problems)


def pull_runs(url: str, settings: Settings, progress: ProgressCallback) -> BucketSync:
    """Import every bundle of a bucket that is not here yet. Raises UsageError for a bucket that
    cannot be used; a bundle that is refused keeps none of the others back."""
    moved: list[str] = []
    present: list[str] = []
    problems: dict[str, str] = {}
    with _open_bucket(url) as (files, root), tempfile.TemporaryDirectory() as scratch:
        for run in _list_bundles(files, root):
            if (settings.runs_dir / run).exists():
                present.append(run)
                continue
            bundle = Path(scratch) / f"{run}{_SUFFIX}"
            try:
                with files.open(f"{root}/{run}{_SUFFIX}", "rb") as source, bundle.open("wb") as out:
                    _copy_bounded(source, out, run)
                done = import_bundle(bundle, settings, progress=progress)
            except EvalboardError as error:
                problems[run] = str(error)
                continue
            finally:
                bundle.unlink(missing_ok=True)
            (present if done.became == "unchanged" else moved).append(run)
    return BucketSync(tuple(moved), tuple(present), problems)


def _upload(files: Any, bundle: Path, name: str) -> None:
    """Put a bundle where others see it whole or not at all; an object store does so by itself."""
    from fsspec.implementations.local import LocalFileSystem

    if not isinstance(files, LocalFileSystem):
        files.put_file(str(bundle), name)
        return
    files.put_file(str(bundle), f"{name}.part")
    Path(f"{name}.part").replace(name)


def _list_bundles(files: Any, root: str) -> list[str]:
    """The runs that have a bundle there; other objects are passed over."""
    if not files.exists(root):
        return []
    paths = files.ls(root, detail=False)
    if len(paths) > _MOST_OBJECTS:
        raise UsageError(Note("bucket_crowded", count=len(paths), limit=_MOST_OBJECTS))
    names = (str(path).rstrip("/").rpartition("/")[2] for path in paths)
    runs = (name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX))
    return sorted(run for run in runs if is_run_id(run))


def _copy_bounded(source: IO[bytes], out: IO[bytes], run: str) -> None:
    left = LARGEST
    while chunk := source.read(1 << 20):
        left -= len(chunk)
        if left < 0:
            raise UsageError(Note("bucket_large", name=run, limit=f"{LARGEST >> 20} MiB"))
        out.write(chunk)
    out.flush()


@contextmanager
def _open_bucket(url: str) -> Iterator[tuple[Any, str]]:
    """The file system of an address and the path within it; its errors as UsageError, without what
    the address may hold of keys."""
    try:
        import fsspec
    except ImportError:
        raise MissingDependency(Note("bucket_missing")) from None
    shown = describe_address(url)
    try:
        files, root = fsspec.core.url_to_fs(url)
        yield files, str(root).rstrip("/")
    except (EvalboardError, AttributeError, TypeError):  # the latter are faults of ours
        raise
    except ImportError as error:  # the file system of the address is another package
        raise UsageError(Note("bucket_package", address=shown, message=error)) from None
    except Exception as error:  # each file system has errors of its own
        if str(error).startswith("Protocol not known"):
            raise UsageError(Note("bucket_protocol", address=shown)) from None
        message = scrub_address(str(error), url)[:300] or type(error).__name__
        raise UsageError(Note("bucket_failed", address=shown, message=message)) from None

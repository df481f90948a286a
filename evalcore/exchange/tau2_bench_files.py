"""Copy official data out of a checkout or an archive of its repository.

Nothing of it is installed or run: the files that are data are copied, those that are missing are
named, and the copy is loaded once before it takes its place.
"""

from __future__ import annotations

import fnmatch
import hashlib
import os
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from evalcore.catalog import CommandResult
from evalcore.errors import DatasetError, UsageError
from evalcore.exchange.hub_datasets import (
    format_fetch,
    install_folder,
    open_scratch_folder,
    read_fetch_note,
)
from evalcore.i18n import Note
from evalcore.records import ProgressCallback, Record, Sample
from evalcore.settings import Settings

_MAX_FILES, _MAX_BYTES = 20_000, 256 << 20


class FetchedCheckout(Record, frozen=True):
    """A copy of official data: its files with their sha256, and those that were not there.
    `samples` counts the tasks that could be loaded, by domain."""

    benchmark: str
    source: str
    files: dict[str, str]
    missing: tuple[str, ...] = ()
    samples: dict[str, int] = {}
    folder: str = ""


class OfficialFiles(Record, frozen=True):
    """What is taken of a checkout: files that should be there, patterns of all that is kept, what
    loads the copy, what leaves upstream's texts beside it, False where it has none, and the sha256
    of files without which no score compares with upstream's."""

    benchmark: str
    expected: tuple[str, ...]
    kept: tuple[str, ...]
    load: Callable[[Path], list[Sample]]
    write_texts: Callable[[Path, str], bool]
    digests: dict[str, str] = {}


def fetch_checkout(
    official: OfficialFiles,
    settings: Settings,
    folder: Path | None,
    source: str,
    progress: ProgressCallback,
) -> CommandResult:
    """Copy the official files out of a folder or an archive into a place below the data folder.
    Raises UsageError where there is no source, or nothing in it."""
    if not source:
        raise UsageError(Note("cli_tau2_by_hand"))
    folder = folder or settings.data_dir / "datasets" / f"{official.benchmark}-official"
    if folder.exists() and any(folder.iterdir()):
        existing = read_fetch_note(folder, FetchedCheckout)
        if existing is None:
            raise UsageError(Note("tau2_other_folder", folder=folder))
        raise UsageError(Note("tau2_fetched", folder=folder, source=existing.source))
    with open_scratch_folder(folder) as scratch:
        ready = scratch / "data"
        ready.mkdir()
        files = _copy_files(Path(source), ready, official.kept, progress)
        missing = tuple(name for name in official.expected if not _is_present(name, files))
        samples = _count_samples(official, ready, source, missing)
        if not official.write_texts(ready, source):
            missing = (*missing, "src/tau2 (protocol=official)")
        note = FetchedCheckout(official.benchmark, source, files, missing, samples)
        fetched = install_folder(ready, folder, note)
    counts = ", ".join(f"{domain} {count}" for domain, count in samples.items())
    text = format_fetch(fetched, f"{source}: {counts}", fetched.benchmark)
    remarks = [Note("fetch_lacks", name=name) for name in missing]
    remarks += [
        Note("fetch_other_file", name=name)
        for name, digest in official.digests.items()
        if not files.get(name, digest).startswith(digest)
    ]
    return CommandResult(fetched, text, tuple(remarks))


def _is_present(expected: str, files: Mapping[str, str]) -> bool:
    """Whether a file is there; of an expected folder `name/*` any file will do."""
    if not expected.endswith("/*"):
        return expected in files
    return any(name.startswith(expected[:-1]) for name in files)


def _count_samples(
    official: OfficialFiles, ready: Path, source: str, missing: Sequence[str]
) -> dict[str, int]:
    """How many tasks of each domain the copy holds. Raises UsageError where it holds none."""
    try:
        samples = official.load(ready)
    except DatasetError as error:
        names = f"; {', '.join(missing)}" if missing else ""
        problem = str(error).replace(str(ready), source)
        raise UsageError(
            Note("checkout_unusable", source=source, problem=problem, names=names)
        ) from None
    counts: dict[str, int] = {}
    for sample in samples:
        counts[sample.metric] = counts.get(sample.metric, 0) + 1
    return counts


def _copy_files(
    source: Path, ready: Path, kept: Sequence[str], progress: ProgressCallback
) -> dict[str, str]:
    """Copy the files that fit a pattern; their hashes by path, sorted. Raises UsageError."""
    hashes: dict[str, str] = {}
    total = 0
    for name, read in _iter_source_files(source):
        if not any(fnmatch.fnmatchcase(name, pattern) for pattern in kept):
            continue
        content = read()
        total += len(content)
        if total > _MAX_BYTES or len(hashes) >= _MAX_FILES:
            raise UsageError(Note("tau2_large", source=source, size=_MAX_BYTES >> 20))
        destination = ready / name
        destination.parent.mkdir(parents=True, exist_ok=True)
        destination.write_bytes(content)
        hashes[name] = hashlib.sha256(content).hexdigest()
    progress(Note("fetch_read", source=source, count=len(hashes)))
    return dict(sorted(hashes.items()))


def _iter_source_files(source: Path) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """The files of a folder or an archive as paths within the checkout, with what reads them.
    Raises UsageError for what is neither."""
    if source.is_dir():
        yield from _iter_folder(source)
    elif source.is_file() and zipfile.is_zipfile(source):
        yield from _iter_zip(source)
    elif source.is_file() and tarfile.is_tarfile(source):
        yield from _iter_tar(source)
    else:
        raise UsageError(Note("tau2_no_archive", source=source))


def _iter_folder(source: Path) -> Iterator[tuple[str, Callable[[], bytes]]]:
    for parent, folders, names in os.walk(source):
        folders[:] = [name for name in folders if name != ".git"]
        for name in names:
            path = Path(parent) / name
            if path.is_file() and not path.is_symlink():
                yield path.relative_to(source).as_posix(), path.read_bytes


def _iter_zip(source: Path) -> Iterator[tuple[str, Callable[[], bytes]]]:
    with zipfile.ZipFile(source) as archive:
        for member in archive.infolist():
            name = _strip_top(member.filename)
            if name and not member.is_dir():
                yield name, lambda member=member: _read_bounded(archive.open(member))  # type: ignore[misc]


def _iter_tar(source: Path) -> Iterator[tuple[str, Callable[[], bytes]]]:
    with tarfile.open(source) as archive:
        for member in archive:
            name = _strip_top(member.name)
            file = archive.extractfile(member) if name and member.isfile() else None
            if file is not None:
                yield name, lambda file=file: _read_bounded(file)  # type: ignore[misc]


def _read_bounded(file: object) -> bytes:
    """The content of a member, however small it is packed. Raises UsageError for too much."""
    with file:  # type: ignore[attr-defined]
        content: bytes = file.read(_MAX_BYTES + 1)  # type: ignore[attr-defined]
    if len(content) > _MAX_BYTES:
        raise UsageError(Note("tau2_member_large", size=_MAX_BYTES >> 20))
    return content


def _strip_top(name: str) -> str:
    """A member's path below the folder that archives of repositories begin with; empty for paths
    that lead elsewhere."""
    parts = PurePosixPath(name).parts
    if any(part in ("..", "/") for part in parts) or name.startswith("/"):
        return ""
    first = next((at for at, part in enumerate(parts) if part in ("tau_bench", "data")), 1)
    return "/".join(parts[first:])

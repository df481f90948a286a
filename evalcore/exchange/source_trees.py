"""The files of an upstream project: a checkout, an archive of one, or a download of its commit.

Files are asked for by names that this package knows. No name of an archive becomes a path, nothing
is unpacked, imported or run, and each file is bounded in size.
"""

from __future__ import annotations

import fnmatch
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from evalcore.access.secrets import scrub_secrets
from evalcore.errors import UsageError
from evalcore.i18n import Note
from evalcore.records import ProgressCallback

if TYPE_CHECKING:
    import httpx2

_FILE_LIMIT = 64 << 20  # bytes of one file
_ARCHIVE_LIMIT = 512 << 20  # bytes of an archive
_MOST_FILES = 100_000
_SECONDS = 120.0
_BROKEN = (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError)


class SourceTree(Protocol):
    """Files by their paths below the root of a project."""

    def list_files(self, pattern: str) -> list[str]:
        """The paths that fit a pattern of the shell, sorted."""

    def read_bytes(self, name: str) -> bytes | None:
        """The content of a file, None where there is none. Raises UsageError for one that cannot
        be read or is too large."""


class _Folder:
    def __init__(self, root: Path) -> None:
        self._root = root.resolve()

    def list_files(self, pattern: str) -> list[str]:
        paths = (path for path in self._root.glob(pattern) if path.is_file())
        return sorted(str(path.relative_to(self._root)) for path in paths)

    def read_bytes(self, name: str) -> bytes | None:
        path = (self._root / name).resolve()
        if not path.is_relative_to(self._root) or not path.is_file():
            return None
        if path.stat().st_size > _FILE_LIMIT:
            raise UsageError(Note("source_large", path=path, size=_FILE_LIMIT >> 20))
        return path.read_bytes()


class _Archive:
    """Names in the archive are held by the paths below its one top folder, if it has one."""

    def __init__(self, path: Path, archive: tarfile.TarFile | zipfile.ZipFile) -> None:
        self._path, self._archive = path, archive
        names = _list_members(archive)
        tops = {name.partition("/")[0] for name in names}
        top = f"{tops.pop()}/" if len(tops) == 1 and all("/" in name for name in names) else ""
        self._members = {name.removeprefix(top): name for name in names}

    def list_files(self, pattern: str) -> list[str]:
        return sorted(fnmatch.filter(self._members, pattern))

    def read_bytes(self, name: str) -> bytes | None:
        member = self._members.get(name)
        if member is None:
            return None
        try:
            if isinstance(self._archive, zipfile.ZipFile):
                with self._archive.open(member) as file:
                    content = file.read(_FILE_LIMIT + 1)
            else:
                extracted = self._archive.extractfile(member)
                content = extracted.read(_FILE_LIMIT + 1) if extracted else b""
        except (*_BROKEN, RuntimeError, KeyError) as error:
            raise UsageError(
                Note("source_member", path=self._path, name=name, problem=error)
            ) from None
        if len(content) > _FILE_LIMIT:
            raise UsageError(
                Note("source_member_large", path=self._path, name=name, size=_FILE_LIMIT >> 20)
            )
        return content


def _list_members(archive: tarfile.TarFile | zipfile.ZipFile) -> list[str]:
    """The names of the plain files; raises UsageError for too many."""
    names: list[str] = []
    if isinstance(archive, zipfile.ZipFile):
        names = [info.filename for info in archive.infolist() if not info.is_dir()]
    else:
        for member in archive:
            if member.isfile():
                names.append(member.name.removeprefix("./"))
            if len(names) > _MOST_FILES:
                break
    if len(names) > _MOST_FILES:
        raise UsageError(Note("source_many", most=f"{_MOST_FILES:,}"))
    return names


@contextmanager
def open_source_tree(path: Path) -> Iterator[SourceTree]:
    """The files of a checkout or of an archive of one (zip, tar, tar.gz). Raises UsageError for
    anything else."""
    if path.is_dir():
        yield _Folder(path)
        return
    try:
        if path.stat().st_size > _ARCHIVE_LIMIT:
            raise UsageError(Note("source_large", path=path, size=_ARCHIVE_LIMIT >> 20))
        zipped = zipfile.is_zipfile(path)
        archive = zipfile.ZipFile(path) if zipped else tarfile.open(path)  # noqa: SIM115
    except _BROKEN as error:
        problem = getattr(error, "strerror", None) or error
        raise UsageError(Note("source_no_archive", path=path, problem=problem)) from None
    with archive:
        try:
            tree = _Archive(path, archive)
        except _BROKEN as error:
            raise UsageError(Note("source_damaged", path=path, problem=error)) from None
        yield tree


def read_source_text(tree: SourceTree, name: str, origin: str) -> str:
    """A file of a project as text. Raises UsageError, naming the file, where it is absent or no
    UTF-8."""
    content = tree.read_bytes(name)
    if content is None:
        raise UsageError(Note("source_lacks", path=origin, name=name))
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(
            Note("source_no_text", path=origin, name=name, problem=error.reason)
        ) from None


def download_commit(repository: str, commit: str, folder: Path, progress: ProgressCallback) -> Path:
    """The archive of a commit of a public repository, below `folder`. Raises UsageError without
    network; the file can then be had elsewhere and be named."""
    import httpx2

    address = f"https://codeload.github.com/{repository}/tar.gz/{commit}"
    path = folder / f"{commit}.tar.gz"
    progress(Note("downloading", name=f"{repository}@{commit[:12]}"))
    try:
        with httpx2.Client(timeout=_SECONDS, follow_redirects=True) as client:
            _stream_to_file(client, address, path)
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        why = scrub_secrets(str(error)) or type(error).__name__
        what = f"{repository} ({commit[:12]})"
        raise UsageError(Note("fetch_checkout", what=what, why=why)) from None
    return path


def _stream_to_file(client: httpx2.Client, address: str, path: Path) -> None:
    size = 0
    with client.stream("GET", address) as reply, path.open("wb") as file:
        reply.raise_for_status()
        for part in reply.iter_bytes():
            size += file.write(part)
            if size > _ARCHIVE_LIMIT:
                raise UsageError(Note("source_large", path=address, size=_ARCHIVE_LIMIT >> 20))

"""The wheel of `bfcl-eval`: downloaded alone by pip, compared by hash, and read without unpacking.

The files to read are known by name, so no name of the archive is ever used as a path.
"""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

from evalcore.errors import UsageError
from evalcore.records import Record
from evalcore.secrets import scrub_secrets

_WHEEL_LIMIT = 64 << 20  # bytes; the real one has 2 MB
_FILE_LIMIT = 32 << 20  # bytes unpacked; the largest real one has 4 MB
_PIP_SECONDS = 600
_ELSEWHERE = "download {pinned} where there is a network and give the file with --from"


class BfclRelease(Record, frozen=True):
    """A release of the package `bfcl-eval` and the sha256 of its wheel."""

    version: str
    sha256: str

    @property
    def pip_requirement(self) -> str:
        return f"bfcl-eval=={self.version}"


OFFICIAL_RELEASE = BfclRelease(
    "2026.3.23", "3bb6dfa5f0c68ad403c9ec50b00db2bb3b4cc9b38ab1ff33f48fe30d853d3a0a"
)


def download_wheel(folder: Path, release: BfclRelease, progress: Callable[[str], None]) -> Path:
    """The wheel, downloaded below `folder` by pip, which knows the user's index and proxies.

    Raises UsageError where there is no pip, no network or no such release.
    """
    hint = _ELSEWHERE.format(pinned=release.pip_requirement)
    if find_spec("pip") is None:
        raise UsageError(f"this Python has no pip (`python -m ensurepip` adds it); or {hint}")
    progress(f"downloading {release.pip_requirement} alone, 2 MB, nothing is installed")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-input"]
    command += ["--disable-pip-version-check", "--only-binary", ":all:"]  # a source would be run
    try:
        done = subprocess.run(
            [*command, "--dest", str(folder), release.pip_requirement],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PIP_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise UsageError(f"pip did not end within {_PIP_SECONDS} s; {hint}") from None
    wheels = list(folder.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        raise UsageError(
            f"pip could not download {release.pip_requirement}: "
            f"{_extract_pip_error(done.stderr)}; {hint}"
        )
    return wheels[0]


def _extract_pip_error(output: str) -> str:
    errors = [line for line in output.splitlines() if line.startswith("ERROR")]
    return (
        scrub_secrets(errors[-1].removeprefix("ERROR: ")[:300]) if errors else "no reason was given"
    )


def read_wheel_files(
    path: Path, members: Mapping[str, str], release: BfclRelease
) -> tuple[Iterator[tuple[str, bytes]], str]:
    """Some files of a wheel with their contents, and what the wheel is.

    `members` maps the names that the files shall have to those they have in the wheel.

    Raises UsageError for a file that is not exactly this release's wheel; while iterating, for one
    that lacks a file or has one beyond the limits.
    """
    try:
        size = path.stat().st_size
        content = path.read_bytes() if size <= _WHEEL_LIMIT else b""
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    if hashlib.sha256(content).hexdigest() != release.sha256:
        raise UsageError(
            f"{path} is not the wheel of {release.pip_requirement} (its sha256 must be "
            f"{release.sha256}); "
            "download it again"
        )
    return _read_wheel_members(
        path, content, members
    ), f"{release.pip_requirement} (sha256 {release.sha256[:12]})"


def _read_wheel_members(
    path: Path, wheel: bytes, members: Mapping[str, str]
) -> Iterator[tuple[str, bytes]]:
    try:
        with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
            for name, member in members.items():
                with archive.open(member) as file:
                    content = file.read(_FILE_LIMIT + 1)
                if len(content) > _FILE_LIMIT:
                    raise UsageError(f"{path}: {name} has more than {_FILE_LIMIT >> 20} MB")
                yield name, content
    except KeyError as error:
        raise UsageError(f"{path} lacks a file: {error.args[0]}") from None
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError) as error:
        raise UsageError(f"{path} is no readable wheel: {error}") from None

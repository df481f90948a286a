"""Writing a folder of files at once, over nothing but what was written by us before."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

import orjson

from evalcore.errors import UsageError

#: Names the files of a site, so that a later one may take its place.
MARKER = "evalboard-site.json"


def write(out: Path, files: Iterable[tuple[str, bytes]]) -> int:
    """The files by their paths within `out`, which is replaced as a whole; returns their number.

    Raises UsageError where `out` holds anything that is not ours. A failure leaves it as it was.
    """
    place = out.absolute()
    _check(place)
    place.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=f".{place.name}.", dir=place.parent))
    try:
        names = sorted(_put(fresh, name, content) for name, content in files)
        (fresh / MARKER).write_bytes(orjson.dumps({"files": names}, option=orjson.OPT_INDENT_2))
        fresh.chmod(0o755)
        _check(place)
        _swap(fresh, place)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return len(names)


def _put(folder: Path, name: str, content: bytes) -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return name


def _swap(fresh: Path, place: Path) -> None:
    """`fresh` takes the place; what stood there goes only when that has worked."""
    if not place.exists():
        fresh.rename(place)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{place.name}.", dir=place.parent))
    place.rename(old)  # over the empty folder
    try:
        fresh.rename(place)
    except OSError:
        old.rename(place)
        raise
    shutil.rmtree(old)


def _check(place: Path) -> None:
    """Raises UsageError unless there is nothing there, or nothing but a site of ours."""
    if place.is_symlink() or (place.exists() and not place.is_dir()):
        raise UsageError(f"--out {place}: not a folder; choose one that is empty or new")
    if not place.exists() or not any(place.iterdir()):
        return
    ours = _ours(place)
    foreign = sorted(
        path.relative_to(place).as_posix()
        for path in place.rglob("*")
        if path.is_symlink() or not path.is_dir()
    )
    strange = next((name for name in foreign if name not in ours), None)
    if strange is not None:
        raise UsageError(
            f"--out {place}: holds {strange}, which no site of ours put there; choose a folder "
            "that is empty or new, or move the file away"
        )


def _ours(place: Path) -> set[str]:
    try:
        told = orjson.loads((place / MARKER).read_bytes())
        names = {str(PurePosixPath(name)) for name in told["files"]}
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError):
        return set()
    return names | {MARKER}

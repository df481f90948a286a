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


def write_site(out: Path, files: Iterable[tuple[str, bytes]]) -> int:
    """The files by their paths within `out`, which is replaced as a whole; returns their number.

    Raises UsageError where `out` holds anything that is not ours. A failure leaves it as it was.
    """
    target = out.absolute()
    _check_site_folder(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        names = sorted(_write_site_file(fresh, name, content) for name, content in files)
        (fresh / MARKER).write_bytes(orjson.dumps({"files": names}, option=orjson.OPT_INDENT_2))
        fresh.chmod(0o755)
        _check_site_folder(target)
        _swap_folders(fresh, target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return len(names)


def _write_site_file(folder: Path, name: str, content: bytes) -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return name


def _swap_folders(fresh: Path, target: Path) -> None:
    """`fresh` takes the place; what stood there goes only when that has worked."""
    if not target.exists():
        fresh.rename(target)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    target.rename(old)  # over the empty folder
    try:
        fresh.rename(target)
    except OSError:
        old.rename(target)
        raise
    shutil.rmtree(old)


def _check_site_folder(target: Path) -> None:
    """Raises UsageError unless there is nothing there, or nothing but a site of ours."""
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise UsageError(f"--out {target}: not a folder; choose one that is empty or new")
    if not target.exists() or not any(target.iterdir()):
        return
    ours = _read_marker(target)
    foreign = sorted(
        path.relative_to(target).as_posix()
        for path in target.rglob("*")
        if path.is_symlink() or not path.is_dir()
    )
    strange = next((name for name in foreign if name not in ours), None)
    if strange is not None:
        raise UsageError(
            f"--out {target}: holds {strange}, which no site of ours put there; choose a folder "
            "that is empty or new, or move the file away"
        )


def _read_marker(target: Path) -> set[str]:
    try:
        marker = orjson.loads((target / MARKER).read_bytes())
        names = {str(PurePosixPath(name)) for name in marker["files"]}
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError):
        return set()
    return names | {MARKER}

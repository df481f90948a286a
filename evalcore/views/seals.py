"""Whether a run is sealed, and whether the seal still holds; for pages and reports."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from evalcore.errors import EvalboardError
from evalcore.records import Record
from evalcore.single_flight import SingleFlightCache
from evalcore.store import run_folder
from evalcore.store.run_folder import RunFolder
from evalcore.store.seal import SEAL, list_sealed_files, verify_run_folder

#: Bytes of a run that a page checks on its own; larger ones are for `evalcore seal verify`.
CHECKED_BYTES = 256 << 20
_PROBLEMS = 5


class SealStatus(Record, frozen=True):
    """`unchecked` is too large for a page, `imported` was checked when its bundle came in."""

    state: Literal["valid", "broken", "unchecked", "imported"]
    signer: str = ""
    sealed_at: str = ""
    problems: tuple[str, ...] = ()


_statuses: SingleFlightCache[SealStatus | None] = SingleFlightCache(256)


def load_seal_status(roots: Iterable[Path], run_id: str) -> SealStatus | None:
    """The seal of a run, checked anew whenever a file of the run has changed; None without one."""
    try:
        folder = run_folder.find_run(run_id, roots)
        if not (folder.path / SEAL).exists():
            return _read_imported_seal(folder)
        key = f"{folder.path}|{folder.signature()}|{_sign_calls(folder)}"
        return _statuses.get(key, lambda: check_seal(folder))
    except EvalboardError as error:
        return SealStatus(state="broken", problems=(str(error),))


def check_seal(folder: RunFolder, most_bytes: int = CHECKED_BYTES) -> SealStatus | None:
    """The seal of a run as of now, None without one. Raises RunFolderError."""
    if not (folder.path / SEAL).exists():
        return _read_imported_seal(folder)
    size = sum(path.stat().st_size for path in list_sealed_files(folder.path).values())
    if size > most_bytes:
        return SealStatus(state="unchecked")
    report = verify_run_folder(folder)
    return SealStatus(
        state="valid" if report.state == "valid" else "broken",
        signer=report.signer,
        sealed_at=report.sealed_at,
        problems=report.problems[:_PROBLEMS],
    )


def _read_imported_seal(folder: RunFolder) -> SealStatus | None:
    """What an import noted of the seal of the bundle that it took the run from."""
    published = run_folder.read_published(folder)
    facts = published.facts.get("seal") if published else None
    if not isinstance(facts, dict):
        return None
    signer, sealed_at = (str(facts.get(name, ""))[:40] for name in ("signer", "sealed_at"))
    return SealStatus(state="imported", signer=signer, sealed_at=sealed_at)


def _sign_calls(folder: RunFolder) -> str:
    """What changes whenever a journal of calls does, which the signature of a run leaves out."""
    stats = [path.stat() for path in sorted(folder.path.glob("calls/*"))]
    return "|".join(f"{status.st_mtime_ns}:{status.st_size}" for status in stats)

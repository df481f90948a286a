"""Sealing runs and bundles, and checking their seals.

The seal of a run covers the bundle as well that it is exported as here, so that whoever imports the
bundle can check the same signature. A bundle can be sealed by itself, too: by whoever hands it in.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from filelock import FileLock, Timeout

from evalcore.access.signing import PublicKey, SigningKey
from evalcore.errors import EvalboardError, FileError, RunBusy, UsageError
from evalcore.exchange.bundle import contents
from evalcore.exchange.bundle.exporter import build_bundle_files, pack_bundle, write_bundle_file
from evalcore.i18n import Note
from evalcore.records import utc_now
from evalcore.settings import Settings
from evalcore.store import seal
from evalcore.store.run_folder import RunFolder
from evalcore.store.seal import SealReport, SealStatement


def seal_run(folder: RunFolder, key: SigningKey, settings: Settings) -> tuple[SealReport, str]:
    """Sign a run that has ended; also returns why its bundle is not covered, "" where it is.

    Raises RunBusy while a worker is at it, UsageError for a run without a result, for a shipped
    one and for a folder that cannot be written, RunFolderError for one that is damaged.
    """
    if folder.path.resolve().parent == settings.run_roots[-1].resolve():  # within the package
        raise UsageError(Note("run_shipped", run=folder.run_id))
    if folder.read_summary() is None:
        raise UsageError(Note("seal_no_result", run=folder.run_id))
    bundle, why = _try_bundle(folder, settings)  # asks whether a worker is at it, by the lock
    try:
        with FileLock(folder.lock_path, timeout=0):
            return seal.seal_run_folder(folder, key, bundle), why
    except Timeout:
        raise RunBusy(Note("run_busy", run=folder.run_id)) from None
    except OSError as error:
        raise FileError(folder.path, error) from None


def _try_bundle(folder: RunFolder, settings: Settings) -> tuple[dict[str, bytes], str]:
    try:
        return build_bundle_files(folder, settings).files, ""
    except EvalboardError as error:  # it is incomplete, imported or too large
        return {}, str(error)


def seal_bundle(path: Path, key: SigningKey) -> SealReport:
    """Sign a bundle, in place; an earlier seal is replaced. Raises UsageError for what is none."""
    manifest, files = _read_files(path)
    files.pop(contents.SEAL, None)
    statement = SealStatement(
        format=seal.FORMAT,
        version=seal.VERSION,
        run_id=manifest.run_id,
        sealed_at=utc_now(),
        bundle={name: seal.digest_bytes(data) for name, data in files.items()},
    )
    content = seal.sign_statement(statement, key)
    write_bundle_file(path, pack_bundle({**files, contents.SEAL: content}))
    return seal.verify_bundle_files(content, files)


def verify_bundle_seal(path: Path, expected: PublicKey | None = None) -> SealReport:
    """Check the seal of a bundle against its files; raises UsageError for what is no bundle."""
    manifest, files = _read_files(path, checked=False)
    content = files.pop(contents.SEAL, None)
    if content is None:
        return SealReport(state="unsealed", run_id=manifest.run_id)
    return seal.verify_bundle_files(content, files, expected)


def _read_files(
    path: Path, *, checked: bool = True
) -> tuple[contents.BundleManifest, dict[str, bytes]]:
    with tempfile.TemporaryDirectory(prefix="evalcore-bundle-") as scratch:
        return contents.read_bundle_files(path, Path(scratch) / "unpacked", checked=checked)

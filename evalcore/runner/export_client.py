"""The door of pages to the files of a run: reports and the bundle, each made when it is asked for.

Whoever sees the board may take them away. They are made in a process of its own, few at a time, as
it is readers without any rights who ask.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from threading import BoundedSemaphore

import msgspec

from evalcore import access
from evalcore.access import Visitor
from evalcore.errors import UsageError
from evalcore.records import Record
from evalcore.runner import processes
from evalcore.settings import Settings

BUNDLE_FORM = "bundle"
#: How the service ends where it says a reason instead of giving a file.
EXPORT_REFUSED = 3


class ExportForm(Record, frozen=True):
    """What a file is called and how it is read."""

    ending: str
    mime: str


EXPORT_FORMS: Mapping[str, ExportForm] = {
    "md": ExportForm("md", "text/markdown"),
    "json": ExportForm("json", "application/json"),
    "csv": ExportForm("csv", "text/csv"),
    BUNDLE_FORM: ExportForm("bundle.zip", "application/zip"),
}
_EXPORT_TIMEOUT = 120.0  # seconds
_EXPORT_QUEUE_TIMEOUT = 30.0  # seconds that one waits for the files of others
_EXPORT_SLOTS = BoundedSemaphore(2)


def export_run_file(run: str, form: str, visitor: Visitor, settings: Settings) -> bytes:
    """A file of a run under one of FORMS. Texts of gated data sets are in it only where the visitor
    may see them. Raises UsageError with the reason where there is none to give."""
    if form not in EXPORT_FORMS:
        raise UsageError(f"{form[:40]!r} is no form of a file; known: {', '.join(EXPORT_FORMS)}")
    payload = {"run": run, "form": form, "settings": access.restrict_settings(settings, visitor)}
    if not _EXPORT_SLOTS.acquire(timeout=_EXPORT_QUEUE_TIMEOUT):
        raise UsageError("others are being given files just now; try again in a minute")
    try:
        done = subprocess.run(
            [sys.executable, "-m", "evalcore.exchange.export_service"],
            input=msgspec.json.encode(payload),
            capture_output=True,
            timeout=_EXPORT_TIMEOUT,
            env=processes.build_environment(settings, visitor),
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise UsageError("this took too long and was stopped; use `evalcore export`") from None
    finally:
        _EXPORT_SLOTS.release()
    if done.returncode == EXPORT_REFUSED:
        raise UsageError(done.stdout.decode(errors="replace"))
    if done.returncode:
        raise UsageError("the file could not be made; use `evalcore export`")
    return done.stdout

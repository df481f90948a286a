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

BUNDLE = "bundle"
#: How the service ends where it says a reason instead of giving a file.
REFUSED = 3


class ExportForm(Record, frozen=True):
    """What a file is called and how it is read."""

    ending: str
    mime: str


FORMS: Mapping[str, ExportForm] = {
    "md": ExportForm("md", "text/markdown"),
    "json": ExportForm("json", "application/json"),
    "csv": ExportForm("csv", "text/csv"),
    BUNDLE: ExportForm("bundle.zip", "application/zip"),
}
_TIMEOUT = 120.0  # seconds
_QUEUE_TIMEOUT = 30.0  # seconds that one waits for the files of others
_AT_ONCE = BoundedSemaphore(2)


def export_run_file(run: str, form: str, visitor: Visitor, settings: Settings) -> bytes:
    """A file of a run under one of FORMS. Texts of gated data sets are in it only where the visitor
    may see them. Raises UsageError with the reason where there is none to give."""
    if form not in FORMS:
        raise UsageError(f"{form[:40]!r} is no form of a file; known: {', '.join(FORMS)}")
    payload = {"run": run, "form": form, "settings": access.restrict_settings(settings, visitor)}
    if not _AT_ONCE.acquire(timeout=_QUEUE_TIMEOUT):
        raise UsageError("others are being given files just now; try again in a minute")
    try:
        done = subprocess.run(
            [sys.executable, "-m", "evalcore.exchange.export_service"],
            input=msgspec.json.encode(payload),
            capture_output=True,
            timeout=_TIMEOUT,
            env=processes.build_environment(settings, visitor),
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise UsageError("this took too long and was stopped; use `evalcore export`") from None
    finally:
        _AT_ONCE.release()
    if done.returncode == REFUSED:
        raise UsageError(done.stdout.decode(errors="replace"))
    if done.returncode:
        raise UsageError("the file could not be made; use `evalcore export`")
    return done.stdout

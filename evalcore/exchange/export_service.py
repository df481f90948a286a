"""The task `export`: one file of a run, made for a page. What leaves here may be read by anybody
who sees the board: it holds no key and no place of this machine."""

from __future__ import annotations

import io
import tempfile
import zipfile
from pathlib import Path

from evalcore.access import redaction
from evalcore.errors import EvalboardError, UsageError
from evalcore.exchange import reports
from evalcore.exchange.bundle import exporter
from evalcore.exchange.trackers.cases import read_shared_run
from evalcore.exchange.trackers.every_eval_ever import RecordSource, write_records
from evalcore.i18n import DEFAULT, Note
from evalcore.runner.jobs import TASKS, TaskContext
from evalcore.runner.jobs.data_client import BUNDLE_FORM, RECORDS_FORM
from evalcore.settings import Settings
from evalcore.store import run_folder
from evalcore.store.run_folder import RunFolder
from evalcore.views.runs import redact_paths


def build_export_file(context: TaskContext, run: str, form: str, language: str = DEFAULT) -> bytes:
    """A report, in a language, or the bundle of a run. Raises UsageError, in words that name no
    place."""
    try:
        return _build_file(run, form, context.settings, language)
    except (EvalboardError, OSError, MemoryError) as error:
        reason = redact_paths(str(error)) or Note("job_memory")
    except Exception:
        reason = TASKS["export"].death
    raise UsageError(reason)


def _build_file(run: str, form: str, settings: Settings, language: str) -> bytes:
    folder = run_folder.find_run(run, settings.run_roots)
    if form == BUNDLE_FORM:
        with tempfile.TemporaryDirectory(prefix="evalcore-export-") as scratch:
            bundle_path = Path(scratch) / "bundle.zip"
            exporter.export_bundle(folder, bundle_path, settings)
            return bundle_path.read_bytes()
    if form == RECORDS_FORM:
        return _zip_records(folder, settings)
    censored = redaction.build_redactor(settings)
    words = reports.render_report(
        folder, form, show_gated=settings.show_gated, censored=censored, language=language
    )
    return words.encode()


def _zip_records(folder: RunFolder, settings: Settings) -> bytes:
    """The records of Every Eval Ever, under their paths."""
    packed = io.BytesIO()
    with tempfile.TemporaryDirectory(prefix="evalcore-export-") as scratch:
        files = write_records(read_shared_run(folder, settings), Path(scratch), RecordSource())
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in files:
                archive.write(file, file.relative_to(scratch).as_posix())
    return packed.getvalue()

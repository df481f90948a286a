"""The jobs `import`, `fetch` and `export`, each in a process of its own: what was handed in is
taken in or refused, an official data set is fetched, one file of a run is made for a page. What
they give may be read by anybody who sees the board: it holds no key and no place of this machine.
"""

from __future__ import annotations

import io
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from evalcore.access import redaction
from evalcore.access.redaction import mask_target
from evalcore.catalog import benchmark_card, call_reference, list_official_datasets
from evalcore.errors import EvalboardError, FileError, UsageError
from evalcore.exchange import reports
from evalcore.exchange.bundle import exporter
from evalcore.exchange.bundle.contents import MANIFEST
from evalcore.exchange.bundle.importer import import_bundle
from evalcore.exchange.logs.importer import find_logs, import_logs
from evalcore.exchange.trackers.cases import read_shared_run
from evalcore.exchange.trackers.every_eval_ever import RecordSource, write_records
from evalcore.i18n import DEFAULT, Note, map_note
from evalcore.intake.files import unpack_zip
from evalcore.records import to_plain
from evalcore.runner.jobs import TASKS, TaskContext
from evalcore.runner.jobs.data_client import BUNDLE_FORM, HUB_TOKEN_VARIABLE, RECORDS_FORM
from evalcore.settings import Settings
from evalcore.store import run_folder
from evalcore.store.run_folder import RunFolder, read_published
from evalcore.views.runs import redact_paths


def import_uploaded_file(context: TaskContext, file: str) -> dict[str, Any]:
    """Take in the bundle or the log at `file`, which is gone afterwards whatever happens.

    The result has what became of the run (`run`, `became`, `target`, `scores` with their levels),
    and with `identity`, `suite` and `board` where pages show it; of several runs that of the first,
    with their number as `runs`, and as `skipped` what could not be read. Raises UsageError with the
    reason of a refusal, in words that name no place of this machine.
    """
    path = Path(file)
    try:
        is_log = path.suffix != ".zip" or not _is_bundle(path)
        return (_import_logs if is_log else _import_bundle)(context, path)
    except UsageError as error:
        # whoever handed the file in knows it by another name
        bare = str(error).removeprefix(file).lstrip(":, ").removeprefix("refused: ")
        problem = error.problem if isinstance(error, FileError) else bare
        problem = map_note(problem, lambda text: text.replace(file, path.name))
        raise UsageError(redact_paths(problem)) from None
    finally:
        path.unlink(missing_ok=True)


def _is_bundle(path: Path) -> bool:
    """Whether an archive is a bundle; one that is damaged is refused as one."""
    try:
        with zipfile.ZipFile(path) as archive:
            return MANIFEST in archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError):
        return True


def _import_bundle(context: TaskContext, path: Path) -> dict[str, Any]:
    report = context.report_progress
    report("checking the bundle")
    done = import_bundle(
        path,
        context.settings,
        progress=report,
        scored=lambda count, total: report(Note("verdicts_again", done=count, total=total)),
    )
    summary: dict[str, Any] = to_plain(done)
    return summary | _locate_run(context, done.run)


def _import_logs(context: TaskContext, path: Path) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="evalcore-logs-") as scratch:
        if path.suffix == ".zip":
            folder = Path(scratch) / path.stem
            unpack_zip(path, folder)
            if next(find_logs(folder), None) is None:
                return _import_bundle(context, path)  # which says why it is none
            path = folder
        done = import_logs(path, context.settings, progress=context.report_progress)
    runs = [*done.created, *done.replaced, *done.unchanged]
    became = "created" if done.created else "replaced" if done.replaced else "unchanged"
    spec = RunFolder(context.settings.runs_dir / runs[0]).read_spec()
    published = read_published(RunFolder(context.settings.runs_dir / runs[0]))
    claims = published.scores if published else {}
    return {
        "run": runs[0],
        "runs": len(runs),
        "became": became,
        "target": mask_target(spec.target.key),
        "scores": [{"benchmark": key, "level": claim.level} for key, claim in claims.items()],
        "skipped": [redact_paths(line) for line in done.skipped[:20]],
        **_locate_run(context, runs[0]),
    }


def _locate_run(context: TaskContext, run: str) -> dict[str, Any]:
    """Where pages show a run."""
    spec = RunFolder(context.settings.runs_dir / run).read_spec()
    first = spec.benchmarks[0]
    identity = mask_target(spec.target.identity)
    return {"identity": identity, "board": first.dataset, "suite": first.suite}


def fetch_official_dataset(context: TaskContext, name: str) -> dict[str, Any]:
    """Fetch the official set of a name into its place below the data folder; what its fetcher says,
    without the names of files."""
    settings, report = context.settings, context.report_progress
    official = list_official_datasets().get(name)
    fetcher = benchmark_card(official.benchmark).fetcher if official else None
    if official is None or fetcher is None:
        raise UsageError(Note("not_official", name=repr(name)))
    report("asking for the list of files")
    flags = {flag.name: flag.default for flag in fetcher.flags}
    flags[fetcher.flags[0].name] = official.part
    token = context.secrets.to_pipe().get(HUB_TOKEN_VARIABLE) if official.on_hub else None
    folder = settings.data_dir / "datasets" / official.folder
    done = call_reference(fetcher.run, official.benchmark, settings, folder, flags, report, token)
    summary: dict[str, Any] = to_plain(done.data)
    return summary | {"files": len(summary["files"])}


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

"""The job `import`: what was handed in, taken in or refused. A bundle is checked and scored again,
a log of another framework is read as it is."""

from __future__ import annotations

import tempfile
import zipfile
from pathlib import Path
from typing import Any

from evalcore.access.redaction import mask_target
from evalcore.errors import FileError, UsageError
from evalcore.exchange.bundle.contents import MANIFEST
from evalcore.exchange.bundle.importer import import_bundle
from evalcore.exchange.logs.importer import find_logs, import_logs
from evalcore.i18n import Note, map_note
from evalcore.intake.files import unpack_zip
from evalcore.records import to_plain
from evalcore.runner.jobs import TaskContext
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

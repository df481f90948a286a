"""Import logs of other frameworks: find them, tell what wrote them, and make runs of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from evalcore.catalog import FRAMEWORKS
from evalcore.errors import UsageError, join_notes
from evalcore.exchange.bfcl import importer as bfcl_importer
from evalcore.exchange.bfcl import logged_results as bfcl_results
from evalcore.exchange.logs import (
    evalscope,
    every_eval_ever,
    helm,
    inspect_logs,
    lighteval,
    lm_eval,
    swebench,
    tau2_results,
)
from evalcore.exchange.logs.files import iter_files, read_head
from evalcore.exchange.logs.records import FrameworkLog, LoggedTask, convert_time
from evalcore.exchange.logs.runs import build_log_runs
from evalcore.exchange.staging import ImportedScore, ImportResult, ImportStage, open_import_stage
from evalcore.i18n import Note
from evalcore.records import ProgressCallback, Record
from evalcore.settings import Settings
from evalcore.store.run_folder import Flag

Restage = Callable[
    [Sequence[Path], Settings, ImportStage, ImportResult, ProgressCallback], set[Path]
]


def _keep_path(path: Path) -> Path:
    return path


class LogFormat(Record, frozen=True):
    """How logs of a framework are recognized among files, and read.

    `locate` gives the log that a file is a part of, `restage` prepares runs of logs whose answers
    can be scored again here, and returns which these are.
    """

    framework: str
    matches: Callable[[Path, bytes], bool]
    read: Callable[[Path], FrameworkLog]
    locate: Callable[[Path], Path] = _keep_path
    restage: Restage | None = None


#: In the order in which they are tried.
FORMATS = (
    LogFormat(
        bfcl_results.FRAMEWORK,
        bfcl_results.is_bfcl_file,
        bfcl_results.read_bfcl_model,
        bfcl_results.locate_bfcl_model,
        bfcl_importer.stage_official_folders,
    ),
    LogFormat(
        swebench.FRAMEWORK,
        swebench.is_swebench_report,
        swebench.read_swebench_run,
        swebench.locate_swebench_run,
    ),
    LogFormat(tau2_results.FRAMEWORK, tau2_results.is_tau2_result, tau2_results.read_tau2_result),
    LogFormat(inspect_logs.FRAMEWORK, inspect_logs.is_inspect_log, inspect_logs.read_inspect_log),
    LogFormat(lighteval.FRAMEWORK, lighteval.is_lighteval_result, lighteval.read_lighteval_result),
    LogFormat(lm_eval.FRAMEWORK, lm_eval.is_lm_eval_result, lm_eval.read_lm_eval_result),
    LogFormat(evalscope.FRAMEWORK, evalscope.is_evalscope_report, evalscope.read_evalscope_report),
    LogFormat(
        every_eval_ever.FRAMEWORK, every_eval_ever.is_eee_record, every_eval_ever.read_eee_record
    ),
    LogFormat(helm.FRAMEWORK, helm.is_helm_run, helm.read_helm_run),
)


def find_logs(path: Path, framework: str = "") -> Iterator[tuple[LogFormat, Path]]:
    """The logs at a path, those of one framework alone where it is named."""
    formats = [each for each in FORMATS if framework in ("", each.framework)]
    located: set[tuple[str, Path]] = set()
    for file in iter_files(path):
        if file.suffix not in (".eval", ".json"):
            continue
        head = b"" if file.suffix == ".eval" else read_head(file)
        match = next((each for each in formats if each.matches(file, head)), None)
        if match is None and framework and file == path:
            match = formats[0]  # it is what its owner says, or the error names what is missing
        if match is None:
            continue
        log = match.locate(file)
        if (match.framework, log) not in located:
            located.add((match.framework, log))
            yield match, log


def import_logs(
    path: Path, settings: Settings, framework: str = "", progress: ProgressCallback = print
) -> ImportResult:
    """Import every log at a path, all of them or none.

    Raises UsageError where there is none, and DatasetError with file, line and field for a log that
    cannot be read.
    """
    done = ImportResult()
    with open_import_stage(settings) as staged:
        logs = list(find_logs(path, framework))
        if not logs:
            known = ", ".join(FRAMEWORKS.values())
            raise UsageError(Note("log_none", path=path, known=known))
        restaged: set[Path] = set()
        for form in {form.framework: form for form, _ in logs}.values():
            if form.restage is not None:
                own = [log for each, log in logs if each == form]
                restaged |= form.restage(own, settings, staged, done, progress)
        prepared = {*done.created, *done.replaced, *done.unchanged}
        for form, file in logs:
            if file in restaged:
                continue
            progress(str(Note("log_reading", path=file.name, framework=FRAMEWORKS[form.framework])))
            log = _select_usable_tasks(_fill_date(form.read(file), file), file, done)
            for run_id, published in build_log_runs(log, staged.blobs):
                if run_id in prepared:
                    done.skipped.append(str(Note("log_same", path=file.name, run=run_id)))
                    continue
                prepared.add(run_id)
                done.record_run(staged.prepare_run(run_id, published), run_id, published)
                done.scores += [
                    ImportedScore(run_id, key, score.claimed, score.recomputed, score.reading)
                    for key, score in published.scores.items()
                ]
        if not prepared:
            problems = done.skipped[:5] or [Note("log_none", path=path, known="")]
            raise UsageError(join_notes(problems))
        staged.commit()
    return done


def _fill_date(log: FrameworkLog, file: Path) -> FrameworkLog:
    """The log with a date: where it has none, that of the file, which is said."""
    if log.created_at:
        return log
    created_at = convert_time(int(file.stat().st_mtime))
    tasks = [
        msgspec.structs.replace(task, flags=(*task.flags, Flag("log_no_date")))
        for task in log.tasks
    ]
    return msgspec.structs.replace(log, created_at=created_at, tasks=tuple(tasks))


def _select_usable_tasks(log: FrameworkLog, file: Path, done: ImportResult) -> FrameworkLog:
    """The log without tasks that have no score from 0 to 1, each of which is named."""
    usable = []
    for task in log.tasks:
        if not task.metric or not (task.samples or task.metric in task.claimed):
            done.skipped.append(_explain_unusable(task, file))
        else:
            usable.append(task)
    return msgspec.structs.replace(log, tasks=tuple(usable))


def _explain_unusable(task: LoggedTask, file: Path) -> str:
    metrics = ", ".join(task.left_out[:5]) or "–"
    return str(Note("log_no_share", path=file.name, task=task.name[:80], metrics=metrics))

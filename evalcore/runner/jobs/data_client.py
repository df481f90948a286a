"""What pages ask of other processes about data: data sets, files of a run, submitted bundles.
Raises UsageError with a message for people; what changes anything asks `access` first."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from threading import BoundedSemaphore
from typing import Any

import msgspec

from evalcore.access import policy
from evalcore.access.policy import AccessDenied, Visitor
from evalcore.catalog import list_official_datasets
from evalcore.errors import UsageError
from evalcore.i18n import DEFAULT, Note
from evalcore.records import Record
from evalcore.runner import jobs
from evalcore.runner.drafts import Draft, DraftInput
from evalcore.runner.gold import MAX_PROBLEMS, GoldProblem, confirm_gold
from evalcore.runner.jobs import Job
from evalcore.runner.uploads import MAX_FILE_BYTES, LineError
from evalcore.runner.uploads import DatasetLocation as DatasetLocation
from evalcore.runner.uploads import Upload as Upload
from evalcore.runner.uploads import UploadPart as UploadPart
from evalcore.runner.uploads import Validation as Validation
from evalcore.settings import Settings
from evalcore.store import datasets
from evalcore.store.datasets import DatasetSummary, own_folder
from evalcore.store.datasets import OwnCard as OwnCard

#: The environment variable with the token of the Hub.
HUB_TOKEN_VARIABLE = "HF_TOKEN"


# The door of pages and verbs to data sets: read, validate, keep, fetch, confirm.


def ensure_indexes(locations: Sequence[DatasetLocation], settings: Settings) -> None:
    """Make what pages show of data sets, where it is not there yet."""
    jobs.call_task("index_datasets", {"locations": locations}, settings, int)


def load_upload_templates(
    benchmark: str, parts: Sequence[str], settings: Settings
) -> list[UploadPart]:
    """What the cases of parts of a benchmark look like, where a bundled one shows it."""
    arguments = {"benchmark": benchmark, "parts": parts}
    return jobs.call_task("describe_templates", arguments, settings, list[UploadPart])


def validate_upload(upload: Upload, visitor: Visitor, settings: Settings) -> Validation:
    """Look at a file without keeping it, and have its expected answers run by the engines that are
    here. Raises AccessDenied too: looking costs our time."""
    policy.require_access(settings, visitor, "upload")
    if len(upload.content) > MAX_FILE_BYTES:
        raise UsageError(Note("bundle_large", size=MAX_FILE_BYTES >> 20))
    with _upload_folder(settings) as room:
        arguments = {"upload": upload, "room": room}
        validation = jobs.call_task("validate_upload", arguments, settings, Validation)
        if not validation.ok:
            return validation
        report = confirm_gold(DatasetLocation(upload.benchmark, room), settings)
    if report.contradicted:
        kind: Any = dict[str, list[int]]
        lines = jobs.call_task("map_upload_lines", {"upload": upload}, settings, kind)
        errors = sorted(
            (_line_error(problem, lines) for problem in report.contradicted),
            key=lambda error: (error.line, error.field),
        )
        more = len(errors) == MAX_PROBLEMS or not report.complete
        return Validation(summary=DatasetSummary(), errors=tuple(errors), more=more)
    return msgspec.structs.replace(validation, unconfirmed=report.unconfirmed, reason=report.reason)


def draft_cases(asked: DraftInput, visitor: Visitor, settings: Settings) -> Draft:
    """What is made of pasted SQL, by the engines that are here; nothing is kept. Raises
    AccessDenied too: executing costs our time."""
    policy.require_access(settings, visitor, "upload")
    return jobs.call_task("draft_cases", {"asked": asked}, settings, Draft)


def _line_error(problem: GoldProblem, lines: Mapping[str, Sequence[int]]) -> LineError:
    """A problem by the line of the file that was handed in; its name where that is unknown."""
    file, _, number = problem.source.rpartition(":")
    file_lines = lines.get(file, ())
    if number.isdecimal() and 0 < int(number) <= len(file_lines):
        return LineError(file_lines[int(number) - 1], problem.field, problem.problem)
    return LineError(
        0, problem.field, Note("located", location=problem.sample, problem=problem.problem)
    )


def save_upload(
    upload: Upload, card: OwnCard, visitor: Visitor, settings: Settings, *, replace: bool = False
) -> tuple[Validation, OwnCard | None]:
    """Keep a file as a data set, if it is valid: what was found and, where it was kept, its card.
    Raises AccessDenied, and UsageError for a name that is taken."""
    policy.require_access(settings, visitor, "upload")
    datasets.check_card(settings, card)
    validation = validate_upload(upload, visitor, settings)
    if not validation.ok:
        return validation, None
    with _upload_folder(settings) as room:
        fields = {"upload": upload, "card": card, "visitor": visitor, "replace": replace}
        kind: Any = tuple[Validation, OwnCard | None]
        arguments = fields | {"room": room}
        again, saved_card = jobs.call_task("save_upload", arguments, settings, kind)
    return (validation if saved_card else again), saved_card


def remove_dataset(benchmark: str, name: str, visitor: Visitor, settings: Settings) -> str:
    """Move an own set to the trash; returns the version by which `restore_dataset` finds it."""
    return datasets.trash_own_dataset(settings, visitor, benchmark, name)


def restore_dataset(
    benchmark: str, name: str, version: str, visitor: Visitor, settings: Settings
) -> None:
    """Restore an earlier version of an uploaded dataset."""
    datasets.restore_own_dataset(settings, visitor, benchmark, name, version)


def start_fetch(name: str, keys: Mapping[str, str], visitor: Visitor, settings: Settings) -> None:
    """Start to fetch an official set. Raises AccessDenied, and UsageError where it is fetched."""
    official = list_official_datasets().get(name)
    if official is None:
        available = ", ".join(list_official_datasets())
        raise UsageError(Note("dataset_not_official", name=name, names=available))
    token = keys.get(HUB_TOKEN_VARIABLE) if official.on_hub else ""
    used_keys = {HUB_TOKEN_VARIABLE: token} if token else {}
    jobs.start_job(settings, "fetch", name, {"name": name}, visitor, used_keys)


def start_confirm(
    key: str, location: DatasetLocation, visitor: Visitor, settings: Settings
) -> None:
    """Start to confirm the expected answers of a set, on real engines where it has any."""
    jobs.start_job(settings, "confirm", key, {"location": location}, visitor)


def is_name_taken(benchmark: str, name: str, settings: Settings) -> bool:
    """Whether there is an own set of that name; raises UsageError for an impossible name."""
    return own_folder(settings, benchmark, name).exists()


@contextmanager
def _upload_folder(settings: Settings) -> Iterator[str]:
    """A folder that a process of its own may make; what lies there goes with it, however the
    process ends."""
    room = settings.data_dir / "datasets" / "own" / f".upload.{secrets.token_hex(6)}"
    try:
        yield str(room)
    finally:
        shutil.rmtree(room, ignore_errors=True)


# The door of pages to the files of a run: reports and the bundle, each made when it is asked for.
# Whoever sees the board may take them away. They are made in a process of its own, few at a time,
# as it is readers without any rights who ask.

BUNDLE_FORM = "bundle"
RECORDS_FORM = "every_eval_ever"


class ExportForm(Record, frozen=True):
    """What a file is called and how it is read."""

    ending: str
    mime: str


EXPORT_FORMS: Mapping[str, ExportForm] = {
    "md": ExportForm("md", "text/markdown"),
    "json": ExportForm("json", "application/json"),
    "csv": ExportForm("csv", "text/csv"),
    BUNDLE_FORM: ExportForm("bundle.zip", "application/zip"),
    RECORDS_FORM: ExportForm("records.zip", "application/zip"),
}
_EXPORT_QUEUE_TIMEOUT = 30.0  # seconds that one waits for the files of others
_EXPORT_SLOTS = BoundedSemaphore(2)


def export_run_file(
    run: str, form: str, visitor: Visitor, settings: Settings, language: str = DEFAULT
) -> bytes:
    """A file of a run under one of FORMS, reports in a language. Texts of gated data sets are in it
    only where the visitor may see them. Raises UsageError with the reason where there is none to
    give."""
    if form not in EXPORT_FORMS:
        raise UsageError(Note("file_form_unknown", form=form[:40], names=", ".join(EXPORT_FORMS)))
    if not _EXPORT_SLOTS.acquire(timeout=_EXPORT_QUEUE_TIMEOUT):
        raise UsageError(Note("export_busy"))
    try:
        arguments = {"run": run, "form": form, "language": language}
        return jobs.call_task("export", arguments, settings, bytes, visitor=visitor)
    finally:
        _EXPORT_SLOTS.release()


# The door of pages to submissions: a bundle is handed in, checked and scored apart from the page.
# A submission is a job named by a mark of who handed it in, so that everybody sees and ends their
# own. What was uploaded lies in the folder of its job until that has ended, and is never kept.

#: Bytes of a zip; its files may have four times as many together.
MAX_BUNDLE_BYTES = 64 << 20
_UPLOAD_FILE = "upload"  # with the ending of what was handed in
_ZIP_MAGIC = b"PK\x03\x04"
#: Endings of what can be handed in: bundles and zipped folders of logs, and logs of one file.
SUBMISSION_ENDINGS = ("zip", "eval", "json")
_MAX_ENDED_JOBS = 20  # ended jobs that are kept, beside those of the last day
_DAY = timedelta(days=1)
_MAX_TITLE_LENGTH = 100


def submit_bundle(file: str, content: bytes, visitor: Visitor, settings: Settings) -> str:
    """Start to check a bundle, or a log of another framework, and to take it in; returns the name
    of the job. `file` is what people call it.

    Raises AccessDenied, also for a visitor who has had their share of the day, and UsageError for
    what cannot be a bundle and while another one is being taken in.
    """
    policy.require_access(settings, visitor, "upload")
    if len(content) > MAX_BUNDLE_BYTES:
        raise UsageError(Note("bundle_large", size=MAX_BUNDLE_BYTES >> 20))
    ending = file.rpartition(".")[2].lower()
    is_json = ending == "json" and content.lstrip()[:1] == b"{"
    if not (is_json or content.startswith(_ZIP_MAGIC)):
        raise UsageError(Note("bundle_zip"))
    submissions = _sweep_submissions(settings)
    if any(job.state == "running" for job in submissions):
        raise UsageError(Note("bundle_busy"))
    _check_daily_quota(submissions, visitor, settings)
    name = f"{policy.compute_visitor_id(settings, visitor)}-{secrets.token_hex(6)}"
    folder = jobs.resolve_job_folder(settings, "import", name)
    folder.mkdir(parents=True)
    try:
        upload = folder / f"{_UPLOAD_FILE}.{ending if ending in SUBMISSION_ENDINGS else 'zip'}"
        upload.write_bytes(content)
        arguments, title = {"file": str(upload)}, file[:_MAX_TITLE_LENGTH]
        restricted = policy.restrict_settings(settings, visitor)
        jobs.start_job(restricted, "import", name, arguments, visitor, title=title)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return name


def list_submissions(visitor: Visitor, settings: Settings, limit: int = 5) -> list[Job]:
    """The last submissions of a visitor, the newest first; of all for whom all is open."""
    submissions = _sweep_submissions(settings)
    own = [job for job in submissions if _is_own_submission(job, visitor, settings)]
    return own[:limit]


def cancel_submission(name: str, visitor: Visitor, settings: Settings) -> None:
    """End a submission; nothing half taken in stays. Raises AccessDenied for somebody else's."""
    policy.require_access(settings, visitor, "upload")
    job = jobs.find_job(settings, "import", name)
    if job is not None and not _is_own_submission(job, visitor, settings):
        raise AccessDenied(Note("bundle_other_visitor"))
    jobs.cancel_job(settings, "import", name, visitor)


def _is_own_submission(job: Job, visitor: Visitor, settings: Settings) -> bool:
    if policy.resolve_access_mode(settings, visitor) == "open":
        return True
    return job.name.startswith(f"{policy.compute_visitor_id(settings, visitor)}-")


def _check_daily_quota(submissions: Iterable[Job], visitor: Visitor, settings: Settings) -> None:
    """Scoring takes our time: a visitor may hand in as many runs a day as they may start."""
    if policy.resolve_access_mode(settings, visitor) == "open":
        return
    used = sum(job.age < _DAY and _is_own_submission(job, visitor, settings) for job in submissions)
    if used >= settings.runs_per_day:
        raise AccessDenied(Note("bundle_share", allowed=settings.runs_per_day, used=used))


def _sweep_submissions(settings: Settings) -> list[Job]:
    """All submissions, newest first, once what ended ones left behind is gone."""
    submissions = jobs.list_jobs(settings, "import")
    for number, job in enumerate(submissions):
        folder = jobs.resolve_job_folder(settings, "import", job.name)
        if job.state == "running":
            continue
        for upload in folder.glob(f"{_UPLOAD_FILE}.*"):  # of a process that was killed
            upload.unlink(missing_ok=True)
        if number >= _MAX_ENDED_JOBS and job.age > _DAY:
            shutil.rmtree(folder, ignore_errors=True)
    return submissions

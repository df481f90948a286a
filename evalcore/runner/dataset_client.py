"""The door of pages and verbs to data sets: read, validate, keep, fetch, confirm.

What needs a benchmark happens in a process of its own (`dataset_service`, `jobs`); what changes
anything asks `access` first. Every function raises UsageError with a message for people.
"""

from __future__ import annotations

import json
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from evalcore import access
from evalcore.access import Visitor
from evalcore.errors import UsageError
from evalcore.runner import jobs, processes
from evalcore.runner.gold import MAX_PROBLEMS, GoldProblem, confirm_gold
from evalcore.runner.jobs import Job
from evalcore.runner.official import HUB_TOKEN_VARIABLE, OFFICIAL_DATASETS
from evalcore.runner.upload_forms import MAX_FILE_BYTES
from evalcore.runner.upload_records import DatasetLocation as DatasetLocation
from evalcore.runner.upload_records import LineError
from evalcore.runner.upload_records import Upload as Upload
from evalcore.runner.upload_records import Validation as Validation
from evalcore.runner.upload_template import UploadPart as UploadPart
from evalcore.settings import Settings
from evalcore.store import own_datasets
from evalcore.store.dataset_index import DatasetSummary
from evalcore.store.own_datasets import OwnCard as OwnCard
from evalcore.store.own_datasets import own_folder

_DATASET_TIMEOUT = 170.0


def ensure_indexes(locations: Sequence[DatasetLocation], settings: Settings) -> None:
    """Make what pages show of data sets, where it is not there yet."""
    _call_dataset_service("index", {"sets": locations}, settings)


def load_upload_template(benchmark: str, part: str, settings: Settings) -> UploadPart | None:
    """What the cases of one part of a benchmark look like, None where no bundled case shows it."""
    answer = _call_dataset_service("template", {"benchmark": benchmark, "part": part}, settings)
    return None if answer is None else msgspec.convert(answer, UploadPart)


def validate_upload(upload: Upload, visitor: Visitor, settings: Settings) -> Validation:
    """Look at a file without keeping it, and have its expected answers run by the engines that are
    here. Raises AccessDenied too: looking costs our time."""
    access.require_access(settings, visitor, "upload")
    with _upload_folder(settings) as room:
        payload = _build_upload_args(upload) | {"room": str(room)}
        validation = msgspec.convert(
            _call_dataset_service("validate", payload, settings), Validation
        )
        if not validation.ok:
            return validation
        report = confirm_gold(DatasetLocation(upload.benchmark, str(room)), settings)
    if report.contradicted:
        lines: dict[str, list[int]] = _call_dataset_service(
            "lines", _build_upload_args(upload), settings
        )
        errors = sorted(
            (_line_error(problem, lines) for problem in report.contradicted),
            key=lambda error: (error.line, error.field),
        )
        more = len(errors) == MAX_PROBLEMS or not report.complete
        return Validation(summary=DatasetSummary(), errors=tuple(errors), more=more)
    return msgspec.structs.replace(validation, unconfirmed=report.unconfirmed, reason=report.reason)


def _line_error(problem: GoldProblem, lines: Mapping[str, Sequence[int]]) -> LineError:
    """A problem by the line of the file that was handed in; its name where that is unknown."""
    file, _, number = problem.source.rpartition(":")
    file_lines = lines.get(file, ())
    if number.isdecimal() and 0 < int(number) <= len(file_lines):
        return LineError(file_lines[int(number) - 1], problem.field, problem.problem)
    return LineError(0, problem.field, f"{problem.sample}: {problem.problem}")


def save_upload(
    upload: Upload, card: OwnCard, visitor: Visitor, settings: Settings, *, replace: bool = False
) -> tuple[Validation, OwnCard | None]:
    """Keep a file as a data set, if it is valid: what was found and, where it was kept, its card.

    Raises AccessDenied, and UsageError for a name that is taken.
    """
    access.require_access(settings, visitor, "upload")
    own_datasets.check_card(settings, card)
    validation = validate_upload(upload, visitor, settings)
    if not validation.ok:
        return validation, None
    payload = _build_upload_args(upload) | {"card": card, "visitor": visitor, "replace": replace}
    with _upload_folder(settings) as room:
        answer = _call_dataset_service("save", payload | {"room": str(room)}, settings)
    saved_card = msgspec.convert(answer["card"], OwnCard) if "card" in answer else None
    return (
        validation if saved_card else msgspec.convert(answer["validation"], Validation)
    ), saved_card


def remove_dataset(benchmark: str, name: str, visitor: Visitor, settings: Settings) -> str:
    """Move an own set to the trash; returns the version by which `restore_dataset` finds it."""
    return own_datasets.trash_own_dataset(settings, visitor, benchmark, name)


def restore_dataset(
    benchmark: str, name: str, version: str, visitor: Visitor, settings: Settings
) -> None:
    """Bring a former version of an own set back."""
    own_datasets.restore_own_dataset(settings, visitor, benchmark, name, version)


def start_fetch(name: str, keys: Mapping[str, str], visitor: Visitor, settings: Settings) -> None:
    """Start to fetch an official set. Raises AccessDenied, and UsageError where it is fetched."""
    access.require_access(settings, visitor, "fetch")
    official = OFFICIAL_DATASETS.get(name)
    if official is None:
        raise UsageError(f"{name!r} is no official data set; known: {', '.join(OFFICIAL_DATASETS)}")
    token = (
        {HUB_TOKEN_VARIABLE: keys[HUB_TOKEN_VARIABLE]}
        if keys.get(HUB_TOKEN_VARIABLE) and official.benchmark != "bfcl"
        else {}
    )
    jobs.start_job(settings, "fetch", name, {"name": name}, token)


def find_fetch_job(name: str, settings: Settings) -> Job | None:
    """The last job that fetched an official set."""
    return jobs.find_job(settings, "fetch", name)


def cancel_fetch(name: str, visitor: Visitor, settings: Settings) -> None:
    """End the fetching of a set; nothing half fetched stays."""
    access.require_access(settings, visitor, "fetch")
    jobs.cancel_job(settings, "fetch", name)


def start_confirm(
    key: str, location: DatasetLocation, visitor: Visitor, settings: Settings
) -> None:
    """Start to confirm the expected answers of a set, on real engines where it has any."""
    access.require_access(settings, visitor, "upload")
    jobs.start_job(settings, "confirm", _job_name(key), msgspec.to_builtins(location), {})


def find_confirm_job(key: str, settings: Settings) -> Job | None:
    """The last job that confirmed a set."""
    return jobs.find_job(settings, "confirm", _job_name(key))


def cancel_confirm(key: str, visitor: Visitor, settings: Settings) -> None:
    """End the confirming of a set."""
    access.require_access(settings, visitor, "upload")
    jobs.cancel_job(settings, "confirm", _job_name(key))


def is_name_taken(benchmark: str, name: str, settings: Settings) -> bool:
    """Whether there is an own set of that name; raises UsageError for an impossible name."""
    return own_folder(settings, benchmark, name).exists()


def _job_name(key: str) -> str:
    return key.replace(":", ".")


def _build_upload_args(upload: Upload) -> dict[str, Any]:
    if len(upload.content) > MAX_FILE_BYTES:
        raise UsageError(f"the file has more than {MAX_FILE_BYTES >> 20} MB")
    return {"upload": upload}


@contextmanager
def _upload_folder(settings: Settings) -> Iterator[Path]:
    """A folder that a process of its own may make; what lies there goes with it, however the
    process ends."""
    room = settings.data_dir / "datasets" / "own" / f".upload.{secrets.token_hex(6)}"
    try:
        yield room
    finally:
        shutil.rmtree(room, ignore_errors=True)


def _call_dataset_service(verb: str, payload: Mapping[str, Any], settings: Settings) -> Any:
    """Ask a process of its own; one that is killed by its limits is no fault of the server."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", "evalcore.runner.dataset_service", verb],
            input=msgspec.json.encode({**payload, "settings": settings}),
            capture_output=True,
            timeout=_DATASET_TIMEOUT,
            env=processes.build_import_environment(),
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise UsageError("this took too long and was stopped; hand in fewer cases") from None
    if done.returncode > 0:
        raise UsageError((done.stderr.decode(errors="replace").splitlines() or ["no answer"])[-1])
    if done.returncode:
        raise UsageError(
            "these cases could not be read within the limits of time and memory; look for cases "
            "that are very long or nested very deep"
        )
    result = json.loads(done.stdout)
    if "error" in result:
        raise UsageError(result["error"])
    return result["ok"]

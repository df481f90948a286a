"""The submissions to tau2-bench's leaderboard as a publication: claims without verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec

from evalcore.errors import DatasetError, UsageError
from evalcore.i18n import Note
from evalcore.intake.files import read_bytes
from evalcore.plain_text import to_single_line
from evalcore.records import ProgressCallback, Record
from evalcore.store.published import (
    ClaimedScore,
    EntryType,
    Publication,
    PublishedEntry,
    Publisher,
    parse_day,
)

KEY = "tau2"
_FOLDERS = (Path(), Path("submissions"), Path("web/leaderboard/public/submissions"))
_FILE = "submission.json"
_EXAMPLE = "A_EXAMPLE"
_FILE_LIMIT = 1 << 20  # bytes
_MAX_SUBMISSIONS = 5_000
#: pass^k for each k that may be stated.
_PASSES = ("pass_1", "pass_2", "pass_3", "pass_4")
_DOMAINS = ("banking_knowledge", "telecom", "retail", "airline")
_Percent = Annotated[float, msgspec.Meta(ge=0, le=100)]
_TYPES: dict[str, EntryType] = {"custom": "custom"}


_PUBLISHER = Publisher(
    format=1,
    key=KEY,
    title="τ²-bench",
    suite="agentic",
    source="https://github.com/sierra-research/tau2-bench",
    revision="",
    licence="MIT",
    date="",
    columns={domain: dict.fromkeys(_PASSES) for domain in _DOMAINS},
    cumulative=True,
)


class _DomainResult(Record, frozen=True):
    pass_1: _Percent | None = None
    pass_2: _Percent | None = None
    pass_3: _Percent | None = None
    pass_4: _Percent | None = None
    cost: Annotated[float, msgspec.Meta(ge=0, le=1e6)] | None = None


class _Methodology(Record, frozen=True):
    tau2_bench_version: str | None = None
    user_simulator: str | None = None


class _Release(Record, frozen=True):
    release_date: str | None = None


class _Submission(Record, frozen=True):
    """`submission.json` of tau2-bench; contact data and free texts are never read."""

    model_name: str
    results: dict[str, _DomainResult | None]
    model_organization: str | None = None
    submitting_organization: str | None = None
    submission_date: str = ""
    submission_type: str | None = None
    modality: str | None = None
    reasoning_effort: str | None = None
    trajectories_available: bool | None = None
    methodology: _Methodology | None = None
    model_release: _Release | None = None


def find_tau2_folder(root: Path) -> Path | None:
    """The folder of submissions in a checkout of the repository, or the folder itself."""
    folders = (root / folder for folder in _FOLDERS)
    return next((folder for folder in folders if any(folder.glob(f"*/{_FILE}"))), None)


def build_publication(
    root: Path, revision: str, date: str, progress: ProgressCallback
) -> Publication:
    """Read a checkout. Raises UsageError for what is none and DatasetError, naming file and field,
    for a submission that cannot be understood."""
    folder = find_tau2_folder(root)
    paths = sorted(folder.glob(f"*/{_FILE}")) if folder else []
    paths = [path for path in paths if not path.parent.name.startswith(_EXAMPLE)]
    if not paths:
        raise UsageError(Note("published_no_submission", path=root))
    if len(paths) > _MAX_SUBMISSIONS:
        raise UsageError(Note("published_many", path=root, most=_MAX_SUBMISSIONS))
    progress(Note("reading_submissions", count=len(paths)))
    entries = sorted(map(_read_entry, paths), key=lambda entry: (entry.date, entry.id))
    publisher = msgspec.structs.replace(
        _PUBLISHER, revision=revision, date=date or entries[-1].date
    )
    return Publication(publisher, (), tuple(entries))


def _read_entry(path: Path) -> PublishedEntry:
    submission = _decode_submission(path)
    day, method = parse_day(submission.submission_date), submission.methodology or _Methodology()
    if not day:
        raise DatasetError(path, None, "submission_date", Note("no_date"))
    return PublishedEntry(
        month=day[:7],
        id=to_single_line(path.parent.name, 120),
        name=to_single_line(submission.model_name, 120),
        organization=to_single_line(submission.model_organization or "", 120),
        type=_TYPES.get(submission.submission_type or "", ""),
        released=parse_day((submission.model_release or _Release()).release_date or ""),
        date=day,
        submitter=to_single_line(submission.submitting_organization or "", 120),
        effort=to_single_line(submission.reasoning_effort or "", 40),
        setup=_describe_setup(submission.modality, method),
        trajectories=bool(submission.trajectories_available),
        scores={
            domain: _build_score(result)
            for domain in _DOMAINS
            if (result := submission.results.get(domain)) and result.pass_1 is not None
        },
    )


def _build_score(result: _DomainResult) -> ClaimedScore:
    passes = {name: getattr(result, name) for name in _PASSES}
    return ClaimedScore(
        score=result.pass_1 or 0.0,
        metrics={metric: value for metric, value in passes.items() if value is not None},
        cost=result.cost or None,  # 0 is how some say that they did not count
    )


def _describe_setup(modality: str | None, method: _Methodology) -> dict[str, str]:
    """What scores of two submissions must have in common to be compared: speech or text, the
    version of the tasks, which were mended with 1.0, and the model that plays the user."""
    version = (method.tau2_bench_version or "").strip().removeprefix("v")
    tasks = {"0": "before 1.0", "1": "1.x"}.get(version.partition(".")[0], version or "not stated")
    setup = {
        "modality": modality or "text",
        "tasks": tasks,
        "user": method.user_simulator or "not stated",
    }
    return {name: to_single_line(value, 60) for name, value in setup.items()}


def _decode_submission(path: Path) -> _Submission:
    if path.is_symlink():
        raise DatasetError(path, None, "", Note("no_link"))
    try:
        return msgspec.json.decode(read_bytes(path, _FILE_LIMIT), type=_Submission)
    except msgspec.MsgspecError as error:
        problem, _, field = str(error).partition(" - at ")
        raise DatasetError(path, None, field.strip("`$."), problem) from None
    except (UnicodeDecodeError, RecursionError) as error:
        raise DatasetError(path, None, "", Note("not_utf8_or_deep", problem=error)) from None

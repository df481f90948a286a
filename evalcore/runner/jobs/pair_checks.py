"""Checks whether two SQL statements are equivalent, for the page that asks: a job per question.

A check is named by the hash of its pairs, so that a question asked again is answered at once and
its link can be shared. What it found lies in the status of its job; old checks are swept away.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence

import msgspec

from evalcore import __version__
from evalcore.access.policy import Visitor, require_access, restrict_settings
from evalcore.errors import UsageError
from evalcore.i18n import Note
from evalcore.records import Record, Section, content_hash
from evalcore.runner import jobs
from evalcore.runner.jobs import Job, TaskContext
from evalcore.settings import Settings
from evalcore.sqlkit.equivalence import Level
from evalcore.sqlkit.equivalence.evidence import build_counterexample_sections
from evalcore.sqlkit.equivalence.pairs import Pair, PairStatus, check_engines, decide_pairs
from evalcore.sqlkit.equivalence.pairs import read_pairs as read_pairs

MAX_PAIRS = 500
MAX_CHARS = 200_000  # of schema and statements of a pair
MAX_FILE_BYTES = 8 << 20
_MAX_RUNNING = 2  # checks at a time, each of which may have servers and a core to itself
_MAX_ENDED = 200  # checks that are remembered


class PairResult(Record, frozen=True):
    """What was decided, with the question: `level` says what an equivalence rests on, `proof_rows`
    up to how many rows in each table it is proved, `evidence` is the database that differs."""

    pair: Pair
    status: PairStatus
    level: Level = ""
    proof_rows: int = 0
    databases: int = 0
    message: str = ""
    evidence: tuple[Section, ...] = ()


def start_check(pairs: Sequence[Pair], visitor: Visitor, settings: Settings) -> str:
    """Start to decide pairs, unless that is under way or was done; returns the name of the check.
    Raises AccessDenied, and UsageError for pairs that cannot be checked here."""
    require_access(settings, visitor, "launch")
    if not pairs:
        raise UsageError(Note("pair_none"))
    if len(pairs) > MAX_PAIRS:
        raise UsageError(Note("pair_too_many", count=len(pairs), limit=MAX_PAIRS))
    for pair in pairs:
        texts = ("\n".join(pair.schema_scripts), pair.reference, pair.answer)
        if not all(text.strip() for text in texts):
            raise UsageError(Note("pair_empty"))
        if (count := sum(map(len, texts))) > MAX_CHARS:
            raise UsageError(Note("pair_long", count=count, limit=MAX_CHARS))
    check_engines(pairs)
    name = content_hash([__version__, *pairs])  # another version may decide otherwise
    present = jobs.find_job(settings, "equivalent", name)
    if present is not None and present.state in ("running", "done"):
        return name
    running = _sweep_checks(settings)
    if running >= _MAX_RUNNING:
        raise UsageError(Note("pair_busy", count=running))
    restricted = restrict_settings(settings, visitor)
    jobs.start_job(restricted, "equivalent", name, {"pairs": list(pairs)}, visitor)
    return name


def find_check(name: str, settings: Settings) -> Job | None:
    """The check of that name as it stands; None where there is none, or none any more."""
    try:
        return jobs.find_job(settings, "equivalent", name)
    except UsageError:
        return None


def read_results(job: Job) -> list[PairResult]:
    """What a check that is done has found."""
    return msgspec.convert(job.result["results"], list[PairResult])


def cancel_check(name: str, visitor: Visitor, settings: Settings) -> None:
    """End a check. Raises AccessDenied, and UsageError where none is under way."""
    jobs.cancel_job(settings, "equivalent", name, visitor)


def decide_statement_pairs(context: TaskContext, pairs: list[Pair]) -> dict[str, list[PairResult]]:
    """Decide every pair; the function of the job."""
    context.report_progress(Note("progress_of", done=0, total=len(pairs)))
    results = []
    for pair, decision in zip(pairs, decide_pairs(pairs), strict=True):
        results.append(
            PairResult(
                pair,
                decision.status,
                decision.level,
                decision.proof_rows,
                decision.databases,
                decision.message,
                build_counterexample_sections(decision.counterexample),
            )
        )
        context.report_progress(Note("progress_of", done=len(results), total=len(pairs)))
    return {"results": results}


def _sweep_checks(settings: Settings) -> int:
    """Remove the oldest checks that have ended; returns how many are running."""
    checks = jobs.list_jobs(settings, "equivalent")
    ended = [job for job in checks if job.state != "running"]
    for job in ended[_MAX_ENDED:]:
        folder = jobs.resolve_job_folder(settings, "equivalent", job.name)
        shutil.rmtree(folder, ignore_errors=True)
    return len(checks) - len(ended)

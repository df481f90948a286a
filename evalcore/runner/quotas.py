"""How much visitors may launch: counted from the run folders, so that a restart resets nothing.

Runs of the operator count for nobody. A run that was deleted still counts: it lies in the trash.
"""

from __future__ import annotations

import time
from calendar import timegm
from collections.abc import Iterator

from evalcore import access
from evalcore.access import AccessDenied, Visitor
from evalcore.errors import RunFolderError
from evalcore.records import Record, RunSpec
from evalcore.settings import Settings
from evalcore.store import run_folder
from evalcore.store.run_folder import RunFolder

_DAY_SECONDS = 86_400.0
#: Seconds that a planned run is thought to be about to start, or waits for another.
_ABOUT_TO_START = 3600.0


class QuotaUsage(Record, frozen=True):
    """What visitors have taken: runs of one of them and USD of all within a day, runs at work."""

    runs: int = 0
    spent: float = 0.0
    at_work: int = 0


def check_quota(
    settings: Settings, visitor: Visitor, run_count: int = 1, *, resumed_run: str = ""
) -> None:
    """Raises AccessDenied where a visitor has had his share; `run_count` is how many runs he wants.

    `resumed_run` is the id of a run that he has already and wants to go on with.
    """
    if access.resolve_access_mode(settings, visitor) == "open":
        return
    used = compute_quota_usage(settings, visitor, excluded_run=resumed_run)
    if not resumed_run and used.runs + run_count > settings.runs_per_day:
        raise AccessDenied(
            f"this board allows {settings.runs_per_day} runs a day to each visitor; "
            f"{used.runs} were started in the last 24 hours"
        )
    if used.at_work + run_count > settings.runs_at_once:
        raise AccessDenied(
            f"this board allows {settings.runs_at_once} runs at once; wait until one has ended"
        )
    needed = run_count * settings.run_budget
    if settings.day_budget and used.spent + needed > settings.day_budget:
        raise AccessDenied(
            f"this board allows ${settings.day_budget:g} a day, and what is left does not cover "
            "another run; try again later"
        )


def compute_quota_usage(
    settings: Settings, visitor: Visitor, *, excluded_run: str = ""
) -> QuotaUsage:
    """What was taken within a day; a run at work, or of unknown cost, counts with its budget."""
    visitor_id, runs, spent, at_work = access.compute_visitor_id(settings, visitor), 0, 0.0, 0
    for folder, spec, age in _iterate_visitor_runs(settings):
        runs += (
            spec.started_by == visitor_id and age < _DAY_SECONDS and folder.run_id != excluded_run
        )
        state = folder.current_state()
        moving = state == "running" or (state == "planned" and age < _ABOUT_TO_START)
        at_work += moving and folder.run_id != excluded_run
        cost = _read_run_cost(folder)
        if cost is None or moving:
            cost = max(cost or 0.0, settings.run_budget)
        spent += cost
    return QuotaUsage(runs, spent, at_work)


def _iterate_visitor_runs(settings: Settings) -> Iterator[tuple[RunFolder, RunSpec, float]]:
    """The runs of visitors that were started, or worked on, within a day; with their age."""
    for folder in run_folder.list_run_folders([settings.runs_dir, settings.data_dir / "trash"]):
        age = time.time() - _parse_start_time(folder)
        if age > _DAY_SECONDS and not _has_recent_progress(folder) and not folder.has_live_worker():
            continue
        try:
            spec = folder.read_spec()
        except RunFolderError:
            continue
        if spec.access:
            yield folder, spec, age


def _parse_start_time(folder: RunFolder) -> float:
    """When a run was made, by its id; long ago where that tells no time."""
    try:
        return timegm(time.strptime(folder.run_id[:15], "%Y%m%d-%H%M%S"))
    except ValueError:
        return 0.0


def _has_recent_progress(folder: RunFolder) -> bool:
    try:
        return time.time() - (folder.path / "progress.json").stat().st_mtime < _DAY_SECONDS
    except OSError:
        return False


def _read_run_cost(folder: RunFolder) -> float | None:
    """USD that a run has taken, 0 before it has begun, None where that is unknown."""
    try:
        progress = folder.read_progress()
        return 0.0 if progress is None else progress.cost
    except RunFolderError:
        return None

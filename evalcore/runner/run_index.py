"""What spares a worker and readers of a large run reading all its cases again: how far its index
goes, the table of its cases, and that nothing was added to a finished one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

import msgspec

from evalcore.errors import EvalboardError, RunFolderError
from evalcore.records import RunSpec
from evalcore.results import RunSummary
from evalcore.runner.frozen_cases import require_same_cases
from evalcore.runner.generation_plan import GenerationPlan
from evalcore.runner.plan import find_installed_version
from evalcore.runner.summary import scoring_id, summarise_run
from evalcore.settings import Settings, override_data_folder
from evalcore.store.case_index import CaseIndex
from evalcore.store.case_tables import finish_table, refresh_parts
from evalcore.store.run_folder import RunFolder
from evalcore.store.stored_cases import write_case_points

_FLUSH = 5.0  # seconds between two writes of what readers go by


async def keep_index(index: CaseIndex, spec: RunSpec, is_ours: Callable[[], bool]) -> None:
    """Every now and then, say how far the index goes and write the parts of the table that stay as
    they are for a while. Nothing is written into a folder that is not that of the run any more."""
    while index.is_kept:
        await asyncio.sleep(_FLUSH)
        with suppress(OSError, RunFolderError):  # a cache
            if is_ours():
                index.flush()
                await asyncio.to_thread(refresh_parts, index, spec)


def write_result(index: CaseIndex, spec: RunSpec, result: RunSummary) -> None:
    """Write the summary, and what readers go by; raises OSError for the summary."""
    index.folder.write_summary(result)
    done = result.state == "done"
    with suppress(OSError):
        index.flush(_mark_result(result) if done else "")
        finish_table(index, spec, done=done)
        write_case_points(index, spec)


def find_result(folder: RunFolder, spec: RunSpec, settings: Settings) -> RunSummary | None:
    """The summary of a run that has nothing left to do, None where there may be anything: whoever
    works on it says what. That of a large run is known by a mark; else all is summed up again.
    Nothing is written."""
    with suppress(EvalboardError):
        summary, scoring = folder.read_summary(), scoring_id(spec)
        if summary is None or (summary.state, summary.scoring) != ("done", scoring):
            return None
        with CaseIndex.load(folder, scoring, spec.epochs) as index:
            if _mark_result(summary) == index.mark:
                return summary
            with override_data_folder(settings.data):
                require_same_cases(folder, settings)
            if GenerationPlan(index, spec).has_work():
                return None
            again = summarise_run(index, spec, cancelled=False, wall=0.0)
        return summary if _strip_circumstances(again) == _strip_circumstances(summary) else None
    return None


def lacks_answers(folder: RunFolder, spec: RunSpec) -> bool:
    """Whether anything of a run is left to ask."""
    with CaseIndex.load(folder, scoring_id(spec), spec.epochs) as index:
        plan = GenerationPlan(index, spec)
        return any(not plan.read_records(unit).has_answer() for unit in plan.list_units())


def _strip_circumstances(summary: RunSummary) -> RunSummary:
    """Without what the journals of cases do not say."""
    totals = msgspec.structs.replace(summary.totals, wall=0.0, joules=None)
    return msgspec.structs.replace(
        summary, totals=totals, finished_at="", tool_refusal="", api_change="", message=""
    )


def _mark_result(summary: RunSummary) -> str:
    """What tells a result from others; another version of this package sums up anew."""
    return f"{find_installed_version('evalboard')} {summary.scoring} {summary.finished_at}"

"""What spares a worker and readers of a large run reading all its cases again: how far its index
goes, the table of its cases, and that nothing was added to a finished one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from evalcore.errors import RunFolderError
from evalcore.records import RunSpec
from evalcore.results import RunSummary
from evalcore.runner.plan import find_installed_version
from evalcore.runner.summary import scoring_id
from evalcore.store.case_index import CaseIndex, locate_index
from evalcore.store.case_tables import finish_table, refresh_parts
from evalcore.store.run_folder import RunFolder

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
    """Write the summary, and the table of a large run; raises OSError for the summary."""
    index.folder.write_summary(result)
    done = result.state == "done"
    with suppress(OSError):
        index.flush(_mark_result(result) if done else "")
        finish_table(index, spec, done=done)


def read_result(index: CaseIndex) -> RunSummary | None:
    """The summary of a large run that was made of exactly what is journaled, if there is one."""
    summary = index.folder.read_summary() if index.mark else None
    return summary if summary and _mark_result(summary) == index.mark else None


def has_result(folder: RunFolder, spec: RunSpec) -> bool:
    """Whether a large run has nothing left to do."""
    with suppress(OSError):
        if locate_index(folder, scoring_id(spec)).stat().st_size:
            with CaseIndex.load(folder, scoring_id(spec), spec.epochs) as index:
                return read_result(index) is not None
    return False


def repeat_result(index: CaseIndex, result: RunSummary) -> None:
    """Write the summary of a run that had nothing left to do; raises OSError for it."""
    index.folder.write_summary(result)
    with suppress(OSError):
        index.keep()
        index.flush(_mark_result(result))


def _mark_result(summary: RunSummary) -> str:
    """What tells a result from others; another version of this package sums up anew."""
    return f"{find_installed_version('evalboard')} {summary.scoring} {summary.finished_at}"

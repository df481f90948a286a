"""The job `fetch`: an official data set, fetched in a process of its own."""

from __future__ import annotations

from typing import Any

from evalcore.catalog import benchmark_card, call_reference, list_official_datasets
from evalcore.errors import UsageError
from evalcore.i18n import Note
from evalcore.records import to_plain
from evalcore.runner.jobs import TaskContext
from evalcore.runner.jobs.data_client import HUB_TOKEN_VARIABLE


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

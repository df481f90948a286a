"""The job `fetch_official_dataset`: an official data set, fetched in a process of its own."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import msgspec

from evalcore.catalog import benchmark_card, call_reference, list_official_datasets
from evalcore.errors import UsageError
from evalcore.runner import jobs
from evalcore.runner.jobs import ProgressCallback
from evalcore.runner.jobs.data_client import HUB_TOKEN_VARIABLE
from evalcore.settings import Settings


def fetch_official_dataset(
    request: Mapping[str, Any], settings: Settings, keys: Mapping[str, str], say: ProgressCallback
) -> dict[str, Any]:
    """Fetch the official set of a name into its place below the data folder."""
    official = list_official_datasets().get(str(request["name"]))
    fetcher = benchmark_card(official.benchmark).fetcher if official else None
    if official is None or fetcher is None:
        raise UsageError(f"{request['name']!r} is no official data set")
    say("asking for the list of files")
    flags = {flag.name: flag.default for flag in fetcher.flags}
    flags[fetcher.flags[0].name] = official.part
    token = keys.get(HUB_TOKEN_VARIABLE) if official.on_hub else None
    folder = settings.data_dir / "datasets" / official.folder
    done = call_reference(
        fetcher.run, official.benchmark, settings, folder, flags, say, token or None
    )
    summary: dict[str, Any] = msgspec.to_builtins(done.data)
    return summary | {"files": len(summary["files"])}  # without their names


if __name__ == "__main__":
    sys.exit(jobs.run_job(fetch_official_dataset))

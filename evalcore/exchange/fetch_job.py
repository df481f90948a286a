"""The job `fetch_official_dataset`: an official data set, fetched in a process of its own."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import msgspec

from evalcore.errors import UsageError
from evalcore.runner import jobs
from evalcore.runner.jobs import ProgressCallback
from evalcore.runner.jobs.data_client import HUB_TOKEN_VARIABLE, OFFICIAL_DATASETS
from evalcore.settings import Settings


def fetch_official_dataset(
    request: Mapping[str, Any], settings: Settings, keys: Mapping[str, str], say: ProgressCallback
) -> dict[str, Any]:
    """Fetch the official set of a name into its place below the data folder."""
    official = OFFICIAL_DATASETS.get(str(request["name"]))
    if official is None:
        raise UsageError(f"{request['name']!r} is no official data set")
    folder = settings.data_dir / "datasets" / official.folder
    say("asking for the list of files")
    if official.benchmark == "bfcl":
        from evalcore.exchange.bfcl import fetch as bfcl

        return _summarize_fetched(bfcl.fetch_bfcl(folder, official.part, say))
    token = keys.get(HUB_TOKEN_VARIABLE) or None
    if official.benchmark == "gaia":
        from evalcore.exchange import gaia as gaia

        return _summarize_fetched(gaia.fetch_gaia(folder, say, token, official.part))
    from evalcore.exchange import swe_bench as swe_bench

    return _summarize_fetched(swe_bench.fetch_swe_bench(folder, official.part, say, token))


def _summarize_fetched(fetched: Any) -> dict[str, Any]:
    """What the fetcher says, without its list of files."""
    summary: dict[str, Any] = msgspec.to_builtins(fetched)
    return summary | {"files": len(summary["files"])}


if __name__ == "__main__":
    sys.exit(jobs.run_job(fetch_official_dataset))

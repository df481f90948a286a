"""The job `fetch`: an official data set, fetched in a process of its own."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import msgspec

from evalcore.errors import UsageError
from evalcore.runner import job_process
from evalcore.runner.job_process import ProgressCallback
from evalcore.runner.official import OFFICIAL, VARIABLE
from evalcore.settings import Settings


def fetch(
    given: Mapping[str, Any], settings: Settings, keys: Mapping[str, str], say: ProgressCallback
) -> dict[str, Any]:
    """Fetch the official set of a name into its place below the data folder."""
    known = OFFICIAL.get(str(given["name"]))
    if known is None:
        raise UsageError(f"{given['name']!r} is no official data set")
    folder = settings.data_dir / "datasets" / known.folder
    say("asking for the list of files")
    if known.benchmark == "bfcl":
        from evalcore.exchange.bfcl import fetch as bfcl

        return _told(bfcl.fetch_bfcl(folder, known.part, say))
    token = keys.get(VARIABLE) or None
    if known.benchmark == "gaia":
        from evalcore.exchange.gaia import fetch as gaia

        return _told(gaia.fetch_gaia(folder, say, token, known.part))
    from evalcore.exchange.swe_bench import fetch as swe_bench

    return _told(swe_bench.fetch_swe_bench(folder, known.part, say, token))


def _told(told: Any) -> dict[str, Any]:
    """What the fetcher says, without its list of files."""
    found: dict[str, Any] = msgspec.to_builtins(told)
    return found | {"files": len(found["files"])}


if __name__ == "__main__":
    sys.exit(job_process.run_job(fetch))

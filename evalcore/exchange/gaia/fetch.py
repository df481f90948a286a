"""Fetching GAIA: the rows of a split and their files, from the gated data set on the Hub.

Whoever fetches it has promised its authors not to share it: it goes below the data folder, which no
version control keeps, with a file that tells git so wherever it is put.
"""

from __future__ import annotations

import shlex
from pathlib import Path

from evalcore.benchmarks.gaia.rows import SPLITS, YEAR
from evalcore.errors import UsageError
from evalcore.exchange.fetched import (
    FetchedDataset,
    find_fetched_dataset,
    install_folder,
    open_scratch_folder,
)
from evalcore.exchange.hub import ProgressCallback, download_hub_files
from evalcore.settings import Settings

DATASET = "gaia-benchmark/GAIA"
#: The commit that made Parquet of it; its questions and answers are those of all later ones.
REVISION = "682dd723ee1e1697e00360edccf2366dc8418dd9"
TERMS = "gated: not to be shared outside of a gated or private place"


def default_folder(settings: Settings, split: str = SPLITS[0]) -> Path:
    """Where a split goes unless told otherwise: below the data folder."""
    return settings.data_dir / "datasets" / f"gaia-{split}"


def fetch_gaia(
    folder: Path,
    progress: ProgressCallback = print,
    token: str | None = None,
    split: str = SPLITS[0],
    revision: str = REVISION,
) -> FetchedDataset:
    """Fetch a split with its files, laid out as on the Hub; a complete folder is left in place.

    Without `token` the Hub's library looks for one (HF_TOKEN, or its login). Raises UsageError for
    a folder that holds anything else, without access and without network.
    """
    if split not in SPLITS:
        raise UsageError(f"GAIA has no split {split!r}; it has: {', '.join(SPLITS)}")
    existing = find_fetched_dataset(folder, DATASET, split)
    if existing is not None:
        progress(f"{folder} is complete: {existing.origin}")
        return existing
    start = f"{YEAR}/{split}/"
    with open_scratch_folder(folder) as scratch:
        hub_files = download_hub_files(
            scratch, DATASET, revision, lambda name: name.startswith(start), progress, token
        )
        ready = scratch / "data"
        (ready / YEAR).mkdir(parents=True)
        (hub_files.folder / YEAR / split).rename(ready / YEAR / split)
        (ready / ".gitignore").write_text("*\n", encoding="utf-8")
        fetched = FetchedDataset(DATASET, split, hub_files.commit, TERMS, hub_files.files)
        fetched = install_folder(ready, folder, fetched)
    progress(f"{folder}: {len(fetched.files)} files of {fetched.origin}, {TERMS}")
    return fetched


def format_gaia_fetch(fetched: FetchedDataset) -> str:
    """What a person is told at the end."""
    state = "was complete already" if fetched.already else f"{len(fetched.files)} files"
    return "\n".join(
        [
            f"{fetched.folder}: {state}",
            f"{fetched.part} of {fetched.origin}, {fetched.licence}",
            "now: evalcore run --target TARGET --benchmarks gaia --option "
            f"gaia.split={fetched.part} "
            f"--dataset {shlex.quote(fetched.folder)}",
        ]
    )

"""Fetching GAIA: the rows of a split and their files, from the gated data set on the Hub.

Whoever fetches it has promised its authors not to share it: it goes below the data folder, which no
version control keeps, with a file that tells git so wherever it is put.
"""

from __future__ import annotations

import shlex
from pathlib import Path

from evalcore.benchmarks.gaia.rows import SPLITS, YEAR
from evalcore.errors import UsageError
from evalcore.exchange.fetched import Fetched, beside, present, settle
from evalcore.exchange.hub import Say, hub_files
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
    progress: Say = print,
    token: str | None = None,
    split: str = SPLITS[0],
    revision: str = REVISION,
) -> Fetched:
    """Fetch a split with its files, laid out as on the Hub; a complete folder is left in place.

    Without `token` the Hub's library looks for one (HF_TOKEN, or its login). Raises UsageError for
    a folder that holds anything else, without access and without network.
    """
    if split not in SPLITS:
        raise UsageError(f"GAIA has no split {split!r}; it has: {', '.join(SPLITS)}")
    before = present(folder, DATASET, split)
    if before is not None:
        progress(f"{folder} is complete: {before.origin}")
        return before
    start = f"{YEAR}/{split}/"
    with beside(folder) as place:
        found = hub_files(
            place, DATASET, revision, lambda name: name.startswith(start), progress, token
        )
        ready = place / "data"
        (ready / YEAR).mkdir(parents=True)
        (found.folder / YEAR / split).rename(ready / YEAR / split)
        (ready / ".gitignore").write_text("*\n", encoding="utf-8")
        told = Fetched(DATASET, split, found.commit, TERMS, found.files)
        told = settle(ready, folder, told)
    progress(f"{folder}: {len(told.files)} files of {told.origin}, {TERMS}")
    return told


def as_text(told: Fetched) -> str:
    """What a person is told at the end."""
    state = "was complete already" if told.already else f"{len(told.files)} files"
    return "\n".join(
        [
            f"{told.folder}: {state}",
            f"{told.part} of {told.origin}, {told.licence}",
            f"now: evalcore run --target TARGET --benchmarks gaia --option gaia.split={told.part} "
            f"--dataset {shlex.quote(told.folder)}",
        ]
    )

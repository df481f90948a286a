"""What others published of a run beside what its cases give: claims, levels and flags."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from evalcore.store import published as published_file
from evalcore.store.published import Published
from evalcore.store.run_folder import find_run

PUBLISHED_SCORE_COLUMNS = [
    "benchmark",
    "level",
    "claimed",
    "recomputed",
    "own",
    "reading",
    "judges",
    "graded_at",
]
PUBLISHED_FLAG_COLUMNS = ["benchmark", "metric", "kind", "detail"]


def load_published(roots: Iterable[Path], run: str) -> Published | None:
    """What a publisher said of a run, None for a run of ours.

    Raises UsageError when there is no such run, RunFolderError when its file is broken.
    """
    return published_file.read_published(find_run(run, roots))


def build_published_scores(publication: Published) -> pd.DataFrame:
    """One row per benchmark with the columns SCORES; scores are 0 to 100, None without cases."""
    return pd.DataFrame(
        [
            {
                "benchmark": benchmark,
                "level": score.level,
                "claimed": score.claimed,
                "recomputed": score.recomputed,
                "own": score.own,
                "reading": score.reading,
                "judges": ", ".join(score.judges),
                "graded_at": score.graded_at[:10],
            }
            for benchmark, score in publication.scores.items()
        ],
        columns=PUBLISHED_SCORE_COLUMNS,
    )


def build_published_flags(publication: Published) -> pd.DataFrame:
    """One row per flag with the columns FLAGS."""
    return pd.DataFrame(
        [
            {
                "benchmark": benchmark,
                "metric": flag.metric,
                "kind": flag.kind,
                "detail": flag.detail,
            }
            for benchmark, score in publication.scores.items()
            for flag in score.flags
        ],
        columns=PUBLISHED_FLAG_COLUMNS,
    )

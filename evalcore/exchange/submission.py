"""What goes out to official evaluations as one JSON line for each declared sample of a run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from evalcore.errors import UsageError
from evalcore.records import Episode, Sample
from evalcore.runner.summary import latest_episodes
from evalcore.store.run_folder import RunFolder, write_atomic

SampleEpisode = tuple[Sample, Episode | None]


def iter_sample_episodes(folder: RunFolder, benchmark: str) -> Iterator[SampleEpisode]:
    """Every declared sample of a benchmark with its episode in the first epoch, None for one that
    was not asked or whose request failed. Raises UsageError for a run without the benchmark."""
    if not any(benchmark_spec.key == benchmark for benchmark_spec in folder.read_spec().benchmarks):
        raise UsageError(f"run {folder.run_id} has no {benchmark} in it")
    episodes = latest_episodes(folder)
    for line in folder.read_samples():
        if line.benchmark == benchmark:
            episode = episodes.get((benchmark, line.sample.key, 0))
            yield line.sample, None if episode is None or episode.failure else episode


def write_json_lines(out: Path, rows: Iterable[Mapping[str, str]]) -> None:
    """Write a file of JSON lines as a whole. Raises UsageError where it cannot be written."""
    try:
        write_atomic(out, "".join(json.dumps(row) + "\n" for row in rows).encode())
    except OSError as error:
        raise UsageError(f"--out {out}: {error.strerror}") from None

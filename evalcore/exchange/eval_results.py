"""A run as `.eval_results` YAML: the form in which model repositories on the Hugging Face Hub hold
results, for their own page and for the leaderboards of the data sets.

The form (https://huggingface.co/docs/hub/eval-results): a list of entries with `dataset.id`,
`dataset.task_id`, `value`, and where known `dataset.revision`, `date`, `source.url` and `notes`.
Which data set and task a result belongs to is for the caller to say: a wrong one would put our
score of other cases onto somebody's leaderboard.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import yaml

from evalcore.errors import UsageError
from evalcore.records import BenchmarkScore, Record, RunSpec
from evalcore.store.run_folder import RunFolder

_PART = r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,95}"
_PLACE = re.compile(rf"({_PART}/{_PART}):([A-Za-z0-9_.:\-]{{1,96}})(?:@([0-9a-f]{{7,64}}))?")
_SOURCE = re.compile(r"https://[^\s\x00-\x1f]{1,500}")
FORM = "OWNER/DATASET:TASK[@REVISION]"


class Place(Record, frozen=True):
    """A task of a data set on the Hub; `revision` is a commit, empty where it is not said."""

    dataset: str
    task: str
    revision: str = ""


def place_of(text: str) -> Place:
    """Reads FORM; raises UsageError for anything else."""
    found = _PLACE.fullmatch(text)
    if found is None:
        raise UsageError(f"{text!r} must have the form {FORM}, for example org/gaia-mine:level_1")
    return Place(found[1], found[2], found[3] or "")


def render(folder: RunFolder, places: Mapping[str, Place], source: str = "") -> str:
    """The YAML of a run, an entry per benchmark of `places`; `source` is the address of evidence.

    Raises UsageError for a run without scores, a benchmark that it does not hold, and a score that
    is no result: of a control, or not complete, hence only a lower bound.
    """
    spec, summary = folder.read_spec(), folder.read_summary()
    if summary is None:
        raise UsageError(f"run {folder.run_id} has no result yet; it is {folder.current_state()}")
    if spec.target.key.startswith("control:"):
        raise UsageError(f"run {folder.run_id} is of {spec.target.key}, a control, not a model")
    if source and not _SOURCE.fullmatch(source):
        raise UsageError(f"--source {source!r} must be an address that begins with https://")
    held = ", ".join(summary.benchmarks)
    if not places:
        raise UsageError(f"--hub BENCHMARK={FORM} is missing; the run holds: {held}")
    entries = []
    for benchmark, place in places.items():
        score = summary.benchmarks.get(benchmark)
        if score is None:
            raise UsageError(f"--hub {benchmark}: the run does not hold it; it holds: {held}")
        finished = summary.finished_at or spec.created_at
        entries.append(_entry(spec, score, place, finished, source))
    return yaml.safe_dump(entries, sort_keys=False, allow_unicode=True, width=10_000)


def _entry(
    spec: RunSpec, score: BenchmarkScore, place: Place, date: str, source: str
) -> dict[str, Any]:
    if score.score is None or not score.complete or score.level is not None:
        raise UsageError(
            f"{score.benchmark} of run {spec.run_id} is not complete or was not run here; only a "
            f"complete score is a result (`evalcore resume {spec.run_id}` goes on with a run)"
        )
    dataset = {"id": place.dataset, "task_id": place.task}
    dataset |= {"revision": place.revision} if place.revision else {}
    entry = {"dataset": dataset, "value": round(score.score, 4), "date": date}
    entry |= {"source": {"url": source, "name": "Evalboard"}} if source else {}
    return entry | {"notes": _notes(spec, score)}


def _notes(spec: RunSpec, score: BenchmarkScore) -> str:
    """What the number rests on, in one line."""
    own = next(one for one in spec.benchmarks if one.key == score.benchmark)
    told = [f"Evalboard {score.benchmark}, 0 to 100"]
    if score.interval:
        told.append(f"95 % interval {score.interval.low:.1f} to {score.interval.high:.1f}")
    told.append(f"{score.samples} cases" if score.full else f"a subset of {score.samples} cases")
    told += [f"{spec.epochs} epochs"] if spec.epochs > 1 else []
    told.append(f"data {own.dataset_hash[:12]}, column {score.column}, run {spec.run_id}")
    return "; ".join(told)

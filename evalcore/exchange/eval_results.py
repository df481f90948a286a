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
_HUB_TASK = re.compile(rf"({_PART}/{_PART}):([A-Za-z0-9_.:\-]{{1,96}})(?:@([0-9a-f]{{7,64}}))?")
_SOURCE = re.compile(r"https://[^\s\x00-\x1f]{1,500}")
HUB_TASK_FORM = "OWNER/DATASET:TASK[@REVISION]"


class HubTask(Record, frozen=True):
    """A task of a data set on the Hub; `revision` is a commit, empty where it is not said."""

    dataset: str
    task: str
    revision: str = ""


def parse_hub_task(text: str) -> HubTask:
    """Reads FORM; raises UsageError for anything else."""
    match = _HUB_TASK.fullmatch(text)
    if match is None:
        raise UsageError(
            f"{text!r} must have the form {HUB_TASK_FORM}, for example org/gaia-mine:level_1"
        )
    return HubTask(match[1], match[2], match[3] or "")


def render_eval_results(
    folder: RunFolder, hub_tasks: Mapping[str, HubTask], source: str = ""
) -> str:
    """The YAML of a run, an entry per benchmark of `hub_tasks`; `source` is the address of
    evidence.

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
    if not hub_tasks:
        raise UsageError(f"--hub BENCHMARK={HUB_TASK_FORM} is missing; the run holds: {held}")
    entries = []
    for benchmark, hub_task in hub_tasks.items():
        score = summary.benchmarks.get(benchmark)
        if score is None:
            raise UsageError(f"--hub {benchmark}: the run does not hold it; it holds: {held}")
        finished = summary.finished_at or spec.created_at
        entries.append(_build_eval_entry(spec, score, hub_task, finished, source))
    return yaml.safe_dump(entries, sort_keys=False, allow_unicode=True, width=10_000)


def _build_eval_entry(
    spec: RunSpec, score: BenchmarkScore, hub_task: HubTask, date: str, source: str
) -> dict[str, Any]:
    if score.score is None or not score.complete or score.level is not None:
        raise UsageError(
            f"{score.benchmark} of run {spec.run_id} is not complete or was not run here; only a "
            f"complete score is a result (`evalcore resume {spec.run_id}` goes on with a run)"
        )
    dataset = {"id": hub_task.dataset, "task_id": hub_task.task}
    dataset |= {"revision": hub_task.revision} if hub_task.revision else {}
    entry = {"dataset": dataset, "value": round(score.score, 4), "date": date}
    entry |= {"source": {"url": source, "name": "Evalboard"}} if source else {}
    return entry | {"notes": _build_eval_notes(spec, score)}


def _build_eval_notes(spec: RunSpec, score: BenchmarkScore) -> str:
    """What the number rests on, in one line."""
    own = next(
        benchmark_spec
        for benchmark_spec in spec.benchmarks
        if benchmark_spec.key == score.benchmark
    )
    notes = [f"Evalboard {score.benchmark}, 0 to 100"]
    if score.interval:
        notes.append(f"95 % interval {score.interval.low:.1f} to {score.interval.high:.1f}")
    notes.append(f"{score.samples} cases" if score.full else f"a subset of {score.samples} cases")
    notes += [f"{spec.epochs} epochs"] if spec.epochs > 1 else []
    notes.append(f"data {own.dataset_hash[:12]}, column {score.column}, run {spec.run_id}")
    return "; ".join(notes)

"""Tasks as samples and back, and the world that each is played in.

A sample names its data by hash: a folder that was changed since is never used. The world itself
stays in its files and in the memory of the process.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from evalcore.benchmarks.base import DatasetIssue, DatasetSource
from evalcore.benchmarks.tau2_bench.environment.loaders import (
    ALL_TASKS_SPLIT,
    DOMAINS,
    has_official_database,
    hash_world,
    list_splits,
    load_tasks,
    load_world,
    locate_domain,
)
from evalcore.benchmarks.tau2_bench.environment.reward import list_faults, start_environment
from evalcore.benchmarks.tau2_bench.environment.tasks import Task, task_from_json, task_to_json
from evalcore.benchmarks.tau2_bench.environment.world import Environment, World
from evalcore.benchmarks.tau_bench.task_data import DomainCache, list_present_domains
from evalcore.errors import DatasetError, EnvironmentFailure
from evalcore.i18n import Note
from evalcore.records import Sample, content_hash
from evalcore.settings import relative_to_root

ALL = "all"
#: Where the data of a task lies that does not say where.
_BUNDLED = "datasets/tau2_bench"


def load_tau2_samples(source: DatasetSource, domain: str, split: str) -> list[Sample]:
    """The samples of a folder: of one domain or of `all` as far as it has them, of one split or,
    where none is named, of all. Raises DatasetError naming file, line and field, UsageError for a
    split that no domain has."""
    if not source.folder.is_dir():
        raise DatasetError(source.folder, None, "", Note("tau2_no_domains"))
    samples = []
    chosen = [name for name in DOMAINS if domain in (name, ALL)]
    for name in list_present_domains(
        chosen, partial(_check_domain, source.folder, len(chosen) > 1)
    ):
        if not source.metrics or name in source.metrics:
            samples += _load_domain_samples(source.folder, name, split, others=domain == ALL)
    if split and not samples:
        raise DatasetError(source.folder, None, "", Note("no_task_of_split", split=split))
    return samples


def to_task(sample: Sample) -> Task:
    return task_from_json(str(sample.reference["task"]))


def open_sample(sample: Sample) -> tuple[World, Task, Environment]:
    """What a sample is played in, as it is at the start. Raises EnvironmentFailure where the data
    is no longer there, or does not fit the task."""
    world, task = load_sample_world(sample), to_task(sample)
    try:
        return world, task, start_environment(world, task)
    except ValueError as error:
        raise EnvironmentFailure(str(error)) from None


def load_sample_world(sample: Sample) -> World:
    """The world of a sample. Raises EnvironmentFailure where its data is gone or was changed."""
    return _worlds.load_domain(sample, str(sample.reference["world"]))


def list_other_databases(samples: Iterable[Sample]) -> list[str]:
    """The domains of samples whose databases are not upstream's."""
    folders = {sample.metric: _worlds.find_folder(sample) for sample in samples}
    return [name for name in folders if not has_official_database(folders[name], name)]


def _check_domain(folder: Path, several: bool, name: str) -> None:
    if locate_domain(folder, name).official and several:
        load_world(folder, name)  # checkouts may lack large files


def _load_domain_samples(folder: Path, name: str, split: str, *, others: bool) -> list[Sample]:
    """A domain's samples; with `others` it need not have the split."""
    available = list_splits(folder, name)
    chosen = (ALL_TASKS_SPLIT,) if ALL_TASKS_SPLIT in available else available
    if split:
        chosen = (split,) if split in available or not others else ()
    if not chosen:
        return []
    world = load_world(folder, name)
    world_hash = _worlds.add_domain(world)
    inside = relative_to_root(folder)
    return [
        _build_sample(name, task, world_hash, inside)
        for split_name in chosen
        for task in load_tasks(folder, world, split_name)
    ]


def _build_sample(domain: str, task: Task, world_hash: str, folder: str) -> Sample:
    return Sample(
        metric=domain,
        id=task.id,
        input={"domain": domain},
        reference={"task": task_to_json(task), "world": world_hash},
        meta={
            "folder": folder,
            **({"flags": list(task.flags)} if task.flags else {}),
            **({"source": task.source} if task.source else {}),
        },
    )


def _hash_world_data(world: World) -> str:
    return content_hash([world.name, hash_world(world), world.policy, world.documents])


_worlds = DomainCache(_BUNDLED, load_world, _hash_world_data)


def confirm_actions(sample: Sample) -> Iterator[DatasetIssue]:
    """Report worlds that cannot be set up, and writes of the ground truth that are refused. What
    upstream published with a fault is rewarded by it there too, and so is not refused."""
    try:
        world = load_sample_world(sample)
    except EnvironmentFailure as error:
        yield DatasetIssue(sample.key, str(error), "evaluation_criteria", kind="unconfirmed")
        return
    problems = list_faults(world, to_task(sample))
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        official = locate_domain(_worlds.find_folder(sample), sample.metric).official
        text = f"the ground truth does not run: {problems[0]}{more}"
        yield DatasetIssue(
            sample.key,
            text,
            "evaluation_criteria",
            kind="unconfirmed" if official else "contradicted",
        )

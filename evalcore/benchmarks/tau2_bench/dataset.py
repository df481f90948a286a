"""Tasks as samples and back, and the world that each is played in.

A sample names its data by hash: a folder that was changed since is never used. The world itself
stays in its files and in the memory of the process.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from evalcore.benchmarks.base import DatasetIssue, DatasetSource
from evalcore.benchmarks.tau2_bench.environment.loaders import (
    ALL_TASKS_SPLIT,
    DOMAINS,
    hash_world,
    list_splits,
    load_tasks,
    load_world,
    locate_domain,
)
from evalcore.benchmarks.tau2_bench.environment.reward import list_faults
from evalcore.benchmarks.tau2_bench.environment.tasks import (
    NOTHING_TO_DO,
    Task,
    task_from_json,
    task_to_json,
)
from evalcore.benchmarks.tau2_bench.environment.world import World
from evalcore.errors import DatasetError, EnvironmentFailure
from evalcore.i18n import Note
from evalcore.records import Sample, content_hash
from evalcore.settings import ROOT, relative_to_root

ALL = "all"
#: Where the data of a task lies that does not say where.
_BUNDLED = "datasets/tau2_bench"
_MAX_CACHED_WORLDS = 8
_worlds: dict[str, World] = {}


def load_tau2_samples(source: DatasetSource, domain: str, split: str) -> list[Sample]:
    """The samples of a folder: of one domain or of `all` as far as it has them, of one split or,
    where none is named, of all. Raises DatasetError naming file, line and field, UsageError for a
    split that no domain has."""
    if not source.folder.is_dir():
        raise DatasetError(source.folder, None, "", "is not a folder of domains")
    samples = []
    for name in _list_present_domains(source.folder, [d for d in DOMAINS if domain in (d, ALL)]):
        if not source.metrics or name in source.metrics:
            samples += _load_domain_samples(source.folder, name, split, others=domain == ALL)
    if split and not samples:
        raise DatasetError(source.folder, None, "", f"has no task of split {split!r}")
    return samples


def to_task(sample: Sample) -> Task:
    return task_from_json(str(sample.reference["task"]))


def list_task_flags(sample: Sample) -> tuple[str, ...]:
    """What a replay of the ground truth found to be odd about a task."""
    return tuple(sample.meta.get("flags", ()))


def noop_passes(sample: Sample) -> bool:
    """Whether doing nothing and saying nothing is rewarded, found by replay when it was loaded."""
    return NOTHING_TO_DO in list_task_flags(sample)


def load_sample_world(sample: Sample) -> World:
    """The world of a sample. Raises EnvironmentFailure where its data is gone or was changed."""
    world_hash = str(sample.reference["world"])
    if world_hash not in _worlds:
        folder = ROOT / str(sample.meta.get("folder") or _BUNDLED)
        try:
            world = load_world(folder, sample.metric)
        except DatasetError as error:
            raise EnvironmentFailure(
                Note("tau_data_gone", name=sample.metric, message=error)
            ) from None
        if _cache_world(world) != world_hash:
            raise EnvironmentFailure(Note("tau_data_changed", name=sample.metric, folder=folder))
    return _worlds[world_hash]


def _list_present_domains(folder: Path, names: Sequence[str]) -> list[str]:
    """Those of the domains that the folder holds. Raises DatasetError where it has none."""
    present, problem = [], None
    for name in names:
        try:
            if locate_domain(folder, name).official and len(names) > 1:
                load_world(folder, name)  # checkouts may lack large files
            present.append(name)
        except DatasetError as error:
            problem = error
    if not present and problem is not None:
        raise problem
    return present


def _load_domain_samples(folder: Path, name: str, split: str, *, others: bool) -> list[Sample]:
    """A domain's samples; with `others` it need not have the split."""
    available = list_splits(folder, name)
    chosen = (ALL_TASKS_SPLIT,) if ALL_TASKS_SPLIT in available else available
    if split:
        chosen = (split,) if split in available or not others else ()
    if not chosen:
        return []
    world = load_world(folder, name)
    world_hash = _cache_world(world)
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


def _cache_world(world: World) -> str:
    """The hash of a world's data, by which it is kept in memory."""
    name = content_hash([world.name, hash_world(world), world.policy, world.documents])
    while len(_worlds) >= _MAX_CACHED_WORLDS and name not in _worlds:
        _worlds.pop(next(iter(_worlds)))
    _worlds.setdefault(name, world)
    return name


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
        folder = ROOT / str(sample.meta.get("folder") or _BUNDLED)
        official = locate_domain(folder, sample.metric).official
        text = f"the ground truth does not run: {problems[0]}{more}"
        yield DatasetIssue(
            sample.key,
            text,
            "evaluation_criteria",
            kind="unconfirmed" if official else "contradicted",
        )

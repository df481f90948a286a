"""Tasks as samples and back, the domain that each is played in, and whether its ground truth runs.

A sample names its data by hash: a folder that was changed since is never used. The domain itself
stays in its files and in the memory of the process.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from evalcore.benchmarks.base import DatasetIssue, DatasetSource
from evalcore.benchmarks.case_file import CaseLine
from evalcore.benchmarks.tau_bench.environment import (
    Action,
    Domain,
    Task,
    list_splits,
    load_domain,
    load_tasks,
)
from evalcore.benchmarks.tau_bench.environment.loaders import DOMAINS, convert_task, iter_jsonl_rows
from evalcore.benchmarks.tau_bench.environment.reward import TAU2_OFFLINE, faults, flag_task
from evalcore.benchmarks.tau_bench.state_rows import (
    STATE,
    build_state_domain,
    build_state_sample,
    is_state_row,
)
from evalcore.benchmarks.tau_bench.task_data import (
    DomainCache,
    list_present_domains,
    list_task_flags,
)
from evalcore.errors import DatasetError, EnvironmentFailure
from evalcore.i18n import Note
from evalcore.records import Sample, content_hash
from evalcore.settings import relative_to_root

BOTH = "both"
DOMAIN_NAMES = tuple(DOMAINS)
#: tau2's split of all tasks: its other splits are parts of it.
_ALL_TASKS_SPLIT = "base"
#: Where the data of a task lies that does not say where.
_BUNDLED = "datasets/tau_bench"


def load_tau_samples(source: DatasetSource, domain: str, split: str) -> list[Sample]:
    """The samples of a folder: of one domain or of `both` as far as it has them, of one split or,
    where none is named, of all. Raises DatasetError naming file, line and field, UsageError for a
    split that no domain has."""
    if source.folder.is_file():
        return _load_file_samples(source, domain)
    if not source.folder.is_dir():
        raise DatasetError(source.folder, None, "", Note("tau_no_domains"))
    samples = []
    chosen = [name for name in DOMAINS if domain in (name, BOTH)]
    for name in list_present_domains(chosen, partial(list_splits, source.folder)):
        if not source.metrics or name in source.metrics:
            samples += _load_domain_samples(source.folder, name, split, others=domain == BOTH)
    if split and not samples:
        raise DatasetError(source.folder, None, "", Note("no_task_of_split", split=split))
    return samples


def _load_file_samples(source: DatasetSource, domain: str) -> list[Sample]:
    """The samples of one file of JSON lines: rows of slm-evals, or tasks of tau-bench, whose
    databases lie in the folder of the file. A row's own `domain` goes before the chosen one."""
    path, samples = source.folder, {}
    domains: dict[str, tuple[Domain, str]] = {}
    for number, row in iter_jsonl_rows(path):
        line = CaseLine(path, number, row)
        name = row.get("domain", DOMAIN_NAMES[0] if domain == BOTH else domain)
        if name not in DOMAINS:
            note = Note("upload_none_of", value=repr(str(name)[:40]), names=", ".join(DOMAINS))
            line.raise_field_error("domain", note)
        if domain not in (name, BOTH) or (source.metrics and name not in source.metrics):
            continue
        if is_state_row(row):
            sample = build_state_sample(line, name)
        else:
            if name not in domains:
                loaded = load_domain(path.parent, name)
                domains[name] = (loaded, _domains.add_domain(loaded))
            task_id = str(row.get("id") or f"{name}/{path.stem}/{number}")
            task = convert_task(path, number, {**row, "id": task_id, "source": line.source}, name)
            own, domain_hash = domains[name]
            inside = relative_to_root(path.parent)
            sample = _build_tau_sample(flag_task(own, task), domain_hash, inside)
        if sample.id in samples:
            line.raise_field_error("id", Note("upload_here_twice", id=f"{sample.id!r}"))
        samples[sample.id] = sample
    return list(samples.values())


def to_task(sample: Sample) -> Task:
    reference = sample.reference
    slots = reference.get("slots")
    return Task(
        id=sample.id,
        domain=sample.metric,
        user_id=reference.get("user_id", ""),
        instruction=reference["instruction"],
        actions=tuple(
            Action(action["name"], json.loads(action["kwargs"])) for action in reference["actions"]
        ),
        outputs=tuple(reference["outputs"]),
        slots=None if slots is None else json.loads(slots),
        flags=list_task_flags(sample),
    )


def load_sample_domain(sample: Sample) -> Domain:
    """The domain of a sample. Raises EnvironmentFailure where its data is gone or was changed."""
    if STATE in sample.reference:
        return build_state_domain(sample)
    return _domains.load_domain(sample, str(sample.reference["domain"]))


def _load_domain_samples(folder: Path, name: str, split: str, *, others: bool) -> list[Sample]:
    """A domain's samples; with `others` it need not have the split."""
    domain = load_domain(folder, name)
    available_splits = list_splits(folder, name)
    chosen = available_splits
    if domain.label == TAU2_OFFLINE and _ALL_TASKS_SPLIT in available_splits:
        chosen = (_ALL_TASKS_SPLIT,)
    if split:
        chosen = (split,) if split in available_splits or not others else ()
    domain_hash = _domains.add_domain(domain)
    inside = relative_to_root(folder)
    return [
        _build_tau_sample(task, domain_hash, inside)
        for split_name in chosen
        for task in load_tasks(folder, domain, split_name)
    ]


def _build_tau_sample(task: Task, domain_hash: str, folder: str) -> Sample:
    """Calls and slots stay JSON text: the order of their keys is that of the words they become."""
    actions = [
        {"name": action.name, "kwargs": json.dumps(action.kwargs)} for action in task.actions
    ]
    reference: dict[str, Any] = {
        "instruction": task.instruction,
        "user_id": task.user_id,
        "actions": actions,
        "outputs": list(task.outputs),
        "domain": domain_hash,
    }
    if task.slots is not None:
        reference["slots"] = json.dumps(task.slots, ensure_ascii=False)
    return Sample(
        metric=task.domain,
        id=task.id,
        input={"domain": task.domain},
        reference=reference,
        meta={
            "folder": folder,
            **({"flags": list(task.flags)} if task.flags else {}),
            **({"source": task.source} if task.source else {}),
        },
    )


def _hash_domain(domain: Domain) -> str:
    return content_hash([domain.name, domain.database.hash(), domain.policy, domain.label])


_domains = DomainCache(_BUNDLED, load_domain, _hash_domain)


#: Tasks of tau-bench's retail that upstream published with a refused write, by
#: `_hash_task_content`: the official reward follows that ground truth, so they are not refused.
_PUBLISHED_FAULTY_TASKS = frozenset(
    """6e5937abd963 b0aade9084ce e65491cf62e6 8e8793fd4831 46b3e56e466d 7e9dc1168ea4
    081b3d91a556 146faa9421f8 196c81513fd6 1fd3941fd0d6 b820489ae857 99caa50f1af7
    e0715e430b0f 979b09a23a44 f61829a0ba45 1a26df35a458 c2e26e9493b5 c9c0ef8a2419
    0915f5b52835 b641b7f8f1c7 dcfe47142bc6 f8cbd31c4d0d 272e3d7bcb16""".split()  # noqa: SIM905
)


def confirm_actions(sample: Sample) -> Iterator[DatasetIssue]:
    """Report ground-truth calls of unknown tools and writes that are refused."""
    task = to_task(sample)
    try:
        domain = load_sample_domain(sample)
    except EnvironmentFailure as error:
        yield DatasetIssue(sample.key, str(error), "actions", kind="unconfirmed")
        return
    problems = faults(domain, task)
    if not problems:
        return
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    if _hash_task_content(task) in _PUBLISHED_FAULTY_TASKS or domain.label == TAU2_OFFLINE:
        problem = f"the published ground truth does not run: {problems[0]}{more}"
        yield DatasetIssue(sample.key, problem, "actions", kind="unconfirmed")
        return
    yield DatasetIssue(sample.key, f"the ground truth does not run: {problems[0]}{more}", "actions")


def _hash_task_content(task: Task) -> str:
    return content_hash([task.instruction, msgspec.to_builtins(task.actions), task.outputs], 12)

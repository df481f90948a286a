"""Imported runs out of the logs of other frameworks.

Each task is a column that is none of ours: its key says by whom it was asked, its suite is one of
its own, and nothing here is measured by us. A task with its samples is a complete journal, whose
total is counted again; one without is a bare claim.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from evalcore.cards import BenchmarkCard, MetricCard
from evalcore.catalog import FRAMEWORKS, IMPORTED_SUITE, benchmark_cards
from evalcore.errors import UsageError
from evalcore.exchange.imported_run import (
    ImportedBenchmark,
    build_imported_run,
    make_run_id,
    put_journals,
)
from evalcore.exchange.logs.records import (
    NAME_LIMIT,
    FrameworkLog,
    LoggedSample,
    LoggedTask,
    is_share,
)
from evalcore.exchange.staging import BlobStore
from evalcore.i18n import Note
from evalcore.intake import add_counts
from evalcore.records import (
    BenchmarkSpec,
    Episode,
    Failure,
    Message,
    RunSpec,
    Sample,
    Section,
    TargetSpec,
    Verdict,
    content_hash,
)
from evalcore.results import CLAIMED_VIEW, BenchmarkScore, Interval, MetricScore, Totals
from evalcore.runner.plan import dataset_hash, with_column_key
from evalcore.scoring.aggregation import score_benchmark
from evalcore.store.run_folder import Flag, Published, PublishedScore

TASKS_PER_RUN = 4  # of a header, which has to stay small
VIEWS_LIMIT = 4
EPOCHS_LIMIT = 1000
_TEXT_LIMIT = 1 << 16  # characters of a text that is shown of a case
_NAME_LENGTH = 40
_EXACT = 5e-4  # of 100: frameworks round to four decimals
_NOT_IN_A_KEY = re.compile(r"[^A-Za-z0-9_-]+")
_USUAL_SIGNS = str.maketrans(dict.fromkeys("/:|=,. ", "-"))  # in names of tasks, as "suite/task"


def build_log_runs(log: FrameworkLog, blobs: BlobStore) -> Iterator[tuple[str, Published]]:
    """The runs of a log with their ids, their files on the shelf. A log of many tasks becomes
    several runs of the same target. Equal logs give equal runs."""
    for start in range(0, len(log.tasks), TASKS_PER_RUN):
        tasks = log.tasks[start : start + TASKS_PER_RUN]
        yield _build_log_run(log, tasks, blobs)


def _build_log_run(
    log: FrameworkLog, tasks: Sequence[LoggedTask], blobs: BlobStore
) -> tuple[str, Published]:
    title = FRAMEWORKS[log.framework]
    dated = not any(flag.kind == "log_no_date" for task in tasks for flag in task.flags)
    answers = [[task.name, task.claimed, [s.answer for s in task.samples]] for task in tasks]
    moment = log.created_at if dated else ""
    identity = [log.model, moment, log.sampling, log.facts, answers]
    name = f"{tasks[0].name} {log.model}"
    prefix = log.framework.replace("_", "-")
    date = moment[:10] or "undated"
    run_id = make_run_id(prefix, date, name, _NAME_LENGTH, content_hash(identity, 8))
    epochs = max(task.epochs for task in tasks)
    run = RunSpec(
        run_id=run_id,
        created_at=log.created_at,
        target=TargetSpec(key=f"{log.framework}:{log.model}", options=log.sampling),
        benchmarks=(),
        epochs=epochs,
        versions={title: log.version} if log.version else {},
        note=f"Imported from a log of {title} {log.version}".strip(),
    )
    keys = [make_benchmark_key(log.framework, task.name) for task in tasks]
    for number, key in enumerate(keys):
        if key in keys[:number]:  # names that differ in nothing but signs
            keys[number] = f"{key[:55]}-{content_hash(tasks[number].name, 8)}"
    parts = [
        _build_task(log, task, key, epochs, blobs) for task, key in zip(tasks, keys, strict=True)
    ]
    asked = [sample for task in tasks for sample in task.samples]
    failed = sum(bool(sample.error) for sample in asked)
    published = build_imported_run(
        run,
        parts,
        blobs,
        publisher=title,
        facts={"model": log.model, "version": log.version, **log.facts},
        state="done",
        totals=Totals(
            input_tokens=add_counts(*(sample.usage.input_tokens for sample in asked)),
            output_tokens=add_counts(*(sample.usage.output_tokens for sample in asked)),
            requests=len(asked),
        ),
        errors={"retryable": failed} if failed else {},
    )
    return run_id, published


def make_benchmark_key(framework: str, task: str) -> str:
    """The key of a task's column: no installed benchmark has it, and other tasks have others."""
    prefix = framework.replace("_", "-")
    key = f"{prefix}-{_NOT_IN_A_KEY.sub('-', task).strip('-')}"
    if (
        _NOT_IN_A_KEY.search(task.translate(_USUAL_SIGNS))
        or len(key) > 64
        or key in benchmark_cards()
    ):
        key = f"{key[:55]}-{content_hash(task, 8)}"
    return key


def _build_task(
    log: FrameworkLog, task: LoggedTask, key: str, epochs: int, blobs: BlobStore
) -> ImportedBenchmark:
    claimed = task.claimed.get(task.metric)
    flags = list(task.flags)
    flags += [Flag("log_left_out", metric) for metric in task.left_out]
    if not task.samples:
        return _build_bare_claim(log, task, key, flags)
    samples = _list_samples(task)
    verdicts = [_build_verdict(task, sample) for sample in task.samples]
    episodes = [_build_episode(task, sample, log.created_at) for sample in task.samples]
    spec = _build_spec(log, task, key, dataset_hash(samples), len(samples))
    card = BenchmarkCard(
        key=key,
        suite=IMPORTED_SUITE,
        implementation="",
        metrics=(MetricCard(key=task.metric, weight=1.0),),
    )
    score = score_benchmark(
        card,
        samples,
        verdicts,
        spec.weights,
        epochs=epochs,
        column=spec.column,
        full=task.full,
        label=_format_label(spec, log),
    )
    counted = score.answered
    if claimed is not None and counted is not None and abs(100 * claimed - counted) > _EXACT:
        detail = f"{100 * claimed:.2f} published, {counted:.2f} here"
        flags.insert(0, Flag("score_differs", detail=detail))
    if claimed is None:
        flags.append(Flag("log_no_total"))
    exact = not any(flag.kind == "score_differs" for flag in flags)
    published = PublishedScore(
        level=1,
        claimed=None if claimed is None else 100 * claimed,
        recomputed=counted,
        reading="" if claimed is None or counted is None else "exact" if exact else "unexplained",
        graded_at=log.created_at,
        flags=tuple(flags),
    )
    views = dict(list(score.views.items())[:VIEWS_LIMIT])
    views |= {} if claimed is None else {CLAIMED_VIEW: 100 * claimed}
    return ImportedBenchmark(
        spec,
        msgspec.structs.replace(score, level=1, views=views),
        published,
        put_journals(blobs, key, samples, episodes, verdicts),
    )


def _build_spec(
    log: FrameworkLog, task: LoggedTask, key: str, cases: str, count: int
) -> BenchmarkSpec:
    return with_column_key(
        BenchmarkSpec(
            key=key,
            suite=IMPORTED_SUITE,
            dataset=log.framework,
            dataset_hash=cases,
            options=dict(task.options),
            weights={task.metric: 1.0},
            prompt_version="published",
            scorer_version="published",
            column="",
            samples=count,
            full=task.full,
            metrics=(task.metric,),
        )
    )


def _format_label(spec: BenchmarkSpec, log: FrameworkLog) -> str:
    options = ", ".join(f"{name}={value}" for name, value in spec.options.items())[:80]
    parts = [FRAMEWORKS[log.framework], options, f"{spec.samples} samples"]
    return " · ".join(part for part in parts if part)


def _build_bare_claim(
    log: FrameworkLog, task: LoggedTask, key: str, flags: list[Flag]
) -> ImportedBenchmark:
    claimed = 100 * task.claimed[task.metric]
    spec = _build_spec(log, task, key, "", 0)
    bounds = task.interval
    interval = None if bounds is None else Interval(100 * bounds[0], 100 * bounds[1])
    metrics = {
        metric: MetricScore(
            metric=metric,
            weight=1.0 if metric == task.metric else None,
            samples=0,
            measured=0,
            passed=0,
            score=100 * value,
        )
        for metric, value in list(task.claimed.items())[: VIEWS_LIMIT + 1]
    }
    score = BenchmarkScore(
        benchmark=key,
        column=spec.column,
        score=claimed,
        interval=interval,
        answered=None,
        coverage=0.0,
        samples=0,
        complete=False,
        full=task.full,
        metrics=metrics,
        outcomes={},
        views={CLAIMED_VIEW: claimed},
        label=_format_label(spec, log),
        level=0,
    )
    flags.append(Flag("log_no_samples"))
    published = PublishedScore(
        level=0, claimed=claimed, graded_at=log.created_at, flags=tuple(flags)
    )
    return ImportedBenchmark(spec, score, published)


def _list_samples(task: LoggedTask) -> list[Sample]:
    """Every sample once, whatever its epochs. Raises UsageError for two that have one name and
    differ, or stand for the same epoch twice, and for an epoch out of bounds."""
    samples: dict[str, Sample] = {}
    seen: set[tuple[str, int]] = set()
    for each in task.samples:
        if (each.id, each.epoch) in seen:
            raise UsageError(Note("log_sample_twice", task=task.name[:80], name=each.id[:80]))
        if not 0 <= each.epoch < EPOCHS_LIMIT:
            raise UsageError(Note("log_epoch", name=each.id[:80], limit=EPOCHS_LIMIT))
        seen.add((each.id, each.epoch))
        if each.id not in samples or not samples[each.id].input:
            samples[each.id] = Sample(
                task.metric, _shorten_id(each.id), _cut(each.input), _cut(each.reference)
            )
    return list(samples.values())


def _shorten_id(name: str) -> str:
    plain = " ".join(name.split())
    return (
        plain
        if plain == name and len(name) <= NAME_LIMIT
        else (f"{plain[: NAME_LIMIT - 20]}-{content_hash(name, 12)}")
    )


def _cut(value: Any) -> Any:
    """Plain data with its long texts cut, so that no case is larger than a page can show."""
    if isinstance(value, str):
        return value if len(value) <= _TEXT_LIMIT else f"{value[:_TEXT_LIMIT]}…"
    if isinstance(value, dict):
        return {name: _cut(held) for name, held in value.items()}
    if isinstance(value, list | tuple):
        return [_cut(item) for item in value]
    return value


def _build_verdict(task: LoggedTask, sample: LoggedSample) -> Verdict:
    name, score = _shorten_id(sample.id), sample.scores.get(task.metric)
    if sample.error or score is None:
        return Verdict(
            metric=task.metric,
            id=name,
            outcome="target_error" if sample.error else "not_executed",
            epoch=sample.epoch,
            note=_cut(sample.error)[:1000] or Note("log_unscored"),
        )
    others = [metric for metric in sample.scores if metric != task.metric]
    evidence = (Section("text", "log_explanation", _cut(sample.explanation)),)
    return Verdict(
        metric=task.metric,
        id=name,
        outcome="passed" if score == 1 else "failed",
        epoch=sample.epoch,
        score=score,
        views={
            metric: sample.scores[metric]
            for metric in others[:VIEWS_LIMIT]
            if metric not in task.left_out and is_share(sample.scores[metric])
        },
        evidence=evidence if sample.explanation else (),
    )


def _build_episode(task: LoggedTask, sample: LoggedSample, at: str) -> Episode:
    failure = Failure(kind="permanent", message=_cut(sample.error)[:1000])
    messages = tuple(_cut_message(message) for message in sample.messages[-400:])
    return Episode(
        key=f"{task.metric}/{_shorten_id(sample.id)}",
        epoch=sample.epoch,
        answer=_cut(sample.answer),
        messages=messages,
        completions=0 if sample.error else 1,
        usage=sample.usage,
        latency=sample.latency,
        failure=failure if sample.error else None,
        at=at,
    )


def _cut_message(message: Message) -> Message:
    if len(message.content) <= _TEXT_LIMIT:
        return message
    return msgspec.structs.replace(message, content=_cut(message.content))

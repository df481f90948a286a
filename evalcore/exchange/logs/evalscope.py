"""Output folders of EvalScope: `reports/MODEL/DATASET.json` with the lines of
`reviews/MODEL/DATASET_SUBSET.jsonl`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from evalcore.exchange.logs.files import read_json_file
from evalcore.exchange.logs.inspect_logs import iter_messages
from evalcore.exchange.logs.records import (
    FieldReader,
    FrameworkLog,
    LoggedSample,
    LoggedTask,
    clean_metric_name,
    clean_model_name,
    convert_score,
    convert_text,
    convert_time,
    is_share,
)
from evalcore.i18n import Note
from evalcore.intake import add_counts, read_count, read_seconds
from evalcore.intake.json_text import read_rows
from evalcore.records import Usage
from evalcore.store.run_folder import Flag

FRAMEWORK = "evalscope"
_DATE = re.compile(r"(20\d{2})(\d{2})(\d{2})_(\d{2})(\d{2})(\d{2})")
_LOWER = "lower_is_better"


def is_evalscope_report(path: Path, head: bytes) -> bool:
    """Whether a file is a report of EvalScope, by its first bytes."""
    return b'"dataset_name"' in head and (b'"model_name"' in head or b'"metrics"' in head)


def read_evalscope_report(path: Path) -> FrameworkLog:
    """Read one report with its reviews. Raises DatasetError naming file, line and field."""
    report = FieldReader(path, read_json_file(path))
    task = report.read_text("dataset_name")
    return FrameworkLog(
        framework=FRAMEWORK,
        version="",
        model=clean_model_name(report.read_text("model_name")),
        created_at=_find_date(path),
        tasks=(_read_task(path, report, task),),
        facts={"schema": report.find_count("schema_version")},
    )


def _find_date(path: Path) -> str:
    """The moment that the output folder is named after, "" where it is not."""
    matches = (_DATE.search(part) for part in reversed(path.parts))
    match = next((match for match in matches if match), None)
    return convert_time("{}-{}-{}T{}:{}:{}".format(*match.groups())) if match else ""


def _read_task(path: Path, report: FieldReader, task: str) -> LoggedTask:
    claims: dict[str, float] = {}
    left_out = []
    for number, values in enumerate(report.read_list("metrics")):
        metric = FieldReader(path, values, None, f"metrics[{number}]")
        named = metric.find_object("identity").get("name") or metric.values.get("name")
        name, value = (
            clean_metric_name(convert_text(named)),
            convert_score(metric.values.get("score")),
        )
        if value is None or not is_share(value) or _is_lower_better(metric):
            left_out.append(name)
        else:
            claims[name] = value
    samples = _read_reviews(path, task)
    names = list(
        dict.fromkeys([*_find_primary(report), *claims, *(n for s in samples for n in s.scores)])
    )
    scored = {name for sample in samples for name in sample.scores}
    if samples and len(claims) == 1 and scored and not scored & set(claims):
        # Earlier versions call the total by another name than the scores that it is the mean of.
        claims = {next(iter(samples[0].scores)): next(iter(claims.values()))}
    shares = [
        name
        for name in names
        if (name in scored if samples else name in claims)
        and all(is_share(s.scores[name]) for s in samples if name in s.scores)
        and name not in left_out
    ]
    stated = report.find_count("num")
    flags = [Flag("log_no_version")]
    if samples and stated is not None and stated != len({s.id for s in samples}):
        flags.append(
            Flag("counts_differ", detail=Note("log_counts", stated=stated, counted=len(samples)))
        )
    return LoggedTask(
        name=task,
        metric=shares[0] if shares else "",
        claimed={name: claims[name] for name in shares if name in claims},
        samples=tuple(samples),
        epochs=max((sample.epoch + 1 for sample in samples), default=1),
        left_out=tuple(dict.fromkeys(left_out)),
        flags=tuple(flags),
    )


def _is_lower_better(metric: FieldReader) -> bool:
    return metric.find_object("semantics").get("direction") == _LOWER


def _find_primary(report: FieldReader) -> Iterator[str]:
    named = report.find_object("primary_metric_identity").get("name")
    if named:
        yield clean_metric_name(convert_text(named))


def _read_reviews(path: Path, task: str) -> list[LoggedSample]:
    """The samples of all subsets; an id is that of the case within its subset."""
    folder = (
        path.parents[2] / "reviews" / path.parent.name if len(path.parents) > 2 else path.parent
    )
    files = sorted(folder.glob("*.jsonl")) if folder.is_dir() else []
    reports = {file.stem for file in path.parent.glob("*.json")} - {path.stem} | {task}
    own = [file for file in files if _find_report(file.stem, reports) == task]
    samples: list[LoggedSample] = []
    for file in own:
        subset = file.stem.removeprefix(task).lstrip("_")
        seen: dict[tuple[str, int], int] = {}
        for number, values in read_rows(file, drop=True):
            sample = _read_review(FieldReader(file, values, number), subset if len(own) > 1 else "")
            first = seen.setdefault((sample.id, sample.epoch), number)
            if first != number:
                problem = Note("log_twice", name=sample.id[:80], line=first)
                raise FieldReader(file, values, number).fail("index", problem)
            samples.append(sample)
    return sorted(samples, key=lambda sample: (len(sample.id), sample.id, sample.epoch))


def _find_report(name: str, reports: Iterable[str]) -> str:
    """The report that reviews are of: "mmlu_pro_law" is of "mmlu_pro" and not of "mmlu"."""
    owners = (each for each in reports if name == each or name.startswith(f"{each}_"))
    return max(owners, key=len, default="")


def _read_review(row: FieldReader, subset: str) -> LoggedSample:
    scored = row.read_object("sample_score")
    score = scored.find_object("score")
    group, repeat = scored.find_count("group_id"), scored.find_count("generation_index")
    name = str(group) if group is not None else row.read_text("index")
    values = score.get("value")
    scores = {
        clean_metric_name(str(metric)): number
        for metric, value in (values.items() if isinstance(values, Mapping) else ())
        if (number := convert_score(value)) is not None
    }
    main = clean_metric_name(convert_text(score.get("main_score_name")) or "score")
    scores = {metric: scores[metric] for metric in sorted(scores, key=lambda name: name != main)}
    status = convert_text(score.get("status"))
    error = "" if status in ("", "success") else convert_text(score.get("explanation")) or status
    messages = tuple(iter_messages(row.find_list("messages"), {}))
    asked = "\n\n".join(each.content for each in messages if each.role in ("system", "user"))
    measures = [
        each["perf_metrics"]
        for each in row.find_list("messages")
        if isinstance(each, Mapping) and isinstance(each.get("perf_metrics"), Mapping)
    ]
    prompt = row.values.get("input")
    return LoggedSample(
        id=f"{subset}/{name}" if subset else name,
        epoch=repeat or 0,
        input={"input": convert_text(prompt) or asked},
        reference={"target": row.values.get("target")},
        answer=convert_text(score.get("prediction")),
        messages=messages,
        scores={} if error else scores,
        error=error,
        explanation=convert_text(score.get("explanation")),
        usage=_add_usage(measures),
        latency=sum(read_seconds(each.get("latency")) or 0.0 for each in measures),
    )


def _add_usage(measures: list[Any]) -> Usage:
    return Usage(
        input_tokens=add_counts(*(read_count(each.get("input_tokens")) for each in measures)),
        output_tokens=add_counts(*(read_count(each.get("output_tokens")) for each in measures)),
    )

"""Results of lighteval: `results/MODEL/results_DATE.json`, with the samples in the Parquet files of
`details/MODEL/DATE/`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from evalcore.benchmarks.case_file import read_parquet_rows
from evalcore.exchange.logs.files import find_file, read_json_file
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
    select_sampling,
)
from evalcore.i18n import Note
from evalcore.store.run_folder import Flag

FRAMEWORK = "lighteval"
_RESULTS = re.compile(r"results_(?P<date>.+)\.json")
_ALL = "all"  # the mean over all tasks
_BYTES_LIMIT = 2 << 30  # bytes of a Parquet file, unpacked
_COLUMNS = ("doc", "metric", "metrics", "model_response")


def is_lighteval_result(path: Path, head: bytes) -> bool:
    """Whether a file is a result of lighteval, by its name and first bytes."""
    return bool(_RESULTS.fullmatch(path.name)) and b'"config_general"' in head


def read_lighteval_result(path: Path) -> FrameworkLog:
    """Read one result with its details. Raises DatasetError naming file, line and field."""
    result = FieldReader(path, read_json_file(path))
    general, results = result.read_object("config_general"), result.read_object("results")
    config = FieldReader(path, general.find_object("model_config"), None, "model_config")
    match = _RESULTS.fullmatch(path.name)
    date = match["date"] if match else ""
    limit = general.values.get("max_samples")
    return FrameworkLog(
        framework=FRAMEWORK,
        version=general.find_text("lighteval_sha")[:12],
        model=clean_model_name(general.find_text("model_name") or config.read_text("model_name")),
        created_at=convert_time(re.sub(r"T(\d\d)-(\d\d)-(\d\d)", r"T\1:\2:\3", date)),
        tasks=tuple(
            _read_task(path, date, name, results.read_object(name), bool(limit))
            for name in results.values
            if name != _ALL and ":_average" not in name
        ),
        sampling=select_sampling(config.find_object("generation_parameters"))
        | select_sampling(config.values),
    )


def _read_task(path: Path, date: str, task: str, totals: FieldReader, limited: bool) -> LoggedTask:
    claims = {
        clean_metric_name(name): number
        for name, value in totals.values.items()
        if not name.endswith("_stderr") and (number := convert_score(value)) is not None
    }
    file = _find_details(path, date, task)
    samples = list(_iter_samples(file)) if file else []
    scored = {name for sample in samples for name in sample.scores}
    names = list(dict.fromkeys([*claims, *(name for s in samples[:1] for name in s.scores)]))
    shares = [
        name
        for name in names
        if is_share(claims.get(name, 0.0))
        and all(is_share(s.scores[name]) for s in samples if name in s.scores)
        and (not samples or name in scored)
    ]
    return LoggedTask(
        name=task,
        metric=shares[0] if shares else "",
        claimed={name: claims[name] for name in shares if name in claims},
        samples=tuple(samples),
        full=not limited,
        left_out=tuple(name for name in names if name not in shares),
        flags=(Flag("log_no_usage"), Flag("log_no_times")) if samples else (),
    )


def _find_details(path: Path, date: str, task: str) -> Path | None:
    """The details of a task: in the folder `details` that lies next to `results`, or in the folder
    of the result itself."""
    folders = [path.parent / date, path.parent]
    parts = path.parent.parts
    if "results" in parts:
        at = len(parts) - 1 - parts[::-1].index("results")
        folders.insert(0, Path(*parts[:at], "details", *parts[at + 1 :], date))
    files = (find_file(folder, f"details_{task}_{date}.parquet") for folder in folders)
    return next(filter(None, files), None)


def _iter_samples(file: Path) -> Iterator[LoggedSample]:
    seen: dict[str, int] = {}
    for number, values in read_parquet_rows(file, _BYTES_LIMIT, _COLUMNS):
        row = FieldReader(file, values, number)
        doc = row.find_object("doc")
        name = convert_text(doc.get("id")) or str(number)
        if name in seen:  # ids are those of the data, and some of it numbers its parts anew
            name = f"{name}-{number}"
        seen[name] = number
        response = row.find_object("model_response")
        texts = response.get("text")
        metric = row.values.get("metric", row.values.get("metrics"))
        if not isinstance(metric, Mapping):
            raise row.fail("metric", Note("log_field_missing"))
        yield LoggedSample(
            id=name,
            input={"query": doc.get("query"), "choices": doc.get("choices")},
            reference={"gold_index": doc.get("gold_index")},
            answer=convert_text(texts[0] if isinstance(texts, list) and texts else ""),
            scores={
                clean_metric_name(str(key)): score
                for key, value in metric.items()
                if (score := convert_score(value)) is not None
            },
        )

"""Records of Every Eval Ever (schemas 0.2 and 0.3): an aggregate `.json`, and the samples in the
`_samples.jsonl` next to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

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
from evalcore.intake import read_count, read_number
from evalcore.intake.json_text import read_rows
from evalcore.records import Message, ToolCall, Usage
from evalcore.store.run_folder import Flag

FRAMEWORK = "every_eval_ever"


class _Claim:
    """One result of a record: its score as a share, None where it is none."""

    def __init__(self, result: FieldReader) -> None:
        config = result.read_object("metric_config")
        details = result.read_object("score_details")
        named = config.values.get("metric_id") or config.values.get("metric_name")
        named = named or config.values.get("metric_kind") or "score"
        self.id = result.find_text("evaluation_result_id")
        self.task = result.read_text("evaluation_name")
        self.metric = clean_metric_name(convert_text(named).removeprefix(f"{self.task}."))
        self.dataset = convert_text(result.find_object("source_data").get("dataset_name"))
        self.sampling = select_sampling(
            FieldReader("", result.find_object("generation_config")).find_object("generation_args")
        )
        low, high = (convert_score(config.values.get(name)) for name in ("min_score", "max_score"))
        percent = config.values.get("metric_unit") in ("percent", "%")
        self._low, self._high = low or 0.0, high if high is not None else 100.0 if percent else 1.0
        lower = config.values.get("lower_is_better") is True
        self.share = None if lower else self.convert(details.values.get("score"))
        self.interval = self._read_interval(details.find_object("uncertainty"))

    def convert(self, value: Any) -> float | None:
        """A score as a share of the range that the record declares."""
        number = convert_score(value)
        if number is None or self._high <= self._low:
            return None
        share = (number - self._low) / (self._high - self._low)
        return share if is_share(share) else None

    def _read_interval(self, uncertainty: Mapping[str, Any]) -> tuple[float, float] | None:
        """The interval of 95 %, as it is given or from the standard error."""
        bounds = FieldReader("", uncertainty).find_object("confidence_interval")
        if bounds and bounds.get("confidence_level") in (None, 0.95, 95):
            low, high = self.convert(bounds.get("lower")), self.convert(bounds.get("upper"))
            if low is not None and high is not None and low <= high:
                return low, high
        error = read_number(FieldReader("", uncertainty).find_object("standard_error").get("value"))
        if error is None or self.share is None:
            return None
        half = 1.959964 * error / (self._high - self._low)
        return max(self.share - half, 0.0), min(self.share + half, 1.0)


def is_eee_record(path: Path, head: bytes) -> bool:
    """Whether a file is an aggregate record, by its first bytes."""
    named = b'"evaluation_results"' in head or b'"schema_version"' in head
    return named and b'"evaluation_id"' in head


def read_eee_record(path: Path) -> FrameworkLog:
    """Read one record with its samples. Raises DatasetError naming file, line and field."""
    record = FieldReader(path, read_json_file(path))
    model, library = record.read_object("model_info"), record.find_object("eval_library")
    claims = [
        _Claim(FieldReader(path, values, None, f"evaluation_results[{number}]"))
        for number, values in enumerate(record.read_list("evaluation_results"))
    ]
    samples = _read_samples(path, record, claims)
    tasks = list(dict.fromkeys(claim.task for claim in claims))
    source = record.find_object("source_metadata")
    return FrameworkLog(
        framework=FRAMEWORK,
        version=record.find_text("schema_version"),
        model=clean_model_name(model.read_text("id")),
        created_at=convert_time(
            record.values.get("evaluation_timestamp") or record.values.get("retrieved_timestamp")
        ),
        tasks=tuple(
            built
            for task in tasks
            for built in _build_tasks(
                task,
                [c for c in claims if c.task == task],
                samples.get(task, []),
                convert_text(library.get("name"))[:80],
            )
        ),
        sampling=next((claim.sampling for claim in claims if claim.sampling), {}),
        facts={
            "evaluation": record.find_text("evaluation_id"),
            "library": convert_text(library.get("name")),
            "library_version": convert_text(library.get("version")),
            "source": convert_text(source.get("source_organization_name")),
        },
    )


def _build_tasks(
    task: str, claims: list[_Claim], samples: list[LoggedSample], library: str
) -> Iterator[LoggedTask]:
    """One task as a `library` asked it; where its metrics are of different samples, one for each
    metric, and one for the results that are of none."""
    ids = {claim.metric: {s.id for s in samples if claim.metric in s.scores} for claim in claims}
    own = [claim for claim in claims if ids[claim.metric]]
    if len({frozenset(ids[claim.metric]) for claim in own}) < 2:
        if own and own[0] is not claims[0]:  # the scored metric is the one that samples have
            claims = [*own, *(claim for claim in claims if claim not in own)]
        yield _build_task(task, claims, samples, library)
        return
    rest = [claim for claim in claims if claim not in own]
    if rest:
        yield _build_task(task, rest, [], library)
    for claim in own:
        part = [sample for sample in samples if claim.metric in sample.scores]
        yield _build_task(f"{task}/{claim.metric}", [claim], part, library)


def _build_task(
    task: str, claims: list[_Claim], samples: list[LoggedSample], library: str
) -> LoggedTask:
    claimed = {claim.metric: claim.share for claim in claims if claim.share is not None}
    first = next((claim for claim in claims if claim.share is not None), None)
    metric = first.metric if first else ""
    dataset = claims[0].dataset
    return LoggedTask(
        name=task,
        metric=metric,
        claimed=claimed,
        samples=tuple(samples),
        options=({"dataset": dataset[:80]} if dataset and dataset != task else {})
        | ({"library": library} if library else {}),
        epochs=max((sample.epoch + 1 for sample in samples), default=1),
        left_out=tuple(claim.metric for claim in claims if claim.share is None),
        interval=first.interval if first else None,
        flags=(Flag("log_no_times"),) if samples and not any(s.latency for s in samples) else (),
    )


def _read_samples(
    path: Path, record: FieldReader, claims: list[_Claim]
) -> dict[str, list[LoggedSample]]:
    """Samples by task. One that has results under several metrics counts once."""
    named = convert_text(record.find_object("detailed_evaluation_results").get("file_path"))
    file = find_file(path.parent, Path(named).name if named else f"{path.stem}_samples.jsonl")
    if file is None:
        return {}
    by_id = {claim.id: claim for claim in claims if claim.id}
    by_task = {claim.task: claim for claim in reversed(claims)}
    samples: dict[str, dict[tuple[str, int], LoggedSample]] = {}
    seen: dict[tuple[str, str, str, int], int] = {}
    for number, values in read_rows(file, drop=True):
        row = FieldReader(file, values, number)
        task = row.read_text("evaluation_name")
        claim = by_id.get(row.find_text("evaluation_result_id")) or by_task.get(task)
        if claim is None:
            raise row.fail("evaluation_name", Note("log_unknown_task", name=task[:80]))
        name, epoch = row.read_text("sample_id"), _read_epoch(row)
        first = seen.setdefault((claim.task, claim.metric, name, epoch), number)
        if first != number:
            raise row.fail("sample_id", Note("log_twice", name=name[:80], line=first))
        of_task = samples.setdefault(claim.task, {})
        if (name, epoch) not in of_task:
            of_task[name, epoch] = _read_sample(row, name, epoch)
        score = row.read_object("evaluation").values.get("score")
        if (share := claim.convert(score)) is not None:
            of_task[name, epoch].scores[claim.metric] = share
    return {task: list(each.values()) for task, each in samples.items()}


def _read_epoch(row: FieldReader) -> int:
    """The repetition, which the schema has no field for, as our own export writes it."""
    epoch = convert_text(row.find_object("metadata").get("epoch"))
    return int(epoch) if epoch.isdecimal() and len(epoch) < 5 else 0


def _read_sample(row: FieldReader, name: str, epoch: int) -> LoggedSample:
    asked = row.read_object("input")
    output = row.find_object("output")
    raw = output.get("raw")
    answers = raw if isinstance(raw, list) else [raw]
    messages = tuple(_read_message(each) for each in row.find_list("messages") if _is_message(each))
    said = [message.content for message in messages if message.role == "assistant"]
    usage, speed = row.find_object("token_usage"), row.find_object("performance")
    choices = asked.find_list("choices")
    return LoggedSample(
        id=name,
        epoch=epoch,
        input={"input": asked.read_text("raw")} | ({"choices": choices} if choices else {}),
        reference={"target": asked.values.get("reference")},
        answer=convert_text(answers[0] if output and answers else said[-1] if said else ""),
        messages=messages,
        scores={},
        error=convert_text(row.values.get("error")),
        usage=Usage(
            input_tokens=read_count(usage.get("input_tokens")),
            output_tokens=read_count(usage.get("output_tokens")),
            reasoning_tokens=read_count(usage.get("reasoning_tokens")),
            cached_tokens=read_count(usage.get("input_tokens_cache_read")),
        ),
        latency=(read_number(speed.get("latency_ms")) or 0.0) / 1000,
    )


def _is_message(value: Any) -> bool:
    roles = ("system", "user", "assistant", "tool")
    return isinstance(value, Mapping) and value.get("role") in roles


def _read_message(value: Mapping[str, Any]) -> Message:
    calls = value.get("tool_calls")
    return Message(
        role=value["role"],
        content=convert_text(value.get("content")),
        tool_calls=tuple(
            ToolCall(*(convert_text(call.get(name)) for name in ("id", "name", "arguments")))
            for call in (calls if isinstance(calls, list) else ())
            if isinstance(call, Mapping)
        ),
    )

"""Logs of Inspect AI: `.eval` archives and `.json` files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from evalcore.errors import FileError
from evalcore.exchange.logs.archive import open_archive
from evalcore.exchange.logs.files import read_json_file
from evalcore.exchange.logs.records import (
    FieldReader,
    FrameworkLog,
    LoggedSample,
    LoggedTask,
    SampleBudget,
    clean_metric_name,
    clean_model_name,
    convert_score,
    convert_text,
    convert_time,
    is_share,
    select_sampling,
)
from evalcore.i18n import Note
from evalcore.intake import add_counts, read_count, read_seconds
from evalcore.records import Message, ToolCall, Usage, content_hash
from evalcore.store.run_folder import Flag

FRAMEWORK = "inspect"
_HEADER, _START = "header.json", "_journal/start.json"
_ATTACHMENT = "attachment://"
_NOT_LOGGED = "not in the log"
#: Values of scores that are words, as Inspect reads them.
_LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_WORDS = {"yes": 1.0, "true": 1.0}
#: Metrics that are the mean of a scorer's values.
_MEANS = ("accuracy", "mean")
_MEAN_REDUCERS = ("", "mean", "mean_score")


def is_inspect_log(path: Path, head: bytes) -> bool:
    """Whether a file is a log of Inspect, by its first bytes."""
    if path.suffix == ".eval":
        return True
    return path.suffix == ".json" and b'"eval"' in head and b'"status"' in head


def read_inspect_log(path: Path) -> FrameworkLog:
    """Read one log. Raises DatasetError naming file and field for what is none."""
    if path.suffix != ".eval":
        values = read_json_file(path)
        log = FieldReader(path, values)
        return _build_log(log, [(str(path), at, each) for at, each in _number_samples(log)])
    with open_archive(path) as archive:
        names = set(archive.names)
        header = _HEADER if _HEADER in names else _START
        if header not in names:
            raise FileError(path, Note("log_no_header", names=f"{_HEADER}, {_START}"))
        log = FieldReader(f"{path}!{header}", archive.read_json(header))
        members = sorted(n for n in names if n.startswith("samples/") and n.endswith(".json"))
        rows = ((f"{path}!{name}", "", archive.read_json(name)) for name in members)
        return _build_log(log, rows)


def _number_samples(log: FieldReader) -> Iterator[tuple[str, Any]]:
    for number, sample in enumerate(log.find_list("samples")):
        yield f"samples[{number}]", sample


def _build_log(log: FieldReader, rows: Iterable[tuple[str, str, Any]]) -> FrameworkLog:
    evaluation = log.read_object("eval")
    model = evaluation.read_text("model")
    budget = SampleBudget()
    samples = [
        budget.charge(_read_sample(FieldReader(path, values, None, prefix), model), path)
        for path, prefix, values in rows
    ]
    config = evaluation.find_object("model_generate_config")
    return FrameworkLog(
        framework=FRAMEWORK,
        version=str(evaluation.find_object("packages").get("inspect_ai", "")),
        model=clean_model_name(model),
        created_at=convert_time(evaluation.find_text("created")),
        tasks=(_build_task(log, evaluation, samples),),
        sampling=select_sampling(config),
        facts={
            "run": evaluation.find_text("run_id"),
            "eval": evaluation.find_text("eval_id"),
            "status": log.find_text("status"),
        },
    )


def _build_task(
    log: FieldReader, evaluation: FieldReader, samples: list[LoggedSample]
) -> LoggedTask:
    results = FieldReader("", log.find_object("results"))
    claimed = dict(_iter_claims(results.find_list("scores")))
    names = [*claimed, *dict.fromkeys(name for s in samples for name in s.scores)]
    headline = str(results.find_object("headline").get("score", ""))
    ordered = sorted(dict.fromkeys(names), key=lambda name: name != clean_metric_name(headline))
    shares = [name for name in ordered if _is_all_shares(name, samples, claimed)]
    config = evaluation.find_object("config")
    epochs = read_count(config.get("epochs")) or 1
    epochs = min(max(epochs, *(s.epoch + 1 for s in samples), 1), 1000) if samples else epochs
    declared = [str(each) for each in _find_declared_ids(evaluation)]
    missing = [name for name in declared if name not in {s.id for s in samples}] if samples else []
    return LoggedTask(
        name=evaluation.read_text("task"),
        metric=shares[0] if shares else "",
        claimed={name: claimed[name] for name in shares if name in claimed},
        samples=(*samples, *(LoggedSample(name, {}, error=_NOT_LOGGED) for name in missing)),
        options=_build_options(log, evaluation),
        epochs=epochs,
        full=config.get("limit") is None and config.get("sample_id") is None,
        left_out=tuple(name for name in ordered if name not in shares),
        flags=tuple(_collect_flags(log, samples)),
    )


def _find_declared_ids(evaluation: FieldReader) -> list[Any]:
    ids = evaluation.find_object("dataset").get("sample_ids")
    return ids if isinstance(ids, list) and len(ids) <= 1_000_000 else []


def _is_all_shares(
    name: str, samples: Iterable[LoggedSample], claimed: Mapping[str, float]
) -> bool:
    values = [s.scores[name] for s in samples if name in s.scores]
    return all(map(is_share, [*values, *filter(None, [claimed.get(name)])]))


def _iter_claims(scores: Iterable[Any]) -> Iterator[tuple[str, float]]:
    """The means that Inspect gives, by name of the score; other metrics say something else."""
    for entry in scores:
        if not isinstance(entry, Mapping) or str(entry.get("reducer") or "") not in _MEAN_REDUCERS:
            continue
        metrics = entry.get("metrics")
        for name in _MEANS if isinstance(metrics, Mapping) else ():
            metric = metrics.get(name) if isinstance(metrics, Mapping) else None
            value = convert_score(metric.get("value")) if isinstance(metric, Mapping) else None
            if value is not None:
                yield clean_metric_name(str(entry.get("name", ""))), value
                break


def _build_options(log: FieldReader, evaluation: FieldReader) -> dict[str, Any]:
    """What sets the task apart: its version, arguments, scorers, and the plan that asks."""
    version = evaluation.values.get("task_version")
    options: dict[str, Any] = {"version": version} if version else {}
    arguments = evaluation.find_object("task_args")
    plan = [
        {name: step.get(name) for name in ("solver", "params")}
        for step in FieldReader("", log.find_object("plan")).find_list("steps")
        if isinstance(step, Mapping)
    ]
    scorers = evaluation.find_list("scorers")
    hashed = {"arguments": arguments, "plan": plan, "scorers": scorers}
    return options | {name: content_hash(value, 8) for name, value in hashed.items() if value}


def _collect_flags(log: FieldReader, samples: list[LoggedSample]) -> Iterator[Flag]:
    if log.find_text("status") not in ("", "success"):
        yield Flag("log_unfinished", detail=log.find_text("status")[:80])
    if samples and not any(sample.latency for sample in samples):
        yield Flag("log_no_times")


def _read_sample(sample: FieldReader, model: str) -> LoggedSample:
    attachments = sample.find_object("attachments")
    error = sample.find_object("error").get("message")
    output = sample.find_object("output")
    messages = tuple(iter_messages(sample.find_list("messages"), attachments))
    usages = sample.find_object("model_usage")
    usage = usages.get(model) or next(iter(usages.values()), None) or output.get("usage")
    seconds = sample.values.get("working_time") or sample.values.get("total_time")
    scores, explanation = _read_scores(sample.find_object("scores"))
    epoch = read_count(sample.values.get("epoch"))
    target = sample.values.get("target")
    choices = sample.values.get("choices")
    return LoggedSample(
        id=sample.read_text("id"),
        epoch=max(epoch or 1, 1) - 1,
        input={"input": _resolve(_read_input(sample.values.get("input")), attachments)}
        | ({"choices": choices} if choices else {}),
        reference={"target": target},
        answer=_resolve(_read_answer(output, messages), attachments),
        messages=messages,
        scores={} if error and not scores else scores,
        error=convert_text(error),
        explanation=_resolve(explanation, attachments),
        usage=_read_usage(usage),
        latency=read_seconds(seconds) or 0.0,
    )


def _read_input(value: Any) -> str:
    """A text; of messages the text of what the user says."""
    if not isinstance(value, list):
        return convert_text(value)
    texts = (_read_content(each.get("content")) for each in value if isinstance(each, Mapping))
    return "\n\n".join(text for text in texts if text)


def _read_answer(output: Mapping[str, Any], messages: tuple[Message, ...]) -> str:
    completion = output.get("completion")
    if isinstance(completion, str) and completion:
        return completion
    said = (message.content for message in reversed(messages) if message.role == "assistant")
    return next(said, "")


def _read_scores(scores: Mapping[str, Any]) -> tuple[dict[str, float], str]:
    """Values by name, of a score with several parts by the name of the part; and the first
    explanation."""
    values: dict[str, float] = {}
    explanation = ""
    for name, score in scores.items():
        if not isinstance(score, Mapping):
            continue
        value = score.get("value")
        parts = value if isinstance(value, Mapping) else {name: value}
        for part, part_value in parts.items():
            number = _convert_value(part_value)
            if number is not None:
                values[clean_metric_name(str(part))] = number
        explanation = explanation or convert_text(score.get("explanation"))
    return values, explanation


def _convert_value(value: Any) -> float | None:
    """A value as Inspect's own accuracy reads it: other words count 0."""
    if not isinstance(value, str):
        return convert_score(value)
    try:
        return convert_score(float(value))
    except ValueError:
        return _LETTERS.get(value, _WORDS.get(value.lower(), 0.0))


def _read_usage(usage: Any) -> Usage:
    values = usage if isinstance(usage, Mapping) else {}
    read = {name: read_count(values.get(name)) for name in values}
    return Usage(
        input_tokens=add_counts(
            *(
                read.get(name)
                for name in ("input_tokens", "input_tokens_cache_read", "input_tokens_cache_write")
            )
        ),
        output_tokens=read.get("output_tokens"),
        reasoning_tokens=read.get("reasoning_tokens"),
        cached_tokens=read.get("input_tokens_cache_read"),
    )


def iter_messages(messages: Iterable[Any], attachments: Mapping[str, Any]) -> Iterator[Message]:
    for message in messages:
        if not isinstance(message, Mapping):
            continue
        role = message.get("role")
        if role not in ("system", "user", "assistant", "tool"):
            continue
        calls = message.get("tool_calls")
        yield Message(
            role=role,
            content=_resolve(_read_content(message.get("content")), attachments),
            tool_calls=tuple(
                ToolCall(
                    convert_text(call.get("id")),
                    convert_text(call.get("function")),
                    convert_text(call.get("arguments")),
                )
                for call in (calls if isinstance(calls, list) else ())
                if isinstance(call, Mapping)
            ),
            tool_call_id=convert_text(message.get("tool_call_id")),
        )


def _read_content(content: Any) -> str:
    """The text of a message; parts of other kinds by their name alone."""
    if isinstance(content, str):
        return content
    texts = []
    for part in content if isinstance(content, list) else ():
        if isinstance(part, Mapping):
            kind = convert_text(part.get("type"))
            text = (
                part.get("text") if kind == "text" else f"[{kind}]" if kind != "reasoning" else ""
            )
            texts.append(convert_text(text))
    return "\n".join(text for text in texts if text)


def _resolve(text: str, attachments: Mapping[str, Any]) -> str:
    """A text that was put aside, by the name that stands in its place."""
    if text.startswith(_ATTACHMENT):
        return convert_text(attachments.get(text.removeprefix(_ATTACHMENT), text))
    return text

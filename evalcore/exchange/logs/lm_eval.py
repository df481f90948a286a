"""Results of lm-evaluation-harness: `results_*.json` with the `samples_*.jsonl` next to them."""

from __future__ import annotations

import re
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
from evalcore.intake.json_text import parse_json_or, read_rows
from evalcore.records import Message
from evalcore.store.run_folder import Flag

FRAMEWORK = "lm_eval"
_RESULTS = re.compile(r"results(?:_(?P<date>.+))?\.json")
_PLAIN = "none"  # the filter that changes nothing
#: Metrics that are better when lower; versions before 0.4.3 do not say so.
_LOWER = (
    *("perplexity", "word_perplexity", "byte_perplexity", "bits_per_byte", "brier_score"),
    *("ter", "wer", "cer", "mse"),
)
_NO_METRIC = ("alias", "name", "sample_len", "sample_count")


def is_lm_eval_result(path: Path, head: bytes) -> bool:
    """Whether a file is a result of lm-evaluation-harness, by its name and first bytes. Results of
    lighteval have such a name too."""
    return bool(_RESULTS.fullmatch(path.name)) and b'"config_general"' not in head


def read_lm_eval_result(path: Path) -> FrameworkLog:
    """Read one result with its samples. Raises DatasetError naming file, line and field."""
    result = FieldReader(path, read_json_file(path))
    results = result.read_object("results")
    groups = {name for name, members in result.find_object("group_subtasks").items() if members}
    groups |= set(result.find_object("groups"))
    config = result.find_object("config")
    tasks = [
        _read_task(path, result, results.read_object(name), name)
        for name in results.values
        if name not in groups
    ]
    return FrameworkLog(
        framework=FRAMEWORK,
        version=result.find_text("lm_eval_version"),
        model=_read_model(result, config),
        created_at=convert_time(result.values.get("date")),
        tasks=tuple(tasks),
        sampling=select_sampling(_parse_arguments(config.get("gen_kwargs")))
        | select_sampling(_parse_arguments(config.get("model_args"))),
        facts={
            "backend": convert_text(config.get("model")),
            "git": convert_text(result.values.get("git_hash")),
            "seed": config.get("random_seed"),
        },
    )


def _read_model(result: FieldReader, config: Mapping[str, Any]) -> str:
    arguments = _parse_arguments(config.get("model_args"))
    named = arguments.get("pretrained") or arguments.get("model") or arguments.get("engine")
    return clean_model_name(convert_text(named) or result.read_text("model_name"))


def _parse_arguments(arguments: Any) -> dict[str, Any]:
    """The arguments of a model, which older versions write as one text."""
    if isinstance(arguments, Mapping):
        return dict(arguments)
    pairs = (part.partition("=") for part in convert_text(arguments).split(","))
    return {name.strip(): value.strip() for name, _, value in pairs if value}


def _read_task(path: Path, result: FieldReader, totals: FieldReader, task: str) -> LoggedTask:
    claims, left_out = _split_claims(result, totals, task)
    config = _find_of_task(result, "configs", task)
    rows = _find_samples_file(path, task)
    samples, choices = _read_samples(rows) if rows else ([], [])
    names = _order_metrics(config if isinstance(config, Mapping) else {}, list(claims))
    names += [name for s in samples[:1] for name in s.scores if name not in claims]
    scored = {name for s in samples for name in s.scores}
    shares = [
        name
        for name in names
        if all(is_share(s.scores[name]) for s in samples if name in s.scores)
        and (not samples or name in scored)
        and name not in left_out
    ]
    counts = _find_of_task(result, "n-samples", task)
    return LoggedTask(
        name=task,
        metric=shares[0] if shares else "",
        claimed={name: claims[name] for name in shares if name in claims},
        samples=tuple(samples),
        options=_build_options(result, task),
        full=_is_full(result, counts, samples),
        left_out=tuple(dict.fromkeys([*left_out, *(n for n in names if n not in shares)])),
        flags=tuple(_collect_flags(samples, choices, counts)),
    )


def _find_of_task(result: FieldReader, field: str, task: str) -> Any:
    return result.find_object(field).get(task)


def _is_full(result: FieldReader, counts: Any, samples: list[LoggedSample]) -> bool:
    limit = result.find_object("config").get("limit")
    original = counts.get("original") if isinstance(counts, Mapping) else None
    return not limit and (not samples or original in (None, len(samples)))


def _split_claims(
    result: FieldReader, totals: FieldReader, task: str
) -> tuple[dict[str, float], list[str]]:
    """Means by metric, and the metrics that are no share from 0 to 1 or better when lower."""
    directions = _find_of_task(result, "higher_is_better", task)
    claims: dict[str, float] = {}
    left_out = []
    for field, value in totals.values.items():
        metric, _, filtered = field.partition(",")
        number = convert_score(value)
        if metric in _NO_METRIC or metric.endswith("_stderr") or number is None:
            continue
        name = _name_metric(metric, filtered)
        higher = directions.get(metric) if isinstance(directions, Mapping) else None
        lower = higher is False or (higher is None and metric in _LOWER)
        if lower or not is_share(number):
            left_out.append(name)
        else:
            claims[name] = number
    return claims, left_out


def _name_metric(metric: str, filtered: str) -> str:
    return clean_metric_name(metric if filtered in ("", _PLAIN) else f"{metric}-{filtered}")


def _order_metrics(config: Mapping[str, Any], names: list[str]) -> list[str]:
    """The metrics in the order in which the task declares them."""
    declared = [
        clean_metric_name(convert_text(entry.get("metric")))
        for entry in FieldReader("", config).find_list("metric_list")
        if isinstance(entry, Mapping) and entry.get("metric")
    ]

    def rank(name: str) -> int:
        prefixes = [n for n, metric in enumerate(declared) if name.startswith(metric)]
        exact = [n for n, metric in enumerate(declared) if name == metric]
        return (exact or prefixes or [len(declared)])[0]

    return sorted(names, key=rank)


def _build_options(result: FieldReader, task: str) -> dict[str, Any]:
    """What sets the task apart: its version and the number of examples in the prompt."""
    parts = {
        "version": _find_of_task(result, "versions", task),
        "shots": _find_of_task(result, "n-shot", task),
        "system": result.find_text("system_instruction_sha")[:8],
    }
    return {
        name: value
        for name, value in parts.items()
        if value and isinstance(value, str | int | float)
    }


def _collect_flags(samples: list[LoggedSample], choices: list[int], counts: Any) -> Iterator[Flag]:
    effective = counts.get("effective") if isinstance(counts, Mapping) else None
    if samples and isinstance(effective, int) and effective != len(samples):
        detail = Note("log_counts", stated=effective, counted=len(samples))
        yield Flag("counts_differ", detail=detail)
    if samples:
        yield Flag("log_no_usage")
        yield Flag("log_no_times")
    if choices and len(choices) == len(samples):
        chance = 100 * sum(1 / count for count in choices) / len(choices)
        yield Flag("log_chance", detail=f"{chance:.1f}")


def _find_samples_file(path: Path, task: str) -> Path | None:
    """The samples of a task that were written with a result."""
    match = _RESULTS.fullmatch(path.name)
    date = match["date"] if match else None
    name = f"samples_{task.replace('/', '__')}" + (f"_{date}.jsonl" if date else ".jsonl")
    return find_file(path.parent, name)


def _read_samples(path: Path) -> tuple[list[LoggedSample], list[int]]:
    """The samples, which have a row for each filter, and of each the number of choices where the
    likelihood of choices was asked."""
    samples: dict[str, LoggedSample] = {}
    choices: dict[str, int] = {}
    seen: dict[tuple[str, str], int] = {}
    for number, values in read_rows(path, drop=True):
        row = FieldReader(path, values, number)
        name, filtered = row.read_text("doc_id"), row.find_text("filter") or _PLAIN
        first = seen.setdefault((name, filtered), number)
        if first != number:
            raise row.fail("doc_id", Note("log_twice", name=name[:80], line=first))
        asked = row.find_object("arguments")
        if name not in samples:
            samples[name] = _read_sample(row, name, asked)
            if len(asked) > 1:
                choices[name] = len(asked)
        scores = samples[name].scores
        for metric in row.find_list("metrics"):
            value = convert_score(row.values.get(str(metric)))
            if value is not None:
                scores[_name_metric(str(metric), filtered)] = value
    return list(samples.values()), list(choices.values())


def _read_sample(row: FieldReader, name: str, asked: Mapping[str, Any]) -> LoggedSample:
    first = asked.get("gen_args_0")
    prompt = first.get("arg_0") if isinstance(first, Mapping) else None
    answers = row.find_list("filtered_resps")
    answer = answers[0] if len(answers) == 1 else answers
    while isinstance(answer, list) and len(answer) == 1:
        answer = answer[0]
    return LoggedSample(
        id=name,
        input={"doc": row.values.get("doc")},
        reference={"target": row.values.get("target")},
        answer=convert_text(answer),
        messages=tuple(_read_prompt(prompt)),
        scores={},
    )


def _read_prompt(prompt: Any) -> Iterator[Message]:
    """The prompt as messages: a chat is written as the JSON text of one."""
    if isinstance(prompt, list) and len(prompt) == 1:
        prompt = prompt[0]
    turns = parse_json_or(prompt, None) if isinstance(prompt, str) and prompt[:1] == "[" else None
    if not isinstance(turns, list) or not all(isinstance(turn, Mapping) for turn in turns):
        turns = [{"role": "user", "content": prompt}] if prompt else []
    for turn in turns:
        role = turn.get("role")
        if role in ("system", "user", "assistant"):
            yield Message(role=role, content=convert_text(turn.get("content")))

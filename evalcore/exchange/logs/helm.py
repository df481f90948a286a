"""Run folders of HELM: `run_spec.json`, `per_instance_stats.json`, `scenario_state.json` and
`stats.json`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from evalcore.errors import DatasetError
from evalcore.exchange.logs.files import read_json_file
from evalcore.exchange.logs.records import (
    FieldReader,
    FrameworkLog,
    LoggedSample,
    LoggedTask,
    clean_metric_name,
    clean_model_name,
    convert_score,
    convert_text,
    is_share,
    select_sampling,
)
from evalcore.i18n import Note
from evalcore.intake import read_count, read_seconds
from evalcore.records import Message, Usage
from evalcore.store.run_folder import Flag

FRAMEWORK = "helm"
_SPEC = "run_spec.json"
_TOKENS = {"num_prompt_tokens": "input_tokens", "num_output_tokens": "output_tokens"}
#: Where the metrics of a run do not name theirs: what HELM's own boards show, the first there is.
_USUAL = (
    *("exact_match", "quasi_exact_match", "final_number_exact_match", "math_equiv", "f1_score"),
    *("code_eval_acc", "rouge_l", "ndcg_10", "classification_macro_f1"),
)


def is_helm_run(path: Path, head: bytes) -> bool:
    """Whether a file is the specification of a HELM run, by its name and first bytes."""
    return path.name == _SPEC and b'"scenario_spec"' in head


def read_helm_run(path: Path) -> FrameworkLog:
    """Read the run folder that a specification lies in. Raises DatasetError naming file and
    field."""
    spec = FieldReader(path, read_json_file(path))
    adapter = spec.read_object("adapter_spec")
    model = adapter.read_text("model")
    stats, samples, split = _read_samples(path, _list_metrics(spec))
    shares = {name: value for name, value in stats.items() if _is_all_shares(name, value, samples)}
    metric = next((name for name in _list_metrics(spec) if name in shares), "")
    limit = adapter.find_count("max_eval_instances")
    return FrameworkLog(
        framework=FRAMEWORK,
        version="",
        model=clean_model_name(model),
        created_at="",
        tasks=(
            LoggedTask(
                name=_name_task(spec.read_text("name")),
                metric=metric,
                claimed=shares,
                samples=tuple(samples),
                options={"split": split, "shots": adapter.find_count("max_train_instances") or 0},
                epochs=max((sample.epoch + 1 for sample in samples), default=1),
                full=limit is None or len(samples) < limit,
                left_out=tuple(name for name in stats if name not in shares),
                flags=(Flag("log_no_version"),),
            ),
        ),
        sampling=select_sampling(adapter.values),
    )


def _name_task(name: str) -> str:
    """What HELM calls a run, without its model."""
    head, colon, options = name.partition(":")
    kept = [option for option in options.split(",") if not option.startswith("model=")]
    return f"{head}{colon}{','.join(kept)}".rstrip(":")


def _is_all_shares(name: str, total: float, samples: Iterable[LoggedSample]) -> bool:
    return all(map(is_share, [total, *(s.scores[name] for s in samples if name in s.scores)]))


def _list_metrics(spec: FieldReader) -> list[str]:
    """The metrics of a run in the order of its specification, then the usual ones."""
    names: list[str] = []
    for entry in spec.find_list("metric_specs"):
        arguments = entry.get("args") if isinstance(entry, Mapping) else None
        listed = arguments.get("names") if isinstance(arguments, Mapping) else None
        names += (
            [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []
        )
    return list(dict.fromkeys([*names, *_USUAL]))


def _read_samples(
    path: Path, metrics: list[str]
) -> tuple[dict[str, float], list[LoggedSample], str]:
    """The totals by metric, the samples, and the split that both are of."""
    totals_file, file = path.with_name("stats.json"), path.with_name("per_instance_stats.json")
    totals = (
        list(_iter_stats(read_json_file(totals_file), metrics)) if totals_file.is_file() else []
    )
    splits = {split for split, _, _ in totals}
    split = "test" if "test" in splits else next((split for split, _, _ in totals), "")
    claims = {name: value for each, name, value in totals if each == split}
    states = _read_states(path.with_name("scenario_state.json"))
    samples: list[LoggedSample] = []
    seen: dict[tuple[str, int], int] = {}
    rows = read_json_file(file) if file.is_file() else []
    if not isinstance(rows, list):
        raise DatasetError(file, None, "", Note("log_field_kind", kind="list"))
    for number, values in enumerate(rows):
        row = FieldReader(file, values, None, f"[{number}]")
        name, trial = row.read_text("instance_id"), row.find_count("train_trial_index") or 0
        if row.values.get("perturbation"):
            continue
        counts = list(_iter_stats(row.read_list("stats"), [*metrics, *_TOKENS]))
        if split and not any(each == split for each, _, _ in counts):
            continue
        first = seen.setdefault((name, trial), number)
        if first != number:
            raise row.fail("instance_id", Note("log_twice", name=name[:80], line=first))
        measured = {metric: value for each, metric, value in counts if each == split}
        samples.append(_build_sample(name, trial, measured, states.get((name, trial), {})))
    return claims, samples, split


def _iter_stats(stats: Any, names: Iterable[str]) -> Iterator[tuple[str, str, float]]:
    """Split, name and mean of what was measured on cases as they are."""
    selected = frozenset(names)
    for entry in stats if isinstance(stats, list) else ():
        name = entry.get("name") if isinstance(entry, Mapping) else None
        if not isinstance(name, Mapping) or name.get("perturbation"):
            continue
        mean = convert_score(entry.get("mean"))
        if str(name.get("name")) in selected and mean is not None and "sub_split" not in name:
            metric = str(name["name"])
            plain = metric if metric in _TOKENS else clean_metric_name(metric)
            yield str(name.get("split", "")), plain, mean


def _read_states(file: Path) -> dict[tuple[str, int], Mapping[str, Any]]:
    """What was asked and answered, by case and trial."""
    if not file.is_file():
        return {}
    states: dict[tuple[str, int], Mapping[str, Any]] = {}
    for number, values in enumerate(
        FieldReader(file, read_json_file(file)).read_list("request_states")
    ):
        state = FieldReader(file, values, None, f"request_states[{number}]")
        instance = state.find_object("instance")
        if instance.get("perturbation"):
            continue
        name = convert_text(instance.get("id"))
        states.setdefault((name, state.find_count("train_trial_index") or 0), state.values)
    return states


def _build_sample(
    name: str, trial: int, measured: Mapping[str, float], state: Mapping[str, Any]
) -> LoggedSample:
    reader = FieldReader("", state)
    instance = FieldReader("", reader.find_object("instance"))
    result, request = reader.find_object("result"), reader.find_object("request")
    completions = result.get("completions")
    first = completions[0] if isinstance(completions, list) and completions else {}
    references = [
        convert_text(FieldReader("", each).find_object("output").get("text"))
        for each in instance.find_list("references")
        if isinstance(each, Mapping)
    ]
    right = [
        text
        for text, each in zip(references, instance.find_list("references"), strict=False)
        if isinstance(each, Mapping) and "correct" in FieldReader("", each).find_list("tags")
    ]
    prompt = convert_text(request.get("prompt"))
    error = convert_text(result.get("error")) if result.get("success") is False else ""
    tokens = {field: read_count(measured.get(key)) for key, field in _TOKENS.items()}
    return LoggedSample(
        id=name,
        epoch=trial,
        input={"input": convert_text(instance.find_object("input").get("text"))}
        | ({"choices": references} if len(references) > 1 else {}),
        reference={"target": right},
        answer=convert_text(first.get("text") if isinstance(first, Mapping) else ""),
        messages=(Message(role="user", content=prompt),) if prompt else (),
        scores={key: value for key, value in measured.items() if key not in _TOKENS},
        error=error,
        usage=Usage(**tokens),
        latency=read_seconds(result.get("request_time")) or 0.0,
    )

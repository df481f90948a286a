"""A run as records of Every Eval Ever, schema 0.3.0: one aggregate per benchmark with its samples,
under the paths that its repository asks for."""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

from evalcore import __version__
from evalcore.catalog import runs_models_here
from evalcore.errors import UsageError
from evalcore.exchange.trackers.cases import SharedCase, SharedRun, list_complete_scores
from evalcore.i18n import Note
from evalcore.intake.json_text import parse_json_or
from evalcore.records import BenchmarkSpec, Message, to_json
from evalcore.results import BenchmarkScore, Interval, MetricScore
from evalcore.store.run_folder import write_atomic

SCHEMA = "0.3.0"
Relationship = Literal["first_party", "third_party", "collaborative", "other"]
_NOT_IN_A_PATH = re.compile(r"[^A-Za-z0-9_.-]+")
_OPTIONS = {"temperature": (int, float), "top_p": (int, float), "max_tokens": (int,)}


class RecordSource(NamedTuple):
    """Who vouches for the records, and how they stand to whoever made the model."""

    organization: str = "unknown"
    relationship: Relationship = "third_party"
    url: str = ""


def write_records(run: SharedRun, out: Path, source: RecordSource) -> list[Path]:
    """Write the records below `out`; returns the files. Samples of gated data are left out.

    Raises UsageError for a control, for a run without a complete benchmark, and where nothing can
    be written.
    """
    written = []
    for key, score in list_complete_scores(run).items():
        spec = next(entry for entry in run.spec.benchmarks if entry.key == key)
        record = _build_record(run, spec, score, source)
        cases = run.cases.select(key)
        folder = Path("data", *(_plain(part) for part in (key, *_split_model(run.model))))
        digest = hashlib.sha256(record["evaluation_id"].encode()).digest()
        name = str(uuid.UUID(bytes=digest[:16], version=4))
        try:
            samples = out / folder / f"{name}_samples.jsonl"
            if not any(case.gated for case in cases if _is_scored(case)):
                rows = _SampleRows(record, cases)
                write_atomic(samples, rows)
                if rows.count:
                    record["detailed_evaluation_results"] = {
                        "format": "jsonl",
                        "file_path": samples.relative_to(out).as_posix(),
                        "hash_algorithm": "sha256",
                        "checksum": rows.digest.hexdigest(),
                        "total_rows": rows.count,
                    }
                else:
                    samples.unlink()
            written.append(out / folder / f"{name}.json")
            write_atomic(written[-1], to_json(record, ordered=False))
            written += [samples] if "detailed_evaluation_results" in record else []
        except OSError as error:
            raise UsageError(Note("export_no_write", path=out, problem=error.strerror)) from None
    return written


def _is_scored(case: SharedCase) -> bool:
    return case.verdict is not None and case.verdict.score is not None


class _SampleRows(Iterable[bytes]):
    """The lines of the scored cases, counted and hashed as they are written."""

    def __init__(self, record: dict[str, Any], cases: Iterable[SharedCase]) -> None:
        self.count, self.digest = 0, hashlib.sha256()
        self._record, self._cases = record, cases

    def __iter__(self) -> Iterator[bytes]:
        for case in filter(_is_scored, self._cases):
            line = to_json(_build_row(self._record, case), ordered=False) + b"\n"
            self.digest.update(line)
            self.count += 1
            yield line


def _plain(text: str) -> str:
    return _NOT_IN_A_PATH.sub("_", text).strip(".") or "unknown"


def _split_model(model: str) -> tuple[str, str]:
    developer, slash, name = model.rpartition("/")
    return (developer.rpartition("/")[2] or "unknown", name) if slash else ("unknown", model)


def _build_record(
    run: SharedRun, spec: BenchmarkSpec, score: BenchmarkScore, source: RecordSource
) -> dict[str, Any]:
    moment = run.summary.finished_at or run.spec.created_at
    seconds = str(int(datetime.fromisoformat(moment).timestamp()))
    model = "/".join(_split_model(run.model))
    library = next(iter(run.spec.versions.items()), ("", "unknown"))
    imported = run.spec.origin == "imported"
    runs_here = runs_models_here(run.spec.target.key)
    metadata = {
        "source_name": "Evalboard",
        "source_type": "documentation" if imported else "evaluation_run",
        "source_organization_name": source.organization,
        "evaluator_relationship": source.relationship,
        "additional_details": {"run": run.spec.run_id, "column": score.column},
    }
    return {
        "schema_version": SCHEMA,
        "evaluation_id": f"{spec.key}/{model}/{seconds}/{run.spec.run_id}",
        "evaluation_timestamp": run.spec.created_at,
        "retrieved_timestamp": seconds,
        "source_metadata": metadata
        | ({"source_organization_url": source.url} if source.url else {}),
        "eval_library": {
            "name": library[0] or "unknown" if imported else "evalboard",
            "version": library[1] if imported else __version__,
        },
        "model_info": {
            "name": run.model,
            "id": model,
            "additional_details": {
                "deployment_type": "self_deployed" if runs_here else "unknown",
                "model_availability": "open_weights" if runs_here else "unknown",
            },
        },
        "evaluation_results": _list_results(run, spec, score),
    }


def _list_results(
    run: SharedRun, spec: BenchmarkSpec, score: BenchmarkScore
) -> list[dict[str, Any]]:
    """The results by metric; where there are several, the score over all of them comes first."""
    metrics = [metric for metric in score.metrics.values() if metric.score is not None]
    results = [_build_metric_result(run, spec, metric) for metric in metrics]
    if len(metrics) == 1:
        return results
    details = {"coverage": f"{score.coverage:g}", "weights": to_json(spec.weights).decode()}
    overall = _build_result(
        run, spec, "overall", score.score or 0.0, score.interval, score.samples, details
    )
    return [overall, *results]


def _build_metric_result(
    run: SharedRun, spec: BenchmarkSpec, metric: MetricScore
) -> dict[str, Any]:
    details = {"passed": f"{metric.passed:g}", "points": f"{metric.points:g}"}
    score = metric.score or 0.0
    return _build_result(run, spec, metric.metric, score, metric.interval, metric.samples, details)


def _build_result(
    run: SharedRun,
    spec: BenchmarkSpec,
    metric: str,
    score: float,
    interval: Interval | None,
    samples: int,
    details: dict[str, str],
) -> dict[str, Any]:
    uncertainty: dict[str, Any] = {"num_samples": samples}
    if interval is not None:
        uncertainty["confidence_interval"] = {
            "lower": interval.low / 100,
            "upper": interval.high / 100,
            "confidence_level": 0.95,
            "method": "stratified bootstrap; Wilson where all samples weigh the same",
        }
    result = {
        "evaluation_result_id": f"{spec.key}/{metric}",
        "evaluation_name": spec.key,
        "source_data": {
            "dataset_name": spec.dataset,
            "source_type": "other",
            "additional_details": {"sha256": spec.dataset_hash, "scorer": spec.scorer_version},
        },
        "metric_config": {
            "metric_id": f"{spec.key}.{metric}",
            "metric_name": metric,
            "metric_unit": "proportion",
            "lower_is_better": False,
            "score_type": "continuous",
            "min_score": 0.0,
            "max_score": 1.0,
        },
        "score_details": {"score": score / 100, "details": details, "uncertainty": uncertainty},
    }
    options = {
        name: run.spec.target.options[name]
        for name, kinds in _OPTIONS.items()
        if type(run.spec.target.options.get(name)) in kinds
    }
    return result | ({"generation_config": {"generation_args": options}} if options else {})


def _build_row(record: dict[str, Any], case: SharedCase) -> dict[str, Any]:
    """One sample; its answer is the last message where there is more than one turn."""
    episode, verdict = case.episode, case.verdict
    answer = episode.answer if episode else ""
    messages = episode.messages if episode else ()
    turns = sum(message.role == "assistant" for message in messages)
    calls = sum(len(message.tool_calls) for message in messages)
    single = turns <= 1 and not calls
    reference = [to_json(case.sample.reference).decode()]
    asked = case.asked
    row: dict[str, Any] = {
        "schema_version": SCHEMA,
        "evaluation_id": record["evaluation_id"],
        "model_id": record["model_info"]["id"],
        "evaluation_name": case.benchmark,
        "evaluation_result_id": f"{case.benchmark}/{case.sample.metric}",
        "sample_id": case.sample.key,  # ids are those within a metric
        "sample_hash": hashlib.sha256(f"{asked}{reference[0]}".encode()).hexdigest(),
        "interaction_type": "single_turn" if single else "agentic" if calls else "multi_turn",
        "input": {"raw": asked, "reference": reference},
        "answer_attribution": [
            {
                "turn_idx": 0 if single else max(len(messages) - 1, 0),
                "source": "output.raw" if single else "messages[turn_idx].content",
                "extracted_value": answer,
                "extraction_method": verdict.evidence_kind if verdict else "unknown",
                "is_terminal": True,
            }
        ],
        "evaluation": {
            "score": verdict.score if verdict and verdict.score is not None else 0.0,
            "is_correct": bool(verdict and verdict.outcome == "passed"),
            "num_turns": max(turns, 1),
            "tool_calls_count": calls,
        },
        "metadata": {"epoch": str(case.epoch), "outcome": verdict.outcome if verdict else ""},
    }
    if single:
        row["output"] = {"raw": [answer]}
    else:
        row["messages"] = [_build_turn(at, each) for at, each in enumerate(messages)]
    return row | _build_usage(case)


def _build_turn(at: int, message: Message) -> dict[str, Any]:
    turn: dict[str, Any] = {"turn_idx": at, "role": message.role, "content": message.content}
    if message.reasoning:
        turn["reasoning_trace"] = message.reasoning
    if message.tool_calls:
        turn["tool_calls"] = [
            {"id": call.id, "name": call.name, "arguments": _read_arguments(call.arguments)}
            for call in message.tool_calls
        ]
    return turn | ({"tool_call_id": [message.tool_call_id]} if message.tool_call_id else {})


def _read_arguments(text: str) -> dict[str, str]:
    values = parse_json_or(text, None)
    pairs: Iterable[tuple[str, Any]] = values.items() if isinstance(values, dict) else [("", text)]
    return {
        name: value if isinstance(value, str) else to_json(value).decode() for name, value in pairs
    }


def _build_usage(case: SharedCase) -> dict[str, Any]:
    """Tokens and times, where they are known."""
    if case.episode is None:
        return {}
    usage = case.episode.usage
    known: dict[str, Any] = {}
    if usage.input_tokens is not None and usage.output_tokens is not None:
        counts = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
        counts["total_tokens"] = sum(counts.values())
        if usage.reasoning_tokens is not None:
            counts["reasoning_tokens"] = usage.reasoning_tokens
        known["token_usage"] = counts
    if case.episode.latency:
        known["performance"] = {"latency_ms": round(case.episode.latency * 1000, 3)}
    return known

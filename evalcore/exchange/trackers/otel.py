"""A run as spans of OpenTelemetry, by the conventions for generative AI: a span for the run, below
it one per case and epoch, each with an event `gen_ai.evaluation.result`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evalcore import __version__
from evalcore.errors import UsageError
from evalcore.exchange.trackers.cases import (
    SharedCase,
    SharedRun,
    flatten_scores,
    import_sdk,
    read_moment,
)
from evalcore.i18n import Note
from evalcore.records import to_json

_EXTRA = "otel"
_BATCH = 512
_TEXT = 16_384  # characters of an attribute


def open_file_exporter(path: Path) -> Any:
    """An exporter that writes a JSON object per span and line; the file is replaced."""
    export = import_sdk("opentelemetry.sdk.trace.export", _EXTRA)
    try:
        file = path.open("w", encoding="utf-8")
    except OSError as error:
        raise UsageError(Note("export_no_write", path=path, problem=error.strerror)) from None
    exporter = export.ConsoleSpanExporter(
        out=file, formatter=lambda span: span.to_json(indent=None) + "\n"
    )
    exporter.shutdown = file.close
    return exporter


def open_endpoint_exporter(endpoint: str) -> Any:
    """An exporter to a collector of OTLP over HTTP; OTEL_EXPORTER_OTLP_HEADERS has its headers."""
    otlp = import_sdk("opentelemetry.exporter.otlp.proto.http.trace_exporter", _EXTRA)
    return otlp.OTLPSpanExporter(endpoint=endpoint)


def export_spans(run: SharedRun, exporter: Any, *, texts: bool = False) -> int:
    """Send the spans of a run; returns how many. Prompts and answers go along only with `texts`.
    Equal runs have equal ids, so that a second export adds no other trace. Raises MissingDependency
    without the extra, UsageError where the exporter gives up."""
    success = import_sdk("opentelemetry.sdk.trace.export", _EXTRA).SpanExportResult.SUCCESS
    count = 0
    try:
        for spans in _record_spans(run, texts):
            if exporter.export(spans) is not success:
                raise UsageError(Note("export_spans_lost", run=run.spec.run_id))
            count += len(spans)
    finally:
        exporter.shutdown()
    return count


def _record_spans(run: SharedRun, texts: bool) -> Iterator[Any]:
    names = ("trace", "sdk.trace", "sdk.resources")
    api, sdk, resources = (import_sdk(f"opentelemetry.{name}", _EXTRA) for name in names)
    memory = import_sdk("opentelemetry.sdk.trace.export.in_memory_span_exporter", _EXTRA)
    resource = resources.Resource({"service.name": "evalboard", "service.version": __version__})
    provider = sdk.TracerProvider(
        resource=resource, id_generator=_RunIds(run.spec.run_id), shutdown_on_exit=False
    )
    recorded = memory.InMemorySpanExporter()
    provider.add_span_processor(sdk.export.SimpleSpanProcessor(recorded))
    tracer = provider.get_tracer("evalcore", __version__)
    end = start = int(read_moment(run.spec.created_at) * 1e9)
    attributes = {
        "evalboard.run.id": run.spec.run_id,
        "evalboard.run.state": run.summary.state,
        "evalboard.run.origin": run.spec.origin,
        "gen_ai.request.model": run.model,
        **{f"evalboard.{name}": n for name, n in flatten_scores(run.summary.benchmarks).items()},
    }
    name = f"evaluation {run.spec.run_id}"
    root = tracer.start_span(name, attributes=attributes, start_time=start)
    context = api.set_span_in_context(root)
    for case in run.cases:
        ended = int(read_moment(case.episode.at if case.episode else "") * 1e9) or start
        began = max(ended - int((case.episode.latency if case.episode else 0) * 1e9), 0)
        end = max(end, ended)
        shown = _drop_empty(_describe_case(run, case, shows := texts and not case.gated))
        span = tracer.start_span(f"chat {run.model}", context, attributes=shown, start_time=began)
        if verdict := case.verdict:
            result = {
                "gen_ai.evaluation.name": f"{case.benchmark}/{case.sample.metric}",
                "gen_ai.evaluation.score.label": verdict.outcome,
                "gen_ai.evaluation.score.value": verdict.score,
                "gen_ai.evaluation.explanation": verdict.note[:_TEXT] if shows else "",
            }
            span.add_event("gen_ai.evaluation.result", _drop_empty(result), ended)
        if case.episode is not None and case.episode.failure is not None:
            span.set_attribute("error.type", case.episode.failure.kind)
            span.set_status(api.Status(api.StatusCode.ERROR))
        span.end(ended)
        if len(spans := recorded.get_finished_spans()) == _BATCH:
            yield spans
            recorded.clear()
    root.end(end)
    yield recorded.get_finished_spans()


def _drop_empty(attributes: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if value not in (None, "", [""])}


class _RunIds:
    """Ids that follow from the run, one after another."""

    def __init__(self, run: str) -> None:
        self._run, self._count = run, 0

    def generate_trace_id(self) -> int:
        return int(hashlib.sha256(f"{self._run}/trace".encode()).hexdigest()[:32], 16) or 1

    def generate_span_id(self) -> int:
        self._count += 1
        return int(hashlib.sha256(f"{self._run}/{self._count}".encode()).hexdigest()[:16], 16) or 1

    def is_trace_id_random(self) -> bool:
        return False


def _describe_case(run: SharedRun, case: SharedCase, texts: bool) -> dict[str, Any]:
    episode = case.episode
    attributes: dict[str, Any] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": run.spec.target.key.partition(":")[0],
        "gen_ai.request.model": run.model,
        "gen_ai.usage.input_tokens": episode and episode.usage.input_tokens,
        "gen_ai.usage.output_tokens": episode and episode.usage.output_tokens,
        "gen_ai.response.finish_reasons": [episode.finish_reason if episode else ""],
        "evalboard.benchmark": case.benchmark,
        "evalboard.metric": case.sample.metric,
        "evalboard.sample": case.sample.id,
        "evalboard.epoch": case.epoch,
    }
    turns = (("input", "user", case.asked), ("output", "assistant", episode and episode.answer))
    for name, role, text in turns if texts else ():
        message = {"role": role, "parts": [{"type": "text", "content": (text or "")[:_TEXT]}]}
        attributes[f"gen_ai.{name}.messages"] = to_json([message]).decode()
    return attributes

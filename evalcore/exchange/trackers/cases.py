"""A run as others may read it, case by case: no key, no place of this machine, and of gated
questions no text unless the settings share them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from types import ModuleType
from typing import Any

import msgspec

from evalcore import catalog
from evalcore.access.redaction import Redactor, build_redactor, redact_spec, redact_summary
from evalcore.errors import MissingDependency, UsageError
from evalcore.exchange.report_data import iter_case_rounds
from evalcore.i18n import Note
from evalcore.records import Episode, Message, Record, RunSpec, Sample, Verdict, to_json
from evalcore.results import BenchmarkScore, RunSummary
from evalcore.settings import Settings
from evalcore.store.run_folder import RunFolder
from evalcore.views.cases import bare_episode, bare_sample, bare_verdict, is_gated


class SharedCase(Record, frozen=True):
    """One sample in one epoch; `gated` where its texts were left out."""

    benchmark: str
    sample: Sample
    epoch: int
    episode: Episode | None
    verdict: Verdict | None
    gated: bool = False

    @property
    def asked(self) -> str:
        """What the target was asked first, else what the sample holds."""
        messages = self.episode.messages if self.episode else ()
        said = (message.content for message in messages if message.role == "user")
        return next((text for text in said if text), "") or to_json(self.sample.input).decode()


class SharedCases(Iterable[SharedCase]):
    """The cases of a run, or of one benchmark of it, read anew each time: none stays in memory."""

    def __init__(
        self,
        folder: RunFolder,
        spec: RunSpec,
        scoring: str,
        settings: Settings,
        benchmark: str = "",
    ) -> None:
        self._folder, self._spec, self._scoring = folder, spec, scoring
        self._settings, self._benchmark = settings, benchmark

    def __iter__(self) -> Iterator[SharedCase]:
        redactor, shows_gated = build_redactor(self._settings), self._settings.show_gated
        cases = iter_case_rounds(self._folder, self._spec, self._scoring, self._benchmark)
        for stored, rounds in cases:
            hidden = is_gated(stored.sample) and not shows_gated
            sample = bare_sample(stored.sample) if hidden else stored.sample
            for epoch, (episode, verdict) in enumerate(rounds):
                yield _share_case(
                    SharedCase(stored.benchmark, sample, epoch, episode, verdict, hidden), redactor
                )

    def select(self, benchmark: str) -> SharedCases:
        """Those of one benchmark."""
        return SharedCases(self._folder, self._spec, self._scoring, self._settings, benchmark)


class SharedRun(Record, frozen=True):
    """A run whose texts may leave this machine."""

    spec: RunSpec
    summary: RunSummary
    cases: SharedCases

    @property
    def model(self) -> str:
        """What was evaluated, without the prefix of its kind."""
        return self.spec.target.key.partition(":")[2] or self.spec.target.key


def read_shared_run(folder: RunFolder, settings: Settings) -> SharedRun:
    """Read a scored run. Raises UsageError where it has no scores yet, RunFolderError where a file
    of it cannot be read."""
    summary, spec = folder.read_summary(), folder.read_spec()
    if summary is None:
        raise UsageError(Note("export_no_scores", run=folder.run_id))
    redactor = build_redactor(settings)
    redacted = redact_spec(spec, redactor)
    cases = SharedCases(folder, spec, summary.scoring, settings)
    return SharedRun(redacted, redact_summary(summary, redacted), cases)


def _share_case(case: SharedCase, redactor: Redactor) -> SharedCase:
    """A case without what must stay here."""
    episode, verdict = case.episode, case.verdict
    if case.gated:
        episode = episode and bare_episode(episode)
        verdict = verdict and bare_verdict(verdict)
    elif verdict:
        verdict = verdict.with_note(redactor.redact_text)
    episode = episode and _redact_episode(episode, redactor)
    return msgspec.structs.replace(case, episode=episode, verdict=verdict)


def _redact_episode(episode: Episode, redactor: Redactor) -> Episode:
    failure = episode.failure
    return msgspec.structs.replace(
        episode,
        answer=redactor.redact_line(episode.answer),
        messages=tuple(_redact_message(message, redactor) for message in episode.messages),
        failure=failure and failure.with_message(redactor.redact_text),
    )


def _redact_message(message: Message, redactor: Redactor) -> Message:
    return msgspec.structs.replace(
        message,
        content=redactor.redact_line(message.content),
        reasoning=redactor.redact_line(message.reasoning),
        tool_calls=tuple(
            msgspec.structs.replace(call, arguments=redactor.redact_line(call.arguments))
            for call in message.tool_calls
        ),
    )


def list_complete_scores(run: SharedRun) -> dict[str, BenchmarkScore]:
    """The scores that are results. Raises UsageError for a control, and for a run none of whose
    benchmarks is complete."""
    if run.spec.target.key.startswith(f"{catalog.CONTROL_KIND}:"):
        raise UsageError(Note("export_control", run=run.spec.run_id, target=run.spec.target.key))
    complete = {
        key: score
        for key, score in run.summary.benchmarks.items()
        if score.complete and score.score is not None
    }
    if not complete:
        raise UsageError(Note("export_incomplete", run=run.spec.run_id))
    return complete


def flatten_scores(scores: Mapping[str, BenchmarkScore]) -> dict[str, float]:
    """Numbers by name, as trackers draw them: the score of a benchmark with its bounds, and those
    of its metrics."""
    numbers: dict[str, float | None] = {}
    for key, score in scores.items():
        numbers[f"{key}/score"] = score.score
        numbers[f"{key}/coverage"] = score.coverage
        if score.interval:
            bounds = {"low": score.interval.low, "high": score.interval.high}
            numbers |= {f"{key}/score_{side}": bound for side, bound in bounds.items()}
        metrics = score.metrics.items()
        numbers |= {f"{key}/metrics/{name}": metric.score for name, metric in metrics}
    return {name: n for name, n in numbers.items() if n is not None and math.isfinite(n)}


CASE_COLUMNS = (
    *("benchmark", "metric", "id", "epoch", "outcome", "score", "answer", "note"),
    *("input_tokens", "output_tokens", "latency"),
)


def list_case_row(case: SharedCase) -> list[Any]:
    """The values of a case under CASE_COLUMNS."""
    episode, verdict = case.episode, case.verdict
    return [
        case.benchmark,
        case.sample.metric,
        case.sample.id,
        case.epoch,
        verdict.outcome if verdict else "missing",
        verdict.score if verdict else None,
        episode.answer if episode else "",
        verdict.note if verdict else "",
        episode.usage.input_tokens if episode else None,
        episode.usage.output_tokens if episode else None,
        episode.latency if episode else None,
    ]


def read_moment(text: str) -> float:
    """Seconds since 1970 of an ISO 8601 time, 0 where there is none."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return 0.0


def import_sdk(module: str, extra: str) -> ModuleType:
    """The module of an optional library. Raises MissingDependency with the command that installs
    it."""
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError as error:
        raise MissingDependency(Note("export_sdk", extra=extra, problem=error)) from None

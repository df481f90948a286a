"""What reports say of a run, as records; and its summary as JSON and as a few lines for people."""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from statistics import fmean
from typing import Any

import msgspec

from evalcore import catalog
from evalcore.errors import UsageError
from evalcore.i18n import DEFAULT, Note, lookup_text, t, t_count, translate_note
from evalcore.records import MEASURED, BenchmarkSpec, Episode, Record, RunSpec, Verdict
from evalcore.results import BenchmarkScore, RunSummary
from evalcore.store.case_index import CaseIndex
from evalcore.store.cases import read_case_rounds
from evalcore.store.run_folder import RunFolder, StoredSample
from evalcore.views.seals import SealStatus, check_seal

# What a report says of a run, read from its folder: scores, and every case with its answer.
# Nothing that was not executed counts as passed, and of gated questions no answer is shown unless
# the reader is told to.

MISSING = "missing"  # the outcome of a case without a verdict
NOT_EXECUTED = "not_executed"
UNUSABLE = "unusable_task"  # the reason that SWE-bench gives; its module takes long to import
REDACTED = "(gated: not shown)"
Round = tuple[Episode | None, Verdict | None]  # of an epoch, None where nothing is journaled
ERRORS = frozenset({"target_error", "judge_error", "environment_error", MISSING})


class ReportCase(Record, frozen=True):
    """One case in one epoch. `score` is 0 to 1, None where unmeasured; `latency` in seconds;
    `gated` questions are not to be shared; `weight` is that of the case within its metric;
    `level` says what an equivalence rests on: proved, tested, or "" where there is none;
    `call_reading` how its calls were read, "" without any."""

    metric: str
    id: str
    epoch: int
    difficulty: int
    weight: float
    outcome: str
    score: float | None
    evidence_kind: str
    reason: str
    note: str
    prediction: str
    latency: float | None
    gated: bool = False
    level: str = ""
    call_reading: str = ""

    @property
    def passed(self) -> bool:
        return self.outcome == "passed"

    @property
    def resolved(self) -> bool | None:
        """Whether what was executed resolved the case; None where nothing was."""
        return {"passed": True, "failed": False}.get(self.outcome)


class CaseCounts(Record, frozen=True):
    """What is counted of the cases of a benchmark, those that cannot be used here aside: they count
    neither for nor against."""

    total: int = 0
    passed: int = 0
    not_executed: int = 0
    errors: int = 0
    unusable: int = 0
    measured: int = 0
    latency: float | None = None
    call_readings: dict[str, int] = {}


class ReportCases(Iterable[ReportCase]):
    """The cases of a benchmark, read anew each time: none of them stays in memory. `shown` is what
    becomes of a case before it is shown."""

    def __init__(
        self, index: CaseIndex, spec: BenchmarkSpec, shown: Callable[[ReportCase], ReportCase]
    ) -> None:
        self._index, self._spec, self._shown = index, spec, shown

    def __iter__(self) -> Iterator[ReportCase]:
        for group in self.iterate_groups():
            yield from group

    def iterate_groups(self) -> Iterator[list[ReportCase]]:
        """The cases, all epochs of one together."""
        for stored, rounds in read_case_rounds(self._index, self._spec.key):
            (sample,) = self._spec.apply_weights([stored.sample])
            weighed = StoredSample(stored.benchmark, sample)
            yield [
                self._shown(_build_report_case(weighed, epoch, verdict, episode))
                for epoch, (episode, verdict) in enumerate(rounds)
            ]

    def change(self, change: Callable[[ReportCase], ReportCase]) -> ReportCases:
        """The same cases with a change made to each."""
        shown = self._shown
        return ReportCases(self._index, self._spec, lambda case: change(shown(case)))

    def count(self) -> CaseCounts:
        outcomes, readings = Counter[str](), Counter[str]()
        unusable, latencies = 0, array("d")
        for group in self.iterate_groups():
            readings.update(case.call_reading for case in group if case.call_reading)
            latencies.extend(case.latency for case in group if case.latency is not None)
            if any(case.reason == UNUSABLE for case in group):
                unusable += len(group)
            else:
                outcomes.update(case.outcome for case in group)
        return CaseCounts(
            total=outcomes.total(),
            passed=outcomes["passed"],
            not_executed=outcomes[NOT_EXECUTED],
            errors=sum(outcomes[kind] for kind in ERRORS),
            unusable=unusable,
            measured=sum(outcomes[kind] for kind in MEASURED),
            latency=fmean(latencies) if latencies else None,
            call_readings=dict(readings),
        )


class BenchmarkReport(Record, frozen=True):
    """One benchmark of a run: `score` is ours, `counts` and `pass_rate` are plain."""

    spec: BenchmarkSpec
    score: BenchmarkScore
    counts: CaseCounts
    cases: ReportCases

    @property
    def pass_rate(self) -> float | None:
        """passed / total, 0 to 1, neither weighted nor thinned out; None where nothing was
        measured. Cases are declared ones times epochs."""
        return self.counts.passed / self.counts.total if self.counts.measured else None


class RunReport(Record, frozen=True):
    """A run with its benchmarks, in the order of its spec, and its seal, None without one."""

    spec: RunSpec
    summary: RunSummary
    benchmarks: tuple[BenchmarkReport, ...]
    seal: SealStatus | None = None

    @property
    def pass_rate(self) -> float | None:
        """The mean of the plain rates of the benchmarks that ran, 0 to 1; None where none did."""
        rates = [b.pass_rate for b in self.benchmarks if b.pass_rate is not None]
        return fmean(rates) if rates else None

    @property
    def missing_benchmarks(self) -> tuple[str, ...]:
        """The benchmarks of the suite that `pass_rate` says nothing about, since they did not
        run."""
        suites = {benchmark.suite for benchmark in self.spec.benchmarks}
        ran = {b.spec.key for b in self.benchmarks if b.pass_rate is not None}
        cards = [card for key, card in catalog.suite_cards().items() if key in suites]
        suite = [key for card in cards for members in card.memberships[-1:] for key in members]
        declared = [benchmark.key for benchmark in self.spec.benchmarks]
        return tuple(key for key in dict.fromkeys([*suite, *declared]) if key not in ran)


def is_unexecuted(score: BenchmarkScore) -> bool:
    """Whether none of the cases was executed, so that the score says nothing."""
    return set(score.outcomes) == {NOT_EXECUTED}


@contextmanager
def open_run_report(folder: RunFolder, *, show_gated: bool = False) -> Iterator[RunReport]:
    """The report of a run that has been scored; answers to gated questions only if it is said so.
    Raises UsageError where it has not, RunFolderError where a file of it cannot be read."""
    spec, summary = folder.read_spec(), folder.read_summary()
    if summary is None:
        raise UsageError(Note("export_no_scores", run=folder.run_id))

    def hide(case: ReportCase) -> ReportCase:
        hidden = ("prediction", "note") if case.gated and not show_gated else ()
        texts = {name: REDACTED for name in hidden if getattr(case, name)}
        return msgspec.structs.replace(case, **texts)

    with CaseIndex.load(folder, summary.scoring, spec.epochs) as index:
        reports = []
        for declared in spec.benchmarks:
            if declared.key in summary.benchmarks:
                cases = ReportCases(index, declared, hide)
                score = summary.benchmarks[declared.key]
                reports.append(BenchmarkReport(declared, score, cases.count(), cases))
        yield RunReport(spec, summary, tuple(reports), check_seal(folder))


def iter_case_rounds(
    folder: RunFolder, spec: RunSpec, scoring: str, benchmark: str = ""
) -> Iterator[tuple[StoredSample, list[Round]]]:
    """Every declared case with the weights of the spec, and its rounds by epoch; of several
    verdicts or episodes the last counts. One case at a time is in memory."""
    specs = {benchmark_spec.key: benchmark_spec for benchmark_spec in spec.benchmarks}
    with CaseIndex.load(folder, scoring, spec.epochs) as index:
        for stored, rounds in read_case_rounds(index, benchmark):
            (sample,) = specs[stored.benchmark].apply_weights([stored.sample])
            yield StoredSample(stored.benchmark, sample), rounds


def _build_report_case(
    stored: StoredSample, epoch: int, verdict: Verdict | None, episode: Episode | None
) -> ReportCase:
    sample = stored.sample
    return ReportCase(
        metric=sample.metric,
        id=sample.id,
        epoch=epoch,
        difficulty=sample.difficulty,
        weight=float(sample.difficulty) if sample.weight is None else sample.weight,
        outcome=verdict.outcome if verdict else MISSING,
        score=verdict.score if verdict else None,
        evidence_kind=verdict.evidence_kind if verdict else "",
        reason=verdict.reason if verdict else "",
        note=verdict.note if verdict else "",
        prediction=_extract_prediction(stored.benchmark, episode) if episode else "",
        latency=episode.latency if episode else None,
        gated=bool(sample.meta.get("gated")),
        level=str(verdict.details.get("equivalence_level", "")) if verdict else "",
        call_reading=str(verdict.details.get("call_reading", "")) if verdict else "",
    )


def _extract_prediction(benchmark: str, episode: Episode) -> str:
    """What was scored: an agent submits it apart from what it says."""
    card = catalog.benchmark_cards().get(benchmark)
    submitted = episode.state.get(card.submission if card else "", episode.answer)
    return submitted if isinstance(submitted, str) else json.dumps(submitted, ensure_ascii=False)


# The result of a run as one JSON object for machines, and as a few lines for people.


def summary_to_dict(summary: RunSummary) -> dict[str, Any]:
    """The object that `run --json` and `show --json` print; scores are 0 to 100, null where nothing
    was measured."""
    return {
        "run_id": summary.run_id,
        "target": summary.target.identity,
        "complete": summary.is_complete,
        "benchmarks": {key: _score_to_dict(score) for key, score in summary.benchmarks.items()},
    }


def _score_to_dict(score: BenchmarkScore) -> dict[str, Any]:
    interval = score.interval
    return {
        "score": score.score,
        "interval": [interval.low, interval.high] if interval else None,
        "coverage": score.coverage,
        "metrics": {
            key: {"score": metric.score, "samples": metric.samples}
            for key, metric in score.metrics.items()
        },
        "outcomes": score.outcomes,
    }


def format_progress(
    outcomes: Mapping[str, int],
    rate: float | None,
    cost: float | None,
    *,
    errors: Mapping[str, int] = {},
    language: str = DEFAULT,
) -> str:
    """What a bar says after its times: cases of each outcome, cases per second, USD so far, and
    failed requests by kind."""
    parts = [f"{count} {_name_outcome(name, language)}" for name, count in outcomes.items()]
    parts += [f"{rate:.1f}/s"] if rate else []
    parts += [f"${cost:.2f}"] if cost else []
    if errors:
        kinds = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in errors.items())
        parts.append(t("cli.run.failed_requests", language, kinds=kinds))
    return ", ".join(parts)


def _name_outcome(outcome: str, language: str) -> str:
    name = lookup_text(f"common.outcome.{outcome}", language) or outcome
    return name.lower()


def format_run_summary(summary: RunSummary, language: str = DEFAULT) -> str:
    """The result of a run for people, in their language."""

    def say(name: str, **values: Any) -> str:
        return t(f"cli.summary.{name}", language, **values)

    def say_note(text: str) -> str:
        return translate_note(text, language, in_terminal=True)

    state = t(f"common.state.{summary.state}", language).lower()
    lines = [say("run", run=summary.run_id, target=summary.target.identity, state=state)]
    if summary.message:
        lines.append(say("stopped", reason=say_note(summary.message)))
    totals = summary.totals
    if totals.first_token_p50 is not None:
        waits = [say("first_token", seconds=f"{totals.first_token_p50:.2f}")]
        if totals.tokens_per_second is not None:
            waits.append(say("token_rate", rate=f"{totals.tokens_per_second:.0f}"))
        if totals.queue_p50 is not None:
            waits.append(say("queued", seconds=f"{totals.queue_p50:.2f}"))
        lines.append(say("medians", values=", ".join(waits)))
    if summary.tool_refusal:
        lines.append(say("tool_refusal", reason=say_note(summary.tool_refusal)))
    if summary.api_change:
        lines.append(say("api_change", reason=say_note(summary.api_change)))
    for key, score in summary.benchmarks.items():
        interval = score.interval
        between = f" [{interval.low:.1f}, {interval.high:.1f}]" if interval else ""
        partly = "" if score.complete else f"  ({say('partly', share=f'{score.coverage:.0%}')})"
        shown = f"{_format_score_column(score.score)}{between}"
        shown = f"{'n/e':>6}" if is_unexecuted(score) else shown
        lines.append(f"{key:<28}{shown}{partly}")
        for name, metric in score.metrics.items():
            counted = t_count("cli.summary.samples", language, metric.samples)
            lines.append(f"  {name:<26}{_format_score_column(metric.score)}  {counted}")
        for name, value in score.views.items():
            lines.append(f"  {say('view', view=name):<26}{value:6.1f}")
        if score.repeats:
            lines.append(f"  {say('repeats', repeats=score.repeats)}")
        lines.append(
            "  " + ", ".join(f"{_name_outcome(n, language)} {c}" for n, c in score.outcomes.items())
        )
    return "\n".join(lines)


def _format_score_column(score: float | None) -> str:
    return "   -- " if score is None else f"{score:6.1f}"

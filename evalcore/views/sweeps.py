"""What a sweep shows: the score of each variant, the best of them by paired tests, and what a
lower precision costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import pandas as pd

from evalcore.errors import EvalboardError
from evalcore.i18n import DEFAULT, name_term, t, translate_note
from evalcore.intake import read_count, read_number
from evalcore.plain_text import NOT_RUN, align_columns, format_signed
from evalcore.records import Record
from evalcore.results import BenchmarkScore, Interval, RunSummary
from evalcore.scoring.intervals import PairedResult
from evalcore.settings import Settings
from evalcore.single_flight import SingleFlightCache
from evalcore.store.run_folder import RunFolder, find_run
from evalcore.store.sweeps import Sweep, Variant, find_run_sweep
from evalcore.views.case_points import case_scores
from evalcore.views.comparison import compare_run_pair, pivot_case_scores
from evalcore.views.target_scores import count_call_readings, lost_to_format

#: Below this p, two variants are told apart.
_SIGNIFICANT = 0.05
_GB = 1e9


class SweepRow(Record, frozen=True):
    """A variant on one benchmark. Scores are 0 to 100, None where nothing was measured; `change` is
    against the first variant. `peak_bytes` is the most memory that the process held, `joules` the
    energy of the machine for one passed case. Of `call_cases` with calls nobody could read those of
    `lost_cases`; `lost_points` are those that right answers in another form would have had, None
    where no reading tells."""

    label: str
    run_id: str
    benchmark: str
    state: str
    step: int | None = None
    score: float | None = None
    low: float | None = None
    high: float | None = None
    change: PairedResult | None = None
    peak_bytes: int | None = None
    tokens_per_second: float | None = None
    joules: float | None = None
    complete: bool = False
    call_cases: int = 0
    lost_cases: int = 0
    lost_points: float | None = None


class PrecisionCost(Record, frozen=True):
    """What a lower precision does to a model: `change` of the score, shares of memory and speed."""

    benchmark: str
    label: str
    reference: str
    change: PairedResult
    memory: float | None = None
    speed: float | None = None


class BestVariant(Record, frozen=True):
    """The variant with the highest score, and those that a paired test does not tell from it."""

    benchmark: str
    label: str
    ties: tuple[str, ...] = ()


class SweepReport(Record, frozen=True):
    """All that a sweep shows; `problems` say, by label, why a variant has no score."""

    id: str
    rows: tuple[SweepRow, ...]
    best: tuple[BestVariant, ...] = ()
    precision: tuple[PrecisionCost, ...] = ()
    problems: dict[str, str] = {}


#: By the state of the folders: a page may be drawn every second.
_reports: SingleFlightCache[SweepReport] = SingleFlightCache(16)


def find_sweep_report(run_id: str, settings: Settings) -> SweepReport | None:
    """The report of the newest sweep that a run belongs to, None where it belongs to none."""
    sweep = find_run_sweep(run_id, settings)
    if sweep is None:
        return None
    state = tuple(_read_run_signature(variant.run_id, settings) for variant in sweep.variants)
    return _reports.get((sweep.id, state), lambda: build_sweep_report(sweep, settings))


def _read_run_signature(run_id: str, settings: Settings) -> str:
    try:
        return find_run(run_id, settings.run_roots).signature()
    except EvalboardError:
        return ""


def build_sweep_report(sweep: Sweep, settings: Settings) -> SweepReport:
    """The report of the variants that have a result by now."""
    folders: dict[str, RunFolder] = {}
    summaries: dict[str, RunSummary] = {}
    problems: dict[str, str] = {}
    for variant in sweep.variants:
        try:
            folders[variant.run_id] = folder = find_run(variant.run_id, settings.run_roots)
            summary = folder.read_summary()
            progress = folder.readable_progress()
        except EvalboardError as error:
            problems[variant.label] = str(error)
            continue
        if summary is not None:
            summaries[variant.run_id] = summary
        if (summary is None or not summary.is_complete) and progress and progress.message:
            problems[variant.label] = progress.message
    scored = [variant for variant in sweep.variants if variant.run_id in summaries]
    benchmarks = dict.fromkeys(key for run in summaries.values() for key in run.benchmarks)
    scores = case_scores([folders[variant.run_id] for variant in scored])
    report = SweepReport(sweep.id, (), problems=problems)
    for benchmark in benchmarks:
        own = [v for v in scored if benchmark in summaries[v.run_id].benchmarks]
        pairs = _PairTests(benchmark, scores, summaries, own)
        rows = [
            _add_format_cost(
                _build_row(v, benchmark, summaries[v.run_id], folders[v.run_id]),
                summaries[v.run_id].benchmarks[benchmark],
                settings,
            )
            for v in own
        ]
        rows = [
            msgspec.structs.replace(row, change=pairs.compare(own[0].run_id, row.run_id))
            for row in rows
        ]
        best = _find_best(rows, pairs)
        report = msgspec.structs.replace(
            report,
            rows=(*report.rows, *rows),
            best=(*report.best, *([best] if best else [])),
            precision=(*report.precision, *_find_precision_costs(own, rows, pairs)),
        )
    return report


class _PairTests:
    """Paired results of two runs on the cases of one benchmark that both were asked."""

    def __init__(
        self,
        benchmark: str,
        scores: pd.DataFrame,
        summaries: Mapping[str, RunSummary],
        variants: Iterable[Variant],
    ) -> None:
        self.benchmark = benchmark
        self._scores = scores[scores["benchmark"] == benchmark]
        self._columns = {
            variant.run_id: summaries[variant.run_id].benchmarks[benchmark].column
            for variant in variants
        }

    def compare(self, base: str, other: str) -> PairedResult | None:
        """The second run against the first, None for one run and for runs of other columns."""
        if base == other or self._columns[base] != self._columns[other]:
            return None
        cases = pivot_case_scores(self._scores, {base: "first", other: "second"})
        return compare_run_pair(self.benchmark, cases).result


def _build_row(
    variant: Variant, benchmark: str, summary: RunSummary, folder: RunFolder
) -> SweepRow:
    score: BenchmarkScore = summary.benchmarks[benchmark]
    interval = score.interval or Interval(low=float("nan"), high=float("nan"))
    bounded = score.interval is not None
    card = _read_card(folder)
    loading = read_number(card.get("load_seconds")) or 0.0
    tokens, working = summary.totals.output_tokens, summary.totals.wall - loading
    passed = sum(each.outcomes.get("passed", 0) for each in summary.benchmarks.values())
    joules = summary.totals.joules
    return SweepRow(
        label=variant.label,
        run_id=variant.run_id,
        benchmark=benchmark,
        state=summary.state,
        step=variant.step,
        score=score.score,
        low=interval.low if bounded else None,
        high=interval.high if bounded else None,
        peak_bytes=read_count(card.get("peak_bytes") or card.get("process_bytes")),
        tokens_per_second=tokens / working if tokens and working > 0 else None,
        joules=joules / passed if joules is not None and passed else None,
        complete=score.complete,
    )


def _add_format_cost(row: SweepRow, score: BenchmarkScore, settings: Settings) -> SweepRow:
    """The row, with how its calls were read and the points that their form cost."""
    try:
        counts = count_call_readings(settings.run_roots, row.run_id, row.benchmark)
    except EvalboardError:
        counts = {}
    return msgspec.structs.replace(
        row,
        call_cases=sum(counts.values()),
        lost_cases=counts.get("lost", 0),
        lost_points=None if score.score is None else lost_to_format(score.views),
    )


def _read_card(folder: RunFolder) -> dict[str, Any]:
    try:
        return folder.read_card()
    except EvalboardError:
        return {}


def _find_best(rows: Sequence[SweepRow], pairs: _PairTests) -> BestVariant | None:
    """The highest score of the complete runs, with those that are not significantly lower by
    paired tests, Holm's correction applied."""
    ranked = sorted(
        (row for row in rows if row.complete and row.score is not None),
        key=lambda row: row.score or 0.0,
        reverse=True,
    )
    if len(ranked) < 2:
        return None
    top, others = ranked[0], ranked[1:]
    tested = {row.label: pairs.compare(row.run_id, top.run_id) for row in others}
    p_values = {label: result.p for label, result in tested.items() if result is not None}
    lower: set[str] = set()
    for position, (label, p) in enumerate(sorted(p_values.items(), key=lambda item: item[1])):
        if p * (len(p_values) - position) >= _SIGNIFICANT:
            break
        lower.add(label)
    ties = tuple(row.label for row in others if row.label in p_values.keys() - lower)
    return BestVariant(pairs.benchmark, top.label, ties)


def _find_precision_costs(
    variants: Sequence[Variant], rows: Sequence[SweepRow], pairs: _PairTests
) -> list[PrecisionCost]:
    """Every variant against the first that differs from it in its precision alone."""
    costs = []
    by_run = {row.run_id: row for row in rows}
    references: dict[tuple[str, str], Variant] = {}
    for variant in variants:
        others = {name: v for name, v in variant.target.options.items() if name != "dtype"}
        reference = references.setdefault(
            (variant.target.key, repr(sorted(others.items()))), variant
        )
        change = pairs.compare(reference.run_id, variant.run_id)
        if change is None:
            continue
        own, base = by_run[variant.run_id], by_run[reference.run_id]
        costs.append(
            PrecisionCost(
                pairs.benchmark,
                variant.label,
                reference.label,
                change,
                memory=_divide(own.peak_bytes, base.peak_bytes),
                speed=_divide(own.tokens_per_second, base.tokens_per_second),
            )
        )
    return costs


def _divide(own: float | None, base: float | None) -> float | None:
    return own / base if own is not None and base else None


def build_sweep_frame(report: SweepReport) -> pd.DataFrame:
    """For the chart: name, series, step, score, low, high; a name holds its benchmark where there
    are several."""
    several = len({row.benchmark for row in report.rows}) > 1
    records = [
        {
            "name": f"{row.label} · {row.benchmark}" if several else row.label,
            "series": row.benchmark,
            "step": row.step,
            "score": row.score,
            "low": row.low,
            "high": row.high,
        }
        for row in report.rows
    ]
    columns = ["name", "series", "step", "score", "low", "high"]
    return pd.DataFrame(records, columns=columns)


def format_sweep_report(report: SweepReport, language: str = DEFAULT) -> str:
    """The report as text for a terminal."""
    names = ("", "score", "95% interval", "vs. first", "p", "peak GB", "tokens/s", "J/passed")
    head = [name_term(name, language) for name in names]
    lines: list[str] = []
    for benchmark in dict.fromkeys(row.benchmark for row in report.rows):
        rows = [row for row in report.rows if row.benchmark == benchmark]
        lines += [benchmark, align_columns([head, *map(_format_row, rows)])]
        lines += _format_calls_read(rows, language)
        for best in (each for each in report.best if each.benchmark == benchmark):
            tied = t("cli.sweep.tied", language, names=", ".join(best.ties)) if best.ties else ""
            lines.append(t("cli.sweep.best", language, label=best.label) + tied)
        for cost in (each for each in report.precision if each.benchmark == benchmark):
            lines.append(_format_precision_cost(cost, language))
    lines += [f"{name}: {translate_note(why, language)}" for name, why in report.problems.items()]
    return "\n".join(lines)


def _format_row(row: SweepRow) -> tuple[str, ...]:
    interval = "" if row.low is None or row.high is None else f"[{row.low:.1f}, {row.high:.1f}]"
    change = row.change
    return (
        row.label,
        NOT_RUN if row.score is None else f"{row.score:.1f}" + ("" if row.complete else "*"),
        interval,
        "" if change is None or change.difference is None else format_signed(change.difference),
        "" if change is None else f"{change.p:.2g}",
        NOT_RUN if row.peak_bytes is None else f"{row.peak_bytes / _GB:.2f}",
        NOT_RUN if row.tokens_per_second is None else f"{row.tokens_per_second:,.0f}",
        NOT_RUN if row.joules is None else f"{row.joules:.3g}",
    )


def _format_calls_read(rows: Sequence[SweepRow], language: str) -> list[str]:
    """What the format of calls cost each variant; nothing where no case had any."""
    if not any(row.call_cases or row.lost_points is not None for row in rows):
        return []
    lines = [[name_term(name, language) for name in ("calls", "lost to format", "points lost")]]
    for row in rows:
        lost = f"{row.lost_cases} / {row.call_cases}" if row.call_cases else NOT_RUN
        points = NOT_RUN if row.lost_points is None else f"{row.lost_points:.1f}"
        lines.append([row.label, lost, points])
    return [align_columns(lines)]


def _format_precision_cost(cost: PrecisionCost, language: str) -> str:
    change = cost.change
    words = [t("cli.sweep.instead", language, label=cost.label, reference=cost.reference)]
    if change.difference is not None:
        words.append(f"{format_signed(change.difference)} {name_term('points', language)}")
    if change.interval is not None:
        low, high = map(format_signed, (change.interval.low, change.interval.high))
        words.append(f"[{low}, {high}]")
    words.append(f"p {change.p:.2g}")
    if cost.memory is not None:
        words.append(t("cli.sweep.memory", language, share=f"{cost.memory:.0%}"))
    if cost.speed is not None:
        words.append(t("cli.sweep.speed", language, share=f"{cost.speed:.0%}"))
    return " ".join(words)

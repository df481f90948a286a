"""Whether a run may pass a gate: not worse than a base by more than a margin, not below a score.

A bound decides only where its 95% interval does. A drop is measured on the cases of both runs,
paired (non-inferiority: the whole interval above -`max_drop` passes, the whole interval below it
fails). Between the two nothing is decided, and the gate says how many more cases would decide it if
the estimate stayed, by Wilson's formula: a bound b of n cases around p holds (p - b)^2 = z^2 b (1 -
b) / n (E. B. Wilson, JASA 22, 1927).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from evalcore.errors import UsageError
from evalcore.i18n import Note
from evalcore.records import Record
from evalcore.results import BenchmarkScore, Interval, RunSummary
from evalcore.store.run_folder import RunFolder, find_run
from evalcore.views.comparison import compare_run_pair, find_differing_cases, load_common_cases

GateState = Literal["passed", "failed", "inconclusive"]
FLIPS = 50  # cases listed of each direction


class GateRules(Record, frozen=True):
    """What a run has to hold: at most `max_drop` points below the run `against`, at least
    `min_score` (0 to 100) on every benchmark; None and "" ask nothing."""

    against: str = ""
    max_drop: float = 0.0
    min_score: float | None = None


class GateCheck(Record, frozen=True):
    """One bound on one benchmark. `estimate` and its interval are points: the difference to the
    base for `max_drop`, the score for `min_score`; `cases` were counted, `needed` are how many more
    would decide it (None: no number would, or it is decided). `reason` says why nothing could be
    measured."""

    benchmark: str
    rule: Literal["max_drop", "min_score"]
    state: GateState
    bound: float
    estimate: float | None
    interval: Interval | None
    cases: int
    needed: int | None = None
    reason: str = ""


class FlippedCase(Record, frozen=True):
    """A case on which the runs differ; scores 0 to 1, `change` is the run minus the base."""

    benchmark: str
    metric: str
    id: str
    before: float
    after: float
    change: float


class GateReport(Record, frozen=True):
    """The outcome of a gate: failed where any check failed, else inconclusive where any is."""

    run: str
    target: str
    rules: GateRules
    state: GateState
    checks: tuple[GateCheck, ...]
    lost: tuple[FlippedCase, ...] = ()
    gained: tuple[FlippedCase, ...] = ()
    lost_count: int = 0
    gained_count: int = 0


def check_gate(roots: Sequence[Path], run: str, rules: GateRules) -> GateReport:
    """Check a run. Raises UsageError for rules that ask nothing or make no sense, for an unknown
    run, and where the two runs have no benchmark that was asked and scored by the same rules."""
    _check_rules(rules)
    if run == rules.against:
        raise UsageError(Note("cli_gate_itself", run=run))
    folder = find_run(run, roots)
    summary = _read_summary(folder)
    checks: list[GateCheck] = []
    cases = pd.DataFrame()
    if rules.min_score is not None:
        checks += [check_score(score, rules.min_score) for score in summary.benchmarks.values()]
    if rules.against:
        base = _read_summary(find_run(rules.against, roots))
        cases = load_common_cases(roots, rules.against, run)
        checks += _check_drops(cases, summary, base, rules)
    flips = [FlippedCase(**row) for row in _list_differing_cases(cases)]
    lost = [flip for flip in flips if flip.change < 0]
    gained = [flip for flip in flips if flip.change > 0]
    return GateReport(
        run=folder.run_id,
        target=summary.target.identity,
        rules=rules,
        state=_join_states(checks),
        checks=tuple(checks),
        lost=tuple(lost[:FLIPS]),
        gained=tuple(gained[:FLIPS]),
        lost_count=len(lost),
        gained_count=len(gained),
    )


def _list_differing_cases(cases: pd.DataFrame) -> list[dict[str, Any]]:
    """The cases that flipped, those that weigh most first, as fields of `FlippedCase`."""
    if not len(cases):
        return []
    table = find_differing_cases(cases).rename(columns={"first": "before", "second": "after"})
    names = FlippedCase.__struct_fields__
    return [dict(zip(names, row, strict=True)) for row in table[list(names)].to_numpy().tolist()]


def check_drop(
    benchmark: str, difference: float | None, interval: Interval | None, cases: int, max_drop: float
) -> GateCheck:
    """The check of a paired difference (run minus base, in points) on `cases` cases."""
    state, needed = _decide(difference, interval, cases, -max_drop, -100)
    return GateCheck(benchmark, "max_drop", state, max_drop, difference, interval, cases, needed)


def check_score(score: BenchmarkScore, min_score: float) -> GateCheck:
    """The check of a score; one that is incomplete decides nothing."""
    missing = _describe_gap(score)
    state, needed = _decide(score.score, score.interval, score.samples, min_score, 0)
    if missing:
        state, needed = "inconclusive", None
    return GateCheck(
        *(score.benchmark, "min_score", state, min_score, score.score, score.interval),
        *(score.samples, needed, missing),
    )


def _decide(
    estimate: float | None, interval: Interval | None, cases: int, bound: float, lowest: float
) -> tuple[GateState, int | None]:
    """Where an interval lies to a bound, and how many more cases would take it off the bound; all
    in points from `lowest` to 100."""
    if estimate is None or interval is None:
        return "inconclusive", None
    if interval.low >= bound:
        return "passed", None
    if interval.high < bound:
        return "failed", None
    near_end = interval.low if estimate >= bound else interval.high
    mean, goal, end = ((each - lowest) / (100 - lowest) for each in (estimate, bound, near_end))
    now, then = _count_needed(mean, end), _count_needed(mean, goal)
    return "inconclusive", max(1, ceil(cases * then / now) - cases) if now and then else None


def _count_needed(mean: float, bound: float) -> float | None:
    """How many cases put a bound of Wilson's interval there, up to a factor; None: no number."""
    spread, distance = bound * (1 - bound), mean - bound
    return spread / distance**2 if spread > 0 and abs(distance) > 1e-9 else None


def _check_drops(
    cases: pd.DataFrame, summary: RunSummary, base: RunSummary, rules: GateRules
) -> list[GateCheck]:
    groups = dict(list(cases.groupby("benchmark", sort=True)))
    shared = [key for key in summary.benchmarks if key in base.benchmarks]
    comparable = [
        key for key in shared if summary.benchmarks[key].column == base.benchmarks[key].column
    ]
    if not comparable:
        raise UsageError(Note("gate_no_benchmark", run=summary.run_id, base=base.run_id))
    checks = []
    for key in comparable:
        gaps = [_describe_gap(side.benchmarks[key]) for side in (summary, base)]
        group = groups.get(key)
        if group is None or any(gaps):
            reason = next(filter(None, gaps), "no case in common")
            checks.append(
                GateCheck(
                    *(key, "max_drop", "inconclusive", rules.max_drop, None, None),
                    *(0 if group is None else len(group), None, reason),
                )
            )
            continue
        result = compare_run_pair(str(key), group).result
        checks.append(
            check_drop(key, result.difference, result.interval, result.common, rules.max_drop)
        )
    return checks


def _describe_gap(score: BenchmarkScore) -> str:
    """Why a score is not complete, "" where it is."""
    if score.is_settled:
        return ""
    missing = score.samples - round(score.coverage * score.samples)
    return f"the run is incomplete: {missing} of {score.samples} cases are not measured"


def _join_states(checks: Sequence[GateCheck]) -> GateState:
    states = {check.state for check in checks}
    return next((state for state in ("failed", "inconclusive") if state in states), "passed")


def _read_summary(folder: RunFolder) -> RunSummary:
    summary = folder.read_summary()
    if summary is None:
        raise UsageError(Note("run_no_result", run=folder.run_id, state=folder.current_state()))
    return summary


def _check_rules(rules: GateRules) -> None:
    if not rules.against and rules.min_score is None:
        raise UsageError(Note("cli_gate_nothing"))
    if not 0 <= rules.max_drop <= 100:
        raise UsageError(Note("cli_gate_drop", value=f"{rules.max_drop:g}"))
    if rules.min_score is not None and not 0 <= rules.min_score <= 100:
        raise UsageError(Note("cli_gate_score", value=f"{rules.min_score:g}"))

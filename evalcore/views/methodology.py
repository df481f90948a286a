"""How a score comes about: its terms, worked examples of intervals and ranks, agreement of
judges."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple, get_args

import pandas as pd

from evalcore import judges
from evalcore.access.redaction import mask_benchmark, mask_target
from evalcore.catalog import BenchmarkCard, benchmark_cards
from evalcore.errors import EvalboardError
from evalcore.intake import add_counts, add_numbers, read_cost, read_count
from evalcore.judges import Calibration, JudgeProfile, PairAgreement, SplitRate, Vote, VoteWord
from evalcore.records import MEASURED, BenchmarkSpec, Message, Record, Verdict
from evalcore.results import BenchmarkScore, Interval
from evalcore.scoring.intervals import Z95, PairedResult, compare_paired, wilson_interval
from evalcore.scoring.ranks import FEWEST_DIFFERING
from evalcore.store.cases import load_run_case
from evalcore.store.run_folder import RunFolder, find_run
from evalcore.views.boards import Board, Row, suite_score
from evalcore.views.case_points import case_scores
from evalcore.views.cases import is_gated
from evalcore.views.ranking import STATUSES, SUITE, tie_groups

# The rules of a board worked with its own numbers: how a score adds up, what was asked.

TERMS = ("metric", "weight", "samples", "points", "maximum", "weighted_points", "weighted_maximum")


class ScoreSums(Record, frozen=True):
    """The sums of a benchmark score: score = 100 x points / maximum."""

    points: float
    maximum: float
    score: float


class Prompt(Record, frozen=True):
    """What a target was really asked for one case, as it stands in the journal of a run; `mode` is
    how calls were asked for, where the benchmark asks for calls, and `hidden` says that the case is
    gated, so that its messages are left out."""

    run_id: str
    metric: str
    case: str
    messages: tuple[Message, ...]
    mode: str = ""
    hidden: bool = False


def build_score_terms(score: BenchmarkScore) -> pd.DataFrame:
    """One row per metric with cases, in the order of the catalogue: TERMS and score (0 to 100).

    `points` is the sum of difficulty x case score, `maximum` that of the difficulties; the weighted
    ones are these times the metric's weight, None for a metric that is reported and not scored.
    """
    card = benchmark_cards().get(score.benchmark)
    catalog_order = [metric.key for metric in card.metrics] if card else []

    def metric_position(metric: str) -> int:
        return catalog_order.index(metric) if metric in catalog_order else len(catalog_order)

    records = []
    for metric in sorted(score.metrics.values(), key=lambda each: metric_position(each.metric)):
        if metric.samples:
            won = (metric.points, metric.maximum)
            weighted = [None if metric.weight is None else each * metric.weight for each in won]
            terms = (metric.metric, metric.weight, metric.samples, *won, *weighted, metric.score)
            records.append(terms)
    return pd.DataFrame(records, columns=[*TERMS, "score"])


def sum_score_terms(table: pd.DataFrame) -> ScoreSums:
    """The benchmark score from its `build_score_terms`; 0 where there is nothing to win."""
    points = float(table["weighted_points"].astype(float).sum())
    maximum = float(table["weighted_maximum"].astype(float).sum())
    return ScoreSums(points, maximum, 100 * points / maximum if maximum else 0.0)


def load_run_score(
    roots: Iterable[Path], run: str, benchmark: str
) -> tuple[BenchmarkSpec, BenchmarkScore] | None:
    """What a run declared for a benchmark and how it scored, None where it has no such score.
    Raises UsageError when there is no such run, RunFolderError when its files are broken."""
    folder = find_run(run, roots)
    summary = folder.read_summary()
    specs = {spec.key: spec for spec in map(mask_benchmark, folder.read_spec().benchmarks)}
    score = None if summary is None else summary.benchmarks.get(benchmark)
    return None if score is None or benchmark not in specs else (specs[benchmark], score)


class WorkedScore(NamedTuple):
    """The score of a run in a benchmark with what it adds up from."""

    spec: BenchmarkSpec
    score: BenchmarkScore
    terms: pd.DataFrame
    sums: ScoreSums


def load_worked_score(roots: Iterable[Path], run: str, benchmark: str) -> WorkedScore | None:
    """As `load_run_score`, with `build_score_terms` and `sum_score_terms`."""
    spec_and_score = load_run_score(roots, run, benchmark)
    if spec_and_score is None:
        return None
    terms = build_score_terms(spec_and_score[1])
    return WorkedScore(*spec_and_score, terms, sum_score_terms(terms))


def list_first_prompts(
    roots: Sequence[Path], run: str, card: BenchmarkCard, *, show_gated: bool = False
) -> list[Prompt]:
    """The question put for the first answered case of each metric of a run. Raises UsageError when
    there is no such run, RunFolderError when a journal is broken."""
    folder = find_run(run, roots)
    prompts = (_find_first_prompt(folder, card.key, each.key, show_gated) for each in card.metrics)
    return [prompt for prompt in prompts if prompt is not None]


def _find_first_prompt(
    folder: RunFolder, benchmark: str, metric: str, show_gated: bool
) -> Prompt | None:
    for stored in folder.read_samples():
        if stored.benchmark != benchmark or stored.sample.metric != metric:
            continue
        _, episode, _ = load_run_case(folder, benchmark, metric, stored.sample.id)
        if episode is None or not episode.messages:
            continue
        if is_gated(stored.sample) and not show_gated:
            return Prompt(folder.run_id, metric, stored.sample.id, (), hidden=True)
        messages = tuple(message for message in episode.messages if message.role in _ASKING)
        mode = str(episode.state.get("mode", ""))
        return Prompt(folder.run_id, metric, stored.sample.id, messages, mode)
    return None


_ASKING = ("system", "user")


# The rules of certainty worked with the numbers of a board: a rate and its interval, two targets
# against each other, chance between two judges, the mean of a suite, and who stands where.


class Rate(Record, frozen=True):
    """Cases solved of all declared ones, without weights; `interval` is Wilson's, 0 to 100."""

    passed: float
    samples: int
    interval: Interval

    @property
    def rate(self) -> float:
        return self.passed / self.samples


class LeaderComparison(Record, frozen=True):
    """The leader of a board against another ranked target, `apart` as their groups say."""

    leader: str
    other: str
    apart: bool
    result: PairedResult


class Kappa(Record, frozen=True):
    """Cohen's kappa of two judges = (agreed - chance) / (1 - chance), over `n` answers."""

    first: str
    second: str
    n: int
    agreed: float
    chance: float
    kappa: float


def compute_plain_rate(score: BenchmarkScore) -> Rate | None:
    """The share of cases solved in the metrics that count, None without a measured case."""
    scored = [metric for metric in score.metrics.values() if metric.weight is not None]
    passed, samples = sum(each.passed for each in scored), sum(each.samples for each in scored)
    if not samples or score.score is None:
        return None
    return Rate(passed, samples, wilson_interval(passed / samples, samples))


def find_rivals(frame: pd.DataFrame) -> tuple[str, str] | None:
    """The leader and whom to hold it against: the first that can be told from it, else the next;
    None where fewer than two are ranked."""
    groups = tie_groups(frame)
    if len(groups) > 1:
        return groups[0][0], groups[1][0]
    return (groups[0][0], groups[0][1]) if groups and len(groups[0]) > 1 else None


def compare_rivals(
    roots: Sequence[Path], rows: Sequence[Row], board: Board, by: str, frame: pd.DataFrame
) -> LeaderComparison | None:
    """The leader of a board against its rival, case by case.

    `by` is what `frame`, the ranking, is ordered by: SUITE or a benchmark. None where fewer than
    two are ranked, or where the cases of one cannot be read.
    """
    identities = find_rivals(frame)
    if identities is None:
        return None
    rows_by_identity = {row.identity: row for row in rows}
    keys = list(board.members) if by == SUITE else [by]
    try:
        sides = [_load_side_scores(roots, rows_by_identity[each], keys) for each in identities]
    except EvalboardError:
        return None
    (ours, weights), (theirs, _) = sides
    groups = frame.set_index("identity")["group"]
    return LeaderComparison(
        leader=identities[0],
        other=identities[1],
        apart=bool(groups[identities[0]] != groups[identities[1]]),
        result=compare_paired(ours, theirs, weights, itemgetter(0, 1)),
    )


_Key = tuple[str, str, str]


def _load_side_scores(
    roots: Sequence[Path], row: Row, benchmarks: Sequence[str]
) -> tuple[dict[_Key, float], dict[_Key, float]]:
    """Scores (0 to 1) and weights by case; every benchmark weighs 1 in all."""
    scores: dict[_Key, float] = {}
    weights: dict[_Key, float] = {}
    for benchmark in benchmarks:
        run = row.runs[benchmark].run_id
        cases = case_scores([find_run(run, roots)])
        own = cases[cases["benchmark"] == benchmark]
        total = float(own["weight"].sum())
        for case in own.to_dict("records"):
            key = (benchmark, str(case["metric"]), str(case["id"]))
            scores[key] = float(case["score"])
            weights[key] = float(case["weight"]) / total if total else 0.0
    return scores, weights


def list_suite_scores(row: Row, board: Board) -> tuple[list[float], float] | None:
    """The scores of a target by benchmark and their mean, None where the board has no such mean
    for it."""
    mean = suite_score(row, board)
    scores = [row.score(benchmark) for benchmark in board.members]
    if mean is None or len(scores) < 2:
        return None
    return [score.score for score in scores if score is not None and score.score is not None], mean


def standing_counts(frame: pd.DataFrame) -> dict[str, int]:
    """How many targets of a ranking stand where, by status, in the order of the board."""
    counts = frame["status"].value_counts()
    return {status: int(counts.get(status, 0)) for status in STATUSES}


def find_best_kappa(pairs: Sequence[PairAgreement]) -> Kappa | None:
    """The pair of judges with the most answers in common that has a kappa, and the agreement that
    chance alone would give it; None where none has one."""
    kappas = []
    for pair in pairs:
        if pair.agreed is not None and pair.kappa is not None and pair.kappa < 1:
            chance = (pair.agreed - pair.kappa) / (1 - pair.kappa)  # the definition, solved
            kappas.append(Kappa(pair.first, pair.second, pair.n, pair.agreed, chance, pair.kappa))
    return max(kappas, key=lambda agreement: agreement.n, default=None)


# The panels of a board: how far their judges agree with each other, and with the engines.

_WORDS = frozenset(get_args(VoteWord))


class PanelReport(Record, frozen=True):
    """All panels of some runs together: `answers` were judged, `cost` is USD, None if unknown."""

    answers: int
    requests: int
    cost: float | None
    profiles: tuple[JudgeProfile, ...]
    pairs: tuple[PairAgreement, ...]
    splits: SplitRate
    calibration: tuple[Calibration, ...]


def build_panel_report(roots: Sequence[Path], runs: Iterable[str]) -> PanelReport | None:
    """What the judges of these runs did, None where nothing was judged. Raises UsageError when
    there is no such run, RunFolderError when its files are broken."""
    judged = [
        (verdict, votes)
        for run in dict.fromkeys(runs)
        for verdict in _load_judged_verdicts(find_run(run, roots))
        if (votes := extract_votes(verdict))
    ]
    if not judged:
        return None
    cases = [votes for _, votes in judged]
    judge_details = [v.details for v, _ in judged if read_count(v.details.get("judge_requests"))]
    executed = [
        (verdict.details["executed"] == "passed", votes)
        for verdict, votes in judged
        if verdict.details.get("executed") in MEASURED
    ]
    return PanelReport(
        answers=len(judged),
        requests=add_counts(*(read_count(d["judge_requests"]) for d in judge_details)) or 0,
        cost=add_numbers(*(read_cost(details.get("judge_cost")) for details in judge_details)),
        profiles=judges.profile_judges(cases),
        pairs=judges.compute_pair_agreement(cases),
        splits=judges.compute_split_rate(cases),
        calibration=judges.calibrate_judges(executed),
    )


def extract_votes(verdict: Verdict) -> tuple[Vote, ...]:
    """The votes that stand in the evidence of a verdict, under the judges' names."""
    return tuple(
        # without the judge's options, which say where it is served and how it is sampled
        Vote(judge=mask_target(str(line.get("judge", "")).partition("?")[0]), vote=line["vote"])
        for section in verdict.evidence
        if section.kind == "votes"
        for line in section.body
        if line.get("vote") in _WORDS
    )


def _load_judged_verdicts(folder: RunFolder) -> list[Verdict]:
    """Load the latest verdict on each judged sample under the run's present scoring."""
    summary = folder.read_summary()
    if summary is None or not any(spec.judges for spec in folder.read_spec().benchmarks):
        return []
    latest = {
        (line.benchmark, line.verdict.metric, line.verdict.id, line.verdict.epoch): line.verdict
        for line in folder.read_verdicts(summary.scoring)
    }
    return list(latest.values())


__all__ = ["FEWEST_DIFFERING", "Z95"]

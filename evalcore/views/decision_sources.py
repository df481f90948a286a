"""What there is to decide on: a board as a `DecisionTable`, of runs here or of a publisher."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from statistics import median

import numpy as np

from evalcore.catalog import CONTROL_KIND, find_target_kind
from evalcore.errors import EvalboardError, UsageError
from evalcore.plain_text import to_single_line
from evalcore.settings import Settings
from evalcore.single_flight import SingleFlightCache
from evalcore.sqlkit.dialects import parse_server
from evalcore.store.datasets import format_dialect
from evalcore.store.headers import RunHeader
from evalcore.target_cards import NO_CARD, cards_signature, load_cards
from evalcore.views import case_points
from evalcore.views.board_table import build_target_facts
from evalcore.views.boards import Board, Row, is_control, list_board_rows
from evalcore.views.case_points import Points
from evalcore.views.decision import (
    COST,
    LATENCY,
    LEVELS,
    USUAL_WEIGHT,
    Candidate,
    Criterion,
    CriterionScores,
    Decision,
    DecisionLimits,
    DecisionTable,
    Level,
    decide,
)
from evalcore.views.published_boards import PublishedBoard
from evalcore.views.published_ranking import name_entries
from evalcore.views.ranking import find_row_status
from evalcore.views.stored_boards import Headers, compute_board_version
from evalcore.views.targets import metric_line

#: The criterion of cases that name no dialect.
NO_DIALECT = "none"
_MAX_DIALECTS = 30  # criteria; rarer ones count with the cases that name none
#: What `decision.parse_weights` reads as the end of a name.
_SEPARATORS = str.maketrans(",:=", "   ")
_decisions: SingleFlightCache[Decision] = SingleFlightCache(64)
_tables: SingleFlightCache[DecisionTable] = SingleFlightCache(24)
#: (benchmark, column of its points) of a criterion.
_Slices = dict[str, dict[str, np.ndarray]]


def load_decision(
    table: DecisionTable, weights: Mapping[str, float], limits: DecisionLimits
) -> Decision:
    """The decision on a table, worked out once for all who ask the same."""
    key = (table, repr(sorted(weights.items())), repr(limits))
    return _decisions.get(key, lambda: decide(table, weights, limits))


# A board of runs.


def load_decision_table(
    settings: Settings, headers: Headers, board: Board, level: Level
) -> DecisionTable:
    """The board at a level, or at its first one where it does not have that; worked out once
    until a run on the board or a card changes."""
    version = compute_board_version(headers, board)
    key = (settings.data, settings.shipped, board.identity, version, cards_signature(settings))
    return _tables.get((*key, level), lambda: _build_table(settings, headers, board, level))


def _build_table(settings: Settings, headers: Headers, board: Board, level: Level) -> DecisionTable:
    rows = list_board_rows(headers, board)
    points = case_points.load_board_points(settings, rows, board)
    problems = _find_problems(rows, board, points)
    dialects = {
        key: _read_case_dialects(settings, rows, key, problems[key]) for key in board.columns
    }
    candidates = _build_candidates(settings, rows)
    return _score_cases(board, rows, points, problems, dialects, candidates, level)


def _find_problems(rows: Sequence[Row], board: Board, points: Points) -> dict[str, dict[str, str]]:
    """By benchmark why a row has no complete score in it: its status in the ranking."""
    readable = case_points.find_readable_scores(points)
    partial = case_points.find_partial_scores(points)
    return {
        key: {
            row.identity: status
            for row in rows
            if (status := find_row_status(row, board, key, readable, partial)) != "ranked"
        }
        for key in board.columns
    }


def _score_cases(
    board: Board,
    rows: Sequence[Row],
    points: Points,
    problems: Mapping[str, Mapping[str, str]],
    dialects: Mapping[str, Mapping[tuple[str, str], str]],
    candidates: Sequence[Candidate],
    level: Level,
) -> DecisionTable:
    """The table of a board whose cases are known."""
    levels = _list_levels(points, dialects)
    chosen = level if level in levels else levels[0]
    slices = _cut_points(board, points, dialects, chosen)
    scores = {name: _score_slices(cut, points, rows, problems) for name, cut in slices.items()}
    totals = {name: _sum_default_share(cut, points, board) for name, cut in slices.items()}
    criteria = _build_score_criteria(totals, scores)
    return _add_spending(chosen, levels, criteria, candidates, scores, tested=True)


def _list_levels(
    points: Points, dialects: Mapping[str, Mapping[tuple[str, str], str]]
) -> tuple[Level, ...]:
    """The benchmarks, and what else there is more than one of to weigh."""
    metrics = sum(len({metric for metric, _ in table.cases}) for table in points.values())
    names = {name for cases in dialects.values() for name in cases.values() if name}
    further: dict[Level, int] = {"metrics": metrics, "dialects": len(names)}
    return (LEVELS[0], *(level for level, count in further.items() if count > 1))


def _cut_points(
    board: Board,
    points: Points,
    dialects: Mapping[str, Mapping[tuple[str, str], str]],
    level: Level,
) -> _Slices:
    """The cases of every criterion: by benchmark the columns of its table of points."""
    slices: _Slices = {}
    for key in board.columns:
        cases = points[key].cases
        if level == "benchmarks":
            slices[key] = {key: np.arange(len(cases))}
            continue
        numbers: dict[str, list[int]] = defaultdict(list)
        for number, case in enumerate(cases):
            name = f"{key}/{case[0]}" if level == "metrics" else dialects[key].get(case, "")
            numbers[name or NO_DIALECT].append(number)
        for name, own in numbers.items():
            slices.setdefault(name, {})[key] = np.array(own)
    if level != "dialects":
        return slices
    return _merge_rare_dialects(slices)


def _merge_rare_dialects(slices: _Slices) -> _Slices:
    """The most frequent dialects first, and no more than a person can weigh."""

    def count_cases(name: str) -> int:
        return sum(len(numbers) for numbers in slices[name].values())

    names = sorted(slices, key=lambda name: (name == NO_DIALECT, -count_cases(name), name))
    common = [name for name in names if name != NO_DIALECT][:_MAX_DIALECTS]
    merged: dict[str, list[np.ndarray]] = defaultdict(list)
    for name in names:
        if name not in common:
            for key, numbers in slices[name].items():
                merged[key].append(numbers)
    rest = {key: np.sort(np.concatenate(parts)) for key, parts in merged.items()}
    return {name: slices[name] for name in common} | ({NO_DIALECT: rest} if rest else {})


def _read_case_dialects(
    settings: Settings, rows: Sequence[Row], benchmark: str, problems: Mapping[str, str]
) -> dict[tuple[str, str], str]:
    """The dialect of every case of a column, as any of its runs declared them: all were asked the
    same. Empty where no run can be read."""
    runs = [
        row.runs[benchmark].run_id
        for row in rows
        if benchmark in row.runs and problems.get(row.identity) in (None, "control")
    ]
    for folder in case_points.find_case_folders(settings, runs[:3]).values():
        try:
            return {
                (sample.metric, sample.id): name_dialect(format_dialect(sample))
                for stored in folder.read_samples()
                if stored.benchmark == benchmark
                for sample in (stored.sample,)
            }
        except (EvalboardError, OSError, KeyError):
            continue
    return {}


def name_dialect(text: str) -> str:
    """The product that a case is about, without its version; of a conversion the one it ends in."""
    name = text.rpartition("→")[2].strip()
    with suppress(UsageError):  # a product that nobody has heard of goes by its own name
        name = parse_server(name).title if name else ""
    return to_single_line(name, 60).translate(_SEPARATORS)


def _score_slices(
    cut: Mapping[str, np.ndarray],
    points: Points,
    rows: Sequence[Row],
    problems: Mapping[str, Mapping[str, str]],
) -> CriterionScores:
    """Who has a complete score in every benchmark that the cases of a criterion come from."""
    reasons: dict[str, str] = {}
    for row in rows:
        status = next((p for key in cut if (p := problems[key].get(row.identity))), "")
        reasons |= {row.identity: status} if status else {}
    scored = [row for row in rows if row.identity not in reasons]
    parts, maxima, strata = [], [], list[str]()
    weigh = _benchmark_share(cut, points)
    for key, numbers in cut.items():
        table = points[key]
        own = [table.runs[row.runs[key].run_id] for row in scored]
        parts.append(table.points[own][:, numbers] * weigh)
        maxima.append(table.maxima[numbers] * weigh)
        strata += [f"{key}/{table.cases[number][0]}" for number in numbers]
    joined = np.concatenate(parts, axis=1) if parts else np.empty((len(scored), 0))
    values = np.nansum(joined, axis=1)
    return CriterionScores(
        values={row.identity: float(v) for row, v in zip(scored, values, strict=True)},
        problems=reasons,
        rows={row.identity: number for number, row in enumerate(scored)},
        points=joined,
        maxima=np.concatenate(maxima) if maxima else np.empty(0),
        strata=strata,
    )


def _benchmark_share(cut: Mapping[str, np.ndarray], points: Points) -> float:
    """What brings the most that the cases can give to 100."""
    most = sum(float(points[key].maxima[numbers].sum()) for key, numbers in cut.items())
    return 100.0 / most if most else 0.0


def _sum_default_share(cut: Mapping[str, np.ndarray], points: Points, board: Board) -> float:
    """How much the cases of a criterion count in the board's own score."""
    counted = board.counted_benchmarks
    return sum(
        float(points[key].maxima[numbers].sum()) for key, numbers in cut.items() if key in counted
    )


def _build_score_criteria(
    totals: Mapping[str, float], scores: Mapping[str, CriterionScores]
) -> list[Criterion]:
    """The criteria with the weights of the board's own rule, of which the largest weighs
    `USUAL_WEIGHT`; what counts at all weighs at least 1."""
    most = max(totals.values(), default=0.0)
    return [
        Criterion(
            key=name,
            default=max(1, round(USUAL_WEIGHT * total / most)) if total and most else 0,
            cases=len(scores[name].maxima),
        )
        for name, total in totals.items()
    ]


def _build_candidates(settings: Settings, rows: Sequence[Row]) -> list[Candidate]:
    cards = load_cards(settings)
    facts = build_target_facts(rows, cards, settings)
    candidates = []
    for row in rows:
        fact = facts.loc[row.identity]
        runs = list({run.run_id: run for run in row.runs.values()}.values())
        cost, cases = _sum_costs(runs), sum(map(_count_cases, runs))
        candidates.append(
            Candidate(
                identity=row.identity,
                name=str(fact["name"]),
                target_key=row.target_key,
                kind=find_candidate_kind(row.target_key),
                organization=str(fact["organization"]),
                licence=cards.get(row.target_key, NO_CARD).licence.strip(),
                weights=str(fact["weights"]),
                cost_per_case=cost / cases if cost is not None and cases else None,
                cost_per_run=cost,
                latency=_average_latency(runs),
                run_id=max(runs, key=lambda run: run.created_at).run_id,
            )
        )
    return candidates


def find_candidate_kind(target_key: str) -> str:
    """How a target is run, one of `decision.KINDS`, or `control`."""
    if is_control(target_key):
        return CONTROL_KIND
    card = find_target_kind(target_key)
    if card is None:
        return "model"
    if card.runs_models_here:
        return "local"
    if card.chooser == "service":
        return "application"
    return "endpoint" if card.can_judge else "program"


def _sum_costs(runs: Sequence[RunHeader]) -> float | None:
    costs = [run.totals.cost for run in runs]
    present = [cost for cost in costs if cost is not None]
    return sum(present) if len(present) == len(costs) else None


def _count_cases(run: RunHeader) -> int:
    """The cases of a run, each as often as it was asked."""
    return sum(sum(score.outcomes.values()) for score in run.benchmarks.values())


def _average_latency(runs: Sequence[RunHeader]) -> float | None:
    """The median latency, of several runs the mean weighted by their cases."""
    pairs = [(run.totals.latency_p50, _count_cases(run)) for run in runs]
    cases = sum(count for _, count in pairs)
    if not cases or any(latency is None for latency, _ in pairs):
        return None
    return sum(latency * count for latency, count in pairs if latency is not None) / cases


def _add_spending(
    level: Level,
    levels: tuple[Level, ...],
    criteria: Sequence[Criterion],
    candidates: Sequence[Candidate],
    scores: Mapping[str, CriterionScores],
    *,
    tested: bool,
) -> DecisionTable:
    """The table with cost and latency as criteria, where any of it is on record."""
    further: dict[str, Callable[[Candidate], float | None]] = {
        COST: lambda candidate: candidate.cost_per_case,
        LATENCY: lambda candidate: candidate.latency,
    }
    all_criteria, all_scores = list(criteria), dict(scores)
    for key, read in further.items():
        spending = {
            candidate.identity: value
            for candidate in candidates
            if candidate.kind != CONTROL_KIND and (value := read(candidate)) is not None
        }
        if any(spending.values()):
            reference = median(value for value in spending.values() if value > 0)
            lacking = {each.identity for each in candidates} - spending.keys()
            all_criteria.append(Criterion(key, 0, reference=reference))
            all_scores[key] = CriterionScores(
                values={name: score_spending(v, reference) for name, v in spending.items()},
                problems=dict.fromkeys(lacking, f"no_{key}"),
            )
    return DecisionTable(
        level, levels, tuple(all_criteria), tuple(candidates), all_scores, tested=tested
    )


def score_spending(value: float, reference: float) -> float:
    """What a cost or a latency counts: 100 for nothing, 50 at the reference, less the more it
    is."""
    return 100.0 * reference / (reference + value)


# A board of a publisher.


def build_published_table(source: PublishedBoard, level: Level) -> DecisionTable:
    """A publisher's board at a level: by its verdicts, or by its claims where it publishes none."""
    key = (source.publication.signature, source.board.key, level)
    return _tables.get(key, lambda: _build_published_table(source, level))


def _build_published_table(source: PublishedBoard, level: Level) -> DecisionTable:
    board, rows = source.board, list_board_rows(source.headers, source.board)
    candidates = _build_published_candidates(source, rows)
    if not source.has_verdicts:
        return _build_claims_table(source, rows, candidates, level)
    problems = _find_problems(rows, board, source.points)
    return _score_cases(board, rows, source.points, problems, {}, candidates, level)


def _build_claims_table(
    source: PublishedBoard, rows: Sequence[Row], candidates: Sequence[Candidate], level: Level
) -> DecisionTable:
    board = source.board
    levels: tuple[Level, ...] = LEVELS[:2] if len(board.metrics) > 1 else LEVELS[:1]
    chosen = level if level in levels else levels[0]
    scores: dict[str, CriterionScores] = {}
    criteria = []
    for name in board.metrics if chosen == "metrics" else board.columns:
        benchmark, _, metric = name.partition("/")
        claimed = {row.identity: _read_claim(row, benchmark, metric) for row in rows}
        values = {identity: value for identity, value in claimed.items() if value is not None}
        lacking = dict.fromkeys(claimed.keys() - values.keys(), "not_run")
        scores[name] = CriterionScores(values=values, problems=lacking)
        headline = {row.identity: _read_claim(row, benchmark, "") for row in rows}
        is_headline = all(headline[identity] == value for identity, value in values.items())
        criteria.append(Criterion(name, USUAL_WEIGHT if values and is_headline else 0))
    return _add_spending(chosen, levels, criteria, candidates, scores, tested=False)


def _read_claim(row: Row, benchmark: str, metric: str) -> float | None:
    """The claimed score of a benchmark, or of one of its metrics."""
    score = row.score(benchmark)
    if not metric:
        return score.score if score else None
    value: float | None = metric_line(score, metric)[0]
    return value


def _build_published_candidates(source: PublishedBoard, rows: Sequence[Row]) -> list[Candidate]:
    names = name_entries(source)
    candidates = []
    for row in rows:
        entry = source.entries[row.identity]
        costs = [score.cost for score in entry.scores.values() if score.cost is not None]
        all_stated = len(costs) == len(entry.scores)
        candidates.append(
            Candidate(
                identity=row.identity,
                name=names[row.identity],
                target_key=row.target_key,
                kind="application" if entry.type == "application" else "model",
                organization=entry.organization.strip(),
                cost_per_case=sum(costs) / len(costs) if costs and all_stated else None,
                run_id=next(iter(row.runs.values())).run_id,
            )
        )
    return candidates

"""Which target fits a person best: a ranking by their own weights and limits, with its uncertainty.

A score is the weighted mean of criteria, each 0 to 100. Cases decide how sure a rank is, by the
rules of every other ranking here (`evalcore.scoring.ranks`); cost, latency and figures that are
only claimed shift a score and add no uncertainty. Nothing here reads a file.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from evalcore.errors import UsageError
from evalcore.i18n import Note
from evalcore.records import Record
from evalcore.results import Interval
from evalcore.scoring.intervals import Stratum, compute_weighted_score, score_interval
from evalcore.scoring.ranks import RESAMPLES, RankRow, rank_board, resample_leads

# What can be weighed, and who can be chosen.

Level = Literal["benchmarks", "metrics", "dialects"]
LEVELS: tuple[Level, ...] = ("benchmarks", "metrics", "dialects")
COST, LATENCY = "cost", "latency"
MAX_WEIGHT = 100
#: What a criterion of the usual preset weighs, so that there is room above and below.
USUAL_WEIGHT = 50
#: How a target is run; `model` where a publisher does not say.
KINDS = ("endpoint", "local", "application", "program", "model")
#: The value of a filter for what is not on record.
UNKNOWN = "unknown"


class Criterion(Record, frozen=True):
    """One thing to weigh. `default` is its preset weight, 0 to 100; `cases` are behind it;
    `reference` is the cost or latency that counts 50 points, None for scores."""

    key: str
    default: int
    cases: int = 0
    reference: float | None = None


class Candidate(Record, frozen=True):
    """A target with what filters ask about; names are hostile text. `kind` is of KINDS or
    `control`; costs are USD, latency is seconds; None and "" are unknown."""

    identity: str
    name: str
    target_key: str
    kind: str
    organization: str = ""
    licence: str = ""
    weights: str = ""
    cost_per_case: float | None = None
    cost_per_run: float | None = None
    latency: float | None = None
    run_id: str = ""


@dataclass(frozen=True, eq=False)
class CriterionScores:
    """Scores of a criterion by identity, 0 to 100, and why the others have none (a status of
    `evalcore.views.ranking`, or no_cost, no_latency).

    Where cases are behind it, `rows` is the row of an identity in `points`, what every case adds
    to its score; `maxima` is what a case can add, `strata` what it belongs to.
    """

    values: Mapping[str, float]
    problems: Mapping[str, str] = field(default_factory=dict)
    rows: Mapping[str, int] = field(default_factory=dict)
    points: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    maxima: np.ndarray = field(default_factory=lambda: np.empty(0))
    strata: Sequence[str] = ()

    @property
    def has_cases(self) -> bool:
        return len(self.maxima) > 0


@dataclass(frozen=True, eq=False)
class DecisionTable:
    """Everything on a board that can be weighed at a level; `levels` are those it can be weighed
    at. Not `tested`, no verdicts are known."""

    level: Level
    levels: tuple[Level, ...]
    criteria: tuple[Criterion, ...]
    candidates: tuple[Candidate, ...]
    scores: Mapping[str, CriterionScores]
    tested: bool = True

    @property
    def default_weights(self) -> dict[str, int]:
        return {criterion.key: criterion.default for criterion in self.criteria}


class DecisionLimits(Record, frozen=True):
    """Who may be chosen: at most so many USD, and values of which each is an alternative; None and
    () admit all."""

    max_cost_per_case: float | None = None
    max_cost_per_run: float | None = None
    kinds: tuple[str, ...] = ()
    organizations: tuple[str, ...] = ()
    licences: tuple[str, ...] = ()
    weights: tuple[str, ...] = ()

    @property
    def active_fields(self) -> tuple[str, ...]:
        values = {name: getattr(self, name) for name in self.__struct_fields__}
        return tuple(name for name, value in values.items() if value not in (None, ()))


# Weights and bounds as people write them.


def parse_weights(texts: Iterable[str], criteria: Sequence[Criterion]) -> dict[str, float]:
    """The weights of all criteria, from texts "KEY:NUMBER" (or "KEY=NUMBER") for those that differ
    from the preset. Raises UsageError naming the text, and what it may be."""
    weights: dict[str, float] = {criterion.key: criterion.default for criterion in criteria}
    for text in texts:
        key, mark, number = text.replace("=", ":").rpartition(":")
        if not mark or key not in weights:
            names = ", ".join(weights)
            raise UsageError(Note("decide_weight", value=text[:80], names=names))
        weights[key] = parse_bounded(number, Note("decide_weight_of", criterion=key), MAX_WEIGHT)
    return weights


def format_weights(weights: Mapping[str, float], criteria: Sequence[Criterion]) -> str:
    """What `parse_weights` reads, comma-separated, without the preset weights."""
    changed = {c.key: weights[c.key] for c in criteria if weights[c.key] != c.default}
    return ",".join(f"{key}:{weight:g}" for key, weight in changed.items())


def parse_bounded(text: str, name: str, most: float = 1e9) -> float:
    """A number from 0 to `most`; raises UsageError for anything else, NaN among it."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number <= most:
        raise UsageError(Note("decide_number", name=name, value=text[:40], most=f"{most:g}"))
    return number + 0.0  # no negative zero


# The decision.


class Rejection(Record, frozen=True):
    """Why a candidate is not ranked: a status of `evalcore.views.ranking`, no_cost or no_latency
    with the criterion, or the field of DecisionLimits that leaves it out (`unknown`: nothing is on
    record for it)."""

    reason: str
    criterion: str = ""
    unknown: bool = False


class Excluded(Record, frozen=True):
    candidate: Candidate
    reasons: tuple[Rejection, ...]


class Ranked(Record, frozen=True):
    """A candidate in the ranking. `low` and `high` are the 95 % interval of its score, None where
    no case is behind it; the ranks are those of `RankRow`, None but `rank` where nothing was
    tested. `parts` holds its score in every criterion, None where it has none; `leads` is the share
    of resamples in which it leads."""

    candidate: Candidate
    score: float
    rank: int
    low: float | None
    high: float | None
    rank_low: int | None
    rank_high: int | None
    group: int | None
    leads: float | None
    parts: dict[str, float | None]


class WeightChange(Record, frozen=True):
    """The nearest whole weight of a single criterion, the others as they are, with which another
    candidate leads."""

    criterion: str
    weight: float
    changed: int
    leader: str
    name: str


class Decision(Record, frozen=True):
    """The ranking under weights and limits, the best first. `cases` decided it, none where it rests
    on claims, cost and latency alone; `changes` are sorted by how near they are, and empty where no
    single weight changes the leader."""

    weights: dict[str, float]
    limits: DecisionLimits
    ranked: tuple[Ranked, ...]
    excluded: tuple[Excluded, ...]
    cases: int = 0
    resamples: int = RESAMPLES
    changes: tuple[WeightChange, ...] = ()

    @property
    def has_weights(self) -> bool:
        return any(weight > 0 for weight in self.weights.values())

    @property
    def tested(self) -> bool:
        return self.cases > 0

    @property
    def leader(self) -> Ranked | None:
        return self.ranked[0] if self.ranked else None

    @property
    def tied_count(self) -> int:
        """How many others are statistically tied with the leader, or share its rank."""
        if self.tested:
            return sum(row.group == 1 for row in self.ranked) - 1
        return sum(row.rank == 1 for row in self.ranked) - 1


def decide(table: DecisionTable, weights: Mapping[str, float], limits: DecisionLimits) -> Decision:
    """Rank who has a complete score in everything that weighs something and is within the limits.
    `weights` names every criterion of the table."""
    active = [criterion.key for criterion in table.criteria if weights[criterion.key] > 0]
    rejections = {
        candidate.identity: _find_rejections(table, candidate, active, limits)
        for candidate in table.candidates
    }
    excluded = tuple(
        Excluded(candidate, rejections[candidate.identity])
        for candidate in table.candidates
        if rejections[candidate.identity]
    )
    chosen = [each for each in table.candidates if not rejections[each.identity]]
    asked = dict(weights)
    if not active or not chosen:
        return Decision(asked, limits, (), excluded)
    # the weights that count as shares of 1
    whole = math.fsum(asked.values())
    shares = {key: weight / whole for key, weight in asked.items() if weight > 0}
    contributions = _collect_contributions(table, chosen, shares)
    ranked = _rank_candidates(table, chosen, contributions)
    changes = find_weight_changes(table, asked, [row.candidate for row in ranked])
    return Decision(
        asked, limits, ranked, excluded, cases=len(contributions.maxima), changes=changes
    )


def _find_rejections(
    table: DecisionTable, candidate: Candidate, active: Sequence[str], limits: DecisionLimits
) -> tuple[Rejection, ...]:
    if candidate.kind == "control":
        return (Rejection("control"),)
    reasons = [
        Rejection(table.scores[key].problems.get(candidate.identity, "not_run"), key)
        for key in active
        if candidate.identity not in table.scores[key].values
    ]
    for name in ("max_cost_per_case", "max_cost_per_run"):
        most, cost = getattr(limits, name), getattr(candidate, name.removeprefix("max_"))
        if most is not None and (cost is None or cost > most):
            reasons.append(Rejection(name, unknown=cost is None))
    for name in ("kinds", "organizations", "licences", "weights"):
        allowed = getattr(limits, name)
        value = getattr(candidate, name if name == "weights" else name.removesuffix("s"))
        if allowed and (value or UNKNOWN) not in allowed:
            reasons.append(Rejection(name, unknown=not value))
    return tuple(reasons)


@dataclass(frozen=True, eq=False)
class _Contributions:
    """What every case adds to every score, (candidates, cases), and what no case has a part in."""

    points: np.ndarray
    maxima: np.ndarray
    strata: list[str]
    fixed: np.ndarray


def _collect_contributions(
    table: DecisionTable, chosen: Sequence[Candidate], shares: Mapping[str, float]
) -> _Contributions:
    fixed = np.zeros(len(chosen))
    parts, maxima, strata = [np.empty((len(chosen), 0))], [np.empty(0)], list[str]()
    for key, share in shares.items():
        scores = table.scores[key]
        if not scores.has_cases:
            fixed += share * np.array([scores.values[each.identity] for each in chosen])
            continue
        rows = scores.points[[scores.rows[each.identity] for each in chosen]]
        present = ~np.isnan(rows).any(axis=0)
        parts.append(share * rows[:, present])
        maxima.append(share * scores.maxima[present])
        strata += [name for name, there in zip(scores.strata, present, strict=True) if there]
    return _Contributions(np.concatenate(parts, axis=1), np.concatenate(maxima), strata, fixed)


def _rank_candidates(
    table: DecisionTable, chosen: Sequence[Candidate], contributions: _Contributions
) -> tuple[Ranked, ...]:
    names = [candidate.identity for candidate in chosen]
    added = dict(zip(names, contributions.points, strict=True))
    fixed = dict(zip(names, contributions.fixed.tolist(), strict=True))
    strata, maxima = contributions.strata, contributions.maxima
    standings = rank_board(added, strata=strata, maxima=maxima, fixed=fixed)
    has_cases = len(maxima) > 0
    leads = {}
    if has_cases:
        leads = resample_leads(added, strata=strata, maxima=maxima, fixed=fixed)
    candidates = {candidate.identity: candidate for candidate in chosen}
    rows = []
    for identity, standing in standings.items():
        interval = (
            _compute_interval(added[identity], contributions, fixed[identity], standing)
            if has_cases
            else None
        )
        rows.append(
            Ranked(
                candidate=candidates[identity],
                score=standing.score,
                rank=standing.rank,
                low=interval.low if interval else None,
                high=interval.high if interval else None,
                rank_low=standing.low if has_cases else None,
                rank_high=standing.high if has_cases else None,
                group=standing.group if has_cases else None,
                leads=leads.get(identity),
                parts={key: scores.values.get(identity) for key, scores in table.scores.items()},
            )
        )
    return tuple(rows)


def _compute_interval(
    added: np.ndarray, contributions: _Contributions, fixed: float, standing: RankRow
) -> Interval | None:
    """The interval of the part that cases decide, moved by the part that they do not. As on a board
    benchmarks share no case, so the root of the sum of their squared half-widths is that of all."""
    maxima = contributions.maxima
    columns = np.array([name.partition("/")[0] for name in contributions.strata])
    names = np.array(contributions.strata)
    below, above = [], []
    for column in dict.fromkeys(columns[maxima > 0].tolist()):
        strata = []
        for name in dict.fromkeys(names[columns == column].tolist()):
            own = (names == name) & (maxima > 0)
            pairs = zip(
                maxima[own].tolist(),
                np.clip(added[own] / maxima[own], 0.0, 1.0).tolist(),
                strict=True,
            )
            strata.append((Stratum.from_pairs(name, pairs), 1.0))
        interval = score_interval(strata)
        if interval is None:
            return None
        score, share = compute_weighted_score(strata), float(maxima[columns == column].sum()) / 100
        below.append(share * (score - interval.low))
        above.append(share * (interval.high - score))
    if not below:
        return None
    score, most = standing.score, fixed + float(maxima.sum())
    low, high = max(fixed, score - math.hypot(*below)), min(most, score + math.hypot(*above))
    return Interval(min(low, score), max(high, score))


# How sensitive the leader is: a score is linear in each weight but for a common divisor, so that a
# pair of candidates changes places at a single value of it.


def find_weight_changes(
    table: DecisionTable, weights: Mapping[str, float], ranked: Sequence[Candidate]
) -> tuple[WeightChange, ...]:
    """For every criterion the nearest whole weight from 0 to 100 with which another of the ranked
    candidates leads alone or shares first place no longer; the nearest change comes first. Of a
    criterion without weight only those with a score in it are compared."""
    if len(ranked) < 2:
        return ()
    changes = []
    for criterion in table.criteria:
        change = _find_weight_change(table, weights, ranked, criterion.key)
        changes += [change] if change else []
    return tuple(sorted(changes, key=lambda change: abs(change.changed - change.weight)))


def _find_weight_change(
    table: DecisionTable, weights: Mapping[str, float], ranked: Sequence[Candidate], key: str
) -> WeightChange | None:
    others = {name: weight for name, weight in weights.items() if weight > 0 and name != key}
    values = table.scores[key].values
    leader, *rivals = ranked
    if not others or leader.identity not in values:
        return None
    crossings: list[tuple[float, float, WeightChange]] = []
    for rival in rivals:
        if rival.identity not in values:
            continue
        ahead = math.fsum(
            weight
            * (
                table.scores[name].values[leader.identity]
                - table.scores[name].values[rival.identity]
            )
            for name, weight in others.items()
        )
        gain = values[rival.identity] - values[leader.identity]
        changed = find_crossing(ahead, gain, weights[key])
        if changed is not None:
            # of several that overtake at one weight the one with the most points leads
            change = WeightChange(key, weights[key], changed, rival.identity, rival.name)
            crossings.append((abs(changed - weights[key]), ahead - gain * changed, change))
    return min(crossings, key=lambda each: each[:2])[2] if crossings else None


def find_crossing(ahead: float, gain: float, weight: float) -> int | None:
    """The whole weight nearest to `weight`, from 0 to 100, at which a rival has more points: it is
    `ahead` points behind without this criterion and gains `gain` on the leader per unit of it."""
    if abs(gain) < 1e-9:
        return None
    crossing = ahead / gain
    if gain > 0:
        changed = max(math.floor(crossing + 1e-9) + 1, 0)
        inside = changed > weight and changed <= MAX_WEIGHT
    else:
        changed = math.ceil(crossing - 1e-9) - 1
        inside = 0 <= changed < weight
    return changed if inside else None

"""Boards of what others published: the claims of a publisher for a month as rows of our own kind,
with scores worked out here from the published verdicts.

They are built from files alone and never from runs: no board holds both, so that a published figure
shares no rank with what was measured here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import fsum
from typing import Any

import msgspec
import numpy as np

from evalcore.catalog import BenchmarkCard, MetricCard, is_model
from evalcore.errors import UsageError
from evalcore.i18n import Note
from evalcore.records import Record
from evalcore.results import CLAIMED_VIEW
from evalcore.scoring.aggregation import MISSING
from evalcore.scoring.claims import Claim, ClaimSum, find_weights_in_force
from evalcore.scoring.intervals import Stratum, compute_weighted_score, score_interval
from evalcore.settings import Settings
from evalcore.single_flight import SingleFlightCache
from evalcore.store import published as store
from evalcore.store.case_tables import PointTable
from evalcore.store.headers import HeaderScore, HeaderSnapshot, MetricLine, RunHeader
from evalcore.store.published import (
    FAILED,
    PASSED,
    ClaimedScore,
    Publication,
    PublishedEntry,
    Publisher,
)
from evalcore.views.boards import PUBLICATION_PREFIX, Board, Column, map_benchmark_suites
from evalcore.views.case_points import Points

#: Whose results a page shows: those measured here, or those of a publisher.
SOURCES = HERE, PUBLISHED = ("here", "published")
REFERENCE_MARK = "/"  # parts of the reference of a row: publisher, month, id
_boards: SingleFlightCache[PublishedBoard] = SingleFlightCache(64)
_setups: SingleFlightCache[tuple[str, ...]] = SingleFlightCache(64)


class PublishedColumn(Column, frozen=True):
    """A column whose metrics are those that the publisher has, whatever the benchmark of that name
    has here. `weights` are the publisher's in force that month."""

    weights: dict[str, float] = {}

    @property
    def card(self) -> BenchmarkCard:
        metrics = tuple(MetricCard(key, self.weights.get(key)) for key in self.metrics)
        return BenchmarkCard(key=self.benchmark, suite="", implementation="", metrics=metrics)


class MonthRule(Record, frozen=True):
    """What a benchmark consists of in a month, one rule for all its rows: the weight of every
    metric that counts, and the points of its cases by metric and id. A metric counts that more than
    half of the reports have; a case belongs to it that at least half of those hold."""

    weights: dict[str, float]
    points: dict[str, dict[str, float]]

    @property
    def samples(self) -> int:
        return sum(len(cases) for cases in self.points.values())

    @property
    def whole(self) -> float:
        """The weighted points to win."""
        return fsum(
            points * self.weights.get(metric, 0.0)
            for metric, cases in self.points.items()
            for points in cases.values()
        )


def load_publishers(settings: Settings, suite: str = "") -> list[Publisher]:
    """Whose results there are, of one suite or all, by key."""
    publications = store.load_publications(settings)
    publishers = (publications[key].publisher for key in sorted(publications))
    return [publisher for publisher in publishers if suite in ("", publisher.suite)]


def require_publication(settings: Settings, key: str) -> Publication:
    """All of one publisher; raises UsageError where there is none of that key."""
    publications = store.load_publications(settings)
    if key not in publications:
        names = ", ".join(sorted(publications)) or "none"
        raise UsageError(Note("publisher_unknown", owner=key, names=names))
    return publications[key]


def select_entries(publication: Publication, month: str, setup: str) -> list[PublishedEntry]:
    """What stands on the board of a month: its own entries, or all up to it."""
    up_to = publication.publisher.cumulative
    return [
        entry
        for entry in publication.entries
        if (entry.month <= month if up_to else entry.month == month) and entry.setup_key == setup
    ]


def list_setups(publication: Publication, month: str = "") -> list[str]:
    """The ways of measuring that are never ranked together, the most frequent first."""
    last = month or publication.months[0]

    def count_setups() -> tuple[str, ...]:
        counts = Counter(entry.setup_key for entry in publication.entries if entry.month <= last)
        return tuple(sorted(counts, key=lambda setup: (-counts[setup], setup)))

    return [*_setups.get((publication.signature, last), count_setups)]


def describe_setup(publication: Publication, setup: str) -> dict[str, str]:
    """What the entries of a setup have in common; hostile text."""
    entries = (entry for entry in publication.entries if entry.setup_key == setup)
    first = next(entries, None)
    return dict(first.setup) if first else {}


@dataclass(frozen=True, eq=False)
class PublishedBoard:
    """The board of a publisher as it stood in a month. `headers` hold its rows as runs of one
    claim each, and nothing else; `rules` has an entry per benchmark with published verdicts."""

    publication: Publication
    month: str
    setup: str
    board: Board
    headers: HeaderSnapshot
    rules: Mapping[str, MonthRule]
    entries: Mapping[str, PublishedEntry]

    @property
    def publisher(self) -> Publisher:
        return self.publication.publisher

    @property
    def has_verdicts(self) -> bool:
        """Whether cases are published, without which no interval can be worked out."""
        return bool(self.rules)

    @cached_property
    def points(self) -> Points:
        """What every case adds to the scores, as the ranking wants it."""
        return {key: self._build_point_table(key) for key in self.board.columns}

    def _build_point_table(self, key: str) -> PointTable:
        rule = self.rules.get(key, MonthRule({}, {}))
        cases = [(metric, case) for metric in rule.weights for case in rule.points[metric]]
        rows: list[list[float]] = []
        runs: dict[str, int] = {}
        for entry in self.entries.values():
            verdicts = list_verdicts(self.publication, entry, key)
            if verdicts:
                runs[make_reference(self.publisher.key, entry)] = len(rows)
                rows.append([verdicts.get(case, np.nan) for case in cases])
        most = np.array(
            [rule.points[metric][case] * rule.weights[metric] for metric, case in cases]
        )
        maxima = 100 * most / rule.whole if rule.whole else np.zeros(len(cases))
        points = np.array(rows, dtype=float).reshape(len(rows), len(cases)) * maxima
        return PointTable(cases, runs, {}, points, maxima)


def load_published_board(
    settings: Settings, publisher: str, month: str = "", setup: str = ""
) -> PublishedBoard:
    """The board of a publisher for a month, by default the newest, and for one setup, by default
    the most frequent. Raises UsageError for a publisher, month or setup that is not there."""
    publication = require_publication(settings, publisher)
    chosen = month or publication.months[0]
    if chosen not in publication.months:
        months = f"{publication.months[-1]} to {publication.months[0]}"
        raise UsageError(Note("publisher_month", publisher=publisher, month=chosen, names=months))
    setups = list_setups(publication, chosen)
    if setup and setup not in setups:
        raise UsageError(
            Note("publisher_setup", publisher=publisher, setup=setup, month=chosen, names=setups)
        )
    key = (publication.signature, chosen, setup or setups[0])
    return _boards.get(key, lambda: _build_board(publication, chosen, setup or setups[0]))


def _build_board(publication: Publication, month: str, setup: str) -> PublishedBoard:
    publisher = publication.publisher
    entries = {
        f"{publisher.key}:{entry.identity}": entry
        for entry in select_entries(publication, month, setup)
    }
    rules = {
        key: rule
        for key in publisher.columns
        if (rule := _find_month_rule(publication, list(entries.values()), key)) is not None
    }
    name = "-".join(filter(None, (publisher.key, month, setup)))
    columns: dict[str, Column] = {
        key: _build_column(publication, name, key, rules.get(key), entries.values())
        for key in publisher.columns
        if any(key in entry.scores for entry in entries.values())
    }
    headers = HeaderSnapshot(
        _build_header(publication, identity, entry, columns, rules)
        for identity, entry in entries.items()
    )
    members = publisher.members if set(publisher.members) <= set(columns) else ()
    finished = sum(set(members) <= entry.scores.keys() for entry in entries.values())
    board = Board(f"{PUBLICATION_PREFIX}{name}", publisher.suite, columns, members, finished)
    return PublishedBoard(publication, month, setup, board, headers, rules, entries)


def _build_column(
    publication: Publication,
    name: str,
    key: str,
    rule: MonthRule | None,
    entries: Iterable[PublishedEntry],
) -> PublishedColumn:
    publisher = publication.publisher
    scores = [entry.scores[key] for entry in entries if key in entry.scores]
    present = {metric for score in scores for metric in (*score.metrics, *score.reports)}
    month = max(entry.month for entry in entries)
    samples = rule.samples if rule else 0
    size = f"{samples} samples" if samples else "claims only"
    return PublishedColumn(
        benchmark=key,
        key=f"{PUBLICATION_PREFIX}{name}.{key}",
        label=f"{publisher.title} {month} · published · {size}",
        dataset=f"{PUBLICATION_PREFIX}{name}",
        samples=samples,
        full=True,
        executed=False,
        targets=len(scores),
        newest=f"{month}-01T00:00:00.000+00:00",
        complete=len(scores),
        metrics=tuple(metric for metric in publisher.columns[key] if metric in present),
        weights=rule.weights if rule else {},
    )


# The rule of a month: which metrics and cases count, and how much.


def _find_month_rule(
    publication: Publication, entries: Sequence[PublishedEntry], key: str
) -> MonthRule | None:
    """None where no verdict of the benchmark is published."""
    scores = [s for entry in entries if (s := entry.scores.get(key)) is not None and s.reports]
    if not scores:
        return None
    configured = {
        metric: weight
        for metric, weight in publication.publisher.columns[key].items()
        if weight is not None
    }
    reported = Counter(metric for score in scores for metric in score.reports)
    everything = find_weights_in_force(
        [(Claim(s.score, s.metrics), sum_reports(publication, s)) for s in scores], configured
    )
    weights = {
        metric: weight
        for metric, weight in everything.items()
        if metric in configured and 2 * reported[metric] > len(scores)
    }
    points = {metric: _find_declared_points(publication, scores, metric) for metric in weights}
    return MonthRule({m: w for m, w in weights.items() if points[m]}, points)


def sum_reports(publication: Publication, score: ClaimedScore) -> list[ClaimSum]:
    """The points of every metric of a report, a copy as often as it holds it."""
    sums = []
    for metric, report in score.reports.items():
        points = publication.cases[report.cases].points
        won = fsum(
            p for p, verdict in zip(points, report.verdicts, strict=True) if verdict == PASSED
        )
        part = ClaimSum(metric, report.weight, won, fsum(points))
        sums += [part] * (1 + report.copies)
    return sums


def _find_declared_points(
    publication: Publication, scores: Sequence[ClaimedScore], metric: str
) -> dict[str, float]:
    """The cases that at least half of the reports of a metric hold, each with the points that most
    of them give it."""
    seen: dict[str, Counter[float]] = {}
    reports = [score.reports[metric] for score in scores if metric in score.reports]
    for number, count in Counter(report.cases for report in reports).items():
        cases = publication.cases[number]
        for case, points in zip(cases.ids, cases.points, strict=True):
            seen.setdefault(case, Counter())[points] += count
    return {
        case: counts.most_common(1)[0][0]
        for case, counts in seen.items()
        if 2 * counts.total() >= len(reports)
    }


# A row: what is claimed of one model, beside what its verdicts give.


def list_verdicts(
    publication: Publication, entry: PublishedEntry, key: str
) -> dict[tuple[str, str], float]:
    """The decided cases of an entry in a benchmark: (metric, id) -> 1 passed, 0 failed."""
    score = entry.scores.get(key)
    decided = {PASSED: 1.0, FAILED: 0.0}
    return {
        (metric, case): decided[verdict]
        for metric, report in (score.reports if score else {}).items()
        for case, verdict in zip(publication.cases[report.cases].ids, report.verdicts, strict=True)
        if verdict in decided
    }


def make_reference(publisher: str, entry: PublishedEntry) -> str:
    """What names a row in addresses and commands: publisher/month/id."""
    return REFERENCE_MARK.join((publisher, entry.month, entry.id))


def _build_header(
    publication: Publication,
    identity: str,
    entry: PublishedEntry,
    columns: Mapping[str, Column],
    rules: Mapping[str, MonthRule],
) -> RunHeader:
    scores = {
        key: _build_score(publication, entry, column, rules.get(key))
        for key, column in columns.items()
        if key in entry.scores
    }
    day = entry.date if len(entry.date) == len("2026-11-28") else f"{entry.month}-01"
    return RunHeader(
        run_id=make_reference(publication.publisher.key, entry),
        target_key=identity,
        identity=identity,
        created_at=f"{day}T00:00:00.000+00:00",
        state="done",
        origin="published",
        benchmarks=scores,
        shipped=True,
    )


def _build_score(
    publication: Publication, entry: PublishedEntry, column: Column, rule: MonthRule | None
) -> HeaderScore:
    claimed = entry.scores[column.benchmark]
    bare = HeaderScore(
        column=column.key,
        score=claimed.score,
        coverage=0.0,
        complete=False,
        label=column.label,
        dataset=column.dataset,
        metrics={name: (value, None, None, 0) for name, value in claimed.metrics.items()},
        views={CLAIMED_VIEW: claimed.score},
        level=0,
    )
    if rule is None or not claimed.reports:
        return bare
    verdicts = list_verdicts(publication, entry, column.benchmark)
    metrics = {
        metric: _build_metric_line(publication, claimed, rule, metric, verdicts)
        for metric in column.metrics
        if metric in rule.weights or metric in claimed.reports
    }
    return msgspec.structs.replace(
        bare, metrics=metrics, level=1, **_score_verdicts(rule, verdicts)
    )


def _score_verdicts(rule: MonthRule, verdicts: Mapping[tuple[str, str], float]) -> dict[str, Any]:
    """The fields of a score that follow from verdicts: the triple, its interval, the counts."""
    declared = {(metric, case) for metric in rule.weights for case in rule.points[metric]}
    decided = {case: score for case, score in verdicts.items() if case in declared}
    metrics = sorted(rule.weights)
    strict = [(_build_stratum(rule, m, verdicts), rule.weights[m]) for m in metrics]
    own = [(_build_stratum(rule, m, verdicts, answered=True), rule.weights[m]) for m in metrics]
    interval = score_interval(strict) if decided else None
    passed = int(sum(decided.values()))
    outcomes = {"passed": passed, "failed": len(decided) - passed}
    outcomes[MISSING] = len(declared) - len(decided)
    return {
        "score": compute_weighted_score(strict) if decided else None,
        "low": interval.low if interval else None,
        "high": interval.high if interval else None,
        "answered": compute_weighted_score(own) if decided else None,
        "coverage": len(decided) / len(declared) if declared else 0.0,
        "samples": len(declared),
        "complete": 0 < len(declared) == len(decided),
        "outcomes": {name: count for name, count in outcomes.items() if count},
    }


def _build_stratum(
    rule: MonthRule,
    metric: str,
    verdicts: Mapping[tuple[str, str], float],
    *,
    answered: bool = False,
) -> Stratum:
    """The declared cases of a metric; what is missing counts as failed unless left out."""
    return Stratum.from_pairs(
        metric,
        (
            (points, verdicts.get((metric, case), 0.0))
            for case, points in rule.points[metric].items()
            if not answered or (metric, case) in verdicts
        ),
    )


def _build_metric_line(
    publication: Publication,
    claimed: ClaimedScore,
    rule: MonthRule,
    metric: str,
    verdicts: Mapping[tuple[str, str], float],
) -> MetricLine:
    """A metric that does not count this month is reported with the cases of its own report."""
    if metric not in rule.weights and (report := claimed.reports.get(metric)):
        cases = publication.cases[report.cases]
        own = dict(zip(cases.ids, cases.points, strict=True))
        rule = msgspec.structs.replace(rule, points={metric: own})
    stratum = _build_stratum(rule, metric, verdicts)
    count = sum(number for _, _, number in stratum.cells)
    if not any((metric, case) in verdicts for case in rule.points[metric]):
        return None, None, None, count
    interval = score_interval([(stratum, 1.0)])
    bounds = (round(interval.low, 2), round(interval.high, 2)) if interval else (None, None)
    return (round(compute_weighted_score([(stratum, 1.0)]), 2), *bounds, count)


# Which results a first visitor sees.


def choose_default_source(settings: Settings, headers: Sequence[RunHeader], suite: str) -> str:
    """PUBLISHED until a model was measured here in the suite, and where anything is published of
    it; baselines and controls are no models."""
    if not load_publishers(settings, suite):
        return HERE
    suites = map_benchmark_suites(headers)
    is_measured = any(
        is_model(header.target_key) and any(suites.get(key) == suite for key in header.benchmarks)
        for header in headers
    )
    return HERE if is_measured else PUBLISHED

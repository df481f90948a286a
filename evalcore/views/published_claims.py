"""What is odd about published figures: those that do not follow from the published verdicts, and
verdicts that are not what the others of a month were given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, get_args

from evalcore.records import Record
from evalcore.scoring.claims import (
    Claim,
    ScoreReading,
    compute_claimed_score,
    recompute_claim,
    select_first_parts,
)
from evalcore.settings import Settings
from evalcore.store.published import (
    UNDECIDED,
    ClaimedScore,
    MetricReport,
    Publication,
    PublishedEntry,
)
from evalcore.views.published_boards import (
    PublishedBoard,
    load_published_board,
    make_reference,
    require_publication,
    sum_reports,
)

FindingKind = Literal[
    "score_differs",  # from what the verdicts give; the reading tells why
    "metric_differs",
    "no_verdicts",  # a figure without published verdicts
    "duplicate_metric",  # in one report; the first counts
    "foreign_metric",  # of another benchmark
    "weight_differs",  # from the one by which most scores of the month come out
    "missing_cases",  # that most others of the month were given
    "extra_cases",  # that fewer than half of them were given
    "unasked_metric",  # that most others have
    "undecided_cases",  # whose verdict is no verdict
    "carried_over",  # verdicts from an earlier month
]
KINDS: tuple[str, ...] = get_args(FindingKind)
#: What says nothing against a figure.
HARMLESS = frozenset({"carried_over"})
_EXACT = 1e-9


class ClaimFinding(Record, frozen=True):
    """One thing about one figure. `claimed` and `computed` are 0 to 100 where both are figures;
    `metric` is "" for the benchmark as a whole; `count` counts cases or copies; `since` is a
    month."""

    row: str
    name: str
    month: str
    benchmark: str
    metric: str
    kind: FindingKind
    claimed: float | None = None
    computed: float | None = None
    reading: ScoreReading | None = None
    count: int = 0
    since: str = ""


def list_claim_findings(
    settings: Settings, publisher: str, month: str = "", identity: str = ""
) -> list[ClaimFinding]:
    """Everything odd of a publisher, of one month or of all, of one model or of all; the newest
    month first. Raises UsageError for what is not there."""
    publication = require_publication(settings, publisher)
    if month:
        load_published_board(settings, publisher, month)  # refuses a month that is not there
    months = [month] if month else publication.months
    findings: list[ClaimFinding] = []
    for name in months:
        own = [entry for entry in publication.entries if entry.month == name]
        for setup in dict.fromkeys(entry.setup_key for entry in own):
            board = load_published_board(settings, publisher, name, setup)
            for entry in own:
                key = f"{publisher}:{entry.identity}"
                if entry.setup_key == setup and identity in ("", key):
                    findings += _find_entry_oddities(publication, board, entry)
    return findings


def _find_entry_oddities(
    publication: Publication, board: PublishedBoard, entry: PublishedEntry
) -> Iterator[ClaimFinding]:
    for key, score in entry.scores.items():
        finder = _Finder(publication, board, entry, key, score)
        yield from finder.find_all()


class _Finder:
    """The findings about one score."""

    def __init__(
        self,
        publication: Publication,
        board: PublishedBoard,
        entry: PublishedEntry,
        key: str,
        score: ClaimedScore,
    ) -> None:
        self.publication, self.board, self.entry = publication, board, entry
        self.key, self.score = key, score
        self.rule = board.rules.get(key)

    def find_all(self) -> Iterator[ClaimFinding]:
        if self.rule is None or not self.score.reports:
            if self.board.has_verdicts:
                yield self._build("no_verdicts", claimed=self.score.score)
            return
        yield from self._find_score_difference()
        yield from self._find_metric_differences()
        for metric, report in self.score.reports.items():
            yield from self._find_report_oddities(metric, report)
        for metric in self.rule.weights.keys() - self.score.reports.keys():
            yield self._build("unasked_metric", metric, count=len(self.rule.points[metric]))
        yield from self._find_carry_over()

    def _build(self, kind: FindingKind, metric: str = "", **values: object) -> ClaimFinding:
        return ClaimFinding(
            row=make_reference(self.publication.publisher.key, self.entry),
            name=self.entry.name,
            month=self.entry.month,
            benchmark=self.key,
            metric=metric,
            kind=kind,
            **values,  # type: ignore[arg-type]
        )

    @property
    def _configured(self) -> dict[str, float]:
        weights = self.publication.publisher.columns[self.key]
        return {metric: weight for metric, weight in weights.items() if weight is not None}

    def _find_score_difference(self) -> Iterator[ClaimFinding]:
        parts = sum_reports(self.publication, self.score)
        claim = Claim(self.score.score, self.score.metrics)
        numbers = recompute_claim(claim, parts, self._configured)
        if numbers.reading != "exact":
            yield self._build(
                "score_differs",
                claimed=numbers.claimed,
                computed=compute_claimed_score(parts),
                reading=numbers.reading,
            )

    def _find_metric_differences(self) -> Iterator[ClaimFinding]:
        parts = select_first_parts(
            sum_reports(self.publication, self.score), self.score.reports.keys()
        )
        computed = {part.metric: part.score for part in parts}
        for metric, claimed in self.score.metrics.items():
            if metric not in computed:
                yield self._build("no_verdicts", metric, claimed=claimed)
            elif abs(claimed - computed[metric]) > _EXACT:
                yield self._build(
                    "metric_differs", metric, claimed=claimed, computed=computed[metric]
                )

    def _find_report_oddities(self, metric: str, report: MetricReport) -> Iterator[ClaimFinding]:
        if report.copies:
            yield self._build("duplicate_metric", metric, count=report.copies + 1)
        if metric not in self._configured:
            yield self._build("foreign_metric", metric)
            return
        weights: Mapping[str, float] = self.rule.weights if self.rule else {}
        in_force = weights.get(metric)
        if in_force is not None and in_force != report.weight:
            yield self._build("weight_differs", metric, claimed=report.weight, computed=in_force)
        if undecided := report.verdicts.count(UNDECIDED):
            yield self._build("undecided_cases", metric, count=undecided)
        asked = set(self.publication.cases[report.cases].ids)
        declared = set(self.rule.points.get(metric, ())) if self.rule else set()
        if declared and (missing := declared - asked):
            yield self._build("missing_cases", metric, count=len(missing))
        if declared and (extra := asked - declared):
            yield self._build("extra_cases", metric, count=len(extra))

    def _find_carry_over(self) -> Iterator[ClaimFinding]:
        """Whether all verdicts are those of an earlier month of the same model."""
        since = self.entry.month
        for other in sorted(self.publication.entries, key=lambda entry: entry.month):
            if other.identity == self.entry.identity and other.month < since:
                score = other.scores.get(self.key)
                if score is not None and score.reports == self.score.reports:
                    yield self._build("carried_over", since=other.month)
                    return

"""The cases of a row of a publisher, and two rows against each other on the cases that both were
given."""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter

from evalcore.errors import UsageError
from evalcore.i18n import Note
from evalcore.records import Record
from evalcore.scoring.intervals import PairedResult, compare_paired
from evalcore.settings import Settings
from evalcore.store.published import Publication, PublishedEntry
from evalcore.views.published_boards import (
    REFERENCE_MARK,
    MonthRule,
    PublishedBoard,
    list_verdicts,
    load_published_board,
    load_publishers,
    make_reference,
    require_publication,
)
from evalcore.views.published_ranking import name_entries

# Cases are the same where both months have the same rule for a metric: the same ids with the same
# points. Of metrics whose cases changed between two months nothing is compared, since a number of a
# case says nothing about what it asked.


class PublishedPair(Record, frozen=True):
    """A benchmark, or with `metric` one of its metrics: the scores of both over their common cases
    (0 to 100), and `second` measured against `first`. Where no verdict is published `result` is
    None and the scores are the claims."""

    benchmark: str
    metric: str
    first: float
    second: float
    result: PairedResult | None


class DifferingCase(Record, frozen=True):
    """A case that one of the two solved and the other did not; `weight` is its points times the
    weight of the metric."""

    benchmark: str
    metric: str
    id: str
    weight: float
    first: bool
    second: bool


class PublishedCase(Record, frozen=True):
    """A case of a row: its verdict as an outcome ("missing": the row lacks the case), its points
    times the weight of the metric, and how many of the `asked` rows of the board passed it."""

    metric: str
    id: str
    outcome: str
    weight: float
    passed: int
    asked: int


def list_published_cases(
    board: PublishedBoard, identity: str, benchmark: str
) -> list[PublishedCase]:
    """The cases of a benchmark that count this month, in the order of the rule; none where no
    verdict is published."""
    rule = board.rules.get(benchmark)
    if rule is None:
        return []
    verdicts = {
        name: list_verdicts(board.publication, entry, benchmark)
        for name, entry in board.entries.items()
    }
    outcomes = {1.0: "passed", 0.0: "failed", None: "missing"}
    cases = []
    for metric, weight in rule.weights.items():
        for case, points in rule.points[metric].items():
            decided = [own[metric, case] for own in verdicts.values() if (metric, case) in own]
            own = outcomes[verdicts[identity].get((metric, case))]
            passed = sum(value == 1.0 for value in decided)
            cases.append(PublishedCase(metric, case, own, points * weight, passed, len(decided)))
    return cases


class PairComparison(Record, frozen=True):
    """`excluded` names, as "benchmark/metric", what both were asked with other cases."""

    publisher: str
    first: str
    second: str
    first_name: str
    second_name: str
    pairs: tuple[PublishedPair, ...]
    cases: tuple[DifferingCase, ...]
    excluded: tuple[str, ...] = ()


class PublishedRow(Record, frozen=True):
    """A row found by its reference, on the board of its month."""

    publication: Publication
    entry: PublishedEntry
    board: PublishedBoard


def find_published_row(settings: Settings, reference: str, publisher: str = "") -> PublishedRow:
    """The row of "publisher/month/id", or of an id alone, letter case aside, in the newest month
    that has it. Raises UsageError, naming what there is to choose from."""
    parts = reference.split(REFERENCE_MARK, 2)
    key, month, name = (parts[0], parts[1], parts[2]) if len(parts) == 3 else ("", "", reference)
    keys = (
        [key or publisher] if key or publisher else [each.key for each in load_publishers(settings)]
    )
    matches = [
        (publication, entry)
        for publication in (require_publication(settings, each) for each in keys)
        for entry in publication.entries
        if name.casefold() in (entry.identity, entry.name.casefold()) and month in ("", entry.month)
    ]
    if not matches:
        raise UsageError(Note("published_no_row", row=reference))
    publication, entry = max(matches, key=lambda match: match[1].month)
    same = {(p.publisher.key, e.identity) for p, e in matches if e.month == entry.month}
    if len(same) > 1:
        rows = sorted(make_reference(p.publisher.key, e) for p, e in matches)
        raise UsageError(Note("published_several", row=reference, names=", ".join(rows[:10])))
    board = load_published_board(settings, publication.publisher.key, entry.month, entry.setup_key)
    return PublishedRow(publication, entry, board)


def compare_published_rows(
    settings: Settings, first: str, second: str, publisher: str = ""
) -> PairComparison:
    """Compare two rows of one publisher by their references. Raises UsageError for rows that are
    not there, of two publishers, or measured in different ways."""
    rows = [find_published_row(settings, name, publisher) for name in (first, second)]
    _check_comparable(rows[0], rows[1])
    names = [
        name_entries(row.board)[f"{row.board.publisher.key}:{row.entry.identity}"] for row in rows
    ]
    references = [make_reference(row.board.publisher.key, row.entry) for row in rows]
    pairs: list[PublishedPair] = []
    cases: list[DifferingCase] = []
    excluded: list[str] = []
    for key in rows[0].board.publisher.columns:
        if not all(key in row.entry.scores for row in rows):
            continue
        shared, left_out = _select_shared_rule(rows[0], rows[1], key)
        excluded += [f"{key}/{metric}" for metric in left_out]
        if shared is None:
            pairs += _compare_claims(rows[0].entry, rows[1].entry, key)
        elif shared.weights:
            verdicts = [list_verdicts(row.publication, row.entry, key) for row in rows]
            pairs += _compare_verdicts(key, shared, verdicts[0], verdicts[1])
            cases += _list_differing_cases(key, shared, verdicts[0], verdicts[1])
    cases.sort(key=lambda case: (-case.weight, case.benchmark, case.metric, case.id))
    return PairComparison(
        publisher=rows[0].board.publisher.key,
        first=references[0],
        second=references[1],
        first_name=names[0],
        second_name=names[1],
        pairs=tuple(pairs),
        cases=tuple(cases),
        excluded=tuple(excluded),
    )


def _check_comparable(first: PublishedRow, second: PublishedRow) -> None:
    if first.board.publisher.key != second.board.publisher.key:
        raise UsageError(Note("published_no_common"))
    if first.board.setup != second.board.setup:
        raise UsageError(
            Note("published_setups", first=first.board.setup, second=second.board.setup)
        )
    if (first.entry.month, first.entry.identity) == (second.entry.month, second.entry.identity):
        raise UsageError(Note("published_same"))


def _select_shared_rule(
    first: PublishedRow, second: PublishedRow, key: str
) -> tuple[MonthRule | None, list[str]]:
    """What both were asked alike, by the weights of the first; None where no verdict is
    published. And the metrics that are left out."""
    rules = first.board.rules.get(key), second.board.rules.get(key)
    if rules[0] is None or rules[1] is None:
        return None, []
    reports = first.entry.scores[key].reports, second.entry.scores[key].reports
    asked = [m for m in rules[0].weights if m in reports[0] and m in reports[1]]
    equal = [m for m in asked if rules[0].points[m] == rules[1].points.get(m)]
    shared = MonthRule(
        {metric: rules[0].weights[metric] for metric in equal},
        {metric: rules[0].points[metric] for metric in equal},
    )
    return shared, [metric for metric in asked if metric not in equal]


def _compare_claims(first: PublishedEntry, second: PublishedEntry, key: str) -> list[PublishedPair]:
    scores = first.scores[key], second.scores[key]
    shared = [metric for metric in scores[0].metrics if metric in scores[1].metrics]
    return [
        PublishedPair(key, "", scores[0].score, scores[1].score, None),
        *(
            PublishedPair(key, metric, scores[0].metrics[metric], scores[1].metrics[metric], None)
            for metric in shared
        ),
    ]


_Verdicts = Mapping[tuple[str, str], float]


def _compare_verdicts(
    key: str, rule: MonthRule, first: _Verdicts, second: _Verdicts
) -> list[PublishedPair]:
    """The benchmark as a whole, then its metrics; cases that one of the two lacks are left out."""
    whole = {
        (metric, case): points * weight
        for metric, weight in rule.weights.items()
        for case, points in rule.points[metric].items()
        if (metric, case) in first and (metric, case) in second
    }
    pairs = [_compare_cases(key, "", whole, first, second)]
    for metric in rule.weights:
        own = {case: weight for case, weight in whole.items() if case[0] == metric}
        pairs.append(_compare_cases(key, metric, own, first, second))
    return [pair for pair in pairs if pair.result is not None and pair.result.common]


def _compare_cases(
    key: str,
    metric: str,
    weights: Mapping[tuple[str, str], float],
    first: _Verdicts,
    second: _Verdicts,
) -> PublishedPair:
    sides = [{case: side[case] for case in weights} for side in (first, second)]
    total = sum(weights.values())
    scores = [
        100 * sum(weights[case] * side[case] for case in weights) / total if total else 0.0
        for side in sides
    ]
    result = compare_paired(sides[1], sides[0], weights, itemgetter(0))
    return PublishedPair(key, metric, scores[0], scores[1], result)


def _list_differing_cases(
    key: str, rule: MonthRule, first: _Verdicts, second: _Verdicts
) -> list[DifferingCase]:
    return [
        DifferingCase(key, metric, case, points * weight, bool(first[at]), bool(second[at]))
        for metric, weight in rule.weights.items()
        for case, points in rule.points[metric].items()
        if (at := (metric, case)) in first and at in second and first[at] != second[at]
    ]

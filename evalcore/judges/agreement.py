"""How far judges agree with each other, and with engines where those decided too.

Pure functions over the votes of many cases, each case the votes of its panel. Only votes that were
cast (yes or no) are compared; every rate comes with the number of cases that it rests on, and is
None where that is 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Literal

from evalcore.judges.records import CAST, Vote
from evalcore.records import Record

Votes = Sequence[Vote]


class PairAgreement(Record, frozen=True):
    """Two judges over the `n` cases on which both voted: share of equal votes, and Cohen's kappa.

    `kappa` is None where both gave one and the same vote throughout, so that chance alone would
    make them agree always.
    """

    first: str
    second: str
    n: int
    agreed: float | None = None
    kappa: float | None = None


class SplitRate(Record, frozen=True):
    """Of the `n` cases with two votes or more, those on which the panel was not of one mind."""

    n: int
    split: int
    rate: float | None = None


class JudgeProfile(Record, frozen=True):
    """One judge over the `n` cases it was asked about.

    `yes_rate` rests on its `cast` votes; `difference` is its yes rate less the mean of the others
    on the `compared` cases where it and another voted (above 0: milder than they are).
    """

    judge: str
    n: int
    cast: int
    compared: int
    yes_rate: float | None = None
    difference: float | None = None
    abstained: float | None = None
    failed: float | None = None


class Calibration(Record, frozen=True):
    """A judge against executed verdicts on the `n` cases that have both.

    `false_pass` counts its yes to what execution failed, `false_fail` its no to what passed.
    """

    judge: str
    n: int
    agreed: float | None
    kappa: float | None
    false_pass: int
    false_fail: int


def compute_pair_agreement(cases: Iterable[Votes]) -> tuple[PairAgreement, ...]:
    """Every pair of judges, in the order of their names."""
    cast = [_collect_cast_votes(votes) for votes in cases]
    judges = sorted({judge for votes in cast for judge in votes})
    return tuple(
        _build_pair_agreement(
            first, second, [(v[first], v[second]) for v in cast if first in v and second in v]
        )
        for first, second in combinations(judges, 2)
    )


def compute_split_rate(cases: Iterable[Votes]) -> SplitRate:
    cast = [votes for votes in map(_collect_cast_votes, cases) if len(votes) > 1]
    split = sum(len(set(votes.values())) > 1 for votes in cast)
    return SplitRate(n=len(cast), split=split, rate=_divide_or_none(split, len(cast)))


def profile_judges(cases: Iterable[Votes]) -> tuple[JudgeProfile, ...]:
    """How severe each judge is, and how often it gave no vote, in the order of their names."""
    panels = list(cases)
    judges = sorted({vote.judge for votes in panels for vote in votes})
    return tuple(_build_judge_profile(judge, panels) for judge in judges)


def calibrate_judges(cases: Iterable[tuple[bool, Votes]]) -> tuple[Calibration, ...]:
    """Each judge against execution; a case is whether it passed there, and the votes on it."""
    decisions: dict[str, list[tuple[bool, bool]]] = {}
    for passed, votes in cases:
        for judge, yes in _collect_cast_votes(votes).items():
            decisions.setdefault(judge, []).append((yes, passed))
    return tuple(
        Calibration(
            judge=judge,
            n=len(both),
            agreed=_divide_or_none(sum(yes == passed for yes, passed in both), len(both)),
            kappa=compute_kappa(both),
            false_pass=sum(yes and not passed for yes, passed in both),
            false_fail=sum(passed and not yes for yes, passed in both),
        )
        for judge, both in sorted(decisions.items())
    )


def compute_kappa(both: Sequence[tuple[bool, bool]]) -> float | None:
    """Cohen's kappa of two raters who say yes or no; None where it is undefined.

    Source: J. Cohen, A coefficient of agreement for nominal scales, 1960.
    """
    n = len(both)
    if not n:
        return None
    observed = sum(vote == other_vote for vote, other_vote in both)
    first, second = sum(vote for vote, _ in both), sum(other_vote for _, other_vote in both)
    chance = first * second + (n - first) * (n - second)
    return None if chance == n * n else (observed * n - chance) / (n * n - chance)


def _build_pair_agreement(
    first: str, second: str, both: Sequence[tuple[bool, bool]]
) -> PairAgreement:
    agreed = _divide_or_none(sum(vote == other_vote for vote, other_vote in both), len(both))
    return PairAgreement(
        first=first, second=second, n=len(both), agreed=agreed, kappa=compute_kappa(both)
    )


def _build_judge_profile(judge: str, cases: Sequence[Votes]) -> JudgeProfile:
    words = [vote.vote for votes in cases for vote in votes if vote.judge == judge]
    cast = [votes for votes in map(_collect_cast_votes, cases) if judge in votes]
    differences = [
        votes[judge] - sum(others) / len(others)
        for votes in cast
        if (others := [yes for other, yes in votes.items() if other != judge])
    ]

    def compute_share(word: Literal["abstain", "failed"]) -> float | None:
        return _divide_or_none(words.count(word), len(words))

    return JudgeProfile(
        judge=judge,
        n=len(words),
        cast=len(cast),
        compared=len(differences),
        yes_rate=_divide_or_none(sum(votes[judge] for votes in cast), len(cast)),
        difference=_divide_or_none(sum(differences), len(differences)),
        abstained=compute_share("abstain"),
        failed=compute_share("failed"),
    )


def _collect_cast_votes(votes: Votes) -> dict[str, bool]:
    """Whether each judge that voted said yes."""
    return {vote.judge: vote.vote == "yes" for vote in votes if vote.vote in CAST}


def _divide_or_none(amount: float, n: int) -> float | None:
    return amount / n if n else None

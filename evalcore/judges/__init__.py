"""A panel of models that votes on what cannot be executed; it never sees a target. Here: the
questions, votes and tallies, and how far judges agree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Literal

from evalcore.records import Outcome, Record, TargetSpec, Usage

# What a panel is asked, and what came of it.

Kind = Literal["equivalence", "validity", "rules", "index_advice"]

#: abstain: no reply could be read, twice; failed: the judge could not be reached.
VoteWord = Literal["yes", "no", "abstain", "failed"]

#: The votes that count.
CAST: frozenset[VoteWord] = frozenset({"yes", "no"})


class Rule(Record, frozen=True):
    """One optimization that a rewrite may contain, by the id that judges name it with."""

    id: str
    text: str


class Question(Record, frozen=True):
    """One question to the panel. `answer` was written by the target and is hostile.

    `source` and `target` are databases as people write them, with their version ("Oracle 19c");
    `original` is the statement that the answer is held against and `schema` the tables, in the
    dialect of the target (`source_schema` in that of the source). `expected` is the standard answer
    of `index_advice`. `semantics` makes names and types part of `validity`. For `rules`, `decides`
    is the rule that the case is about ("" : all of them); it is no part of the prompt, so that the
    rules of one answer can share their requests.
    """

    kind: Kind
    answer: str
    target: str
    source: str = ""
    original: str = ""
    schema: tuple[str, ...] = ()
    source_schema: tuple[str, ...] = ()
    expected: str = ""
    facts: str = ""
    rules: tuple[Rule, ...] = ()
    decides: str = ""
    semantics: bool = False

    @property
    def deciding_rules(self) -> tuple[str, ...]:
        """The ids of the rules that the outcome depends on."""
        return (self.decides,) if self.decides else tuple(rule.id for rule in self.rules)


class Vote(Record, frozen=True):
    """The vote of one judge. `cost` in USD, None where unknown; `latency` in seconds.

    For a question about rules, `rules` are those it found and `vote` is yes where they hold all
    deciding ones. `asked` counts how often it was asked, `attempts` the requests that this took.
    """

    judge: str
    vote: VoteWord
    rules: tuple[str, ...] = ()
    reason: str = ""
    cost: float | None = 0.0
    usage: Usage = Usage()
    latency: float = 0.0
    attempts: int = 0
    asked: int = 0


class Tally(Record, frozen=True):
    """What the votes amount to: `outcome` is passed, failed or judge_error.

    `rules` tells of each rule whether the panel found it, `cost` is USD or None where the price of
    any judge is unknown.
    """

    outcome: Outcome
    votes: tuple[Vote, ...]
    yes: int
    no: int
    split: bool
    rules: dict[str, bool] = {}
    cost: float | None = 0.0

    def count(self, word: VoteWord) -> int:
        return sum(vote.vote == word for vote in self.votes)


# Counting the votes of one panel on one answer.
# A majority of the votes cast passes and a tie does not. Where fewer than half of the panel cast
# a valid vote there is no result (`judge_error`): abstentions and failures are never votes. Rules
# are counted one by one over all judges that cast a valid vote. Repeated runs are not joined
# here: each epoch has its own verdict, and scoring takes the mean over the epochs of a sample.


def tally_votes(question: Question, votes: Sequence[Vote]) -> Tally:
    """The result of a panel; `votes` holds one vote of every judge, cast or not."""
    cast = [vote for vote in votes if vote.vote in CAST]
    yes = sum(vote.vote == "yes" for vote in cast)
    rules = {
        rule.id: 2 * sum(rule.id in vote.rules for vote in cast) > len(cast)
        for rule in question.rules
    }
    if question.kind == "rules":
        right = bool(rules) and all(rules.get(rule, False) for rule in question.deciding_rules)
    else:
        right = 2 * yes > len(cast)
    return Tally(
        outcome=_decide_panel_outcome(right, len(cast), len(votes)),
        votes=tuple(votes),
        yes=yes,
        no=len(cast) - yes,
        split=0 < yes < len(cast),
        rules=rules,
        cost=_sum_costs([vote.cost for vote in votes]),
    )


def _decide_panel_outcome(right: bool, cast: int, panel: int) -> Outcome:
    if not cast or 2 * cast < panel:
        return "judge_error"
    return "passed" if right else "failed"


def _sum_costs(costs: Sequence[float | None]) -> float | None:
    reported = [cost for cost in costs if cost is not None]
    return sum(reported) if len(reported) == len(costs) else None


# How far judges agree with each other, and with engines where those decided too.
# Pure functions over the votes of many cases, each case the votes of its panel. Only votes that
# were cast (yes or no) are compared; every rate comes with the number of cases that it rests on,
# and is None where that is 0.

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
    """A judge compared with execution on the `n` cases that have both. `false_pass` counts its yes
    votes on failed executions, `false_fail` its no votes on passed ones."""

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
    """Cohen's kappa of two raters who say yes or no; None where it is undefined. Source: J. Cohen,
    A coefficient of agreement for nominal scales, 1960."""
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


# Whether a judge and a target are the same model, so that its votes on itself can be marked.


def is_same_model(judge: str, target: TargetSpec | str) -> bool:
    """The same model by name, whatever the kind of target, the endpoint and the options. Both are
    written KIND:MODEL, a judge perhaps with ?OPTIONS, a target perhaps with #HASH."""
    return _extract_model_name(judge) == _extract_model_name(
        target if isinstance(target, str) else target.key
    )


def _extract_model_name(text: str) -> str:
    key = text.partition("?")[0].partition("#")[0]
    kind, colon, name = key.partition(":")
    return (name if colon else kind).strip().casefold()

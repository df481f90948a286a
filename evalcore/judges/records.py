"""What a panel is asked, and what came of it."""

from __future__ import annotations

from typing import Literal

from evalcore.records import Outcome, Record, Usage

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

    @property
    def asked_again(self) -> bool:
        return self.asked > 1


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

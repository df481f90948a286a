"""Counting the votes of one panel on one answer.

A majority of the votes cast passes and a tie does not. Where fewer than half of the panel cast a
valid vote there is no result (`judge_error`): abstentions and failures are never votes. Rules are
counted one by one over all judges that cast a valid vote. Repeated runs are not joined here: each
epoch has its own verdict, and scoring takes the mean over the epochs of a sample.
"""

from __future__ import annotations

from collections.abc import Sequence

from evalcore.judges.records import CAST, Question, Tally, Vote
from evalcore.records import Outcome


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

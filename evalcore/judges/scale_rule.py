"""SCALE's published way of counting votes, kept exactly, quirks included.

Source: actiontech/sql-llm-benchmark, evaluator/evaluation/{workflow,consensus}.py and agent.py as
of 2026-07 (the rule; the code here is our own). A tie is a yes. A reply that cannot be parsed is a
yes wherever "yes" stands in it. Of rules, half of the judges suffice, an id counts as often as it
is named, and a judge whose reply cannot be parsed named none. Each run is counted by itself and
the runs are joined by the same majority; runs in which no rule was accepted are left out of their
number. Judges that gave no reply are left out.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

from evalcore.records import Record

_FENCE_EDGE = re.compile(r"^```(?:json)?\s*|```$", re.IGNORECASE | re.MULTILINE)


class Ballot(Record, frozen=True):
    """One recorded vote. `yes` is None where the judge gave no reply or only named rules; `rules`
    is None where it gave no reply or voted on one rule by yes and no."""

    yes: bool | None = None
    rules: tuple[str, ...] | None = None
    judge: str = ""
    run: str = "1"
    reason: str = ""

    def supports_rule(self, rule: str) -> bool:
        """Whether the vote is for that rule."""
        return bool(self.yes) if self.rules is None else rule in self.rules

    @property
    def is_cast(self) -> bool:
        return self.yes is not None or self.rules is not None


def case_passes(ballots: Iterable[Ballot]) -> bool | None:
    """The published result of a case; None where no judge replied, and the case was dropped."""
    runs = _group_by_run(ballots).values()
    results = [has_majority([bool(ballot.yes) for ballot in run]) for run in runs]
    return has_majority(results) if results else None


def rule_passes(ballots: Iterable[Ballot], rule: str) -> bool:
    """The published result of one rule of a case; without any vote it is not passed."""
    runs = [
        select_accepted_ids([_list_ballot_rules(ballot, rule) for ballot in run])
        for run in _group_by_run(ballots).values()
    ]
    return rule in select_accepted_ids([run for run in runs if run])


def has_majority(votes: Sequence[bool]) -> bool:
    """At least as many yes as no."""
    return 2 * sum(votes) >= len(votes)


def select_accepted_ids(lists: Sequence[Sequence[str]]) -> list[str]:
    """The ids that stand at least half as often in the lists as there are lists."""
    counts = Counter(chain.from_iterable(lists))
    return [rule_id for rule_id, count in counts.items() if 2 * count >= len(lists)]


def says_yes(reply: Any) -> bool:
    """The vote in a reply: its `answer` where it is an object, else all of it, holds "yes"."""
    parsed = _parse_reply_json(reply)
    return "yes" in str(parsed.get("answer", "") if isinstance(parsed, dict) else parsed).lower()


def parse_named_rules(reply: Any) -> tuple[str, ...]:
    """The `matched_rule_ids` of a reply; none where it is no object."""
    parsed = _parse_reply_json(reply)
    ids = parsed.get("matched_rule_ids") if isinstance(parsed, dict) else None
    return tuple(map(str, ids if isinstance(ids, list) else [ids])) if ids else ()


def _list_ballot_rules(ballot: Ballot, rule: str) -> tuple[str, ...]:
    """What a ballot names; a plain yes names the rule that was asked about."""
    return ballot.rules if ballot.rules is not None else (rule,) * bool(ballot.yes)


def _group_by_run(ballots: Iterable[Ballot]) -> dict[str, list[Ballot]]:
    runs: dict[str, list[Ballot]] = {}
    for ballot in ballots:
        if ballot.is_cast:
            runs.setdefault(ballot.run, []).append(ballot)
    return runs


def _parse_reply_json(reply: Any) -> Any:
    """JSON after the lines of a code fence are dropped, else the text; no text is as it is."""
    if not isinstance(reply, str):
        return reply
    lines = (_strip_fence_line(line) for line in reply.splitlines())
    text = "\n".join(line for line in lines if line is not None)
    try:
        return json.loads(_FENCE_EDGE.sub("", text.strip()))
    except (ValueError, RecursionError):
        return text


def _strip_fence_line(line: str) -> str | None:
    """A line that opens or closes a fence goes, unless an object starts on it."""
    if not line.startswith("```"):
        return line
    return line[3:] if line[3:].strip().startswith("{") else None

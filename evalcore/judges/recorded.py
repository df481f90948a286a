"""Votes of judges recorded elsewhere, and SCALE's published way of counting them, kept exactly,
quirks included."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, NoReturn

import msgspec

from evalcore.errors import UsageError
from evalcore.i18n import Note
from evalcore.records import Record

# SCALE's published way of counting votes, kept exactly, quirks included.
# Source: actiontech/sql-llm-benchmark, evaluator/evaluation/{workflow,consensus}.py and agent.py
# as of 2026-07 (the rule; the code here is our own). A tie is a yes. A reply that cannot be
# parsed is a yes wherever "yes" stands in it. Of rules, half of the judges suffice, an id counts
# as often as it is named, and a judge whose reply cannot be parsed named none. Each run is
# counted by itself and the runs are joined by the same majority; runs in which no rule was
# accepted are left out of their number. Judges that gave no reply are left out.

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
    parsed = parse_published_reply(reply)
    return "yes" in str(parsed.get("answer", "") if isinstance(parsed, dict) else parsed).lower()


def parse_named_rules(reply: Any) -> tuple[str, ...]:
    """The `matched_rule_ids` of a reply; none where it is no object."""
    parsed = parse_published_reply(reply)
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


def parse_published_reply(reply: Any) -> Any:
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


# Reading the `votes` of a prediction: what judges said elsewhere, in the forms people keep it in.
# A vote is true or false, "yes" or "no", the reply of a judge as text (read by the published
# rule) or, for rules, a list of ids. It may stand in an object with `judge`, `run` and `reason`:
# under `vote`, `answer` or `rules` as it was counted, under `reply` or `text` as it was written.
# Where both stand, the counted one holds. null, "abstain" and "failed" are votes not cast. A list
# of votes within the list is one run of the panel, and so are the objects with the same `run`.

_WORDS = {"yes": True, "true": True, "no": False, "false": False}
_SILENT = ("abstain", "failed")
_COUNTED = ("vote", "answer", "rules", "rule_ids", "matched_rule_ids")
_WRITTEN = ("reply", "text")
_ID = r"[\w.:-]{1,40}"
_PLAIN_ID = re.compile(_ID)
_IDS = re.compile(rf"{_ID}(?:\s*,\s*{_ID})*")
_ALLOWED = (
    'a vote is true or false, "yes" or "no", the reply of a judge as text{rules}, or an object '
    "with one of these as vote, answer, rules, reply or text, and judge, run, reason if known; a "
    "list of votes is one run"
)


def read_votes(raw: Any, by_rules: bool) -> tuple[Ballot, ...]:
    """The ballots in a list of votes; `by_rules`: judges named rules instead of yes or no. Raises
    UsageError naming the entry that cannot be read and what can."""
    if not isinstance(raw, list | tuple):
        _reject_vote("votes", raw, by_rules)
    if not any(_is_run(entry, by_rules) for entry in raw):
        return tuple(
            _parse_ballot_entry(e, f"votes[{n}]", "1", by_rules) for n, e in enumerate(raw)
        )
    ballots: list[Ballot] = []
    for number, run in enumerate(raw):
        location = f"votes[{number}]"
        if not isinstance(run, list | tuple):
            raise UsageError(Note("recorded_mixed", location=location))
        ballots += [
            _parse_ballot_entry(e, f"{location}[{n}]", str(number + 1), by_rules)
            for n, e in enumerate(run)
        ]
    return tuple(ballots)


def _is_run(entry: Any, by_rules: bool) -> bool:
    """A list is a run, unless it is the list of ids that one judge named."""
    return isinstance(entry, list | tuple) and not (by_rules and all(map(_is_id, entry)))


def _is_id(value: Any) -> bool:
    if isinstance(value, str):
        return value.lower() not in _WORDS and _PLAIN_ID.fullmatch(value) is not None
    return isinstance(value, int) and not isinstance(value, bool)


def _parse_ballot_entry(entry: Any, location: str, run: str, by_rules: bool) -> Ballot:
    if not isinstance(entry, dict):
        return msgspec.structs.replace(_parse_vote_value(entry, location, by_rules), run=run)
    vote_fields = [name for name in (*_COUNTED, *_WRITTEN) if name in entry]
    if not vote_fields:
        _reject_vote(location, entry, by_rules)
    name = next((name for name in vote_fields if entry[name] not in (None, "")), vote_fields[-1])
    value = entry[name]
    if name in _WRITTEN and isinstance(value, str | dict):
        ballot = _parse_written_reply(value, by_rules)
    else:
        ballot = _parse_vote_value(value, f"{location}.{name}", by_rules)
    return msgspec.structs.replace(
        ballot,
        judge=str(entry.get("judge") or ""),
        run=run if entry.get("run") is None else str(entry["run"]),
        reason=str(entry.get("reason") or ""),
    )


def _parse_vote_value(value: Any, location: str, by_rules: bool) -> Ballot:
    if value is None:
        return Ballot()
    if isinstance(value, bool):
        return Ballot(yes=value)
    if isinstance(value, str):
        return _parse_vote_text(value, by_rules)
    if by_rules and isinstance(value, list | tuple) and all(map(_is_id, value)):
        return Ballot(rules=tuple(map(str, value)))
    if by_rules and isinstance(value, int):
        return Ballot(rules=(str(value),))
    _reject_vote(location, value, by_rules)


def _parse_vote_text(text: str, by_rules: bool) -> Ballot:
    """A word, ids joined by commas or printed as a list, or what a judge wrote."""
    word = text.strip().lower()
    if word in _WORDS:
        return Ballot(yes=_WORDS[word])
    if word in _SILENT:
        return Ballot()
    if by_rules:
        listed = word.startswith("[") and word.endswith("]")
        ids = [part.strip(" \t'\"") for part in text.strip().strip("[]").split(",")]
        if listed or _IDS.fullmatch(text.strip()):
            return Ballot(rules=tuple(filter(None, ids)))
    return _parse_written_reply(text, by_rules)


def _parse_written_reply(reply: str | dict[str, Any], by_rules: bool) -> Ballot:
    if by_rules:
        return Ballot(rules=parse_named_rules(reply))
    return Ballot(yes=says_yes(reply))


def _reject_vote(location: str, value: Any, by_rules: bool) -> NoReturn:
    allowed = _ALLOWED.format(rules=", a list of rule ids" if by_rules else "")
    raise UsageError(
        Note("recorded_no_vote", location=location, value=str(value)[:80], names=allowed)
    )

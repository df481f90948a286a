"""Reading the reply of a judge, strictly: one JSON object of the form asked for, or nothing.

The whole reply must be the object, once a leading reasoning block is cut away, and may stand in one
code fence. There is no search for an object or for the word "yes" within a text: a judge that
quotes the answer it was given must not vote with its words.
"""

from __future__ import annotations

import json
import re
from typing import Any

from evalcore.judges.records import Question, VoteWord
from evalcore.records import Record

#: Characters of a reason that are kept.
REASON_LIMIT = 2_000

_REASONING = re.compile(r"\A.*?</(?:think|thinking|reasoning)>", re.DOTALL | re.IGNORECASE)
_FENCED = re.compile(r"```(?:json)?[ \t]*\n(.*)\n[ \t]*```", re.DOTALL | re.IGNORECASE)
_WORDS: dict[str, VoteWord] = {"yes": "yes", "no": "no"}


class Reply(Record, frozen=True):
    """A reply in the form that was asked for."""

    vote: VoteWord
    rules: tuple[str, ...] = ()
    reason: str = ""


def parse_judge_reply(text: str, question: Question) -> Reply | None:
    """The vote that a reply casts; None where it is not in the form asked for."""
    fields = _parse_json_object(text)
    if fields is None:
        fields = _parse_json_object(_REASONING.sub("", text, count=1))
    if fields is None:
        return None
    reason = fields.get("reason")
    reason = reason[:REASON_LIMIT] if isinstance(reason, str) else ""
    if question.kind == "rules":
        return _build_rules_reply(fields, question, reason)
    word = fields.get("answer")
    vote = _WORDS.get(word.lower()) if isinstance(word, str) else None
    return Reply(vote=vote, reason=reason) if vote else None


def _build_rules_reply(fields: dict[str, Any], question: Question, reason: str) -> Reply | None:
    ids, rule_ids = fields.get("rules"), [rule.id for rule in question.rules]
    if not isinstance(ids, list) or not all(type(rule_id) in (str, int) for rule_id in ids):
        return None
    named = {str(rule_id) for rule_id in ids}
    if not named <= set(rule_ids):
        return None
    vote: VoteWord = "yes" if named.issuperset(question.deciding_rules) else "no"
    return Reply(
        vote=vote, rules=tuple(rule_id for rule_id in rule_ids if rule_id in named), reason=reason
    )


def _parse_json_object(text: str) -> dict[str, Any] | None:
    """The one object that a text consists of; None also where a field stands in it twice."""
    bare = text.strip()
    fenced = _FENCED.fullmatch(bare)
    try:
        value = json.loads(
            fenced[1] if fenced else bare, object_pairs_hook=_reject_duplicate_fields
        )
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _reject_duplicate_fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("a field stands twice")
    return fields

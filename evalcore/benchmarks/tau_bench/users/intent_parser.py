"""What an agent's message asks, proposes or claims, as far as words tell.

Nothing of it decides whether a goal was reached: the environment's write log does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from evalcore.benchmarks.tau_bench.users import lexicon
from evalcore.benchmarks.tau_bench.users.goals import IDENTITY, SLOTS, Slot
from evalcore.records import Record

_LONGEST = 12_000
_MOST_LINES = 200
_SPLIT = re.compile(r"(?<=[.!?。？！;；])\s+|(?<=[。？！])")
_BULLET = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s*")
_MAIL_ADDRESS = re.compile(r"(e-?mail) address(?:es)?")
_DRESSING = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "*": " ", "`": " ", "_": " "})
#: Calls and objects in braces are data, whose keys ask for nothing.
_BRACES = re.compile(r"\{[^{}]*\}")
_NESTED = 3
_DIGIT = re.compile(r"\d")
_IF_ASKING: Mapping[str, re.Pattern[str]] = {
    "identify": lexicon.IDENTIFY,
    "confirm": lexicon.CONFIRM,
}
_ALWAYS: Mapping[str, re.Pattern[str]] = {
    "intent": lexicon.INTENT,
    "more": lexicon.ELSE,
    "claims": lexicon.CLAIM,
    "waits": lexicon.WAIT,
    "filler": lexicon.FILLER,
    "question": re.compile("[?？]"),
}


class AgentIntent(Record, frozen=True):
    """One message understood. `asks` in the order of `SLOTS`; `confirm`: a yes is wanted; `number`:
    a digit is in it. A message that has none of the flags was not recognised."""

    asks: tuple[Slot, ...] = ()
    identify: bool = False
    confirm: bool = False
    intent: bool = False
    more: bool = False
    refuses: bool = False
    claims: bool = False
    waits: bool = False
    filler: bool = False
    question: bool = False
    number: bool = False

    @property
    def is_recognised(self) -> bool:
        return bool(self.asks or self.identify or self.confirm or self.intent or self.more) or (
            self.refuses or self.claims or self.waits or (self.filler and not self.question)
        )


def parse_agent_intent(text: str) -> AgentIntent:
    """What `text` means to a user; only its first 12,000 characters are read."""
    plain = text[:_LONGEST]
    for _ in range(_NESTED):
        plain = _BRACES.sub(" ", plain)
    plain = plain.translate(_DRESSING).lower()
    slots: set[Slot] = set()
    flags: dict[str, bool] = {}
    for sentence, in_list in _iter_sentences(plain):
        if in_list or (lexicon.REQUEST.search(sentence) and not _is_only_waiting(sentence)):
            slots |= find_asked_slots(sentence)
            _set_matching_flags(flags, _IF_ASKING, sentence)
        _set_matching_flags(flags, _ALWAYS, sentence)
        flags["refuses"] = flags.get("refuses", False) or _is_refusal(sentence)
    flags["identify"] = flags.get("identify", False) and not slots & IDENTITY
    asks = tuple(slot for slot in SLOTS if slot in slots)
    return AgentIntent(asks=asks, number=_DIGIT.search(plain) is not None, **flags)


def _iter_sentences(text: str) -> Iterator[tuple[str, bool]]:
    """The sentences, and whether each stands in a list that a request opened."""
    listing = gap = False
    for line in text.split("\n", _MOST_LINES)[:_MOST_LINES]:
        body = _BULLET.sub("", line).strip()
        bullet = _BULLET.match(line) is not None
        listing = listing and (bullet or not gap or not body)
        gap = not body
        for sentence in _SPLIT.split(body):
            if sentence.strip():
                yield sentence.strip(), listing
        if body.endswith((":", "：")) or "following" in body:
            listing, gap = lexicon.REQUEST.search(body) is not None, False


def find_asked_slots(sentence: str) -> set[Slot]:
    """The slots that one lower-cased sentence names."""
    sentence = _MAIL_ADDRESS.sub(r"\1", sentence)
    slots = {slot for slot, pattern in lexicon.ASKS.items() if pattern.search(sentence)}
    if "items" in slots and re.search(r"\bnew items?\b", sentence) and "which" not in sentence:
        slots.discard("items")
    return slots


def _is_only_waiting(sentence: str) -> bool:
    return lexicon.WAIT.search(sentence) is not None and "?" not in sentence


def _is_refusal(sentence: str) -> bool:
    return (
        lexicon.REFUSE.search(sentence) is not None
        and lexicon.WARNING.search(sentence) is None
        and lexicon.CANNOT_LOCATE.search(sentence) is None
    )


def _set_matching_flags(
    flags: dict[str, bool], patterns: Mapping[str, re.Pattern[str]], sentence: str
) -> None:
    for name, pattern in patterns.items():
        if not flags.get(name) and pattern.search(sentence):
            flags[name] = True

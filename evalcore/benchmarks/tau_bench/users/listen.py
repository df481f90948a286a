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


class Heard(Record, frozen=True):
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
    def recognised(self) -> bool:
        return bool(self.asks or self.identify or self.confirm or self.intent or self.more) or (
            self.refuses or self.claims or self.waits or (self.filler and not self.question)
        )


def listen(text: str) -> Heard:
    """What `text` means to a user; only its first 12,000 characters are read."""
    plain = text[:_LONGEST]
    for _ in range(_NESTED):
        plain = _BRACES.sub(" ", plain)
    plain = plain.translate(_DRESSING).lower()
    found: set[Slot] = set()
    flags: dict[str, bool] = {}
    for sentence, listed in _sentences(plain):
        if listed or (lexicon.REQUEST.search(sentence) and not _only_waits(sentence)):
            found |= asked(sentence)
            _note(flags, _IF_ASKING, sentence)
        _note(flags, _ALWAYS, sentence)
        flags["refuses"] = flags.get("refuses", False) or _refuses(sentence)
    flags["identify"] = flags.get("identify", False) and not found & IDENTITY
    asks = tuple(slot for slot in SLOTS if slot in found)
    return Heard(asks=asks, number=_DIGIT.search(plain) is not None, **flags)


def _sentences(text: str) -> Iterator[tuple[str, bool]]:
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


def asked(sentence: str) -> set[Slot]:
    """The slots that one lower-cased sentence names."""
    sentence = _MAIL_ADDRESS.sub(r"\1", sentence)
    found = {slot for slot, pattern in lexicon.ASKS.items() if pattern.search(sentence)}
    if "items" in found and re.search(r"\bnew items?\b", sentence) and "which" not in sentence:
        found.discard("items")
    return found


def _only_waits(sentence: str) -> bool:
    return lexicon.WAIT.search(sentence) is not None and "?" not in sentence


def _refuses(sentence: str) -> bool:
    return (
        lexicon.REFUSE.search(sentence) is not None
        and lexicon.WARNING.search(sentence) is None
        and lexicon.NOT_FOUND.search(sentence) is None
    )


def _note(flags: dict[str, bool], patterns: Mapping[str, re.Pattern[str]], sentence: str) -> None:
    for name, pattern in patterns.items():
        if not flags.get(name) and pattern.search(sentence):
            flags[name] = True

"""What an agent's message asks, proposes or claims, and whether that is what the user wants.

Nothing of it decides whether a goal was reached: the environment's write log does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from evalcore.benchmarks.tau_bench import user_lexicon
from evalcore.benchmarks.tau_bench.user_goals import IDENTITY, SLOTS, Goal, Kind, Scenario, Slot
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
    "identify": user_lexicon.IDENTIFY,
    "confirm": user_lexicon.CONFIRM,
}
_ALWAYS: Mapping[str, re.Pattern[str]] = {
    "intent": user_lexicon.INTENT,
    "more": user_lexicon.ELSE,
    "claims": user_lexicon.CLAIM,
    "waits": user_lexicon.WAIT,
    "filler": user_lexicon.FILLER,
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
        if in_list or (user_lexicon.REQUEST.search(sentence) and not _is_only_waiting(sentence)):
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
            listing, gap = user_lexicon.REQUEST.search(body) is not None, False


def find_asked_slots(sentence: str) -> set[Slot]:
    """The slots that one lower-cased sentence names."""
    sentence = _MAIL_ADDRESS.sub(r"\1", sentence)
    slots = {slot for slot, pattern in user_lexicon.ASKS.items() if pattern.search(sentence)}
    if "items" in slots and re.search(r"\bnew items?\b", sentence) and "which" not in sentence:
        slots.discard("items")
    return slots


def _is_only_waiting(sentence: str) -> bool:
    return user_lexicon.WAIT.search(sentence) is not None and "?" not in sentence


def _is_refusal(sentence: str) -> bool:
    return (
        user_lexicon.REFUSE.search(sentence) is not None
        and user_lexicon.WARNING.search(sentence) is None
        and user_lexicon.CANNOT_LOCATE.search(sentence) is None
    )


def _set_matching_flags(
    flags: dict[str, bool], patterns: Mapping[str, re.Pattern[str]], sentence: str
) -> None:
    for name, pattern in patterns.items():
        if not flags.get(name) and pattern.search(sentence):
            flags[name] = True


# A user holds what an agent says it will do against what the user wants. Only what the message
# names is compared: an id, address, amount, option or verb. A list of one's orders is no
# contradiction as long as the wanted one is in it, unless the sentence that proposes the action
# names another one too.

_ORDER = re.compile(r"#[A-Z]?\d{3,10}\b|\bW\d{5,9}\b")
_FLIGHT = re.compile(r"\b[A-Z]{2,3}\d{3,4}\b")
_RESERVATION = re.compile(r"\b(?=[A-Z0-9]{0,5}[0-9])(?=[0-9]{0,5}[A-Z])[A-Z0-9]{6}\b")
_PAYMENT = re.compile(r"\b(?:credit_card|paypal|gift_card|certificate)_\d+\b")
_STREET = re.compile(
    r"\b\d{1,5} (?:[A-Z]\w+ ){1,3}(?:Street|Avenue|Drive|Road|Lane|Boulevard|Way|Court|Place)\b"
)
_FIVE = re.compile(r"(?<![\w#.$-])\d{5}(?![\w-])")
_MONEY = re.compile(r"\$ ?(\d{1,7}(?:,\d{3}){0,3}(?:\.\d{1,2})?)")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_EXTRA = re.compile(
    r"\b(?:pay|charged?|differences?|extra|additional|costs?|fees?|total|price|due)\b"
)
_BACK = re.compile(r"\b(?:refund\w*|credited|back|receive)\b")
_REASONS = ("no longer needed", "ordered by mistake")
_SOURCES = {"paypal": "paypal", "gift card": "gift_card", "credit card": "credit_card"}
_CABINS = re.compile(r"\b(?:basic economy|economy|business|first class)\b")
#: What an agent says that it is about to do.
_ABOUT_TO = re.compile(
    r"\b(?:shall i|should i|shall we|i will|i'll|like me to|want me to|go ahead and|proceed to"
    r"|proceed with|confirm)(?: the| this| your| a| now| then)? (cancel|return|exchang|modif|chang"
    r"|updat|swap|replac|switch|book)"
)
_VERBS = {"cancel": "cancel", "return": "return", "book": "book"}
_FAMILY: dict[Kind, str] = {
    "cancel": "cancel",
    "return": "return",
    "book": "book",
    "compensation": "",
    "question": "",
}


class GoalComparison(Record, frozen=True):
    """`named`: the slots whose values a message names, right or wrong; `wrong`: those that
    contradict the goal; `wrong_verb`: another action is proposed; `amount`: the highest sum it asks
    the user to pay, in dollars; `choice`: slots of which it offers several values."""

    named: frozenset[Slot] = frozenset()
    wrong: tuple[Slot, ...] = ()
    wrong_verb: bool = False
    amount: float | None = None
    choice: frozenset[Slot] = frozenset()


def compare_to_goal(text: str, scenario: Scenario, goal: Goal) -> GoalComparison:
    """Holds one message against the goal; only its first 12,000 characters are read."""
    text = text[:_LONGEST]
    named_values: dict[Slot, set[str]] = {
        slot: values for slot, values in _find_named_values(text, scenario).items() if values
    }
    expected_values = _collect_expected_values(goal)
    wrong: list[Slot] = []
    for slot, right in expected_values.items():
        values = named_values.get(slot, set())
        if values and (right not in values or _is_contradicted(slot, text, scenario, goal)):
            wrong.append(slot)
    wrong += _find_wrong_flights(named_values, goal) + _find_wrong_payment(text, named_values, goal)
    parts: tuple[tuple[Slot, bool | None], ...] = (
        ("items", _check_items(text, goal)),
        ("options", _check_options(text, goal)),
    )
    for slot, right_part in parts:
        if right_part is not None:
            named_values[slot] = {slot}
        if right_part is False:
            wrong.append(slot)
    several = frozenset(slot for slot, values in named_values.items() if len(values) > 1)
    return GoalComparison(
        named=frozenset(named_values),
        wrong=tuple(wrong),
        wrong_verb=_has_other_verb(text, goal),
        amount=_find_highest_charge(text),
        choice=several,
    )


def _find_named_values(text: str, scenario: Scenario) -> dict[Slot, set[str]]:
    lowered = text.lower()
    return {
        "order": _find_order_ids(text, scenario),
        "payment": set(_PAYMENT.findall(text)),
        "reason": {reason for reason in _REASONS if reason in lowered},
        "address": set(_STREET.findall(text)),
        "cabin": set(_CABINS.findall(lowered)),
        "flight": set(_FLIGHT.findall(text)) if scenario.noun == "reservation" else set(),
    }


def _find_order_ids(text: str, scenario: Scenario) -> set[str]:
    """Ids of orders or reservations; of what looks like a flight only those that a goal has."""
    if scenario.noun == "order":
        return {_normalize_order_id(value) for value in _ORDER.findall(text)}
    goal_ids = {goal.order for goal in scenario.goals if goal.order and goal.order in text}
    return goal_ids | (set(_RESERVATION.findall(text)) - set(_FLIGHT.findall(text)))


def _collect_expected_values(goal: Goal) -> dict[Slot, str]:
    """The single right value by slot, written as `_find_named_values` does; a hidden one is not
    compared."""
    expected_values: dict[Slot, str] = {
        "order": _normalize_order_id(goal.order),
        "payment": goal.payment,
        "reason": goal.reason,
        "address": goal.address.get("address1", ""),
        "cabin": goal.details.get("cabin", "").lower(),
    }
    return {
        slot: value for slot, value in expected_values.items() if value and slot not in goal.hidden
    }


def _normalize_order_id(value: str) -> str:
    return value.lstrip("#")


def _is_contradicted(slot: Slot, text: str, scenario: Scenario, goal: Goal) -> bool:
    """Whether the right value stands beside one that makes the whole wrong."""
    if slot == "address":
        fives = set(_FIVE.findall(text))
        return bool(fives) and goal.address.get("zip", "") not in fives
    return slot == "order" and _has_other_order(text, scenario, goal)


def _has_other_order(text: str, scenario: Scenario, goal: Goal) -> bool:
    """Whether a sentence that proposes an action names an order that no goal is about."""
    goal_ids = {_normalize_order_id(each.order) for each in scenario.goals} | {
        _normalize_order_id(goal.order)
    }
    for sentence in _SENTENCE.split(text):
        lowered = sentence.lower()
        if _ABOUT_TO.search(lowered) and _find_order_ids(sentence, scenario) - goal_ids:
            return True
    return False


def _find_wrong_flights(named_values: Mapping[Slot, set[str]], goal: Goal) -> list[Slot]:
    """All flights of the goal must be named where any is."""
    expected_flights = set(_FLIGHT.findall(goal.details.get("flight", "")))
    named = named_values.get("flight")
    return (
        ["flight"]
        if named and not expected_flights <= named and "flight" not in goal.hidden
        else []
    )


def _find_wrong_payment(text: str, named_values: dict[Slot, set[str]], goal: Goal) -> list[Slot]:
    """A message without payment ids that speaks of one kind of payment only, the wrong one."""
    named = [source for words, source in _SOURCES.items() if words in text.lower()]
    if "payment" in named_values or len(named) != 1 or not goal.payment or "payment" in goal.hidden:
        return []
    named_values["payment"] = set(named)
    return [] if goal.payment.startswith(named[0]) else ["payment"]


def _check_items(text: str, goal: Goal) -> bool | None:
    """None: no product of the goal is named; False: not all of them are."""
    lowered = text.lower()
    named = [item.product.lower() in lowered for item in goal.items]
    return all(named) if any(named) else None


def _check_options(text: str, goal: Goal) -> bool | None:
    """None: no option that is to change is named; False: one is, without its wanted value."""
    lowered = text.lower().replace("_", " ")
    named, right = False, True
    about = [item for item in goal.items if item.product.lower() in lowered]
    for item in about or goal.items:
        for name, value in (item.change or {}).items():
            stated = re.search(rf"\b{re.escape(name.lower())}\b[\"'*]*\s?[:=]", lowered)
            if value.lower() in lowered:
                named = named or stated is not None
            elif stated:
                named, right = True, False
    return right if named else None


def _has_other_verb(text: str, goal: Goal) -> bool:
    own = _FAMILY.get(goal.kind, "change")
    if not own:
        return False
    verbs = {_VERBS.get(verb, "change") for verb in _ABOUT_TO.findall(text.lower())}
    return bool(verbs) and own not in verbs


def _find_highest_charge(text: str) -> float | None:
    sums = []
    for sentence in _SENTENCE.split(text):
        lowered = sentence.lower()
        if _EXTRA.search(lowered) and not _BACK.search(lowered):
            sums += [float(money.replace(",", "")) for money in _MONEY.findall(sentence)]
    return max(sums, default=None)

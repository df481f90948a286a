"""The instructions of the official retail TRAIN split, which follow one template, as scenarios.

An instruction is "Your name is N and your (zip code|email) is V. You are ADJECTIVES." and then
wishes: cancel, return, exchange, modify, change payment, change address. Manner is not simulated.
"""

from __future__ import annotations

import ast
import re

from evalcore.benchmarks.tau_bench.users.goals import Goal, Item, Kind, Scenario
from evalcore.errors import UsageError

_LONGEST = 20_000
_WHO = re.compile(
    r"Your name is (?P<name>[^.]+?) and your (?P<what>zip code|email) is (?P<value>\S+)\."
    r" You are [a-z, ]+\.\s*"
)
_DICT = r"\{[^{}]*\}"
_CANCEL = re.compile(r"Cancel order (#W\d+) because (no longer needed|ordered by mistake)\.\s*")
_RETURN = re.compile(r"Return (#W\d+) via (\w+): ")
_CHANGE = re.compile(r"For (#W\d+), (exchange|modify) ")
_PAYMENT = re.compile(r"For (#W\d+), change payment to (\w+)\.\s*")
_ADDRESS = re.compile(rf"For (#W\d+), change address to ({_DICT}) \(same as #W\d+\)\.\s*")
_RETURNED = re.compile(rf"(?P<product>[A-Z][\w -]*?)(?: (?P<options>{_DICT}))?;\s*")
_CHANGED = re.compile(
    rf"(?P<product>[A-Z][\w -]*?) (?P<options>{_DICT}) to (?P<change>{_DICT});\s*"
)
_VIA = re.compile(r"via (\w+)\.\s*")
_CHANGES: dict[str, Kind] = {"exchange": "exchange", "modify": "modify_items"}


def parse_train_instruction(instruction: str) -> Scenario:
    """The scenario of one instruction; raises UsageError where any of its text is left over."""
    who = _WHO.match(instruction)
    if who is None or len(instruction) > _LONGEST:
        raise UsageError("the instruction does not follow the template of the TRAIN split")
    identity_slot = "zip" if who["what"] == "zip code" else "email"
    goals, position = [], who.end()
    while position < len(instruction):
        goal, position = _parse_goal(instruction, position)
        goals.append(goal)
    return Scenario({"name": who["name"], identity_slot: who["value"]}, tuple(goals))


def _parse_goal(text: str, position: int) -> tuple[Goal, int]:
    if match := _CANCEL.match(text, position):
        return Goal("cancel", match[1], reason=match[2]), match.end()
    if match := _PAYMENT.match(text, position):
        return Goal("modify_payment", match[1], payment=match[2]), match.end()
    if match := _ADDRESS.match(text, position):
        address = {
            key: value for key, value in _parse_options(match[2]).items() if key != "order_id"
        }
        return Goal("modify_address", match[1], address=address), match.end()
    if match := _RETURN.match(text, position):
        items, end = _parse_items(_RETURNED, text, match.end())
        return Goal("return", match[1], items, match[2]), end
    if match := _CHANGE.match(text, position):
        items, end = _parse_items(_CHANGED, text, match.end())
        paid = _VIA.match(text, end)
        if paid:
            return Goal(_CHANGES[match[2]], match[1], items, paid[1]), paid.end()
    raise UsageError(f"the instruction is not understood from {text[position : position + 60]!r}")


def _parse_items(
    pattern: re.Pattern[str], text: str, position: int
) -> tuple[tuple[Item, ...], int]:
    items = []
    while match := pattern.match(text, position):
        parts = match.groupdict()
        change = parts.get("change")
        options = _parse_options(parts["options"] or "{}")
        items.append(
            Item(parts["product"], options, None if change is None else _parse_options(change))
        )
        position = match.end()
    if not items:
        raise UsageError(f"no item is named at {text[position : position + 60]!r}")
    return tuple(items), position


def _parse_options(text: str) -> dict[str, str]:
    """A literal of texts by text; nothing of it is evaluated."""
    try:
        options = ast.literal_eval(text)
    except (SyntaxError, ValueError):
        options = None
    if not isinstance(options, dict) or not all(
        isinstance(part, str) for pair in options.items() for part in pair
    ):
        raise UsageError(f"not an object of texts: {text[:60]!r}")
    return options

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


def parse_train(instruction: str) -> Scenario:
    """The scenario of one instruction; raises UsageError where any of its text is left over."""
    who = _WHO.match(instruction)
    if who is None or len(instruction) > _LONGEST:
        raise UsageError("the instruction does not follow the template of the TRAIN split")
    known = "zip" if who["what"] == "zip code" else "email"
    goals, at = [], who.end()
    while at < len(instruction):
        goal, at = _goal(instruction, at)
        goals.append(goal)
    return Scenario({"name": who["name"], known: who["value"]}, tuple(goals))


def _goal(text: str, at: int) -> tuple[Goal, int]:
    if found := _CANCEL.match(text, at):
        return Goal("cancel", found[1], reason=found[2]), found.end()
    if found := _PAYMENT.match(text, at):
        return Goal("modify_payment", found[1], payment=found[2]), found.end()
    if found := _ADDRESS.match(text, at):
        address = {key: value for key, value in _options(found[2]).items() if key != "order_id"}
        return Goal("modify_address", found[1], address=address), found.end()
    if found := _RETURN.match(text, at):
        items, end = _items(_RETURNED, text, found.end())
        return Goal("return", found[1], items, found[2]), end
    if found := _CHANGE.match(text, at):
        items, end = _items(_CHANGED, text, found.end())
        paid = _VIA.match(text, end)
        if paid:
            return Goal(_CHANGES[found[2]], found[1], items, paid[1]), paid.end()
    raise UsageError(f"the instruction is not understood from {text[at : at + 60]!r}")


def _items(pattern: re.Pattern[str], text: str, at: int) -> tuple[tuple[Item, ...], int]:
    items = []
    while found := pattern.match(text, at):
        parts = found.groupdict()
        change = parts.get("change")
        options = _options(parts["options"] or "{}")
        items.append(Item(parts["product"], options, None if change is None else _options(change)))
        at = found.end()
    if not items:
        raise UsageError(f"no item is named at {text[at : at + 60]!r}")
    return tuple(items), at


def _options(text: str) -> dict[str, str]:
    """A literal of texts by text; nothing of it is evaluated."""
    try:
        found = ast.literal_eval(text)
    except (SyntaxError, ValueError):
        found = None
    if not isinstance(found, dict) or not all(
        isinstance(part, str) for pair in found.items() for part in pair
    ):
        raise UsageError(f"not an object of texts: {text[:60]!r}")
    return found

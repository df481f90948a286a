"""Filling a service's request from a case, and reading its replies: pure functions over JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from evalcore.records import content_hash
from evalcore.targets.application_card import Branch, Condition

#: What a value that goes into an address may look like: an id, never a path.
_IDENTIFIER = re.compile(r"[A-Za-z0-9_.:=+~@-]{1,200}")
_PLACEHOLDER = re.compile(r"\$(?:(\$)|([A-Za-z_][A-Za-z0-9_]*))")
_STEP = re.compile(r"\.?([^.\[\]]+)|\[(-?\d+|\*)\]")
_INDEX = re.compile(r"-?\d+")


class MissingValue(LookupError):
    """A placeholder or path for which there is no value; says which."""


def at(reply: Any, path: str) -> Any:
    """The value at a path such as `data.steps[-1].sql` (`$.` before it and `.0` for `[0]` are taken
    too), None where there is none; after `[*]` a list of the values in every item."""
    steps = [index or name for name, index in _STEP.findall(path.removeprefix("$.").lstrip("$"))]
    return _walk(reply, steps)


def _walk(found: Any, steps: list[str]) -> Any:
    for number, step in enumerate(steps):
        if step == "*":
            return [
                _walk(item, steps[number + 1 :])
                for item in (found if isinstance(found, list) else ())
            ]
        if isinstance(found, list) and _INDEX.fullmatch(step):
            index = int(step)
            found = found[index] if -len(found) <= index < len(found) else None
        else:
            found = found.get(step) if isinstance(found, dict) else None
    return found


def holds(condition: Condition, reply: Any) -> bool:
    """Whether a condition holds for a reply; true and 1 are told apart."""
    found = at(reply, condition.path)
    if condition.present is not None:
        return (found is not None) == condition.present
    if condition.one_of is not None:
        return _among(found, condition.one_of)
    return not _among(found, condition.none_of or ())


def first(conditions: Iterable[Condition], reply: Any) -> Condition | None:
    return next((condition for condition in conditions if holds(condition, reply)), None)


def _among(found: Any, values: Iterable[Any]) -> bool:
    return any(type(found) is type(value) and found == value for value in values)


def answer(branch: Branch, reply: Any) -> str:
    """The answer in a reply, empty where it holds none. The input never stands in for one."""
    found = at(reply, branch.extract)
    parts = found if isinstance(found, list) else [found]
    text = "\n".join(part for part in parts if isinstance(part, str) and part.strip())
    words = (said.text for said in branch.say if all(holds(c, reply) for c in said.when))
    return text or next(words, "")


def values_of(given: Mapping[str, Any], branch: Branch) -> dict[str, Any]:
    """What placeholders stand for: the case's input, in the service's words where they differ.

    `case_id` is made from the input, so that it tells cases apart and nothing else. Raises
    MissingValue for a value that the description does not know to rename.
    """
    values = {"case_id": content_hash(given), **given}
    for field, words in branch.rename.items():
        values[field] = _renamed(field, str(given.get(field, "")), words)
    return values


def _renamed(field: str, value: str, words: Mapping[str, str]) -> str:
    """The service's word for a value or, failing that, for its longest known beginning."""
    folded = value.casefold()
    fitting = [ours for ours in words if folded.startswith(ours.casefold())]
    if not fitting:
        raise MissingValue(f"the service has no word for {field} {value!r}")
    return words[max(fitting, key=len)]


def fill(template: Any, values: Mapping[str, Any]) -> Any:
    """A template with its placeholders replaced; raises MissingValue for an unknown one.

    A text that is nothing but a placeholder takes the value with its type, else a list becomes text
    as in `as_text`.
    """
    if isinstance(template, dict):
        return {name: fill(part, values) for name, part in template.items()}
    if isinstance(template, list):
        return [fill(part, values) for part in template]
    if not isinstance(template, str):
        return template
    whole = _PLACEHOLDER.fullmatch(template)
    if whole and whole[2]:
        return _value(whole[2], values)
    return fill_text(template, values)


def fill_text(template: str, values: Mapping[str, Any]) -> str:
    return _PLACEHOLDER.sub(lambda m: m[1] or as_text(_value(m[2], values)), template)


def fill_address(template: str, values: Mapping[str, Any]) -> str:
    """A path with its placeholders replaced; a value that is no plain id raises MissingValue."""

    def one(match: re.Match[str]) -> str:
        text = match[1] or as_text(_value(match[2], values))
        if not match[1] and (not _IDENTIFIER.fullmatch(text) or set(text) == {"."}):
            raise MissingValue(f"the value of ${match[2]} is no id that an address can hold")
        return quote(text, safe="")

    return _PLACEHOLDER.sub(one, template)


def as_text(value: Any) -> str:
    """A value of a case's input as text: lists hold statements, which become one script."""
    if isinstance(value, list | tuple):
        return "\n".join(f"{str(part).rstrip().removesuffix(';')};" for part in value)
    return "" if value is None else str(value)


def _value(name: str, values: Mapping[str, Any]) -> Any:
    if name not in values:
        known = ", ".join(f"${known}" for known in sorted(values))
        raise MissingValue(f"there is no ${name} for this case; there is: {known}")
    return values[name]

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


def find_value(reply: Any, path: str) -> Any:
    """The value at a path such as `data.steps[-1].sql` (`$.` before it and `.0` for `[0]` are taken
    too), None where there is none; after `[*]` a list of the values in every item."""
    steps = [index or name for name, index in _STEP.findall(path.removeprefix("$.").lstrip("$"))]
    return _walk_path(reply, steps)


def _walk_path(value: Any, steps: list[str]) -> Any:
    for number, step in enumerate(steps):
        if step == "*":
            return [
                _walk_path(item, steps[number + 1 :])
                for item in (value if isinstance(value, list) else ())
            ]
        if isinstance(value, list) and _INDEX.fullmatch(step):
            index = int(step)
            value = value[index] if -len(value) <= index < len(value) else None
        else:
            value = value.get(step) if isinstance(value, dict) else None
    return value


def is_condition_met(condition: Condition, reply: Any) -> bool:
    """Whether a condition holds for a reply; true and 1 are told apart."""
    value = find_value(reply, condition.path)
    if condition.present is not None:
        return (value is not None) == condition.present
    if condition.any_of is not None:
        return _is_in_values(value, condition.any_of)
    return not _is_in_values(value, condition.none_of or ())


def find_met_condition(conditions: Iterable[Condition], reply: Any) -> Condition | None:
    return next((condition for condition in conditions if is_condition_met(condition, reply)), None)


def _is_in_values(candidate: Any, values: Iterable[Any]) -> bool:
    return any(type(candidate) is type(value) and candidate == value for value in values)


def extract_service_answer(branch: Branch, reply: Any) -> str:
    """The answer in a reply, empty where it holds none. The input never stands in for one."""
    extracted = find_value(reply, branch.extract)
    parts = extracted if isinstance(extracted, list) else [extracted]
    text = "\n".join(part for part in parts if isinstance(part, str) and part.strip())
    words = (
        fallback.text
        for fallback in branch.say
        if all(is_condition_met(c, reply) for c in fallback.when)
    )
    return text or next(words, "")


def build_template_values(sample_input: Mapping[str, Any], branch: Branch) -> dict[str, Any]:
    """What placeholders stand for: the case's input, in the service's words where they differ.

    `case_id` is made from the input, so that it tells cases apart and nothing else. Raises
    MissingValue for a value that the description does not know to rename.
    """
    values = {"case_id": content_hash(sample_input), **sample_input}
    for field, words in branch.rename.items():
        values[field] = _translate_value(field, str(sample_input.get(field, "")), words)
    return values


def _translate_value(field: str, value: str, words: Mapping[str, str]) -> str:
    """The service's word for a value or, failing that, for its longest known beginning."""
    folded = value.casefold()
    fitting = [ours for ours in words if folded.startswith(ours.casefold())]
    if not fitting:
        raise MissingValue(f"the service has no word for {field} {value!r}")
    return words[max(fitting, key=len)]


def fill_template(template: Any, values: Mapping[str, Any]) -> Any:
    """A template with its placeholders replaced; raises MissingValue for an unknown one.

    A text that is nothing but a placeholder takes the value with its type, else a list becomes text
    as in `as_text`.
    """
    if isinstance(template, dict):
        return {name: fill_template(part, values) for name, part in template.items()}
    if isinstance(template, list):
        return [fill_template(part, values) for part in template]
    if not isinstance(template, str):
        return template
    whole = _PLACEHOLDER.fullmatch(template)
    if whole and whole[2]:
        return _get_template_value(whole[2], values)
    return fill_text(template, values)


def fill_text(template: str, values: Mapping[str, Any]) -> str:
    return _PLACEHOLDER.sub(lambda m: m[1] or as_text(_get_template_value(m[2], values)), template)


def fill_address(template: str, values: Mapping[str, Any]) -> str:
    """A path with its placeholders replaced; a value that is no plain id raises MissingValue."""

    def replace_placeholder(match: re.Match[str]) -> str:
        text = match[1] or as_text(_get_template_value(match[2], values))
        if not match[1] and (not _IDENTIFIER.fullmatch(text) or set(text) == {"."}):
            raise MissingValue(f"the value of ${match[2]} is no id that an address can hold")
        return quote(text, safe="")

    return _PLACEHOLDER.sub(replace_placeholder, template)


def as_text(value: Any) -> str:
    """A value of a case's input as text: lists hold statements, which become one script."""
    if isinstance(value, list | tuple):
        return "\n".join(f"{str(part).rstrip().removesuffix(';')};" for part in value)
    return "" if value is None else str(value)


def _get_template_value(name: str, values: Mapping[str, Any]) -> Any:
    if name not in values:
        available = ", ".join(f"${available}" for available in sorted(values))
        raise MissingValue(f"there is no ${name} for this case; there is: {available}")
    return values[name]

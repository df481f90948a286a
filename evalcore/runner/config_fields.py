"""What a configuration file may hold; all unknown fields are named at once, with their paths."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from evalcore import catalog
from evalcore.errors import FileError, UsageError, join_notes, suggest_name
from evalcore.i18n import Note
from evalcore.intake.files import find_field_lines, read_document
from evalcore.records import R

T = TypeVar("T")
_OVERRIDES = "benchmark_overrides"
#: Options of every benchmark, which no card declares.
_COMMON = ("prompt", "data_path")
_PREFIXES = ("weights.", "difficulty.")
#: Another name of an option, by the benchmark: slm-evals' for ours.
_OTHER_NAMES = {"swe_bench": {"difficulty": "difficulties"}}
#: Fields by the names that their flags, and the arguments of Python, have.
_FLAGS = {"option": _OVERRIDES, "options": _OVERRIDES, "judge": "judges"}
#: What slm-evals calls all of its benchmarks.
ALL = "all"


def list_slm_benchmarks() -> tuple[str, ...]:
    """What slm-evals means by all of its benchmarks: the suite `agentic` as it began."""
    return catalog.suite_cards()["agentic"].memberships[0]


def read_config_fields(path: Path, names: Collection[str]) -> dict[str, Any]:
    """The fields of a file. Raises UsageError naming each that is unknown, with its path."""
    values = _read_foreign_form(path, read_document(path))
    if problems := list(_iter_unknown_fields(values, names)):
        lines = find_field_lines(path)
        raise FileError(path, join_notes([_add_line(field, p, lines) for field, p in problems]))
    for name in ("benchmarks", "metrics", "judges"):
        values |= {name: [values[name]]} if isinstance(values.get(name), str) else {}
    if values.get("benchmarks") == [ALL]:
        values["benchmarks"] = list(list_slm_benchmarks())
    return values


def _read_foreign_form(path: Path, values: dict[str, Any]) -> dict[str, Any]:
    """The fields of a file, where it has the form of a benchmark's own too."""
    for card in catalog.benchmark_cards().values():
        if card.config_reader and any(name in values for name in card.config_fields):
            read: dict[str, Any] = catalog.call_reference(
                card.config_reader, card.key, path, values
            )
            return read
    return values


def convert_fields(values: Mapping[str, Any], kind: type[R], path: Path | None = None) -> R:
    """Values as a record. Raises UsageError naming a value of another type: the line of a file,
    or the argument of a function."""
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        field, problem = _describe_mismatch(error)
    if path is None:
        raise UsageError(problem)
    raise FileError(path, _add_line(field, problem, find_field_lines(path)))


def convert_value(name: str, value: Any, kind: type[T]) -> T:
    """The value of an argument; raises UsageError for one of another type."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise UsageError(_describe_mismatch(error, name)[1]) from None


def _describe_mismatch(error: msgspec.ValidationError, name: str = "") -> tuple[str, str]:
    """The path of a value, or the `name` of it whole, and what is wrong with its type."""
    problem, _, path = str(error).partition(" - at `$")
    field = f"{name}{path.rstrip('`').replace('[...]', '')}".removeprefix(".")
    kinds = {
        "str": Note("kind_text"),
        "int": Note("kind_whole"),
        "float": Note("kind_number"),
        "bool": Note("kind_truth"),
        "array": Note("kind_list"),
        "object": Note("kind_fields"),
        "null": Note("kind_none"),
    }
    match = re.fullmatch(r"Expected `(.+)`, got `(.+)`", problem)
    if match is None:
        return field, Note("located", location=field, problem=problem)
    expected = [kinds.get(part, part) for part in match[1].split(" | ") if part != "null"]
    kind = expected[0]
    for other in expected[1:]:
        kind = Note("kind_either", first=kind, second=other)
    got = kinds.get(match[2], match[2])
    return field, Note("argument_type", name=field, kind=kind, got=got)


def _add_line(field: str, problem: str, lines: Mapping[str, int]) -> str:
    name = re.sub(r"\[\d+\]", "", field)
    line = next((lines[at] for at in (name, name.rpartition(".")[0]) if at in lines), 0)
    return Note("on_line", line=line, problem=problem) if line else problem


def _iter_unknown_fields(
    values: Mapping[str, Any], names: Collection[str]
) -> Iterator[tuple[str, str]]:
    """The path of each field that is unknown, and what is wrong with it."""
    for name in values:
        if name not in names:
            yield _describe_unknown(str(name), str(name), names)
    overrides = values.get(_OVERRIDES)
    if not isinstance(overrides, dict):
        return
    cards = catalog.benchmark_cards()
    for key, options in overrides.items():
        if key not in cards:
            yield _describe_unknown(f"{_OVERRIDES}.{key}", str(key), cards)
            continue
        known = [option.name for option in cards[key].options]
        for name in options if isinstance(options, dict) else ():
            text = str(name)
            if text in (*known, *_COMMON, *_OTHER_NAMES.get(key, {})) or text.startswith(_PREFIXES):
                continue
            yield _describe_unknown(f"{_OVERRIDES}.{key}.{text}", text, [*known, *_COMMON])


def _describe_unknown(path: str, name: str, known: Collection[str]) -> tuple[str, str]:
    problem = Note("config_field", name=path, names=", ".join(known))
    return path, suggest_name(problem, _FLAGS.get(name, name), known)


def rename_options(key: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a benchmark under our names."""
    renamed = _OTHER_NAMES.get(key, {})
    return {renamed.get(name, name): value for name, value in options.items()}


def check_model_type(model_type: str, path: Path | str) -> None:
    """Raises UsageError for a model of slm-evals that is no model of transformers."""
    if model_type in ("", "auto", "hf"):
        return
    if model_type == "ensemble":
        raise UsageError(Note("config_ensemble", path=path))
    raise UsageError(Note("config_model_type", path=path, value=model_type))

"""What a configuration file may hold; all unknown fields are named at once, with their paths."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from evalcore import catalog
from evalcore.errors import FileError, UsageError
from evalcore.i18n import Note
from evalcore.intake.files import read_document

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
    problems = list(_iter_unknown_fields(values, names))
    if problems:
        raise FileError(path, "; ".join(problems))
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


def _iter_unknown_fields(values: Mapping[str, Any], names: Collection[str]) -> Iterator[str]:
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


def _describe_unknown(path: str, name: str, known: Collection[str]) -> str:
    alike = [_FLAGS[name]] if name in _FLAGS else difflib.get_close_matches(name, known, 1)
    hint = f" (did you mean {alike[0]}?)" if alike else ""
    return f"unknown field {path!r}{hint}; known: {', '.join(known)}"


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

"""Convert entries to samples and back, and flag official entries that no right answer can pass.

What depends on the order of its keys travels as JSON text, because journals sort keys.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.bfcl.agentic import describe_material, find_api_name, find_material
from evalcore.benchmarks.bfcl.categories import AGENTIC, MULTI_TURN
from evalcore.benchmarks.bfcl.entry import BfclEntry, load_file, load_folder
from evalcore.benchmarks.bfcl.multi_turn.simulators import (
    find_installation,
    list_involved_classes,
    load_documents,
)
from evalcore.records import Record, Sample
from evalcore.settings import relative_to_root

# Official entries that a right answer cannot pass, with the reason; a board may exclude them.

Defect = Literal["unsatisfiable", "java_array", "java_list", "java_map", "java_map_in_prompt"]


class Flag(Record, frozen=True):
    """Why an entry is flagged. `defect` is also the key of its text in the catalogues."""

    defect: Defect
    reason: str


_EMPTY_ANSWERS = "The list of accepted values of a given argument is empty: every value is wrong."
_UNKNOWN_PARAMETER = (
    "The reference demands an argument that the function's schema does not have: with it the call "
    "has an unexpected argument, without it a missing one."
)
_QUOTES_RETAINED = (
    "The official check keeps the quotes of the elements of `new String[]{...}`, so that correct "
    "Java fails and only an array of bare words, which does not compile, passes."
)

_ELEMENTS_AS_TEXT = (
    "The elements of an ArrayList of `any` are compared as text, so that the reference's numbers "
    "and booleans are never matched."
)
_BARE_REFERENCE = (
    "The reference gives a map's value where a list of accepted values belongs: the right map "
    "fails, an empty one passes."
)
_BODY_DROPPED = (
    "In prompt mode the official decoder drops the body of `new HashMap<>() {{ put(...); }}`, so "
    "that the map arrives empty and the right answer fails; as a native tool call it passes."
)

#: Flagged entries by id.
FLAGGED: MappingProxyType[str, Flag] = MappingProxyType(
    {
        "live_simple_106-63-0": Flag("unsatisfiable", _EMPTY_ANSWERS),
        "live_simple_112-68-0": Flag("unsatisfiable", _EMPTY_ANSWERS),
        "live_multiple_862-181-3": Flag("unsatisfiable", _UNKNOWN_PARAMETER),
        "live_multiple_964-207-0": Flag("unsatisfiable", _UNKNOWN_PARAMETER),
        **{
            f"simple_java_{number}": Flag("java_array", _QUOTES_RETAINED)
            for number in (35, 78, 83, 85, 86, 89, 90, 91)
        },
        **{f"simple_java_{number}": Flag("java_list", _ELEMENTS_AS_TEXT) for number in (36, 65)},
        "simple_java_64": Flag("java_map", _BARE_REFERENCE),
        **{
            f"simple_java_{number}": Flag("java_map_in_prompt", _BODY_DROPPED)
            for number in (1, 67, 68)
        },
    }
)


# Entries as samples and back, with what keeps the order of their keys as JSON text.
# The order in which a schema lists its parameters is part of the prompt, that of a ground truth
# decides which error comes first, and that of a scenario what its files are; journals sort keys.

Documents = Callable[[str], Iterable[dict[str, Any]]]

#: Fields of a multi-turn entry that its run needs and the target must not see.
_HIDDEN = ("involved_classes", "missed_function")
#: Fields of our own entries that are about them.
_ABOUT = ("difficulty_level", "note", "counterexamples", "variants")


def load_bfcl_samples(
    source: DatasetSource, categories: Sequence[str], exclude_flagged: bool
) -> list[Sample]:
    """The samples of an official or bundled folder or file, of some categories (none: all). Raises
    DatasetError naming file, line and field."""
    selected = source.metrics or tuple(categories)
    if source.folder.is_dir():
        entries = load_folder(source.folder, selected)
    else:
        entries = [e for e in load_file(source.folder) if not selected or e.category in selected]
    if exclude_flagged:
        entries = [entry for entry in entries if entry.id not in FLAGGED]
    folder = source.folder if source.folder.is_dir() else source.folder.parent
    documents = cache(partial(load_documents, folders=[folder], official=find_installation()))
    describe = cache(describe_material)

    def to_sample(entry: BfclEntry) -> Sample:
        functions = _list_available_functions(entry, documents)
        if entry.category not in AGENTIC:
            return _entry_to_sample(entry, functions)
        path = find_material(entry, folder)
        return _agentic_to_sample(entry, functions, path, describe(path))

    return [to_sample(entry) for entry in entries]


def sample_to_entry(sample: Sample) -> BfclEntry:
    reference = sample.reference
    extra = {name: reference[name] for name in _HIDDEN if name in reference}
    if "scenario" in reference:
        extra["initial_config"] = json.loads(reference["scenario"])
    if sample.metric in AGENTIC:
        extra["involved_classes"] = [find_api_name(sample.metric)]
    truth = reference.get("ground_truth")
    return BfclEntry(
        sample.id,
        sample.metric,
        sample.input["question"],
        msgspec.json.decode(sample.input["functions"]),
        truth if truth is None else msgspec.json.decode(truth),
        extra,
    )


def _entry_to_sample(entry: BfclEntry, functions: list[dict[str, Any]]) -> Sample:
    reference: dict[str, Any] = {}
    if entry.ground_truth is not None:
        reference["ground_truth"] = _encode_json_text(entry.ground_truth)
    if entry.category in MULTI_TURN:
        reference |= {name: entry.extra[name] for name in _HIDDEN if name in entry.extra}
        reference["scenario"] = _encode_json_text(entry.extra.get("initial_config", {}))
    meta = {name: entry.extra[name] for name in _ABOUT if name in entry.extra}
    meta |= {"source": entry.source} if entry.source else {}
    if entry.id in FLAGGED:
        meta["flagged"] = FLAGGED[entry.id].defect
    return Sample(
        metric=entry.category,
        id=entry.id,
        input={"question": entry.question, "functions": _encode_json_text(functions)},
        reference=reference,
        meta=meta,
    )


def _agentic_to_sample(
    entry: BfclEntry, functions: list[dict[str, Any]], path: Path | None, material: dict[str, str]
) -> Sample:
    """What the question is about lies in a file, whose hash belongs to the case."""
    sample = _entry_to_sample(entry, functions)
    where = {"material": relative_to_root(path)} if path else {}
    return replace(sample, reference=sample.reference | material, meta=sample.meta | where)


def _list_available_functions(entry: BfclEntry, documents: Documents) -> list[dict[str, Any]]:
    """What is offered: of a multi-turn entry the tools of its APIs, in the order of its classes."""
    if entry.category in AGENTIC:
        return list(documents(find_api_name(entry.category)))
    if entry.category not in MULTI_TURN:
        return entry.functions
    return [document for name in list_involved_classes(entry) for document in documents(name)]


def _encode_json_text(value: Any) -> str:
    return msgspec.json.encode(value).decode()

"""Entries as samples and back, with what keeps the order of their keys as JSON text.

The order in which a schema lists its parameters is part of the prompt, that of a ground truth
decides which error comes first, and that of a scenario what its files are; journals sort keys.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from typing import Any

import msgspec

from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.bfcl.categories import MULTI_TURN
from evalcore.benchmarks.bfcl.entry import BfclEntry, load_file, load_folder
from evalcore.benchmarks.bfcl.flagged import FLAGGED
from evalcore.benchmarks.bfcl.multi_turn.apis import find_installation, load_documents
from evalcore.benchmarks.bfcl.multi_turn.simulators import list_involved_classes
from evalcore.records import Sample

Documents = Callable[[str], Iterable[dict[str, Any]]]

#: Fields of a multi-turn entry that its run needs and the target must not see.
_HIDDEN = ("involved_classes", "missed_function")
#: Fields of our own entries that are about them.
_ABOUT = ("difficulty_level", "note", "counterexamples", "variants")


def load_bfcl_samples(
    source: DatasetSource, categories: Sequence[str], exclude_flagged: bool
) -> list[Sample]:
    """The samples of an official or bundled folder or file, of some categories (none: all).

    Raises DatasetError naming file, line and field.
    """
    selected = source.metrics or tuple(categories)
    if source.folder.is_dir():
        entries = load_folder(source.folder, selected)
    else:
        entries = [e for e in load_file(source.folder) if not selected or e.category in selected]
    if exclude_flagged:
        entries = [entry for entry in entries if entry.id not in FLAGGED]
    folder = source.folder if source.folder.is_dir() else source.folder.parent
    documents = cache(partial(load_documents, folders=[folder], official=find_installation()))
    return [
        _entry_to_sample(entry, _list_available_functions(entry, documents)) for entry in entries
    ]


def sample_to_entry(sample: Sample) -> BfclEntry:
    """The entry that a sample was made of."""
    reference = sample.reference
    extra = {name: reference[name] for name in _HIDDEN if name in reference}
    if "scenario" in reference:
        extra["initial_config"] = json.loads(reference["scenario"])
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


def _list_available_functions(entry: BfclEntry, documents: Documents) -> list[dict[str, Any]]:
    """What is offered: of a multi-turn entry the tools of its APIs, in the order of its classes."""
    if entry.category not in MULTI_TURN:
        return entry.functions
    return [document for name in list_involved_classes(entry) for document in documents(name)]


def _encode_json_text(value: Any) -> str:
    return msgspec.json.encode(value).decode()

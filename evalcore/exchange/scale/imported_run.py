"""One imported run: its records, its journals, and what was published beside them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from evalcore.exchange.scale.claims import PUBLISHER, Capability
from evalcore.exchange.scale.forms import Model
from evalcore.exchange.scale.shelf import Shelf
from evalcore.records import RunSpec, RunSummary, TargetSpec, content_hash, to_json
from evalcore.store.published import Published

SCORING = "published"
PREFIX = "scale"  # of the keys of its targets and of run ids
_NOT_IN_A_NAME = re.compile(r"[^a-z0-9_.-]+")

Made = Mapping[str, Capability]


def run_id_of(month: str, model: str) -> str:
    """Readable, and different for ids that differ in nothing but case or signs."""
    plain = _NOT_IN_A_NAME.sub("-", model.lower())[:50]
    mark = "" if plain == model else f"-{content_hash(model, 8)}"
    return f"{PREFIX}-{month}-{plain}{mark}"


def published(month: str, model: Model, made: Made, shelf: Shelf) -> Published:
    """The whole run, its files on the shelf; equal sources give equal runs."""
    facts: dict[str, Any] = msgspec.to_builtins(model)
    del facts["scores"]
    return Published(
        publisher=PUBLISHER,
        month=month,
        files=_files(month, model, made, shelf),
        scores={name: one.told for name, one in made.items()},
        facts=facts,
    )


def _files(month: str, model: Model, made: Made, shelf: Shelf) -> dict[str, str]:
    """The digest of each file by its name within the run folder."""
    full = {name: one.contents for name, one in made.items() if one.contents}
    files = {f"generations/{name}.jsonl": contents.episodes for name, contents in full.items()}
    for name, contents in full.items():
        files[f"verdicts/{SCORING}/{name}.jsonl"] = contents.verdicts
    samples = b"".join(shelf.get(contents.samples) for contents in full.values())
    spec, summary = _records(month, model, made)
    return files | {
        "samples.jsonl": shelf.put(samples),
        "spec.json": shelf.put(to_json(spec)),
        "summary.json": shelf.put(to_json(summary)),
    }


def _records(month: str, model: Model, made: Made) -> tuple[RunSpec, RunSummary]:
    run_id, created = run_id_of(month, model.id), f"{month}-01T00:00:00.000+00:00"
    target = TargetSpec(key=f"{PREFIX}:{model.id}")
    spec = RunSpec(
        run_id=run_id,
        created_at=created,
        target=target,
        benchmarks=tuple(one.spec for one in made.values()),
        origin="imported",
        note=_note(month, made),
    )
    summary = RunSummary(
        run_id=run_id,
        target=target,
        state="done",
        scoring=SCORING,
        benchmarks={name: one.score for name, one in made.items()},
        created_at=created,
        finished_at=created,
        origin="imported",
    )
    return spec, summary


def _note(month: str, made: Made) -> str:
    kinds = dict.fromkeys(flag.kind for one in made.values() for flag in one.told.flags)
    flagged = f"; flags: {', '.join(kinds)}" if kinds else ""
    return f"Published by {PUBLISHER} for {month}{flagged}"

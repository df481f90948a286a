"""One imported run: its records, its journals, and what was published beside them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from evalcore.exchange.scale.blob_store import BlobStore
from evalcore.exchange.scale.claims import PUBLISHER, PublishedCapability
from evalcore.exchange.scale.forms import ScaleModel
from evalcore.records import RunSpec, RunSummary, TargetSpec, content_hash, to_json
from evalcore.store.published import Published

SCORING = "published"
PREFIX = "scale"  # of the keys of its targets and of run ids
_NOT_IN_A_NAME = re.compile(r"[^a-z0-9_.-]+")

CapabilityMap = Mapping[str, PublishedCapability]


def run_id_of(month: str, model: str) -> str:
    """Readable, and different for ids that differ in nothing but case or signs."""
    plain = _NOT_IN_A_NAME.sub("-", model.lower())[:50]
    mark = "" if plain == model else f"-{content_hash(model, 8)}"
    return f"{PREFIX}-{month}-{plain}{mark}"


def build_scale_run(
    month: str, model: ScaleModel, capabilities: CapabilityMap, blobs: BlobStore
) -> Published:
    """The whole run, its files on the shelf; equal sources give equal runs."""
    facts: dict[str, Any] = msgspec.to_builtins(model)
    del facts["scores"]
    return Published(
        publisher=PUBLISHER,
        month=month,
        files=_build_run_files(month, model, capabilities, blobs),
        scores={name: capability.published for name, capability in capabilities.items()},
        facts=facts,
    )


def _build_run_files(
    month: str, model: ScaleModel, capabilities: CapabilityMap, blobs: BlobStore
) -> dict[str, str]:
    """The digest of each file by its name within the run folder."""
    full = {
        name: capability.contents
        for name, capability in capabilities.items()
        if capability.contents
    }
    files = {f"generations/{name}.jsonl": contents.episodes for name, contents in full.items()}
    for name, contents in full.items():
        files[f"verdicts/{SCORING}/{name}.jsonl"] = contents.verdicts
    samples = b"".join(blobs.get(contents.samples) for contents in full.values())
    spec, summary = _build_scale_records(month, model, capabilities)
    return files | {
        "samples.jsonl": blobs.put(samples),
        "spec.json": blobs.put(to_json(spec)),
        "summary.json": blobs.put(to_json(summary)),
    }


def _build_scale_records(
    month: str, model: ScaleModel, capabilities: CapabilityMap
) -> tuple[RunSpec, RunSummary]:
    run_id, created = run_id_of(month, model.id), f"{month}-01T00:00:00.000+00:00"
    target = TargetSpec(key=f"{PREFIX}:{model.id}")
    spec = RunSpec(
        run_id=run_id,
        created_at=created,
        target=target,
        benchmarks=tuple(capability.spec for capability in capabilities.values()),
        origin="imported",
        note=_build_scale_note(month, capabilities),
    )
    summary = RunSummary(
        run_id=run_id,
        target=target,
        state="done",
        scoring=SCORING,
        benchmarks={name: capability.score for name, capability in capabilities.items()},
        created_at=created,
        finished_at=created,
        origin="imported",
    )
    return spec, summary


def _build_scale_note(month: str, capabilities: CapabilityMap) -> str:
    kinds = dict.fromkeys(
        flag.kind for capability in capabilities.values() for flag in capability.published.flags
    )
    flagged = f"; flags: {', '.join(kinds)}" if kinds else ""
    return f"Published by {PUBLISHER} for {month}{flagged}"

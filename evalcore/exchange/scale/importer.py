"""Import what SCALE published, one run per model and month."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from evalcore.errors import UsageError
from evalcore.exchange.scale.cases import ContentsBuilder
from evalcore.exchange.scale.claims import PUBLISHER, Month, PublishedCapability, build_capability
from evalcore.exchange.scale.forms import CAPABILITIES, WEIGHTS, ScaleDataFolder, ScaleModel
from evalcore.exchange.scale.month_scan import (
    MonthScan,
    find_cases_folder,
    find_weights_in_force,
    scan_months,
)
from evalcore.exchange.staging import BlobStore, ImportStage, open_import_stage
from evalcore.records import Record, RunSpec, RunSummary, TargetSpec, content_hash, to_json
from evalcore.settings import Settings
from evalcore.store.run_folder import Published

# One imported run: its records, its journals, and what was published beside them.

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


# SCALE's published boards as imported runs: one per month and model, columns of their own.
# Nothing is asked or graded. A score with a complete case report behind it (level 1) is computed
# from its cases by one set of weights per month; without one (level 0) the claim itself is all
# there is. Run ids and contents follow from the source alone, so that a second import changes
# nothing.


class ImportedScore(Record, frozen=True):
    """A claim and how it comes about; `reading` is empty for a bare claim."""

    run: str
    capability: str
    claimed: float | None
    recomputed: float | None
    reading: str


@dataclass
class ImportResult:
    """What an import did: run ids by what became of them, every score, counts of flags by kind,
    and what could not be taken."""

    created: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    scores: list[ImportedScore] = field(default_factory=list)
    flags: Counter[str] = field(default_factory=Counter)
    skipped: list[str] = field(default_factory=list)

    @property
    def reading_counts(self) -> Counter[str]:
        """How many claims come about by each reading; bare claims are no part of it."""
        return Counter(score.reading for score in self.scores if score.reading)


def import_scale_tree(
    root: Path, settings: Settings, month: str = "", progress: Callable[[str], None] = print
) -> ImportResult:
    """Import all months, or one; raises UsageError and DatasetError for what is no such folder, and
    then nothing is imported."""
    tree = ScaleDataFolder(root)
    if month and month not in tree.months:
        raise UsageError(f"{root} has no month {month!r}; it has: {', '.join(tree.months)}")
    months = [month] if month else tree.months
    progress("looking through the case reports")
    scan = scan_months(tree, months[-1], find_cases_folder(root))
    done = ImportResult()
    with open_import_stage(settings) as staged:
        builder = ContentsBuilder(scan, staged.blobs)
        for name in months:
            progress(f"preparing {name}")
            _prepare_month(_build_month(tree, name, scan), builder, staged, done)
        staged.commit()
    return done


def _build_month(tree: ScaleDataFolder, name: str, scan: MonthScan) -> Month:
    """Of each column one rule for all its rows."""
    models = tree.read_models(name)
    weights = {}
    for each in CAPABILITIES:
        claims = [
            (model.scores[each], scan.reports[report].parts)
            for model in models
            if each in model.scores and (report := tree.find_report(name, each, model.id))
        ]
        everything = find_weights_in_force(claims, WEIGHTS[each])
        weights[each] = {
            metric: weight
            for metric, weight in everything.items()
            if scan.is_common(name, each, metric)
        }
    return Month(name, tree, scan, weights)


def _prepare_month(
    month: Month, builder: ContentsBuilder, staged: ImportStage, done: ImportResult
) -> None:
    prepared: set[str] = set()
    for model in month.tree.read_models(month.name):
        run_id = run_id_of(month.name, model.id)
        if run_id in prepared:
            done.skipped.append(f"{month.name} {model.id}: stands there twice; the first counts")
            continue
        prepared.add(run_id)
        for name in sorted(model.scores.keys() - set(CAPABILITIES)):
            done.skipped.append(f"{month.name} {model.id}: capability {name} is unknown")
        capabilities = {
            name: build_capability(month, model, name, builder)
            for name in CAPABILITIES
            if name in model.scores
        }
        if not capabilities:
            done.skipped.append(f"{month.name} {model.id}: has no score of a known capability")
            continue
        became = staged.prepare_run(
            run_id, build_scale_run(month.name, model, capabilities, staged.blobs)
        )
        getattr(done, became).append(run_id)
        _record_scores(run_id, capabilities, done)


def _record_scores(
    run_id: str, capabilities: dict[str, PublishedCapability], done: ImportResult
) -> None:
    for name, capability in capabilities.items():
        published = capability.published
        done.scores.append(
            ImportedScore(run_id, name, published.claimed, published.recomputed, published.reading)
        )
        done.flags.update(flag.kind for flag in published.flags)

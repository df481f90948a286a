"""SCALE's published boards as imported runs: one per month and model, columns of their own.

Nothing is asked or graded. A score with a complete case report behind it (level 1) is computed from
its cases by one set of weights per month; without one (level 0) the claim itself is all there is.
Run ids and contents follow from the source alone, so that a second import changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from evalcore.errors import UsageError
from evalcore.exchange.scale.capabilities import CAPABILITIES, WEIGHTS
from evalcore.exchange.scale.claims import Month, PublishedCapability, build_capability
from evalcore.exchange.scale.contents import ContentsBuilder
from evalcore.exchange.scale.imported_run import build_scale_run, run_id_of
from evalcore.exchange.scale.month_scan import MonthScan, find_cases_folder, scan_months
from evalcore.exchange.scale.recompute import find_weights_in_force
from evalcore.exchange.scale.staging import ImportStage, open_import_stage
from evalcore.exchange.scale.tree import ScaleDataFolder
from evalcore.records import Record
from evalcore.settings import Settings


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

"""Import what SCALE published, one run per model and month."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from evalcore.errors import UsageError
from evalcore.exchange.imported_run import ImportedBenchmark, build_imported_run, make_run_id
from evalcore.exchange.scale.cases import ContentsBuilder
from evalcore.exchange.scale.claims import PUBLISHER, Month, build_capability
from evalcore.exchange.scale.forms import CAPABILITIES, WEIGHTS, ScaleDataFolder
from evalcore.exchange.scale.month_scan import (
    MonthScan,
    find_cases_folder,
    parse_claim,
    scan_months,
)
from evalcore.exchange.staging import ImportedScore, ImportResult, ImportStage, open_import_stage
from evalcore.i18n import Note
from evalcore.records import ProgressCallback, RunSpec, TargetSpec
from evalcore.scoring.claims import find_weights_in_force
from evalcore.settings import Settings

PREFIX = "scale"  # of the keys of its targets and of run ids
_NAME_LENGTH = 50

# SCALE's published boards as imported runs: one per month and model, columns of their own. Nothing
# is asked or graded. A score with a complete case report behind it (level 1) is computed from its
# cases by one set of weights per month; without one (level 0) the claim itself is all there is. Run
# ids and contents follow from the source alone, so that a second import changes nothing.


def import_scale_tree(
    root: Path, settings: Settings, month: str = "", progress: ProgressCallback = print
) -> ImportResult:
    """Import all months, or one; raises UsageError and DatasetError for what is no such folder, and
    then nothing is imported."""
    tree = ScaleDataFolder(root)
    if month and month not in tree.months:
        raise UsageError(
            Note("scale_no_month", path=root, month=month, names=", ".join(tree.months))
        )
    months = [month] if month else tree.months
    progress(Note("scale_scanning"))
    scan = scan_months(tree, months[-1], find_cases_folder(root))
    done = ImportResult()
    with open_import_stage(settings) as staged:
        builder = ContentsBuilder(scan, staged.blobs)
        for name in months:
            progress(Note("preparing", name=name))
            _prepare_month(_build_month(tree, name, scan), builder, staged, done)
        staged.commit()
    return done


def _build_month(tree: ScaleDataFolder, name: str, scan: MonthScan) -> Month:
    """Of each column one rule for all its rows."""
    models = tree.read_models(name)
    weights = {}
    for each in CAPABILITIES:
        claims = [
            (parse_claim(model.scores[each]), scan.reports[report].parts)
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
        run_id = make_run_id(PREFIX, month.name, model.id, _NAME_LENGTH)
        if run_id in prepared:
            done.skipped.append(f"{month.name} {model.id}: listed twice; the first counts")
            continue
        prepared.add(run_id)
        for name in sorted(model.scores.keys() - set(CAPABILITIES)):
            done.skipped.append(f"{month.name} {model.id}: capability {name} is unknown")
        parts = [
            build_capability(month, model, name, builder)
            for name in CAPABILITIES
            if name in model.scores
        ]
        if not parts:
            done.skipped.append(f"{month.name} {model.id}: has no score of a known capability")
            continue
        run = RunSpec(
            run_id=run_id,
            created_at=f"{month.name}-01T00:00:00.000+00:00",
            target=TargetSpec(key=f"{PREFIX}:{model.id}"),
            benchmarks=(),
            note=_build_scale_note(month.name, parts),
        )
        facts: dict[str, Any] = msgspec.to_builtins(model)
        del facts["scores"]
        published = build_imported_run(run, parts, staged.blobs, publisher=PUBLISHER, facts=facts)
        done.record_run(staged.prepare_run(run_id, published), run_id, published)
        done.scores += [
            ImportedScore(run_id, name, score.claimed, score.recomputed, score.reading)
            for name, score in published.scores.items()
        ]


def _build_scale_note(month: str, parts: Sequence[ImportedBenchmark]) -> str:
    flags = [flag for part in parts if part.published for flag in part.published.flags]
    kinds = ", ".join(dict.fromkeys(flag.kind for flag in flags))
    return f"Published by {PUBLISHER} for {month}" + (f"; flags: {kinds}" if kinds else "")

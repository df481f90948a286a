"""Official result folders as imported runs: the answers are theirs, the verdicts are ours.

Every answer is scored here by the rules that our own runs are scored by, and what the score files
beside them claim stands next to it. A failed request that upstream kept as an answer is no answer.
The column is one of its own, since the answers were asked for elsewhere. Run ids and contents
follow from the files alone, so that a second import changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path

from evalcore import catalog
from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.bfcl.aggregate import Tally
from evalcore.errors import UsageError
from evalcore.exchange.bfcl.fetch import default_folder
from evalcore.exchange.bfcl.imported_run import build_bfcl_run
from evalcore.exchange.bfcl.rescored import CategoryCount, ModelResults, rescore_predictions
from evalcore.exchange.bfcl.results import (
    Mode,
    find_bfcl_files,
    parse_results_version,
    read_claims,
    read_results,
)
from evalcore.exchange.fetched import NOTE_FILE
from evalcore.exchange.scale.importer import ImportedScore, ImportResult
from evalcore.exchange.scale.staging import open_import_stage
from evalcore.records import Record
from evalcore.runner.plan import create_benchmark, find_dataset
from evalcore.settings import Settings

BENCHMARK = "bfcl"
_DATE = re.compile(r"\d{4}-\d{2}(-\d{2})?")


class BfclImportSource(Record, frozen=True):
    """What to import: a folder with `result/` in it, that folder, or one model's below it.

    `dataset` is a path or name, empty for the fetched official data. `date` is YYYY-MM or
    YYYY-MM-DD; else it is the name of the folder around `result/` where that is a date, or when
    the files were written.
    `mode` is how the answers were asked for, None to tell by what they are.
    """

    path: str
    dataset: str = ""
    date: str = ""
    mode: Mode | None = None


def import_bfcl_results(
    source: BfclImportSource, settings: Settings, progress: Callable[[str], None] = print
) -> ImportResult:
    """Import every model of a folder, scored on the entries of the data set.

    Raises UsageError and DatasetError for what is no such folder or names no entry of the data set,
    and then nothing is imported.
    """
    path = _find_official_dataset(source, settings)
    benchmark = create_benchmark(BENCHMARK, {})
    done = ImportResult()
    try:
        samples = benchmark.load_dataset(DatasetSource(path=str(path)))
        with open_import_stage(settings) as staged:
            for folder in find_model_folders(Path(source.path)):
                progress(f"scoring {folder.name}")
                results = read_model_results(folder, source)
                scored = rescore_predictions(benchmark, samples, results)
                run_id, published = build_bfcl_run(benchmark, results, scored, staged.blobs)
                getattr(done, staged.prepare_run(run_id, published)).append(run_id)
                done.scores += _compare_claims(run_id, results.claims, scored.counts)
                done.flags.update(
                    f.kind for score in published.scores.values() for f in score.flags
                )
                done.skipped += [f"{folder.name}: {line}" for line in scored.left_out]
            staged.commit()
    finally:
        benchmark.close()
    return done


def _find_official_dataset(source: BfclImportSource, settings: Settings) -> Path:
    """The bundled cases are others than upstream's, so that they are never a default here."""
    if source.dataset:
        return find_dataset(source.dataset, catalog.benchmark_card(BENCHMARK), settings)
    path = default_folder(settings)
    if not (path / NOTE_FILE).is_file():
        raise UsageError(
            f"the official entries are not in {path}: fetch them with `evalcore datasets fetch "
            "bfcl`, or give their folder with --dataset"
        )
    return path


def _compare_claims(
    run_id: str, claims: Mapping[str, Tally], counts: Mapping[str, CategoryCount]
) -> list[ImportedScore]:
    return [
        ImportedScore(
            run_id,
            name,
            100 * claim.right / claim.total,
            counts[name].accuracy,
            counts[name].classify_claim(claim),
        )
        for name, claim in claims.items()
        if name in counts
    ]


def find_model_folders(path: Path) -> list[Path]:
    """The folders of single models; raises UsageError where there is none."""
    root = path / "result" if (path / "result").is_dir() else path
    if not root.is_dir():
        raise UsageError(f"{path} is no folder; give one that holds result/, or a model's results")
    of_all = root.name == "result"
    if not of_all and (inner := next(root.rglob("result"), None)) is not None:
        raise UsageError(f"{path} holds several models; give {inner}")
    folders = [folder for folder in sorted(root.iterdir()) if folder.is_dir()] if of_all else [root]
    folders = [folder for folder in folders if any(folder.rglob("BFCL_v*_result.json"))]
    if not folders:
        raise UsageError(f"{path} holds no BFCL_v4_<category>_result.json")
    return folders


def read_model_results(folder: Path, source: BfclImportSource) -> ModelResults:
    """The answers and claims of one model."""
    files = find_bfcl_files(folder, "result")
    scores = folder.parent.with_name("score") / folder.name
    return ModelResults(
        model=folder.name,
        date=_resolve_results_date(folder, list(files.values()), source.date),
        version=max(parse_results_version(file) for file in files.values()),
        predictions=tuple(read_results(folder, source.mode)),
        claims=read_claims(scores) if scores.is_dir() else {},
    )


def _resolve_results_date(folder: Path, files: Sequence[Path], requested_date: str) -> str:
    """The date of the results as YYYY-MM-DD."""
    named = folder.parent.parent.name
    date_text = requested_date or (named if _DATE.fullmatch(named) else "")
    if not date_text:
        newest = max(file.stat().st_mtime for file in files)
        return datetime.fromtimestamp(newest, UTC).date().isoformat()
    try:
        return date.fromisoformat(
            date_text if len(date_text) > 7 else f"{date_text}-01"
        ).isoformat()
    except ValueError:
        raise UsageError(f"{date_text!r} is no date; give YYYY-MM or YYYY-MM-DD") from None

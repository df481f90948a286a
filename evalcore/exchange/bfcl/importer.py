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
from evalcore.exchange.bfcl.fetch import NOTE, default_folder
from evalcore.exchange.bfcl.imported_run import published
from evalcore.exchange.bfcl.rescored import Count, Results, rescore
from evalcore.exchange.bfcl.results import Mode, files_of, read_claims, read_results, version_of
from evalcore.exchange.scale.importer import Imported, ImportedScore
from evalcore.exchange.scale.staging import stage
from evalcore.records import Record
from evalcore.runner.plan import create_benchmark, find_dataset
from evalcore.settings import Settings

BENCHMARK = "bfcl"
_DATE = re.compile(r"\d{4}-\d{2}(-\d{2})?")


class Source(Record, frozen=True):
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


def import_results(
    source: Source, settings: Settings, progress: Callable[[str], None] = print
) -> Imported:
    """Import every model of a folder, scored on the entries of the data set.

    Raises UsageError and DatasetError for what is no such folder or names no entry of the data set,
    and then nothing is imported.
    """
    path = _dataset(source, settings)
    benchmark = create_benchmark(BENCHMARK, {})
    done = Imported()
    try:
        samples = benchmark.load_dataset(DatasetSource(path=str(path)))
        with stage(settings) as staged:
            for folder in model_folders(Path(source.path)):
                progress(f"scoring {folder.name}")
                results = read(folder, source)
                scored = rescore(benchmark, samples, results)
                run_id, told = published(benchmark, results, scored, staged.shelf)
                getattr(done, staged.add(run_id, told)).append(run_id)
                done.scores += _compared(run_id, results.claims, scored.counts)
                done.flags.update(f.kind for one in told.scores.values() for f in one.flags)
                done.skipped += [f"{folder.name}: {line}" for line in scored.left_out]
            staged.commit()
    finally:
        benchmark.close()
    return done


def _dataset(source: Source, settings: Settings) -> Path:
    """The bundled cases are others than upstream's, so that they are never a default here."""
    if source.dataset:
        return find_dataset(source.dataset, catalog.benchmark_card(BENCHMARK), settings)
    path = default_folder(settings)
    if not (path / NOTE).is_file():
        raise UsageError(
            f"the official entries are not in {path}: fetch them with `evalcore datasets fetch "
            "bfcl`, or give their folder with --dataset"
        )
    return path


def _compared(
    run_id: str, claims: Mapping[str, Tally], counts: Mapping[str, Count]
) -> list[ImportedScore]:
    return [
        ImportedScore(
            run_id,
            name,
            100 * claim.right / claim.total,
            counts[name].share,
            counts[name].reading(claim),
        )
        for name, claim in claims.items()
        if name in counts
    ]


def model_folders(path: Path) -> list[Path]:
    """The folders of single models; raises UsageError where there is none."""
    root = path / "result" if (path / "result").is_dir() else path
    if not root.is_dir():
        raise UsageError(f"{path} is no folder; give one that holds result/, or a model's results")
    of_all = root.name == "result"
    if not of_all and (inner := next(root.rglob("result"), None)) is not None:
        raise UsageError(f"{path} holds several models; give {inner}")
    found = [one for one in sorted(root.iterdir()) if one.is_dir()] if of_all else [root]
    found = [one for one in found if any(one.rglob("BFCL_v*_result.json"))]
    if not found:
        raise UsageError(f"{path} holds no BFCL_v4_<category>_result.json")
    return found


def read(folder: Path, source: Source) -> Results:
    """The answers and claims of one model."""
    files = files_of(folder, "result")
    scores = folder.parent.with_name("score") / folder.name
    return Results(
        model=folder.name,
        date=_date(folder, list(files.values()), source.date),
        version=max(version_of(file) for file in files.values()),
        predictions=tuple(read_results(folder, source.mode)),
        claims=read_claims(scores) if scores.is_dir() else {},
    )


def _date(folder: Path, files: Sequence[Path], given: str) -> str:
    """The date of the results as YYYY-MM-DD."""
    named = folder.parent.parent.name
    told = given or (named if _DATE.fullmatch(named) else "")
    if not told:
        newest = max(file.stat().st_mtime for file in files)
        return datetime.fromtimestamp(newest, UTC).date().isoformat()
    try:
        return date.fromisoformat(told if len(told) > 7 else f"{told}-01").isoformat()
    except ValueError:
        raise UsageError(f"{told!r} is no date; give YYYY-MM or YYYY-MM-DD") from None

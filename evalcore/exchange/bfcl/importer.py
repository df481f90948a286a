"""Import official result folders as runs: the answers are theirs, the verdicts are ours. What the
score files beside them claim is compared with the verdicts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path

import msgspec

from evalcore import catalog
from evalcore.benchmarks.base import Benchmark, DatasetSource
from evalcore.benchmarks.bfcl.categories import Tally, group_scores
from evalcore.catalog import CommandResult
from evalcore.errors import UsageError
from evalcore.exchange.bfcl.fetch import default_folder
from evalcore.exchange.bfcl.results import (
    CategoryCount,
    Mode,
    ModelResults,
    NoResults,
    RescoredResults,
    UnknownEntries,
    find_bfcl_files,
    parse_results_version,
    read_claims,
    read_results,
    rescore_predictions,
)
from evalcore.exchange.hub_datasets import NOTE_FILE
from evalcore.exchange.imported_run import (
    ImportedBenchmark,
    build_imported_run,
    make_run_id,
    put_journals,
)
from evalcore.exchange.staging import (
    BlobStore,
    ImportedScore,
    ImportResult,
    ImportStage,
    list_import_results,
    open_import_stage,
)
from evalcore.i18n import Note
from evalcore.intake import add_counts
from evalcore.records import BenchmarkSpec, ProgressCallback, Record, RunSpec, TargetSpec
from evalcore.results import BenchmarkScore, Totals
from evalcore.runner.plan import create_benchmark, dataset_hash, find_dataset, with_column_key
from evalcore.runner.summary import describe_column
from evalcore.settings import Settings
from evalcore.store.run_folder import Flag, Published, PublishedScore

# One imported BFCL run: its records and journals, and what was claimed beside what is counted.

PUBLISHER = "BFCL"
PREFIX = "bfcl"  # of the keys of its targets and of run ids
_NAME_LENGTH = 45
_EXACT = 1e-9


def build_bfcl_run(
    benchmark: Benchmark, results: ModelResults, scored: RescoredResults, blobs: BlobStore
) -> tuple[str, Published]:
    """The run's id and the whole run, its files on the shelf; equal results give equal runs."""
    run = RunSpec(
        run_id=make_run_id(PREFIX, results.date, results.model, _NAME_LENGTH),
        created_at=f"{results.date}T00:00:00.000+00:00",
        target=TargetSpec(key=f"{PREFIX}:{results.model}"),
        benchmarks=(),
        note=f"Answers of official BFCL {results.version} result files, scored here",
    )
    spec = _build_bfcl_spec(benchmark, results, scored)
    claim = _build_published_score(results, scored)
    failed = sum(count.failed for count in scored.counts.values())
    part = ImportedBenchmark(
        spec,
        _build_bfcl_score(benchmark, spec, scored, claim),
        claim,
        put_journals(blobs, benchmark.key, scored.samples, scored.episodes, scored.verdicts),
    )
    published = build_imported_run(
        run,
        [part],
        blobs,
        publisher=PUBLISHER,
        facts={
            "model": results.model,
            "version": results.version,
            "mode": results.predictions[0].mode,
            "counts": {name: msgspec.to_builtins(item) for name, item in scored.counts.items()},
            "claims": {name: msgspec.to_builtins(item) for name, item in results.claims.items()},
        },
        totals=_sum_bfcl_usage(scored),
        errors={"retryable": failed} if failed else {},
    )
    return run.run_id, published


def _build_bfcl_spec(
    benchmark: Benchmark, results: ModelResults, scored: RescoredResults
) -> BenchmarkSpec:
    """Of a column that is none of ours: what the model was asked, upstream's code decided."""
    metrics = tuple(dict.fromkeys(sample.metric for sample in scored.samples))
    return with_column_key(
        BenchmarkSpec(
            key=benchmark.key,
            suite=benchmark.card.suite,
            dataset=f"bfcl-{results.version}-results",
            dataset_hash=dataset_hash(scored.samples),
            options=benchmark.options,
            weights=benchmark.compute_point_weights(scored.samples, benchmark.card.weights),
            prompt_version="upstream",
            scorer_version=benchmark.card.scorer_version,
            column="",
            samples=len(scored.samples),
            full=set(metrics) >= set(benchmark.card.weights),
            metrics=metrics,
        )
    )


def _build_bfcl_score(
    benchmark: Benchmark, spec: BenchmarkSpec, scored: RescoredResults, claim: PublishedScore | None
) -> BenchmarkScore:
    score = benchmark.aggregate(
        scored.samples,
        scored.verdicts,
        spec.weights,
        column=spec.column,
        full=spec.full,
        label=describe_column(spec),
    )
    views = score.views | ({"claimed": claim.claimed} if claim else {})
    return msgspec.structs.replace(score, level=1, views=views)


def _sum_bfcl_usage(scored: RescoredResults) -> Totals:
    """Tokens alone: prices and times of somebody else's requests are not known or not ours."""
    counted = [episode.usage for episode in scored.episodes if episode.failure is None]
    return Totals(
        input_tokens=add_counts(0, *(usage.input_tokens for usage in counted)),
        output_tokens=add_counts(0, *(usage.output_tokens for usage in counted)),
        requests=len(scored.episodes),
    )


def _build_published_score(results: ModelResults, scored: RescoredResults) -> PublishedScore | None:
    """The claim over the categories that were answered, and what upstream's rule counts here."""
    claimed_tallies = {
        name: tally for name, tally in results.claims.items() if name in scored.counts
    }
    if not claimed_tallies:
        return None
    claimed = _combine_tallies(claimed_tallies)
    here = _combine_tallies(
        {
            name: Tally(c.right, c.total)
            for name, c in _select_counts(scored.counts, claimed_tallies)
        }
    )
    exact = all(
        count.classify_claim(claimed_tallies[name]) == "exact"
        for name, count in _select_counts(scored.counts, claimed_tallies)
    )
    flags = list(_build_bfcl_flags(results, scored))
    if abs(claimed - here) > _EXACT:
        flags.insert(0, Flag("score_differs", detail=f"{claimed:.2f} published, {here:.2f} here"))
    return PublishedScore(
        level=1,
        claimed=claimed,
        recomputed=here,
        reading="exact" if exact else "unexplained",
        graded_at=results.date,
        flags=tuple(flags),
    )


def _select_counts(
    counts: Mapping[str, CategoryCount], names: Mapping[str, Tally]
) -> list[tuple[str, CategoryCount]]:
    return [(name, counts[name]) for name in names]


def _combine_tallies(tallies: Mapping[str, Tally]) -> float:
    """0 to 100: upstream's overall score where its categories are all there, else that of the
    single-turn ones, else the share of right answers."""
    groups = group_scores(tallies)
    for name in ("overall", "single_turn"):
        score = groups[name].score
        if score is not None:
            return score
    total = sum(tally.total for tally in tallies.values())
    return 100 * sum(tally.right for tally in tallies.values()) / total


def _build_bfcl_flags(results: ModelResults, scored: RescoredResults) -> Iterator[Flag]:
    """What a reader should know, category by category; the kinds are those of all imports."""
    for name, claim in results.claims.items():
        count = scored.counts.get(name)
        if count is None and name not in scored.unscored:
            yield Flag("no_cases", name, f"{claim.right:g} of {claim.total} published")
        elif count is not None and count.classify_claim(claim) != "exact":
            detail = f"{claim.right:g} of {claim.total} published, {count.right} of {count.total}"
            yield Flag("indicator_score", name, f"{detail} here")
    for name, count in scored.counts.items():
        if count.failed:
            yield Flag("service_error", name, f"{count.failed} failed requests")
    for name, number in scored.renamed.items():
        yield Flag("outdated_case", name, f"{number} matched by number, from ids of v3")
    for name, number in scored.unknown.items():
        yield Flag("dropped_cases", name, f"{number} that the dataset does not contain")
    for name, number in scored.unscored.items():
        yield Flag("dropped_cases", name, f"{number} that could not be run here")


# Official result folders as imported runs: the answers are theirs, the verdicts are ours.
# Every answer is scored here by the rules that our own runs are scored by, and what the score
# files beside them claim stands next to it. A failed request that upstream kept as an answer is
# no answer. The column is one of its own, since the answers were asked for elsewhere. Run ids and
# contents follow from the files alone, so that a second import changes nothing.

BENCHMARK = "bfcl"
_DATE = re.compile(r"\d{4}-\d{2}(-\d{2})?")


class BfclImportSource(Record, frozen=True):
    """What to import: a folder with `result/` in it, that folder, or one model's below it.

    `dataset` is a path or name, empty for the fetched official data. `date` is YYYY-MM or
    YYYY-MM-DD; else it is the name of the folder around `result/` where that is a date, or when the
    files were written. `mode` is how the answers were asked for, None to tell by what they are.
    """

    path: str
    dataset: str = ""
    date: str = ""
    mode: Mode | None = None


def import_bfcl_results(
    source: BfclImportSource, settings: Settings, progress: ProgressCallback = print
) -> ImportResult:
    """Import every model of a folder, scored on the entries of the data set.

    Raises UsageError and DatasetError for what is no such folder or names no entry of the data set,
    and then nothing is imported.
    """
    _find_official_dataset(source, settings)  # what is missing is said before anything is read
    done = ImportResult()
    folders = find_model_folders(Path(source.path))
    with open_import_stage(settings) as staged:
        stage_model_folders(folders, source, settings, staged, done, progress)
        staged.commit()
    return done


def stage_model_folders(
    folders: Iterable[Path],
    source: BfclImportSource,
    settings: Settings,
    staged: ImportStage,
    done: ImportResult,
    progress: ProgressCallback,
    *,
    skip_unknown: bool = False,
) -> set[Path]:
    """Score the answers of models on the entries of the data set, and prepare a run of each;
    returns the folders of these models. Raises as `import_bfcl_results`, with `skip_unknown` not
    for a folder without an answer to one of the entries."""
    path = _find_official_dataset(source, settings)
    benchmark = create_benchmark(BENCHMARK, {})
    prepared: set[Path] = set()
    try:
        samples = list(benchmark.load_dataset(DatasetSource(path=str(path))))
        for folder in folders:
            progress(Note("scoring_folder", name=folder.name))
            try:
                results = read_model_results(folder, source)
                scored = rescore_predictions(benchmark, samples, results)
            except (NoResults, UnknownEntries):
                if not skip_unknown:
                    raise
                continue
            prepared.add(folder)
            run_id, published = build_bfcl_run(benchmark, results, scored, staged.blobs)
            done.record_run(staged.prepare_run(run_id, published), run_id, published)
            done.scores += _compare_claims(run_id, results.claims, scored.counts)
            done.skipped += [f"{folder.name}: {line}" for line in scored.left_out]
    finally:
        benchmark.close()
    return prepared


def stage_official_folders(
    folders: Sequence[Path],
    settings: Settings,
    staged: ImportStage,
    done: ImportResult,
    progress: ProgressCallback,
) -> set[Path]:
    """`stage_model_folders` where the official entries were fetched; the others are left to those
    who read the published verdicts."""
    if not (default_folder(settings) / NOTE_FILE).is_file():
        return set()
    source = BfclImportSource(path="")
    return stage_model_folders(folders, source, settings, staged, done, progress, skip_unknown=True)


def _find_official_dataset(source: BfclImportSource, settings: Settings) -> Path:
    """The bundled cases are others than upstream's, so that they are never a default here."""
    if source.dataset:
        return find_dataset(source.dataset, catalog.benchmark_card(BENCHMARK), settings)
    path = default_folder(settings)
    if not (path / NOTE_FILE).is_file():
        raise UsageError(Note("bfcl_no_entries", path=path))
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
        raise UsageError(Note("bfcl_no_folder", path=path))
    of_all = root.name == "result"
    if not of_all and (inner := next(root.rglob("result"), None)) is not None:
        raise UsageError(Note("bfcl_several_models", path=path, inner=inner))
    folders = [folder for folder in sorted(root.iterdir()) if folder.is_dir()] if of_all else [root]
    folders = [folder for folder in folders if any(folder.rglob("BFCL_v*_result.json"))]
    if not folders:
        raise UsageError(Note("bfcl_no_results", path=path))
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
        raise UsageError(Note("not_a_month", date=date_text)) from None


def run_bfcl_import(
    settings: Settings, path: Path, flags: Mapping[str, str], progress: ProgressCallback
) -> CommandResult:
    """`evalcore import bfcl`; see `CommandCard`."""
    mode = msgspec.convert(flags["mode"] or None, Mode | None)
    source = BfclImportSource(str(path), flags["dataset"], flags["month"], mode)
    done = import_bfcl_results(source, settings, progress)
    return CommandResult(vars(done), list_import_results(done))

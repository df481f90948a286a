"""Which runs can be compared, and which declared rules set runs or boards apart."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import msgspec

from evalcore.access.redaction import mask_benchmark, mask_label, mask_target, redact_paths
from evalcore.catalog import benchmark_cards
from evalcore.errors import EvalboardError, UsageError
from evalcore.i18n import Note
from evalcore.records import BenchmarkSpec, Record
from evalcore.results import BenchmarkScore, Totals
from evalcore.settings import Settings
from evalcore.store import case_tables
from evalcore.store.headers import RunHeader, memoize_on_snapshot
from evalcore.store.run_folder import RunFolder, find_run
from evalcore.store.run_folder import find_alike_run as find_alike_run
from evalcore.views.boards import Board, Column, is_control

# The 2 to 8 runs that are put side by side, and why two of them cannot be compared on a benchmark.
# Scores are comparable exactly where their column keys are equal; whatever else is put side by side
# is told apart here, with what differs.

MIN_COMPARED, MAX_COMPARED = 2, 8
LETTERS = "ABCDEFGH"
#: What of a benchmark's declaration may set two columns apart, the most telling first.
_RULES = ("dataset", "dataset_hash", "samples", "metrics", "prompt_version", "scorer_version")
_NESTED = ("options", "weights", "difficulty_weights")
_TEXT = 80


class ComparedRun(Record, frozen=True):
    """A run in the comparison, known by its `letter`; only benchmarks with a score are in it."""

    letter: str
    run_id: str
    target_key: str
    identity: str
    created_at: str
    specs: dict[str, BenchmarkSpec]
    scores: dict[str, BenchmarkScore]
    totals: Totals = Totals()

    @property
    def is_control_run(self) -> bool:
        return is_control(self.target_key)


class ExcludedRun(Record, frozen=True):
    """A run that was asked for and cannot take part, with the reason as its reader said it."""

    run_id: str
    kind: Literal["missing", "unscored", "broken"]
    reason: str


class Lineup(Record, frozen=True):
    """Those who take part, in the order asked for, and those who cannot."""

    compared: tuple[ComparedRun, ...]
    excluded: tuple[ExcludedRun, ...] = ()

    def find_compared_run(self, run: str) -> ComparedRun:
        """The entrant of a run; raises UsageError for one that takes no part."""
        for candidate in self.compared:
            if candidate.run_id == run:
                return candidate
        raise UsageError(Note("compare_no_run", run=run))


class RuleDifference(Record, frozen=True):
    """A rule that two runs do not share, with the value of the base and of the other."""

    rule: str
    base: str
    other: str


class Incompatibility(Record, frozen=True):
    """Why a run cannot be measured against the base on a benchmark.

    `not_run`: the other did not run it; `base_not_run`: the base did not; `rules`: they were asked
    or judged by other rules, named in `differences` as far as the runs declare them; `claimed`:
    one of the scores is a claim without cases behind it; `unmeasured`: of one of the two nothing
    was measured.
    """

    letter: str
    benchmark: str
    kind: Literal["not_run", "base_not_run", "rules", "claimed", "unmeasured"]
    differences: tuple[RuleDifference, ...] = ()


def validate_compared_runs(runs: Iterable[str]) -> list[str]:
    """The runs without repetitions; raises UsageError unless they are `MIN_COMPARED` to
    `MAX_COMPARED`."""
    run_ids = list(dict.fromkeys(runs))
    if not MIN_COMPARED <= len(run_ids) <= MAX_COMPARED:
        raise UsageError(
            Note("compare_count", least=MIN_COMPARED, most=MAX_COMPARED, count=len(run_ids))
        )
    return run_ids


def compute_lineup_signature(roots: Sequence[Path], runs: Iterable[str]) -> str:
    """Changes whenever what `load_lineup` reads may; a run that is not there is part of it."""
    parts = []
    for run in runs:
        try:
            parts.append(f"{run}={find_run(run, roots).signature()}")
        except UsageError:
            parts.append(f"{run}=")
    return "&".join(parts)


def load_lineup(roots: Sequence[Path], runs: Iterable[str]) -> Lineup:
    """The runs as they are on disk; one that cannot be read is absent and stops nothing."""
    compared: list[ComparedRun] = []
    excluded: list[ExcludedRun] = []
    for run in list(dict.fromkeys(runs))[:MAX_COMPARED]:
        loaded = _load_compared_run(roots, run, LETTERS[len(compared)])
        if isinstance(loaded, ComparedRun):
            compared.append(loaded)
        else:
            excluded.append(loaded)
    return Lineup(tuple(compared), tuple(excluded))


def find_lineup_folders(roots: Sequence[Path], lineup: Lineup) -> list[RunFolder]:
    """The folders of those who take part."""
    return [find_run(run.run_id, roots) for run in lineup.compared]


def find_incompatibilities(lineup: Lineup, base: ComparedRun) -> list[Incompatibility]:
    """All that keeps the others from being measured against the base, by benchmark."""
    candidates = [
        _find_incompatibility(benchmark, base, item)
        for benchmark in list_compared_benchmarks(lineup)
        for item in lineup.compared
        if item.run_id != base.run_id
    ]
    return [item for item in candidates if item is not None]


def list_compared_benchmarks(lineup: Lineup) -> list[str]:
    """Every benchmark that anyone ran, in the order of the catalogue."""
    ran = dict.fromkeys(key for run in lineup.compared for key in run.scores)
    ordered = [key for key in benchmark_cards() if key in ran]
    return [*ordered, *(key for key in ran if key not in ordered)]


def _load_compared_run(roots: Sequence[Path], run: str, letter: str) -> ComparedRun | ExcludedRun:
    try:
        folder = find_run(run, roots)
    except UsageError as error:
        return ExcludedRun(run, "missing", redact_paths(str(error)))
    try:
        spec, summary = folder.read_spec(), folder.read_summary()
        if summary is None or not summary.benchmarks:
            problem = Note("run_no_result", run=run, state=folder.current_state())
            return ExcludedRun(run, "unscored", problem)
        case_tables.ensure_samples_table(folder)
    except (EvalboardError, OSError) as error:
        return ExcludedRun(run, "broken", redact_paths(str(error)))
    specs = {benchmark_spec.key: benchmark_spec for benchmark_spec in spec.benchmarks}
    labels = {
        key: mask_label(score.label, specs[key])
        for key, score in summary.benchmarks.items()
        if key in specs
    }
    return ComparedRun(
        letter=letter,
        run_id=run,
        target_key=mask_target(spec.target.key),
        identity=mask_target(spec.target.identity),
        created_at=summary.created_at or spec.created_at,
        specs={key: mask_benchmark(benchmark_spec) for key, benchmark_spec in specs.items()},
        scores={
            key: msgspec.structs.replace(summary.benchmarks[key], label=label)
            for key, label in labels.items()
        },
        totals=summary.totals,
    )


def _find_incompatibility(
    benchmark: str, base: ComparedRun, other: ComparedRun
) -> Incompatibility | None:
    ours, theirs = base.scores.get(benchmark), other.scores.get(benchmark)
    if theirs is None:
        return Incompatibility(other.letter, benchmark, "not_run") if ours else None
    if ours is None:
        return Incompatibility(other.letter, benchmark, "base_not_run")
    if ours.column != theirs.column:
        rule_differences = find_rule_differences(base.specs[benchmark], other.specs[benchmark])
        return Incompatibility(other.letter, benchmark, "rules", rule_differences)
    if 0 in (ours.level, theirs.level):
        return Incompatibility(other.letter, benchmark, "claimed")
    if ours.score is None or theirs.score is None:
        return Incompatibility(other.letter, benchmark, "unmeasured")
    return None


def find_rule_differences(base: BenchmarkSpec, other: BenchmarkSpec) -> tuple[RuleDifference, ...]:
    ours, theirs = _flatten_rules(base), _flatten_rules(other)
    names = dict.fromkeys([*ours, *theirs])
    return tuple(
        RuleDifference(name, *(_format_rule_value(side.get(name)) for side in (ours, theirs)))
        for name in names
        if ours.get(name) != theirs.get(name)
    )


def _flatten_rules(spec: BenchmarkSpec) -> dict[str, Any]:
    """The rules of a benchmark under flat names, such as `options.mode`."""
    rules: dict[str, Any] = {name: getattr(spec, name) for name in _RULES}
    for group in _NESTED:
        rules |= {f"{group}.{name}": value for name, value in getattr(spec, group).items()}
    return rules | {"judges": sorted(spec.judges)}


def _format_rule_value(value: Any) -> str:
    """A value on one short line; nothing where it is not declared."""
    plain = "" if value is None else value
    text = plain if isinstance(plain, str) else json.dumps(msgspec.to_builtins(plain))
    return text if len(text) <= _TEXT else f"{text[: _TEXT - 1]}…"


def suggest_runs(
    headers: Iterable[RunHeader], chosen: Sequence[str] = (), limit: int = 4
) -> list[str]:
    """Runs that are worth a comparison: `chosen` and the newest complete runs of other targets in
    the column that most targets share, at most `limit` in all; none where there are too few."""
    key = ("suggested", *chosen, limit)
    choose = partial(_choose_suggested_runs, headers, chosen, limit)
    return list(memoize_on_snapshot(headers, key, choose))


def _choose_suggested_runs(
    all_headers: Iterable[RunHeader], chosen: Sequence[str], limit: int
) -> list[str]:
    headers = list(all_headers)
    runs_by_column: dict[tuple[str, str], dict[str, str]] = {}
    own = {header.identity for header in headers if header.run_id in chosen}
    for header in headers:
        for benchmark, score in header.benchmarks.items():
            if score.complete and not score.is_bare_claim and not is_control(header.target_key):
                runs_by_column.setdefault((benchmark, score.column), {}).setdefault(
                    header.identity, header.run_id
                )
    columns = [
        {(key, score.column) for key, score in header.benchmarks.items()}
        for header in headers
        if header.run_id in chosen
    ]
    shared = [
        runs for key, runs in runs_by_column.items() if all(key in column for column in columns)
    ]
    best = max(shared, key=len, default={})
    others = [run for identity, run in best.items() if identity not in own]
    run_ids = [*chosen, *others][:limit]
    return run_ids if others and len(run_ids) >= MIN_COMPARED else []


# Why two boards are two: which declared rules their columns do not share.


class ColumnDifference(Record, frozen=True):
    """A benchmark on which a board differs from a base: the columns of both, `base` None where it
    has none; `differences` are as far as the runs declare them."""

    benchmark: str
    base: Column | None
    other: Column
    differences: tuple[RuleDifference, ...] = ()


def find_column_differences(
    settings: Settings, headers: Iterable[RunHeader], base: Board, other: Board
) -> tuple[ColumnDifference, ...]:
    """Every benchmark of `other` whose column is not that of `base`, and what sets it apart."""
    all_headers = list(headers)
    column_differences = []
    for benchmark, column in other.columns.items():
        ours = base.columns.get(benchmark)
        if ours is None or ours.key != column.key:
            first = _find_column_spec(settings, all_headers, ours) if ours else None
            second = _find_column_spec(settings, all_headers, column) if first else None
            rule_differences = find_rule_differences(first, second) if first and second else ()
            column_differences.append(ColumnDifference(benchmark, ours, column, rule_differences))
    return tuple(column_differences)


def _find_column_spec(
    settings: Settings, headers: Iterable[RunHeader], column: Column
) -> BenchmarkSpec | None:
    """How a run of the column declares it; None where none can be read."""
    for header in headers:
        score = header.benchmarks.get(column.benchmark)
        if score is None or score.column != column.key:
            continue
        try:
            spec = find_run(header.run_id, settings.run_roots).read_spec()
        except EvalboardError:
            continue
        return next((own for own in spec.benchmarks if own.key == column.benchmark), None)
    return None

"""The 2 to 8 runs that are put side by side, and why two of them cannot be compared on a benchmark.

Scores are comparable exactly where their column keys are equal; whatever else is put side by side
is told apart here, with what differs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from evalcore.catalog import benchmark_cards
from evalcore.errors import EvalboardError, UsageError
from evalcore.privacy import (
    mask_benchmark,
    mask_label,
    mask_target,
    redact_paths,
)
from evalcore.queries.boards import is_control
from evalcore.records import BenchmarkScore, BenchmarkSpec, Record, Totals
from evalcore.store import samples_table
from evalcore.store.headers import RunHeader
from evalcore.store.run_folder import RunFolder, find_run
from evalcore.store.snapshot import memoize_on_snapshot

FEWEST, MOST = 2, 8
LETTERS = "ABCDEFGH"
#: What of a benchmark's declaration may set two columns apart, the most telling first.
_RULES = ("dataset", "dataset_hash", "samples", "metrics", "prompt_version", "scorer_version")
_NESTED = ("options", "weights", "difficulty_weights")
_TEXT = 80


class Entrant(Record, frozen=True):
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
    def control(self) -> bool:
        return is_control(self.target_key)


class Absent(Record, frozen=True):
    """A run that was asked for and cannot take part, with the reason as its reader said it."""

    run_id: str
    kind: Literal["missing", "unscored", "broken"]
    reason: str


class Lineup(Record, frozen=True):
    """Those who take part, in the order asked for, and those who cannot."""

    entrants: tuple[Entrant, ...]
    absent: tuple[Absent, ...] = ()

    def of(self, run: str) -> Entrant:
        """The entrant of a run; raises UsageError for one that takes no part."""
        for one in self.entrants:
            if one.run_id == run:
                return one
        raise UsageError(f"run {run!r} is not among the compared ones")


class Difference(Record, frozen=True):
    """A rule that two runs do not share, with the value of the base and of the other."""

    rule: str
    base: str
    other: str


class Obstacle(Record, frozen=True):
    """Why a run cannot be measured against the base on a benchmark.

    `not_run`: the other did not run it; `base_not_run`: the base did not; `rules`: they were asked
    or judged by other rules, named in `differences` as far as the runs declare them; `claimed`:
    one of the scores is a claim without cases behind it; `unmeasured`: of one of the two nothing
    was measured.
    """

    letter: str
    benchmark: str
    kind: Literal["not_run", "base_not_run", "rules", "claimed", "unmeasured"]
    differences: tuple[Difference, ...] = ()


def wanted(runs: Iterable[str]) -> list[str]:
    """The runs without repetitions; raises UsageError unless they are `FEWEST` to `MOST`."""
    found = list(dict.fromkeys(runs))
    if not FEWEST <= len(found) <= MOST:
        raise UsageError(f"compare {FEWEST} to {MOST} different runs, got {len(found)}")
    return found


def signature(roots: Sequence[Path], runs: Iterable[str]) -> str:
    """Changes whenever what `load` reads may; a run that is not there is part of it."""
    parts = []
    for run in runs:
        try:
            parts.append(f"{run}={find_run(run, roots).signature()}")
        except UsageError:
            parts.append(f"{run}=")
    return "&".join(parts)


def load(roots: Sequence[Path], runs: Iterable[str]) -> Lineup:
    """The runs as they are on disk; one that cannot be read is absent and stops nothing."""
    entrants: list[Entrant] = []
    absent: list[Absent] = []
    for run in list(dict.fromkeys(runs))[:MOST]:
        one = _read(roots, run, LETTERS[len(entrants)])
        if isinstance(one, Entrant):
            entrants.append(one)
        else:
            absent.append(one)
    return Lineup(tuple(entrants), tuple(absent))


def folders(roots: Sequence[Path], lineup: Lineup) -> list[RunFolder]:
    """The folders of those who take part."""
    return [find_run(one.run_id, roots) for one in lineup.entrants]


def obstacles(lineup: Lineup, base: Entrant) -> list[Obstacle]:
    """All that keeps the others from being measured against the base, by benchmark."""
    found = [
        _obstacle(benchmark, base, one)
        for benchmark in benchmarks(lineup)
        for one in lineup.entrants
        if one.run_id != base.run_id
    ]
    return [one for one in found if one is not None]


def benchmarks(lineup: Lineup) -> list[str]:
    """Every benchmark that anyone ran, in the order of the catalogue."""
    ran = dict.fromkeys(key for one in lineup.entrants for key in one.scores)
    known = [key for key in benchmark_cards() if key in ran]
    return [*known, *(key for key in ran if key not in known)]


def _read(roots: Sequence[Path], run: str, letter: str) -> Entrant | Absent:
    try:
        folder = find_run(run, roots)
    except UsageError as error:
        return Absent(run, "missing", redact_paths(str(error)))
    try:
        spec, summary = folder.read_spec(), folder.read_summary()
        if summary is None or not summary.benchmarks:
            return Absent(
                run, "unscored", f"run {run} has no result yet; it is {folder.current_state()}"
            )
        samples_table.ensure_samples_table(folder)
    except (EvalboardError, OSError) as error:
        return Absent(run, "broken", redact_paths(str(error)))
    specs = {one.key: one for one in spec.benchmarks}
    labels = {
        key: mask_label(score.label, specs[key])
        for key, score in summary.benchmarks.items()
        if key in specs
    }
    return Entrant(
        letter=letter,
        run_id=run,
        target_key=mask_target(spec.target.key),
        identity=mask_target(spec.target.identity),
        created_at=summary.created_at or spec.created_at,
        specs={key: mask_benchmark(one) for key, one in specs.items()},
        scores={
            key: msgspec.structs.replace(summary.benchmarks[key], label=label)
            for key, label in labels.items()
        },
        totals=summary.totals,
    )


def _obstacle(benchmark: str, base: Entrant, other: Entrant) -> Obstacle | None:
    ours, theirs = base.scores.get(benchmark), other.scores.get(benchmark)
    if theirs is None:
        return Obstacle(other.letter, benchmark, "not_run") if ours else None
    if ours is None:
        return Obstacle(other.letter, benchmark, "base_not_run")
    if ours.column != theirs.column:
        told = differences(base.specs[benchmark], other.specs[benchmark])
        return Obstacle(other.letter, benchmark, "rules", told)
    if 0 in (ours.level, theirs.level):
        return Obstacle(other.letter, benchmark, "claimed")
    if ours.score is None or theirs.score is None:
        return Obstacle(other.letter, benchmark, "unmeasured")
    return None


def differences(base: BenchmarkSpec, other: BenchmarkSpec) -> tuple[Difference, ...]:
    ours, theirs = _declared(base), _declared(other)
    names = dict.fromkeys([*ours, *theirs])
    return tuple(
        Difference(name, _text(ours.get(name)), _text(theirs.get(name)))
        for name in names
        if ours.get(name) != theirs.get(name)
    )


def _declared(spec: BenchmarkSpec) -> dict[str, Any]:
    """The rules of a benchmark under flat names, such as `options.mode`."""
    rules: dict[str, Any] = {name: getattr(spec, name) for name in _RULES}
    for group in _NESTED:
        rules |= {f"{group}.{name}": value for name, value in getattr(spec, group).items()}
    return rules | {"judges": sorted(spec.judges)}


def _text(value: Any) -> str:
    """A value on one short line; nothing where it is not declared."""
    plain = "" if value is None else value
    text = plain if isinstance(plain, str) else json.dumps(msgspec.to_builtins(plain))
    return text if len(text) <= _TEXT else f"{text[: _TEXT - 1]}…"


def suggested(headers: Iterable[RunHeader], given: Sequence[str] = (), most: int = 4) -> list[str]:
    """Runs that are worth a comparison: `given` and the newest complete runs of other targets in
    the column that most targets share, at most `most` in all; none where there are too few."""
    key = ("suggested", *given, most)
    return list(memoize_on_snapshot(headers, key, lambda: _suggested(list(headers), given, most)))


def _suggested(known: list[RunHeader], given: Sequence[str], most: int) -> list[str]:
    held: dict[tuple[str, str], dict[str, str]] = {}
    own = {one.identity for one in known if one.run_id in given}
    for one in known:
        for benchmark, score in one.benchmarks.items():
            if score.complete and not score.is_bare_claim and not is_control(one.target_key):
                held.setdefault((benchmark, score.column), {}).setdefault(one.identity, one.run_id)
    columns = [
        {(key, score.column) for key, score in one.benchmarks.items()}
        for one in known
        if one.run_id in given
    ]
    shared = [runs for key, runs in held.items() if all(key in column for column in columns)]
    best = max(shared, key=len, default={})
    others = [run for identity, run in best.items() if identity not in own]
    found = [*given, *others][:most]
    return found if others and len(found) >= FEWEST else []

"""Every run as it stands now, with its progress, without places of this machine for readers of a
public board, and how it stands with results kept on the Hub."""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from evalcore.access.redaction import mask_target, with_masked_target
from evalcore.access.redaction import redact_paths as redact_paths
from evalcore.errors import EvalboardError, RunFolderError
from evalcore.records import Record, RunSpec, TargetSpec
from evalcore.results import Progress, RunCounts, RunState, RunSummary
from evalcore.scoring.aggregation import MISSING
from evalcore.settings import Settings
from evalcore.single_flight import SingleFlightCache
from evalcore.store import hub_state
from evalcore.store.headers import check_folder
from evalcore.store.index import read_root_mtime
from evalcore.store.run_folder import RunEntry, RunFolder, find_run, is_being_written, list_entries
from evalcore.store.run_folder import find_alike_run as find_alike_run
from evalcore.views.cases import CaseView

# Every run as it stands now: one row a run folder, cheap enough to be read once a second. Only
# `spec.json`, `progress.json`, `summary.json` and the lock are looked at, never a journal; and of a
# run that rests only whether its folder is as it was, so that thousands of them cost little. A
# folder that cannot be read is a row too, with the state `broken` and the reason in `problem`.

#: States in which nothing more happens without a person.
RESTING: frozenset[RunState] = frozenset(
    {"done", "incomplete", "cancelled", "interrupted", "broken"}
)

#: States that only a file written anew can end: the worker of such a run begins with one.
_SETTLED: frozenset[RunState] = frozenset({"done", "incomplete", "cancelled"})
#: Two changes of a folder may share a time this close to now.
_RECENT = 2_000_000_000  # ns
_CACHE_SIZE = 32  # answers
_REST = 2.0  # s in which runs at rest are taken to be so still


class RunRow(RunCounts, frozen=True):
    """A run at one moment. `target` has its masked name (`privacy.mask_target`). `scores` are 0 to
    100 by benchmark, None where nothing was measured; `fraction` is 0 to 1 of the verdicts.

    `levels` are those of evidence behind the scores of an import; `own` is False for runs in a
    read-only root. `budget` is 0 for none. Costs are USD, durations seconds, None unknown.
    """

    problem: str = ""
    own: bool = True
    target: TargetSpec = TargetSpec(key="")
    benchmarks: tuple[str, ...] = ()
    created_at: str = ""
    origin: str = "executed"
    epochs: int = 1
    message: str = ""
    tool_refusal: str = ""
    api_change: str = ""
    wall: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    cost_sources: tuple[str, ...] = ()
    scores: dict[str, float | None] = {}
    levels: tuple[int, ...] = ()
    complete: bool = False
    command: str = ""
    note: str = ""
    budget: float = 0.0

    @property
    def fraction(self) -> float:
        return min(1.0, self.scored / self.total) if self.total else 0.0

    @property
    def is_active(self) -> bool:
        """Whether it may change by itself: worth looking at again in a second."""
        return self.state not in RESTING

    @property
    def measured_score(self) -> float | None:
        """The score, where there is exactly one and every case is in it."""
        return next(iter(self.scores.values())) if self.complete and len(self.scores) == 1 else None


class RunRows(list[RunRow]):
    """The rows of a moment, shared and read only; `is_active` tells whether any of them is. What
    `cache` holds was worked out from them, and lives as long as they do."""

    def __init__(self, rows: Iterable[RunRow] = ()) -> None:
        super().__init__(rows)
        self.is_active = any(row.is_active for row in self)
        self.cache: SingleFlightCache[Any] = SingleFlightCache(_CACHE_SIZE)


def all_rows(roots: Sequence[Path]) -> RunRows:
    """Every run, newest first, those of read-only roots last; `roots` begins with the writable one.
    A broken run has no time of creation, but its id begins with one."""
    before, begun = _resting.get(tuple(roots)), time.monotonic()
    added = tuple(map(read_root_mtime, roots))
    if before is not None and before.added == added and begun - before.seen < _REST:
        return before.rows
    seen_by_id: dict[str, _Seen] = {}
    for root in reversed(roots):
        try:
            seen_by_id |= _scan_root(root, own=root == roots[0])
        except RunFolderError as error:
            row = _build_broken_row(root.name, str(error), own=False)
            seen_by_id |= {root.name: _Seen(row, compute_run_order(row), 0)}
            _settled[root, root == roots[0]] = {}
    ordered = sorted(seen_by_id.values(), key=lambda seen: seen.order, reverse=True)
    rows = RunRows(seen.row for seen in ordered)
    if before is not None and before.rows == rows:
        rows = before.rows
    settled = sum(len(_settled[root, root == roots[0]]) for root in roots)
    if settled >= len(seen_by_id) and max(added, default=0) < time.time_ns() - _RECENT:
        _resting[tuple(roots)] = _Resting(rows, added, begun)
    else:
        _resting.pop(tuple(roots), None)
    return rows


class _Resting(NamedTuple):
    """Runs that were all at rest when they were `seen`, and when one was `added` or removed last.
    Whoever looks again at once need not look into thousands of folders for it."""

    rows: RunRows
    added: tuple[int, ...]
    seen: float


def clear_run_cache() -> None:
    """Whoever changes a run calls this, so that the next look sees it at once."""
    _resting.clear()


class _Seen(NamedTuple):
    """A row, its place among the others, and when its folder had changed last."""

    row: RunRow
    order: tuple[bool, str, str]
    stamp: int


def _scan_root(root: Path, *, own: bool) -> dict[str, _Seen]:
    """The rows of one root by run id, those of unchanged folders as they were."""
    before, settled = _settled.get((root, own), {}), {}
    seen_by_id, now = {}, time.time_ns()
    for entry in list_entries(root):
        seen = before.get(entry.name)
        if seen is None or seen.stamp != entry.stamp:
            row = build_entry_row(root, entry, own=own)
            if row is None:
                continue
            seen = _Seen(row, compute_run_order(row), entry.stamp)
        seen_by_id[entry.name] = seen
        if seen.row.state in _SETTLED and now - entry.stamp > _RECENT:
            settled[entry.name] = seen
    _settled[root, own] = settled
    return seen_by_id


#: By root and whether it may be written: what was seen of the runs that rest.
_settled: dict[tuple[Path, bool], dict[str, _Seen]] = {}
#: By roots, where nothing moves.
_resting: dict[tuple[Path, ...], _Resting] = {}


def compute_run_order(row: RunRow) -> tuple[bool, str, str]:
    """The key by which runs are sorted; no two runs share it, and a run keeps its own. It holds
    fourteen digits of the second of creation, as they stand in a time and in an id."""
    return row.own, re.sub(r"\D", "", row.created_at or row.run_id)[:14], row.run_id


def filter_run_rows(rows: Sequence[RunRow], text: str) -> Sequence[RunRow]:
    """The rows whose id, target or note holds `text`, letter case aside."""
    needle = mask_target(text).casefold()
    if not needle:
        return rows
    return [
        row
        for row in rows
        if needle in f"{row.run_id}\n{row.target.identity}\n{row.note}".casefold()
    ]


def build_entry_row(root: Path, entry: RunEntry, *, own: bool) -> RunRow | None:
    """An entry of a folder of runs as a row, None for a folder that is just being written."""
    if entry.problem:
        return _build_broken_row(entry.name, f"{root / entry.name}: {entry.problem}", own=own)
    try:
        (root / entry.name / "spec.json").lstat()
    except FileNotFoundError:
        if is_being_written(entry):
            return None
    except OSError as error:
        return _build_broken_row(entry.name, f"{root / entry.name}: {error.strerror}", own=own)
    return build_run_row(RunFolder(root / entry.name), own=own)


def load_run_target(roots: Sequence[Path], run: str) -> TargetSpec:
    """The target of a run as its spec names it, to be asked again. Raises UsageError where there is
    no such run, RunFolderError where it cannot be read."""
    return find_run(run, roots).read_spec().target


def _build_broken_row(name: str, problem: str, *, own: bool) -> RunRow:
    """A row for what cannot be read; a file may have a name that is no text."""
    shown = (os.fsencode(text).decode("utf-8", "backslashreplace") for text in (name, problem))
    run_id, problem = shown
    return RunRow(run_id=run_id, state="broken", problem=problem, own=own)


def build_run_row(folder: RunFolder, *, own: bool = True) -> RunRow:
    """One run folder as a row, whatever its condition."""
    try:
        spec, summary = folder.read_spec(), folder.read_summary()
        progress = folder.readable_progress()
        if summary is not None:
            check_folder(folder, spec, summary)
        raised = folder.read_raised_budget() if spec.budget else None
        row = _build_spec_row(spec, own, spec.budget if raised is None else raised)
        if summary is not None:
            row = _with_summary(row, summary)
        if progress is not None:
            row = _with_progress(row, progress, live=summary is None or folder.has_live_worker())
        return msgspec.structs.replace(row, state=folder.current_state())
    except (EvalboardError, OSError) as error:
        return _build_broken_row(folder.run_id, str(error), own=own)


def _build_spec_row(spec: RunSpec, own: bool, budget: float) -> RunRow:
    return RunRow(
        run_id=spec.run_id,
        state="planned",
        own=own,
        target=with_masked_target(spec).target,
        benchmarks=tuple(benchmark.key for benchmark in spec.benchmarks),
        created_at=spec.created_at,
        origin=spec.origin,
        epochs=spec.epochs,
        command=spec.command,
        note=spec.note,
        budget=budget,
        total=sum(benchmark.samples for benchmark in spec.benchmarks) * spec.epochs,
    )


def _with_summary(row: RunRow, summary: RunSummary) -> RunRow:
    outcomes: Counter[str] = Counter()
    for benchmark in summary.benchmarks.values():
        outcomes.update(benchmark.outcomes)
    judged = sum(count for outcome, count in outcomes.items() if outcome != MISSING)
    totals = summary.totals
    return msgspec.structs.replace(
        row,
        outcomes=dict(outcomes),
        generated=judged,
        scored=judged,
        errors=summary.errors,
        requests=totals.requests,
        wall=totals.wall or None,
        input_tokens=totals.input_tokens,
        output_tokens=totals.output_tokens,
        cost=totals.cost,
        cost_sources=totals.cost_sources,
        scores={key: benchmark.score for key, benchmark in summary.benchmarks.items()},
        levels=tuple(
            {each.level for each in summary.benchmarks.values() if each.level is not None}
        ),
        complete=summary.is_complete,
        tool_refusal=summary.tool_refusal,
        api_change=summary.api_change,
    )


def _with_progress(row: RunRow, progress: Progress, *, live: bool) -> RunRow:
    """What only the worker knows; while it is at work its counts win over an older summary."""
    row = msgspec.structs.replace(
        row, phase=progress.phase, message=progress.message, refused=progress.refused
    )
    if not live:
        return row
    return msgspec.structs.replace(
        row,
        total=progress.total or row.total,
        **{name: getattr(progress, name) for name in _LIVE_FIELDS},
    )


_LIVE_FIELDS = (
    *("generated", "scored", "outcomes", "errors", "in_flight", "limit", "requests", "rate"),
    *("eta", "input_tokens", "output_tokens", "cost"),
)


# What readers of a public board are not told: where files lie on the machine that serves it.
# Messages of the runner and of a loader name paths, which help whoever runs the installation and
# nobody else. Of a path its last part is left, which tells what went wrong as well.


def redact_run_row(row: RunRow) -> RunRow:
    """A run as anybody may see it."""
    texts = ("problem", "message", "command", "note", "tool_refusal", "api_change")
    redacted = {name: redact_paths(getattr(row, name)) for name in texts}
    return msgspec.structs.replace(row, **redacted)


def redact_case(view: CaseView) -> CaseView:
    """A case as anybody may see it: what a failure of this machine says names no place."""
    verdict, episode = view.verdict, view.episode
    if verdict is not None:
        verdict = verdict.with_note(redact_paths)
    if episode is not None and episode.failure is not None:
        failure = episode.failure.with_message(redact_paths)
        episode = msgspec.structs.replace(episode, failure=failure)
    return msgspec.structs.replace(view, verdict=verdict, episode=episode)


# How it stands with the results that are kept on the Hub, for the Runs page.


class HubSyncStatus(Record, frozen=True):
    """`sent_at` and `fetched_at` are "" before the first time, `problem` is "" where all went well,
    `held` tells by run why it was not sent. Without `token` nothing is kept at all."""

    repo: str
    token: bool
    sent_at: str = ""
    fetched_at: str = ""
    problem: str = ""
    held: dict[str, str] = {}


def load_hub_status(settings: Settings) -> HubSyncStatus | None:
    """The last exchange with the repository of the settings, None where they name none."""
    if not settings.hub_repo:
        return None
    state, token = hub_state.read_hub_state(settings), hub_state.is_hub_sync_enabled(settings)
    if state.repo != settings.hub_repo:
        return HubSyncStatus(settings.hub_repo, token)
    return HubSyncStatus(
        state.repo, token, state.sent_at, state.fetched_at, state.problem, state.held
    )

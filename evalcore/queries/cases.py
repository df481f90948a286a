"""One case of a run with all that is known of it, and pages of the cases of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pandas as pd

from evalcore.errors import RunFolderError, UsageError
from evalcore.privacy import mask_spec, mask_votes
from evalcore.queries import gated
from evalcore.queries.boards import is_rescored
from evalcore.records import Episode, Record, RunSpec, Sample, Verdict
from evalcore.store import samples_table
from evalcore.store.cases import load_run_case
from evalcore.store.run_folder import RunFolder, find_run
from evalcore.store.samples_table import EVERY_CASE as EVERY_CASE
from evalcore.store.samples_table import START as START
from evalcore.store.samples_table import CaseFilter as CaseFilter

#: The outcome of a case that has no verdict yet.
MISSING = "missing"


class Neighbour(Record, frozen=True):
    """The case before or after, within the same filter."""

    metric: str
    id: str
    epoch: int


class CasePosition(Record, frozen=True):
    """Where a case stands among the filtered ones; `number` counts from 1.

    `number` is None where the case itself is not among them. `outcomes` counts what the rest of the
    filter admits, whatever its outcome.
    """

    number: int | None
    total: int
    previous: Neighbour | None
    next: Neighbour | None
    outcomes: dict[str, int] = {}


class CaseView(Record, frozen=True):
    """A case as the page shows it; `episode` and `verdict` are None while there is none.

    `hidden` says that the texts of a gated case were left out (see `gated`).
    """

    spec: RunSpec
    benchmark: str
    sample: Sample
    episode: Episode | None
    verdict: Verdict | None
    position: CasePosition
    hidden: bool = False

    @property
    def outcome(self) -> str:
        return self.verdict.outcome if self.verdict else MISSING

    @property
    def taken_over(self) -> bool:
        """Whether the verdict is that of a publisher, and nothing was decided here."""
        used = [
            benchmark_spec.dataset
            for benchmark_spec in self.spec.benchmarks
            if benchmark_spec.key == self.benchmark
        ]
        return self.spec.origin == "imported" and not any(map(is_rescored, used))

    @property
    def engine(self) -> str:
        """The engine and version the expected answer comes from, empty where none was used."""
        provenance = self.sample.meta.get("provenance")
        named = provenance.get("engine", "") if isinstance(provenance, dict) else ""
        return str(self.sample.input.get("engine") or named)


def case_view(
    roots: Sequence[Path],
    run: str,
    metric: str,
    case: str,
    *,
    benchmark: str = "",
    epoch: int = 0,
    where: CaseFilter = EVERY_CASE,
    show_gated: bool = False,
) -> CaseView:
    """The view of one case; an empty `benchmark` means whichever of the run has the metric.

    Its neighbours are those of the same benchmark that fit `where`. A gated case comes without its
    texts unless `show_gated`. Raises UsageError when there is no such run or case, RunFolderError
    when a file is broken.
    """
    folder = find_run(run, roots)
    spec = folder.read_spec()
    if not 0 <= epoch < spec.epochs:
        raise UsageError(f"run {run} has {spec.epochs} epochs, counted from 0; there is no {epoch}")
    names = [benchmark] if benchmark else [benchmark_spec.key for benchmark_spec in spec.benchmarks]
    for name in names:
        try:
            stored, episode, verdict = load_run_case(folder, name, metric, case, epoch)
        except UsageError:
            continue
        closed = frozenset() if show_gated else gated.gated_cases(folder)
        own = Neighbour(metric=metric, id=case, epoch=epoch)
        position = _locate_case(folder, name, own, where, closed)
        verdict = verdict and mask_votes(verdict)
        view = CaseView(mask_spec(spec), name, stored.sample, episode, verdict, position)
        return view if show_gated or not gated.is_gated(view.sample) else _hide_case_text(view)
    raise UsageError(f"run {run} has no case {case!r} of metric {metric!r}")


def case_page(
    roots: Sequence[Path],
    run: str,
    where: CaseFilter,
    *,
    offset: int = 0,
    limit: int = 50,
    after: tuple[int, int] = START,
    show_gated: bool = False,
) -> tuple[pd.DataFrame, int]:
    """A page of the cases of a run and how many match; columns as `samples_table` has them.

    `after` is the (position, epoch) of the last case seen, see `samples_table.page`.
    Notes on gated cases are neither shown nor searched unless `show_gated`. Raises UsageError when
    there is no such run, RunFolderError when a file is broken.
    """
    folder = find_run(run, roots)
    hidden = frozenset() if show_gated else gated.gated_cases(folder)
    cases, count = samples_table.query_case_page(
        folder, where, offset=offset, limit=limit, after=after, hidden_cases=hidden
    )
    return (gated.bare_notes(cases, hidden) if hidden else cases), count


def _hide_case_text(view: CaseView) -> CaseView:
    return msgspec.structs.replace(
        view,
        sample=gated.bare_sample(view.sample),
        episode=view.episode and gated.bare_episode(view.episode),
        verdict=view.verdict and gated.bare_verdict(view.verdict),
        hidden=True,
    )


def _locate_case(
    folder: RunFolder,
    benchmark: str,
    own: Neighbour,
    where: CaseFilter,
    closed: frozenset[samples_table.Case],
) -> CasePosition:
    """Look the whole benchmark up in its declared order: a few columns of it are small."""
    here = msgspec.structs.replace(where, benchmark=(benchmark,))
    table = samples_table.locate_cases(
        folder, here, CaseFilter(benchmark=(benchmark,)), hidden_cases=closed
    )
    rows = zip(table["metric"], table["id"], table["epoch"], strict=True)
    cases = [Neighbour(metric=str(m), id=str(i), epoch=int(e)) for m, i, e in rows]
    if own not in cases:
        raise RunFolderError(f"{folder.path}: case {own.id!r} is missing in its table of cases")
    index, fits = cases.index(own), [bool(fit) for fit in table["fits"]]
    before = [case for case, fit in zip(cases[:index], fits, strict=False) if fit]
    after = [case for case, fit in zip(cases[index + 1 :], fits[index + 1 :], strict=True) if fit]
    return CasePosition(
        number=len(before) + 1 if fits[index] else None,
        total=sum(fits),
        previous=before[-1] if before else None,
        next=after[0] if after else None,
        outcomes=_count_filtered_outcomes(folder, here, table, closed),
    )


def _count_filtered_outcomes(
    folder: RunFolder,
    where: CaseFilter,
    table: pd.DataFrame,
    closed: frozenset[samples_table.Case],
) -> dict[str, int]:
    """How many cases of each outcome the rest of the filter admits."""
    matching_cases = table[table["fits"]]
    if where.outcome:
        rest = msgspec.structs.replace(where, outcome=())
        matching_cases = samples_table.locate_cases(folder, rest, rest, hidden_cases=closed)
    return {
        str(name): int(count) for name, count in matching_cases["outcome"].value_counts().items()
    }

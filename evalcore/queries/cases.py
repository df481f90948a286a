"""One case of a run with all that is known of it, and pages of the cases of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from evalcore.errors import RunFolderError, UsageError
from evalcore.records import Episode, Record, RunSpec, Sample, Verdict
from evalcore.store import samples_table
from evalcore.store.cases import case_of
from evalcore.store.run_folder import RunFolder, find
from evalcore.store.samples_table import CaseFilter as CaseFilter

#: The outcome of a case that has no verdict yet.
MISSING = "missing"


class Neighbour(Record, frozen=True):
    """The case before or after, within the same metric and outcome filter."""

    id: str
    epoch: int


class Place(Record, frozen=True):
    """Where a case stands among those of its metric; `number` counts from 1.

    `number` is None where the case itself is not among the filtered ones.
    """

    number: int | None
    total: int
    previous: Neighbour | None
    next: Neighbour | None
    outcomes: dict[str, int] = {}


class CaseView(Record, frozen=True):
    """A case as the page shows it; `episode` and `verdict` are None while there is none."""

    spec: RunSpec
    benchmark: str
    sample: Sample
    episode: Episode | None
    verdict: Verdict | None
    place: Place

    @property
    def outcome(self) -> str:
        return self.verdict.outcome if self.verdict else MISSING

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
    outcome: str = "",
) -> CaseView:
    """The view of one case; an empty `benchmark` means whichever of the run has the metric.

    Raises UsageError when there is no such run or case, RunFolderError when a file is broken.
    """
    folder = find(run, roots)
    spec = folder.spec()
    if not 0 <= epoch < spec.epochs:
        raise UsageError(f"run {run} has {spec.epochs} epochs, counted from 0; there is no {epoch}")
    names = [benchmark] if benchmark else [one.key for one in spec.benchmarks]
    for name in names:
        try:
            stored, episode, verdict = case_of(folder, name, metric, case, epoch)
        except UsageError:
            continue
        place = _place(folder, name, metric, Neighbour(id=case, epoch=epoch), outcome)
        return CaseView(
            spec=spec,
            benchmark=name,
            sample=stored.sample,
            episode=episode,
            verdict=verdict,
            place=place,
        )
    raise UsageError(f"run {run} has no case {case!r} of metric {metric!r}")


def case_page(
    roots: Sequence[Path], run: str, where: CaseFilter, *, offset: int = 0, limit: int = 50
) -> tuple[pd.DataFrame, int]:
    """A page of the cases of a run and how many match; columns as `samples_table` has them.

    Raises UsageError when there is no such run, RunFolderError when a file is broken.
    """
    return samples_table.page(find(run, roots), where, offset=offset, limit=limit)


def _place(folder: RunFolder, benchmark: str, metric: str, own: Neighbour, outcome: str) -> Place:
    """Look the whole metric up in its declared order: three columns of it are small."""
    table = samples_table.query(
        [samples_table.ensure(folder)],
        "SELECT id, epoch, outcome FROM samples WHERE benchmark = ? AND metric = ? "
        "ORDER BY position, epoch",
        [benchmark, metric],
    )
    cases = [
        Neighbour(id=str(i), epoch=int(e)) for i, e in zip(table["id"], table["epoch"], strict=True)
    ]
    fits = [outcome in ("", found) for found in table["outcome"]]
    if own not in cases:
        raise RunFolderError(f"{folder.path}: case {own.id!r} is missing in its table of cases")
    here = cases.index(own)
    before = [case for case, fit in zip(cases[:here], fits[:here], strict=True) if fit]
    after = [case for case, fit in zip(cases[here + 1 :], fits[here + 1 :], strict=True) if fit]
    return Place(
        number=len(before) + 1 if fits[here] else None,
        total=sum(fits),
        previous=before[-1] if before else None,
        next=after[0] if after else None,
        outcomes=_counts(table["outcome"]),
    )


def _counts(outcomes: pd.Series[Any]) -> dict[str, int]:
    return {str(name): int(count) for name, count in outcomes.value_counts().items()}

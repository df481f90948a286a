"""One case of a run with all that is known of it, and pages of the cases of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd

from evalcore.errors import RunFolderError, UsageError
from evalcore.queries import gated
from evalcore.records import Episode, Record, RunSpec, Sample, Verdict
from evalcore.store import samples_table
from evalcore.store.cases import case_of
from evalcore.store.run_folder import RunFolder, find
from evalcore.store.samples_table import START as START
from evalcore.store.samples_table import CaseFilter as CaseFilter

#: The outcome of a case that has no verdict yet.
MISSING = "missing"
_EVERY = 1_000_000  # cases that a search looks through


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
    """A case as the page shows it; `episode` and `verdict` are None while there is none.

    `hidden` says that the texts of a gated case were left out (see `gated`).
    """

    spec: RunSpec
    benchmark: str
    sample: Sample
    episode: Episode | None
    verdict: Verdict | None
    place: Place
    hidden: bool = False

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
    show_gated: bool = False,
) -> CaseView:
    """The view of one case; an empty `benchmark` means whichever of the run has the metric.

    A gated case comes without its texts unless `show_gated`. Raises UsageError when there is no
    such run or case, RunFolderError when a file is broken.
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
        view = CaseView(spec, name, stored.sample, episode, verdict, place)
        return view if show_gated or not gated.is_gated(view.sample) else _bare(view)
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
    folder = find(run, roots)
    hidden = frozenset() if show_gated else gated.gated_cases(folder)
    if hidden and where.text:
        return _searched(folder, where, hidden, slice(offset, offset + limit), after)
    cases, count = samples_table.page(folder, where, offset=offset, limit=limit, after=after)
    return (gated.bare_notes(cases, hidden) if hidden else cases), count


def _searched(
    folder: RunFolder,
    where: CaseFilter,
    hidden: frozenset[tuple[str, str, str]],
    part: slice,
    after: tuple[int, int],
) -> tuple[pd.DataFrame, int]:
    """A page of a search that finds gated cases by their id alone: what is not shown must not be
    guessed by searching for it either."""
    found, _ = samples_table.page(folder, where, limit=_EVERY)
    by_id = found["id"].str.lower().str.contains(where.text.lower(), regex=False)
    found = found[by_id | ~gated.is_among(found, hidden)]
    places = zip(found["position"], found["epoch"], strict=True)
    rest = found[pd.Series([place > after for place in places], found.index, dtype=bool)]
    return gated.bare_notes(rest.iloc[part].reset_index(drop=True), hidden), len(found)


def _bare(view: CaseView) -> CaseView:
    return msgspec.structs.replace(
        view,
        sample=gated.bare_sample(view.sample),
        episode=view.episode and gated.bare_episode(view.episode),
        verdict=view.verdict and gated.bare_verdict(view.verdict),
        hidden=True,
    )


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

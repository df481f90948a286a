"""SCALE's published boards as imported runs: one per month and model, columns of their own.

Nothing is asked or graded. A score with a complete case report behind it (level 1) is computed from
its cases by one set of weights per month; without one (level 0) the claim itself is all there is.
Run ids and contents follow from the source alone, so that a second import changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from evalcore.errors import UsageError
from evalcore.exchange.scale.capabilities import CAPABILITIES, WEIGHTS
from evalcore.exchange.scale.claims import Capability, Month, capability
from evalcore.exchange.scale.contents import Bindery
from evalcore.exchange.scale.imported_run import published, run_id_of
from evalcore.exchange.scale.recompute import weights_in_force
from evalcore.exchange.scale.staging import Stage, stage
from evalcore.exchange.scale.survey import Survey, find_cases, survey
from evalcore.exchange.scale.tree import Tree
from evalcore.records import Record
from evalcore.settings import Settings


class ImportedScore(Record, frozen=True):
    """A claim and how it comes about; `reading` is empty for a bare claim."""

    run: str
    capability: str
    claimed: float | None
    recomputed: float | None
    reading: str


@dataclass
class Imported:
    """What an import did: run ids by what became of them, every score, counts of flags by kind,
    and what could not be taken."""

    created: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    scores: list[ImportedScore] = field(default_factory=list)
    flags: Counter[str] = field(default_factory=Counter)
    skipped: list[str] = field(default_factory=list)

    @property
    def readings(self) -> Counter[str]:
        """How many claims come about by each reading; bare claims are no part of it."""
        return Counter(score.reading for score in self.scores if score.reading)


def import_tree(
    root: Path, settings: Settings, month: str = "", progress: Callable[[str], None] = print
) -> Imported:
    """Import all months, or one; raises UsageError and DatasetError for what is no such folder, and
    then nothing is imported."""
    tree = Tree(root)
    if month and month not in tree.months:
        raise UsageError(f"{root} has no month {month!r}; it has: {', '.join(tree.months)}")
    months = [month] if month else tree.months
    progress("looking through the case reports")
    found = survey(tree, months[-1], find_cases(root))
    done = Imported()
    with stage(settings) as staged:
        bindery = Bindery(found, staged.shelf)
        for name in months:
            progress(f"preparing {name}")
            _prepare(_month(tree, name, found), bindery, staged, done)
        staged.commit()
    return done


def _month(tree: Tree, name: str, found: Survey) -> Month:
    """Of each column one rule for all its rows."""
    models = tree.models(name)
    weights = {}
    for each in CAPABILITIES:
        claims = [
            (model.scores[each], found.reports[report].parts)
            for model in models
            if each in model.scores and (report := tree.report(name, each, model.id))
        ]
        everything = weights_in_force(claims, WEIGHTS[each])
        weights[each] = {
            metric: weight
            for metric, weight in everything.items()
            if found.is_common(name, each, metric)
        }
    return Month(name, tree, found, weights)


def _prepare(month: Month, bindery: Bindery, staged: Stage, done: Imported) -> None:
    prepared: set[str] = set()
    for model in month.tree.models(month.name):
        run_id = run_id_of(month.name, model.id)
        if run_id in prepared:
            done.skipped.append(f"{month.name} {model.id}: stands there twice; the first counts")
            continue
        prepared.add(run_id)
        for name in sorted(model.scores.keys() - set(CAPABILITIES)):
            done.skipped.append(f"{month.name} {model.id}: capability {name} is unknown")
        made = {
            name: capability(month, model, name, bindery)
            for name in CAPABILITIES
            if name in model.scores
        }
        if not made:
            done.skipped.append(f"{month.name} {model.id}: has no score of a known capability")
            continue
        became = staged.add(run_id, published(month.name, model, made, staged.shelf))
        getattr(done, became).append(run_id)
        _count(run_id, made, done)


def _count(run_id: str, made: dict[str, Capability], done: Imported) -> None:
    for name, one in made.items():
        told = one.told
        done.scores.append(ImportedScore(run_id, name, told.claimed, told.recomputed, told.reading))
        done.flags.update(flag.kind for flag in told.flags)

"""How far a verdict depends on who plays the simulated user: two runs of a target, task by task."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import pandas as pd

from evalcore.catalog import benchmark_cards
from evalcore.judges import compute_kappa
from evalcore.records import Record
from evalcore.results import Interval
from evalcore.scoring.intervals import wilson_interval
from evalcore.store import case_tables
from evalcore.store.run_folder import find_run
from evalcore.views.comparison import PairedScores, compare_run_pair
from evalcore.views.comparison_runs import (
    ComparedRun,
    Lineup,
    find_incompatibilities,
    find_rule_differences,
)

#: A model can play tasks that the rules cannot, hence these may differ as well (the name of a data
#: set from a path holds its hash): only tasks that both runs hold, with the same content, count.
_SELECTION = frozenset({"dataset", "samples", "dataset_hash", "metrics"})
_SIDES = """
SELECT any_value(case_weight * weight) AS weight, metric, id,
       coalesce(avg(score) FILTER (outcome IN ('passed', 'failed')), 0) AS score,
       count(*) FILTER (outcome = 'passed') AS passed,
       count(*) FILTER (outcome = 'failed') AS failed, count(*) AS repetitions
FROM samples WHERE benchmark = ? AND ? IN ('', metric) AND weight IS NOT NULL GROUP BY metric, id
"""


class TaskSide(Record, frozen=True):
    """A task with one of the users: how many repetitions passed and failed, of how many, and
    the mean score of those (0 to 1)."""

    passed: int
    failed: int
    repetitions: int
    score: float

    @property
    def is_decided(self) -> bool:
        return self.passed + self.failed > 0

    @property
    def has_passed(self) -> bool:
        """Whether more of the decided repetitions passed than failed."""
        return self.passed > self.failed


class CalibratedTask(Record, frozen=True):
    """A task that both runs decided; `first` is the base."""

    metric: str
    id: str
    first: TaskSide
    second: TaskSide

    @property
    def agrees(self) -> bool:
        return self.first.has_passed == self.second.has_passed


class UserCalibration(Record, frozen=True):
    """The base and another run of the same target on one benchmark, which differ in who plays the
    user; a user is the model that plays it, or empty for the rules.

    `tasks` are those that both decided, the ones on which they disagree first. `undecided` tasks
    have no verdict in one of the runs, `unshared` are in one only, or with other content.
    `interval` is Wilson's of the share of tasks that agree, 0 to 100; `kappa` is Cohen's. A win of
    `paired` is a task that scores higher in the other run. The last three are None without a task,
    `kappa` also where every task ends the same with both users.
    """

    benchmark: str
    letters: tuple[str, str]
    run_ids: tuple[str, str]
    users: tuple[str, str]
    tasks: tuple[CalibratedTask, ...]
    undecided: int
    unshared: int
    interval: Interval | None
    kappa: float | None
    paired: PairedScores | None

    @property
    def agreement(self) -> float | None:
        """The share of tasks with the same outcome, 0 to 100."""
        agreeing = [task for task in self.tasks if task.agrees]
        return 100 * len(agreeing) / len(self.tasks) if self.tasks else None

    @property
    def disagreements(self) -> list[CalibratedTask]:
        return [task for task in self.tasks if not task.agrees]

    def count_tasks(self, first: bool, second: bool) -> int:
        """A cell of the 2x2 table: tasks that passed, or not, with the first and second user."""
        outcomes = [(task.first.has_passed, task.second.has_passed) for task in self.tasks]
        return outcomes.count((first, second))


def calibrate_users(
    roots: Sequence[Path],
    lineup: Lineup,
    base: ComparedRun,
    benchmarks: Collection[str] = (),
    metric: str = "",
) -> tuple[UserCalibration, ...]:
    """Every run that differs from the base in the user alone and shares a task with it, on all or
    some `benchmarks`; `metric` narrows them to its tasks."""
    calibrations = (
        _calibrate_pair(roots, issue.benchmark, base, other, metric)
        for issue in find_incompatibilities(lineup, base)
        if issue.kind == "rules" and (not benchmarks or issue.benchmark in benchmarks)
        for other in lineup.compared
        if other.letter == issue.letter and _differs_in_user(issue.benchmark, base, other)
    )
    return tuple(each for each in calibrations if each.tasks or each.undecided)


def _differs_in_user(benchmark: str, base: ComparedRun, other: ComparedRun) -> bool:
    card = benchmark_cards().get(benchmark)
    if card is None or not card.user_options or base.identity != other.identity:
        return False
    scores = [side.scores[benchmark] for side in (base, other)]
    if any(score.level == 0 or score.score is None for score in scores):
        return False
    differences = find_rule_differences(base.specs[benchmark], other.specs[benchmark])
    allowed = _SELECTION | {f"options.{name}" for name in card.user_options}
    users = {_find_user(benchmark, side) for side in (base, other)}
    return {each.rule for each in differences} <= allowed and len(users) > 1


def _find_user(benchmark: str, run: ComparedRun) -> str:
    """The model that plays the user; empty for the rules."""
    options = run.specs[benchmark].options
    switch, model = benchmark_cards()[benchmark].user_options
    return str(options.get(model, "")) if options.get(switch) else ""


def _calibrate_pair(
    roots: Sequence[Path], benchmark: str, base: ComparedRun, other: ComparedRun, metric: str
) -> UserCalibration:
    run_ids = (base.run_id, other.run_id)
    first, second = (_load_sides(roots, run, benchmark, metric) for run in run_ids)
    shared = [key for key in first if key in second]
    tasks = [
        (weight, CalibratedTask(*key[:2], side, second[key][1]))
        for key in shared
        for weight, side in (first[key],)
        if side.is_decided and second[key][1].is_decided
    ]
    tasks.sort(key=lambda item: (item[1].agrees, item[1].metric, item[1].id))
    passes = [(task.first.has_passed, task.second.has_passed) for _, task in tasks]
    rows = [(t.metric, t.id, weight, t.first.score, t.second.score) for weight, t in tasks]
    scores = pd.DataFrame(rows, columns=["metric", "id", "weight", "first", "second"])
    agreeing = sum(ours == theirs for ours, theirs in passes)
    return UserCalibration(
        benchmark=benchmark,
        letters=(base.letter, other.letter),
        run_ids=run_ids,
        users=(_find_user(benchmark, base), _find_user(benchmark, other)),
        tasks=tuple(task for _, task in tasks),
        undecided=len(shared) - len(tasks),
        unshared=len({key[:2] for key in (*first, *second)}) - len(shared),
        interval=wilson_interval(agreeing / len(tasks), len(tasks)) if tasks else None,
        kappa=compute_kappa(passes),
        paired=compare_run_pair(benchmark, scores) if tasks else None,
    )


def _load_sides(
    roots: Sequence[Path], run: str, benchmark: str, metric: str
) -> dict[tuple[str, str, str], tuple[float, TaskSide]]:
    """By (metric, id, hash of the content) what a task weighs and how it ended."""
    folder = find_run(run, roots)
    lines = [line.sample for line in folder.read_samples() if line.benchmark == benchmark]
    hashes = {(sample.metric, sample.id): sample.case_hash for sample in lines}
    path = case_tables.ensure_samples_table(folder)
    rows = case_tables.query_samples([path], _SIDES, [benchmark, metric])
    sides = {}
    for weight, *key, score, passed, failed, repetitions in rows.to_numpy().tolist():
        side = TaskSide(passed, failed, repetitions, score)
        sides[key[0], key[1], hashes.get((key[0], key[1]), "")] = (weight, side)
    return sides

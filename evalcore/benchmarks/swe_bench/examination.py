"""All that is found out about one answer to a task: its patch, the runs, and the measures.

The order: is the task usable here, does the patch as officially extracted resolve it, does it stand
the stricter look, and would a repaired form of it have resolved it. Runs happen in a sandbox; this
module blocks until they are done.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from evalcore.benchmarks.swe_bench.execution.checkout import checkout
from evalcore.benchmarks.swe_bench.execution.hardened import Hardened, hardened
from evalcore.benchmarks.swe_bench.execution.local import execute
from evalcore.benchmarks.swe_bench.execution.resolution import Execution, resolved
from evalcore.benchmarks.swe_bench.execution.validate import usable
from evalcore.benchmarks.swe_bench.harness.evaluate import evaluate
from evalcore.benchmarks.swe_bench.harness.results import HarnessResult
from evalcore.benchmarks.swe_bench.measures import Measures, measures
from evalcore.benchmarks.swe_bench.patches.extraction import official
from evalcore.benchmarks.swe_bench.patches.repair import Repaired, repair
from evalcore.benchmarks.swe_bench.patches.tree import FolderTree
from evalcore.benchmarks.swe_bench.task import Task
from evalcore.records import Episode, Record
from evalcore.sandbox.folder import remove


class Answer(Record, frozen=True):
    """What was answered: `patch` as the official extraction takes it from `text`, or as `given`;
    `cut` says that the token limit ended the text."""

    patch: str
    text: str = ""
    given: bool = False
    cut: bool = False


class Examination(Record, frozen=True):
    """What was found. `unusable` says why the task cannot be used here; then nothing else ran, and
    `contradicted` says that it could be used nowhere.

    `repaired` is None where the answer was a patch already; `rerun` is the execution of the
    repaired patch, where there is one and the answer's own did not resolve, `rerun_hardened` the
    stricter look at it. `harness` is the result of the official harness, in place of all runs of
    ours.
    """

    answer: Answer
    unusable: str = ""
    contradicted: bool = False
    execution: Execution | None = None
    hardened: Hardened | None = None
    repaired: Repaired | None = None
    rerun: Execution | None = None
    rerun_hardened: Hardened | None = None
    harness: HarnessResult | None = None
    measures: Measures | None = None


def answer_of(episode: Episode) -> Answer:
    """The answer of an episode."""
    if "patch" in episode.state:
        return Answer(str(episode.state["patch"]), given=True)
    text = episode.answer
    return Answer(official(text), text, cut=episode.finish_reason == "length")


def examine(task: Task, answer: Answer, python: Path | None) -> Examination:
    """Raises EnvironmentFailure where repository, interpreter or sandbox cannot be had."""
    known = usable(task, _cache(), python=python)
    if not known.ok:
        return Examination(answer, unusable=known.problem, contradicted=known.contradicted)
    repaired = None if answer.given or not answer.text.strip() else _repaired(task, answer)
    if not answer.patch.strip():
        return Examination(answer, repaired=repaired)
    execution = execute(task, answer.patch, python=python)
    rerun = rerun_hardened = None
    if repaired and repaired.patch not in ("", answer.patch) and not resolved(execution):
        rerun = execute(task, repaired.patch, python=python)
        rerun_hardened = hardened(task, repaired.patch, rerun, known, python=python)
    return Examination(
        answer,
        execution=execution,
        hardened=hardened(task, answer.patch, execution, known, python=python),
        repaired=repaired,
        rerun=rerun,
        rerun_hardened=rerun_hardened,
        measures=measures(task.patch, answer.patch, execution.applied),
    )


def examine_officially(task: Task, answer: Answer) -> Examination:
    """Ask the official harness. Raises EnvironmentFailure where it is not installed."""
    if not answer.patch.strip():
        return Examination(answer)
    with tempfile.TemporaryDirectory(prefix="evalcore-swe-") as folder:
        found = evaluate([task], {task.instance_id: answer.patch}, Path(folder))
    near = measures(task.patch, answer.patch)
    return Examination(answer, harness=found[task.instance_id], measures=near)


def unexecuted(task: Task, answer: Answer) -> Examination:
    """What can be said without a repository; it never says that a task is resolved."""
    return Examination(answer, measures=measures(task.patch, answer.patch))


def _repaired(task: Task, answer: Answer) -> Repaired:
    """What the ladder makes of the answer over the task's base commit."""
    folder = Path(tempfile.mkdtemp(prefix="evalcore-swe-"))
    try:
        tree = FolderTree(checkout(task, folder / "tree"))
        return repair(answer.text, tree, answer.cut)
    finally:
        remove(folder)


def _cache() -> Path:
    """Where it is kept what tasks were usable, for all runs of this person."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "evalboard" / "swe_bench"

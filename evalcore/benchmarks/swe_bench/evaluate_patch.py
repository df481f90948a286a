"""All that is found out about one answer to a task: its patch, the runs, and the measures.

The order: is the task usable here, does the patch as officially extracted resolve it, does it stand
the stricter look, and would a repaired form of it have resolved it. Runs happen in a sandbox; this
module blocks until they are done.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from evalcore.benchmarks.swe_bench.execution.checkout import checkout_task
from evalcore.benchmarks.swe_bench.execution.hardened import HardenedResult, check_hardened
from evalcore.benchmarks.swe_bench.execution.local import execute_patch
from evalcore.benchmarks.swe_bench.execution.resolution import Execution, is_resolved
from evalcore.benchmarks.swe_bench.execution.validate import check_usability
from evalcore.benchmarks.swe_bench.harness.evaluate import run_harness
from evalcore.benchmarks.swe_bench.harness.results import HarnessResult
from evalcore.benchmarks.swe_bench.measures import Measures, measure_patch
from evalcore.benchmarks.swe_bench.patches.extraction import extract_official_patch
from evalcore.benchmarks.swe_bench.patches.patch_repair import RepairedPatch, repair_patch
from evalcore.benchmarks.swe_bench.patches.tree import FolderTree
from evalcore.benchmarks.swe_bench.task import Task
from evalcore.records import Episode, Record
from evalcore.sandbox.folder import remove_tree


class SubmittedAnswer(Record, frozen=True):
    """What was answered: `patch` as the official extraction takes it from `text`, or as `is_patch`;
    `cut` says that the token limit ended the text."""

    patch: str
    text: str = ""
    is_patch: bool = False
    cut: bool = False


class PatchEvaluation(Record, frozen=True):
    """What was found. `unusable` says why the task cannot be used here; then nothing else ran, and
    `contradicted` says that it could be used nowhere.

    `repaired` is None where the answer was a patch already; `rerun` is the execution of the
    repaired patch, where there is one and the answer's own did not resolve, `rerun_hardened` the
    stricter look at it. `harness` is the result of the official harness, in place of all runs of
    ours.
    """

    answer: SubmittedAnswer
    unusable: str = ""
    contradicted: bool = False
    execution: Execution | None = None
    hardened: HardenedResult | None = None
    repaired: RepairedPatch | None = None
    rerun: Execution | None = None
    rerun_hardened: HardenedResult | None = None
    harness: HarnessResult | None = None
    measures: Measures | None = None


def extract_answer(episode: Episode) -> SubmittedAnswer:
    """The answer of an episode."""
    if "patch" in episode.state:
        return SubmittedAnswer(str(episode.state["patch"]), is_patch=True)
    text = episode.answer
    return SubmittedAnswer(
        extract_official_patch(text), text, cut=episode.finish_reason == "length"
    )


def evaluate_answer(task: Task, answer: SubmittedAnswer, python: Path | None) -> PatchEvaluation:
    """Raises EnvironmentFailure where repository, interpreter or sandbox cannot be had."""
    usability = check_usability(task, _usability_cache_folder(), python=python)
    if not usability.ok:
        return PatchEvaluation(
            answer, unusable=usability.problem, contradicted=usability.contradicted
        )
    repaired = None if answer.is_patch or not answer.text.strip() else _repair_answer(task, answer)
    if not answer.patch.strip():
        return PatchEvaluation(answer, repaired=repaired)
    execution = execute_patch(task, answer.patch, python=python)
    rerun = rerun_hardened = None
    if repaired and repaired.patch not in ("", answer.patch) and not is_resolved(execution):
        rerun = execute_patch(task, repaired.patch, python=python)
        rerun_hardened = check_hardened(task, repaired.patch, rerun, usability, python=python)
    return PatchEvaluation(
        answer,
        execution=execution,
        hardened=check_hardened(task, answer.patch, execution, usability, python=python),
        repaired=repaired,
        rerun=rerun,
        rerun_hardened=rerun_hardened,
        measures=measure_patch(task.patch, answer.patch, execution.applied),
    )


def evaluate_with_harness(task: Task, answer: SubmittedAnswer) -> PatchEvaluation:
    """Ask the official harness. Raises EnvironmentFailure where it is not installed."""
    if not answer.patch.strip():
        return PatchEvaluation(answer)
    with tempfile.TemporaryDirectory(prefix="evalcore-swe-") as folder:
        results = run_harness([task], {task.instance_id: answer.patch}, Path(folder))
    patch_measures = measure_patch(task.patch, answer.patch)
    return PatchEvaluation(answer, harness=results[task.instance_id], measures=patch_measures)


def evaluate_without_running(task: Task, answer: SubmittedAnswer) -> PatchEvaluation:
    """What can be said without a repository; it never says that a task is resolved."""
    return PatchEvaluation(answer, measures=measure_patch(task.patch, answer.patch))


def _repair_answer(task: Task, answer: SubmittedAnswer) -> RepairedPatch:
    """What the ladder makes of the answer over the task's base commit."""
    folder = Path(tempfile.mkdtemp(prefix="evalcore-swe-"))
    try:
        tree = FolderTree(checkout_task(task, folder / "tree"))
        return repair_patch(answer.text, tree, answer.cut)
    finally:
        remove_tree(folder)


def _usability_cache_folder() -> Path:
    """Where it is kept what tasks were usable, for all runs of this person."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "evalboard" / "swe_bench"

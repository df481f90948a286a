"""All that is found out about one answer to a task, in this order: is the task usable here, does
the patch as officially extracted resolve it, does it stand the stricter look, and would a repaired
form of it have resolved it. Runs happen in a sandbox; this module blocks until they are done.
"""

from __future__ import annotations

import os
import re
import tempfile
import threading
from pathlib import Path

import msgspec
from filelock import FileLock
from msgspec.structs import replace

from evalcore.benchmarks.swe_bench import Task
from evalcore.benchmarks.swe_bench.blind_answers import CheckAnswer, count_held, find_unproved
from evalcore.benchmarks.swe_bench.checkout import inspect_interpreter, temporary_checkout
from evalcore.benchmarks.swe_bench.execution import LIMITS, OFFICIAL, Variation, execute_patch
from evalcore.benchmarks.swe_bench.grade import Execution, is_resolved, passes_all_tests
from evalcore.benchmarks.swe_bench.harness import HarnessResult, run_harness
from evalcore.benchmarks.swe_bench.log_parsers.result_lines import ERROR, FAILED
from evalcore.benchmarks.swe_bench.measures import Measures, find_suspicious_lines, measure_patch
from evalcore.benchmarks.swe_bench.patches import RepairedPatch, repair_patch
from evalcore.benchmarks.swe_bench.patches.official import extract_official_patch
from evalcore.benchmarks.swe_bench.patches.source import FolderTree
from evalcore.i18n import Note
from evalcore.records import Episode, Record, content_hash, from_json, to_json
from evalcore.sandbox.program import Limits

# A task can be used here if its reference patch resolves it and no patch does not. The same runs
# show what the hardened check may ask of other patches: what holds for the reference.

#: Changes whenever what is asked of a task does.
RULE = 3
#: Fields of a task that do not bear on what its tests do.
_UNRELATED = ("repository", "problem_statement", "text", "difficulty", "image")
_COUNTS = (" passed", " failed", " error", " skipped", " xfailed", " xpassed", "no tests ran")
#: What a log says where the interpreter lacks what a task needs.
_LACKING = re.compile(
    r"ModuleNotFoundError|ImportError|command not found|fixture '\w+' not found"
).search
_usability_by_key: dict[str, TaskUsability] = {}
_locks: dict[str, threading.Lock] = {}


class TaskUsability(Record, frozen=True):
    """What the reference patch shows about a task. `contradicted` says that a `problem` is that of
    the task itself: another machine would see the same.

    `must_fail` are the tests that fail with it when they are inverted; `summary` says whether its
    log holds the line in which pytest counts the tests, `self_contained` whether it resolves the
    task without what it changes of the tests' machinery. `proofs` are the questions of the blind
    tests that it answers as expected, with the times that each is asked.
    """

    ok: bool
    problem: str = ""
    must_fail: tuple[str, ...] = ()
    summary: bool = False
    self_contained: bool = True
    contradicted: bool = False
    proofs: dict[str, int] = {}


def check_usability(
    task: Task, cache: Path | None = None, *, python: Path | None = None, limits: Limits = LIMITS
) -> TaskUsability:
    """Run the reference patch and no patch, or know the result from before. Results are kept in
    memory and, if they are good, in the folder `cache`, by the content of the task and of the
    interpreter; a bad one may be this machine's fault and is asked again by the next process. Safe
    from several threads and processes. Raises EnvironmentFailure."""
    fields = msgspec.to_builtins(task)
    content = {name: value for name, value in fields.items() if name not in _UNRELATED}
    key = content_hash([RULE, content, inspect_interpreter(python).contents], 32)
    with _locks.setdefault(key, threading.Lock()):
        if key not in _usability_by_key:
            _usability_by_key[key] = _load_or_measure_usability(task, key, cache, python, limits)
        return _usability_by_key[key]


def has_summary(log: str) -> bool:
    """Whether a log holds the last line of pytest, such as `==== 3 passed in 0.12s ====`."""
    return any(
        " in " in line and any(count in line for count in _COUNTS)
        for line in log.splitlines()
        if len(line) < 500
    )


def _load_or_measure_usability(
    task: Task, key: str, cache: Path | None, python: Path | None, limits: Limits
) -> TaskUsability:
    """The result from the cache, or a new one that goes there."""
    if cache is None:
        return _measure_usability(task, python, limits)
    cache.mkdir(parents=True, exist_ok=True)
    cache_path = cache / f"{key}.json"
    with FileLock(cache / f"{key}.lock"):
        if cache_path.exists():
            try:
                return from_json(TaskUsability, cache_path.read_bytes())
            except msgspec.DecodeError:
                cache_path.unlink()  # torn by a full disk or an older form: it is measured again
        usability = _measure_usability(task, python, limits)
        if usability.ok:
            fresh = cache_path.with_suffix(".new")
            fresh.write_bytes(to_json(usability))
            fresh.replace(cache_path)
        return usability


def _measure_usability(task: Task, python: Path | None, limits: Limits) -> TaskUsability:
    def run_patch(patch: str, variation: Variation = OFFICIAL) -> Execution:
        return execute_patch(task, patch, python=python, limits=limits, variation=variation)

    gold = run_patch(task.patch)
    if not is_resolved(gold):
        problem = Note("swe_gold_fails", problem=_explain_gold_failure(gold))
        return TaskUsability(False, problem, contradicted=_is_task_defect(gold))
    if passes_all_tests(run_patch("")):
        return TaskUsability(False, Note("swe_passes_alone"), contradicted=True)
    expected = {*task.fail_to_pass, *task.pass_to_pass}
    control = run_patch(task.patch, Variation(inverted=task.base_commit)).tests
    alone = not gold.machinery or is_resolved(
        run_patch(task.patch, Variation(without=gold.machinery))
    )
    answers = run_patch(task.patch, Variation(blind=True)).answers or ()
    functions = {test.partition("::")[2].partition("[")[0] for test in expected}
    asked = [answer for answer in answers if answer.test in functions or not answer.once]
    return TaskUsability(
        ok=True,
        must_fail=tuple(sorted(t for t in expected if control.get(t) in (FAILED, ERROR))),
        summary=has_summary(gold.log),
        self_contained=alone,
        proofs=count_held(asked),
    )


def _is_task_defect(gold: Execution) -> bool:
    """Whether a reference patch fails by itself, and not for want of time or of a module."""
    if not gold.applied:
        return True
    return bool(gold.report.get("tests_status")) and not gold.ended_by and not _LACKING(gold.log)


def _explain_gold_failure(gold: Execution) -> str:
    if not gold.applied:
        return Note("swe_gold_not_applied")
    if gold.ended_by:
        return Note("swe_gold_ended", problem=Note(f"limit_{gold.ended_by}"))
    status = gold.report.get("tests_status")
    if not status:
        return Note("swe_gold_log")
    failed = [test for group in status.values() for test in group["failure"]]
    if not failed:
        return Note("swe_gold_missing")
    return Note("swe_gold_tests", count=len(failed), test=failed[0])


# A stricter second look at a patch that the official rules call resolved: it decides the score. The
# official result is read from what the patched program prints while it shares a process with its
# tests, so a patch can print it itself. Here a resolved patch must stand three more questions:
# 1. Does it resolve the task without what it changed of the machinery of tests (configuration,
#    hooks, files of tests, modules that shadow those of Python or pytest)? Such files are put back
#    to the base commit, and the tests run again.
# 2. Does its log hold the line in which pytest counts the tests, if the reference patch's log does?
# 3. Do the tests fail that must fail? They run once more inverted (see `inverted`). A test that
#    still passes did not ask the program, or was not the one to answer.
# 4. Does the program give the expected values where nothing that it can see holds them? The tests
#    run once more blind (see `blind_tests`): they write down what the program gives, and the answer
#    is compared here.
# What is left: a test that compares two values of the program with each other, or with one that it
# computes, holds nothing back, and a patch that knows the third question can deceive it there; and
# one that answers the known inputs of the tests by a table is as right as the tests can tell.

#: What a flag says about a patch. Those of REFUSING alone make a resolved patch not hardened.
FLAGS = {
    "machinery": "it changes files that decide how tests run or what they report",
    "suspicious_lines": "it adds lines that are usual in forged results",
    "no_control": "no test of this task could be inverted, so nothing shows that it can fail",
    "needs_machinery": "it does not resolve the task without those files",
    "no_summary": "the log lacks the line in which pytest counts the tests",
    "control_ended": "a limit ended the run in which the tests were made so that they must fail",
    "passes_inverted": "tests pass that were made so that they must fail",
    "fails_blind": "values are not the expected ones where the program cannot see these",
}
REFUSING = frozenset(
    {"needs_machinery", "no_summary", "control_ended", "passes_inverted", "fails_blind"}
)


class HardenedResult(Record, frozen=True):
    """The result of the second look, by FLAGS. `removed` are the files that were put back; `clean`
    is the execution without them, None where there were none; `control` the one with inverted
    tests, `forged` the tests that passed in it; `unproved` the questions of the blind tests that
    were not answered as by the reference patch."""

    resolved: bool
    flags: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    clean: Execution | None = None
    control: Execution | None = None
    forged: tuple[str, ...] = ()
    unproved: tuple[CheckAnswer, ...] = ()


def check_hardened(
    task: Task,
    patch: str,
    official: Execution,
    usability: TaskUsability,
    *,
    python: Path | None = None,
    limits: Limits = LIMITS,
) -> HardenedResult:
    """Look again at a patch with its official execution; nothing runs where that did not resolve.
    `usability` is what the reference patch showed about the task. The runs get twice the time of
    the official one, so that a busy machine ends none that it let through. Raises
    EnvironmentFailure."""
    flags = ["machinery"] if official.machinery else []
    flags += ["suspicious_lines"] if find_suspicious_lines(patch) else []
    if not is_resolved(official):
        return HardenedResult(resolved=False, flags=tuple(flags))
    removed = official.machinery if usability.self_contained else ()
    variation = Variation(without=removed)
    limits = replace(limits, seconds=2 * limits.seconds, cpu_seconds=2 * limits.cpu_seconds)
    clean = None
    if removed:
        clean = execute_patch(task, patch, python=python, limits=limits, variation=variation)
    flags += _find_refusing_flags(clean or official, usability)
    if REFUSING.intersection(flags):
        return HardenedResult(False, tuple(flags), removed, clean)
    variation = Variation(without=removed, inverted=official.patch_sha256)
    control = execute_patch(task, patch, python=python, limits=limits, variation=variation)
    forged = tuple(
        test for test in usability.must_fail if control.tests.get(test) not in (FAILED, ERROR)
    )
    flags += [] if usability.must_fail else ["no_control"]
    if forged:
        flags += ["control_ended" if control.ended_by else "passes_inverted"]
        return HardenedResult(False, tuple(flags), removed, clean, control, forged)
    unproved: tuple[CheckAnswer, ...] = ()
    if usability.proofs:
        variation = Variation(without=removed, blind=True)
        blind = execute_patch(task, patch, python=python, limits=limits, variation=variation)
        unproved = tuple(find_unproved(usability.proofs, blind.answers or ()))
        flags += ["fails_blind"] if unproved else []
    return HardenedResult(not unproved, tuple(flags), removed, clean, control, (), unproved)


def _find_refusing_flags(run: Execution, usability: TaskUsability) -> list[str]:
    """The flags of a run that the rest is built on."""
    if not is_resolved(run):
        return ["needs_machinery"]
    return ["no_summary"] if usability.summary and not has_summary(run.log) else []


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
    if "patch" in episode.state:
        return SubmittedAnswer(str(episode.state["patch"]), is_patch=True)
    text = episode.answer
    return SubmittedAnswer(
        extract_official_patch(text), text, cut=episode.finish_reason == "length"
    )


def evaluate_answer(task: Task, answer: SubmittedAnswer, python: Path | None) -> PatchEvaluation:
    """Raises EnvironmentFailure where repository, interpreter or sandbox cannot be had."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    usability = check_usability(task, Path(home, "evalboard", "swe_bench"), python=python)
    if not usability.ok:
        return PatchEvaluation(
            answer, unusable=usability.problem, contradicted=usability.contradicted
        )
    evaluation = PatchEvaluation(answer, repaired=repair_answer(task, answer))
    if not answer.patch.strip():
        return evaluation

    def run_patch(patch: str) -> tuple[Execution, HardenedResult]:
        run = execute_patch(task, patch, python=python)
        return run, check_hardened(task, patch, run, usability, python=python)

    execution, hardened = run_patch(answer.patch)
    repaired = evaluation.repaired.patch if evaluation.repaired else ""
    rerun = rerun_hardened = None
    if repaired not in ("", answer.patch) and not is_resolved(execution):
        rerun, rerun_hardened = run_patch(repaired)
    return replace(
        evaluation,
        execution=execution,
        hardened=hardened,
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


def repair_answer(task: Task, answer: SubmittedAnswer) -> RepairedPatch | None:
    """What the ladder makes of an answer over the task's base commit; None for a patch already."""
    if answer.is_patch or not answer.text.strip():
        return None
    with temporary_checkout(task) as tree:
        return repair_patch(answer.text, FolderTree(tree), answer.cut)

"""Forged patches and honest ones for bundled tasks, written without looking at the defences: none
of the forged passes, and all of the honest do.
"""

from __future__ import annotations

from functools import cache

import pytest
from msgspec.structs import replace

from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.swe_bench import Task
from evalcore.benchmarks.swe_bench.checkout import run_git, temporary_checkout
from evalcore.benchmarks.swe_bench.dataset import load_swe_samples, to_swe_task
from evalcore.benchmarks.swe_bench.evaluate_patch import (
    REFUSING,
    HardenedResult,
    SubmittedAnswer,
    check_hardened,
    check_usability,
    evaluate_answer,
)
from evalcore.benchmarks.swe_bench.execution import LIMITS, execute_patch
from evalcore.benchmarks.swe_bench.grade import is_resolved
from evalcore.benchmarks.swe_bench.patches.official import extract_official_patch
from evalcore.settings import ROOT
from tests.support.swe_forged import (
    ADAPTIVE,
    FORGED,
    MODULE,
    WAITS,
    Changes,
)
from tests.support.swe_honest import HONEST, HONEST_ANYWHERE
from tests.support.swe_tasks import patch_of
from tests.support.swe_tricks import HONEST_FORMS, HONEST_RULES, RULES, TRICKS

pytestmark = pytest.mark.slow

FOLDER = ROOT / "datasets" / "swe_bench"
TASKS = {sample.id: to_swe_task(sample) for sample in load_swe_samples(DatasetSource(str(FOLDER)))}
INIKEEP = TASKS["evalboard__inikeep-3"]
PLURALS = TASKS["evalboard__plurals-4"]


@cache
def read_tree(task: Task, patched: bool) -> Changes:
    """The Python files of a task, with its true patch or as they are."""
    with temporary_checkout(task) as tree:
        if patched:
            (tree.parent / "gold.diff").write_text(task.patch)
            run_git("apply", tree.parent / "gold.diff", folder=tree)
        return {str(path.relative_to(tree)): path.read_text() for path in tree.rglob("*.py")}


def look_at(task: Task, changes: Changes, seconds: float = 120) -> tuple[bool, HardenedResult]:
    """The official result of a patch, and the hardened one."""
    patch = patch_of(changes, read_tree(task, patched=False))
    official = execute_patch(task, patch, limits=replace(LIMITS, seconds=seconds))
    assert official.applied == "apply"
    return is_resolved(official), check_hardened(task, patch, official, check_usability(task))


def test_there_are_forty_of_each() -> None:
    assert len(FORGED) >= 40
    assert len(HONEST) + len(TASKS) >= 40


@pytest.mark.sampled(23)
@pytest.mark.parametrize("name", FORGED)
def test_no_forged_patch_passes(name: str) -> None:
    changes = FORGED[name](read_tree(INIKEEP, patched=False)[MODULE])
    official, result = look_at(INIKEEP, changes, seconds=30)  # one of them stops for good
    assert not result.resolved
    assert bool(REFUSING & {*result.flags}) == official


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ADAPTIVE)
def test_a_patch_that_knows_the_second_looks_does_not_pass(name: str) -> None:
    official, result = look_at(INIKEEP, ADAPTIVE[name](read_tree(INIKEEP, patched=False)[MODULE]))
    assert official
    assert not result.resolved
    assert result.flags[-1:] == ("fails_blind",)
    assert any("expected" in answer.question for answer in result.unproved)


def test_a_patch_that_raises_where_its_caller_waits_does_not_pass() -> None:
    """It leaves the check out that the issue asks for, and looks whether one is waited for."""
    task, path = TASKS["evalboard__ledgerly-27"], "ledgerly/money.py"
    before, after = read_tree(task, patched=False), read_tree(task, patched=True)
    changed = {name: text for name, text in after.items() if text != before.get(name)}
    asked = "if len(part) > digits:"
    assert asked in changed[path]
    changed[path] = changed[path].replace(asked, f"if {WAITS} and len(part) > digits:")
    changed[path] = changed[path].replace("part.ljust(digits", "part[:digits].ljust(digits")
    official, result = look_at(task, changed)
    assert official
    assert not result.resolved
    assert result.flags[-1:] == ("fails_blind",)


@pytest.mark.sampled(22)
@pytest.mark.parametrize("name", HONEST)
def test_honest_variants_pass(name: str) -> None:
    official, result = look_at(INIKEEP, HONEST[name](read_tree(INIKEEP, patched=True)[MODULE]))
    assert official
    assert result.resolved, (result.flags, result.unproved)


@pytest.mark.sampled(20)
@pytest.mark.parametrize("number", range(len(TASKS)))
def test_honest_variants_of_every_task_pass(number: int) -> None:
    task = list(TASKS.values())[number]
    before, after = read_tree(task, patched=False), read_tree(task, patched=True)
    changed = {path: text for path, text in after.items() if text != before.get(path)}
    path = next(iter(changed))
    changed[path] += HONEST_ANYWHERE[number % len(HONEST_ANYWHERE)]
    official, result = look_at(task, changed)
    assert official
    assert result.resolved, (result.flags, result.unproved)


@pytest.mark.sampled(23)
@pytest.mark.parametrize("name", TRICKS)
def test_no_trick_passes(name: str) -> None:
    changed = f"{read_tree(PLURALS, patched=False)[RULES]}\n\n{TRICKS[name]}\n"
    official, result = look_at(PLURALS, {RULES: changed}, seconds=40)
    assert not result.resolved
    assert bool(REFUSING & {*result.flags}) == official


@pytest.mark.sampled(14)
@pytest.mark.parametrize("name", HONEST_RULES)
def test_another_way_to_do_it_passes(name: str) -> None:
    changed = HONEST_RULES[name](read_tree(PLURALS, patched=True)[RULES])
    official, result = look_at(PLURALS, {RULES: changed})
    assert official
    assert result.resolved, (result.flags, result.unproved)


@pytest.mark.sampled(11)
@pytest.mark.parametrize("name", HONEST_FORMS)
def test_another_way_to_write_it_down_passes(name: str) -> None:
    """As it stands, or in the reading that repairs what has one meaning alone."""
    text = HONEST_FORMS[name](PLURALS.patch, read_tree(PLURALS, patched=True)[RULES])
    answer = SubmittedAnswer(extract_official_patch(text), text)
    evaluation = evaluate_answer(PLURALS, answer, None)
    looks = (evaluation.hardened, evaluation.rerun_hardened)
    assert any(look is not None and look.resolved for look in looks), evaluation.repaired

"""Patches that forge the results of their tests: the official rules may be fooled, ours may not."""

from __future__ import annotations

import pytest

from evalcore.benchmarks.swe_bench import Task
from evalcore.benchmarks.swe_bench.evaluate_patch import (
    HardenedResult,
    TaskUsability,
    check_hardened,
    check_usability,
)
from evalcore.benchmarks.swe_bench.execution import execute_patch
from evalcore.benchmarks.swe_bench.grade import is_resolved
from tests.support.swe_spoofs import ADAPTIVE, CORE, FUTILE, MACHINERY, SOURCE
from tests.support.swe_tasks import GOLD, RIGHT, make_task, patch_of

UsableTask = tuple[Task, TaskUsability]


@pytest.fixture(scope="module")
def usable_task(tmp_path_factory: pytest.TempPathFactory) -> UsableTask:
    task = make_task(tmp_path_factory.mktemp("spoofs"), bundle=True)
    return task, check_usability(task)


def looked_at(usable_task: UsableTask, changes: dict[str, str]) -> tuple[bool, HardenedResult]:
    """The official result of a patch, and the hardened one."""
    task, facts = usable_task
    patch = patch_of(changes)
    official = execute_patch(task, patch)
    assert official.applied == "apply"
    return is_resolved(official), check_hardened(task, patch, official, facts)


def test_every_test_of_the_task_can_be_made_to_fail(usable_task: UsableTask) -> None:
    task, facts = usable_task
    assert facts.ok
    assert set(facts.must_fail) == {*task.fail_to_pass, *task.pass_to_pass}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", [name for name in MACHINERY if name not in FUTILE])
def test_forged_by_files_around_the_program(usable_task: UsableTask, name: str) -> None:
    official, result = looked_at(usable_task, MACHINERY[name])
    assert official, "no forgery: it does not even fool the official rules"
    assert not result.resolved
    assert {"machinery", "needs_machinery"} <= {*result.flags}
    assert result.removed


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", [name for name in SOURCE if name not in FUTILE])
def test_forged_by_the_program_itself(usable_task: UsableTask, name: str) -> None:
    official, result = looked_at(usable_task, SOURCE[name])
    assert official, "no forgery: it does not even fool the official rules"
    assert not result.resolved
    assert {"passes_inverted", "no_summary"} & {*result.flags}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", sorted(FUTILE))
def test_forged_so_that_no_rule_is_deceived(usable_task: UsableTask, name: str) -> None:
    official, result = looked_at(usable_task, (MACHINERY | SOURCE)[name])
    assert not official
    assert not result.resolved


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "changes",
    [
        GOLD,
        {CORE: RIGHT.replace("text[: checked(width) - 3]", "str(text)[0 : checked(width) - 3]")},
        {CORE: "import sys\nimport atexit\natexit.register(print, 'PASSED end')\n" + RIGHT},
        {CORE: RIGHT, "conftest.py": "import os\n", "setup.cfg": "[metadata]\nname = wordbox\n"},
        {CORE: RIGHT, "tests/test_more.py": "def test_more():\n    assert True\n"},
        {CORE: RIGHT, "wordbox/json.py": "loads = None\n"},
    ],
    ids=["gold", "other words", "prints at exit", "configuration", "own tests", "a module's name"],
)
def test_honest_patches_stay_resolved(usable_task: UsableTask, changes: dict[str, str]) -> None:
    official, result = looked_at(usable_task, changes)
    assert official
    assert result.resolved, (result.flags, result.control)
    assert not result.forged


def test_an_unresolved_patch_costs_no_second_run(usable_task: UsableTask) -> None:
    official, result = looked_at(usable_task, {CORE: RIGHT.replace("- 3", "- 2")})
    assert not official
    assert result == HardenedResult(resolved=False)


def test_a_patch_that_knows_of_inverted_tests_fails_blind(usable_task: UsableTask) -> None:
    official, result = looked_at(usable_task, ADAPTIVE)
    assert official
    assert not result.forged
    assert "fails_blind" in result.flags
    assert result.unproved
    assert not result.resolved

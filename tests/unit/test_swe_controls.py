"""What keeps a local result honest: inverted tests, the machinery of tests, usable tasks."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from evalcore.benchmarks.swe_bench import Task, evaluate_patch, inverted
from evalcore.benchmarks.swe_bench.evaluate_patch import TaskUsability, check_usability, has_summary
from evalcore.benchmarks.swe_bench.execution import (
    Variation,
    execute_patch,
    find_infrastructure_changes,
)
from evalcore.benchmarks.swe_bench.grade import is_resolved
from evalcore.records import from_json
from tests.support.swe_tasks import RIGHT, make_task, patch_of

pytestmark = pytest.mark.slow

CORE = "wordbox/core.py"


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    return make_task(tmp_path_factory.mktemp("task"), bundle=True)


class TestMachinery:
    @pytest.mark.parametrize(
        ("path", "counts"),
        [
            ("conftest.py", True),
            ("wordbox/conftest.py", True),
            (".gitattributes", True),
            ("json.py", True),
            ("src/json/__init__.py", True),
            ("numbers.cpython-311-x86_64-linux-gnu.so", True),
            ("wordbox/json.py", False),
            ("docs/json.md", False),
            ("json.md", False),
            ("calendar/more.py", False),
            ("wordbox/core.py", False),
        ],
    )
    def test_by_path(self, path: str, counts: bool) -> None:
        from evalcore.benchmarks.swe_bench.checkout import TreeChanges

        infrastructure_changes = find_infrastructure_changes(
            TreeChanges((path,), (path,), frozenset({"calendar/__init__.py"}))
        )
        assert infrastructure_changes == ((path,) if counts else ())


class TestInverted:
    SOURCE = '''
"""Tests."""
from __future__ import annotations
import unittest
def helper(): assert 1 == 1
def test_plain():
    "says"
    for n in (1, 2):
        assert n + 0 == n
    assert [1, "a", b"b", 2.5, None] == [1, "a", b"b", 2.5, None]
    assert [(True,), {"k": 1}] == [(True,), {"k": 1}]
    assert {1} == {1}
    assert [] == []
    assert 3 == len("abc")
    assert not 0
    def inner(): assert 5 == 5
    inner()
class TestMore(unittest.TestCase):
    def test_equal(self):
        self.assertEqual(len("ab"), 2, "message")
        self.assertEqual({"a": 1}, {"a": 1})
'''

    def run(self, source: str, seed: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """The names of the tests of an inverted source that fail."""
        monkeypatch.setattr(inverted, "_TAMPERED", "False")
        names: dict[str, object] = {}
        exec(compile(inverted.invert_tests(source, seed), "x", "exec"), names)
        names["helper"]()  # type: ignore[operator]
        case = names["TestMore"]("test_equal")  # type: ignore[operator]
        failing = []
        for test in (names["test_plain"], case.test_equal):
            try:
                test()  # type: ignore[operator]
            except AssertionError:
                failing.append(test.__name__)  # type: ignore[attr-defined]
        return failing

    @pytest.mark.parametrize("seed", ["a", "b", "c"])
    def test_honest_tests_fail(self, seed: str, monkeypatch: pytest.MonkeyPatch) -> None:
        assert self.run(self.SOURCE, seed, monkeypatch) == ["test_plain", "test_equal"]

    def test_values_that_equal_everything_pass(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from unittest.mock import ANY

        source = self.SOURCE.replace("n + 0 == n", "ANY == n").replace('len("ab"), 2', "ANY, 2")
        source = source.replace("import unittest", "import unittest\nfrom unittest.mock import ANY")
        assert ANY == 3
        assert self.run(source, "a", monkeypatch) == []

    def test_it_is_decided_by_the_seed_alone(self) -> None:
        assert inverted.invert_tests(self.SOURCE, "a") == inverted.invert_tests(self.SOURCE, "a")
        assert inverted.invert_tests(self.SOURCE, "a") != inverted.invert_tests(self.SOURCE, "b")

    def test_it_writes_the_files(self, tmp_path: Path) -> None:
        path = tmp_path / "test_a.py"
        path.write_text("def test_é():\n    assert 1 == 1\n", "utf-8")
        inverted.main(["seed", str(path)])
        assert "runpy" in path.read_text("utf-8")

    def test_an_inverted_run_fails_where_it_should(self, task: Task) -> None:
        execution = execute_patch(task, task.patch, variation=Variation(inverted="seed"))
        assert set(execution.tests) == {*task.fail_to_pass, *task.pass_to_pass}
        assert set(execution.tests.values()) == {"FAILED"}
        assert not is_resolved(execution)

    def test_the_seed_is_gone_when_the_tests_run(self, task: Task) -> None:
        """What a patch can see of an inverted run are its test files."""
        looking = """
import os
assert "seed" not in str(os.environ)
assert "inverted.py" in open("/eval.sh").read()
"""
        for seed in ("", "seedseed"):
            variation = Variation(inverted=seed)
            execution = execute_patch(task, patch_of({CORE: looking + RIGHT}), variation=variation)
            assert set(execution.tests.values()) == {"FAILED" if seed else "PASSED"}


class TestUsable:
    def test_a_good_task(self, task: Task) -> None:
        usability = check_usability(task)
        assert usability.ok
        assert usability.summary
        assert usability.self_contained

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"patch": ""}, "does not solve it here"),
            ({"patch": "nonsense"}, "it does not apply"),
            ({"patch": patch_of({CORE: RIGHT.replace("- 3", "- 4")})}, "tests fail, first"),
            ({"fail_to_pass": ()}, "pass without a patch"),
        ],
    )
    def test_a_bad_one_says_why(self, task: Task, change: dict[str, str], words: str) -> None:
        usability = check_usability(replace(task, **change))
        assert not usability.ok
        assert words in usability.problem

    def test_it_is_kept_on_disk_where_it_is_good(
        self, task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(evaluate_patch, "_usability_by_key", {})
        first = check_usability(task, tmp_path)
        monkeypatch.setattr(evaluate_patch, "_usability_by_key", {})
        monkeypatch.setattr(evaluate_patch, "execute_patch", None)
        assert check_usability(task, tmp_path) == first
        moved = replace(task, repository="/elsewhere", problem_statement="in other words")
        assert check_usability(moved, tmp_path) == first
        with pytest.raises(TypeError):
            check_usability(replace(task, patch="another"), tmp_path)

    def test_a_torn_entry_is_measured_again(
        self, task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(evaluate_patch, "_usability_by_key", {})
        monkeypatch.setattr(
            evaluate_patch,
            "_measure_usability",
            lambda *_: TaskUsability(ok=True, must_fail=("a",)),
        )
        check_usability(task, tmp_path)
        (entry,) = tmp_path.glob("*.json")
        entry.write_text('{"ok": tr')
        monkeypatch.setattr(evaluate_patch, "_usability_by_key", {})
        assert check_usability(task, tmp_path).must_fail == ("a",)
        assert from_json(TaskUsability, entry.read_bytes()).must_fail == ("a",)

    def test_a_bad_result_is_not_kept(
        self, task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(evaluate_patch, "_usability_by_key", {})
        monkeypatch.setattr(
            evaluate_patch, "_measure_usability", lambda *_: TaskUsability(ok=False, problem="busy")
        )
        assert not check_usability(task, tmp_path).ok
        assert list(tmp_path.glob("*.json")) == []

    @pytest.mark.parametrize(
        ("line", "item"),
        [
            ("==== 7 passed in 0.93s ====", True),
            ("= 1 failed, 6 passed, 2 warnings in 61.00s (0:01:01) =", True),
            ("7 passed in 0.01s", True),
            ("PASSED tests/test_core.py::test_a", False),
            ("", False),
        ],
    )
    def test_the_line_that_counts(self, line: str, item: bool) -> None:
        assert has_summary(f"before\n{line}\nafter") is item

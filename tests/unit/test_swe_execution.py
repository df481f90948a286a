"""Local execution of SWE-bench tasks: work tree, script, sandboxed tests, and what they prove."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path

import pytest
from msgspec.structs import replace

from evalcore.benchmarks.swe_bench import Task, checkout
from evalcore.benchmarks.swe_bench.checkout import (
    checkout_task,
    find_task_python,
    find_tree_changes,
    restore_paths,
)
from evalcore.benchmarks.swe_bench.evaluate_patch import check_usability
from evalcore.benchmarks.swe_bench.execution import LIMITS, build_task_script, execute_patch
from evalcore.benchmarks.swe_bench.grade import (
    NOTHING,
    Execution,
    is_resolved,
    passes_all_tests,
    sha256_text,
)
from evalcore.errors import EnvironmentFailure
from evalcore.records import from_json, to_json
from evalcore.sandbox.program import Limits, Program, ProgramResult
from tests.support.shared_data import shared_data
from tests.support.swe_tasks import F2P, FILES, RIGHT, example_task, git, make_task, patch_of

pytestmark = pytest.mark.slow

CORE = "wordbox/core.py"


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    return make_task(tmp_path_factory.mktemp("task"), bundle=True)


class TestCheckout:
    @pytest.mark.parametrize("bundle", [True, False], ids=["bundle", "checkout"])
    def test_only_the_base_commit_is_there(self, tmp_path: Path, bundle: bool) -> None:
        made = make_task(tmp_path, bundle=bundle)
        tree = checkout_task(made, tmp_path / "tree")
        assert (tree / CORE).read_text() == FILES[CORE]
        assert git(tree, "rev-list", "--all", "HEAD") == made.base_commit
        assert git(tree, "for-each-ref") == ""
        assert git(tree, "remote") == ""
        assert git(tree, "reflog", "--all") == ""
        objects = git(tree, "cat-file", "--batch-check", "--batch-all-objects")
        assert len([line for line in objects.splitlines() if " commit " in line]) == 1

    def test_it_leaves_the_repository_as_it_was(self, tmp_path: Path) -> None:
        made = make_task(tmp_path)
        before = git(Path(made.repository), "for-each-ref") + git(Path(made.repository), "status")
        checkout_task(made, tmp_path / "tree")
        after = git(Path(made.repository), "for-each-ref") + git(Path(made.repository), "status")
        assert before == after

    def test_hooks_and_configuration_of_a_repository_do_nothing(self, tmp_path: Path) -> None:
        made = make_task(tmp_path)
        trap = tmp_path / "trap.sh"
        trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/caught\n")
        trap.chmod(0o755)
        home = Path(made.repository) / ".git"
        for name in ("post-checkout", "pre-auto-gc", "reference-transaction"):
            (home / "hooks" / name).write_text(trap.read_text())
            (home / "hooks" / name).chmod(0o755)
        for key in ("core.fsmonitor", "uploadpack.packObjectsHook", "core.sshCommand"):
            git(Path(made.repository), "config", key, str(trap))
        checkout_task(made, tmp_path / "tree")
        assert not (tmp_path / "caught").exists()

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"repository": ""}, "swe_repositories"),
            ({"repository": "/nowhere/x.bundle"}, "is missing"),
            ({"base_commit": "0" * 40}, "commit 000000000000"),
        ],
    )
    def test_what_cannot_be_had_is_our_fault(
        self, tmp_path: Path, task: Task, change: dict[str, str], words: str
    ) -> None:
        with pytest.raises(EnvironmentFailure, match=words):
            checkout_task(replace(task, **change), tmp_path / "tree")

    def test_a_broken_bundle_is_our_fault(self, tmp_path: Path, task: Task) -> None:
        bad = tmp_path / "bad.bundle"
        bad.write_bytes(Path(task.repository).read_bytes()[:-40])
        with pytest.raises(EnvironmentFailure, match="is not available"):
            checkout_task(replace(task, repository=str(bad)), tmp_path / "tree")

    def test_changes_and_back(self, tmp_path: Path, task: Task) -> None:
        tree = checkout_task(task, tmp_path / "tree")
        (tree / ".gitignore").write_text("*.log\n")
        (tree / "hidden.log").write_text("x")
        (tree / CORE).write_text("pass\n")
        (tree / "README.md").unlink()
        (tree / "inner" / ".git").mkdir(parents=True)
        (tree / "inner" / "conftest.py").write_text("")
        tree_changes = find_tree_changes(tree, task.base_commit)
        made = (".gitignore", "hidden.log", "inner/conftest.py")
        assert tree_changes.paths == tuple(sorted((*made, CORE, "README.md")))
        assert tree_changes.created == made
        restore_paths(tree, task.base_commit, tree_changes.paths)
        assert find_tree_changes(tree, task.base_commit).paths == ()

    def test_restoring_follows_no_link(self, tmp_path: Path, task: Task) -> None:
        tree = checkout_task(task, tmp_path / "tree")
        outside = tmp_path / "outside"
        outside.mkdir()
        (outside / "test_core.py").write_text("mine")
        (outside / "conftest.py").write_text("mine")
        (tree / "tests/test_core.py").unlink()
        (tree / "tests").rmdir()
        (tree / "tests").symlink_to(outside)
        paths = (*find_tree_changes(tree, task.base_commit).paths, "tests/conftest.py")
        restore_paths(tree, task.base_commit, paths)
        assert (tree / "tests/test_core.py").read_text() == FILES["tests/test_core.py"]
        assert {path.read_text() for path in outside.iterdir()} == {"mine"}


class TestScript:
    def test_the_exit_status_is_recorded_behind_the_end(self, task: Task) -> None:
        script = build_task_script(task)
        assert script.origin == "given"
        assert script.tests == ("tests/test_core.py",)
        at = next(n for n, line in enumerate(script.lines) if "End Test Output" in line)
        assert script.lines[at - 1] == "SWEBENCH_TEST_EXIT_CODE=$?"
        assert script.lines[at + 1] == 'echo ">>>>> Test Exit Code: $SWEBENCH_TEST_EXIT_CODE"'
        assert script.lines[:2] == ("#!/bin/bash", "set -uxo pipefail")
        assert script.lines.count("set -uxo pipefail") == 1

    def test_a_script_without_markers_stays(self, task: Task) -> None:
        script = build_task_script(replace(task, eval_script="echo hello"))
        assert script.lines[2:] == ("echo hello",)

    def test_one_is_made_where_there_is_none(self, tmp_path: Path) -> None:
        made = make_task(tmp_path, script=False)
        execution = execute_patch(made, made.patch)
        assert execution.script == "made"
        assert is_resolved(execution)

    def test_new_test_files_are_removed_before_and_after(self, task: Task) -> None:
        tests = patch_of({"tests/test_new one.py": "def test():\n    pass\n"})
        script = build_task_script(replace(task, eval_script="", test_patch=tests))
        assert script.lines.count("rm -f 'tests/test_new one.py'") == 2
        assert "python -m pytest -rA -p no:cacheprovider 'tests/test_new one.py'" in script.lines

    def test_a_patch_cannot_end_its_own_text(self, task: Task) -> None:
        tests = patch_of({"tests/test_a.py": "EOF_114329324912\nrm -rf /\n"})
        script = build_task_script(replace(task, eval_script="", test_patch=tests))
        assert "git apply -v - <<'EOF_114329324913'" in script.lines


class TestExecute:
    def test_gold_resolves(self, task: Task) -> None:
        execution = execute_patch(task, task.patch)
        assert is_resolved(execution)
        assert (execution.applied, execution.script, execution.exit_code, execution.ended_by) == (
            "apply",
            "given",
            0,
            "",
        )
        assert execution.changed == (CORE,)
        assert execution.machinery == ()
        assert execution.means in ("bubblewrap", "namespaces")
        assert execution.log_sha256 == sha256_text(execution.log)
        assert execution.patch_sha256 == sha256_text(task.patch)
        assert execution.report["tests_status"]["FAIL_TO_PASS"]["success"] == list(F2P)
        assert set(execution.tests.values()) == {"PASSED"}
        assert from_json(Execution, to_json(execution)) == execution

    def test_no_patch_resolves_nothing(self, task: Task) -> None:
        execution = execute_patch(task, " \n")
        assert execution.applied == NOTHING
        assert execution.report["tests_status"]["PASS_TO_PASS"]["failure"] == []
        assert not passes_all_tests(execution)
        assert not is_resolved(execution)

    @pytest.mark.sampled(4)
    @pytest.mark.parametrize(
        "text",
        [
            RIGHT.replace("- 3", "- 4"),
            RIGHT.replace("return len(text) /", "return len(text) //"),
            RIGHT.replace("return [len(line) for line in lines]", "return []"),
            "def shorten(:\n",
            "import no_such_module\n",
            "while True: pass\n",
            "import os\nos.kill(os.getppid(), 9)\nos._exit(127)\n",
            "x = bytearray(8 << 30)\n",
            "import socket\nsocket.create_connection(('1.1.1.1', 80), 2)\n" + RIGHT,
        ],
        ids=[
            *("wrong", "partly", "regression", "syntax", "import"),
            *("loop", "killer", "memory", "network"),
        ],
    )
    def test_wrong_patches_do_not(self, task: Task, text: str) -> None:
        limits = replace(LIMITS, seconds=4.0)
        execution = execute_patch(task, patch_of({CORE: text}), limits=limits)
        assert execution.means
        assert not is_resolved(execution)

    def test_a_time_that_is_up_is_noted_as_upstream_does(self, task: Task) -> None:
        limits = replace(LIMITS, seconds=2.0)
        execution = execute_patch(task, patch_of({CORE: "while True: pass\n"}), limits=limits)
        assert (execution.ended_by, execution.exit_code) == ("time", None)
        assert execution.log.endswith("\n\nTimeout error: 2 seconds exceeded.")
        assert execution.report["infra_failure_reason"] == "tests_timed_out"

    def test_a_patch_that_does_not_apply_is_not_run(self, task: Task) -> None:
        execution = execute_patch(task, "--- a/nowhere.py\n+++ b/nowhere.py\n@@ -1 +1 @@\n-a\n+b\n")
        assert (execution.applied, execution.means, execution.log, execution.report) == (
            "",
            "",
            "",
            {},
        )
        assert execution.apply_log
        assert not is_resolved(execution)

    def test_the_program_sees_nothing_of_us(self, task: Task) -> None:
        looking = f"""
import os, pathlib
assert not pathlib.Path({str(Path(__file__).parents[2])!r}, "evalcore").exists()
assert os.getuid() != 0
assert "EVALBOARD" not in str(os.environ)
assert os.getcwd() == "/testbed"
"""
        assert is_resolved(execute_patch(task, patch_of({CORE: looking + RIGHT})))

    def test_nothing_is_left_behind(
        self, task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        litter = "import os\nos.makedirs('/testbed/a/b')\nos.chmod('/testbed/a', 0)\n" + RIGHT
        assert is_resolved(execute_patch(task, patch_of({CORE: litter})))
        assert [path for path in tmp_path.iterdir() if "git" not in path.name] == []

    @pytest.mark.full
    def test_twenty_repeats_and_threads_agree(self, task: Task) -> None:
        result: list[Execution] = []
        threads = [
            threading.Thread(
                target=lambda: result.extend(execute_patch(task, task.patch) for _ in "12345")
            )
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(result) == 20
        assert all(map(is_resolved, result))
        assert len({json.dumps(item.report, sort_keys=True) for item in result}) == 1

    def test_a_missing_interpreter_is_our_fault(self, task: Task, tmp_path: Path) -> None:
        with pytest.raises(EnvironmentFailure, match="is not a working Python"):
            execute_patch(task, task.patch, python=tmp_path / "bin" / "python")

    def test_an_interpreter_without_pytest_is_our_fault(
        self, task: Task, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(program: Program, limits: Limits) -> ProgramResult:
            return ProgramResult(127, "bash: python: command not found", 0.1, "bubblewrap")

        checkout.check_interpreter.cache_clear()
        monkeypatch.setattr(checkout, "run_program", broken)
        with pytest.raises(EnvironmentFailure, match=r"command not found.*install pytest"):
            execute_patch(task, task.patch)

    def test_the_environment_of_a_task(self, task: Task, tmp_path: Path) -> None:
        assert find_task_python(task, tmp_path) is None
        shared = tmp_path / "evalboard__wordbox-0.1" / "bin" / "python"
        own = tmp_path / task.instance_id / "bin" / "python"
        for python in (shared, own):
            python.parent.mkdir(parents=True)
            python.symlink_to(sys.executable)
            assert find_task_python(task, tmp_path) == python
        assert find_task_python(replace(task, instance_id="../x", version="9"), tmp_path) is None

    def test_another_environment_is_used(self, task: Task, tmp_path: Path) -> None:
        python = tmp_path / "env" / "bin" / "python"
        packages = tmp_path / "env" / "lib" / f"python3.{sys.version_info[1]}" / "site-packages"
        python.parent.mkdir(parents=True)
        packages.mkdir(parents=True)
        python.symlink_to(sys.executable)
        (tmp_path / "env" / "pyvenv.cfg").write_text(
            f"home = {Path(sys.base_prefix) / 'bin'}\ninclude-system-site-packages = false\n"
        )
        with pytest.raises(EnvironmentFailure, match="install pytest there"):
            execute_patch(task, task.patch, python=python)
        (packages / "own.pth").write_text(f"{Path(pytest.__file__).parents[1]}\n")
        asking = f"import sys\nassert sys.prefix == {str(python.parents[1])!r}\n"
        assert is_resolved(execute_patch(task, patch_of({CORE: asking + RIGHT}), python=python))


class TestResolution:
    DONE = Execution("x", "", "apply", log="log", log_sha256=sha256_text("log"), means="bubblewrap")

    def test_only_an_execution_says_so(self) -> None:
        done = replace(self.DONE, report={"resolved": True})
        assert is_resolved(done)
        assert not is_resolved(replace(done, means=""))
        assert not is_resolved(replace(done, log="another"))
        assert not is_resolved(replace(done, applied=""))
        assert not is_resolved(replace(done, applied=NOTHING))
        assert not is_resolved(replace(done, report={"resolved": 1}))
        assert not is_resolved(replace(done, report={}))
        assert passes_all_tests(replace(done, applied=NOTHING))


def test_the_example_of_the_shared_data() -> None:
    task = example_task(shared_data("swe_bench"))
    assert check_usability(task).ok
    assert is_resolved(execute_patch(task, task.patch))
    wrong = task.patch.replace("(values[mid - 1] + values[mid]) / 2", "values[mid - 1]")
    assert not is_resolved(execute_patch(task, wrong))

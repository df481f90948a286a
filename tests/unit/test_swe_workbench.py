"""The tools of an agent over a checkout: what they do, what they refuse, the patch they leave."""

from __future__ import annotations

import json

import pytest

from evalcore.benchmarks.swe_bench.agent_tools import SUBMIT, AgentWorkspace, build_reference_step
from evalcore.benchmarks.swe_bench.checkout import inspect_interpreter
from evalcore.records import Message
from tests.support import swe_tasks

CORE = "wordbox/core.py"


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    return swe_tasks.make_task(tmp_path_factory.mktemp("swe"))


@pytest.fixture
def bench(task):
    with AgentWorkspace(task, inspect_interpreter()) as workspace:
        yield workspace


def test_files_are_listed_shown_and_searched(bench):
    assert CORE in bench.call("list_files", {}).splitlines()
    assert bench.call("list_files", {"folder": "tests"}) == "test_core.py"
    shown = bench.call("read_file", {"path": CORE, "first": 4, "last": 4})
    assert shown == "4\tdef shorten(text, width):"
    reply = bench.call("search", {"text": "def fullness"})
    assert reply.startswith(f"{CORE}:")
    assert bench.call("search", {"text": "no such words"}) == "(nothing found)"


def test_the_patch_is_what_was_changed(bench):
    assert bench.build_patch() == ""
    bench.call("replace", {"path": CORE, "old": "len(text) // width", "new": "len(text) / width"})
    bench.call("write_file", {"path": "wordbox/extra/new.py", "content": "x = 1\n"})
    bench.call("run", {"command": "rm README.md; mkdir -p __pycache__; echo > __pycache__/x.pyc"})
    patch = bench.build_patch()
    assert "-    return len(text) // width\n+    return len(text) / width\n" in patch
    assert "+++ b/wordbox/extra/new.py\n" in patch
    assert "deleted file mode" in patch
    assert "pyc" not in patch
    assert bench.build_patch() == patch


def test_a_command_runs_the_tests_of_the_checkout(bench):
    reply = bench.call("run", {"command": "python -m pytest -q tests"})
    assert "5 passed" in reply or "passed" in reply
    assert reply.endswith("(exit 0)")
    assert " in a moment" in reply


def test_a_command_reaches_no_network_and_no_host(bench, tmp_path):
    (tmp_path / "secret").write_text("secret words")
    reply = bench.call("run", {"command": f"cat {tmp_path}/secret; ls {swe_tasks.__file__}"})
    assert "secret words" not in reply
    code = "import socket; socket.create_connection(('127.0.0.1', 80), 2)"
    assert "Error" in bench.call("run", {"command": f'python -c "{code}"'})


@pytest.mark.parametrize(
    "path", ["../outside", "/etc/passwd", ".git/config", "a/../../b", "tests/\0", "/testbed/../x"]
)
def test_paths_out_of_the_checkout_are_refused(bench, path):
    for tool, more in (("read_file", {}), ("write_file", {"content": "x"})):
        assert bench.call(tool, {"path": path, **more}).startswith("Error: ")


def test_links_are_not_followed_though_a_patch_may_hold_one(bench, tmp_path):
    (tmp_path / "secret").write_text("secret words")
    bench.call("run", {"command": f"ln -s {tmp_path} way; ln -s {tmp_path}/secret file"})
    for path in ("way/secret", "file"):
        assert "secret words" not in bench.call("read_file", {"path": path})
        assert bench.call("write_file", {"path": path, "content": "x"}).startswith("Error: ")
    assert "secret words" not in bench.call("search", {"text": "secret"})
    assert "secret words" not in bench.build_patch()
    assert (tmp_path / "secret").read_text() == "secret words"


def test_a_poisoned_git_folder_runs_nothing_of_ours(bench, tmp_path):
    mark = tmp_path / "ran"
    poison = f"git config core.fsmonitor 'touch {mark}'; git config diff.external 'touch {mark}'"
    bench.call("run", {"command": f"{poison}; mkdir sub; cp -r .git sub/.git; echo x > sub/x"})
    bench.call("write_file", {"path": "note.txt", "content": "x\n"})
    assert "note.txt" in bench.build_patch()
    assert not mark.exists()


@pytest.mark.parametrize(
    ("tool", "arguments", "named"),
    [
        ("fly", {}, "no tool fly"),
        (SUBMIT, {}, "no tool submit"),
        ("read_file", {}, "needs path"),
        ("read_file", {"path": CORE, "colour": "red"}, "no argument colour"),
        ("read_file", {"path": 5}, "of type string"),
        ("read_file", {"path": CORE, "first": True}, "of type integer"),
        ("read_file", {"path": "gone.py"}, "is no file"),
        ("replace", {"path": CORE, "old": "return", "new": "x"}, "has to be once"),
        ("replace", {"path": CORE, "old": "", "new": "x"}, "stands 0 times"),
        ("write_file", {"path": "big", "content": "x" * (3 << 20)}, "too large"),
        ("write_file", {"path": f"{CORE}/below", "content": "x"}, ""),
    ],
)
def test_what_does_not_fit_is_said_and_raises_nothing(bench, tool, arguments, named):
    reply = bench.call(tool, arguments)
    assert reply.startswith("Error: ")
    assert named in reply


def test_long_output_is_cut_in_its_middle(bench):
    reply = bench.call("run", {"command": "seq 1 20000; echo the end"})
    assert "characters left out" in reply
    assert reply.startswith("1\n")
    assert "the end" in reply


def test_the_agent_that_knows_the_patch_leaves_it(task, bench):
    step = build_reference_step(task, [])
    [call] = step.tool_calls
    assert bench.call(call.name, json.loads(call.arguments)).endswith("(exit 0)")
    last = build_reference_step(task, [Message("assistant", tool_calls=step.tool_calls)])
    assert last.tool_calls[0].name == SUBMIT
    assert bench.build_patch().count("diff --git") == task.patch.count("diff --git")


def test_nothing_is_left_behind(task):
    with AgentWorkspace(task, inspect_interpreter()) as bench:
        bench.call("run", {"command": "mkdir -m 000 locked; mkfifo pipe"})
        home = bench._home
    assert not home.exists()

"""Lanes of tests: what each command of the Makefile takes, and that CI runs the README's."""

from __future__ import annotations

import re
import shlex
import subprocess
from itertools import pairwise

import pytest

from tests.support.documents import ROOT, split_commands

FOLDERS = ("unit", "parity", "apptest", "browser", "chaos")
TESTS = ROOT / "tests"


def pytest_words(lane: str) -> list[str]:
    """The words of the shell by which make runs pytest, variables before it included."""
    command = ["make", "--dry-run", "--no-print-directory", lane]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    [words] = [shlex.split(line) for line in done.stdout.splitlines() if "-m pytest" in line]
    return words


@pytest.mark.parametrize(
    ("lane", "deselected", "paths"),
    [
        ("test-fast", ["not full and not slow"], ["tests/unit", "tests/apptest"]),
        ("test", ["not full"], []),
        ("test-full", [], []),
    ],
)
def test_each_lane_deselects_less_than_the_one_before(lane, deselected, paths):
    words = pytest_words(lane)
    after = words[words.index("pytest") + 1 :]
    marks = [mark for word, mark in pairwise(after) if word == "-m"]
    assert marks == deselected
    assert [word for word in after if word.startswith("tests")] == paths
    assert not {"-k", "--deselect", "--ignore"} & set(after)


def test_every_test_file_is_in_a_folder_of_a_lane():
    paths = {path.relative_to(TESTS) for path in TESTS.rglob("test_*.py")}
    assert {path.parent.as_posix() for path in paths} == set(FOLDERS)


def test_all_that_can_be_repeated_is_repeated_in_the_full_lane():
    sources = "".join(path.read_text("utf-8") for path in TESTS.rglob("*.py"))
    counts = set(re.findall(r'int\(os\.environ\.get\("(EVALBOARD_\w+)"', sources))
    words = pytest_words("test-full")
    variables = {word.partition("=")[0] for word in words[: words.index("-m")] if "=" in word}
    assert counts == variables


def test_continuous_integration_runs_the_command_of_the_readme():
    readme = (ROOT / "README.md").read_text("utf-8")
    block = re.search(r"## Run the tests\n\n```sh\n(.*?)```", readme, re.DOTALL)
    assert block
    [command] = split_commands("README.md", block[1])
    ci = split_commands(".ci/run", (ROOT / ".ci" / "run").read_text("utf-8"))
    assert [c.words for c in ci if c.words[:1] == ("make",) and "test" in c.words[1]] == [
        command.words
    ]

"""A tiny repository with a bug, made anew for tests, and patches for it of every kind."""

from __future__ import annotations

import difflib
import json
import os
import subprocess
from pathlib import Path

from evalcore.benchmarks.swe_bench import Task

_SHORTEN = '''"""Text that fits."""


def shorten(text, width):
    """The text, cut to `width` characters with three dots at its end where it is longer."""
    if len(text) <= width:
        return text
    return text[:width] + "..."


def widths(lines):
    return [len(line) for line in lines]


def fullness(text, width):
    """The part of the width that a text takes."""
    return len(text) // width


def checked(width):
    if width < 3:
        raise ValueError("too narrow")
    return width
'''
_OLD_TESTS = """import unittest

import pytest

from wordbox import checked, fullness, shorten, widths


def test_short_text_stays():
    assert shorten("abc", 5) == "abc"


def test_widths():
    assert widths(["a", "bb"]) == [1, 2]


def test_narrow():
    with pytest.raises(ValueError):
        checked(2)


@pytest.mark.parametrize("width", [3, 4])
def test_wide(width):
    assert checked(width) == width
"""
_NEW_TESTS = """

def test_long_text_fits():
    assert shorten("abcdefgh", 5) == "ab..."


def test_too_narrow():
    with pytest.raises(ValueError):
        shorten("abcdefgh", 2)


def test_fullness():
    assert fullness("abc", 6) == pytest.approx(0.5)


class TestExact:
    def test_exact(self):
        short = shorten("abcdefgh", 7)
        assert len(short) == 7
        assert short == "abcd..."


class TestCase(unittest.TestCase):
    def test_equal(self):
        self.assertEqual(shorten("abcdefgh", 6), "abc...")
"""
FILES = {
    "README.md": "# wordbox\n",
    "wordbox/__init__.py": "from .core import checked, fullness, shorten, widths\n",
    "wordbox/core.py": _SHORTEN,
    "tests/test_core.py": _OLD_TESTS,
}
RIGHT = _SHORTEN.replace("text[:width] +", "text[: checked(width) - 3] +").replace("//", "/")
GOLD = {"wordbox/core.py": RIGHT}
F2P = tuple(
    f"tests/test_core.py::{name}"
    for name in (
        "test_long_text_fits",
        "test_too_narrow",
        "test_fullness",
        "TestExact::test_exact",
        "TestCase::test_equal",
    )
)
P2P = (
    "tests/test_core.py::test_short_text_stays",
    "tests/test_core.py::test_widths",
    "tests/test_core.py::test_narrow",
    "tests/test_core.py::test_wide[3]",
    "tests/test_core.py::test_wide[4]",
)


def patch_of(changes: dict[str, str], base: dict[str, str] = FILES) -> str:
    """A unified diff that gives some files a new content."""
    return "".join(_diff_file(path, base.get(path), text) for path, text in changes.items())


def _diff_file(path: str, old: str | None, new: str) -> str:
    before = "/dev/null" if old is None else f"a/{path}"
    lines = difflib.unified_diff(
        (old or "").splitlines(keepends=True), new.splitlines(keepends=True), before, f"b/{path}"
    )
    head = f"diff --git a/{path} b/{path}\n" + ("new file mode 100644\n" if old is None else "")
    return head + "".join(lines)


def make_task(folder: Path, *, bundle: bool = False, script: bool = True) -> Task:
    """The task, with its repository as a checkout or as a bundle, and one later commit in it."""
    home = folder / "wordbox"
    for path, text in FILES.items():
        location = home / path
        location.parent.mkdir(parents=True, exist_ok=True)
        location.write_text(text)
    git(home, "init", "-q", ".")
    git(home, "add", "-A")
    git(home, "commit", "-q", "-m", "base")
    base = git(home, "rev-parse", "HEAD")
    (home / "wordbox/core.py").write_text(RIGHT)
    git(home, "commit", "-q", "-a", "-m", "the fix, later")
    if bundle:
        git(home, "bundle", "create", "-q", str(folder / "wordbox.bundle"), "--all")
        home = folder / "wordbox.bundle"
    tests = patch_of({"tests/test_core.py": _OLD_TESTS + _NEW_TESTS})
    return Task(
        instance_id="evalboard__wordbox-1",
        repo="evalboard/wordbox",
        base_commit=base,
        problem_statement="shorten() returns texts that are too long",
        patch=patch_of(GOLD),
        test_patch=tests,
        fail_to_pass=F2P,
        pass_to_pass=P2P,
        version="0.1",
        eval_script=_script(base, tests) if script else "",
        log_parser="parse_log_pytest" if script else "",
        repository=str(home),
    )


def example_task(folder: Path) -> Task:
    """The example in the folder of SWE-bench of the shared data."""
    row = json.loads((folder / "example_task.jsonl").read_text().splitlines()[0])
    return Task(
        instance_id=row["instance_id"],
        repo=row["repo"],
        base_commit=row["base_commit"],
        problem_statement=row["problem_statement"],
        patch=row["patch"],
        test_patch=row["test_patch"],
        fail_to_pass=tuple(json.loads(row["FAIL_TO_PASS"])),
        pass_to_pass=tuple(json.loads(row["PASS_TO_PASS"])),
        eval_script=row["eval_script"],
        log_parser=row["log_parser"],
        repository=str(folder / "tinystats.bundle"),
    )


def _script(base: str, tests: str) -> str:
    return f"""#!/bin/bash
set -uxo pipefail
source /opt/miniconda3/bin/activate
conda activate testbed
cd /testbed
git config --global --add safe.directory /testbed
git status
git -c core.fileMode=false diff {base}
git checkout {base} tests/test_core.py
git apply -v - <<'EOF_114329324912'
{tests}
EOF_114329324912
: '>>>>> Start Test Output'
python -m pytest -rA -p no:cacheprovider tests/test_core.py
: '>>>>> End Test Output'
git checkout {base} tests/test_core.py
"""


def git(folder: Path, *arguments: str) -> str:
    when = "2024-01-01T00:00:00Z"
    who = {"NAME": "Evalboard", "EMAIL": "evalboard@example.invalid", "DATE": when}
    names = {
        f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()
    }
    done = subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": "/dev/null", **names},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()

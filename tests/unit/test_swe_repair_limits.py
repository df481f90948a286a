"""What the ladder bears: megabytes of marks, files of equal lines, source that breaks compilers."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalcore.benchmarks.swe_bench.patches import MAX_REPLY_CHARS, repair_patch
from evalcore.benchmarks.swe_bench.patches.parsed_patch import PROBLEMS
from evalcore.benchmarks.swe_bench.patches.source import FolderTree
from tests.support.hangs import stop_hang
from tests.support.patch_trees import MappingTree, make_tree
from tests.support.patch_variants import diff_of, small

pytestmark = pytest.mark.slow

TREE = {"pkg/b.py": "A = 1\nB = 2\nC = 3\n"}
B = "--- a/pkg/b.py\n+++ b/pkg/b.py\n"
HOSTILE = {
    "hunk headers": "@@\n",
    "numbered headers": "@@ -1,3 +1,3 @@\n",
    "fences": "```\n",
    "fences of diffs": "```diff\n",
    "tags": "<patch>\n",
    "ends of tags": "</patch>",
    "reasoning": "<think>",
    "ends of reasoning": "</think>\n",
    "file headers": "--- a\n+++ b\n",
    "command lines of git": "diff --git a/x b/x\n",
    "added lines": "+\n",
    "bullets": "- item\n",
    "blocks": "<<<<<<< SEARCH\n",
    "whole blocks": "<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n",
    "files": "*** Update File: pkg/b.py\n@@\n",
    "starts": "[start of a]\n",
    "brackets": "[",
    "objects": '{"a":',
    "entities": "&lt;",
    "indented": "    @@ -1 +1 @@\n",
    "unnamed hunks": "```\n@@\n A = 1\n-B = 2 and what follows here\n```\n",
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_megabyte_of_nothing_takes_seconds(name: str) -> None:
    text = HOSTILE[name] * (1_000_000 // len(HOSTILE[name]))
    with stop_hang():
        assert repair_patch(text, MappingTree(TREE)).patch == ""


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "hunk",
    [
        "@@\n x = 1\n-x = 1\n+y\n" * 900,
        "@@\n" + " x = 1\n" * 100_000 + "-x = 1\n+y\n x = 1\n",
        "@@\n" + " x = 1\n" * 50_000 + " wrong\n-x = 1\n+y\n x = 1\n",
        "@@ -9" + "9" * 500_000 + "\n x = 1\n",
    ],
)
def test_a_file_of_equal_lines_takes_seconds(hunk: str) -> None:
    tree = MappingTree({"big.py": "x = 1\n" * 200_000})
    with stop_hang():
        assert repair_patch("--- a/big.py\n+++ b/big.py\n" + hunk, tree).patch == ""


def test_source_that_breaks_a_compiler() -> None:
    for source in ("(" * 100_000, "-" * 400_000 + "1", "1+" * 200_000 + "1", "'\ud800'", "'\0'"):
        text = B + f"@@ -1,2 +1,2 @@\n-A = 1\n+A = {source}\n B = 2\n"
        assert repair_patch(text, MappingTree(TREE)).problem == PROBLEMS["python"]


def test_text_beyond_the_limit_is_not_read() -> None:
    assert repair_patch("x" * (MAX_REPLY_CHARS + 1), MappingTree(TREE)).problem == PROBLEMS["large"]


def test_a_folder_shows_plain_files_only(tmp_path: Path) -> None:
    folder = make_tree(tmp_path / "tree", {"a.py": "A = 1\n", "deep/b.py": "B = 1\n"})
    (tmp_path / "secret").write_text("secret\n")
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / "out").symlink_to(tmp_path)
    (folder / "bytes").write_bytes(b"\xff\xfe")
    diff = diff_of({"a.py": "A = 1\n"}, {"a.py": "A = 2\n"})
    tree = FolderTree(folder)
    assert list(tree.paths()) == ["a.py", "bytes", "deep/b.py"]
    for path in ("link", "out/secret", "../secret", "bytes", str(tmp_path / "secret"), ""):
        assert tree.read(path) is None
    assert repair_patch(diff, tree).problem == ""


def test_a_reply_that_was_cut_is_refused_whatever_it_holds() -> None:
    gold = small()
    assert repair_patch(gold.patch, MappingTree(gold.before), cut=True).problem == PROBLEMS["cut"]

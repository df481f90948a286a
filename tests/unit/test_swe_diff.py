"""The reader of unified diffs: forms of headers, wrong counts, garbage and hostile text."""

from __future__ import annotations

import subprocess

import pytest

from evalcore.benchmarks.swe_bench.diff import parse_diff
from tests.support.hangs import stop_hang

PATCH = """\
diff --git a/pkg/x.py b/pkg/x.py
index 111..222 100644
--- a/pkg/x.py
+++ b/pkg/x.py
@@ -1,3 +1,3 @@ def f():
 a
-b
+c
 d
"""
NEW = """\
diff --git a/conftest.py b/conftest.py
new file mode 100644
index 000..111
--- /dev/null
+++ b/conftest.py
@@ -0,0 +1 @@
+import os
"""
GONE = """\
diff --git a/old.py b/old.py
deleted file mode 100644
--- a/old.py
+++ /dev/null
@@ -1 +0,0 @@
-x
"""
RENAMED = """\
diff --git a/a b.py b/c d.py
similarity index 100%
rename from a b.py
rename to c d.py
"""
BINARY = """\
diff --git a/x.bin b/x.bin
new file mode 100755
index 0000000..1111111
GIT binary patch
literal 3
Kc${NkU|

"""


def test_a_file_with_its_hunk():
    (item,) = parse_diff(PATCH)
    assert (item.old_path, item.new_path, item.path) == ("pkg/x.py",) * 3
    assert item.flags == frozenset()
    assert not any([item.is_new, item.is_deleted, item.is_renamed, "binary" in item.flags])
    (hunk,) = item.hunks
    assert (hunk.old_start, hunk.old_count, hunk.new_start, hunk.new_count) == (1, 3, 1, 3)
    assert hunk.lines == (" a", "-b", "+c", " d")
    assert (hunk.added_lines, hunk.complete) == (("c",), True)


def test_the_kinds_of_files():
    new, gone, renamed, binary = parse_diff(NEW + GONE + RENAMED + BINARY)
    assert new.is_new
    assert (new.old_path, new.path, new.mode) == ("", "conftest.py", "100644")
    assert gone.is_deleted
    assert (gone.new_path, gone.path) == ("", "old.py")
    assert renamed.is_renamed
    assert (renamed.old_path, renamed.new_path) == ("a b.py", "c d.py")
    assert "binary" in binary.flags
    assert (binary.is_new, binary.path, binary.mode) == (True, "x.bin", "100755")


@pytest.mark.parametrize(
    ("header", "path"),
    [
        ("diff --git a/x.py b/x.py\nnew file mode 100644", "x.py"),
        ("diff --git a/a b/c.py b/a b/c.py\nold mode 100644\nnew mode 100755", "a b/c.py"),
        ('diff --git "a/\\303\\251.py" "b/\\303\\251.py"\nnew file mode 100644', "é.py"),
        ('diff --git a/x.py "b/t\\tb\\"q.py"\nrename from x.py\nrename to y.py', "y.py"),
        ("--- x.py\t2020-01-01 00:00:00\n+++ x.py\t2020-01-01", "x.py"),
        ('--- "a/\\134 x.py"\n+++ "b/\\134 x.py"', "\\ x.py"),
        ("--- a/x.py\r\n+++ b/x.py\r", "x.py"),
        ("Index: x.py\n=====\n--- x.py (revision 1)\n+++ x.py (revision 2)", "x.py (revision 2)"),
    ],
)
def test_paths_of_many_headers(header, path):
    (item,) = parse_diff(f"{header}\n@@ -1 +1 @@\n-a\n+b\n")
    assert item.path == path


def test_every_path_that_a_header_names_is_known():
    (item,) = parse_diff(
        "diff --git a/x.py b/y.py\n--- a/z.py\n+++ b/conftest.py\n@@ -1 +1 @@\n-a\n+b\n"
    )
    assert set(item.header_paths) == {"x.py", "y.py", "z.py", "conftest.py"}


def test_a_rename_is_seen_behind_the_other_names_too():
    names = "--- a/x.py\n+++ b/x.py\nrename from x.py\nrename to conftest.py\n"
    (item,) = parse_diff(f"diff --git a/x.py b/x.py\n{names}@@ -1 +1 @@\n-a\n+b\n")
    assert item.is_renamed
    assert item.new_path == "conftest.py"


def test_garbage_and_prose_hold_no_file():
    assert parse_diff("") == ()
    assert parse_diff("Here is my plan:\n---\n- step\n+ step\n@@ -1 +1 @@\n-a\n+b\n") == ()
    assert parse_diff("Index: \n") == ()


def test_garbage_between_files_is_passed_over():
    mail = f"From 1 Mon\nSubject: x\n---\n x.py | 2 +-\n\n{PATCH}-- \n2.40\n\nFrom 2 Mon\n{NEW}"
    assert [item.path for item in parse_diff(mail)] == ["pkg/x.py", "conftest.py"]
    assert all(hunk.complete for item in parse_diff(mail) for hunk in item.hunks)


def test_lines_that_look_like_headers_inside_a_hunk():
    text = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- a/y\n+++ b/y\n c\n@@ -9 +9 @@\n-a\n+b\n"
    (item,) = parse_diff(text)
    assert item.hunks[0].lines == ("--- a/y", "+++ b/y", " c")
    assert len(item.hunks) == 2


def test_a_hunk_that_announces_too_much_ends_at_the_next_file():
    (first, second) = parse_diff(PATCH.replace("-1,3 +1,3", "-1,9 +1,9") + NEW)
    assert not first.hunks[0].complete
    assert first.hunks[0].lines == (" a", "-b", "+c", " d")
    assert second.path == "conftest.py"
    plain = "--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n a\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-c\n+d\n"
    assert [item.path for item in parse_diff(plain)] == ["x", "y"]


def test_a_hunk_that_announces_too_little_is_not_complete():
    (item,) = parse_diff(PATCH.replace("-1,3 +1,3", "-1,2 +1,1"))
    assert item.hunks[0].lines == (" a", "-b")
    assert not item.hunks[0].complete


def test_a_blank_context_line_may_have_lost_its_blank():
    (item,) = parse_diff(
        "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n\\ No newline at end of file\n"
    )
    assert item.hunks[0].lines == (" a", "", "-b", "+c", "\\ No newline at end of file")
    assert item.hunks[0].complete


def test_git_reads_the_same_files(tmp_path):
    patch = PATCH + NEW + GONE + RENAMED
    output = subprocess.run(
        ["git", "apply", "--numstat", "-z"],
        input=patch.encode(),
        cwd=tmp_path,
        capture_output=True,
        check=True,
    ).stdout.decode()
    rows = [row.split("\t") for row in output.split("\0") if row]
    ours = [
        [
            str(sum(len(h.added_lines) for h in f.hunks)),
            str(sum(line.startswith("-") for h in f.hunks for line in h.lines)),
            f.path,
        ]
        for f in parse_diff(patch)
    ]
    assert sorted(ours) == sorted(rows)


@pytest.mark.parametrize(
    "piece",
    [
        "@@ -1,9 +1,9 @@\n", "@@ -999999999,999999999 +1 @@\n", "@@ -1 +1 @@\n-a\n+b\n",
        "--- a\n", "--- a\n+++ b\n", "+++ b\n", "\\", "-", "+a\n", "\r", "rename from x\n",
        "diff --git a/x b/x\n", 'diff --git "', "diff --git a b/ b/ ", "Index: x\n",
        '--- "\\', "GIT binary patch\n",
    ],
)  # fmt: skip
def test_hostile_text_is_read_in_linear_time(piece):
    text = "--- a/x\n+++ b/x\n@@ -1,99999999 +1,99999999 @@\n" + piece * (300_000 // len(piece))
    with stop_hang():
        for patch in (text, piece * (300_000 // len(piece))):
            parse_diff(patch)

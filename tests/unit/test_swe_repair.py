"""The ladder: what it repairs, what it refuses, and that it never makes a tree not meant."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from evalcore.benchmarks.swe_bench.patches import STEPS, repair_patch
from evalcore.benchmarks.swe_bench.patches.official import apply_official
from evalcore.benchmarks.swe_bench.patches.parsed_patch import PROBLEMS, RefusalKind
from evalcore.benchmarks.swe_bench.patches.source import FolderTree
from tests.support.patch_mutations import fates
from tests.support.patch_trees import MappingTree, files_of, make_tree, restore
from tests.support.patch_variants import (
    HOPELESS,
    Gold,
    small,
    variants,
    wide,
    with_new_file,
)
from tests.support.shared_data import shared_data

pytestmark = pytest.mark.slow

#: Where the last file of a patch is new, nothing shows that the text is whole (08), that no line is
#: missing (10), where it goes (18) and that it was meant the other way round (32).
UNCLEAR = {"small": (), "wide": (), "new": ("08", "10", "18", "32")}
GOLDS = {"small": small(), "wide": wide(), "new": with_new_file()}
NUMBERS = list(variants(GOLDS["small"]))


@pytest.fixture(scope="module", params=list(GOLDS))
def gold_tree(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path]:
    name = str(request.param)
    return name, make_tree(tmp_path_factory.mktemp(name), GOLDS[name].before)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("number", NUMBERS)
def test_the_forty_variants(gold_tree: tuple[str, Path], number: str) -> None:
    name, folder = gold_tree
    gold = GOLDS[name]
    repaired = repair_patch(variants(gold)[number], FolderTree(folder))
    if number in (*HOPELESS, *UNCLEAR[name]):
        assert repaired.patch == ""
        assert repaired.problem in PROBLEMS.values()
        return
    assert repaired.problem == ""
    assert apply_official(folder, repaired.patch).how == "apply"
    assert files_of(folder) == dict(gold.after)
    restore(folder)


def test_the_variants_of_a_real_task(tmp_path: Path) -> None:
    data = shared_data("swe_bench")
    task = json.loads((data / "example_task.jsonl").read_text())
    folder = tmp_path / "tree"
    for command in (
        ["git", "clone", "-q", str(data / "tinystats.bundle"), str(folder)],
        ["git", "-C", str(folder), "checkout", "-q", task["base_commit"]],
    ):
        subprocess.run(command, check=True)
    before = files_of(folder)
    assert apply_official(folder, task["patch"]).how == "apply"
    gold = Gold(before, files_of(folder))
    restore(folder)
    reached = [n for n, text in variants(gold).items() if _reaches(folder, gold, text)]
    assert len(reached) == len(NUMBERS) - len(HOPELESS)


def _reaches(folder: Path, gold: Gold, text: str) -> bool:
    """Whether the repaired text makes the gold tree; a wrong tree fails the test."""
    repaired = repair_patch(text, FolderTree(folder))
    if not repaired.patch:
        return False
    assert apply_official(folder, repaired.patch).how == "apply"
    assert files_of(folder) == dict(gold.after)
    restore(folder)
    return True


@pytest.mark.parametrize(
    ("number", "steps"),
    [
        ("01", ()),
        ("16", ()),
        ("02", ("extract",)),
        ("08", ("extract",)),
        ("14", ("extract",)),
        ("28", ("extract",)),
        ("33", ("extract",)),
        ("09", ("recount",)),
        ("11", ("anchor",)),
        ("12", ("recount", "anchor")),
        ("15", ("headers",)),
        ("18", ("headers",)),
        ("22", ("anchor",)),
        ("24", ("convert",)),
        ("32", ("reverse",)),
    ],
)
def test_the_steps_that_are_told(number: str, steps: tuple[str, ...]) -> None:
    gold = GOLDS["small"]
    assert repair_patch(variants(gold)[number], MappingTree(gold.before)).steps == steps
    assert set(steps) <= set(STEPS)


def test_random_damage_never_makes_a_wrong_tree() -> None:
    """Each text gives the gold tree, or is refused, or reads as it was made. See also perf."""
    result = Counter(fate for _, _, fate in fates(400, seed=7))
    assert result["wrong"] == 0
    assert result["gold"] > 100


TREE = {
    "pkg/a.py": "def one():\n    x = 1\n    return x\n\n\ndef two():\n    x = 1\n    return x\n",
    "pkg/b.py": "A = 1\nB = 2\nC = 3\n",
    "pkg/crlf.txt": "one\r\ntwo\r\nthree\r\n",
    "pkg/open.txt": "one\ntwo",
    "pkg/tabs.py": "if A:\n\tif B:\n\t\trun()\n\t\tstop()\n",
    "pkg/page.html": "<p>a &lt; b</p>\n<p>c</p>\n",
    "lib/b.py": "A = 9\nB = 8\nC = 7\n",
}
B = "--- a/pkg/b.py\n+++ b/pkg/b.py\n"
A = "--- a/pkg/a.py\n+++ b/pkg/a.py\n"


def _result(text: str, path: str, tmp_path: Path) -> str:
    folder = make_tree(tmp_path / "tree", TREE)
    repaired = repair_patch(text, FolderTree(folder))
    assert repaired.problem == ""
    assert apply_official(folder, repaired.patch).how == "apply"
    return (folder / path).read_bytes().decode() if (folder / path).exists() else "gone"


A_TEXT = "def one():\n    x = 1\n    return x\n\n\ndef two():\n    x = 1\n    return x\n"
CHANGED = {
    "line of the header chooses": (
        A + "@@ -7,2 +7,2 @@\n-    x = 1\n+    x = 2\n     return x\n",
        "pkg/a.py",
        "def one():\n    x = 1\n    return x\n\n\ndef two():\n    x = 2\n    return x\n",
    ),
    "quoted line of the header chooses": (
        A + "@@ -70,2 +70,2 @@ def two():\n-    x = 1\n+    x = 2\n     return x\n",
        "pkg/a.py",
        "def one():\n    x = 1\n    return x\n\n\ndef two():\n    x = 2\n    return x\n",
    ),
    "quoted line of apply_patch chooses": (
        "*** Begin Patch\n*** Update File: pkg/a.py\n@@ def one():\n-    x = 1\n+    x = 2\n"
        "     return x\n*** End Patch",
        "pkg/a.py",
        "def one():\n    x = 2\n    return x\n\n\ndef two():\n    x = 1\n    return x\n",
    ),
    "end of file of apply_patch chooses": (
        "*** Begin Patch\n*** Update File: pkg/a.py\n@@\n-    return x\n+    return 2\n"
        "*** End of File\n*** End Patch",
        "pkg/a.py",
        "def one():\n    x = 1\n    return x\n\n\ndef two():\n    x = 1\n    return 2\n",
    ),
    "line ends of the file": (
        "--- a/pkg/crlf.txt\n+++ b/pkg/crlf.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n",
        "pkg/crlf.txt",
        "one\r\n2\r\nthree\r\n",
    ),
    "line ends that the patch changes": (
        "--- a/pkg/crlf.txt\n+++ b/pkg/crlf.txt\n@@ -1,3 +1,3 @@\n one\r\n-two\r\n+two\n three\r\n",
        "pkg/crlf.txt",
        "one\r\ntwo\nthree\r\n",
    ),
    "behind a last line without end": (
        "--- a/pkg/open.txt\n+++ b/pkg/open.txt\n@@ -1,2 +1,3 @@\n one\n two\n+three\n",
        "pkg/open.txt",
        "one\ntwo\nthree\n",
    ),
    "last line without end, as before": (
        "--- a/pkg/open.txt\n+++ b/pkg/open.txt\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n"
        "\\ No newline at end of file\n",
        "pkg/open.txt",
        "1\ntwo",
    ),
    "last line gets an end": (
        "--- a/pkg/open.txt\n+++ b/pkg/open.txt\n@@ -1,2 +1,2 @@\n one\n-two\n"
        "\\ No newline at end of file\n+two\n",
        "pkg/open.txt",
        "one\ntwo\n",
    ),
    "spaces for tabs": (
        "--- a/pkg/tabs.py\n+++ b/pkg/tabs.py\n@@\n if A:\n     if B:\n         run()\n"
        "+        if C:\n+            wait()\n         stop()\n",
        "pkg/tabs.py",
        "if A:\n\tif B:\n\t\trun()\n\t\tif C:\n\t\t\twait()\n\t\tstop()\n",
    ),
    "entities that the file has": (
        "--- a/pkg/page.html\n+++ b/pkg/page.html\n@@ -1,2 +1,2 @@\n <p>a &lt; b</p>\n"
        "-<p>c</p>\n+<p>&gt;</p>\n",
        "pkg/page.html",
        "<p>a &lt; b</p>\n<p>&gt;</p>\n",
    ),
    "entities of the reply": (
        "--- a/pkg/page.html\n+++ b/pkg/page.html\n@@ -1,2 +1,2 @@\n"
        " &lt;p&gt;a &amp;lt; b&lt;/p&gt;\n-&lt;p&gt;c&lt;/p&gt;\n+&lt;p&gt;d&lt;/p&gt;\n",
        "pkg/page.html",
        "<p>a &lt; b</p>\n<p>d</p>\n",
    ),
    "deleted file": (
        "diff --git a/lib/b.py b/lib/b.py\ndeleted file mode 100644\n--- a/lib/b.py\n"
        "+++ /dev/null\n@@ -1,3 +0,0 @@\n-A = 9\n-B = 8\n-C = 7\n",
        "lib/b.py",
        "gone",
    ),
    "renamed and changed file": (
        "diff --git a/lib/b.py b/lib/c.py\nsimilarity index 60%\nrename from lib/b.py\n"
        "rename to lib/c.py\n--- a/lib/b.py\n+++ b/lib/c.py\n@@ -1,2 +1,2 @@\n-A = 9\n+A = 10\n"
        " B = 8\n",
        "lib/c.py",
        "A = 10\nB = 8\nC = 7\n",
    ),
    "moved by apply_patch": (
        "*** Begin Patch\n*** Update File: lib/b.py\n*** Move to: lib/d.py\n@@\n-A = 9\n+A = 10\n"
        "*** End Patch\n",
        "lib/d.py",
        "A = 10\nB = 8\nC = 7\n",
    ),
    "new empty file": (
        "diff --git a/pkg/__init__.py b/pkg/__init__.py\nnew file mode 100644\nindex 00..e69de29\n"
        "--- a/pkg/b.py\n+++ b/pkg/b.py\n@@ -1 +1 @@\n-A = 1\n+A = 2\n",
        "pkg/__init__.py",
        "",
    ),
    "new file by search and replace": (
        "pkg/new.py\n```python\n<<<<<<< SEARCH\n=======\nD = 4\n>>>>>>> REPLACE\n```\n",
        "pkg/new.py",
        "D = 4\n",
    ),
    "name with a blank": (
        "--- /dev/null\n+++ b/pkg/two words.txt\n@@ -0,0 +1 @@\n+text\n",
        "pkg/two words.txt",
        "text\n",
    ),
    "two fences for two files": (
        f"First:\n```diff\n{B}@@ -1 +1 @@\n-A = 1\n+A = 2\n```\nand\n```diff\n"
        "--- a/lib/b.py\n+++ b/lib/b.py\n@@ -1 +1 @@\n-A = 9\n+A = 10\n```\n",
        "lib/b.py",
        "A = 10\nB = 8\nC = 7\n",
    ),
    "two fences for one place: the last": (
        f"First:\n```diff\n{B}@@ -1,2 +1,2 @@\n-A = 1\n+A = 2\n B = 2\n```\nNo, better:\n"
        f"```diff\n{B}@@ -1,2 +1,2 @@\n-A = 1\n+A = 3\n B = 2\n```\n",
        "pkg/b.py",
        "A = 3\nB = 2\nC = 3\n",
    ),
    "list behind a diff": (
        f"{B}@@ -1,3 +1,3 @@\n-A = 1\n+A = 2\n B = 2\n C = 3\n\n- A is two now\n- B stays\n",
        "pkg/b.py",
        "A = 2\nB = 2\nC = 3\n",
    ),
    "signature of a mail": (
        f"From: someone\nSubject: x\n\n---\n pkg/b.py | 2 +-\n\n{B}@@ -1,3 +1,3 @@\n-A = 1\n"
        "+A = 2\n B = 2\n C = 3\n-- \n2.39.5\n",
        "pkg/b.py",
        "A = 2\nB = 2\nC = 3\n",
    ),
    "context without its mark": (
        A + "@@ -1,3 +1,4 @@\ndef one():\n    x = 1\n+    y = 2\n    return x\n",
        "pkg/a.py",
        "def one():\n    x = 1\n    y = 2\n    return x\n\n\ndef two():\n    x = 1\n    return x\n",
    ),
    "numbers before unmarked context": (
        A + "@@ -1,3 +1,3 @@\n1 def one():\n-    x = 1\n+    x = 2\n3     return x\n",
        "pkg/a.py",
        "def one():\n    x = 2\n    return x\n\n\ndef two():\n    x = 1\n    return x\n",
    ),
    "numbers before the marks": (
        A + "@@ -1,3 +1,3 @@\n1  def one():\n2 -    x = 1\n2 +    x = 2\n3      return x\n",
        "pkg/a.py",
        "def one():\n    x = 2\n    return x\n\n\ndef two():\n    x = 1\n    return x\n",
    ),
    "numbers and bars": (
        A + "@@ -1,3 +1,3 @@\n 1 | def one():\n-2 |     x = 1\n+2 |     x = 2\n 3 |     return x\n",
        "pkg/a.py",
        "def one():\n    x = 2\n    return x\n\n\ndef two():\n    x = 1\n    return x\n",
    ),
    "JSON in prose": (
        'So:\n{"patch": "' + B.replace("\n", "\\n") + '@@ -1 +1 @@\\n-A = 1\\n+A = 2\\n"}\nDone.\n',
        "pkg/b.py",
        "A = 2\nB = 2\nC = 3\n",
    ),
    "text behind the end of apply_patch": (
        "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: pkg/b.py\n@@\n-A = 1\n+A = 2\n"
        " B = 2\n*** End Patch\nEOF\n",
        "pkg/b.py",
        "A = 2\nB = 2\nC = 3\n",
    ),
    "a whole file in a fence below its name": (
        f"The fix is in\n\n`pkg/b.py`:\n\n```python\n{A_TEXT}```\n\n**pkg/a.py**\n"
        f"```python\n{A_TEXT.replace('= 1', '= 2', 1)}```\nThat is all.\n".replace("b.py", "a.py"),
        "pkg/a.py",
        A_TEXT.replace("= 1", "= 2", 1),
    ),
    "a header that contradicts its hunk": (
        f"```diff\n{A}@@ -1,2 +1,30 @@\n def one():\n-    x = 1\n+    x = 2\n     return x\n \n \n"
        " def two():\n```\n",
        "pkg/a.py",
        A_TEXT.replace("= 1", "= 2", 1),
    ),
    "blank lines stripped off the end": (
        A + "@@ -1,5 +1,5 @@\n-def one():\n+def zero():\n     x = 1\n     return x",
        "pkg/a.py",
        "def zero():\n    x = 1\n    return x\n\n\ndef two():\n    x = 1\n    return x\n",
    ),
}


@pytest.mark.parametrize("name", CHANGED)
def test_what_becomes_of_a_file(tmp_path: Path, name: str) -> None:
    text, path, after = CHANGED[name]
    assert _result(text, path, tmp_path) == after


REFUSED: dict[str, tuple[str, RefusalKind]] = {
    "nothing": (" \n", "empty"),
    "only reasoning": (f"<think>\n{B}@@ -1 +1 @@\n-A = 1\n+A = 2\n", "none"),
    "a draft in the reasoning": (f"<think>\n{B}@@ -1 +1 @@\n-A = 1\n+A = 2\n</think>\nNo.", "none"),
    "a plan with rules": ("# Plan\n\n---\n- read\n+ write\n", "none"),
    "two equal places": (
        A + "@@ -40,2 +40,2 @@\n-    x = 1\n+    x = 2\n     return x\n",
        "ambiguous",
    ),
    "two equal places of SEARCH": (
        "pkg/a.py\n<<<<<<< SEARCH\n    x = 1\n=======\n    x = 2\n>>>>>>> REPLACE\n",
        "ambiguous",
    ),
    "two files of one name": ("--- b.py\n+++ b.py\n@@ -1 +1 @@\n-A = 1\n+A = 2\n", "which_file"),
    "no such file": ("--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-A = 1\n+A = 2\n", "file"),
    "no name and too little to tell": ("@@ -1 +1 @@\n-A = 1\n+A = 2\n", "unnamed"),
    "other lines": (B + "@@ -1,2 +1,2 @@\n-A = 5\n+A = 2\n B = 2\n", "nowhere"),
    "more lines announced": (
        B + "@@ -1,3 +1,5 @@\n-A = 1\n+A = 2\n B = 2\n C = 3\n@@ -9 +9 @@\n",
        "short",
    ),
    "new lines announced that are not there": (
        f"```diff\n{A}@@ -1,6 +1,30 @@\n def one():\n-    x = 1\n+    x = 2\n     return x\n \n \n"
        " def two():\n```\n",
        "short",
    ),
    "a part of a file in a fence": (
        "`pkg/a.py`:\n```python\ndef one():\n    x = 2\n    return x\n```\n",
        "elided",
    ),
    "a fence of a file that is not there": ("`pkg/x.py`:\n```python\nA = 2\n```\n", "file"),
    "a fence that does not end": (f"`pkg/a.py`:\n```python\n{A_TEXT}", "cut"),
    "a header and nothing behind": (B + "@@ -1 +1 @@\n-A = 1\n+A = 2\n" + A, "cut"),
    "a command line of git and nothing behind": (
        B + "@@ -1 +1 @@\n-A = 1\n+A = 2\ndiff --git a/lib/b.py b/lib/b.py\n",
        "cut",
    ),
    "end within a hunk": (B + "@@ -1,3 +1,4 @@\n-A = 1\n+A = 2", "cut"),
    "end within a SEARCH": ("pkg/b.py\n<<<<<<< SEARCH\nA = 1\n=======\nA = ", "cut"),
    "end within apply_patch": (
        "*** Begin Patch\n*** Update File: pkg/b.py\n@@\n-A = 1\n+A = 2\n",
        "cut",
    ),
    "end within a file": ("[start of pkg/b.py]\nA = 2\nB = 2\n", "cut"),
    "overlapping hunks": (
        B + "@@ -1 +1 @@\n-A = 1\n+A = 2\n@@ -1 +1 @@\n-A = 1\n+A = 3\n",
        "overlap",
    ),
    "broken Python": (B + "@@ -1,2 +1,2 @@\n-A = 1\n+A = (\n B = 2\n", "python"),
    "broken new Python": ("--- /dev/null\n+++ b/n.py\n@@ -0,0 +1 @@\n+A = (\n", "python"),
    "no change": (B + "@@ -1,2 +1,2 @@\n-A = 1\n+A = 1\n B = 2\n", "same"),
    "added already": (B + "@@ -1,2 +1,3 @@\n A = 1\n+B = 2\n C = 3\n", "nowhere"),
    "up": ("--- /dev/null\n+++ b/../x.py\n@@ -0,0 +1 @@\n+A\n", "path"),
    "absolute": ("--- /dev/null\n+++ /etc/x\n@@ -0,0 +1 @@\n+A\n", "path"),
    "git's folder": ("--- /dev/null\n+++ b/.git/hooks/x\n@@ -0,0 +1 @@\n+A\n", "path"),
    "new over old": ("--- /dev/null\n+++ b/pkg/b.py\n@@ -0,0 +1 @@\n+A = 1\n", "exists"),
    "link": (
        "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/\n",
        "kind",
    ),
    "binary": ("diff --git a/l b/l\nGIT binary patch\nliteral 1\n", "kind"),
    "elided": (B + "@@ -1,2 +1,2 @@\n-A = 1\n+# ... rest of the code\n B = 2\n", "elided"),
    "deleted with other content": (
        "--- a/lib/b.py\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-A = 9\n-B = 8\n",
        "nowhere",
    ),
    "escaped or not": (
        B + '@@ -1,2 +1,2 @@\n-A = 1\n+A = 1; """\\\n+a &lt; b"""\n B = 2\n',
        "ambiguous",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    text, kind = REFUSED[name]
    repaired = repair_patch(text, MappingTree(TREE))
    assert (repaired.patch, repaired.steps, repaired.problem) == ("", (), PROBLEMS[kind])


def test_a_repaired_patch_is_repaired_to_itself() -> None:
    for gold in GOLDS.values():
        tree = MappingTree(gold.before)
        once = repair_patch(variants(gold)["03"], tree).patch
        assert repair_patch(once, tree).patch == once
        assert repair_patch(once, tree).steps == ()


def test_similar_regions_need_the_right_line() -> None:
    """A whole function that comes twice, only one of which is to be changed."""
    region = "def {}(x):\n    if not x:\n        return 0\n    y = x + 1\n    return y\n\n\n"
    text = region.format("f") + region.format("f") + region.format("g")
    lines = text.splitlines(keepends=True)
    gold = Gold({"m.py": text}, {"m.py": "".join([*lines[:10], "    y = x + 2\n", *lines[11:]])})
    tree = MappingTree(gold.before)
    assert repair_patch(gold.patch, tree).problem == ""
    moved = gold.patch.replace("@@ -8,7 +8,7 @@", "@@ -20,7 +20,7 @@")
    assert moved != gold.patch
    assert repair_patch(moved, tree).problem == PROBLEMS["ambiguous"]

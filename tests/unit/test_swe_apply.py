"""The official chain on a git work tree, and patches that want out of it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from evalcore.benchmarks.swe_bench.patches import official as module
from evalcore.benchmarks.swe_bench.patches.official import apply_official
from evalcore.errors import EnvironmentFailure
from tests.support.patch_trees import files_of, make_tree
from tests.support.patch_variants import small, variants

pytestmark = pytest.mark.slow

GOLD = small()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return make_tree(tmp_path / "tree", GOLD.before)


@pytest.mark.parametrize(
    ("number", "how", "changed"),
    [
        ("01", "apply", True),
        ("02", "apply", True),
        ("11", "apply", True),
        ("08", "fuzz", True),
        ("14", "fuzz", True),
        ("22", "fuzz", True),
        ("12", "fuzz", False),  # a hunk without numbers: accepted, and nothing is done
        ("34", "fuzz", False),
        ("15", "", False),
        ("23", "", False),
    ],
)
def test_the_step_of_the_chain(tree: Path, number: str, how: str, changed: bool) -> None:
    applied = apply_official(tree, variants(GOLD)[number])
    assert (applied.how, applied.changed) == (how, changed)
    assert files_of(tree) == dict(GOLD.after if changed else GOLD.before)


def test_what_is_in_the_tree_already(tree: Path) -> None:
    core = tree / "sensors" / "core.py"
    core.write_text(GOLD.after["sensors/core.py"])
    subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qam", "fixed"],
        cwd=tree,
        check=True,
    )
    applied = apply_official(tree, GOLD.patch)
    assert (applied.how, applied.changed) == ("already", False)
    assert files_of(tree) == dict(GOLD.after)


def test_three_way_where_the_lines_moved(tree: Path) -> None:
    """The blob of the patch's index line is known, so its context may have changed since."""
    blob = subprocess.run(
        ["git", "rev-parse", "HEAD:sensors/core.py"], cwd=tree, check=True, capture_output=True
    ).stdout.decode()[:10]
    core = tree / "sensors" / "core.py"
    core.write_text(core.read_text().replace('ValueError("middle of nothing")', "ValueError"))
    subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qam", "moved"],
        cwd=tree,
        check=True,
    )
    patch = GOLD.patch.replace("index 1111111..2222222", f"index {blob}..2222222")
    applied = apply_official(tree, patch)
    assert (applied.how, applied.changed) == ("3way", True)
    assert "values[half - 1]" in core.read_text()


def test_a_failed_patch_leaves_the_tree_as_it_was(tree: Path) -> None:
    broken = GOLD.patch + GOLD.patch.replace("sensors/core.py", "README.md")
    applied = apply_official(tree, broken)
    assert applied.how == ""
    assert applied.log.count("$ ") == 5
    assert files_of(tree) == dict(GOLD.before)
    assert not list(tree.rglob("*.rej"))


def test_a_clean_patch_is_done_with_the_first_command(tree: Path) -> None:
    log = "$ git apply --verbose: ok\n"
    log += "Checking patch sensors/core.py...\nApplied patch sensors/core.py cleanly.\n"
    assert apply_official(tree, GOLD.patch) == module.ApplyResult(
        how="apply", log=log, changed=True
    )


NEW = "new file mode 100644\n--- /dev/null\n+++ {}\n@@ -0,0 +1 @@\n+planted\n"
LINK = (
    "diff --git a/link b/link\nnew file mode 120000\n--- /dev/null\n+++ b/link\n"
    "@@ -0,0 +1 @@\n+{}\n\\ No newline at end of file\n"
)
HOSTILE = {
    "up": "diff --git a/../out b/../out\n" + NEW.format("b/../out"),
    "up without git's header": "--- /dev/null\n+++ b/../out\n@@ -0,0 +1 @@\n+planted\n",
    "hook": "--- /dev/null\n+++ b/.git/hooks/post-checkout\n@@ -0,0 +1 @@\n+planted\n",
    "quoted hook": '--- /dev/null\n+++ "b/\\056git/hooks/x"\n@@ -0,0 +1 @@\n+planted\n',
    "config": "--- a/.git/config\n+++ b/.git/config\n@@ -1 +1,2 @@\n [core]\n+\tbare = true\n",
    "nested repository": "--- /dev/null\n+++ b/deep/.git/config\n@@ -0,0 +1 @@\n+planted\n",
    "upper case": "--- /dev/null\n+++ b/.GIT/config\n@@ -0,0 +1 @@\n+planted\n",
    "through a link": LINK
    + "diff --git a/link/out b/link/out\n"
    + NEW.format("b/link/out"),
    "ed script": "--- a/README.md\t2000-01-01\n+++ b/README.md\n1d\n",
    "ed script with a command": "Index: README.md\n1,2d\n!touch {outside}/out\n.\n",
    "ed script that adds": "--- README.md\n+++ README.md\n1a\nplanted\n.\nw {outside}/out\n",
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_outside_of_the_tree_changes(tmp_path: Path, name: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    tree = make_tree(tmp_path / "tree", GOLD.before)
    git_before = _content(tree / ".git")
    text = HOSTILE[name].replace("{outside}", str(outside)).replace("+{}\n", f"+{outside}\n")
    applied = apply_official(tree, text)
    assert applied.how == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["outside", "tree"]
    assert list(outside.iterdir()) == []
    assert files_of(tree) == dict(GOLD.before)
    assert not list(tree.rglob("*/.git"))
    assert not (tree / ".GIT").exists()
    assert _content(tree / ".git") == git_before


def test_an_absolute_path_ends_up_inside_as_git_reads_it(tree: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    applied = apply_official(tree, f"--- /dev/null\n+++ {outside}\n@@ -0,0 +1 @@\n+planted\n")
    assert applied.how == "apply"
    assert not outside.exists()


def _content(folder: Path) -> dict[str, bytes]:
    """All of git's folder that decides what git runs."""
    stored = ("config", "hooks", "info", "HEAD")
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.relative_to(folder).parts[0] in stored
    }


def test_attributes_of_a_patch_start_nothing(tree: Path, tmp_path: Path) -> None:
    """A filter is named by the tree and defined by configuration, of which there is none."""
    patch = (
        "diff --git a/.gitattributes b/.gitattributes\nnew file mode 100644\n--- /dev/null\n"
        "+++ b/.gitattributes\n@@ -0,0 +1 @@\n+* filter=evil merge=evil diff=evil\n"
    )
    applied = apply_official(tree, patch + GOLD.patch)
    assert (applied.how, applied.changed) == ("apply", True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tree"]


def test_hooks_and_settings_of_the_user_are_not_read(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[apply]\n\twhitespace = error-all\n[core]\n\tbare = true\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_DIR", str(home))
    monkeypatch.setenv("PATCH_GET", "1")
    assert apply_official(tree, GOLD.patch).how == "apply"
    hook = tree / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/hooked\n")
    hook.chmod(0o755)
    apply_official(tree, "no patch at all")
    assert not (tmp_path / "hooked").exists()


def test_text_that_is_no_unicode_and_very_long_text(tree: Path) -> None:
    assert apply_official(tree, GOLD.patch.replace("half - 1", "half\ud800")).how == "apply"
    subprocess.run(["git", "checkout", "-q", "."], cwd=tree, check=True)
    applied = apply_official(tree, "+" * (module.MAX_PATCH_CHARS + 1))
    assert applied.how == ""
    assert "not tried" in applied.log


def test_a_command_that_never_ends_has_failed(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "git").symlink_to(Path(shutil.which("git") or "git"))
    slow = programs / "patch"
    slow.write_text("#!/bin/sh\nexec /bin/sleep 60\n")
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(module, "SECONDS", 1.0)
    applied = apply_official(tree, variants(GOLD)["15"])
    assert applied.how == ""
    assert "killed after 1 s" in applied.log
    assert files_of(tree) == dict(GOLD.before)


def test_missing_programs_are_our_fault(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    with pytest.raises(EnvironmentFailure, match="git is not installed"):
        apply_official(tree, GOLD.patch)
    (programs / "git").symlink_to(Path("/usr/bin/git"))
    with pytest.raises(EnvironmentFailure, match="patch is not installed"):
        apply_official(tree, "nothing")
    assert (tree / ".git" / "HEAD").exists()


def test_a_folder_without_git(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFailure, match="not a git work tree"):
        apply_official(tmp_path, GOLD.patch)

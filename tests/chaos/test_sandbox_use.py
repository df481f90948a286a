"""What a well-meaning caller and program need from the sandbox, by each means and kind of user."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from evalcore.errors import EnvironmentFailure
from evalcore.sandbox.program import Bind, Limits, Program, detect_sandbox, run_program
from tests.support.sandbox import NOBODY, SMALL, Way, shown
from tests.support.sandbox_driver import Request

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="programs are run on Linux only")


def test_pytest_runs_inside(sandbox: Way) -> None:
    with sandbox.folder() as folder:
        (folder / "test_it.py").write_text("def test_it(tmp_path):\n    (tmp_path / 'x').touch()\n")
        words = ("python", "-m", "pytest", "-q", "-p", "no:cacheprovider")
        actual_words = sandbox.run(
            words,
            Limits(),
            binds=shown(folder, "/testbed"),
            cwd="/testbed",
            env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        )
    assert actual_words.exit_code == 0, actual_words.output
    assert "1 passed" in actual_words.output
    assert actual_words.means == sandbox.means


def test_input_environment_folder_and_status(sandbox: Way) -> None:
    code = """
        import os, sys
        print(sys.stdin.read(), os.environ["MORE"], os.getcwd(), flush=True)
        print("error", file=sys.stderr)
        sys.exit(3)
    """
    result = sandbox.python(code, stdin="è", env={"MORE": "given"}, cwd="/usr")
    assert (result.output, result.exit_code) == ("è given /usr\nerror\n", 3)


def test_signals_are_as_a_shell_expects(sandbox: Way) -> None:
    """An interpreter ignores the signal of a closed pipe; the program must not inherit that."""
    result = sandbox.run(("bash", "-c", "set -o pipefail; yes | head -1"))
    assert (result.output, result.exit_code) == ("y\n", 128 + 13)


def test_a_long_input_needs_no_reader(sandbox: Way) -> None:
    assert sandbox.run(("true",), stdin="x" * 3_000_000).exit_code == 0


def test_what_a_program_writes_is_ours(sandbox: Way) -> None:
    code = """
        import os
        os.makedirs("made/deep")
        open("made/deep/file", "w").write("new")
        open("given", "a").write(" and more")
    """
    with sandbox.folder() as folder:
        (folder / "given").write_text("old")
        if folder.stat().st_uid == NOBODY:
            os.chown(folder / "given", NOBODY, NOBODY)
        owner = folder.stat().st_uid
        result = sandbox.python(code, binds=shown(folder, "/case"), cwd="/case")
        assert result.exit_code == 0, result.output
        assert (folder / "given").read_text() == "old and more"
        assert (folder / "made" / "deep" / "file").read_text() == "new"
        assert {path.stat().st_uid for path in (folder, *folder.rglob("*"))} == {owner}


def test_a_second_name_does_not_lead_out(sandbox: Way) -> None:
    """Hard links, such as a local `git clone` makes, are cut before a program may write."""
    with sandbox.folder() as folder, sandbox.folder() as other:
        original = other / "original"
        original.write_text("original")
        os.chown(original, folder.stat().st_uid, folder.stat().st_gid)
        (folder / "copy").hardlink_to(original)
        result = sandbox.python(
            "open('copy', 'w').write('changed')", binds=shown(folder, "/case"), cwd="/case"
        )
        assert result.exit_code == 0, result.output
        assert (folder / "copy").read_text() == "changed"
        assert original.read_text() == "original"


def test_a_private_folder_can_be_shown(sandbox: Way) -> None:
    """Temporary folders are closed to other users, and the program is one."""
    code = """
        print(open("/given/inner/file").read(), flush=True)
        open("/given/inner/file", "w")
    """
    with sandbox.folder() as folder:
        inner = folder / "inner"
        inner.mkdir(mode=0o700)
        (inner / "file").write_text("shown")
        for path in (inner, inner / "file"):
            os.chown(path, folder.stat().st_uid, folder.stat().st_gid)
            path.chmod(0o700)
        result = sandbox.python(code, binds=shown(folder, "/given", writable=False))
        assert result.output.startswith("shown\n")
        assert "Read-only file system" in result.output or "Permission denied" in result.output
        assert (inner / "file").read_text() == "shown"


def test_a_file_can_be_shown(sandbox: Way) -> None:
    with sandbox.folder() as folder:
        (folder / "one").write_text("one")
        (folder / "two").write_text("two")
        binds = (Bind(source=str(folder / "one"), target="/opt/tool/bin/activate"),)
        result = sandbox.run(("cat", "/opt/tool/bin/activate"), binds=binds)
        listed = sandbox.run(("ls", "/opt/tool/bin"), binds=binds)
    assert (result.output, listed.output) == ("one", "activate\n")


@pytest.mark.parametrize("target", ["/", "/usr", "relative", "/a/../b", "/proc/x", "/a/", "/etc"])
def test_a_bind_that_would_hide_the_system_is_refused(sandbox: Way, target: str) -> None:
    binds = (Bind(source="/usr", target=target),)
    (answer,) = sandbox.driver.ask(Request(sandbox.means, Program(argv=("true",), binds=binds)))
    assert answer.finished is None
    assert "sandbox:" in answer.failure


@pytest.mark.parametrize("word", ["half \ud800", "nothing \0"])
def test_words_that_no_command_can_hold(word: str) -> None:
    """The text of a model belongs into a file or the standard input, where any text goes."""
    if not detect_sandbox().means:
        pytest.skip(f"no sandbox here: {detect_sandbox().problem}")
    assert run_program(Program(argv=("cat",), stdin=word)).output == word.replace("\ud800", "?")
    with pytest.raises(EnvironmentFailure):
        run_program(Program(argv=("echo", word)))


def test_a_source_that_is_missing_is_our_failure(sandbox: Way) -> None:
    binds = (Bind(source="/no/such/folder", target="/case"),)
    (answer,) = sandbox.driver.ask(Request(sandbox.means, Program(argv=("true",), binds=binds)))
    assert "/no/such/folder" in answer.failure


def test_short_runs_are_all_alike(sandbox: Way) -> None:
    """Looking at a sandbox while it is put together must not end it."""
    for _ in range(6):
        request = Request(sandbox.means, Program(argv=("echo", "fine")), SMALL, often=4)
        finished = [answer.finished for answer in sandbox.driver.ask(request)]
        assert [(f.output, f.exit_code, f.ended_by) for f in finished if f] == [
            ("fine\n", 0, "")
        ] * 4


def test_no_traces_are_left(sandbox: Way) -> None:
    """Neither open files nor processes in the parent."""
    before = _open_files(sandbox.driver.process.pid)
    for _ in range(5):
        sandbox.run(("true",))
    assert _open_files(sandbox.driver.process.pid) == before
    pid = sandbox.driver.process.pid
    assert not Path(f"/proc/{pid}/task/{pid}/children").read_text()


def _open_files(process: int) -> int:
    return len(list(Path(f"/proc/{process}/fd").iterdir()))

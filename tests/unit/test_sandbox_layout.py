"""What is put into a sandbox, and who a program is in it."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from evalcore.errors import EnvironmentFailure
from evalcore.sandbox.filesystem import (
    _choose_uid,
    acquire_sandbox_user,
    build_layout,
    build_program_environment,
)
from evalcore.sandbox.launch import InheritedFiles, _counts_per_namespace, build_launch_plan
from evalcore.sandbox.program import Bind, Limits, Program

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="programs are run on Linux only")
WHOLE = "         0          0 4294967295\n"


def tree_of(*binds: Bind):
    return build_layout(Program(argv=("true",), binds=binds), 1000, 1000)


def test_folders_above_a_target_come_outer_first() -> None:
    folders = tree_of(Bind(source="/usr", target="/a/b/c")).folders
    assert folders.index("/a") < folders.index("/a/b")
    assert "/a/b/c" not in folders
    assert "/" not in folders


def test_the_interpreter_is_there_and_the_project_is_not() -> None:
    targets = [bind.target for bind in tree_of().binds]
    assert all(
        any(path == target or path.startswith(f"{target}/") for target in targets)
        for path in (sys.prefix, sys.base_prefix)
    )
    project = str(Path(__file__).resolve().parents[2])
    assert not any(project == target or project.startswith(f"{target}/") for target in targets)


def test_a_private_configuration_is_covered(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "pip.conf").write_text("index-url = https://name:password@host/")
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    covered = [bind for bind in tree_of().binds if bind.source == "/dev/null"]
    assert [bind.target for bind in covered] == [str(tmp_path / "pip.conf")]


def test_only_what_is_asked_for_is_writable() -> None:
    binds = tree_of(Bind(source="/usr", target="/case", writable=True)).binds
    assert [bind.target for bind in binds if bind.writable] == ["/case"]


@pytest.mark.parametrize(
    "target", ["", "/", "a", "//a", "/a/", "/a/../b", "/./a", "/proc", "/dev/shm", "/usr", "/etc"]
)
def test_targets_that_are_refused(target: str) -> None:
    with pytest.raises(EnvironmentFailure, match="sandbox:"):
        tree_of(Bind(source="/usr", target=target))


def test_a_target_above_the_interpreter_is_refused() -> None:
    with pytest.raises(EnvironmentFailure, match="would hide"):
        tree_of(Bind(source="/usr", target=str(Path(sys.prefix).resolve().parent)))


def test_nothing_of_our_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    program_environment = build_program_environment(
        Program(argv=("true",), env={"TZ": "Asia/Tokyo", "MORE": "x"})
    )
    assert "OPENAI_API_KEY" not in program_environment
    assert (
        program_environment["TZ"],
        program_environment["MORE"],
        program_environment["HOME"],
    ) == ("Asia/Tokyo", "x", "/tmp")
    assert program_environment["PATH"].startswith(sys.prefix)


def test_numbers_of_users() -> None:
    """Different for each slot, above all accounts, below what tools can hold."""
    numbers = {_choose_uid(slot, WHOLE) for slot in range(32)}
    assert len(numbers) == 32
    assert all(1 << 30 < number < (1 << 31) - 1 for number in numbers)


def test_numbers_where_there_are_few() -> None:
    """A container without root of its own has, say, 65536."""
    few = "         0       1000          1\n         1     100000      65536\n"
    assert all(32_000 < _choose_uid(slot, few) < 65_534 for slot in range(32))


def test_no_two_programs_share_a_user() -> None:
    if os.geteuid() != 0:
        pytest.skip("an ordinary user's programs are told apart by their namespaces")
    with ExitStack() as lent:
        users = [lent.enter_context(acquire_sandbox_user()) for _ in range(32)]
        if users[0].own_user:
            assert len({who.uid for who in users}) == 32
    with ThreadPoolExecutor(40) as threads:  # more than there are: they wait for one another
        assert len(list(threads.map(lambda _: _use(), range(80)))) == 80


def _use() -> int:
    with acquire_sandbox_user() as who:
        return who.uid


@pytest.mark.parametrize(
    ("release", "expected"),
    [("6.18.44-fc", True), ("5.14.0-1", True), ("5.13.19", False), ("4.19", False), ("?", False)],
)
def test_kernels_that_count_per_namespace(release: str, expected: bool) -> None:
    assert _counts_per_namespace(release) is expected


def test_limits_of_a_program() -> None:
    with acquire_sandbox_user() as who:
        launch_plan = build_launch_plan(
            Program(argv=("true",)), Limits(memory_bytes=1 << 30, file_bytes=5), who
        )
    assert (launch_plan.limits["AS"], launch_plan.limits["FSIZE"], launch_plan.limits["CORE"]) == (
        1 << 30,
        5,
        0,
    )


def test_a_handed_file_cannot_be_changed() -> None:
    handed = InheritedFiles()
    number = handed.add_data(b"content")
    assert os.read(number, 100) == b"content"
    with pytest.raises(PermissionError):
        os.write(number, b"more")
    with pytest.raises(PermissionError):
        os.ftruncate(number, 0)
    handed.close()
    with pytest.raises(OSError):
        os.fstat(number)

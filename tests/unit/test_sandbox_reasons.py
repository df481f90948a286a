"""Complaints of the kernel, put into words; the texts are what builders really said."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from evalcore.errors import EnvironmentFailure
from evalcore.sandbox import program
from evalcore.sandbox import program as ability_module
from evalcore.sandbox.program import (
    Program,
    ProgramResult,
    _evaluate_probe,
    _not_ready,
    detect_sandbox,
    diagnose_failure,
    run_program,
)

DENIED = "bwrap: No permissions to create a new namespace, likely because the kernel does not allow"
NESTED = (
    "bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces "
    "exceeded (ENOSPC)"
)
UID_MAP = "bwrap: setting up uid map: Permission denied"
PROC = "bwrap: Can't mount proc on /newroot/proc: Operation not permitted"
OURS = "namespaces: [Errno 1] unshare: Operation not permitted"
OLD = "namespaces: [Errno 38] mount_setattr /tmp/usr: Function not implemented"


@pytest.mark.parametrize(
    ("complaint", "setting", "expected"),
    [
        (NESTED, "user/max_user_namespaces=0", "max_user_namespaces is 0"),
        (OURS, "kernel/unprivileged_userns_clone=0", "unprivileged_userns_clone is 0"),
        (UID_MAP, "kernel/apparmor_restrict_unprivileged_userns=1", "AppArmor"),
        (UID_MAP, "kernel/apparmor_restrict_unprivileged_userns=0", "forbids new namespaces"),
        (DENIED, "", "forbids new namespaces"),
        (OURS, "", "forbids new namespaces"),
        (NESTED, "user/max_user_namespaces=100", "nested too deep"),
        (PROC, "user/max_user_namespaces=0", "/proc are covered"),
        (OLD, "", "lacks system calls"),
        ("bwrap is not installed", "", "bwrap is not installed"),
        ("", "", "no reason was given"),
    ],
)
def test_reasons(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, complaint: str, setting: str, expected: str
) -> None:
    monkeypatch.setattr(program, "_KERNEL_SETTINGS", tmp_path)
    if setting:
        name, _, value = setting.partition("=")
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(f"{value}\n")
    failure = diagnose_failure(complaint)
    assert expected in failure.problem
    assert failure.problem.endswith(".")
    assert failure.fix.endswith(".")


def test_an_open_door_is_no_sandbox() -> None:
    probe = _evaluate_probe("bubblewrap", {"network": False, "files": True, "system_calls": False})
    assert probe.means == ""
    assert "network" in probe.problem
    assert "system_calls" not in probe.problem


def test_second_lines_may_be_missing() -> None:
    probe = _evaluate_probe("namespaces", {"network": True, "system_calls": False})
    assert (probe.means, probe.enforced) == ("namespaces", ("network",))


def test_an_interpreter_that_does_not_work() -> None:
    output = "Traceback\nModuleNotFoundError: No module named 'pytest'\n"
    reason = _not_ready(ProgramResult(exit_code=1, output=output, seconds=0.1, means="bubblewrap"))
    assert "No module named 'pytest'" in reason.problem
    assert "pytest" in reason.fix


def test_other_platforms_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ability_module.sys, "platform", "darwin")
    detect_sandbox.cache_clear()
    try:
        assert detect_sandbox().means == ""
        with pytest.raises(EnvironmentFailure, match=r"Linux only\. Use Linux"):
            run_program(Program(argv=("true",)))
    finally:
        monkeypatch.undo()
        detect_sandbox.cache_clear()


def test_importing_needs_no_posix() -> None:
    """The door of the sandbox is imported everywhere; what needs POSIX is not, until it is used."""
    import subprocess

    code = (
        "import sys; sys.modules['fcntl'] = sys.modules['resource'] = None\n"
        "import evalcore.sandbox.program, evalcore.sandbox.program"
    )
    subprocess.run([sys.executable, "-c", code], check=True)

"""What `detect_sandbox` says where sandboxes cannot be had, in places where they really cannot."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from evalcore.sandbox.program import MEANS, Means, detect_means, detect_sandbox
from tests.support.sandbox import PROJECT, WHO, command_as

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="programs are run on Linux only")

_SAY = (
    "from evalcore.sandbox.program import detect_means\n"
    "from evalcore.sandbox.program import MEANS\n"
    "for means in MEANS:\n"
    "    found = detect_means(means)\n"
    "    print(repr(found.means), found.problem, found.fix)\n"
)
_OWN_USER_NAMESPACE = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-ec")


def describe_support(who: str, *before: str) -> list[str]:
    """A line for each means, said by a process started by the words `before`."""
    if who == "root" and os.geteuid() != 0:
        pytest.skip("the tests do not run as root")
    words = [*command_as(who), *before, sys.executable, "-c", _SAY]
    process = subprocess.run(words, cwd=PROJECT, capture_output=True, text=True, timeout=60)
    if process.returncode:
        pytest.skip(f"this place cannot be made here: {process.stderr.strip()[-300:]}")
    return process.stdout.splitlines()


def test_this_machine() -> None:
    """Either it can, and says what holds, or it says why not and what to do."""
    sandbox = detect_sandbox()
    if sandbox.means:
        assert {"network", "files", "processes", "environment", "rights", "memory"} <= set(
            sandbox.enforced
        )
    else:
        assert sandbox.problem.endswith(".")
        assert sandbox.fix.endswith(".")


@pytest.mark.parametrize("means", MEANS)
def test_each_means(means: Means) -> None:
    result = detect_means(means)
    if not result.means:
        pytest.skip(f"{means}: {result.problem}")
    assert result.means == means


def test_without_bubblewrap_our_own_means_serve(monkeypatch: pytest.MonkeyPatch) -> None:
    if not detect_means("namespaces").means:
        pytest.skip("no sandbox by namespaces here")
    monkeypatch.setenv("PATH", "/nonexistent")
    detect_sandbox.cache_clear()
    try:
        assert detect_sandbox().means == "namespaces"
        assert "bwrap is not installed" in detect_means("bubblewrap").problem
    finally:
        detect_sandbox.cache_clear()


def test_an_ordinary_user_has_the_same_protection() -> None:
    lines = describe_support("ordinary")
    assert [line.split()[0] for line in lines] == ["'bubblewrap'", "'namespaces'"]


def test_user_namespaces_switched_off() -> None:
    """The setting is of the namespace it is made in, so the machine's stays as it is."""
    off = 'echo 0 > /proc/sys/user/max_user_namespaces; exec unshare --mount "$@"'
    lines = describe_support("ordinary", *_OWN_USER_NAMESPACE, f"{off}", "sh")
    for line in lines:
        assert "user.max_user_namespaces is 0" in line
        assert "sysctl -w user.max_user_namespaces" in line


def test_root_of_a_namespace_with_one_user() -> None:
    """As in a container without ranges of users: there is no other user to become."""
    lines = describe_support("ordinary", *_OWN_USER_NAMESPACE, 'exec "$@"', "sh")
    assert [line.split()[0] for line in lines] == ["'bubblewrap'", "'namespaces'"]


def test_a_covered_proc() -> None:
    """As in a container that is not told otherwise."""
    if os.geteuid() != 0:
        pytest.skip("covering /proc takes root")
    cover = 'mount -t tmpfs tmpfs /proc/acpi; exec "$@"'
    become = command_as("ordinary")
    words = ("unshare", "--mount", "--propagation", "private", "sh", "-ec", cover, "sh", *become)
    for line in describe_support("root", *words):
        assert "/proc" in line
        assert "systempaths=unconfined" in line


@pytest.mark.parametrize("who", [who for who in WHO if who != "ordinary"])
def test_root_that_may_not_mount(who: str) -> None:
    """Root of a plain container: a user namespace serves, but the kernel counts no processes."""
    drop = ("setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin")
    assert [line.split()[0] for line in describe_support(who, *drop)] == [
        "'bubblewrap'",
        "'namespaces'",
    ]

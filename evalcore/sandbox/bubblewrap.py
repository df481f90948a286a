"""The sandbox by bubblewrap: the command line of `bwrap` for a program.

Where we are root, no user namespace is made: then folders that only root may enter can be bound,
and `exec_stage` becomes a user without rights. Anybody else needs a user namespace. Options travel
in an open file, because the first process inside shows its arguments to the program.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from evalcore.records import to_json
from evalcore.sandbox import exec_stage
from evalcore.sandbox.launch import InheritedFiles, LaunchPlan
from evalcore.sandbox.layout import IN_MEMORY, Layout
from evalcore.sandbox.system_calls import filter_program

_ALONE = (
    *("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"),
    *("--die-with-parent", "--new-session", "--clearenv", "--hostname", "sandbox"),
    *("--cap-drop", "ALL"),
)
_BECOMES_USER = ("--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")


def find_bwrap() -> str:
    """Where `bwrap` is; raises FileNotFoundError where it is not installed."""
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise FileNotFoundError("bwrap is not installed")
    return bwrap


def build_bwrap_command(
    tree: Layout,
    plan: LaunchPlan,
    memory_bytes: int,
    inherited: InheritedFiles,
    info_fd: int,
    report_fd: int,
) -> list[str]:
    """The command line; `info_fd` and `report_fd` are the open pipes that `supervise` reads."""
    mapped = ("--unshare-user", "--uid", str(plan.uid), "--gid", str(plan.gid))
    rights = _BECOMES_USER if plan.own_user else mapped
    calls = filter_program()
    options = [
        *(*_ALONE, *rights, "--info-fd", str(info_fd)),
        *(("--seccomp", str(inherited.add_data(calls))) if calls else ()),
        *_build_mount_options(tree, memory_bytes, inherited),
    ]
    hidden = inherited.add_data(b"".join(f"{option}\0".encode() for option in options))
    source = Path(exec_stage.__file__).read_text(encoding="utf-8")
    inner = [sys.executable, "-I", "-S", "-X", "utf8", "-c", source]
    numbers = (str(report_fd), str(inherited.add_data(to_json(plan))))
    return [find_bwrap(), "--args", str(hidden), "--", *inner, *numbers]


def _build_mount_options(tree: Layout, memory_bytes: int, inherited: InheritedFiles) -> list[str]:
    """In order: a later mount lies over an earlier one."""
    size = str(memory_bytes // 2)
    words = ["--proc", "/proc", "--dev", "/dev"]
    for path in IN_MEMORY:
        words += ["--perms", "1777", "--size", size, "--tmpfs", path]
    words += ["--remount-ro", "/dev"]
    for path in tree.folders:
        words += ["--dir", path]
    for path, points_to in tree.links:
        words += ["--symlink", points_to, path]
    for path, text in tree.files:
        words += ["--perms", "0644", "--file", str(inherited.add_data(text.encode())), path]
    for bind in tree.binds:
        words += ["--bind" if bind.writable else "--ro-bind", bind.source, bind.target]
    return [*words, "--remount-ro", "/"]

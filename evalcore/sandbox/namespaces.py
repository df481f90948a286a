"""The sandbox by our own hands, where bubblewrap is missing: the command line of its builder."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import evalcore
from evalcore.records import Record, to_json
from evalcore.sandbox.launch import InheritedFiles, LaunchPlan
from evalcore.sandbox.layout import IN_MEMORY, Layout
from evalcore.sandbox.system_calls import filter_program

_BOOT = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from evalcore.sandbox.namespaces_child import main; main()"
)


class BuildRequest(Record, frozen=True, omit_defaults=False):
    """What the builder is told; `parent` is our process, `call_filter` hexadecimal."""

    parent: int
    tree: Layout
    in_memory: tuple[str, ...]
    memory_bytes: int
    call_filter: str
    last_step: LaunchPlan


def build_namespaces_command(
    tree: Layout,
    plan: LaunchPlan,
    memory_bytes: int,
    inherited: InheritedFiles,
    info_fd: int,
    report_fd: int,
) -> list[str]:
    """The command line; `info_fd` and `report_fd` are the open pipes that `supervise` reads."""
    build = BuildRequest(
        parent=os.getpid(),
        tree=tree,
        in_memory=IN_MEMORY,
        memory_bytes=memory_bytes,
        call_filter=filter_program().hex(),
        last_step=plan,
    )
    build_fd = inherited.add_data(to_json(build))
    package = str(Path(evalcore.__file__).resolve().parent.parent)
    numbers = (str(number) for number in (info_fd, report_fd, build_fd))
    return [sys.executable, "-I", "-S", "-X", "utf8", "-c", _BOOT, package, *numbers]

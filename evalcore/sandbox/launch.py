"""A sandbox ready to be started, by bubblewrap or by our own builder: limits, the filter on
system calls, the command line, and the open files that it inherits.
"""

from __future__ import annotations

import errno
import fcntl
import os
import platform
import re
import shutil
import struct
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import evalcore
from evalcore.records import Record, to_json
from evalcore.sandbox import exec_stage
from evalcore.sandbox.filesystem import IN_MEMORY, Layout, SandboxUser, build_program_environment
from evalcore.sandbox.program import Limits, Program

# What must get inside travels in anonymous sealed files instead of arguments, so that there is no
# limit on its length and nothing to clean up.

_SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
_FILES_OPEN = 512
#: Processes of the sandbox itself that may count as the program's.
_OURS = 1


class LaunchPlan(Record, frozen=True, omit_defaults=False):
    """What `exec_stage` is told; `limits` maps names of RLIMIT_ to values."""

    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: str
    uid: int
    gid: int
    own_user: bool
    limits: dict[str, int]


def build_launch_plan(program: Program, limits: Limits, user: SandboxUser) -> LaunchPlan:
    values = {
        "AS": limits.memory_bytes,
        "CPU": limits.cpu_seconds,
        "FSIZE": limits.file_bytes,
        "NOFILE": _FILES_OPEN,
        "CORE": 0,
    }
    if user.own_user or _counts_per_namespace(os.uname().release):
        values["NPROC"] = limits.processes + _OURS
    return LaunchPlan(
        argv=program.argv,
        env=build_program_environment(program),
        cwd=program.cwd,
        uid=user.uid,
        gid=user.gid,
        own_user=user.own_user,
        limits=values,
    )


class InheritedFiles:
    """The open files that a child inherits; `close` them once it has started."""

    def __init__(self) -> None:
        self._open = ExitStack()
        self.descriptors: list[int] = []

    def add_data(self, content: bytes) -> int:
        """An anonymous file with `content`, at its beginning, that nobody can change."""
        number = os.memfd_create("handed", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        self._register_descriptor(number)
        with open(number, "wb", closefd=False) as file:
            file.write(content)
            file.seek(0)
        fcntl.fcntl(number, fcntl.F_ADD_SEALS, _SEALS)
        return number

    def add_pipe(self) -> tuple[IO[bytes], int]:
        """Our end to read from (ours to close) and the child's end to write to."""
        ours, theirs = os.pipe()
        self._register_descriptor(theirs)
        return os.fdopen(ours, "rb"), theirs

    def close(self) -> None:
        """Close the child's files on our side; safe to call twice."""
        self._open.close()

    def _register_descriptor(self, number: int) -> None:
        self.descriptors.append(number)
        self._open.callback(os.close, number)


def _counts_per_namespace(release: str) -> bool:
    """Whether this kernel counts the processes of a user in each user namespace by itself (5.14).
    Before that it would count whatever else our user runs, and a program could start nothing."""
    numbers = re.match(r"(\d+)\.(\d+)", release)
    return numbers is not None and tuple(map(int, numbers.groups())) >= (5, 14)


# A filter on system calls: what a program of ours never needs and the kernel is better not asked.
# Namespaces hide things; the filter keeps a program from making new ones, in which it would have
# rights again, from what no namespace holds (kernel keys, virtual-machine sockets), and from memory
# that no count of resident pages shows. The numbers are those of the kernel's own headers. For a
# processor that is not in the table there is no filter, and `detect_means` then does not name it.

#: Processor: its name in a filter, and the place of its numbers in `_REFUSED`.
_PROCESSORS = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
#: Name: numbers on x86_64 and aarch64, and what the program is told.
_REFUSED = {
    # making or entering namespaces, mounting
    "unshare": (272, 97, errno.EPERM),
    "setns": (308, 268, errno.EPERM),
    "clone3": (435, 435, errno.ENOSYS),  # its flags are out of a filter's sight; callers use clone
    "chroot": (161, 51, errno.EPERM),
    "mount": (165, 40, errno.EPERM),
    "umount2": (166, 39, errno.EPERM),
    "pivot_root": (155, 41, errno.EPERM),
    "open_tree": (428, 428, errno.EPERM),
    "move_mount": (429, 429, errno.EPERM),
    "fsopen": (430, 430, errno.EPERM),
    "fsconfig": (431, 431, errno.EPERM),
    "fsmount": (432, 432, errno.EPERM),
    "fspick": (433, 433, errno.EPERM),
    "mount_setattr": (442, 442, errno.EPERM),
    # keys, which belong to a user or a session and not to a namespace
    "add_key": (248, 217, errno.EPERM),
    "request_key": (249, 218, errno.EPERM),
    "keyctl": (250, 219, errno.EPERM),
    # other processes' memory and files
    "ptrace": (101, 117, errno.EPERM),
    "process_vm_readv": (310, 270, errno.EPERM),
    "process_vm_writev": (311, 271, errno.EPERM),
    "pidfd_getfd": (438, 438, errno.EPERM),
    "open_by_handle_at": (304, 265, errno.EPERM),
    # memory that belongs to no process
    "memfd_create": (319, 279, errno.ENOSYS),
    "memfd_secret": (447, 447, errno.ENOSYS),
    "shmget": (29, 194, errno.ENOSYS),
    "msgget": (68, 186, errno.ENOSYS),
    # large parts of the kernel with a history of faults
    "bpf": (321, 280, errno.EPERM),
    "perf_event_open": (298, 241, errno.EPERM),
    "userfaultfd": (323, 282, errno.EPERM),
    "io_uring_setup": (425, 425, errno.ENOSYS),
    "io_uring_enter": (426, 426, errno.ENOSYS),
    "io_uring_register": (427, 427, errno.ENOSYS),
    "fanotify_init": (300, 262, errno.EPERM),
    # the machine itself
    "kexec_load": (246, 104, errno.EPERM),
    "kexec_file_load": (320, 294, errno.EPERM),
    "init_module": (175, 105, errno.EPERM),
    "finit_module": (313, 273, errno.EPERM),
    "delete_module": (176, 106, errno.EPERM),
    "reboot": (169, 142, errno.EPERM),
    "swapon": (167, 224, errno.EPERM),
    "swapoff": (168, 225, errno.EPERM),
    "acct": (163, 89, errno.EPERM),
    "quotactl": (179, 60, errno.EPERM),
    "syslog": (103, 116, errno.EPERM),
}
_CLONE, _SOCKET, _IOCTL = (56, 220), (41, 198), (16, 29)
#: CLONE_NEWTIME, NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET.
_NEW_NAMESPACE = 0x80 | 0x20000 | 0x2000000 | 0x4000000 | 0x8000000 | 0x10000000 | 0x60000000
#: AF_UNIX, AF_INET, AF_INET6, AF_NETLINK; AF_VSOCK, above all, reaches out of a network namespace.
_FAMILIES = (1, 2, 10, 16)
#: TIOCSTI and TIOCLINUX: typing into a terminal.
_TYPING = (0x5412, 0x541C)
_X32 = 0x40000000

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _PROCESSOR, _FIRST, _SECOND = 0, 4, 16, 24  # places in struct seccomp_data
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000


def filter_program(machine: str = "") -> bytes:
    """The filter as an array of struct sock_filter; empty for an unknown processor."""
    processor = _PROCESSORS.get(machine or platform.machine())
    if processor is None:
        return b""
    name, column = processor
    words = [
        _encode_instruction(_LOAD, _PROCESSOR),
        _encode_instruction(_EQUAL, name, 1, 0),
        # a program of another kind, whose numbers mean other calls
        _encode_instruction(_RETURN, _KILL),
        _encode_instruction(_LOAD, _NUMBER),
    ]
    if column == 0:
        words += _refuse_when(_AT_LEAST, _X32, errno.ENOSYS)
    for row in _REFUSED.values():
        words += _refuse_when(_EQUAL, row[column], row[2])
    new_namespace = _refuse_when(_ANY_BIT, _NEW_NAMESPACE, errno.EPERM)
    words += _filter_call(_CLONE[column], _FIRST, new_namespace)
    families = [
        _encode_instruction(_EQUAL, family, len(_FAMILIES) - index, 0)
        for index, family in enumerate(_FAMILIES)
    ]
    refuse = _encode_instruction(_RETURN, _ERROR | errno.EAFNOSUPPORT)
    words += _filter_call(_SOCKET[column], _FIRST, [*families, refuse])
    typing = [word for call in _TYPING for word in _refuse_when(_EQUAL, call, errno.EPERM)]
    words += _filter_call(_IOCTL[column], _SECOND, typing)
    return b"".join([*words, _encode_instruction(_RETURN, _ALLOW)])


def _encode_instruction(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
    """One instruction; `then` and `otherwise` are how many to skip."""
    return struct.pack("=HBBI", code, then, otherwise, value)


def _refuse_when(test: int, value: int, error: int) -> list[bytes]:
    """A test that skips nothing where it holds and one instruction otherwise."""
    return [_encode_instruction(test, value, 0, 1), _encode_instruction(_RETURN, _ERROR | error)]


def _filter_call(number: int, argument: int, body: list[bytes]) -> list[bytes]:
    """For one call, `body` on one of its arguments; what falls through it is allowed."""
    return [
        _encode_instruction(_EQUAL, number, 0, len(body) + 2),
        _encode_instruction(_LOAD, argument),
        *body,
        _encode_instruction(_RETURN, _ALLOW),
    ]


# The sandbox by bubblewrap. Where we are root, no user namespace is made: then folders that only
# root may enter can be bound, and `exec_stage` becomes a user without rights. Anybody else needs a
# user namespace. Options travel in an open file, because the first process inside shows its
# arguments to the program.

_ALONE = (
    *("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"),
    *("--die-with-parent", "--new-session", "--clearenv", "--hostname", "sandbox"),
    *("--cap-drop", "ALL"),
)
_BECOMES_USER = ("--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")


def build_bwrap_command(
    tree: Layout,
    plan: LaunchPlan,
    memory_bytes: int,
    inherited: InheritedFiles,
    info_fd: int,
    report_fd: int,
) -> list[str]:
    """The command line; `info_fd` and `report_fd` are the open pipes that `supervise` reads. Raises
    FileNotFoundError where `bwrap` is not installed."""
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise FileNotFoundError("bwrap is not installed")
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
    return [bwrap, "--args", str(hidden), "--", *inner, *numbers]


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

"""Builds a sandbox around itself out of the kernel's namespaces, then runs a program in it.

Three processes: the *builder* (started by `supervise`, outside) waits and hands on the exit status;
the *first* process inside makes the new root and reaps; the third becomes the program. Each asks to
be killed when the one before it dies. Run as `python -I -S`, so only the standard library is there.

The root is built in memory: everything wanted is bound into it read-only, then it takes the place
of the old one, which is unmounted. Needs Linux 5.12 (mount_setattr).
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import select
import signal
import socket
import struct
import sys
from fcntl import ioctl
from pathlib import Path
from typing import Any, NoReturn

from evalcore.sandbox.exec_stage import exec_program

_NEWNS, _NEWCGROUP, _NEWUTS, _NEWIPC = 0x20000, 0x2000000, 0x4000000, 0x8000000
_NEWUSER, _NEWPID, _NEWNET = 0x10000000, 0x20000000, 0x40000000
_ALONE = _NEWNS | _NEWCGROUP | _NEWUTS | _NEWIPC | _NEWPID | _NEWNET

_NOSUID, _NODEV, _NOEXEC, _BIND, _REC, _PRIVATE = 2, 4, 8, 4096, 16384, 1 << 18
_ATTR_RDONLY, _ATTR_NOSUID, _ATTR_NODEV = 1, 2, 4
_AT_FDCWD, _AT_RECURSIVE, _DETACH = -100, 0x8000, 2
_MOUNT_SETATTR = 442
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_SET_DEATH_SIGNAL, _SET_SECCOMP, _SET_NO_NEW_PRIVILEGES = 1, 22, 38
_SECCOMP_FILTER = 2
_SET_INTERFACE_FLAGS, _UP_AND_RUNNING = 0x8914, 0x41

#: Where the new root is put together; it covers the old folder for this process only.
_ROOT = Path("/tmp")  # noqa: S108
_BYTES_PER_FILE = 4096  # a folder in memory may hold a file for each so many bytes of its size
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_DEVICE_LINKS = {
    "fd": "/proc/self/fd",
    "stdin": "/proc/self/fd/0",
    "stdout": "/proc/self/fd/1",
    "stderr": "/proc/self/fd/2",
    "ptmx": "pts/ptmx",
}
_libc = ctypes.CDLL(None, use_errno=True)


def main() -> NoReturn:
    """Entry of the builder: arguments are the root of this package and three open files."""
    info_fd, report_fd, build_fd = map(int, sys.argv[2:5])
    with os.fdopen(build_fd, "rb") as file:
        build = json.load(file)
    try:
        _build_sandbox(build, info_fd, report_fd)
    except OSError as problem:
        os.write(2, f"namespaces: {problem}\n".encode())
    os._exit(1)


def _build_sandbox(build: dict[str, Any], info_fd: int, report_fd: int) -> NoReturn:
    _enter_namespaces(build["last_step"])
    _die_with_parent()
    if os.getppid() != build["parent"]:
        os._exit(1)
    alive, held_open = os.pipe()  # comes to its end when the builder is gone
    first = os.fork()
    if not first:
        os.close(held_open)
        os.close(info_fd)
        _run_as_init(build, alive, report_fd)
    os.write(info_fd, json.dumps({"child-pid": first}).encode())
    os.close(info_fd)
    os._exit(_exit_code(os.waitpid(first, 0)[1]))


def _enter_namespaces(plan: dict[str, Any]) -> None:
    """Leave the namespaces of the host; the process namespace begins with our next child."""
    user, group = os.geteuid(), os.getegid()
    if plan["own_user"]:
        _check_result(_libc.unshare(_ALONE), "unshare")
        return
    _check_result(_libc.unshare(_ALONE | _NEWUSER), "unshare")
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{plan['uid']} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{plan['gid']} {group} 1")


def _run_as_init(build: dict[str, Any], alive: int, report_fd: int) -> NoReturn:
    _die_with_parent()
    if select.select([alive], [], [], 0)[0]:  # the builder died before we had asked
        os._exit(1)
    os.close(alive)
    socket.sethostname("sandbox")
    _loopback_up()
    _make_root(build)
    program = os.fork()
    if not program:
        os.setsid()
        _filter_calls(bytes.fromhex(build["call_filter"]))
        exec_program(build["last_step"], report_fd)
    for number in (0, 1, 2, report_fd):
        os.close(number)
    while True:
        ended, status = os.wait()
        if ended == program:
            os._exit(_exit_code(status))


def _make_root(build: dict[str, Any]) -> None:
    """Build the root and move into it; the old one is out of reach afterwards."""
    tree = build["tree"]
    os.umask(0o022)
    sources = [os.open(bind["source"], os.O_PATH) for bind in tree["binds"]]
    devices = {name: os.open(f"/dev/{name}", os.O_PATH) for name in _DEVICES}
    _mount_filesystem("none", Path("/"), "", _REC | _PRIVATE)
    _mount_filesystem("tmpfs", _ROOT, "tmpfs", _NOSUID | _NODEV, "mode=0755,size=16m")
    _make_proc_and_devices(devices)
    _make_folders_in_memory(build["in_memory"], build["memory_bytes"] // 2)
    for path in tree["folders"]:
        _new_root_path(path).mkdir(exist_ok=True)
    for path, points_to in tree["links"]:
        _new_root_path(path).symlink_to(points_to)
    for path, text in tree["files"]:
        _new_root_path(path).write_text(text)
    for bind, source in zip(tree["binds"], sources, strict=True):
        _bind_mount(source, _new_root_path(bind["target"]))
        protect = 0 if bind.get("writable") else _ATTR_RDONLY
        _set_mount_attributes(
            _new_root_path(bind["target"]), protect | _ATTR_NOSUID | _ATTR_NODEV, _AT_RECURSIVE
        )
    for number in (*sources, *devices.values()):
        os.close(number)
    _set_mount_attributes(_ROOT, _ATTR_RDONLY, 0)
    _pivot_into_root()


def _make_proc_and_devices(devices: dict[str, int]) -> None:
    for path in ("/proc", "/dev", "/dev/pts"):
        _new_root_path(path).mkdir()
    _mount_filesystem("proc", _new_root_path("/proc"), "proc", _NOSUID | _NODEV | _NOEXEC)
    _mount_filesystem(
        "devpts",
        _new_root_path("/dev/pts"),
        "devpts",
        _NOSUID | _NOEXEC,
        "newinstance,ptmxmode=0666",
    )
    for name, device in devices.items():
        _bind_mount(device, _new_root_path(f"/dev/{name}"))
    for name, points_to in _DEVICE_LINKS.items():
        _new_root_path(f"/dev/{name}").symlink_to(points_to)


def _make_folders_in_memory(paths: list[str], size: int) -> None:
    for path in paths:
        _new_root_path(path).mkdir()
        options = f"mode=1777,size={size},nr_inodes={size // _BYTES_PER_FILE}"
        _mount_filesystem("tmpfs", _new_root_path(path), "tmpfs", _NOSUID | _NODEV, options)


def _new_root_path(path: str) -> Path:
    """Where a path of the new root is while it is put together."""
    return _ROOT / path.lstrip("/")


def _bind_mount(source: int, target: Path) -> None:
    """Show an open file or folder at `target`, which is made."""
    fd_path = f"/proc/self/fd/{source}"
    if Path(fd_path).is_dir():
        target.mkdir(exist_ok=True)
    else:
        target.touch()
    _mount_filesystem(fd_path, target, "", _BIND | _REC)


def _mount_filesystem(source: str, target: Path, kind: str, flags: int, options: str = "") -> None:
    words = (source.encode(), bytes(target), kind.encode(), flags, options.encode())
    _check_result(_libc.mount(*words), f"mount {kind or source} at {target}")


def _set_mount_attributes(target: Path, attributes: int, flags: int) -> None:
    """Add attributes to a mount, with `_AT_RECURSIVE` to those below it too."""
    attr_struct = struct.pack("=QQQQ", attributes, 0, 0, 0)
    call = (_MOUNT_SETATTR, _AT_FDCWD, bytes(target), flags, attr_struct, len(attr_struct))
    _check_result(_libc.syscall(*call), f"mount_setattr {target}")


def _pivot_into_root() -> None:
    """Make the new root the root, and let go of the old one that then lies over it."""
    number = _PIVOT_ROOT.get(platform.machine())
    if number is None:
        raise OSError(f"the number of pivot_root is not known for {platform.machine()}")
    os.chdir(_ROOT)
    _check_result(_libc.syscall(number, b".", b"."), "pivot_root")
    _check_result(_libc.umount2(b".", _DETACH), "umount2")
    os.chdir("/")


def _loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        ioctl(any_socket, _SET_INTERFACE_FLAGS, struct.pack("=16sH14x", b"lo", _UP_AND_RUNNING))


def _filter_calls(program: bytes) -> None:
    """No way to gain rights from here on, and the filter where there is one."""
    _check_result(_libc.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0), "prctl")
    if not program:
        return
    words = ctypes.create_string_buffer(program, len(program))
    pointed = struct.pack("@HP", len(program) // 8, ctypes.addressof(words))
    _check_result(_libc.prctl(_SET_SECCOMP, _SECCOMP_FILTER, pointed, 0, 0), "seccomp")


def _die_with_parent() -> None:
    _check_result(_libc.prctl(_SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0), "prctl")


def _exit_code(status: int) -> int:
    """As a shell has it: 128 + n for signal n."""
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _check_result(result: int, what: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")

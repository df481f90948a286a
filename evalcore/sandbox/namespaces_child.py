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

from evalcore.sandbox.last_step import take_last_step

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
    tell, report, given = map(int, sys.argv[2:5])
    with os.fdopen(given, "rb") as file:
        build = json.load(file)
    try:
        _build(build, tell, report)
    except OSError as problem:
        os.write(2, f"namespaces: {problem}\n".encode())
    os._exit(1)


def _build(build: dict[str, Any], tell: int, report: int) -> NoReturn:
    _enter(build["last_step"])
    _die_with_parent()
    if os.getppid() != build["parent"]:
        os._exit(1)
    alive, held_open = os.pipe()  # comes to its end when the builder is gone
    first = os.fork()
    if not first:
        os.close(held_open)
        os.close(tell)
        _be_first(build, alive, report)
    os.write(tell, json.dumps({"child-pid": first}).encode())
    os.close(tell)
    os._exit(_exit_code(os.waitpid(first, 0)[1]))


def _enter(plan: dict[str, Any]) -> None:
    """Leave the namespaces of the host; the process namespace begins with our next child."""
    user, group = os.geteuid(), os.getegid()
    if plan["own_user"]:
        _check(_libc.unshare(_ALONE), "unshare")
        return
    _check(_libc.unshare(_ALONE | _NEWUSER), "unshare")
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{plan['uid']} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{plan['gid']} {group} 1")


def _be_first(build: dict[str, Any], alive: int, report: int) -> NoReturn:
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
        take_last_step(build["last_step"], report)
    for number in (0, 1, 2, report):
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
    _mount("none", Path("/"), "", _REC | _PRIVATE)
    _mount("tmpfs", _ROOT, "tmpfs", _NOSUID | _NODEV, "mode=0755,size=16m")
    _make_proc_and_devices(devices)
    _make_folders_in_memory(build["in_memory"], build["memory_bytes"] // 2)
    for path in tree["folders"]:
        _place(path).mkdir(exist_ok=True)
    for path, points_to in tree["links"]:
        _place(path).symlink_to(points_to)
    for path, text in tree["files"]:
        _place(path).write_text(text)
    for bind, source in zip(tree["binds"], sources, strict=True):
        _bind(source, _place(bind["target"]))
        protect = 0 if bind.get("writable") else _ATTR_RDONLY
        _restrict(_place(bind["target"]), protect | _ATTR_NOSUID | _ATTR_NODEV, _AT_RECURSIVE)
    for number in (*sources, *devices.values()):
        os.close(number)
    _restrict(_ROOT, _ATTR_RDONLY, 0)
    _move_in()


def _make_proc_and_devices(devices: dict[str, int]) -> None:
    for path in ("/proc", "/dev", "/dev/pts"):
        _place(path).mkdir()
    _mount("proc", _place("/proc"), "proc", _NOSUID | _NODEV | _NOEXEC)
    _mount("devpts", _place("/dev/pts"), "devpts", _NOSUID | _NOEXEC, "newinstance,ptmxmode=0666")
    for name, device in devices.items():
        _bind(device, _place(f"/dev/{name}"))
    for name, points_to in _DEVICE_LINKS.items():
        _place(f"/dev/{name}").symlink_to(points_to)


def _make_folders_in_memory(paths: list[str], size: int) -> None:
    for path in paths:
        _place(path).mkdir()
        options = f"mode=1777,size={size},nr_inodes={size // _BYTES_PER_FILE}"
        _mount("tmpfs", _place(path), "tmpfs", _NOSUID | _NODEV, options)


def _place(path: str) -> Path:
    """Where a path of the new root is while it is put together."""
    return _ROOT / path.lstrip("/")


def _bind(source: int, target: Path) -> None:
    """Show an open file or folder at `target`, which is made."""
    here = f"/proc/self/fd/{source}"
    if Path(here).is_dir():
        target.mkdir(exist_ok=True)
    else:
        target.touch()
    _mount(here, target, "", _BIND | _REC)


def _mount(source: str, target: Path, kind: str, flags: int, options: str = "") -> None:
    words = (source.encode(), bytes(target), kind.encode(), flags, options.encode())
    _check(_libc.mount(*words), f"mount {kind or source} at {target}")


def _restrict(target: Path, attributes: int, flags: int) -> None:
    """Add attributes to a mount, with `_AT_RECURSIVE` to those below it too."""
    wanted = struct.pack("=QQQQ", attributes, 0, 0, 0)
    call = (_MOUNT_SETATTR, _AT_FDCWD, bytes(target), flags, wanted, len(wanted))
    _check(_libc.syscall(*call), f"mount_setattr {target}")


def _move_in() -> None:
    """Make the new root the root, and let go of the old one that then lies over it."""
    number = _PIVOT_ROOT.get(platform.machine())
    if number is None:
        raise OSError(f"the number of pivot_root is not known for {platform.machine()}")
    os.chdir(_ROOT)
    _check(_libc.syscall(number, b".", b"."), "pivot_root")
    _check(_libc.umount2(b".", _DETACH), "umount2")
    os.chdir("/")


def _loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        ioctl(any_socket, _SET_INTERFACE_FLAGS, struct.pack("=16sH14x", b"lo", _UP_AND_RUNNING))


def _filter_calls(program: bytes) -> None:
    """No way to gain rights from here on, and the filter where there is one."""
    _check(_libc.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0), "prctl")
    if not program:
        return
    words = ctypes.create_string_buffer(program, len(program))
    pointed = struct.pack("@HP", len(program) // 8, ctypes.addressof(words))
    _check(_libc.prctl(_SET_SECCOMP, _SECCOMP_FILTER, pointed, 0, 0), "seccomp")


def _die_with_parent() -> None:
    _check(_libc.prctl(_SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0), "prctl")


def _exit_code(status: int) -> int:
    """As a shell has it: 128 + n for signal n."""
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _check(result: int, what: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")

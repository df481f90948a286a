"""A filter on system calls: what a program of ours never needs and the kernel is better not asked.

Namespaces hide things; the filter keeps a program from making new ones, in which it would have
rights again, from what no namespace holds (kernel keys, virtual-machine sockets), and from memory
that no count of resident pages shows. The numbers are those of the kernel's own headers. For a
processor that is not in the table there is no filter, and `detect` then does not name it.
"""

from __future__ import annotations

import errno
import platform
import struct

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
        _encode_instruction(
            _RETURN, _KILL
        ),  # a program of another kind, whose numbers mean other calls
        _encode_instruction(_LOAD, _NUMBER),
    ]
    if column == 0:
        words += _refuse_when(_encode_instruction(_AT_LEAST, _X32, 0, 1), errno.ENOSYS)
    for row in _REFUSED.values():
        words += _refuse_when(_encode_instruction(_EQUAL, row[column], 0, 1), row[2])
    words += _filter_call(
        _CLONE[column],
        _FIRST,
        _refuse_when(_encode_instruction(_ANY_BIT, _NEW_NAMESPACE, 0, 1), errno.EPERM),
    )
    allowed = [
        _encode_instruction(_EQUAL, family, len(_FAMILIES) - index, 0)
        for index, family in enumerate(_FAMILIES)
    ]
    words += _filter_call(
        _SOCKET[column],
        _FIRST,
        [*allowed, _encode_instruction(_RETURN, _ERROR | errno.EAFNOSUPPORT)],
    )
    typing = [
        word
        for call in _TYPING
        for word in _refuse_when(_encode_instruction(_EQUAL, call, 0, 1), errno.EPERM)
    ]
    words += _filter_call(_IOCTL[column], _SECOND, typing)
    return b"".join([*words, _encode_instruction(_RETURN, _ALLOW)])


def _encode_instruction(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
    """One instruction; `then` and `otherwise` are how many to skip."""
    return struct.pack("=HBBI", code, then, otherwise, value)


def _refuse_when(test: bytes, error: int) -> list[bytes]:
    """`test` skips nothing where it holds and one instruction otherwise."""
    return [test, _encode_instruction(_RETURN, _ERROR | error)]


def _filter_call(number: int, argument: int, body: list[bytes]) -> list[bytes]:
    """For one call, `body` on one of its arguments; what falls through it is allowed."""
    return [
        _encode_instruction(_EQUAL, number, 0, len(body) + 2),
        _encode_instruction(_LOAD, argument),
        *body,
        _encode_instruction(_RETURN, _ALLOW),
    ]

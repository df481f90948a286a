"""The filter on system calls, run by a small interpreter of its instructions."""

from __future__ import annotations

import errno
import struct

import pytest

from evalcore.sandbox.launch import filter_program

X86, ARM = 0xC000003E, 0xC00000B7
ALLOW, KILL, ERROR = 0x7FFF0000, 0x80000000, 0x00050000
MACHINES = [("x86_64", X86), ("aarch64", ARM)]


def decide(machine: str, processor: int, number: int, *arguments: int) -> int:
    """What the kernel would do with this call."""
    args = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("<IIQ6Q", number & 0xFFFFFFFF, processor, 0, *args)
    program = filter_program(machine)
    words = [struct.unpack_from("=HBBI", program, offset) for offset in range(0, len(program), 8)]
    at, loaded = 0, 0
    while True:
        code, then, otherwise, value = words[at]
        at += 1
        if code == 0x06:
            return int(value)
        if code == 0x20:
            loaded = struct.unpack_from("<I", data, value)[0]
            continue
        holds = {0x15: loaded == value, 0x35: loaded >= value, 0x45: bool(loaded & value)}[code]
        at += then if holds else otherwise


@pytest.mark.parametrize(("machine", "processor"), MACHINES)
def test_ordinary_calls_pass(machine: str, processor: int) -> None:
    calls = {"x86_64": (0, 1, 2, 9, 59, 60, 257), "aarch64": (63, 64, 56, 222, 221, 93)}[machine]
    assert {decide(machine, processor, number) for number in calls} == {ALLOW}


@pytest.mark.parametrize(("machine", "processor"), MACHINES)
def test_a_program_for_another_processor_is_killed(machine: str, processor: int) -> None:
    other = 0x40000003  # 32 bits
    assert decide(machine, other, 1) == KILL
    assert decide(machine, processor, 1) != KILL


@pytest.mark.parametrize(
    ("machine", "processor", "number", "error"),
    [
        ("x86_64", X86, 272, errno.EPERM),  # unshare
        ("aarch64", ARM, 97, errno.EPERM),
        ("x86_64", X86, 435, errno.ENOSYS),  # clone3
        ("x86_64", X86, 250, errno.EPERM),  # keyctl
        ("aarch64", ARM, 117, errno.EPERM),  # ptrace
        ("x86_64", X86, 319, errno.ENOSYS),  # memfd_create
        ("x86_64", X86, 0x40000000 | 1, errno.ENOSYS),  # the numbers of x32
        ("x86_64", X86, -1, errno.ENOSYS),
    ],
)
def test_calls_that_are_refused(machine: str, processor: int, number: int, error: int) -> None:
    assert decide(machine, processor, number) == ERROR | error


@pytest.mark.parametrize(
    ("machine", "processor", "clone"), [(*MACHINES[0], 56), (*MACHINES[1], 220)]
)
def test_clone_by_its_flags(machine: str, processor: int, clone: int) -> None:
    thread = 0x3D0F00
    assert decide(machine, processor, clone, 17) == ALLOW  # fork
    assert decide(machine, processor, clone, thread) == ALLOW
    for flag in (0x80, 0x20000, 0x2000000, 0x4000000, 0x8000000, 1 << 28, 1 << 29, 1 << 30):
        assert decide(machine, processor, clone, 17 | flag) == ERROR | errno.EPERM


@pytest.mark.parametrize(
    ("machine", "processor", "call"), [(*MACHINES[0], 41), (*MACHINES[1], 198)]
)
def test_sockets_by_their_family(machine: str, processor: int, call: int) -> None:
    passed = [f for f in range(60) if decide(machine, processor, call, f) == ALLOW]
    assert passed == [1, 2, 10, 16]
    assert decide(machine, processor, call, 40) == ERROR | errno.EAFNOSUPPORT


@pytest.mark.parametrize(("machine", "processor", "call"), [(*MACHINES[0], 16), (*MACHINES[1], 29)])
def test_no_typing_into_a_terminal(machine: str, processor: int, call: int) -> None:
    assert decide(machine, processor, call, 0, 0x5412) == ERROR | errno.EPERM
    assert decide(machine, processor, call, 0, 0x541C) == ERROR | errno.EPERM
    assert decide(machine, processor, call, 0, 0x5401) == ALLOW


def test_no_filter_for_what_is_not_known() -> None:
    assert filter_program("m68k") == b""

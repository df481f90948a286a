"""Hostile programs in the sandbox, by each means that this machine has, as root and otherwise."""

from __future__ import annotations

import json
import os
import socket
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import msgspec
import pytest

from evalcore.sandbox.filesystem import Unreadable, read_inside, remove_tree
from evalcore.sandbox.program import Program
from tests.support.sandbox import CANARY, PROJECT, SMALL, Driver, Way, gone, processes_with, shown
from tests.support.sandbox_driver import Request

#: Where the project lies below /tmp, the way to its interpreter is seen there, and nothing else.
OURS_IN_TMP = [Path(sys.prefix).parts[2]] if sys.prefix.startswith("/tmp/") else []

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="programs are run on Linux only")


def test_no_way_to_a_network(sandbox: Way) -> None:
    """Neither the host's loopback, nor its abstract sockets, nor the outside, nor a hypervisor."""
    code = """
        import socket, sys
        def tried(family, kind, address):
            try:
                with socket.socket(family, kind) as s:
                    s.settimeout(2)
                    s.connect(address)
            except OSError as problem:
                return type(problem).__name__
            return "connected"
        print(tried(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", int(sys.argv[1]))))
        print(tried(socket.AF_INET, socket.SOCK_DGRAM, ("169.254.169.254", 80)))
        print(tried(socket.AF_UNIX, socket.SOCK_STREAM, b"\\0" + sys.argv[2].encode()))
        print(tried(socket.AF_VSOCK, socket.SOCK_STREAM, (2, 1024)))
    """
    name = f"evalboard-test-{os.getpid()}"
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as unix:
        unix.bind(f"\0{name}")
        unix.listen()
        words = ("python", "-S", "-c", textwrap.dedent(code), str(server.getsockname()[1]), name)
        seen = sandbox.run(words).output.split()
    assert seen == ["ConnectionRefusedError", "OSError", "ConnectionRefusedError", "OSError"]


def test_a_server_of_its_own_is_reachable(sandbox: Way) -> None:
    """Tests of web frameworks start one."""
    code = """
        import socket
        with socket.create_server(("127.0.0.1", 0)) as s:
            socket.create_connection(s.getsockname()).close()
            print("reached", socket.gethostname())
    """
    assert sandbox.python(code).output == "reached sandbox\n"


def test_the_host_is_out_of_sight(sandbox: Way) -> None:
    code = """
        import json, os, sys
        reach = [path for path in sys.argv[1:] if os.path.exists(path)]
        print(json.dumps({
            "reach": reach,
            "root": sorted(os.listdir("/")),
            "tmp": os.listdir("/tmp"),
            "files": sorted(os.listdir("/proc/self/fd"))[:3],
            "file_count": len(os.listdir("/proc/self/fd")),
            "processes": [p for p in os.listdir("/proc") if p.isdigit()],
            "environment": sorted(os.environ),
        }))
    """
    with tempfile.NamedTemporaryFile(dir="/tmp") as canary:
        hidden = [canary.name, str(PROJECT / "evalcore"), str(PROJECT / ".git"), "/etc/shadow"]
        hidden += ["/etc/machine-id", "/etc/hostname", "/var", "/run", "/sys", "/home", "/mnt"]
        result = sandbox.run(("python", "-S", "-c", textwrap.dedent(code), *hidden))
    seen = json.loads(result.output)
    assert seen["reach"] == []
    assert seen["tmp"] == OURS_IN_TMP
    assert seen["file_count"] == 4  # the standard ones, and the listing's own
    assert len(seen["processes"]) == 2
    assert CANARY not in seen["environment"]
    assert set(seen["environment"]) <= {
        *("PATH", "HOME", "TZ", "LANG", "PYTHONHASHSEED", "OMP_NUM_THREADS"),
        *("OPENBLAS_NUM_THREADS", "LC_CTYPE"),
    }


def test_the_first_process_tells_nothing(sandbox: Way) -> None:
    """Its arguments and environment are the only ones of ours inside."""
    code = """
        import os
        for name in ("environ", "cmdline"):
            try:
                print(open(f"/proc/1/{name}", "rb").read().decode())
            except OSError:
                print("closed")
        try:
            print(os.listdir("/proc/1/fd"), os.readlink("/proc/1/cwd"))
        except OSError:
            print("closed")
    """
    with sandbox.folder() as folder:
        output = sandbox.python(code, binds=shown(folder, "/case")).output
        assert folder.name not in output
    assert CANARY not in output


def test_nothing_can_be_gained(sandbox: Way) -> None:
    code = """
        import ctypes, fcntl, os, sys
        libc = ctypes.CDLL(None, use_errno=True)
        def tried(call, *arguments):
            try:
                return call(*arguments)
            except OSError as problem:
                return "refused"
        def asked(result):
            return "refused" if result < 0 else result
        print(tried(os.setuid, 0), tried(os.setgid, 0), os.getuid() != 0)
        print(asked(libc.unshare(0x10000000)), asked(libc.ptrace(16, 1, 0, 0)))
        print(asked(libc.mount(b"x", b"/tmp", b"tmpfs", 0, 0)), asked(libc.memfd_create(b"x", 0)))
        print(asked(libc.syscall({"x86_64": 250, "aarch64": 219}[os.uname().machine], 0, -3, 1)))
        print(tried(os.mkdir, "/usr/x"), tried(os.mkdir, "/x"))
        print(tried(os.mkdir, sys.prefix + "/x"), tried(os.mkdir, "/dev/x"))
        print(tried(os.open, "/dev/tty", 2), tried(os.open, "/proc/sys/kernel/hostname", 1))
        print(tried(fcntl.ioctl, os.open("/dev/ptmx", os.O_RDWR), 0x5412, b"x"))
    """
    lines = sandbox.python(code).output.splitlines()
    assert lines[0] == "refused refused True"
    assert " ".join(lines[1:]).split() == ["refused"] * 12


def test_the_first_process_cannot_be_killed(sandbox: Way) -> None:
    code = """
        import os
        try:
            os.kill(1, 9)
        except PermissionError:
            pass
        print("still here")
    """
    assert sandbox.python(code).output == "still here\n"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("ending", ["its own", "time"])
def test_nothing_outlives_the_run(sandbox: Way, ending: str) -> None:
    """Neither a daemon that let go of everything nor a session of its own."""
    token = f"survivor-{os.getpid()}-{sandbox.means}-{sandbox.who}-{ending}".replace(" ", "")
    code = f"""
        import os, sys, time
        if not os.fork():
            os.setsid()
            if os.fork():
                os._exit(0)
            for number in range(3):
                os.close(number)
            os.execvp("python", ["python", "-S", "-c", "import time; time.sleep(60)", "{token}"])
        time.sleep(0.3 if {ending == "its own"} else 20)
        print("done")
    """
    result = sandbox.python(code, msgspec.structs.replace(SMALL, seconds=0.9))
    assert result.output == ("done\n" if ending == "its own" else "")
    assert not processes_with(token)


def test_nothing_outlives_us(sandbox: Way) -> None:
    token = f"orphan-{os.getpid()}-{sandbox.means}-{sandbox.who}"
    driver = Driver(sandbox.who)
    code = "import os, time; os.fork() or os.setsid(); time.sleep(60)"
    words = ("python", "-S", "-c", code, token)
    driver.send(Request(sandbox.means, Program(argv=words)))
    deadline = time.monotonic() + 180
    while len(processes_with(token)) < 2:
        assert time.monotonic() < deadline, "the program does not come up"
        time.sleep(0.02)
    driver.process.kill()
    driver.close()
    assert gone(token)


def test_links_lead_nowhere(sandbox: Way) -> None:
    code = """
        import os
        os.symlink("/etc/passwd", "file")
        os.symlink("/etc", "folder")
        os.mkfifo("pipe")
        os.mkdir("locked")
        open("locked/inner", "w").write("x")
        os.chmod("locked", 0)
        open("long", "w").write("x" * 100)
        open("plain", "w").write("result")
    """
    with sandbox.folder() as folder, tempfile.TemporaryDirectory(dir="/tmp") as other:
        result = sandbox.python(code, binds=shown(folder, "/case"), cwd="/case")
        assert (result.exit_code, result.output) == (0, "")
        path = Path(other, "kept")
        path.write_text("kept")
        (folder / "out").symlink_to(other)
        assert read_inside(folder, "plain", 50) == b"result"
        for name in ("file", "folder/passwd", "pipe", "long", "missing", "../x", "/etc/passwd"):
            with pytest.raises(Unreadable):
                read_inside(folder, name, 50)
        remove_tree(folder)
        assert not folder.exists()
        assert path.read_text() == "kept"
        folder.mkdir()


def test_a_command_that_is_not_there_is_our_failure(sandbox: Way) -> None:
    for program in (Program(argv=("no-such-command",)), Program(argv=("true",), cwd="/missing")):
        (answer,) = sandbox.driver.ask(Request(sandbox.means, program))
        assert answer.finished is None
        assert "cannot be started" in answer.failure

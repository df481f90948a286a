"""The process between a run and the model server it started: the server never outlives the run.

    python -m evalcore.targets.huggingface.server_keeper PROGRAM ARGUMENT...

The keeper leads a process group of its own, in which the server and all of its workers are. It ends
the group when its standard input ends, which happens however the run ends, SIGKILL included, or
when the server itself ends; then the last line of its standard output is the server's exit status.
The output of the server goes to standard error.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading

_GRACE_SECONDS = 5.0  # that a server may take to end by itself


def main(command: list[str]) -> None:
    # The group is sent SIGTERM, which is for the server; SIGINT of a terminal is for the run.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    try:
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sys.stderr.fileno())
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=sys.stderr, flush=True)
        _end_group(127)

    def stop_server() -> None:
        while os.read(0, 4096):
            pass
        os.killpg(0, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(_GRACE_SECONDS)
        _end_group(0)

    threading.Thread(target=stop_server, daemon=True).start()
    _end_group(server.wait())


def _end_group(status: int) -> None:
    with contextlib.suppress(OSError):  # nobody reads it any more
        os.write(1, b"%d\n" % status)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main(sys.argv[1:])

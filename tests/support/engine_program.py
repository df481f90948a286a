"""A stand-in for `vllm`, `sglang` and `llama-server`: takes their flags and serves the chat API.

`install(folder, "vllm")` writes an executable that a test puts on PATH. Faults come as
`--stand-in NAME` (by the option `server_args`): see `FAULTS`. Each start leaves `start-N.json` with
its words, the variables that matter, and the numbers of its process and of a worker it has.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

from tests.support.loopback_server import Connection, Options, State

_ROOT = Path(__file__).resolve().parents[2]
FAULTS = (
    "no-start",  # ends with a message
    "no-memory",  # is killed while it loads
    "never-ready",  # says that it is not healthy
    "foreign",  # lists another model
    "taken-once",  # the port is taken at its first start
    "dies-once",  # after three answers, at its first start
    "dies-always",  # at every request
    "noisy",  # prints more than a pipe holds, with every answer
    "stubborn",  # heeds no SIGTERM
)
_LISTENING = {"vllm": "/version", "sglang": "/get_server_info", "llama-server": "/props"}


def install(folder: Path, program: str, reply: str = "") -> None:
    """Write the executable `program` into a folder; its starts are written beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / program
    file.write_text(
        f"#!/bin/sh\nPYTHONPATH={_ROOT} exec {sys.executable} -m tests.support.engine_program "
        f"{program} {folder} '{reply}' \"$@\"\n"
    )
    file.chmod(0o755)


def read_starts(folder: Path) -> list[dict]:
    return [json.loads(file.read_text()) for file in sorted(folder.glob("start-*.json"))]


class EngineConnection(Connection):
    """The loopback server with what a server of local models has besides."""

    program = name = fault = ""
    is_first = True

    def route(self, method: str, path: str, head: list[bytes], body: bytes) -> None:
        if path == "/health":
            status = 503 if self.fault == "never-ready" else 200
            self.transport.write(b"HTTP/1.1 %d X\r\ncontent-length: 0\r\n\r\n" % status)
        elif path == "/v1/models":
            served = "another" if self.fault == "foreign" else self.name
            self.send_json({"object": "list", "data": [{"id": served}]})
        elif path == _LISTENING[self.program]:
            field = "build_info" if self.program == "llama-server" else "version"
            self.send_json({field: "1.2.3"})
        else:
            dies = self.fault == "dies-once" and self.is_first and self.state.requests >= 3
            if dies or self.fault == "dies-always":
                print("CUDA error: an illegal memory access", file=sys.stderr, flush=True)
                os._exit(7)
            if self.fault == "noisy":
                os.write(2, b"loading \r" * 20_000 + b"x" * 100_000)
            super().route(method, path, head, body)


async def serve(port: int, reply: str) -> None:
    loop = asyncio.get_running_loop()
    state = State(Options(reply=reply), refilled=loop.time())
    await loop.create_server(lambda: EngineConnection(state), "127.0.0.1", port)
    await asyncio.Event().wait()


def main(program: str, folder: str, reply: str, *words: str) -> None:
    def value(flag: str) -> str:  # the last counts, as argparse has it
        pairs = pairwise(words)
        return next((value for name, value in reversed([*pairs]) if name == flag), "")

    fault, starts = value("--stand-in"), Path(folder)
    worker = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    environment = {name: os.environ[name] for name in os.environ if "KEY" in name or "HF_" in name}
    number = len(read_starts(starts))
    facts = {"words": words, "environment": environment, "pids": [os.getpid(), worker.pid]}
    (starts / f"start-{number}.json").write_text(json.dumps(facts))
    if fault == "stubborn":
        import signal

        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if fault == "no-start":
        print("loading weights\nValueError: no kernel for this GPU", flush=True)
        sys.exit(1)
    if fault == "no-memory":
        os.kill(os.getpid(), 9)
    if fault == "taken-once" and number == 0:
        print("OSError: [Errno 98] Address already in use", file=sys.stderr)
        sys.exit(1)
    EngineConnection.program, EngineConnection.fault = program, fault
    EngineConnection.name = value("--alias") or value("--served-model-name")
    EngineConnection.is_first = number == 0
    assert value("--host") == "127.0.0.1"
    time.sleep(0.05)
    asyncio.run(serve(int(value("--port")), reply))


if __name__ == "__main__":
    main(*sys.argv[1:])

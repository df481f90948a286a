"""An OpenAI-compatible server on the loopback, with faults on demand; for tests and measurements.

    python -m tests.support.loopback_server --port 0 --latency 0.05 --rate-limit 200

prints {"port": N} and serves POST /v1/chat/completions, GET /v1/models, GET /stats (counters and
the requests per prompt), GET /last (the newest request as it came) and GET /mix?KIND=RATE&...,
which begins anew with a mix of faults, of which GET /injected lists those that were sent. A bare
asyncio protocol, so that it costs a fraction of the client it measures. Faults come from the
command line, for a share of the prompts chosen by their hash, or from the prompt itself
(`!fault NAME [ATTEMPTS]`, `!reply {"status", "headers", "body"}`, `!refuse PARAMETER...`,
`!room CONTEXT PROMPT [MOST]`, `!packed gzip|none SIZE [STATUS]`).
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import gzip
import json
import random
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from tests.support.replies import (
    FAULTS,
    MIXED_FAULTS,
    Fault,
    completion,
    error,
    http,
    prompt_hash,
    stream_reply,
    text_reply,
)

_ROOT = Path(__file__).resolve().parents[2]
_BURST = 20.0
_DRIPS = 12  # pieces of a reply that drips
_FILLER = b" " * 500_000  # of a reply that never ends, so much at once
_WAITING = 4 << 20  # bytes that a client has yet to read before it gets more
ECHO = "echo"
ECHO_ANSWER = "echo-answer"


@dataclass(frozen=True)
class Options:
    """`latency` and `rate_limit` (requests a second, 0: none); `fault` hits the prompts whose hash
    falls into `share`, on their first `attempts` requests, 0 meaning always; `reply` is the text of
    every good answer, where it is given; with `plain` 1 nothing is streamed, whoever asks."""

    port: int = 0
    latency: float = 0.0
    rate_limit: float = 0.0
    fault: str = ""
    share: float = 1.0
    attempts: int = 0
    reply: str = ""
    plain: int = 0


@dataclass
class State:
    """What all connections share."""

    options: Options
    prompts: Counter[str] = field(default_factory=Counter)
    statuses: Counter[str] = field(default_factory=Counter)
    requests: int = 0
    refused: int = 0
    faulted: int = 0
    in_flight: int = 0
    max_in_flight: int = 0
    last: dict[str, Any] = field(default_factory=dict)
    tokens: float = _BURST
    refilled: float = 0.0
    mix: dict[str, float] = field(default_factory=dict)
    seed: int = 0
    injected: list[tuple[str, int, str]] = field(default_factory=list)

    def begin_mix(self, query: str) -> None:
        """Forget what was asked, and mix the faults of a query from now on."""
        rates = {name: float(value) for name, value in urllib.parse.parse_qsl(query)}
        self.seed = int(rates.pop("seed", 0))
        attempts, latency = int(rates.pop("attempts", 2)), rates.pop("latency", 0.0)
        self.options = replace(self.options, attempts=attempts, latency=latency)
        self.mix = rates
        self.injected, self.requests = [], 0
        self.prompts.clear()

    def draw_fault(self, prompt: str, name: str) -> Fault | None:
        """The fault of the mix for this request of a prompt, by the seed; None for none."""
        attempt = self.prompts[name]
        if not self.mix or attempt > self.options.attempts:
            return None
        dice = random.Random(f"{self.seed}:{name}:{attempt}").random()
        for kind, rate in self.mix.items():
            if dice < rate:
                self.injected.append((name, attempt, kind))
                return MIXED_FAULTS[kind](prompt)
            dice -= rate
        return None

    def stats(self) -> dict[str, Any]:
        names = ("requests", "refused", "faulted", "in_flight", "max_in_flight")
        return {name: getattr(self, name) for name in names} | {
            "prompts": self.prompts,
            "cpu": time.process_time(),
        }

    def wait_for_token(self, now: float) -> float:
        """Take a token and return 0, or return the seconds until there is one."""
        rate = self.options.rate_limit
        if not rate:
            return 0.0
        self.tokens = min(_BURST, self.tokens + (now - self.refilled) * rate)
        self.refilled = now
        if self.tokens >= 1:
            self.tokens -= 1
            return 0.0
        return (1 - self.tokens) / rate

    def hit(self, name: str) -> bool:
        """Whether the fault of the command line is due for this request of a prompt."""
        options = self.options
        return (
            bool(options.fault)
            and faulty(name, options.share)
            and (not options.attempts or self.prompts[name] <= options.attempts)
        )

    def fault(self) -> Fault:
        """The fault of the command line; `echo` and `echo-answer` repeat the header that holds the
        key, in an error and in every part of an answer."""
        if self.options.fault not in (ECHO, ECHO_ANSWER):
            return FAULTS[self.options.fault]
        sent = [line for line in self.last["head"] if line.lower().startswith("authorization")]
        if self.options.fault == ECHO_ANSWER:
            return Fault(echoed(" ".join(sent)))
        return Fault(error(401, f"these credentials are not known: {' '.join(sent)}"))


def faulty(name: str, share: float) -> bool:
    """Whether a prompt (by its hash) is among the share that gets the fault."""
    return int(name[:8], 16) < share * 2**32


class Connection(asyncio.Protocol):
    """One keep-alive connection: requests are taken one after another."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.loop = asyncio.get_running_loop()
        self.buffer = b""
        self.pending = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        self.state.in_flight -= self.pending
        self.pending = 0

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            head = self.buffer[:end].split(b"\r\n")
            headers = dict(line.lower().split(b": ", 1) for line in head[1:])
            size = end + 4 + int(headers.get(b"content-length", 0))
            if len(self.buffer) < size:
                return
            body, self.buffer = self.buffer[end + 4 : size], self.buffer[size:]
            method, path, _ = head[0].decode().split(" ", 2)
            self.route(method, path, head, body)

    def route(self, method: str, path: str, head: list[bytes], body: bytes) -> None:
        if path.partition("?")[0].endswith("/chat/completions") and method == "POST":
            self.chat(head, body)
        elif path.endswith("/models"):
            self.send_json({"object": "list", "data": [{"id": "loopback-1", "object": "model"}]})
        elif path == "/stats":
            self.send_json(self.state.stats())
        elif path.startswith("/mix?"):
            self.state.begin_mix(path.partition("?")[2])
            self.send_json({})
        elif path == "/injected":
            self.send_json({"injected": self.state.injected})
        elif path == "/last":
            self.send_json(self.state.last)
        else:
            self.transport.write(error(404, f"no {path} here"))

    def send_json(self, value: Any) -> None:
        self.transport.write(http(200, json.dumps(value).encode()))

    def chat(self, head: list[bytes], body: bytes) -> None:
        state, request = self.state, json.loads(body)
        state.last = {"head": [line.decode() for line in head], "body": request}
        state.requests += 1
        wait = state.wait_for_token(self.loop.time())
        if wait:
            state.refused += 1
            headers = {"retry-after-ms": str(int(wait * 1000) + 1)}
            self.transport.write(error(429, "rate limit of the server", headers))
            return
        state.in_flight += 1
        self.pending += 1
        state.max_in_flight = max(state.max_in_flight, state.in_flight)
        reply = self.reply_to(request)
        self.loop.call_later(state.options.latency, self.finish, reply)

    def reply_to(self, request: dict[str, Any]) -> Fault:
        prompt = last_user_text(request)
        name = prompt_hash(prompt)
        self.state.prompts[name] += 1
        if fault := self.state.draw_fault(prompt, name):
            return fault
        if self.state.hit(name):
            self.state.faulted += 1
            return self.state.fault()
        if prompt.startswith("!"):
            return scripted(prompt, request, self.state.prompts[name])
        streams = request.get("stream") and not self.state.options.plain
        make = stream_reply if streams else text_reply
        return Fault(make(prompt, self.state.options.reply or None))

    def finish(self, reply: Fault) -> None:
        if self.transport.is_closing():
            return
        if reply.then == "stall":
            return
        self.pending -= 1
        self.state.in_flight -= 1
        if reply.then == "reset":
            # An abort with unread or unsent data would do; lingering for 0 s always sends RST.
            sock = self.transport.get_extra_info("socket")
            sock.setsockopt(1, 13, b"\x01\0\0\0\0\0\0\0")  # SOL_SOCKET, SO_LINGER
            self.transport.abort()
            return
        if reply.then in ("drip", "endless"):
            self.trickle(reply, 0)
            return
        self.transport.write(reply.data)
        if reply.then == "close":
            self.transport.close()

    def trickle(self, reply: Fault, sent: int) -> None:
        """Send a reply in pieces, for ever where it is endless."""
        if self.transport.is_closing():
            return
        endless = reply.then == "endless"
        if not endless or self.transport.get_write_buffer_size() < _WAITING:
            end = len(reply.data) if endless else sent + len(reply.data) // _DRIPS + 1
            self.transport.write(reply.data[sent:end] or _FILLER)
            sent = end
        if endless or sent < len(reply.data):
            self.loop.call_later(0.001 if endless else 0.005, self.trickle, reply, sent)


def last_user_text(request: dict[str, Any]) -> str:
    for message in reversed(request["messages"]):
        if message["role"] == "user":
            return str(message["content"])
    return ""


def scripted(prompt: str, request: dict[str, Any], attempt: int) -> Fault:
    """The reply that a prompt beginning with `!` asks for."""
    command, _, rest = prompt.partition(" ")
    if command == "!reply":
        payload = json.loads(rest)
        body = payload.get("body", "")
        text = body if isinstance(body, str) else json.dumps(body)
        return Fault(http(payload.get("status", 200), text.encode(), payload.get("headers")))
    words = rest.split()
    if command == "!room":
        return room(request, *map(int, words))
    if command == "!packed":
        return packed(words[0], int(words[1]), int((*words, "200")[2]))
    if command == "!fault":
        limit = int(words[1]) if len(words) > 1 else attempt
        return FAULTS[words[0]] if attempt <= limit else Fault(text_reply(prompt))
    for name in words:  # !refuse
        if name in request:
            text = f"Unsupported parameter: '{name}' is not supported with this model."
            return Fault(error(400, text, param=name, code="unsupported_parameter"))
    return Fault(text_reply(prompt))


def echoed(text: str) -> bytes:
    """A good answer that holds a text wherever an answer can hold one."""
    coded = base64.b64encode(text.encode()).decode()
    function = {"name": text, "arguments": json.dumps({"header": text, "coded": coded})}
    calls = [{"id": text, "function": function}]
    message = {"content": f"{text} {coded}", "reasoning": text, "tool_calls": calls}
    body = json.loads(completion(message, "")) | {"model": text}
    return http(200, json.dumps(body).encode(), {"x-echo": text})


def room(request: dict[str, Any], context: int, prompt: int, most: int = 0) -> Fault:
    """The refusal of a server whose context holds so many tokens, of which the prompt takes some,
    and whose answers have at most `most`; an answer where all fits."""
    limit = request["max_tokens"]
    if most and limit > most:
        text = f"max_tokens is too large: {limit}. This model supports at most {most} completion "
        return Fault(error(400, f"{text}tokens, whereas you provided {limit}."))
    if prompt + limit <= context:
        return Fault(text_reply("it fits"))
    return Fault(
        error(
            400,
            f"This model's maximum context length is {context} tokens. However, you requested "
            f"{prompt + limit} tokens ({prompt} in the messages, {limit} in the completion).",
        )
    )


def packed(packing: str, size: int, status: int = 200) -> Fault:
    """A reply of so many characters, packed or not."""
    body = completion({"role": "assistant", "content": "x" * size}, "")
    if packing == "none":
        return Fault(http(status, body))
    return Fault(http(status, gzip.compress(body), {"content-encoding": packing}))


async def run(options: Options, while_stdin: bool) -> None:
    """Serve for ever, or until the standard input ends, so that no server outlives its test."""
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()

    def watch() -> None:
        sys.stdin.buffer.read()
        loop.call_soon_threadsafe(stop.set)

    state = State(options, refilled=loop.time())
    server = await loop.create_server(
        lambda: Connection(state), "127.0.0.1", options.port, backlog=1024
    )
    print(json.dumps({"port": server.sockets[0].getsockname()[1]}), flush=True)
    if while_stdin:
        threading.Thread(target=watch, daemon=True).start()
    await stop.wait()
    server.close()


@dataclass(frozen=True)
class Server:
    """A running server as its user sees it."""

    port: int

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def get(self, path: str) -> dict[str, Any]:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=60) as reply:
            loaded: dict[str, Any] = json.load(reply)
        return loaded

    def stats(self) -> dict[str, Any]:
        return self.get("/stats")


@contextmanager
def serve(options: Options | None = None) -> Iterator[Server]:
    """A server in a process of its own, ended with the block."""
    words = [sys.executable, "-m", "tests.support.loopback_server", "--while-stdin"]
    for name, value in vars(options or Options()).items():
        words += [f"--{name.replace('_', '-')}", str(value)]
    process = subprocess.Popen(words, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield Server(json.loads(process.stdout.readline())["port"])
    finally:
        process.stdin.close()
        process.wait(10)
        process.stdout.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for option in fields(Options):
        flag = f"--{option.name.replace('_', '-')}"
        parser.add_argument(flag, type=type(option.default), default=option.default)
    parser.add_argument("--while-stdin", action="store_true", help="end with the standard input")
    values = vars(parser.parse_args())
    while_stdin = values.pop("while_stdin")
    options = Options(**values)
    expected = ("", ECHO, ECHO_ANSWER, *FAULTS)
    if options.fault not in expected:
        parser.error(f"unknown fault {options.fault!r}; known: {', '.join(expected[1:])}")
    asyncio.run(run(options, while_stdin))


if __name__ == "__main__":
    main()

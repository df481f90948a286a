"""The parent's side of a model's process: start it, ask it, see it die, end it.

A process that dies is started once more with half the budget, and the requests that it had are
sent again, each at most once. When it dies again before it has answered anything, they fail as our
own failure, never as the model's. `close` kills the whole process group.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import re
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast, get_args

import msgspec

import evalcore
from evalcore.errors import TargetFailure, UsageError
from evalcore.records import Completion, Failure, GenerationRequest, Record
from evalcore.targets.huggingface.messages import (
    Answer,
    Ask,
    Cancel,
    Failed,
    Loading,
    News,
    Ready,
    Refused,
    Start,
    Stats,
    read_news,
)
from evalcore.targets.huggingface.problems import Kind, LoadError

WORKER = "evalcore.targets.huggingface.worker"
_TRIES = 2  # times that a request is sent
_LONGEST = 64 * 2**20  # bytes of one message that are read
_KILLED = 1.0  # seconds that a killed process may take to be gone
_QUIET = {
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "TRANSFORMERS_VERBOSITY": "error",
}
#: Variables that hold keys; of them only the Hub's are handed on.
_KEYS = re.compile(r"(?i)key|token|secret|passw|credential")
_HANDED_ON = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "TOKENIZERS_PARALLELISM")


@dataclass
class _Pending:
    request: GenerationRequest
    answer: asyncio.Future[Completion]
    sent: int = 0


class ModelProcess:
    """One model in a process of its own. `told` is given each `Stats`; `keys` are variables for the
    process beside those of this environment; `module` is the one that is run, `WORKER` if empty."""

    def __init__(
        self,
        start: Start,
        told: Callable[[Stats], None],
        keys: Mapping[str, str] | None = None,
        module: str = "",
    ) -> None:
        self._start, self._told, self._keys = start, told, keys or {}
        self._module = module or WORKER
        self._pending: dict[str, _Pending] = {}
        self._numbers = itertools.count()
        self._process: asyncio.subprocess.Process | None = None
        self._task: asyncio.Task[None] | None = None
        self._ready = False
        self._dead = ""
        self._answered = 0

    @property
    def pid(self) -> int | None:
        """Of the process that runs now."""
        return self._process.pid if self._process else None

    async def open(self, say: Callable[[str], None]) -> dict[str, Any]:
        """Start it and wait until the model is loaded: its report. Raises LoadError or UsageError
        with what the process said; a process that dies while it loads is not started again."""
        try:
            await self._spawn()
            report = await self._loaded(say)
        except BaseException:
            await self.close()
            raise
        self._task = asyncio.create_task(self._follow())
        return report

    async def ask(self, request: GenerationRequest) -> Completion:
        """An answer; raises TargetFailure. Cancelling the caller cancels the request."""
        if self._dead:
            raise TargetFailure(Failure(kind="environment", message=self._dead))
        number = str(next(self._numbers))
        pending = _Pending(request, asyncio.get_running_loop().create_future())
        self._pending[number] = pending
        try:
            if self._ready:
                self._send(number, pending)
            return await pending.answer
        except asyncio.CancelledError:
            if self._ready:
                self._write(Cancel(number))
            raise
        finally:
            self._pending.pop(number, None)

    async def close(self) -> None:
        """Kill the process and wait until it is gone; safe to call twice."""
        self._dead = self._dead or "the model's process was closed"
        self._ready = False
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
            self._task = None
        await self._kill()
        self._fail_all()

    async def _spawn(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            self._module,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,
            env=_environment(self._keys),
        )
        self._answered = 0
        self._write(self._start)

    async def _loaded(self, say: Callable[[str], None]) -> dict[str, Any]:
        while True:
            news = await self._news()
            if isinstance(news, Loading):
                say(news.line)
            elif isinstance(news, Ready):
                self._ready = True
                return news.report
            elif isinstance(news, Refused):
                if news.kind in get_args(Kind):
                    raise LoadError(cast(Kind, news.kind), news.message)
                raise UsageError(news.message)
            elif news is None:
                raise UsageError(f"the process that loads the model ended: {await self._cause()}")

    async def _follow(self) -> None:
        """Give the answers to those who wait, and start a process that died once more."""
        while True:
            while (news := await self._news()) is not None:
                self._settle(news)
            self._ready = False
            cause = await self._cause()
            if not self._answered and self._start.halved:
                break
            self._start = msgspec.structs.replace(self._start, halved=self._start.halved + 1)
            self._give_up(f"the model's process died twice with this request: {cause}", _TRIES)
            try:
                await self._spawn()
                await self._loaded(lambda line: None)
            except (UsageError, OSError) as problem:
                cause = str(problem)
                break
            for number, pending in list(self._pending.items()):
                self._send(number, pending)
        self._dead = f"the model's process died: {cause}"
        self._fail_all()
        await self._kill()

    def _settle(self, news: News) -> None:
        if isinstance(news, Stats):
            self._told(news)
        elif isinstance(news, Answer | Failed):
            self._answered += 1
            pending = self._pending.get(news.id)
            if pending is None or pending.answer.done():
                return
            if isinstance(news, Answer):
                pending.answer.set_result(news.completion)
            else:
                failure = Failure(kind=news.kind, message=news.message)
                pending.answer.set_exception(TargetFailure(failure))

    def _send(self, number: str, pending: _Pending) -> None:
        pending.sent += 1
        self._write(Ask(number, pending.request))

    def _write(self, message: Record) -> None:
        """What a dying process does not read is sent again to the next."""
        pipe = self._process.stdin if self._process else None
        if pipe is None or pipe.is_closing():
            return
        body = msgspec.json.encode(message)  # unlike `to_json` it leaves the keys of tools in order
        with contextlib.suppress(OSError):
            pipe.write(len(body).to_bytes(4, "big") + body)

    async def _news(self) -> News | None:
        """The next message, None where the process is gone or talks nonsense."""
        pipe = self._process.stdout if self._process else None
        if pipe is None:
            return None
        try:
            length = int.from_bytes(await pipe.readexactly(4), "big")
            return read_news(await pipe.readexactly(length)) if length <= _LONGEST else None
        except (asyncio.IncompleteReadError, OSError, msgspec.DecodeError):
            return None

    async def _cause(self) -> str:
        """End the process and say how it ended."""
        process = self._process
        if process is None:
            return "it was not started"
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _KILLED)
        status = process.returncode
        await self._kill()
        if status is None:
            return "it closed its pipe"
        if status == -signal.SIGKILL:
            return "killed, as the system does when memory runs out"
        return (signal.strsignal(-status) or "") if status < 0 else f"exit status {status}"

    async def _kill(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                if sys.platform == "win32":
                    process.kill()
                else:
                    os.killpg(process.pid, signal.SIGKILL)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _KILLED)

    def _fail_all(self) -> None:
        self._give_up(self._dead, 0)

    def _give_up(self, message: str, sent: int) -> None:
        """Fail the requests that were sent at least so often."""
        failure = Failure(kind="environment", message=message)
        for pending in self._pending.values():
            if pending.sent >= sent and not pending.answer.done():
                pending.answer.set_exception(TargetFailure(failure))


def _environment(keys: Mapping[str, str]) -> dict[str, str]:
    """This environment without the keys of other services, and with the project importable."""
    kept = {n: v for n, v in os.environ.items() if n in _HANDED_ON or not _KEYS.search(n)}
    root = str(Path(evalcore.__file__).resolve().parent.parent)
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH", "")]))
    return {**_QUIET, **kept, **keys, "PYTHONPATH": path}

"""`hf:` targets: a model of the Hugging Face kind on this machine, in a process of its own.

This side stays light: it writes requests down and reads answers. The process that owns the model
gathers them into batches (`scheduler`), and its state is found in the card while it works.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast, get_args

import msgspec

from evalcore.access.secrets import Secrets, build_child_environment, redact_completion
from evalcore.errors import TargetFailure, UsageError
from evalcore.i18n import Note
from evalcore.records import (
    Completion,
    Failure,
    GenerationRequest,
    ProgressCallback,
    Record,
    TargetSpec,
    content_hash,
)
from evalcore.settings import Settings
from evalcore.targets.base import Target, TargetInfo
from evalcore.targets.endpoint.dialect import derive_epoch_seed, merge_sampling
from evalcore.targets.huggingface import machine, messages
from evalcore.targets.huggingface.folder_checks import read_template_file
from evalcore.targets.huggingface.model_files import ModelRef, adopt_model_sampling, locate_model

# The parent's side of a model's process: start it, ask it, see it die, end it. A process that dies
# is started once more with half the budget, and the requests that it had are sent again, each at
# most once. When it dies again before it has answered anything, they fail as our own failure, never
# as the model's. `close` kills the whole process group.

WORKER = "evalcore.targets.huggingface.worker"
_MAX_SENDS = 2  # times that a request is sent
_MAX_MESSAGE_BYTES = 64 * 2**20  # bytes of one message that are read
_KILL_TIMEOUT = 1.0  # seconds that a killed process may take to be gone
_QUIET = {
    "CUDA_DEVICE_ORDER": "PCI_BUS_ID",  # else cuda:1 may be another than the driver's table says
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "TRANSFORMERS_VERBOSITY": "error",
}


@dataclass
class _PendingRequest:
    request: GenerationRequest
    answer: asyncio.Future[Completion]
    sent: int = 0


class ModelProcess:
    """One model in a process of its own. `on_stats` is given each `StatsEvent`; `keys` are
    variables for the process beside those of this environment; `module` is the one that is run,
    `WORKER` if empty."""

    def __init__(
        self,
        start: messages.StartOrder,
        on_stats: Callable[[messages.StatsEvent], None],
        keys: Mapping[str, str] | None = None,
        module: str = "",
    ) -> None:
        self._start, self._on_stats, self._keys = start, on_stats, keys or {}
        self._module = module or WORKER
        self._pending: dict[str, _PendingRequest] = {}
        self._numbers = itertools.count()
        self._process: asyncio.subprocess.Process | None = None
        self._task: asyncio.Task[None] | None = None
        self._ready = False
        self._dead = ""
        self._answered = 0

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    async def open(self, progress: ProgressCallback) -> dict[str, Any]:
        """Start it and wait until the model is loaded: its report. Raises LoadError or UsageError
        with what the process said; a process that dies while it loads is not started again."""
        try:
            await self._spawn_worker()
            report = await self._wait_until_loaded(progress)
        except BaseException:
            await self.close()
            raise
        self._task = asyncio.create_task(self._follow_events())
        return report

    async def request_completion(self, request: GenerationRequest) -> Completion:
        """Request an answer; raises TargetFailure. Cancelling the caller cancels the request."""
        if self._dead:
            raise TargetFailure(Failure(kind="environment", message=self._dead))
        number = str(next(self._numbers))
        pending = _PendingRequest(request, asyncio.get_running_loop().create_future())
        self._pending[number] = pending
        try:
            if self._ready:
                self._send_pending(number, pending)
            return await pending.answer
        except asyncio.CancelledError:
            if self._ready:
                self._write_message(messages.CancelOrder(number))
            raise
        finally:
            self._pending.pop(number, None)

    async def close(self) -> None:
        """Kill the process and wait until it is gone; safe to call twice."""
        self._dead = self._dead or Note("model_closed")
        self._ready = False
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
            self._task = None
        await self._kill_worker()
        self._fail_all()

    async def _spawn_worker(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            self._module,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,
            env=build_child_environment(_QUIET, self._keys),
        )
        self._answered = 0
        self._write_message(self._start)

    async def _wait_until_loaded(self, progress: ProgressCallback) -> dict[str, Any]:
        while True:
            event = await self._read_next_event()
            if isinstance(event, messages.LoadingEvent):
                progress(event.line)
            elif isinstance(event, messages.ReadyEvent):
                self._ready = True
                return event.report
            elif isinstance(event, messages.RefusedEvent):
                if event.kind in get_args(messages.LoadErrorKind):
                    raise messages.LoadError(
                        cast(messages.LoadErrorKind, event.kind), event.message
                    )
                raise UsageError(event.message)
            elif event is None:
                raise UsageError(Note("local_ended", problem=await self._describe_exit()))

    async def _follow_events(self) -> None:
        """Give the answers to those who wait, and start a process that died once more."""
        while True:
            while (event := await self._read_next_event()) is not None:
                self._handle_event(event)
            self._ready = False
            cause = await self._describe_exit()
            if not self._answered and self._start.halved:
                break
            self._start = msgspec.structs.replace(self._start, halved=self._start.halved + 1)
            self._fail_pending(Note("model_died_twice", cause=cause), _MAX_SENDS)
            try:
                await self._spawn_worker()
                await self._wait_until_loaded(lambda line: None)
            except (UsageError, OSError) as problem:
                cause = str(problem)
                break
            for number, pending in list(self._pending.items()):
                self._send_pending(number, pending)
        self._dead = Note("model_died", cause=cause)
        self._fail_all()
        await self._kill_worker()

    def _handle_event(self, event: messages.WorkerEvent) -> None:
        if isinstance(event, messages.StatsEvent):
            self._on_stats(event)
        elif isinstance(event, messages.AnswerEvent | messages.FailedEvent):
            self._answered += 1
            pending = self._pending.get(event.id)
            if pending is None or pending.answer.done():
                return
            if isinstance(event, messages.AnswerEvent):
                pending.answer.set_result(event.completion)
            else:
                failure = Failure(kind=event.kind, message=event.message)
                pending.answer.set_exception(TargetFailure(failure))

    def _send_pending(self, number: str, pending: _PendingRequest) -> None:
        pending.sent += 1
        self._write_message(messages.AskOrder(number, pending.request))

    def _write_message(self, message: Record) -> None:
        """What a dying process does not read is sent again to the next."""
        pipe = self._process.stdin if self._process else None
        if pipe is None or pipe.is_closing():
            return
        body = msgspec.json.encode(message)  # unlike `to_json` it leaves the keys of tools in order
        with contextlib.suppress(OSError):
            pipe.write(len(body).to_bytes(4, "big") + body)

    async def _read_next_event(self) -> messages.WorkerEvent | None:
        """The next message, None where the process is gone or talks nonsense."""
        pipe = self._process.stdout if self._process else None
        if pipe is None:
            return None
        try:
            length = int.from_bytes(await pipe.readexactly(4), "big")
            if length > _MAX_MESSAGE_BYTES:
                return None
            return messages.read_event(await pipe.readexactly(length))
        except (asyncio.IncompleteReadError, OSError, msgspec.DecodeError):
            return None

    async def _describe_exit(self) -> str:
        """End the process and say how it ended."""
        process = self._process
        if process is None:
            return Note("end_not_started")
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _KILL_TIMEOUT)
        status = process.returncode
        await self._kill_worker()
        if status is None:
            return Note("end_pipe")
        if status == -signal.SIGKILL:
            return Note("end_killed")
        if status < 0:
            return signal.strsignal(-status) or ""
        return Note("end_status", status=status)

    async def _kill_worker(self) -> None:
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
            await asyncio.wait_for(process.wait(), _KILL_TIMEOUT)

    def _fail_all(self) -> None:
        self._fail_pending(self._dead, 0)

    def _fail_pending(self, message: str, sent: int) -> None:
        """Fail the requests that were sent at least so often."""
        failure = Failure(kind="environment", message=message)
        for pending in self._pending.values():
            if pending.sent >= sent and not pending.answer.done():
                pending.answer.set_exception(TargetFailure(failure))


_WIDTH = {"cpu": 64, "cuda": 512}  # requests that the batches can make use of
_EXACT_WIDTH = 4
_HUB_KEY = "HF_TOKEN"


def create_huggingface_target(spec: TargetSpec, settings: Settings, secrets: Secrets) -> Target:
    """The target of a spec, not yet loaded; raises UsageError for a bad path or option."""
    options = messages.read_huggingface_options(spec)
    if options.engine != "transformers":
        from evalcore.targets.huggingface.managed import create_served_model

        return create_served_model(spec, options, settings, secrets)
    model_ref = locate_model(spec.key, options.revision)
    return HuggingFace(spec, adopt_model_sampling(options, model_ref.path), model_ref, secrets)


class HuggingFace:
    """A local model; `generate` may be called as often at once as `info.max_in_flight` says."""

    def __init__(
        self,
        spec: TargetSpec,
        options: messages.HuggingFaceOptions,
        model_ref: ModelRef,
        secrets: Secrets,
    ) -> None:
        self.key, self.model_ref = spec.key, model_ref
        self._options, self._secrets = options, secrets
        self._process: ModelProcess | None = None
        self._on_progress: ProgressCallback = lambda line: None
        width = _EXACT_WIDTH if options.batch_size == 1 else _compute_request_width(options)
        folder_name = model_ref.path.name if model_ref.path and not model_ref.revision else ""
        self.info = TargetInfo(
            kind="local",
            title=folder_name or model_ref.reference,
            max_in_flight=width,
            start_in_flight=width,
            revision=compute_revision(model_ref, options),
            cacheable=True,
            tools=None,
            likelihoods=True,
            needs_limit=True,
            card={"model": model_ref.reference, "revision": model_ref.revision},
        )

    def __repr__(self) -> str:
        return f"HuggingFace({self.key!r})"

    async def open(self, progress: ProgressCallback) -> None:
        """Load the model; raises LoadError (a UsageError) with a remedy. `progress` is told of the
        speed, too, about once a second while the model works."""
        await self.close()
        self._on_progress = progress
        start = messages.StartOrder(self.key, self._options)
        token = self._secrets.get(_HUB_KEY)
        process = ModelProcess(start, self._report_stats, {_HUB_KEY: token} if token else {})
        report = await process.open(progress)
        self._process = process
        self.info.card.update(report)
        self.info = msgspec.structs.replace(self.info, tools=bool(report.get("tools")))
        progress(_format_load_summary(report))

    async def generate(self, request: GenerationRequest) -> Completion:
        """One answer; a prompt that does not fit into the context has the finish reason
        `context_overflow`. Raises TargetFailure."""
        if self._process is None:
            raise UsageError(Note("target_closed", owner=self.key))
        sampling = merge_sampling(request.sampling, self._options.requested)
        if sampling.seed is not None:
            seed = derive_epoch_seed(sampling.seed, request)
            sampling = msgspec.structs.replace(sampling, seed=seed)
        model_request = msgspec.structs.replace(request, sampling=sampling, input={})
        completion = await self._process.request_completion(model_request)
        completion = redact_completion(completion, [self._secrets.get(_HUB_KEY)])
        return msgspec.structs.replace(completion, model=self.info.title)

    async def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            await process.close()

    def _report_stats(self, stats: messages.StatsEvent) -> None:
        facts = {name: getattr(stats, name) for name in stats.__struct_fields__}
        peak = max(self.info.card.get("peak_bytes", 0), stats.process_bytes)
        self.info.card.update(facts, peak_bytes=peak)
        self._on_progress(
            f"{stats.tokens_per_second:,.0f} tokens/s, {stats.process_bytes / 1e9:.1f} GB, "
            f"{stats.batch} in the batch, {stats.waiting} waiting"
        )


def compute_revision(model_ref: ModelRef, options: messages.HuggingFaceOptions) -> str:
    """Changes when the files of the model or of its adapter do, by their sizes and times, or the
    text of a chat template that replaces the model's own."""
    folders = [model_ref.path] if model_ref.path else []
    adapter = Path(options.adapter).expanduser()
    if options.adapter and adapter.is_dir():
        folders.append(adapter)
    files = [
        [file.name, file.stat().st_size, file.stat().st_mtime_ns]
        for folder in folders
        for file in sorted(folder.iterdir())
        if file.is_file()
    ]
    parts = [model_ref.reference, model_ref.revision, options.adapter, files]
    if options.chat_template:
        parts.append(read_template_file(options.chat_template))
    return content_hash(parts)


def _compute_request_width(options: messages.HuggingFaceOptions) -> int:
    kind = machine.resolve_device(options.device).partition(":")[0]
    return max(_WIDTH.get(kind, _WIDTH["cpu"]), 2 * options.batch_size)


def _format_load_summary(report: dict[str, Any]) -> str:
    parameters, memory = int(report["parameters"]), int(report["memory_bytes"])
    return (
        f"{report['architecture']}: {parameters / 1e6:,.1f} M parameters, {memory / 1e6:,.0f} MB, "
        f"{report['dtype']} on {report['device']}, loaded in {report['load_seconds']:.1f} s"
    )

"""`hf:` targets with `engine=vllm|sglang|llamacpp`: a model server that is started for the run.

The server listens on the loopback without a key, under a model name drawn for this start, so that
no other server on its port can be mistaken for it. It is asked as any endpoint is. When it dies it
is started once more, and what it was asked is asked again; when it then dies before it has answered
anything, the requests fail as our own failure, never as the model's. Greedy unless a temperature is
set, as the own engine is, whose answers `evalcore parity` compares with.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import socket
import sys
import time
import uuid
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from evalcore.access.egress import EgressPolicy, parse_origin
from evalcore.access.secrets import Secrets, redact_completion, scrub_secrets
from evalcore.errors import TargetFailure, UsageError
from evalcore.i18n import Note
from evalcore.intake.json_text import parse_json_or
from evalcore.plain_text import to_single_line
from evalcore.records import (
    Completion,
    Failure,
    GenerationRequest,
    ProgressCallback,
    Sampling,
    TargetSpec,
    content_hash,
)
from evalcore.settings import Endpoint, Settings
from evalcore.targets.base import TargetInfo
from evalcore.targets.endpoint.options import OpenAIOptions, check_no_keys
from evalcore.targets.endpoint.target import EndpointTarget
from evalcore.targets.endpoint.transport import Transport
from evalcore.targets.endpoints import ModelRoute
from evalcore.targets.huggingface import engines
from evalcore.targets.huggingface.messages import HuggingFaceOptions, LoadError
from evalcore.targets.huggingface.model_files import adopt_model_sampling

_KEEPER = Path(__file__).with_name("server_keeper.py")
_PORT_TAKEN = re.compile(r"(?i)address already in use|errno 98|couldn't bind|port .{0,30}in use")
_OUTPUT_LINES = 40  # of the server's last output, in an error
_LINE_CHARACTERS = 400
_POLL_SECONDS = 0.25
_END_SECONDS = 8.0  # that the keeper may take to end the server
_STARTS = 3  # tries to get a port that nobody takes first


class ServerProcess:
    """A server under its keeper, and the last lines of what it printed."""

    def __init__(self, command: list[str], environment: Mapping[str, str]) -> None:
        self._command, self._environment = command, environment
        self._keeper: asyncio.subprocess.Process | None = None
        self._output: deque[str] = deque(maxlen=_OUTPUT_LINES)
        self._tasks: list[asyncio.Task[None]] = []
        self._ended = asyncio.Event()
        self.status: int | None = None

    @property
    def pid(self) -> int | None:
        """The number of the process group of the server."""
        return self._keeper.pid if self._keeper else None

    async def start(self) -> None:
        self._keeper = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", str(_KEEPER), *self._command),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
            env=dict(self._environment),
        )
        if self._keeper.stdout is None or self._keeper.stderr is None:
            raise OSError("the server's output cannot be read")
        self._tasks = [
            asyncio.create_task(self._collect_output(self._keeper.stderr)),
            asyncio.create_task(self._await_end(self._keeper, self._keeper.stdout)),
        ]

    async def _collect_output(self, stream: asyncio.StreamReader) -> None:
        """Read what the server prints for as long as it does, so that it never waits for us."""
        rest = b""
        while chunk := await stream.read(1 << 16):
            *lines, rest = (rest + chunk).splitlines(keepends=True)
            if len(rest) > 1 << 16 or rest.endswith((b"\n", b"\r")):
                lines, rest = [*lines, rest], b""
            self._add_lines(lines)
        self._add_lines([rest])

    def _add_lines(self, lines: list[bytes]) -> None:
        texts = (
            to_single_line(line.decode("utf-8", "replace"), _LINE_CHARACTERS) for line in lines
        )
        self._output.extend(filter(None, texts))

    async def _await_end(
        self, keeper: asyncio.subprocess.Process, stdout: asyncio.StreamReader
    ) -> None:
        with contextlib.suppress(ValueError):
            self.status = int((await stdout.read(64)).strip())
        await keeper.wait()
        await asyncio.wait(self._tasks[:1], timeout=1.0)  # the last words, which say why
        self._ended.set()

    async def wait_ended(self, seconds: float) -> bool:
        """Whether the server is gone after at most so many seconds."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._ended.wait(), seconds)
        return self._ended.is_set()

    def describe_output(self) -> str:
        """The last lines that the server printed, without keys."""
        text = scrub_secrets(" | ".join(self._output), [self._environment.get(engines.HUB_KEY)])
        return Note("server_printed", text=text[-2000:]) if text else Note("server_silent")

    def describe_end(self) -> str:
        """How the server ended, with its last words."""
        if self.status is None or self.status == -signal.SIGKILL:
            how: str = Note("end_killed")
        elif self.status < 0:
            how = signal.strsignal(-self.status) or f"signal {-self.status}"
        else:
            how = Note("end_status", status=self.status)
        return Note("server_end", how=how, output=self.describe_output())

    def is_port_taken(self) -> bool:
        return any(map(_PORT_TAKEN.search, self._output))

    async def close(self) -> None:
        """End the server and all of its processes; safe to call twice."""
        keeper = self._keeper
        if keeper is None:
            return
        if keeper.stdin is not None:
            keeper.stdin.close()
        if not await self.wait_ended(_END_SECONDS):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(keeper.pid, signal.SIGKILL)
            await self.wait_ended(1.0)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


class ServedModel:
    """A local model behind a server of its own; opened and asked as any target."""

    def __init__(
        self, spec: TargetSpec, options: HuggingFaceOptions, settings: Settings, secrets: Secrets
    ) -> None:
        self.key, self._options, self._settings = spec.key, options, settings
        self._secrets, self._about = secrets, engines.ENGINES[options.engine]
        self.model, self._path = engines.locate_served_model(spec.key, options)
        self._server: ServerProcess | None = None
        self._endpoint: EndpointTarget | None = None
        self._starting = asyncio.Lock()
        self._answered = self._restarts = 0  # answers since the last start, and starts anew
        self._dead = ""
        self._revision = compute_served_revision(self.model, self._path, options)
        width = 2 * options.batch_size or self._about.width
        name = self._path.name if self._path else spec.key.partition(":")[2]
        self.info = TargetInfo(
            kind="local",
            title=f"{name} ({self._about.title})",
            max_in_flight=width,
            start_in_flight=width,
            revision=self._revision,
            cacheable=True,
            tools=None,
            needs_limit=True,
            card={"model": spec.key.partition(":")[2], "engine": options.engine},
        )

    def __repr__(self) -> str:
        return f"ServedModel({self.key!r}, {self._options.engine})"

    async def open(self, progress: ProgressCallback) -> None:
        """Start the server and wait until it answers. Raises LoadError with what it printed."""
        await self.close()
        self._dead, self._restarts = "", 0
        try:
            version = await self._start_server(progress)
        except BaseException:
            await self.close()
            raise
        expected = self._options.engine_version
        if expected and version != expected:
            await self.close()
            raise UsageError(
                Note(
                    "engine_version",
                    owner=self.key,
                    title=self._about.title,
                    version=version or "of an unknown version",
                    expected=expected,
                )
            )
        revision = content_hash([self._revision, version])
        card = self.info.card | {"engine_version": version}
        self.info = msgspec.structs.replace(self.info, card=card, revision=revision)
        progress(Note("engine_serves", engine=f"{self._about.title} {version}", model=self.model))

    async def _start_server(self, progress: ProgressCallback) -> str:
        """Start a server on a free port, another where somebody takes that; returns its version."""
        program = engines.find_program(self._options.engine)
        token = self._secrets.get(engines.HUB_KEY)
        environment = engines.build_server_environment(
            token,
            self._options.device,
            offline=self._path is not None and not self._options.adapter,
        )
        for attempt in range(1, _STARTS + 1):
            name, port = f"model-{uuid.uuid4().hex[:12]}", _find_free_port()
            command = engines.build_server_command(program, self.model, name, port, self._options)
            progress(Note("engine_starting", engine=self._about.title, command=" ".join(command)))
            server = self._server = ServerProcess(command, environment)
            await server.start()
            try:
                version = await self._wait_until_ready(server, name, port, progress)
            except LoadError:
                await server.close()
                if attempt < _STARTS and server.is_port_taken():
                    continue
                raise
            await self._connect(name, port)
            return version
        raise AssertionError("the last attempt returns or raises")

    async def _wait_until_ready(
        self, server: ServerProcess, name: str, port: int, progress: ProgressCallback
    ) -> str:
        """Wait until the server is healthy and lists the model under the name of this start."""
        began, limit = time.monotonic(), self._options.server_timeout
        title = self._about.title
        transport = self._create_transport(port)
        try:
            while not await server.wait_ended(_POLL_SECONDS):
                waited = time.monotonic() - began
                if waited > limit:
                    output, seconds = server.describe_output(), f"{limit:g}"
                    note = Note("engine_slow", engine=title, seconds=seconds, output=output)
                    raise LoadError("engine_failed", note)
                seconds = f"{waited:.0f}"
                progress(Note("engine_loads", engine=title, model=self.model, seconds=seconds))
                if await _fetch_json(transport, "/health") is None:
                    continue
                if await _lists_model(transport, name):
                    answer = await _fetch_json(transport, self._about.version_path)
                    field = self._about.version_field
                    version = answer.get(field, "") if isinstance(answer, dict) else ""
                    return to_single_line(str(version), 60)
        finally:
            await transport.close()
        raise LoadError(
            "engine_failed",
            Note("engine_ended", engine=self._about.title, end=server.describe_end()),
        )

    def _create_transport(self, port: int) -> Transport:
        address = f"http://127.0.0.1:{port}"
        egress = EgressPolicy(parse_origin(address), public=False)
        return Transport(address, 5.0, 10.0, egress, self._settings.reply_limits)

    async def _connect(self, name: str, port: int) -> None:
        address = f"http://127.0.0.1:{port}/v1"
        endpoint = Endpoint(base_url=address, local=True, api="chat", title=self._about.title)
        route = ModelRoute(self._options.engine, endpoint, name, key_optional=True)
        egress = EgressPolicy(parse_origin(address), public=False)
        options = build_request_options(self._options)
        target = EndpointTarget(
            TargetSpec(self.key), route, options, self._settings, Secrets(), egress
        )
        await target.open(lambda line: None)
        self._endpoint, self._answered = target, 0

    async def generate(self, request: GenerationRequest) -> Completion:
        """One answer; raises TargetFailure."""
        request = self._set_sampling(request)
        for attempt in (1, 2):
            async with self._starting:  # another request may be starting a server anew
                endpoint, server = self._endpoint, self._server
            if self._dead:
                break
            if endpoint is None or server is None:
                raise UsageError(Note("target_closed", owner=self.key))
            try:
                completion = await endpoint.generate(request)
            except TargetFailure as error:
                # A lost connection is seen before the end of the process is.
                seconds = 1.0 if error.failure.status is None else 0.0
                if not await server.wait_ended(seconds):
                    raise
                await self._restart(server)
                if attempt == 2 and not self._dead:
                    message = Note("server_died_with", cause=server.describe_end())
                    raise TargetFailure(Failure(kind="environment", message=message)) from None
                continue
            self._answered += 1
            self._note_capabilities(endpoint)
            completion = redact_completion(completion, [self._secrets.get(engines.HUB_KEY)])
            return msgspec.structs.replace(completion, model=self.info.title)
        raise TargetFailure(Failure(kind="environment", message=self._dead))

    def _set_sampling(self, request: GenerationRequest) -> GenerationRequest:
        """The request, greedy unless a temperature is set; no server's own defaults hold."""
        sampling = request.sampling
        if sampling.temperature is None:
            sampling = msgspec.structs.replace(sampling, temperature=0.0)
        if sampling.temperature or self._options.temperature:
            sampling = msgspec.structs.replace(sampling, top_p=sampling.top_p or 1.0)
        return msgspec.structs.replace(request, sampling=sampling)

    def _note_capabilities(self, endpoint: EndpointTarget) -> None:
        learned = {name: endpoint.info.card.get(name) for name in ("dropped", "streaming")}
        if any(self.info.card.get(name) != value for name, value in learned.items()):
            self.info = msgspec.structs.replace(self.info, card=self.info.card | learned)

    async def _restart(self, server: ServerProcess) -> None:
        """Start a server in place of one that died, once for all that waited on it."""
        async with self._starting:
            if self._server is not server or self._dead:
                return
            cause = server.describe_end()
            if self._restarts and not self._answered:
                self._dead = Note("server_died_twice", cause=cause)
                return
            self._restarts += 1
            try:
                await self._close_all()
                await self._start_server(lambda line: None)
            except (UsageError, OSError) as problem:
                self._dead = Note("server_died", cause=cause, problem=problem)

    async def close(self) -> None:
        self._dead = Note("server_closed")
        await self._close_all()

    async def _close_all(self) -> None:
        endpoint, self._endpoint = self._endpoint, None
        server, self._server = self._server, None
        if endpoint is not None:
            await endpoint.close()
        if server is not None:
            await server.close()


def create_served_model(
    spec: TargetSpec, options: HuggingFaceOptions, settings: Settings, secrets: Secrets
) -> ServedModel:
    """The target of a spec, not yet started; raises UsageError (LoadError) for a missing program,
    a bad path or an option that the engine does not take."""
    check_no_keys(spec, secrets.get(engines.HUB_KEY))
    engines.check_served_options(spec, options)
    engines.find_program(options.engine)
    _, path = engines.locate_served_model(spec.key, options)
    return ServedModel(spec, adopt_model_sampling(options, path), settings, secrets)


def compute_served_revision(model: str, path: Path | None, options: HuggingFaceOptions) -> str:
    """Changes when the files of the model or its adapter do, by their sizes and times."""
    adapter = Path(options.adapter).expanduser() if options.adapter else None
    files = [
        [file.name, file.stat().st_size, file.stat().st_mtime_ns]
        for root in (path, adapter)
        if root is not None and root.exists()
        for file in (sorted(root.iterdir()) if root.is_dir() else [root])
        if file.is_file()
    ]
    return content_hash([model, options, files])


def build_request_options(options: HuggingFaceOptions) -> OpenAIOptions:
    """The options of the endpoint: the sampling of the target, and what only these servers take."""
    sampling: Sampling = options.requested
    return OpenAIOptions(
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        max_tokens=sampling.max_tokens,
        seed=sampling.seed,
        stop=sampling.stop,
        asking=options.asking,
        api="chat",
        extra_body=_build_extra_body(options),
    )


def _build_extra_body(options: HuggingFaceOptions) -> dict[str, Any]:
    is_llama, effort = options.engine == "llamacpp", options.requested.reasoning_effort
    extra: dict[str, Any] = {}
    if options.top_k or options.min_p or is_llama:
        # llama.cpp cuts what is drawn from unless it is told not to.
        off = 0 if is_llama else -1
        extra |= {"top_k": options.top_k or off, "min_p": options.min_p}
    if options.repetition_penalty != 1.0:
        name = "repeat_penalty" if is_llama else "repetition_penalty"
        extra[name] = options.repetition_penalty
    if effort:
        extra["chat_template_kwargs"] = {"enable_thinking": effort != "none"}
    if options.reasoning_effort:
        extra["chat_template_kwargs"]["reasoning_effort"] = effort
    return extra


def _find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def _lists_model(transport: Transport, name: str) -> bool:
    listed = await _fetch_json(transport, "/v1/models")
    models = listed.get("data") if isinstance(listed, dict) else None
    entries = models if isinstance(models, list) else []
    return any(isinstance(model, dict) and model.get("id") == name for model in entries)


async def _fetch_json(transport: Transport, path: str) -> Any:
    """What a server that may not listen yet answers to a GET: None where it does not with a status
    of 200, an empty object where that is not JSON."""
    try:
        reply = await transport.fetch_reply(transport.build_url(path), {})
    except Exception:  # refused, cut, too slow: it is asked again
        return None
    return (
        parse_json_or(reply.content.decode("utf-8", "replace"), {}) if reply.status == 200 else None
    )

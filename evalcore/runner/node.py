"""A worker of a run on a node of a cluster: it works on what its coordinator hands over.

The coordinator (`evalcore.runner.cluster`) holds the run folder. A worker journals into a folder of
its own on the disk of its node, exactly as a run on one machine does, and hands over what the
journals have gained at every exchange; the coordinator appends those bytes to the journal of the
same name in the run folder. Nothing here knows how a message travels: arguments and results are
bytes.
"""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

import msgspec

import evalcore
from evalcore import settings as configuration
from evalcore.access.secrets import Secrets, scrub_secrets
from evalcore.errors import EvalboardError, RunStopped
from evalcore.i18n import Note, unpack_note
from evalcore.judges.panel import build_judge_role
from evalcore.records import Call, Episode, Record, RunSpec, Sample, from_json, to_plain
from evalcore.runner import client, run_request
from evalcore.runner.execute import RunExecution
from evalcore.runner.generation_plan import GenerationJob
from evalcore.runner.limits import Share
from evalcore.runner.summary import REQUEST_FAILED, REQUEST_RESENT, EpisodeKey, Event
from evalcore.settings import Settings
from evalcore.store.run_folder import TOOL_CALLS, RunFolder

R = TypeVar("R", bound=Record)
_NODE_DATA = "EVALBOARD_NODE_DATA"
_SCORED_AT_ONCE = 16
_CODE = (".py", ".json", ".toml", ".yaml")
#: What the log of the run takes over from that of a worker.
_EVENTS = frozenset({"fault", REQUEST_FAILED, REQUEST_RESENT})
_WAIT = 0.5  # seconds after which an exchange ends with nothing new
_LOOK = 0.02  # seconds between two looks at what is new
_GATHER = 0.02  # seconds in which more may join what is new
#: Settings that are a node's own: where its files are, and what a node has no business with.
_OWN_SETTINGS = ("data", "shipped", "datasets", "index", "ray_address", "hub_repo")


class Assignment(Record, frozen=True):
    """One generation, or with an `episode` its scoring alone. `calls` were answered before, for a
    worker that is gone or in an earlier attempt; they are not asked again."""

    benchmark: str
    key: str
    epoch: int
    samples: tuple[Sample, ...]
    calls: tuple[Call, ...] = ()
    episode: Episode | None = None

    @property
    def episode_key(self) -> EpisodeKey:
        return (self.benchmark, self.key, self.epoch)


class NodeTask(Record, frozen=True):
    """What a worker has to know of a run before its first assignment. `tool_calls` is how tools are
    asked for, where that is settled; without `generate` the target is not opened."""

    spec: RunSpec
    settings: dict[str, Any]
    journal_name: str
    share: Share
    tool_calls: str = ""
    generate: bool = True
    budget: float = 0.0


class Orders(Record, frozen=True):
    """From the coordinator: more work and the share of the limits, or to begin nothing more."""

    assignments: tuple[Assignment, ...] = ()
    share: Share = Share()
    stop: bool = False


class PackedReason(Record, frozen=True):
    """A text that may be a note, so that it can still be translated."""

    text: str = ""
    code: str = ""
    params: dict[str, Any] = {}

    @classmethod
    def pack_text(cls, text: str) -> PackedReason:
        if not isinstance(text, Note):
            return cls(text)
        return cls(text.english, text.code, text.pack()["params"])

    def unpack(self) -> str:
        return unpack_note(self.text, self.code, self.params) if self.code else self.text


class JournalPart(Record, frozen=True):
    """What a journal has gained: `path` within the run folder, whole lines from `offset` on."""

    path: str
    offset: int
    lines: bytes


class Report(Record, frozen=True):
    """From a worker: what it did since its last report, and where it stands. Failures of requests
    are counted since it began; `finished` have an episode and all verdicts in the journals;
    `unopened` is why a model cannot be opened here."""

    parts: tuple[JournalPart, ...] = ()
    finished: tuple[EpisodeKey, ...] = ()
    failures: dict[str, int] = {}
    events: tuple[tuple[str, str], ...] = ()
    in_flight: int = 0
    limit: int = 0
    refused: int = 0
    phase: str = ""
    message: str = ""
    card: dict[str, Any] = {}
    tool_calls: str = ""
    engine_version: str = ""
    is_open: bool = False
    unopened: PackedReason | None = None
    stopped: PackedReason | None = None
    is_unpaid: bool = False
    is_idle: bool = False


class Introduction(Record, frozen=True):
    """What a worker is before it knows of a run: its node, its code and its GPUs."""

    node: str
    python: str
    code: str
    gpus: str = ""


class WorkerLost(Exception):
    """A worker is gone, with its node or without; its jobs are for others."""


@cache
def hash_code() -> str:
    """The hash of the package, its code and its tables: two machines with equal ones score alike,
    plugins and libraries aside."""
    digest = blake2b(digest_size=10)
    root = Path(evalcore.__file__).parent
    for path in sorted(path for path in root.rglob("*") if path.suffix in _CODE):
        digest.update(str(path.relative_to(root)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def introduce_node() -> Introduction:
    return Introduction(
        node=platform.node(),
        python=platform.python_version(),
        code=hash_code(),
        gpus=os.environ.get("CUDA_VISIBLE_DEVICES", ""),
    )


def select_node_settings(settings: Settings) -> dict[str, Any]:
    """What a node is told of the settings of the coordinator: not the address of its index, which
    holds a password."""
    values = msgspec.to_builtins(settings)
    return {name: value for name, value in values.items() if name not in _OWN_SETTINGS}


def build_node_settings(values: Mapping[str, Any]) -> Settings:
    """The settings of the coordinator with the folders of this node. `EVALBOARD_NODE_DATA` names
    where a node keeps engines and its cache; by default that is a temporary folder."""
    own = configuration.load_settings()
    data = os.environ.get(_NODE_DATA) or str(Path(tempfile.gettempdir()) / "evalboard-node")
    Path(data).mkdir(parents=True, exist_ok=True)
    folders = {"data": data, "shipped": own.shipped, "datasets": own.datasets}
    return msgspec.convert({**values, **folders}, Settings)


def list_missing_keys(task: NodeTask, settings: Settings) -> tuple[str, ...]:
    """The keys that the run needs and the environment of this node does not have."""
    target = task.spec.target
    names = client.missing_keys(target.key, target.options, settings) if task.generate else ()
    judges = run_request.list_judge_specs(task.spec)
    return tuple(dict.fromkeys(names + client.missing_judge_keys(judges, settings)))


class NodeExecution(RunExecution):
    """`RunExecution` without a plan of its own."""

    def __init__(self, task: NodeTask, settings: Settings, secrets: Secrets) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="evalboard-worker-"))
        folder = RunFolder(self.root / task.spec.run_id)
        none = [msgspec.structs.replace(each, samples=0) for each in task.spec.benchmarks]
        folder.create(msgspec.structs.replace(task.spec, benchmarks=tuple(none)), ())
        super().__init__(folder, settings, secrets, journal_name=task.journal_name)
        if task.tool_calls:
            self.tracker.record_event(TOOL_CALLS, task.tool_calls)
        self.task, self.phase = task, "loading"
        self.channels.budget.limit = task.budget
        self.channels.set_share(task.share)
        self._queue: asyncio.Queue[Assignment] = asyncio.Queue()
        self._working: list[asyncio.Task[None]] = []
        self._finished: list[EpisodeKey] = []
        self._offsets: dict[str, int] = {}
        self._problem = ""
        self._opening: asyncio.Task[None] | None = None
        self._busy = 0
        self._reported_open = False

    def begin(self) -> None:
        """Open the models, then wait for assignments; reports say how far that is."""
        self._opening = asyncio.create_task(self._open_models())

    async def _open_models(self) -> None:
        for judge in run_request.list_judge_specs(self.spec):
            await self._open_channel(build_judge_role(judge), run_request.parse_model_spec(judge))
        width = _SCORED_AT_ONCE
        if self.task.generate:
            channel = await self._open_all()
            self.tracker.flow, self.tracker.card = channel.flow, lambda: channel.target.info.card
            width = self.spec.concurrency or max(width, channel.target.info.max_in_flight)
        self._working = [asyncio.create_task(self._take_assignments()) for _ in range(width)]

    async def _take_assignments(self) -> None:
        """Work on one assignment after another; a full disk of the node ends the worker."""
        while True:
            assignment = await self._queue.get()
            if self.stop_reason:
                continue
            self._busy += 1
            try:
                await self._work_on(assignment)
                self._finished.append(assignment.episode_key)
            except RunStopped as stop:
                self._note_stop(stop)
            except Exception as error:
                self._problem = self._problem or scrub_secrets(f"{type(error).__name__}: {error}")
            finally:
                self._busy -= 1

    async def _work_on(self, assignment: Assignment) -> None:
        job = GenerationJob(
            self.plan.benchmarks[assignment.benchmark],
            assignment.key,
            assignment.epoch,
            assignment.samples,
            tuple(range(len(assignment.samples))),  # the coordinator knows those within the run
        )
        self.channels.add_earlier_calls(assignment.calls)
        if assignment.episode is not None:
            await self._score_episode(job, assignment.episode, fresh=True)
        else:
            await self._generate_and_score(job)

    async def exchange(self, orders: Orders) -> Report:
        """Take orders, and report as soon as there is something new, else after a while."""
        self.channels.set_share(orders.share)
        if orders.stop and not self.stop_reason:
            self.stop_reason = "stopped by the coordinator"
        for assignment in orders.assignments:
            self._queue.put_nowait(assignment)
        until = time.monotonic() + _WAIT
        while not self._has_news() and time.monotonic() < until:
            await asyncio.sleep(_LOOK)
        await asyncio.sleep(_GATHER)
        return self._build_report()

    def _has_news(self) -> bool:
        return bool(
            self._finished
            or self._problem
            or self.stop_reason
            or (self._opening and self._opening.done() and not self._reported_open)
            or any(path.stat().st_size > self._offsets.get(name, 0) for name, path in self._files())
        )

    def _files(self) -> list[tuple[str, Path]]:
        """The journals of this worker by their paths within a run folder."""
        names = (
            f"calls/{self.journal_name}",
            f"generations/{self.journal_name}",
            f"verdicts/{self.scoring}/{self.journal_name}",
        )
        paths = ((name, self.folder.path / name) for name in names)
        return [(name, path) for name, path in paths if path.exists()]

    def _build_report(self) -> Report:
        if self._problem:
            raise RuntimeError(self._problem)
        finished, self._finished = self._finished, []  # their lines are on the disk by now
        flow, target = self.tracker.flow, self.spec.target
        opened = self._opening is not None and self._opening.done()
        problem = self._opening.exception() if self._opening and opened else None
        if problem is not None and not isinstance(problem, EvalboardError | OSError):
            raise RuntimeError(scrub_secrets(f"{type(problem).__name__}: {problem}"))
        self._reported_open = opened
        return Report(
            parts=tuple(self._read_new_parts()),
            finished=tuple(finished),
            failures=dict(self.tracker.errors),
            events=tuple(self._read_new_events()),
            in_flight=flow.in_flight if flow else self._busy,
            limit=flow.limit if flow else 0,
            refused=flow.refused if flow else 0,
            phase=self.tracker.phase,
            message=self.tracker.message,
            card=to_plain(dict(self.tracker.card())),
            tool_calls=self.folder.find_event(TOOL_CALLS),
            engine_version=str(target.options.get("engine_version", "")),
            is_open=opened and problem is None,
            unopened=PackedReason.pack_text(str(problem)) if problem else None,
            stopped=PackedReason.pack_text(self.stop_reason) if self.stop_reason else None,
            is_unpaid=self.is_unpaid,
            is_idle=not self._busy and (bool(self.stop_reason) or self._queue.empty()),
        )

    def _read_new_parts(self) -> list[JournalPart]:
        parts = (self._read_new_lines(name, path) for name, path in self._files())
        return [part for part in parts if part.lines]

    def _read_new_lines(self, name: str, path: Path) -> JournalPart:
        """The whole lines that a journal has gained since it was read last."""
        offset = self._offsets.get(name, 0)
        with path.open("rb") as file:
            file.seek(offset)
            lines = file.read()
        lines = lines[: lines.rfind(b"\n") + 1]
        self._offsets[name] = offset + len(lines)
        return JournalPart(name, offset, lines)

    def _read_new_events(self) -> list[tuple[str, str]]:
        path = self.folder.events_path
        lines = self._read_new_lines(path.name, path).lines.splitlines()
        events = [from_json(Event, line) for line in lines]
        return [(event.kind, event.message) for event in events if event.kind in _EVENTS]

    async def finish(self) -> Report:
        """End what is under way, close everything and return the last report."""
        tasks = [*self._working, *([self._opening] if self._opening else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._opening = None
        await self.channels.close()
        for benchmark in self.plan.benchmarks.values():
            benchmark.close()
        self.generations.close()
        self.scores.close()
        self.tracker.close()
        self._problem = ""
        try:
            return self._build_report()
        finally:
            self.index.close()
            shutil.rmtree(self.root, ignore_errors=True)


class NodeWorker:
    """What a cluster runs as an actor: `NodeExecution` behind methods that take and return bytes.

    Keys are arguments of a method, which go from process to process; those of a constructor would
    be stored by the cluster."""

    def __init__(self) -> None:
        self._execution: NodeExecution | None = None

    async def introduce(self) -> bytes:
        return encode(introduce_node())

    async def list_keys(self, task: bytes) -> bytes:
        decoded = decode(NodeTask, task)
        return msgspec.json.encode(list_missing_keys(decoded, _settle_data(decoded)))

    async def open(self, task: bytes, keys: dict[str, str]) -> bytes:
        """Begin; the reply is why that cannot be done, with no text where it can."""
        decoded = decode(NodeTask, task)
        try:
            self._execution = NodeExecution(decoded, _settle_data(decoded), Secrets(keys))
        except (EvalboardError, OSError) as error:
            return encode(PackedReason.pack_text(scrub_secrets(str(error), keys.values())))
        self._execution.begin()
        return encode(PackedReason())

    async def exchange(self, orders: bytes) -> bytes:
        assert self._execution is not None  # noqa: S101 - opened first
        return encode(await self._execution.exchange(decode(Orders, orders)))

    async def finish(self) -> bytes:
        execution, self._execution = self._execution, None
        return encode(await execution.finish() if execution else Report())


def _settle_data(task: NodeTask) -> Settings:
    """The settings of the node, which whatever loads them in this process gets from now on too."""
    settings = build_node_settings(task.settings)
    os.environ["EVALBOARD_DATA"] = settings.data
    with suppress(KeyError):
        del os.environ["EVALBOARD_INDEX"]
    return settings


def encode(record: Record) -> bytes:
    return _encoder.encode(record)


def decode(kind: type[R], content: bytes) -> R:
    return msgspec.msgpack.decode(content, type=kind)


_encoder = msgspec.msgpack.Encoder(enc_hook=lambda item: getattr(item, "english", str(item)))

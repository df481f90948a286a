"""Which engines there are, how to open one in a worker process or on a server, and a pool.

PostgreSQL and MySQL are servers: the one that the settings `postgres_dsn` and `mysql_dsn` name,
else one that is kept below the data folder.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

from evalcore import settings
from evalcore.catalog import EngineCard, engine_cards, import_reference
from evalcore.errors import EnvironmentFailure, EvalboardError, MissingDependency, UsageError
from evalcore.i18n import Note
from evalcore.sandbox.worker_process import WorkerLost, WorkerProcess
from evalcore.sqlkit.dialects import TITLES, register_plugin_dialects
from evalcore.sqlkit.engines import Engine, Execution, Limits, Status, Work
from evalcore.sqlkit.engines.backend import compute_setup_key
from evalcore.sqlkit.engines.cards import CARDS
from evalcore.sqlkit.engines.guard import GuardedEngine
from evalcore.sqlkit.engines.local_server import PROGRAMS, acquire_server_lease
from evalcore.sqlkit.engines.served import DatabaseServer, ServedEngine

#: How long an engine may take to stop by itself before its process is killed.
_GRACE_SECONDS = 0.25
_MAX_EACH = 16  # databases of one request


class ProcessEngine(GuardedEngine):
    """An `Engine` whose database lives in a worker process.

    After it ran out of memory a process is replaced, so that the next statement finds all of it.
    """

    def __init__(self, card: EngineCard, limits: Limits) -> None:
        self.name = card.name
        self._unit = card.unit
        self._prepared: set[str] = set()  # databases that the process probably keeps, by their keys
        self._worker = WorkerProcess(
            card.backend,
            msgspec.to_builtins(limits),
            seconds=limits.seconds + _GRACE_SECONDS,
            memory_bytes=limits.memory_mb * 1_000_000,
            max_reply=limits.bytes * 4 + 1_000_000,
        )

    @property
    def version(self) -> str:
        return str(self._worker.hello().about["version"])

    @property
    def enforced(self) -> tuple[str, ...]:
        """The kernel limits that hold for the process (names of `sandbox.worker_process`)."""
        return self._worker.hello().enforced

    def execute(
        self,
        setup: Sequence[str],
        sql: str,
        *,
        state_of: str | None = None,
        probes: Sequence[str] = (),
        script: bool = False,
    ) -> Execution:
        options = {"state_of": state_of, "probes": list(probes), "script": script}
        return self._run_operation("execute", setup, sql, **options)

    def execute_each(
        self,
        setups: Sequence[Sequence[str]],
        sql: str,
        *,
        probes: Sequence[str] = (),
        script: bool = False,
        eager: bool = False,
    ) -> Iterator[Execution]:
        waiting = list(map(tuple, setups))
        size = _MAX_EACH if eager else 1
        request = {"op": "execute_each", "sql": sql, "probes": list(probes), "script": script}
        while waiting:
            together = waiting[:size]
            may_run = self.may_run(together, sql, script=script)
            done = self._send_each(request, together) if may_run else []
            if not done:
                done = [self.execute(waiting[0], sql, probes=probes, script=script)]
            yield from done
            del waiting[: len(done)]
            size = min(2 * size, _MAX_EACH)

    def _send_each(
        self, request: dict[str, Any], setups: Sequence[tuple[str, ...]]
    ) -> list[Execution]:
        """What a statement gave on the first of some setups; none where the first has to be run by
        a request of its own, as the process was lost or had too little memory left."""
        keys = list(map(_compute_key, setups))
        for _ in range(2):
            self._worker.hello()
            databases = [
                (key, None if key in self._prepared else list(map(str, setup)))
                for key, setup in zip(keys, setups, strict=True)
            ]
            try:
                reply = self._worker.request({**request, "databases": databases})
            except WorkerLost:
                self._prepared.clear()
                return []
            if reply.fault:
                self._worker.restart()
                self._prepared.clear()
                return []
            done = msgspec.json.decode(reply.result, type=list[tuple[Execution, bool]])
            self._prepared.difference_update(keys)
            self._prepared.update(key for key, (_, kept) in zip(keys, done, strict=False) if kept)
            if done:
                break
        executions = (execution for execution, _ in done)
        return list(takewhile(lambda execution: execution.status != "memory", executions))

    def explain(self, setup: Sequence[str], sql: str) -> Execution:
        return self._run_operation("explain", setup, sql)

    def measure(self, setup: Sequence[str], sql: str) -> Work:
        done = self._run_operation("measure", setup, sql)
        if done.status != "ok" or done.table is None:
            return Work(execution=done)
        plan = tuple(str(row[0]) for row in done.table.rows)
        return Work(execution=done, unit=self._unit, amount=done.affected or 0, plan=plan)

    def check_parse(self, text: str) -> Execution:
        return self._send_request({"op": "syntax", "sql": text})

    def close(self) -> None:
        self._worker.close()

    def _run_operation(
        self, operation: str, setup: Sequence[str], sql: str, **options: Any
    ) -> Execution:
        request = {"op": operation, "setup": list(map(str, setup)), "sql": sql, **options}
        script = bool(options.get("script"))
        return self.run_guarded(setup, sql, lambda: self._send_request(request), script=script)

    def _send_request(self, request: dict[str, Any], *, retry: bool = True) -> Execution:
        self._worker.hello()  # so that starting a process does not count as the statement's time
        start = time.perf_counter()
        try:
            reply = self._worker.request(request)
        except WorkerLost as lost:
            status: Status = "timeout" if lost.timed_out else "crashed"
            return _build_failed_execution(status, str(lost), start)
        if reply.fault == "memory":
            self._worker.restart()
            return _build_failed_execution("memory", reply.message, start)
        if reply.fault:
            # The process is beyond repair, perhaps through the statement before: try a fresh one.
            self._worker.restart()
            if retry:
                return self._send_request(request, retry=False)
            return _build_failed_execution("crashed", reply.message, start)
        execution = msgspec.json.decode(reply.result, type=Execution)
        if execution.status == "memory":
            self._worker.restart()
            if retry and execution.stage == "setup":  # prepared databases had filled it
                return self._send_request(request, retry=False)
        return msgspec.structs.replace(execution, elapsed=time.perf_counter() - start)


@lru_cache(maxsize=1024)
def _compute_key(setup: tuple[str, ...]) -> str:
    return compute_setup_key(list(map(str, setup)))


def _build_failed_execution(status: Status, message: str, start: float) -> Execution:
    return Execution(status=status, message=message, elapsed=time.perf_counter() - start)


_RETRY_SECONDS, _PAUSE_SECONDS = 10.0, 0.2


def open_served(card: EngineCard, limits: Limits, folder: Path, dsn: str = "") -> ServedEngine:
    """The engine, a server, which connects at its first use.

    Raises MissingDependency, with the remedy, where the server's programs are missing and no DSN
    names a server, and UsageError for a DSN that cannot be read.
    """
    if dsn:
        parameters = _parse_dsn(card, dsn)
        return ServedEngine(
            card.name, limits, lambda: _connect_server(card, parameters, limits, None)
        )
    PROGRAMS[card.name].find()
    connected = False

    def connect_server() -> DatabaseServer:
        """Connect to the kept server, to a new one where it has died, unless its folder was
        removed with the data folder above, which is not made anew."""
        nonlocal connected
        if connected and not folder.parent.exists():
            raise EnvironmentFailure(Note("server_moved", folder=folder.parent, engine=card.name))
        server = _connect_local(card, limits, folder)
        connected = True
        return server

    return ServedEngine(card.name, limits, connect_server)


def _connect_server(
    card: EngineCard, parameters: dict[str, Any], limits: Limits, lease: Any
) -> DatabaseServer:
    server: DatabaseServer = import_reference(card.server)(parameters, limits, lease)
    return server


def _connect_local(card: EngineCard, limits: Limits, folder: Path) -> DatabaseServer:
    """A session on the kept server; again where it has just died and its keeper is yet to see."""
    deadline = time.monotonic() + _RETRY_SECONDS
    while True:
        lease = acquire_server_lease(folder, card.name)
        try:
            parameters = {
                name: text.replace("{folder}", str(lease.server_folder))
                for name, text in card.local_parameters.items()
            }
            return _connect_server(card, parameters, limits, lease)
        except EnvironmentFailure:
            lease.close()
            if time.monotonic() > deadline:
                raise
        time.sleep(_PAUSE_SECONDS)


def _parse_dsn(card: EngineCard, dsn: str) -> dict[str, Any]:
    """A DSN as the parameters of its library. No message repeats it, as it holds a password."""
    variable = f"EVALBOARD_{card.name.upper()}_DSN"
    example = f"{card.schemes[0]}://user:password@host:port/"
    try:
        parts = urlsplit(dsn)
        port = parts.port
    except ValueError:
        raise UsageError(Note("engine_dsn", variable=variable, form=example)) from None
    if parts.scheme not in card.schemes:
        raise UsageError(Note("engine_dsn_form", variable=variable, form=example))
    parameters = {
        "host": unquote(parts.hostname or ""),
        "port": port,
        "user": unquote(parts.username or ""),
        "password": unquote(parts.password or ""),
    }
    if card.dsn_path:
        database = unquote(parts.path.strip("/"))
        parameters[card.dsn_path] = database or card.local_parameters[card.dsn_path]
    return {key: value for key, value in parameters.items() if value} | dict(parse_qsl(parts.query))


def find_embedded_engine(dialect: str) -> str:
    """The engine of a dialect where that needs no server, else the one that stands in for it."""
    card = engine_cards().get(dialect)
    return card.name if card and card.backend else CARDS[0].name


def list_engine_names() -> tuple[str, ...]:
    """The engines by name, those of plug-ins last."""
    return tuple(engine_cards())


def open_engine(
    name: str,
    limits: Limits = Limits(),  # noqa: B008 - a frozen record
    folder: Path | None = None,
) -> Engine:
    """An engine whose process starts, or whose server is found, at its first use.

    A kept server belongs to `folder`, by default to the data folder of the settings. Raises
    UsageError for an unknown name and MissingDependency where a library or program is missing.
    """
    card = engine_cards().get(name)
    if card is None:
        raise UsageError(Note("engine_unknown", name=name, names=", ".join(engine_cards())))
    register_plugin_dialects()
    if name not in TITLES:
        raise UsageError(Note("engine_no_dialect", name=name, dialect=card.dialect or name))
    if card.library and find_spec(card.library) is None:
        raise MissingDependency(
            Note("engine_needs_extra", name=name, extra=card.extra)
            if card.extra
            else Note("engine_needs_module", name=name, module=card.library)
        )
    if not card.server:
        return ProcessEngine(card, limits)
    config = settings.load_settings()
    dsn = getattr(config, f"{name}_dsn", "")
    return open_served(card, limits, folder or config.data_dir / "engines" / name, dsn)


def probe_engines() -> dict[str, str]:
    """Every engine by name: its version where it starts here, else the reason why it does not."""
    status_by_engine: dict[str, str] = {}
    for name in list_engine_names():
        try:
            with open_engine(name) as engine:
                status_by_engine[name] = engine.version
        except EvalboardError as error:
            status_by_engine[name] = str(error)
    return status_by_engine


#: Seconds of a call, long beside what statements take on large databases, so that a busy machine
#: ends none of them.
PATIENT_SECONDS = 30.0


class EnginePool(AbstractContextManager["EnginePool"]):
    """Engines opened at their first use and closed together; usable from several threads."""

    def __init__(self, limits: Limits = Limits()) -> None:  # noqa: B008 - a frozen record
        self._limits = limits
        self._engines: dict[tuple[str, float], Engine] = {}
        self._lock = threading.Lock()

    def get(self, name: str, seconds: float | None = None) -> Engine:
        """Raises what `open_engine` raises where the engine is unknown or missing."""
        limits = msgspec.structs.replace(self._limits, seconds=seconds or self._limits.seconds)
        key = name, limits.seconds
        with self._lock:
            if key not in self._engines:
                self._engines[key] = open_engine(name, limits)
            return self._engines[key]

    def get_patient(self, name: str) -> Engine:
        """As `get`, an engine that ends no statement because the machine is busy."""
        return self.get(name, PATIENT_SECONDS)

    def collect_versions(self) -> dict[str, str]:
        """The engines opened so far, with their versions."""
        return {name: engine.version for (name, _), engine in sorted(self._engines.items())}

    def close(self) -> None:
        with self._lock:
            for engine in self._engines.values():
                engine.close()
            self._engines.clear()

    def __exit__(self, *error: object) -> None:
        self.close()

"""The parent-side half of an engine: guard, ask the worker process, name what became of it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from evalcore.closing import Closing
from evalcore.sandbox.worker_process import WorkerLost, WorkerProcess
from evalcore.sqlkit.engines.base import Execution, Limits, Stage, Status, Work
from evalcore.sqlkit.engines.guard import MAX_SQL_CHARACTERS, inspect_answer, inspect_script

#: How long an engine may take to stop by itself before its process is killed.
_GRACE_SECONDS = 0.25
#: What `measure` counts.
_UNITS = {"sqlite": "vm_steps", "duckdb": "rows"}
_NO_STATEMENT = Execution(status="syntax_error", message="there is no statement")


class ProcessEngine(Closing):
    """An `Engine` whose database lives in a worker process; see `base.Engine` for the methods.

    Refused SQL that the engine's own parser cannot read either is a syntax error, not forbidden.
    After it ran out of memory a process is replaced, so that the next statement finds all of it.
    """

    def __init__(self, name: str, limits: Limits) -> None:
        self.name = name
        self._worker = WorkerProcess(
            f"evalcore.sqlkit.engines.{name}:open_backend",
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
        """The kernel limits that hold for the process (names of `evalcore.sandbox.limits`)."""
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
        return self._run_guarded("execute", setup, sql, options)

    def explain(self, setup: Sequence[str], sql: str) -> Execution:
        return self._run_guarded("explain", setup, sql, {})

    def measure(self, setup: Sequence[str], sql: str) -> Work:
        done = self._run_guarded("measure", setup, sql, {})
        if done.status != "ok" or done.table is None:
            return Work(execution=done)
        plan = tuple(str(row[0]) for row in done.table.rows)
        return Work(execution=done, unit=_UNITS[self.name], amount=done.affected or 0, plan=plan)

    def check_syntax(self, sql: str) -> Execution:
        if inspect_script(sql, self.name).statements == 0:
            return _NO_STATEMENT
        return self._send_request({"op": "syntax", "sql": sql})

    def close(self) -> None:
        self._worker.close()

    def _run_guarded(
        self, op: str, setup: Sequence[str], sql: str, options: Mapping[str, Any]
    ) -> Execution:
        for script in setup:
            if refusal := inspect_script(script, self.name).refusal:
                return self._reject_script(script, refusal, "setup")
        inspection = inspect_answer(sql, self.name, script=bool(options.get("script")))
        if inspection.statements == 0:
            return _NO_STATEMENT
        if inspection.refusal:
            return self._reject_script(sql, inspection.refusal, "statement")
        return self._send_request({"op": op, "setup": list(setup), "sql": sql, **options})

    def _reject_script(self, script: str, reason: str, stage: Stage) -> Execution:
        forbidden = Execution(status="forbidden", message=reason, stage=stage)
        if len(script) > MAX_SQL_CHARACTERS:
            return forbidden
        syntax = self._send_request({"op": "syntax", "sql": script})
        if syntax.status == "ok":
            return forbidden
        return msgspec.structs.replace(syntax, stage=stage)

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
        return msgspec.structs.replace(execution, elapsed=time.perf_counter() - start)


def _build_failed_execution(status: Status, message: str, start: float) -> Execution:
    return Execution(status=status, message=message, elapsed=time.perf_counter() - start)

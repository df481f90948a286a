"""lm-evaluation-harness in a process of its own: is it there, start it, ask it, end it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import msgspec

from evalcore import catalog
from evalcore.access.secrets import build_child_environment
from evalcore.benchmarks.academic.card import CARD
from evalcore.benchmarks.academic.harness_records import (
    BuildRequest,
    BuiltTask,
    HarnessReply,
    HarnessRequest,
    HarnessStart,
    ListRequest,
    ScoreRequest,
    ScoreResult,
    TaskRequest,
)
from evalcore.errors import EnvironmentFailure, MissingDependency, UsageError
from evalcore.i18n import Note
from evalcore.records import Record
from evalcore.sandbox.worker_process import read_frame, write_frame

_MODULE = "evalcore.benchmarks.academic.harness_process"
_SCORING_SECONDS = 120.0  # of one answer; a pattern of a filter may never end
_MOST_BYTES = 1 << 30  # of a reply
_QUIET = {
    "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "TQDM_DISABLE": "1",
}


class HarnessProcess:
    """One process, started when it is first asked; usable from several threads. `folders` hold
    tasks; `defaults`: lm-eval's own tasks are known too, which takes seconds to list."""

    def __init__(self, folders: Sequence[Path], *, defaults: bool) -> None:
        self._start = HarnessStart(tuple(map(str, folders)), defaults)
        self._child: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self.version = ""

    def start(self) -> str:
        """The version of lm-eval. Raises MissingDependency, EnvironmentFailure."""
        with self._lock:
            self._ensure_running()
        return self.version

    def list_tasks(self, words: Sequence[str]) -> tuple[str, ...]:
        """The names of tasks, groups and tags that hold all words."""
        return self._request(ListRequest(tuple(words))).tasks

    def expand_tasks(self, names: Sequence[str]) -> tuple[str, ...]:
        """The tasks that names of tasks, groups and tags stand for. Raises UsageError."""
        return self._request(ListRequest(tuple(names), expand=True)).tasks

    def build_task(self, task: TaskRequest, *, chat: bool) -> BuiltTask:
        """A task with its samples. Raises UsageError where it cannot be asked here."""
        built = self._request(BuildRequest(task, chat)).built
        if built is None:
            raise EnvironmentFailure(Note("academic_silent"))
        return built

    def score_answer(self, request: ScoreRequest) -> ScoreResult:
        """The metrics of an answer. Raises EnvironmentFailure where it cannot be scored here."""
        try:
            scored = self._request(request, _SCORING_SECONDS).scored
        except UsageError as problem:
            raise EnvironmentFailure(str(problem)) from problem
        if scored is None:
            raise EnvironmentFailure(Note("academic_silent"))
        return scored

    def close(self) -> None:
        """End the process; safe to call twice."""
        with self._lock:
            self._end_child()

    def _request(self, request: HarnessRequest, seconds: float | None = None) -> HarnessReply:
        with self._lock:
            reply = self._exchange(self._ensure_running(), request, seconds)
        if reply.problem:
            raise EnvironmentFailure(reply.problem) if reply.is_fault else UsageError(reply.problem)
        return reply

    def _ensure_running(self) -> subprocess.Popen[bytes]:
        if self._child is not None and self._child.poll() is None:
            return self._child
        self._end_child()
        if catalog.find_missing_extra(CARD):
            raise MissingDependency(Note("academic_missing"))
        variable = CARD.library_variable
        python = os.environ.get(variable) or sys.executable
        try:
            child = self._child = _spawn_harness(python, self._start.folders)
            first = self._exchange(child, self._start, None)
        except OSError as error:
            raise MissingDependency(
                Note("academic_python", variable=variable, python=python, message=str(error))
            ) from error
        if first.problem:
            self._end_child()
            raise MissingDependency(Note("academic_broken", message=first.problem))
        self.version = first.version
        return child

    def _exchange(
        self, child: subprocess.Popen[bytes], message: Record, seconds: float | None
    ) -> HarnessReply:
        expired = threading.Event()

        def end_hanging() -> None:
            expired.set()
            child.kill()

        timer = threading.Timer(seconds or 0.0, end_hanging)
        timer.daemon = True
        if seconds is not None:
            timer.start()
        try:
            write_frame(_pipe(child.stdin), message)
            frame = read_frame(_pipe(child.stdout), _MOST_BYTES)
        except (OSError, ValueError):
            frame = None
        finally:
            timer.cancel()
        if frame is None:
            self._end_child()
            if expired.is_set():
                raise EnvironmentFailure(Note("academic_slow", seconds=f"{seconds:g}"))
            raise EnvironmentFailure(Note("academic_lost", status=str(child.returncode)))
        try:
            return msgspec.json.decode(frame, type=HarnessReply)
        except (msgspec.MsgspecError, UnicodeError) as error:
            raise EnvironmentFailure(Note("academic_silent")) from error

    def _end_child(self) -> None:
        child, self._child = self._child, None
        if child is None:
            return
        child.kill()
        for pipe in (child.stdin, child.stdout):
            try:
                _pipe(pipe).close()
            except OSError:  # what was still buffered goes with the process
                continue
        child.wait()


def _spawn_harness(python: str, folders: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start it within the first folder: task files name their data relative to that."""
    return subprocess.Popen(
        [python, "-m", _MODULE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=folders[0] if folders and Path(folders[0]).is_dir() else None,
        env=build_child_environment(_QUIET),
    )


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise EnvironmentFailure(Note("academic_silent"))
    return pipe

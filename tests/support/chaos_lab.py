"""What runs under faults are made of: a server, a scenario with its workers, what came of it.

Workers are forked from this process, which has everything imported: a kill is a real one, and
starting again takes a tenth of a second.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
import traceback
import urllib.parse
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalcore.access.secrets import Secrets
from evalcore.errors import EvalboardError
from evalcore.intake.json_text import parse_json
from evalcore.runner.plan import create_folder, plan_run
from evalcore.runner.run_request import RunRequest
from evalcore.runner.worker import work_on_run
from evalcore.settings import Settings
from evalcore.store.journal import read_journal_lines
from evalcore.store.run_folder import RunFolder
from evalcore.targets.endpoint.dialect import is_answer
from tests.support.loopback_server import Server

BENCHMARK = "sql_understanding"
CASES = 12
PATIENCE = 180.0  # seconds for a worker, on a busy machine
ROUNDS = 12  # workers that may be needed until a run is complete
#: How a fault of the server appears in the log of the run: one of these words is in the line.
CAUSES = {
    "429": ("rate_limited 429",),
    "5xx": ("retryable 50",),
    "reset": ("the connection was lost",),
    "stall": ("retryable",),
    "malformed JSON": ("malformed",),
    "empty body": ("malformed",),
    "endless body": ("larger than the setting", "no whole answer"),
    "cut body": ("malformed",),
}
DONE, REFUSED, INCOMPLETE, BROKEN = 0, 2, 3, 9


@dataclass
class Outcome:
    """What one scenario gave: faults that were injected, and what should all be 0."""

    kind: str
    faults: int = 0
    lost: int = 0
    twice: int = 0
    differs: int = 0
    unlogged: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        return bool(self.lost or self.twice or self.differs or self.unlogged or self.notes)


@dataclass
class Lab:
    """The server that all scenarios ask, the cases, and the result of an undisturbed run."""

    root: Path
    server: Server
    cases: Path
    restart_server: Callable[[], None]
    expected: tuple[Any, ...] = ()
    names: dict[str, str] = field(default_factory=dict)  # of prompts, by the keys of samples

    def settings(self, folder: str) -> Settings:
        return Settings(
            data=str(self.root / folder),
            shipped=str(self.root / "none"),
            retry_base=0.002,
            retry_cap=0.01,
            max_attempts=4,
        )

    def set_mix(self, rates: dict[str, float], seed: int, latency: float = 0.0) -> None:
        query = urllib.parse.urlencode({**rates, "seed": seed, "attempts": 2, "latency": latency})
        self.server.get(f"/mix?{query}")


@dataclass
class Scenario:
    """One run with its dice; `begin` starts workers and looks at what they ask for again."""

    lab: Lab
    outcome: Outcome
    dice: random.Random
    settings: Settings
    folder: RunFolder
    workers: int = 0
    asked: Counter[str] = field(default_factory=Counter)  # by servers that were killed since

    def count_asked(self) -> Counter[str]:
        return self.asked + Counter(self.lab.server.stats()["prompts"])

    def list_answered(self) -> set[str]:
        """The names of the prompts whose answers are journaled."""
        names = self.lab.names
        return {
            names[call.key.partition("/")[2]]
            for call in self.folder.read_calls()
            if is_answer(call.completion)
        }

    @contextmanager
    def watch_requests(self) -> Iterator[None]:
        """What is journaled already must not be asked for by what runs in the block."""
        answered, before = self.list_answered(), self.count_asked()
        yield
        after = self.count_asked()
        self.outcome.twice += sum(after[name] != before[name] for name in answered)

    def fork_worker(self, prepare: Callable[[], None] = lambda: None) -> int:
        """A worker in a process of its own; `prepare` is called in it first."""
        self.workers += 1
        sys.stdout.flush()
        sys.stderr.flush()
        if pid := os.fork():
            return pid
        status = BROKEN
        try:
            prepare()
            summary = work_on_run(self.folder, self.settings, Secrets())
            status = DONE if summary.is_complete else INCOMPLETE
        except EvalboardError as error:
            status = REFUSED
            self._write_report(str(error))
        except BaseException:
            self._write_report(traceback.format_exc())
        finally:
            os._exit(status)

    def _write_report(self, text: str) -> None:
        """Why a worker ended; into a pipe that was opened before the disk was full."""
        os.write(self.report_pipe[1], text.encode()[:60_000])

    def __post_init__(self) -> None:
        self.report_pipe = os.pipe()
        os.set_blocking(self.report_pipe[0], False)

    def read_report(self) -> str:
        """What workers reported since it was last asked."""
        with suppress(BlockingIOError):
            return os.read(self.report_pipe[0], 1 << 20).decode("utf-8", "replace")
        return ""

    def close(self) -> None:
        for end in self.report_pipe:
            os.close(end)

    def run_worker(self, prepare: Callable[[], None] = lambda: None) -> int:
        with self.watch_requests():
            return wait_for_end(self.fork_worker(prepare))

    def finish_run(self) -> None:
        """Resume until nothing is missing."""
        for _ in range(ROUNDS):
            status = self.run_worker()
            if status == DONE:
                return
            if status != INCOMPLETE:
                self.outcome.notes.append(f"status {status}: {self.read_report()[-2000:]}")
                return
        self.outcome.notes.append(f"not complete after {ROUNDS} workers")

    def wait_until(self, reached: Callable[[], bool], pid: int) -> bool:
        """Whether a state came about while the worker lived."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            if reached():
                return True
            if is_over(pid):
                return False
            time.sleep(0.001)
        raise TimeoutError("it did not come about")

    def count_lines(self, name: str) -> int:
        paths = list(self.folder.path.glob(f"{name}/**/*.jsonl"))
        return sum(path.read_bytes().count(b"\n") for path in paths)

    def list_events(self) -> list[tuple[str, str]]:
        lines = read_journal_lines(self.folder.events_path)
        events: list[Any] = [parse_json(line) for _, line in lines]
        return [(event["kind"], event.get("message", "")) for event in events]

    def count_starts(self) -> int:
        """Workers that came as far as to log their start."""
        if not self.folder.events_path.exists():
            return 0
        return sum(kind in ("started", "resumed") for kind, _ in self.list_events())

    def require_event(self, kind: str, times: int = 1) -> None:
        count = sum(event == kind for event, _ in self.list_events())
        self.outcome.unlogged += max(0, times - count)

    def require_report(self, *words: str) -> None:
        """A worker that was refused must have said why, and what to do."""
        report = self.read_report()
        if not all(word in report for word in words):
            self.outcome.unlogged += 1
            self.outcome.notes.append(f"expected {words} in the report: {report[-1500:]!r}")


def is_over(pid: int) -> bool:
    """Whether a child has ended; it stays to be waited for."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def wait_for_end(pid: int) -> int:
    """The status of a child, negative for the signal that ended it."""
    until = time.monotonic() + PATIENCE
    while not is_over(pid):
        if time.monotonic() > until:
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.001)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def kill_worker(scenario: Scenario, journaled: int, delay: float) -> bool:
    """Start a worker and kill it once it has journaled so many lines and some time has passed;
    whether that interrupted the run, which may have come to its end before, or not have begun."""
    before, begun = scenario.count_lines("calls"), scenario.count_starts()
    with scenario.watch_requests():
        pid = scenario.fork_worker()
        scenario.wait_until(lambda: scenario.count_lines("calls") >= before + journaled, pid)
        time.sleep(delay)
        os.kill(pid, signal.SIGKILL)
        wait_for_end(pid)
    interrupted = scenario.folder.current_state() == "interrupted"
    return interrupted and scenario.count_starts() > begun


def plan_scenario(
    lab: Lab, settings: Settings, concurrency: int, timeout: float = 20.0
) -> RunFolder:
    request = RunRequest(
        target="openai:test",
        target_options={"base_url": lab.server.base_url, "timeout": timeout},
        benchmarks=(BENCHMARK,),
        dataset=str(lab.cases),
        concurrency=concurrency,
        use_cache=False,
    )
    folder = create_folder(plan_run(request, settings), settings)
    for path in (Path(settings.data), settings.runs_dir, folder.path):
        path.chmod(0o755)
    return folder


def write_cases(path: Path) -> Path:
    """Cases of which the server answers some wrongly, so that a score says something."""
    rows = [
        {
            "case_id": f"c{number}",
            "difficulty_level": str(number % 3 + 1),
            "dialect": "sqlite",
            "sql": f"{'SELEC' if number % 3 == 0 else 'SELECT'} {number} AS answer",
            "expected": {"has_syntax_error": "yes" if number % 3 == 0 else "no"},
        }
        for number in range(CASES)
    ]
    path.mkdir(parents=True)
    file = path / "syntax_error_detection.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def summarize_result(folder: RunFolder) -> tuple[Any, ...]:
    """All of a result that must not depend on how the run went."""
    summary = folder.read_summary()
    if summary is None:
        return ()
    score = summary.benchmarks[BENCHMARK]
    return score.score, score.interval, score.outcomes, score.metrics, score.coverage

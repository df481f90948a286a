"""Runs under every kind of fault, each compared with an undisturbed one.

    python -m tests.support.chaos --scenarios 500 --seed 1

A scenario is a run of a few cases with faults of one kind at a rate, or of all kinds at once. After
it no sample may be lost or there twice, no journaled answer may have been asked for again, each
fault has to be in the log of the run with its cause, the chains of the journals have to be whole,
and the scores have to be those of the undisturbed run. Prints a table and ends with status 1 where
any of this does not hold.

Workers are forked from this process, which has everything imported: a kill is a real one, and
starting again takes a tenth of a second.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import urllib.parse
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from evalcore import records
from evalcore.access.secrets import Secrets
from evalcore.access.signing import generate_key, load_signing_key
from evalcore.benchmarks.sql_understanding.benchmark import SqlUnderstanding
from evalcore.errors import EvalboardError
from evalcore.intake.json_text import parse_json
from evalcore.runner.plan import create_folder, plan_run
from evalcore.runner.run_request import RunRequest
from evalcore.runner.summary import REQUEST_FAILED, REQUEST_RESENT
from evalcore.runner.worker import work_on_run
from evalcore.settings import Settings
from evalcore.store.index import load_headers
from evalcore.store.journal import read_journal_lines
from evalcore.store.run_folder import RunFolder
from evalcore.store.seal import seal_run_folder, verify_run_folder
from evalcore.targets.endpoint.dialect import is_answer
from tests.support.loopback_server import Options, Server, serve
from tests.support.replies import MIXED_FAULTS, SOUND, prompt_hash

BENCHMARK = "sql_understanding"
CASES = 12
PATIENCE = 60.0  # seconds for a worker, on a busy machine
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


# Kinds of faults. Each disturbs a run that has been planned; whatever is missing then is asked for
# by workers that nobody disturbs.


def disturb_by_server(kind: str) -> Callable[[Scenario], None]:
    """Faults of the server alone: on up to two requests of each prompt."""

    def disturb(scenario: Scenario) -> None:
        rate, seed = scenario.dice.uniform(0.2, 0.9), scenario.dice.randrange(10**6)
        if kind == "stall":  # each takes its time
            rate /= 2
        scenario.lab.set_mix({kind: rate}, seed)
        scenario.finish_run()
        check_causes(scenario)

    return disturb


def disturb_by_all(scenario: Scenario) -> None:
    """All faults of servers at once, and a kill in the middle."""
    kinds = [kind for kind in MIXED_FAULTS if kind != "stall"]
    rate = scenario.dice.uniform(0.3, 0.9) / len(kinds)
    scenario.lab.set_mix(dict.fromkeys(kinds, rate), scenario.dice.randrange(10**6), 0.01)
    killed = kill_worker(scenario, 1, scenario.dice.uniform(0, 0.05))
    scenario.finish_run()
    scenario.outcome.faults += len(scenario.lab.server.get("/injected")["injected"]) + killed
    if killed:
        scenario.require_event("interrupted")


def check_causes(scenario: Scenario) -> None:
    """Every fault that makes a request fail is in the log, under its cause."""
    injected = scenario.lab.server.get("/injected")["injected"]
    scenario.outcome.faults += len(injected)
    logged = [
        message
        for kind, message in scenario.list_events()
        if kind in (REQUEST_FAILED, REQUEST_RESENT)
    ]
    failing = Counter(CAUSES[kind] for _, _, kind in injected if kind not in SOUND)
    for words, count in failing.items():
        matching = sum(any(word in message for word in words) for message in logged)
        scenario.outcome.unlogged += max(0, count - matching)
    stalls = any(kind == "stall" for _, _, kind in injected)  # and then a slow machine, too
    if len(logged) != failing.total() and not stalls:
        scenario.outcome.notes.append(f"{failing.total()} failures injected, {len(logged)} logged")


def kill_workers(scenario: Scenario) -> None:
    scenario.lab.set_mix({}, 0, 0.01)
    kills = 0
    for _ in range(scenario.dice.randint(1, 3)):
        kills += kill_worker(scenario, scenario.dice.randint(0, 3), scenario.dice.uniform(0, 0.06))
    scenario.finish_run()
    scenario.outcome.faults += kills
    scenario.require_event("interrupted", kills)


def kill_server(scenario: Scenario) -> None:
    """The server dies while it is asked, and another takes its port."""
    scenario.lab.set_mix({}, 0, 0.02)
    with scenario.watch_requests():
        pid = scenario.fork_worker()
        killed = scenario.wait_until(
            lambda: scenario.count_lines("calls") > scenario.dice.randint(0, 4), pid
        )
        scenario.asked += Counter(scenario.lab.server.stats()["prompts"])
        scenario.lab.restart_server()
        wait_for_end(pid)
    scenario.finish_run()
    scenario.outcome.faults += killed


def fill_disk(scenario: Scenario) -> None:
    """Files take no more than so many bytes: writes end in the middle of a line."""
    scenario.lab.set_mix({}, 0)
    limit = scenario.dice.randint(150, 4000)
    status = scenario.run_worker(lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    scenario.outcome.faults += status != DONE
    if status == REFUSED:
        scenario.require_report("free space or repair the folder, then resume")
    elif status != DONE:
        scenario.outcome.notes.append(f"status {status}: {scenario.read_report()[-1500:]}")
    scenario.finish_run()


def lock_folder(scenario: Scenario) -> None:
    """The folder of the run may only be read, from the start or from the middle."""
    scenario.lab.set_mix({}, 0, 0.01)
    if scenario.dice.random() < 0.5:
        kill_worker(scenario, 1, 0.0)
    with make_read_only(scenario.folder.path):
        status = scenario.run_worker(drop_rights)
    scenario.outcome.faults += 1
    if status != REFUSED:
        scenario.outcome.notes.append(f"status {status}: {scenario.read_report()[-1500:]}")
    else:
        scenario.require_report(str(scenario.folder.path), "then resume the run")
    scenario.finish_run()


@contextmanager
def make_read_only(folder: Path) -> Iterator[None]:
    paths = [folder, *folder.rglob("*")]
    modes = {path: path.stat().st_mode for path in paths}
    for path, mode in modes.items():
        path.chmod(mode & ~0o222)
    try:
        yield
    finally:
        for path, mode in modes.items():
            path.chmod(mode)


def drop_rights() -> None:
    """Nobody, to whom the modes of files apply."""
    if os.geteuid() == 0:
        os.setgid(65534)
        os.setuid(65534)


def jump_clock(scenario: Scenario) -> None:
    """The clock of the machine jumps by days while the run is under way, back and forth."""
    scenario.lab.set_mix({"429": 0.2, "5xx": 0.2}, scenario.dice.randrange(10**6), 0.005)
    jumps = [timedelta(days=scenario.dice.uniform(-9000, 9000)) for _ in range(5)]
    dice = random.Random(scenario.dice.random())

    def change_clock() -> None:
        real_time = time.time

        class JumpingDatetime(datetime):
            @classmethod
            def now(cls, zone: Any = UTC) -> datetime:
                return datetime.now(zone) + dice.choice(jumps)

        records.datetime = JumpingDatetime  # type: ignore[misc]
        time.time = lambda: real_time() + dice.choice(jumps).total_seconds()

    scenario.run_worker(change_clock)
    scenario.outcome.faults += len(jumps)
    scenario.finish_run()


def start_two(scenario: Scenario) -> None:
    """Two workers at once: the second is refused, or finds the run done."""
    scenario.lab.set_mix({}, 0, 0.02)
    with scenario.watch_requests():
        pids = [scenario.fork_worker() for _ in range(2)]
        statuses = sorted(map(wait_for_end, pids))
    scenario.outcome.faults += 1
    if statuses == [DONE, REFUSED]:
        scenario.require_report("is being worked on by another process")
    elif statuses != [DONE, DONE]:
        scenario.outcome.notes.append(f"statuses {statuses}: {scenario.read_report()[-1500:]}")
    requests = Counter(scenario.lab.server.stats()["prompts"])
    scenario.outcome.twice += sum(count > 1 for count in requests.values())
    scenario.finish_run()


def tear_lines(scenario: Scenario) -> None:
    """What a power cut leaves: the beginning of a line at the ends of journals."""
    scenario.lab.set_mix({}, 0, 0.01)
    kill_worker(scenario, 2, scenario.dice.uniform(0, 0.03))
    torn = 0
    for path in sorted(scenario.folder.path.rglob("*.jsonl")):
        if path.name == "samples.jsonl" or scenario.dice.random() < 0.3:
            continue
        content = path.read_bytes()
        if content and not content.endswith(b"\n"):
            continue
        line = content.splitlines(keepends=True)[-1] if content else b'{"benchmark":'
        with path.open("ab") as file:
            file.write(line[: scenario.dice.randint(1, max(1, len(line) - 1))])
        torn += 1
    scenario.finish_run()
    scenario.outcome.faults += torn
    scenario.require_event("repaired", torn)


def cut_index(scenario: Scenario) -> None:
    """The index ends anywhere, or holds garbage."""
    scenario.lab.set_mix({}, 0, 0.01)
    kill_worker(scenario, 1, 0.0)
    path = scenario.settings.index_path
    if path.exists() and scenario.dice.random() < 0.7:
        os.truncate(path, scenario.dice.randrange(path.stat().st_size + 1))
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(scenario.dice.randbytes(scenario.dice.randrange(500)))
    scenario.finish_run()
    path.write_bytes(path.read_bytes()[: scenario.dice.randrange(200)])
    scenario.outcome.faults += 2


def change_cases(scenario: Scenario) -> None:
    """The dataset is edited between start and resume: nothing is asked until it is restored."""
    scenario.lab.set_mix({}, 0, 0.01)
    kill_worker(scenario, 2, 0.01)
    begun = scenario.count_lines("generations") > 0
    before = scenario.lab.cases.read_text()
    lines = before.splitlines(keepends=True)
    at = scenario.dice.randrange(len(lines))
    edits = (lines[at].replace("answer", "edited"), "", lines[at] * 2, "{torn")
    lines[at] = scenario.dice.choice(edits)
    asked = scenario.count_asked()
    scenario.lab.cases.write_text("".join(lines))
    try:
        status = scenario.run_worker()
    finally:
        scenario.lab.cases.write_text(before)
    scenario.outcome.faults += 1
    if begun:
        if status != REFUSED or scenario.count_asked() != asked:
            scenario.outcome.notes.append(f"status {status}, and it was not to go on")
        scenario.require_report("has changed since the run began", "Restore it and resume")
    scenario.finish_run()


KINDS: dict[str, Callable[[Scenario], None]] = {
    **{kind: disturb_by_server(kind) for kind in MIXED_FAULTS},
    "all of these, and a kill": disturb_by_all,
    "worker killed": kill_workers,
    "server killed": kill_server,
    "disk full": fill_disk,
    "read-only folder": lock_folder,
    "clock jumps": jump_clock,
    "two workers": start_two,
    "torn lines": tear_lines,
    "index cut": cut_index,
    "dataset changed": change_cases,
}


# What must hold after each.


def summarize_result(folder: RunFolder) -> tuple[Any, ...]:
    """All of a result that must not depend on how the run went."""
    summary = folder.read_summary()
    if summary is None:
        return ()
    score = summary.benchmarks[BENCHMARK]
    return score.score, score.interval, score.outcomes, score.metrics, score.coverage


def check_scenario(scenario: Scenario, signer: Any) -> None:
    folder, outcome = scenario.folder, scenario.outcome
    samples = {line.sample.key for line in folder.read_samples()}
    summary = folder.read_summary()
    verdicts = list(folder.read_verdicts(summary.scoring)) if summary else []
    measured = Counter(
        f"{line.verdict.metric}/{line.verdict.id}"
        for line in verdicts
        if line.verdict.outcome in records.MEASURED
    )
    answered = Counter(
        line.episode.key for line in folder.read_episodes() if line.episode.failure is None
    )
    calls = Counter(call.key for call in folder.read_calls() if is_answer(call.completion))
    for counts in (measured, answered):
        outcome.lost += len(samples - counts.keys())
    outcome.lost += len(samples) - len(calls)
    for counts in (measured, answered, calls):
        outcome.twice += sum(count > 1 for count in counts.values())
    outcome.differs += summarize_result(folder) != scenario.lab.expected
    headers = [header.run_id for header in load_headers(scenario.settings)]
    if headers != [folder.run_id]:
        outcome.notes.append(f"the index has {headers}")
    seal_run_folder(folder, signer)  # refuses a broken chain
    if problems := verify_run_folder(folder, signer.public).problems:
        outcome.notes.append(f"the seal: {problems}")
    if leftover := scenario.read_report():
        outcome.notes.append(f"a worker reported: {leftover[-1500:]}")


def run_scenario(lab: Lab, number: int, kind: str, seed: int, signer: Any) -> Outcome:
    dice = random.Random(f"{seed}:{number}:{kind}")
    settings = lab.settings(f"data-{number}")
    timeout = 0.4 if kind == "stall" else 20.0
    folder = plan_scenario(lab, settings, dice.randint(1, 4), timeout)
    scenario = Scenario(lab, Outcome(kind), dice, settings, folder)
    try:
        KINDS[kind](scenario)
        check_scenario(scenario, signer)
    except Exception:
        scenario.outcome.notes.append(traceback.format_exc())
    finally:
        scenario.close()
    if not scenario.outcome.failed:
        shutil.rmtree(settings.data, ignore_errors=True)
    return scenario.outcome


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


@contextmanager
def open_lab(root: Path) -> Iterator[Lab]:
    """A server, and the result of a run that nothing disturbs."""
    root.chmod(0o755)
    with ExitStack() as stack:
        server = stack.enter_context(serve())

        def restart_server() -> None:
            stack.close()
            stack.enter_context(serve(Options(port=server.port)))

        lab = Lab(root, server, write_cases(root / "cases"), restart_server)
        settings = lab.settings("undisturbed")
        folder = plan_scenario(lab, settings, 2)
        benchmark = SqlUnderstanding({"mode": "verified"})
        for line in folder.read_samples():
            prompt = benchmark.build_prompt(line.sample)[-1].content
            lab.names[line.sample.key] = prompt_hash(prompt)
        import_for_workers(Scenario(lab, Outcome(""), random.Random(0), settings, folder))
        lab.expected = summarize_result(folder)
        yield lab


def import_for_workers(scenario: Scenario) -> None:
    """Run once, and import here what the worker imported, for all further ones."""
    modules = scenario.lab.root / "modules.json"

    def note_imports() -> None:
        end = os._exit

        def write_and_exit(status: int) -> None:
            modules.write_text(json.dumps(sorted(sys.modules)))
            end(status)

        os._exit = write_and_exit  # type: ignore[assignment]

    status = scenario.run_worker(note_imports)
    if status != DONE:
        raise RuntimeError(f"the undisturbed run ended with {status}: {scenario.read_report()}")
    for name in json.loads(modules.read_text()):
        with suppress(Exception):
            importlib.import_module(name)
    scenario.close()


# The table.

COLUMNS = ("scenarios", "faults", "lost", "twice", "differs", "unlogged")
TITLES = ("scenarios", "faults injected", "lost", "asked twice", "score differs", "not logged")


def tabulate(outcomes: list[Outcome]) -> dict[str, dict[str, int]]:
    """The sums by kind, in the order of `KINDS`."""
    table: dict[str, dict[str, int]] = defaultdict(lambda: dict.fromkeys(COLUMNS, 0))
    for kind in KINDS:
        for outcome in outcomes:
            if outcome.kind == kind:
                row = table[kind]
                row["scenarios"] += 1
                for column in COLUMNS[1:]:
                    row[column] += getattr(outcome, column)
    return dict(table)


def format_table(table: dict[str, dict[str, int]]) -> str:
    rows = [("kind", *TITLES)]
    rows += [(kind, *(str(row[column]) for column in COLUMNS)) for kind, row in table.items()]
    total = (str(sum(row[column] for row in table.values())) for column in COLUMNS)
    rows.append(("total", *total))
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if at == 0 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )


def run_scenarios(count: int, seed: int, seconds: float, kinds: list[str]) -> list[Outcome]:
    """So many scenarios, the kinds in turn, or as many as fit into the time."""
    root = Path(tempfile.mkdtemp(prefix="evalboard-chaos-"))
    outcomes: list[Outcome] = []
    started = time.monotonic()
    with open_lab(root) as lab:
        generate_key(root / "key.pem")
        signer = load_signing_key(root / "key.pem")
        for number in range(count):
            if time.monotonic() - started > seconds:
                break
            outcome = run_scenario(lab, number, kinds[number % len(kinds)], seed, signer)
            outcomes.append(outcome)
            if outcome.failed:
                where = root / f"data-{number}"
                print(f"scenario {number} ({outcome.kind}), left in {where}:", file=sys.stderr)
                print(*outcome.notes or [outcome], sep="\n", file=sys.stderr, flush=True)
            elif sys.stderr.isatty():
                print(f"\r{number + 1}/{count}", end="", file=sys.stderr, flush=True)
    if not any(outcome.failed for outcome in outcomes):
        shutil.rmtree(root, ignore_errors=True)
    return outcomes


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--scenarios", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="end by then")
    parser.add_argument("--kind", action="append", choices=KINDS, help="only this; repeatable")
    parser.add_argument("--json", action="store_true", help="print the outcomes as JSON")
    args = parser.parse_args()
    started = time.monotonic()
    outcomes = run_scenarios(args.scenarios, args.seed, args.seconds, args.kind or list(KINDS))
    if args.json:
        print(json.dumps([vars(outcome) for outcome in outcomes]))
    else:
        print(format_table(tabulate(outcomes)))
        print(f"{len(outcomes)} scenarios, seed {args.seed}, {time.monotonic() - started:.0f} s")
    return int(any(outcome.failed for outcome in outcomes) or not outcomes)


if __name__ == "__main__":
    sys.exit(main())

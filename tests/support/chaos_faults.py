"""Kinds of faults. Each disturbs a run that has been planned; whatever is missing then is asked for
by workers that nobody disturbs.
"""

from __future__ import annotations

import os
import random
import resource
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from evalcore import records
from evalcore.runner.summary import REQUEST_FAILED, REQUEST_RESENT
from tests.support.chaos_lab import CAUSES, DONE, REFUSED, Scenario, kill_worker, wait_for_end
from tests.support.replies import MIXED_FAULTS, SOUND


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

"""Runs under every kind of fault, each compared with an undisturbed one.

    python -m tests.support.chaos --scenarios 500 --seed 1

A scenario is a run of a few cases with faults of one kind at a rate, or of all kinds at once. After
it no sample may be lost or there twice, no journaled answer may have been asked for again, each
fault has to be in the log of the run with its cause, the chains of the journals have to be whole,
and the scores have to be those of the undisturbed run. Prints a table and ends with status 1 where
any of this does not hold.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from evalcore import records
from evalcore.access.signing import generate_key, load_signing_key
from evalcore.benchmarks.sql_understanding.benchmark import SqlUnderstanding
from evalcore.store.index import load_headers
from evalcore.store.seal import seal_run_folder, verify_run_folder
from evalcore.targets.endpoint.dialect import is_answer
from tests.support.chaos_faults import KINDS
from tests.support.chaos_lab import (
    DONE,
    Lab,
    Outcome,
    Scenario,
    plan_scenario,
    summarize_result,
    write_cases,
)
from tests.support.loopback_server import Options, serve
from tests.support.replies import prompt_hash


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

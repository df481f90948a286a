"""Rebuild the runs and cards that come with the project: `python -m tools.shipped_runs`.

Every built-in baseline and control runs on the bundled data, under a fixed run id, into the
read-only second root that the pages show along with a person's own runs.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from msgspec.structs import replace

from evalcore import catalog
from evalcore import settings as configuration
from evalcore.access.policy import OPERATOR
from evalcore.access.secrets import Secrets
from evalcore.results import RunSummary
from evalcore.runner.execute import execute_run
from evalcore.runner.plan import create_folder, plan_run
from evalcore.runner.run_request import RunRequest
from evalcore.settings import Settings
from evalcore.sqlkit.equivalence import decider
from evalcore.store.journal import SAMPLES, pack_journal
from evalcore.target_cards import FILE, TargetCard, save_card
from evalcore.targets.base import KINDS
from evalcore.targets.baseline import VARIANTS, list_baseline_benchmarks

_OWN = TargetCard(organization="Evalboard", licence="MIT")
TARGETS = (*(f"baseline:{name}" for name in VARIANTS), *(f"control:{kind}" for kind in KINDS))
#: Cards of the programs behind the targets; `_OWN` marks those of this project.
CARDS = {
    "baseline:sqlglot": TargetCard(
        name="SQLGlot",
        type="baseline",
        licence="MIT",
        site="https://github.com/tobymao/sqlglot",
    ),
    "baseline:sqlite": TargetCard(
        name="SQLite", type="baseline", licence="Public domain", site="https://sqlite.org"
    ),
    "baseline:duckdb": TargetCard(
        name="DuckDB",
        organization="DuckDB Foundation",
        type="baseline",
        licence="MIT",
        site="https://duckdb.org",
    ),
    "baseline:constant": replace(_OWN, name="Constant answer", type="baseline"),
    "baseline:keywords": replace(_OWN, name="Keyword match", type="baseline"),
    "control:reference": replace(_OWN, name="Control: reference answer"),
    "control:null": replace(_OWN, name="Control: no answer"),
    "control:noop": replace(_OWN, name="Control: input returned"),
    "control:cte": replace(_OWN, name="Control: input in a CTE"),
    "control:limit": replace(_OWN, name="Control: input with a limit"),
    "control:tautology": replace(_OWN, name="Control: input with 1 = 1"),
}
_MAX_QUESTIONS = 1_000  # more than the bundled sets have
_NOT_EVIDENCE = ("worker.lock", "progress.json", "calls", "points.cache")


class ShippedRun(NamedTuple):
    """A run to be made."""

    target: str
    benchmarks: tuple[str, ...]
    run_id: str


def rebuild_shipped_runs(settings: Settings, jobs: int = 1, suite: str = "") -> list[RunSummary]:
    """Replace the shipped runs, or those of one suite, by fresh ones, `jobs` at a time; returns
    their summaries."""
    root = Path(settings.shipped)
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # engines write there as well
        own = replace(settings, data=folder, shipped=folder)
        make_cards(own)
        with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
            planned = [
                entry
                for target in TARGETS
                for entry in _list_target_runs(target)
                if suite in ("", catalog.benchmark_cards()[entry.benchmarks[0]].suite)
            ]
            summaries = list(pool.map(_run_shipped_target, planned, repeat(own)))
        for path in (root / "runs").glob("*"):
            if not suite or path.name in {entry.run_id for entry in planned}:
                shutil.rmtree(path)
        shutil.copytree(own.runs_dir, root / "runs", dirs_exist_ok=True)
        shutil.copy(own.data_dir / FILE, root / FILE)
    return summaries


def make_cards(settings: Settings) -> None:
    """Write the card of every shipped target into the data folder of `settings`."""
    for key, card in CARDS.items():
        save_card(settings, OPERATOR, key, card)
    (settings.data_dir / f"{FILE}.lock").unlink(missing_ok=True)


def _run_shipped_target(planned: ShippedRun, settings: Settings) -> RunSummary:
    decider.MAX_CACHED_TRIALS = _MAX_QUESTIONS  # the targets are asked the same, one by one
    request = RunRequest(target=planned.target, benchmarks=planned.benchmarks)
    run_plan = plan_run(request, settings)
    spec = replace(run_plan.spec, run_id=planned.run_id)
    folder = create_folder(replace(run_plan, spec=spec), settings)
    summary = execute_run(folder, settings, Secrets())
    for name in _NOT_EVIDENCE:  # of use only to a run that may go on
        path = folder.path / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    for name in (SAMPLES, "generations/*.jsonl", "verdicts/*/*.jsonl"):
        for path in folder.path.glob(name):
            pack_journal(path)
    return summary


def _list_target_runs(target: str) -> list[ShippedRun]:
    """A run for each suite that a target answers; the first has the plain name."""
    cards, by_suite = catalog.benchmark_cards(), defaultdict(list)
    for key in _list_target_benchmarks(target):
        by_suite[cards[key].suite].append(key)
    name = f"shipped-{target.replace(':', '-')}"
    return [
        ShippedRun(target, tuple(keys), f"{name}-{suite}" if number else name)
        for number, (suite, keys) in enumerate(by_suite.items())
    ]


def _list_target_benchmarks(target: str) -> tuple[str, ...]:
    """What a target answers: a control what names it, a baseline what it was made for."""
    kind, _, name = target.partition(":")
    if kind == "baseline":
        return list_baseline_benchmarks(name)
    return tuple(key for key, card in catalog.benchmark_cards().items() if name in card.controls)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line: rebuild the runs and print their scores."""
    parser = argparse.ArgumentParser(description="Replace the shipped runs.")
    parser.add_argument("--jobs", type=int, default=1, help="targets at a time (default: 1)")
    about = "replace the runs of this suite alone"
    parser.add_argument("--suite", default="", choices=catalog.suite_cards(), help=about)
    chosen = parser.parse_args(arguments)
    summaries = rebuild_shipped_runs(configuration.load_settings(), chosen.jobs, chosen.suite)
    for summary in summaries:
        scores = {
            key: score.score and round(score.score, 1) for key, score in summary.benchmarks.items()
        }
        print(summary.run_id, summary.state, scores)
    return 0 if all(summary.is_complete for summary in summaries) else 3


if __name__ == "__main__":
    sys.exit(main())

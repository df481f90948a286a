"""The runs that come with the project: `python -m evalcore.runner.shipped` makes them anew.

Every built-in baseline and control runs on the bundled data, under a fixed run id, into the
read-only second root that the pages show beside a person's own runs.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import msgspec

from evalcore import catalog
from evalcore import settings as configuration
from evalcore.records import RunSummary
from evalcore.runner.execute import execute
from evalcore.runner.plan import create_folder, plan
from evalcore.runner.request import RunRequest
from evalcore.secrets import Secrets
from evalcore.settings import Settings
from evalcore.targets.baseline import VARIANTS
from evalcore.targets.control import KINDS

TARGETS = (*(f"baseline:{name}" for name in VARIANTS), *(f"control:{kind}" for kind in KINDS))
_NOT_EVIDENCE = ("worker.lock", "progress.json", "calls")


def make(settings: Settings) -> list[RunSummary]:
    """Replace the shipped runs by fresh ones; returns their summaries."""
    root = Path(settings.shipped)
    shutil.rmtree(root / "runs", ignore_errors=True)
    own = msgspec.structs.replace(settings, data=str(root))
    return [_run(target, own) for target in TARGETS]


def _run(target: str, settings: Settings) -> RunSummary:
    request = RunRequest(target=target, benchmarks=_benchmarks(target))
    made = plan(request, settings)
    spec = msgspec.structs.replace(made.spec, run_id=f"shipped-{target.replace(':', '-')}")
    folder = create_folder(msgspec.structs.replace(made, spec=spec), settings)
    summary = execute(folder, settings, Secrets())
    for name in _NOT_EVIDENCE:  # of use only to a run that may go on
        path = folder.path / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    return summary


def _benchmarks(target: str) -> tuple[str, ...]:
    """What a target answers: controls everything, a baseline what it was made for."""
    kind, _, name = target.partition(":")
    return VARIANTS[name].answers if kind == "baseline" else tuple(catalog.benchmark_cards())


def main() -> int:
    summaries = make(configuration.load())
    for summary in summaries:
        scores = {key: round(score.score, 1) for key, score in summary.benchmarks.items()}
        print(summary.run_id, summary.state, scores)
    return 0 if all(summary.complete for summary in summaries) else 3


if __name__ == "__main__":
    sys.exit(main())

"""Whole runs of an agentic benchmark on a folder of data, and its benchmark alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evalcore import settings as configuration
from evalcore.access.secrets import Secrets
from evalcore.records import Verdict
from evalcore.results import RunSummary
from evalcore.runner.execute import execute_run
from evalcore.runner.plan import create_folder, plan_run
from evalcore.runner.run_request import RunRequest
from evalcore.store.run_folder import RunFolder


def run(
    data: Path,
    benchmark: str,
    target: str,
    *,
    dataset: Path | str = "",
    target_options: dict[str, Any] | None = None,
    max_samples: int | None = None,
    epochs: int = 1,
    **options: Any,
) -> tuple[RunSummary, RunFolder]:
    """One run to its end under the data folder `data`."""
    settings = configuration.load_settings(data)
    request = RunRequest(
        target=target,
        benchmarks=(benchmark,),
        dataset=str(dataset),
        target_options=target_options or {},
        options={benchmark: options} if options else {},
        max_samples=max_samples,
        epochs=epochs,
        use_cache=False,
    )
    folder = create_folder(plan_run(request, settings), settings)
    return execute_run(folder, settings, Secrets()), folder


def verdicts(folder: RunFolder, summary: RunSummary) -> dict[str, Verdict]:
    """The verdicts of a run of one epoch by the id of the sample."""
    return {line.verdict.id: line.verdict for line in folder.read_verdicts(summary.scoring)}

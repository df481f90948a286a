"""A run as a run of Weights & Biases: scores in the summary, cases in a table. Offline unless
somebody asks for more: `wandb sync FOLDER` uploads it later."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evalcore.errors import UsageError
from evalcore.exchange.trackers.cases import (
    CASE_COLUMNS,
    SharedRun,
    flatten_scores,
    import_sdk,
    list_case_row,
)
from evalcore.i18n import Note
from evalcore.records import content_hash, to_plain

EXTRA = "wandb"


def log_wandb_run(run: SharedRun, out: Path, project: str, *, online: bool = False) -> Path:
    """Write the run below `out`; returns its folder. Online, WANDB_API_KEY says whose it is. Equal
    runs have one id, so that a second export renews the first.

    Raises MissingDependency without the extra, UsageError where W&B refuses.
    """
    wandb = import_sdk("wandb", EXTRA)
    try:
        out.mkdir(parents=True, exist_ok=True)
        logged = wandb.init(
            project=project,
            name=run.spec.run_id,
            id=content_hash(run.spec.run_id, 16),
            job_type="evaluation",
            mode="online" if online else "offline",
            dir=str(out),
            config=_build_config(run),
            settings=wandb.Settings(
                silent=True, console="off", save_code=False, disable_git=True, x_disable_stats=True
            ),
        )
        rows = [list_case_row(case) for case in run.cases]
        if rows:
            logged.log({"cases": wandb.Table(columns=list(CASE_COLUMNS), data=rows)})
        logged.summary.update(flatten_scores(run.summary.benchmarks))
        folder = Path(logged.dir).parent
        logged.finish()
    except (OSError, wandb.Error) as error:
        raise UsageError(Note("export_tracker", tracker="W&B", problem=error)) from None
    return folder


def _build_config(run: SharedRun) -> dict[str, Any]:
    spec: dict[str, Any] = to_plain(run.spec)
    return {"target": run.spec.target.key, "evalboard": spec}

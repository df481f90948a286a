"""A run in the experiment trackers of others. In MLflow it is parameters, scores as metrics, and
the cases as an artifact; in Weights & Biases it has the scores in its summary and the cases in a
table, of many the first: then a file has all. It is offline: `wandb sync FOLDER` uploads it."""

from __future__ import annotations

import os
import re
import tempfile
from itertools import islice
from pathlib import Path
from typing import Any

from evalcore.access.secrets import scrub_address
from evalcore.errors import UsageError
from evalcore.exchange.trackers.cases import (
    CASE_COLUMNS,
    SharedRun,
    flatten_scores,
    import_sdk,
    list_case_row,
)
from evalcore.i18n import Note
from evalcore.records import content_hash, to_json, to_plain

_NO_NAME = re.compile(r"[^\w./ -]")  # signs that MLflow refuses in names
_VALUE = 500  # characters of a parameter, of which MLflow bounds the length
_TAG = "evalboard.run_id"


def log_mlflow_run(run: SharedRun, store: str | Path, experiment: str) -> str:
    """Write the run into a folder, or send it to the tracking server whose address `store` is;
    returns MLflow's id. A run that is there already is written anew.

    Raises MissingDependency without the extra, UsageError where MLflow refuses.
    """
    if isinstance(store, Path):
        # Folders are in maintenance, and need nothing but files: what an export is to make.
        os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
        store.mkdir(parents=True, exist_ok=True)
    exceptions = import_sdk("mlflow.exceptions", "mlflow")
    tracking = import_sdk("mlflow.tracking", "mlflow")
    uri = store.resolve().as_uri() if isinstance(store, Path) else store
    try:
        client = tracking.MlflowClient(tracking_uri=uri)
        logged = _start_run(client, run, experiment)
        for name, value in _list_parameters(run).items():
            client.log_param(logged, _NO_NAME.sub("_", name), value[:_VALUE])
        for name, score in flatten_scores(run.summary.benchmarks).items():
            client.log_metric(logged, _NO_NAME.sub("_", name), score)
        with tempfile.TemporaryDirectory(prefix="evalcore-mlflow-") as scratch:
            client.log_artifact(logged, _write_cases(run, Path(scratch)))
        client.set_terminated(logged)
    except (OSError, exceptions.MlflowException) as error:
        problem = scrub_address(str(error), uri)
        raise UsageError(Note("export_tracker", tracker="MLflow", problem=problem)) from None
    return logged


def _start_run(client: Any, run: SharedRun, experiment: str) -> str:
    """A new run in place of an earlier export of the same one."""
    known = client.get_experiment_by_name(experiment)
    identity = known.experiment_id if known else client.create_experiment(experiment)
    query = f"tags.`{_TAG}` = '{run.spec.run_id}'"
    for earlier in client.search_runs([identity], query):
        client.delete_run(earlier.info.run_id)
    tags = {_TAG: run.spec.run_id, "evalboard.origin": run.spec.origin}
    created = client.create_run(identity, tags=tags, run_name=run.spec.run_id)
    return str(created.info.run_id)


def _list_parameters(run: SharedRun) -> dict[str, str]:
    """What was evaluated on what, as texts."""
    parameters = {"target": run.spec.target.key, "epochs": str(run.spec.epochs)}
    parameters |= {f"target.{name}": str(v) for name, v in run.spec.target.options.items()}
    for spec in run.spec.benchmarks:
        parameters[f"{spec.key}.dataset"] = spec.dataset
        parameters[f"{spec.key}.dataset_hash"] = spec.dataset_hash
        parameters[f"{spec.key}.column"] = spec.column
    return parameters


def _write_cases(run: SharedRun, folder: Path) -> str:
    """Write a JSON object per case and line; returns the path of the file."""
    rows = (dict(zip(CASE_COLUMNS, list_case_row(case), strict=True)) for case in run.cases)
    with (folder / "cases.jsonl").open("wb") as file:
        file.writelines(to_json(row, ordered=False) + b"\n" for row in rows)
    return file.name


def log_wandb_run(run: SharedRun, out: Path, project: str, *, online: bool = False) -> Path:
    """Write the run below `out`; returns its folder. Online, WANDB_API_KEY says whose it is. Equal
    runs have one id, so that a second export renews the first.

    Raises MissingDependency without the extra, UsageError where W&B refuses.
    """
    wandb = import_sdk("wandb", "wandb")
    try:
        out.mkdir(parents=True, exist_ok=True)
        logged = wandb.init(
            project=project,
            name=run.spec.run_id,
            id=content_hash(run.spec.run_id, 16),
            job_type="evaluation",
            mode="online" if online else "offline",
            dir=str(out),
            config={"target": run.spec.target.key, "evalboard": to_plain(run.spec)},
            settings=wandb.Settings(
                silent=True, console="off", save_code=False, disable_git=True, x_disable_stats=True
            ),
        )
        rows = map(list_case_row, run.cases)
        if first := list(islice(rows, wandb.Table.MAX_ROWS)):
            logged.log({"cases": wandb.Table(columns=list(CASE_COLUMNS), data=first)})
        if next(rows, None) is not None:
            logged.save(_write_cases(run, Path(logged.dir)), base_path=logged.dir, policy="now")
        logged.summary.update(flatten_scores(run.summary.benchmarks))
        folder = Path(logged.dir).parent
        logged.finish()
    except (OSError, wandb.Error) as error:
        raise UsageError(Note("export_tracker", tracker="W&B", problem=error)) from None
    return folder

"""`evalcore export` to the formats and tools of others: Every Eval Ever, OpenTelemetry, W&B and
MLflow."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalcore.access.secrets import describe_address
from evalcore.cli.parser import CommandParser
from evalcore.cli.terminal import tr, tr_count
from evalcore.errors import UsageError
from evalcore.i18n import Note

if TYPE_CHECKING:
    from evalcore.exchange.trackers.cases import SharedRun
    from evalcore.store.run_folder import RunFolder

RECORDS, OTEL, WANDB, MLFLOW = "every_eval_ever", "otel", "wandb", "mlflow"
FORMS = (RECORDS, OTEL, WANDB, MLFLOW)
#: Those that write a folder.
FOLDER_FORMS = (RECORDS, WANDB, MLFLOW)
_RELATIONSHIPS = ("first_party", "third_party", "collaborative", "other")
_PROJECT = "evalboard"
#: The forms that a flag is for, by its name.
_FLAGS = {
    "organization": (RECORDS, "eval_results"),
    "relationship": (RECORDS,),
    "endpoint": (OTEL, MLFLOW),
    "texts": (OTEL,),
    "project": (WANDB, MLFLOW),
    "online": (WANDB,),
}


def add_tracker_flags(sub: CommandParser) -> None:
    """Add the flags of these forms to the verb `export`."""
    sub.add_argument(
        "--organization",
        metavar="NAME",
        help=f"{RECORDS}, eval_results: who vouches for the scores",
    )
    sub.add_argument(
        "--relationship",
        choices=_RELATIONSHIPS,
        help=f"{RECORDS}: how they stand to the maker of the model (default: third_party)",
    )
    sub.add_argument(
        "--endpoint",
        metavar="URL",
        help=f"{OTEL}: collector that takes OTLP over HTTP, http://localhost:4318/v1/traces; "
        f"{MLFLOW}: tracking server; in place of --out",
    )
    sub.add_argument(
        "--texts", action="store_true", default=None, help=f"{OTEL}: send prompts and answers too"
    )
    sub.add_argument(
        "--project",
        metavar="NAME",
        help=f"{WANDB}: project, {MLFLOW}: experiment (default: {_PROJECT})",
    )
    sub.add_argument(
        "--online", action="store_true", default=None, help=f"{WANDB}: upload it (WANDB_API_KEY)"
    )


def check_tracker_flags(args: argparse.Namespace) -> None:
    """Raise UsageError for a flag of another form."""
    for name, forms in _FLAGS.items():
        if getattr(args, name) is not None and args.format not in forms:
            raise UsageError(Note("cli_flag_of_form", flag=name, form=" and ".join(forms)))


def export_to_tracker(args: argparse.Namespace, folder: RunFolder) -> int:
    """Export a run under one of FORMS."""
    from evalcore.cli.exchange import print_result
    from evalcore.exchange.trackers.cases import read_shared_run
    from evalcore.settings import load_settings

    run = read_shared_run(folder, load_settings(args.data))
    done, text = _EXPORTERS[args.format](args, run)
    print_result(args, {"run": run.spec.run_id, **done}, text)
    return 0


def _require_path(args: argparse.Namespace, kind: str) -> Path:
    if args.out is None:
        other = tr("cli.or_endpoint") if args.format in _FLAGS["endpoint"] else ""
        kind, form = tr(f"cli.kind.{kind}"), args.format
        raise UsageError(Note("cli_out_missing_endpoint", kind=kind, form=form, other=other))
    return Path(args.out)


Export = tuple[dict[str, Any], str]


def _export_records(args: argparse.Namespace, run: SharedRun) -> Export:
    from evalcore.exchange.trackers.every_eval_ever import RecordSource, write_records

    out = _require_path(args, "folder")
    source = RecordSource(
        args.organization or "unknown", args.relationship or "third_party", args.source
    )
    files = write_records(run, out, source)
    names = [file.relative_to(out).as_posix() for file in files]
    text = tr("cli.export.records", out=out, files=tr_count("cli.count_file", len(names)))
    return {"files": names}, "\n".join([text, *names])


def _export_spans(args: argparse.Namespace, run: SharedRun) -> Export:
    from evalcore.exchange.trackers import otel

    if args.endpoint:
        exporter = otel.open_endpoint_exporter(args.endpoint)
        where = describe_address(args.endpoint)
    else:
        out = _require_path(args, "file")
        exporter, where = otel.open_file_exporter(out), str(out)
    count = otel.export_spans(run, exporter, texts=bool(args.texts))
    return {"spans": count}, f"{where}: {tr_count('cli.count_span', count)}"


def _export_wandb(args: argparse.Namespace, run: SharedRun) -> Export:
    from evalcore.exchange.trackers.experiments import log_wandb_run

    out, online = _require_path(args, "folder"), bool(args.online)
    folder = log_wandb_run(run, out, args.project or _PROJECT, online=online)
    text = f"{folder}" if online else f"{folder}\n{tr('cli.export.wandb', folder=folder)}"
    return {"folder": str(folder)}, text


def _export_mlflow(args: argparse.Namespace, run: SharedRun) -> Export:
    from evalcore.exchange.trackers.experiments import log_mlflow_run

    address = args.endpoint or (os.environ.get("MLFLOW_TRACKING_URI") if not args.out else "")
    store = address or _require_path(args, "folder")
    identity = log_mlflow_run(run, store, args.project or _PROJECT)
    where = describe_address(address) if address else store
    return {"mlflow_run": identity}, tr("cli.export.mlflow", where=where, run=identity)


_EXPORTERS: dict[str, Callable[[argparse.Namespace, SharedRun], Export]] = {
    RECORDS: _export_records,
    OTEL: _export_spans,
    WANDB: _export_wandb,
    MLFLOW: _export_mlflow,
}

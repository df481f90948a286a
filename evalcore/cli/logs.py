"""`evalcore import` of the logs of other frameworks, with their kind or without it."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from evalcore.catalog import FRAMEWORKS
from evalcore.cli.terminal import tr

#: The origin that stands for a path alone.
AUTO = "logs"
_PATHS = {
    "inspect": "an .eval or .json log, or a folder of logs",
    "lm_eval": "results_*.json, or the --output_path (--log_samples adds the samples)",
    "lighteval": "the --output-dir (--save-details adds the samples), or results_*.json",
    "evalscope": "an output folder with reports/ and reviews/",
    "helm": "a run folder, or benchmark_output/runs/SUITE",
    "bfcl_eval": "the folder with result/ and score/, or either",
    "tau2_results": "results.json, or the folder simulations/",
    "swebench": "MODEL.RUN.json, or the folder with it, logs/ and the predictions",
    "every_eval_ever": "a record (.json) with its samples beside it, or a folder of records",
}


def add_log_origins(origins: Any, add_common: Callable[..., None]) -> None:
    """Add an origin for each framework, and one that recognizes them."""
    about = "import logs of other frameworks; a path alone does the same"
    sub = origins.add_parser(
        AUTO, help=about, description=f"{about}: {', '.join(FRAMEWORKS.values())}"
    )
    sub.add_path("path", "PATH", "log, or folder of logs")
    add_common(sub, partial(_import_logs, ""))
    for key, title in FRAMEWORKS.items():
        about = f"import logs of {title}: tasks with their samples, read-only"
        sub = origins.add_parser(key, help=about)
        sub.add_path("path", "PATH", _PATHS[key])
        add_common(sub, partial(_import_logs, key))


def insert_log_origin(arguments: Sequence[str], origins: Iterable[str]) -> list[str]:
    """The arguments with an origin in front of a path that stands alone after `import`."""
    words = list(arguments)
    if len(words) < 2 or words[0] != "import" or words[1] in {*origins, "-h", "--help"}:
        return words
    looks_like_path = "/" in words[1] or "." in words[1] or Path(words[1]).exists()
    return [words[0], AUTO, *words[1:]] if looks_like_path else words


def _import_logs(framework: str, args: argparse.Namespace) -> int:
    from evalcore.cli.exchange import print_result, print_stderr
    from evalcore.exchange import staging
    from evalcore.exchange.logs import importer
    from evalcore.settings import load_settings

    done = importer.import_logs(args.path, load_settings(args.data), framework, print_stderr)
    runs = [tr("cli.seal.run", run=run) for run in (*done.created, *done.replaced)]
    print_result(args, vars(done), [*staging.list_import_results(done), *runs])
    return 0

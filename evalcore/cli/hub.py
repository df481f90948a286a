"""`evalcore hub dataset`, `fetch`, `traces` and `results`: what others read on the Hub."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalcore.cli.parser import CommandParser, Verb
from evalcore.cli.run import load_operator_settings
from evalcore.cli.terminal import tr, tr_count
from evalcore.errors import UsageError
from evalcore.i18n import Note

if TYPE_CHECKING:
    from evalcore.settings import Settings
    from evalcore.store.run_folder import RunFolder

_TASK = "BENCHMARK=OWNER/DATASET:TASK[@REVISION]"


def add_publish_actions(actions: Any, add_common: Callable[..., None]) -> None:
    """Add the actions to the verb `hub`."""

    def add(name: str, about: str, verb: Verb) -> CommandParser:
        sub: CommandParser = actions.add_parser(name, help=about)
        add_common(sub, verb)
        return sub

    sub = add("dataset", "write a bundled or own dataset as a benchmark repository", _send_dataset)
    sub.add_argument("name", metavar="NAME", help="name of the dataset")
    _add_folder_flags(sub)
    sub = add("fetch", "fetch a published dataset with the files of its cases", _fetch_dataset)
    sub.add_argument("repository", metavar="OWNER/NAME", help="dataset repository on the Hub")
    about = "branch, tag or commit (default: main)"
    sub.add_argument("--revision", default="main", metavar="R", help=about)
    sub.add_path("--out", "DIR", "folder to write (default: in the data folder)")
    sub = add("traces", "write the conversations of a run as session traces", _send_traces)
    sub.add_argument("run", metavar="RUN", help="id of the run")
    _add_folder_flags(sub)
    sub = add("results", "open a pull request with a run's scores to a model", _send_results)
    sub.add_argument("run", metavar="RUN", help="id of the run")
    sub.add_argument("--model", required=True, metavar="OWNER/MODEL", help="model repository")
    sub.add_repeatable("--hub", _TASK, "task of a score; repeatable")
    sub.add_text("--source", "URL", "address of the evidence")
    sub.add_text("--organization", "NAME", "who gives the evidence")


def _add_folder_flags(sub: CommandParser) -> None:
    sub.add_path("--out", "DIR", "folder to write")
    sub.add_text("--push", "OWNER/NAME", "upload it to this dataset repository")


def _send_dataset(args: argparse.Namespace) -> int:
    from evalcore.exchange.hub_publish import write_dataset_repository

    settings = load_operator_settings(args)
    with _open_folder(args) as folder:
        files = write_dataset_repository(args.name, settings, folder, args.push)
        return _finish(args, settings, folder, files, f"Add the dataset {args.name}")


def _fetch_dataset(args: argparse.Namespace) -> int:
    from evalcore.cli.exchange import print_result, print_stderr
    from evalcore.exchange.hub_publish import fetch_dataset_repository, format_dataset_fetch
    from evalcore.runner.uploads import HUB_SCHEME

    settings = load_operator_settings(args)
    name = args.repository.removeprefix(HUB_SCHEME).removeprefix("datasets/")
    fetched = fetch_dataset_repository(name, args.revision, settings, args.out, print_stderr)
    print_result(args, fetched, format_dataset_fetch(fetched))
    return 0


def _send_traces(args: argparse.Namespace) -> int:
    from evalcore.exchange.hub_publish import write_traces
    from evalcore.exchange.trackers.cases import read_shared_run

    settings = load_operator_settings(args)
    with _open_folder(args) as folder:
        files = write_traces(read_shared_run(_find_run(args, settings), settings), folder)
        return _finish(args, settings, folder, files, f"Add the conversations of run {args.run}")


def _send_results(args: argparse.Namespace) -> int:
    from evalcore.cli.exchange import print_result
    from evalcore.exchange.hub_publish import propose_results
    from evalcore.exchange.hub_store.repository import HubRepository
    from evalcore.exchange.reports import parse_hub_task

    settings = load_operator_settings(args)
    tasks = {}
    for text in args.hub:
        benchmark, _, task = text.partition("=")
        tasks[benchmark] = parse_hub_task(task)
    repository = HubRepository(settings, args.model, "model")
    run = _find_run(args, settings)
    address = propose_results(run, tasks, repository, args.source, args.organization)
    print_result(args, {"pull_request": address}, address)
    return 0


def _find_run(args: argparse.Namespace, settings: Settings) -> RunFolder:
    from evalcore.store.run_folder import find_run

    return find_run(args.run, settings.run_roots)


@contextmanager
def _open_folder(args: argparse.Namespace) -> Iterator[Path]:
    """The folder that is asked for; one that is gone afterwards for what is only uploaded."""
    if args.out is None and not args.push:
        raise UsageError(Note("cli_hub_where"))
    if args.out is not None:
        yield args.out
        return
    with tempfile.TemporaryDirectory(prefix="evalcore-hub-") as scratch:
        yield Path(scratch) / "repository"


def _finish(
    args: argparse.Namespace, settings: Settings, folder: Path, files: list[Path], message: str
) -> int:
    from evalcore.cli.exchange import print_result
    from evalcore.exchange.hub_publish import push_files
    from evalcore.exchange.hub_store.repository import HubRepository

    address = ""
    if args.push:
        address = push_files(folder, files, HubRepository(settings, args.push), message)
    count = tr_count("cli.count_file", len(files))
    names = [file.relative_to(folder).as_posix() for file in files]
    done = {"files": names, "repository": address}
    print_result(args, done, tr("cli.hub.wrote", where=address or folder, files=count))
    return 0

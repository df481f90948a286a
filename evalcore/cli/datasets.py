"""The verb `datasets` of the command line: list, check, validate, add, remove and fetch them."""

from __future__ import annotations

import argparse
import json
import os
import sys
from functools import partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from evalcore import catalog
from evalcore.access.policy import OPERATOR
from evalcore.cli.exchange import (
    add_command_flags,
    load_cli_settings,
    print_command_result,
    print_result,
    print_stderr,
    read_command_flags,
)
from evalcore.cli.parser import AddCommon, CommandParser
from evalcore.cli.terminal import get_language, tr, tr_count, tr_note
from evalcore.errors import FileError, UsageError
from evalcore.i18n import Note

if TYPE_CHECKING:
    from evalcore.catalog import CommandCard
    from evalcore.exchange.hub_rows import HubRows
    from evalcore.runner.dataset_check import DatasetReport
    from evalcore.runner.uploads import Upload
    from evalcore.settings import Settings
    from evalcore.views.datasets import DatasetEntry

_DONE, _BAD = 0, 2


def add_datasets_verb(verbs: Any, add_common: AddCommon) -> None:
    """Add the verb; `add_common` adds the common flags and sets the verb's function."""
    about = "list, check, validate, add, remove or fetch datasets"
    actions = verbs.add_parser("datasets", help=about).add_subparsers(
        required=True, metavar="ACTION"
    )
    sub = actions.add_parser("check", help="check the expected answers of datasets on real engines")
    about = "datasets to check (default: all bundled ones)"
    sub.add_argument("names", nargs="*", metavar="NAME|PATH", help=about)
    about = "datasets to check at a time (default: one per core)"
    sub.add_argument("--jobs", type=_read_count, metavar="N", help=about)
    about = "check every Nth case only (default: every case)"
    sub.add_argument("--every", type=_read_count, default=1, metavar="N", help=about)
    add_common(sub, _check_datasets)
    _add_own(actions, add_common)
    about = "fetch official data, which is not bundled; nothing is installed or run"
    names = actions.add_parser("fetch", help=about).add_subparsers(required=True, metavar="NAME")
    for key, command in catalog.list_command_cards("fetcher").items():
        sub = names.add_parser(key, help=command.about)
        sub.add_path("--out", "DIR", "folder to write (default: in the data folder)")
        add_common(sub, partial(_fetch_for_benchmark, key, command))
        add_command_flags(sub, command)


def _add_own(actions: Any, add_common: AddCommon) -> None:
    about = "list every dataset that --dataset accepts: bundled, fetched and your own"
    add_common(actions.add_parser("list", help=about), _list_datasets)
    about = "check cases, reporting problems by line or row and field; nothing is saved"
    add_common(
        _add_file_arguments(actions.add_parser("validate", help=about)),
        _validate_case_file,
    )
    about = "write a commented starter file of your own cases, valid as it stands"
    sub = actions.add_parser("template", help=about, description=f"{about.capitalize()}.")
    sub.add_argument("benchmark", metavar="BENCHMARK", help="benchmark that the cases belong to")
    sub.add_text("--part", "NAME", "kind of the cases (default: one case of each kind)")
    sub.add_path("--out", "FILE", "file to write (default: standard output)")
    add_common(sub, _write_template)
    about = "save valid cases of your own, a file or rows on the Hub, under a name for --dataset"
    sub = _add_file_arguments(actions.add_parser("add", help=about))
    sub.add_argument("--name", required=True, metavar="NAME", help="name for --dataset")
    for name, what in (("who", "author"), ("licence", "license"), ("note", "note")):
        sub.add_text(f"--{name}", "TEXT", what)
    sub.add_argument("--replace", action="store_true", help="replace a dataset with the same name")
    add_common(sub, _save_case_file)
    about = "move a dataset of your own to the trash in the data folder"
    sub = actions.add_parser("remove", help=about)
    sub.add_argument("name", metavar="NAME", help="name of the dataset")
    sub.add_argument("--benchmark", required=True, metavar="KEY", help="its benchmark")
    add_common(sub, _remove_dataset)


def _add_file_arguments(sub: CommandParser) -> CommandParser:
    about = "JSON Lines, or CSV with a header; or hf://OWNER/NAME[@REVISION][:CONFIG[/SPLIT]]"
    sub.add_argument("file", metavar="FILE", help=about)
    about = "benchmark that the cases belong to"
    sub.add_argument("--benchmark", required=True, metavar="KEY", help=about)
    about = "kind of the cases without a `metric` field (default: from the file name)"
    sub.add_text("--part", "NAME", about)
    return sub


def _read_count(text: str) -> int:
    """A number of at least 1; raises ValueError, which argparse reports."""
    if (count := int(text)) < 1:
        raise ValueError
    return count


def _check_datasets(args: argparse.Namespace) -> int:
    from evalcore.records import to_json
    from evalcore.runner import dataset_check

    settings, reports = load_cli_settings(args), []
    for card in [] if args.names else catalog.benchmark_cards().values():
        if card.dataset and (extra := catalog.find_missing_extra(card)):
            print(tr("cli.datasets.extra", dataset=card.dataset, extra=extra), file=sys.stderr)
    jobs = args.jobs or os.cpu_count() or 1
    for report in dataset_check.check_datasets(args.names, settings, jobs, args.every):
        reports.append(report)
        if not args.json:
            print(_format_check(report), flush=True)
    if args.json:
        print(to_json(reports, ordered=False).decode())
    return _BAD if any(report.findings for report in reports) else _DONE


def _format_check(report: DatasetReport) -> str:
    """A line, and one more for each problem."""
    head = tr(
        "cli.datasets.checked",
        dataset=report.dataset,
        samples=tr_count("cli.count_sample", report.samples),
        counterexamples=tr_count("cli.count_counterexample", report.counterexamples),
        engines=", ".join(f"{name} {version}" for name, version in report.engines.items()),
        problems=tr_count("cli.count_problem", len(report.findings)),
        hash=report.hash,
    )
    problems = (f"  {issue.sample}: {tr_note(issue.problem)}" for issue in report.findings)
    return "\n".join([head, *problems])


def load_dataset_entries(settings: Settings) -> list[DatasetEntry]:
    """Every dataset; the numbers of each are ready."""
    from evalcore.runner.jobs import data_client
    from evalcore.views import datasets

    entries = datasets.list_dataset_entries(settings)
    locations = [
        data_client.DatasetLocation(entry.benchmark, entry.path, entry.options) for entry in entries
    ]
    data_client.ensure_indexes(locations, settings)
    return entries


def _list_datasets(args: argparse.Namespace) -> int:
    from evalcore.views import datasets

    settings = load_cli_settings(args)
    rows = []
    for entry in load_dataset_entries(settings):
        numbers = datasets.read_dataset_summary(settings, entry)
        about = {"samples": 0, "hash": ""} if numbers is None else _build_dataset_numbers(numbers)
        rows.append(
            {"name": entry.name, "benchmark": entry.benchmark, "origin": entry.origin, **about}
        )
    if args.json:
        print(json.dumps(rows))
    else:
        for row in rows:
            print("{name:32} {benchmark:20} {origin:8} {samples:6} {hash}".format(**row))
    return _DONE


def _build_dataset_numbers(numbers: Any) -> dict[str, Any]:
    """Build the numbers of a dataset for a list, or the reason why there are none."""
    fields = {"samples": numbers.samples, "hash": numbers.hash}
    return fields | ({"problem": numbers.problem} if numbers.problem else {})


def _validate_case_file(args: argparse.Namespace) -> int:
    from evalcore.runner.jobs import data_client

    upload, rows = _read_upload(args)
    validation = data_client.validate_upload(upload, OPERATOR, load_cli_settings(args))
    return _print_validation(args, validation, None, rows)


def _write_template(args: argparse.Namespace) -> int:
    from evalcore.runner.jobs import data_client
    from evalcore.runner.uploads import build_starter, find_upload_form

    parts = find_upload_form(args.benchmark).parts
    if args.part not in ("", *parts):
        raise UsageError(Note("cli_part", part=args.part, names=", ".join(parts)))
    settings = load_cli_settings(args)
    chosen = [args.part] if args.part else parts
    described = data_client.load_upload_templates(args.benchmark, chosen, settings)
    if not described:
        raise UsageError(Note("cli_no_example", benchmark=args.benchmark))
    text = build_starter(args.benchmark, described, get_language())
    if args.out is None:
        sys.stdout.write(text)
        return _DONE
    if args.out.exists():
        raise UsageError(Note("cli_out_exists", path=args.out))
    try:
        args.out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise FileError(f"--out {args.out}", error) from None
    print_result(args, {"path": str(args.out)}, tr("cli.datasets.wrote", path=args.out))
    return _DONE


def _save_case_file(args: argparse.Namespace) -> int:
    from evalcore.runner.jobs import data_client
    from evalcore.store import datasets as own_datasets

    settings = load_cli_settings(args)
    fields = {name: getattr(args, name) for name in ("benchmark", "name", "who", "licence", "note")}
    own_datasets.check_card(settings, data_client.OwnCard(**fields))  # before anything is fetched
    upload, rows = _read_upload(args)
    if rows is not None:
        fields |= {"source": rows.source, "licence": args.licence or rows.licence}
    validation, card = data_client.save_upload(
        upload, data_client.OwnCard(**fields), OPERATOR, settings, replace=args.replace
    )
    return _print_validation(args, validation, card, rows)


def _print_validation(
    args: argparse.Namespace, validation: Any, card: Any, rows: HubRows | None
) -> int:
    """Print the errors, or the numbers and the command that runs the dataset."""
    from evalcore.records import to_plain

    if args.json:
        print(json.dumps(to_plain({"validation": validation, "card": card})))
        return _DONE if validation.ok else _BAD
    for error in validation.errors:
        line = rows.locate_line(error.line) if rows else tr("cli.datasets.line", line=error.line)
        position = ", ".join(filter(None, [line if error.line else "", error.field]))
        print(f"{position or PurePath(args.file).name}: {tr_note(error.problem)}")
    if validation.errors:
        count = tr_count("cli.count_problem", len(validation.errors))
        print(tr("cli.datasets.more") if validation.more else count)
        if rows is not None and rows.whole:
            print(tr_note(rows.whole))
        return _BAD
    cases = tr_count("cli.count_cases", validation.summary.samples)
    print(tr("cli.datasets.cases", cases=cases, hash=validation.summary.hash))
    if validation.unconfirmed:
        unconfirmed = {"count": validation.unconfirmed, "reason": tr_note(validation.reason)}
        print(tr("cli.datasets.unconfirmed", **unconfirmed))
    if rows is not None:
        print(tr("cli.datasets.from", source=rows.source))
        if rows.unread:
            names = ", ".join(rows.unread)
            print(tr("cli.datasets.unread", benchmark=args.benchmark, names=names))
        if rows.whole:
            print(tr_note(rows.whole))
    if card is not None:
        flags = f"--benchmarks {card.benchmark} --dataset {card.name}"
        print(tr("cli.datasets.next", command=f"evalcore run --target TARGET {flags}"))
    return _DONE


def _read_upload(args: argparse.Namespace) -> tuple[Upload, HubRows | None]:
    """What is handed in, with the rows that it is made of where it lies on the Hub."""
    from evalcore.runner.jobs.data_client import Upload
    from evalcore.runner.uploads import HUB_SCHEME, MAX_FILE_BYTES, find_upload_form, guess_part

    if args.file.startswith(HUB_SCHEME):
        from evalcore.exchange.hub_rows import read_hub_rows

        rows = read_hub_rows(args.file, args.benchmark, args.part)
        part = rows.part or find_upload_form(args.benchmark).parts[0]
        return Upload(args.benchmark, f"rows{rows.suffix}", rows.content, part), rows
    path = Path(args.file)
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise FileError(path, error) from None
    part = args.part or guess_part(args.benchmark, path.name)
    return Upload(args.benchmark, path.name, content, part), None


def _remove_dataset(args: argparse.Namespace) -> int:
    from evalcore.runner.jobs import data_client

    settings = load_cli_settings(args)
    version = data_client.remove_dataset(args.benchmark, args.name, OPERATOR, settings)
    trash_path = settings.data_dir / "trash" / "datasets" / args.benchmark / args.name / version
    print_result(args, {"trash": str(trash_path)}, tr("cli.datasets.removed", path=trash_path))
    return _DONE


def _fetch_for_benchmark(key: str, command: CommandCard, args: argparse.Namespace) -> int:
    flags = read_command_flags(args, command)
    done = catalog.call_reference(
        command.run, key, load_cli_settings(args), args.out, flags, print_stderr
    )
    return print_command_result(args, done)

"""The verbs that exchange results: export, import, verify and hub."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalcore import catalog, settings
from evalcore.cli import hub, logs, terminal, trackers
from evalcore.cli.parser import AddCommon, CommandParser
from evalcore.cli.terminal import tr, tr_count, tr_note
from evalcore.errors import FileError, UsageError
from evalcore.i18n import Note
from evalcore.plain_text import to_terminal_text

if TYPE_CHECKING:
    from evalcore.catalog import CommandCard, CommandResult
    from evalcore.exchange.bundle.importer import ImportedBundle
    from evalcore.exchange.hub_store.pull import PullResult
    from evalcore.exchange.hub_store.push import PushResult
    from evalcore.settings import Settings
    from evalcore.store.run_folder import RunFolder

REPORTS = ("json", "csv", "md", "html")
SCALE = "scale"
EVAL_RESULTS = "eval_results"
BUNDLE = "bundle"
_DONE = 0


def add_exchange_verbs(verbs: Any, add_common: AddCommon) -> None:
    """Add the verbs; `add_common` adds the common flags and sets the verb's function."""
    about = "write a report of a run, its answers for an official evaluation, or a full bundle"
    sub = verbs.add_parser("export", help=about)
    sub.add_argument("run", metavar="RUN", help="id of the run")
    sub.add_argument("--format", choices=_list_export_forms(), required=True, help="what to write")
    sub.add_path(
        "--out",
        "PATH",
        "file to write (reports: default stdout); a folder for " + ", ".join(_list_folder_forms()),
    )
    sub.add_repeatable(
        "--hub",
        "BENCHMARK=OWNER/DATASET:TASK[@REVISION]",
        f"{EVAL_RESULTS}: Hugging Face Hub task that a score belongs to; repeatable",
    )
    sub.add_text(
        "--source",
        "URL",
        f"{EVAL_RESULTS}: address of the evidence; {trackers.RECORDS}: of the organization",
    )
    trackers.add_tracker_flags(sub)
    add_common(sub, _export_run)
    for key, command in catalog.list_command_cards("exporter").items():
        add_command_flags(sub, command, f"{key}: ")
    _add_import(verbs, add_common)
    about = "re-execute published answers and compare with the published verdicts"
    sub = verbs.add_parser("verify", help=about)
    sub.add_argument("origin", choices=("scale",), help="publisher")
    sub.add_path("path", "PATH", "SCALE's folder public/data")
    sub.add_path("--out", "FILE.jsonl", "write one line per disagreement")
    sub.add_number(
        "--jobs",
        "N",
        "worker processes (default: one per core); what is decided is journaled in the data "
        "folder, so repeating the command continues where it stopped",
    )
    sub.add_path(
        "--report",
        "FOLDER",
        "write judge_errors.json, .csv and .md: wrong verdicts per model, month and metric",
    )
    sub.add_path(
        "--export",
        "FOLDER",
        "write corrected_board.json, .csv and .md: each published score beside the score with "
        "the decided cases corrected, marked as ours",
    )
    add_common(sub, _verify_published)


def _add_import(verbs: Any, add_common: AddCommon) -> None:
    about = "import published results, and logs of other frameworks, as read-only runs"
    origins = verbs.add_parser("import", help=about).add_subparsers(required=True, metavar="ORIGIN")
    logs.add_log_origins(origins, add_common)
    about = "import the boards published by SCALE, with their verdicts"
    sub = origins.add_parser(SCALE, help=about)
    sub.add_path("path", "PATH", "SCALE's folder public/data")
    sub.add_text("--month", "YYYY-MM", "import one month (default: all)")
    add_common(sub, _import_scale)
    for key, command in catalog.list_command_cards("importer").items():
        sub = origins.add_parser(key, help=command.about)
        sub.add_path("path", "PATH", command.path_about)
        add_common(sub, partial(_import_for_benchmark, key, command))
        add_command_flags(sub, command)
    about = "import a run submitted as a bundle, and rescore its answers here"
    sub = origins.add_parser(BUNDLE, help=about)
    sub.add_path("path", "FILE.zip", "the bundle")
    sub.add_text("--dataset", "D", "dataset with its cases (default: by name)")
    add_common(sub, _import_bundle)


def insert_import_origin(arguments: Sequence[str]) -> list[str]:
    """The arguments with the origin of a log, where `import` is followed by a path alone."""
    own = (SCALE, BUNDLE, *catalog.list_command_cards("importer"))
    return logs.insert_log_origin(arguments, (*own, logs.AUTO, *catalog.FRAMEWORKS))


def _list_export_forms() -> tuple[str, ...]:
    exporters = catalog.list_command_cards("exporter")
    return (*REPORTS, SCALE, *exporters, EVAL_RESULTS, BUNDLE, *trackers.FORMS)


def _list_folder_forms() -> list[str]:
    """List the formats that are written as a folder."""
    exporters = catalog.list_command_cards("exporter")
    folders = (key for key, command in exporters.items() if command.output == "folder")
    return [SCALE, *folders, *trackers.FOLDER_FORMS]


def add_command_flags(sub: CommandParser, command: CommandCard, prefix: str = "") -> None:
    """Add the flags of a benchmark's command, except those that the verb already has."""
    for flag in command.flags:
        with suppress(argparse.ArgumentError):
            sub.add_argument(
                f"--{flag.name}",
                dest=f"flag_{flag.name}",
                default=flag.default,
                metavar=None if flag.choices else flag.metavar,
                choices=flag.choices or None,
                help=f"{prefix}{flag.about}".replace("%", "%%"),
            )


def read_command_flags(args: argparse.Namespace, command: CommandCard) -> dict[str, str]:
    """Read the values typed for the flags of a benchmark's command."""
    return {flag.name: getattr(args, f"flag_{flag.name}", flag.default) for flag in command.flags}


def load_cli_settings(args: argparse.Namespace) -> Settings:
    return settings.load_settings(args.data)


def _export_run(args: argparse.Namespace) -> int:
    from evalcore.exchange import reports
    from evalcore.store import run_folder

    settings = load_cli_settings(args)
    exporters = catalog.list_command_cards("exporter")
    chosen = exporters.get(args.format)
    own_flags = [flag.name for flag in chosen.flags] if chosen else []
    for key, command in exporters.items():
        for flag in command.flags:
            typed = read_command_flags(args, command)[flag.name] != flag.default
            if typed and flag.name not in own_flags:
                raise UsageError(Note("cli_flag_of_form", flag=flag.name, form=key))
    if args.hub and args.format != EVAL_RESULTS:
        raise UsageError(Note("cli_flag_of_form", flag="hub", form=EVAL_RESULTS))
    if args.source and args.format not in (EVAL_RESULTS, trackers.RECORDS):
        forms = f"{EVAL_RESULTS}, {trackers.RECORDS}"
        raise UsageError(Note("cli_flag_of_form", flag="source", form=forms))
    trackers.check_tracker_flags(args)
    folder = run_folder.find_run(args.run, settings.run_roots)
    if args.format in _EXPORTERS:
        return _EXPORTERS[args.format](args, folder)
    if args.format in exporters:
        return _export_for_benchmark(args, folder, exporters[args.format])
    gated, language = settings.show_gated, terminal.get_language()
    parts = reports.iterate_report(folder, args.format, show_gated=gated, language=language)
    return _write_report_parts(args, parts)


def _write_report_parts(args: argparse.Namespace, parts: Iterable[str]) -> int:
    """Write a text to the file of --out, or to standard output, piece by piece."""
    from evalcore.store.run_folder import write_atomic

    rest = iter(parts)
    first = next(rest, "")  # before any file is touched: a run without a report says so here
    if args.out is None:
        sys.stdout.writelines(chain([first], rest))
        return _DONE
    try:
        if args.out.exists() and not args.out.is_file():  # a pipe or a device
            with args.out.open("w", encoding="utf-8") as file:
                file.writelines(chain([first], rest))
        else:
            write_atomic(args.out, (part.encode() for part in chain([first], rest)))
    except OSError as error:
        raise FileError(f"--out {args.out}", error) from None
    return _DONE


def _require_output_path(args: argparse.Namespace, kind: str = "folder") -> Path:
    if args.out is None:
        raise UsageError(Note("cli_out_missing", kind=tr(f"cli.kind.{kind}"), form=args.format))
    return Path(args.out)


def _export_for_benchmark(args: argparse.Namespace, folder: RunFolder, command: CommandCard) -> int:
    out = _require_output_path(args, command.output)
    flags = read_command_flags(args, command)
    done = catalog.call_reference(command.run, args.format, folder, out, flags)
    return print_command_result(args, done)


def print_command_result(args: argparse.Namespace, done: CommandResult) -> int:
    """Print what a benchmark's command did; its remarks go to standard error."""
    print_result(args, done.data, done.text)
    for remark in done.remarks:
        print_stderr(remark)
    return _DONE


def _export_scale(args: argparse.Namespace, folder: RunFolder) -> int:
    from evalcore.exchange.scale import exporter

    out = _require_output_path(args)
    done = exporter.export_scale_run(folder, out)
    summary = {"month": done.month, "model": done.model, "files": done.files}
    print_result(
        args,
        summary,
        tr(
            "cli.export.scale",
            out=out,
            files=tr_count("cli.count_file", len(done.files)),
            model=done.model,
            month=done.month,
        ),
    )
    if done.unmeasured:
        print_stderr(tr_count("cli.export.unmeasured", done.unmeasured))
    return _DONE


def _export_eval_results(args: argparse.Namespace, folder: RunFolder) -> int:
    from evalcore.exchange import reports

    hub_tasks = {}
    for text in args.hub:
        benchmark, _, hub_task = text.partition("=")
        hub_tasks[benchmark] = reports.parse_hub_task(hub_task)
    organization = args.organization or ""
    text = reports.render_eval_results(folder, hub_tasks, args.source, organization)
    return _write_report_parts(args, [text])


def _export_bundle(args: argparse.Namespace, folder: RunFolder) -> int:
    from evalcore.exchange.bundle import exporter

    out = _require_output_path(args, "file")
    done = exporter.export_bundle(folder, out, load_cli_settings(args))
    cases = tr_count("cli.count_cases", done.cases)
    print_result(args, done, tr("cli.export.bundle", out=out, cases=cases, run=done.run))
    if done.unsealed:
        print_stderr(tr("cli.export.unsealed", reason=tr_note(done.unsealed), out=out))
    if done.redacted:
        print_stderr(tr_count("cli.export.redacted", done.redacted))
    if done.gated:
        print_stderr(tr_count("cli.export.gated", done.gated, out=out))
    return _DONE


#: Forms of this package apart from reports; benchmarks add those of their official evaluations.
_EXPORTERS: dict[str, Callable[[argparse.Namespace, RunFolder], int]] = {
    SCALE: _export_scale,
    EVAL_RESULTS: _export_eval_results,
    BUNDLE: _export_bundle,
    **dict.fromkeys(trackers.FORMS, trackers.export_to_tracker),
}


def _import_scale(args: argparse.Namespace) -> int:
    from evalcore.exchange import staging
    from evalcore.exchange.scale import importer

    done = importer.import_scale_tree(args.path, load_cli_settings(args), args.month, print_stderr)
    print_result(args, vars(done), staging.list_import_results(done))
    return _DONE


def _import_for_benchmark(key: str, command: CommandCard, args: argparse.Namespace) -> int:
    flags = read_command_flags(args, command)
    done = catalog.call_reference(
        command.run, key, load_cli_settings(args), args.path, flags, print_stderr
    )
    return print_command_result(args, done)


def _import_bundle(args: argparse.Namespace) -> int:
    from evalcore.exchange.bundle import importer

    done = importer.import_bundle(args.path, load_cli_settings(args), args.dataset, print_stderr)
    print_result(args, done, _format_imported_bundle(done))
    return _DONE


def _format_imported_bundle(done: ImportedBundle) -> str:
    """Format what became of the run, then each claim next to the score computed here."""
    became = tr(f"cli.bundle.became.{done.became}")
    origin = {"target": done.target, "source": done.source_run}
    lines = [tr("cli.bundle.run", run=done.run, became=became, **origin)]
    if done.signer:
        lines.append(tr("cli.bundle.sealed", signer=done.signer, time=done.sealed_at))
    for claim in done.scores:
        claimed, here = (
            tr("cli.bundle.not_scored") if score is None else f"{score:.2f}"
            for score in (claim.claimed, claim.recomputed)
        )
        scores = {"claimed": claimed, "here": here, "level": claim.level}
        counts = {"equal": claim.equal, "verdicts": claim.verdicts}
        lines.append(tr("cli.bundle.claim", benchmark=claim.benchmark, **scores, **counts))
        kept = claim.kept.items()
        why = (tr("cli.bundle.kept", count=n, reason=tr_note(reason)) for reason, n in kept)
        lines += [f"  {line}" for line in why]
        if claim.unconfirmed:
            unconfirmed = {"count": claim.unconfirmed, "reason": tr_note(claim.reason)}
            lines.append(f"  {tr('cli.datasets.unconfirmed', **unconfirmed)}")
    return "\n".join(lines)


def print_result(args: argparse.Namespace, done: Any, text: str | Sequence[str]) -> None:
    """Print the result as JSON if --json is set, else as text."""
    from evalcore.records import to_json

    lines = [text] if isinstance(text, str) else text
    shown = to_terminal_text("\n".join(map(tr_note, lines)))
    print(to_json(done, ordered=False).decode() if args.json else shown)


def print_stderr(line: str) -> None:
    print(tr_note(line), file=sys.stderr, flush=True)


def _verify_published(args: argparse.Namespace) -> int:
    from evalcore.exchange.scale import judge_errors, verify

    if args.jobs is not None and args.jobs < 1:
        raise UsageError(Note("cli_jobs", number=args.jobs))
    settings = load_cli_settings(args)
    is_watched = not args.json and sys.stderr.isatty()
    with _draw_verify_progress() if is_watched else nullcontext(lambda *_: None) as progress:
        verified = verify.verify_published_answers(
            args.path,
            Path(settings.datasets) / "scale_twins" / "logical_equivalence.jsonl",
            Path(settings.data) / verify.JOURNAL,
            jobs=args.jobs or os.cpu_count() or 1,
            progress=progress,
        )
    report = verify.summarize_agreement(verified)
    if args.out:
        lines = (json.dumps(d, ensure_ascii=False) for d in verify.list_disagreements(report))
        args.out.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    paths = []
    if args.report:
        errors = judge_errors.count_judge_errors(verified)
        paths += judge_errors.write_judge_errors(args.report, errors)
    if args.export:
        boards = judge_errors.correct_boards(args.path, verified)
        paths += judge_errors.write_corrected_boards(args.export, boards)
    print_result(args, report, verify.format_verification(report))
    for path in paths:
        print_stderr(tr("cli.verify.written", path=path))
    return _DONE


@contextmanager
def _draw_verify_progress() -> Iterator[Callable[[int, int, int], None]]:
    """Draw a bar on standard error for as long as the block lasts; yields what moves it on. The
    time that remains is estimated from what was decided now, not from what the journal held."""
    from evalcore.exchange.progress_bar import build_progress_bar

    with build_progress_bar() as bar:
        task = bar.add_task(tr("cli.verify.deciding"), total=None)

        def move_bar(decided: int, total: int, new: int) -> None:
            if not new:
                bar.update(task, total=total, completed=decided)
                bar.reset(task, total=total, completed=decided)
            else:
                bar.update(task, completed=decided)

        yield move_bar


_INCOMPLETE = 3


def add_hub_verb(verbs: Any, add_common: AddCommon) -> None:
    """Add the verb; `add_common` adds the common flags and sets the verb's function."""
    about = "sync results with the Hugging Face Hub, and publish there (HF_TOKEN)"
    actions = verbs.add_parser("hub", help=about).add_subparsers(required=True, metavar="ACTION")
    about = "upload finished runs, your own datasets and cards that are not on the Hub yet"
    sub = actions.add_parser("push", help=about)
    _add_repo_flag(sub)
    sub.add_argument("runs", nargs="*", metavar="RUN", help="runs to upload (default: everything)")
    add_common(sub, _push_results)
    about = "download what is missing here; nothing here is overwritten"
    sub = actions.add_parser("pull", help=about)
    _add_repo_flag(sub)
    sub.add_argument(
        "--foreign",
        action="store_true",
        help="also import what other installations uploaded, rescored and marked as theirs",
    )
    add_common(sub, _pull_results)
    hub.add_publish_actions(actions, add_common)


def _add_repo_flag(sub: CommandParser) -> None:
    sub.add_text("--repo", "OWNER/NAME", "repository (default: the setting hub_repo)")


def _push_results(args: argparse.Namespace) -> int:
    from evalcore.exchange.hub_store.push import push_results

    pushed = push_results(load_cli_settings(args), args.repo, args.runs, print_stderr)
    print_result(args, pushed, _format_pushed_runs(pushed))
    return _INCOMPLETE if pushed.held else 0


def _pull_results(args: argparse.Namespace) -> int:
    from evalcore.exchange.hub_store.pull import pull_results

    pulled = pull_results(
        load_cli_settings(args), args.repo, foreign=args.foreign, progress=print_stderr
    )
    print_result(args, pulled, _format_pulled_runs(pulled))
    return _INCOMPLETE if pulled.refused else 0


def _format_pushed_runs(pushed: PushResult) -> list[str]:
    runs = tr_count("cli.count_run", len(pushed.sent))
    lines = [tr("cli.hub.pushed", repo=pushed.repo, runs=runs, same=pushed.same)]
    lines += [tr_count("cli.hub.removed", len(pushed.removed))] if pushed.removed else []
    lines += [tr("cli.hub.extras")] if pushed.extras else []
    held = pushed.held.items()
    return lines + [tr("cli.hub.held", run=run, reason=tr_note(why)) for run, why in held]


def _format_pulled_runs(pulled: PullResult) -> list[str]:
    counts = {"renewed": len(pulled.renewed), "same": pulled.same}
    runs = tr_count("cli.count_run", len(pulled.taken))
    lines = [tr("cli.hub.pulled", repo=pulled.repo, runs=runs, **counts)]
    lines += [tr("cli.hub.also", names=", ".join(pulled.extras))] if pulled.extras else []
    lines += [tr("cli.hub.differs", run=run) for run in pulled.kept]
    if pulled.foreign and not pulled.imported:
        lines.append(tr_count("cli.hub.foreign", len(pulled.foreign)))
    lines += [tr("cli.hub.imported", run=run) for run in pulled.imported]
    lines += [f"{name}: {tr_note(why)}" for name, why in pulled.unconfirmed.items()]
    refused = pulled.refused.items()
    return lines + [tr("cli.hub.refused", name=name, reason=tr_note(why)) for name, why in refused]

"""The verbs for what goes out and comes in: export, import, verify and hub."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalcore.errors import UsageError
from evalcore.plain_text import format_count

if TYPE_CHECKING:
    from evalcore.exchange.bundle.importer import ImportedBundle
    from evalcore.exchange.hub_store.pull import PullResult
    from evalcore.exchange.hub_store.push import PushResult
    from evalcore.exchange.staging import ImportResult
    from evalcore.settings import Settings
    from evalcore.store.run_folder import RunFolder

# The verbs of the command line for what goes out and comes in: export, import, verify.

Verb = Callable[[argparse.Namespace], int]
REPORTS = ("json", "csv", "md", "html")
SCALE, BFCL, GAIA, SWE_BENCH = "scale", "bfcl", "gaia", "swe_bench"
EVAL_RESULTS = "eval_results"
BUNDLE = "bundle"
PATCHES = ("official", "repaired")
_DONE = 0


def add_exchange_verbs(
    verbs: Any, add_common: Callable[[argparse.ArgumentParser, Verb], None]
) -> None:
    """Add the verbs; `add_common` adds the flags that every verb has and sets its function."""
    about = "write a report of a run, its answers as official evaluations read them, or all of it"
    sub = verbs.add_parser("export", help=about, description=about)
    sub.add_argument("run", metavar="RUN")
    sub.add_argument("--format", choices=(*REPORTS, *_EXPORTERS), required=True)
    sub.add_argument(
        "--out",
        type=Path,
        metavar="PATH",
        help="a file (reports: default stdout); a folder for scale and bfcl",
    )
    sub.add_argument(
        "--patch",
        choices=PATCHES,
        help="of swe_bench: as officially extracted (default), or put into a form that applies",
    )
    sub.add_argument(
        "--hub",
        action="append",
        default=[],
        metavar="BENCHMARK=OWNER/DATASET:TASK[@REVISION]",
        help=f"of {EVAL_RESULTS}: where on the Hugging Face Hub a score belongs; repeat for more",
    )
    sub.add_argument(
        "--source", default="", metavar="URL", help=f"of {EVAL_RESULTS}: where the evidence is"
    )
    add_common(sub, _export_run)
    _add_import(verbs, add_common)
    about = "decide published answers again by execution, and compare with the published verdicts"
    sub = verbs.add_parser("verify", help=about, description=about)
    sub.add_argument("origin", choices=("scale",))
    sub.add_argument("path", type=Path, metavar="PATH", help="SCALE's folder public/data")
    sub.add_argument("--out", type=Path, metavar="FILE.jsonl", help="a line per disagreement")
    add_common(sub, _verify_published)


def _add_import(verbs: Any, add_common: Callable[[argparse.ArgumentParser, Verb], None]) -> None:
    about = "take in what others published, as runs that are shown and never repeated"
    origins = verbs.add_parser("import", help=about, description=about).add_subparsers(
        required=True, metavar="ORIGIN"
    )
    about = "take in the boards that SCALE published, with their verdicts"
    sub = origins.add_parser(SCALE, help=about, description=about)
    sub.add_argument("path", type=Path, metavar="PATH", help="SCALE's folder public/data")
    sub.add_argument("--month", default="", metavar="YYYY-MM", help="one month (default: all)")
    add_common(sub, _import_scale)
    about = "take in official BFCL result files and score their answers here"
    sub = origins.add_parser(BFCL, help=about, description=about)
    sub.add_argument("path", type=Path, metavar="PATH", help="the folder result/, around or in it")
    sub.add_argument(
        "--dataset", default="", metavar="D", help="the official data (default: what was fetched)"
    )
    sub.add_argument(
        "--mode", choices=("fc", "prompt"), help="how the answers were asked for (default: by form)"
    )
    sub.add_argument(
        "--month", default="", metavar="YYYY-MM", help="when (default: by folder or file)"
    )
    add_common(sub, _import_bfcl)
    about = "take in a run that was handed in as a bundle, and score its answers again here"
    sub = origins.add_parser(BUNDLE, help=about, description=about)
    sub.add_argument("path", type=Path, metavar="FILE.zip")
    sub.add_argument(
        "--dataset", default="", metavar="D", help="where its cases are here (default: by name)"
    )
    add_common(sub, _import_bundle)


def _load_cli_settings(args: argparse.Namespace) -> Settings:
    from evalcore import settings

    return settings.load_settings(args.data)


def _export_run(args: argparse.Namespace) -> int:
    from evalcore.exchange import reports
    from evalcore.store import run_folder

    settings = _load_cli_settings(args)
    if args.patch and args.format != SWE_BENCH:
        raise UsageError(f"--patch is for --format {SWE_BENCH} only; drop it")
    if (args.hub or args.source) and args.format != EVAL_RESULTS:
        raise UsageError(f"--hub and --source are for --format {EVAL_RESULTS} only; drop them")
    folder = run_folder.find_run(args.run, settings.run_roots)
    if args.format in _EXPORTERS:
        return _EXPORTERS[args.format](args, folder)
    return _write_report_text(
        args, reports.render_report(folder, args.format, show_gated=settings.show_gated)
    )


def _write_report_text(args: argparse.Namespace, text: str) -> int:
    """A text to the file of --out, else to standard output."""
    if args.out is None:
        sys.stdout.write(text)
        return _DONE
    try:
        args.out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--out {args.out}: {error.strerror}") from None
    return _DONE


def _require_output_path(args: argparse.Namespace, kind: str = "folder") -> Path:
    if args.out is None:
        raise UsageError(f"--out is missing: the {kind} that --format {args.format} writes")
    return Path(args.out)


def _export_scale(args: argparse.Namespace, folder: RunFolder) -> int:
    from evalcore.exchange.scale import exporter

    out = _require_output_path(args)
    done = exporter.export_scale_run(folder, out)
    summary = {"month": done.month, "model": done.model, "files": done.files}
    _print_result(
        args,
        summary,
        f"{out}: {format_count(len(done.files), 'file')} for {done.model} in {done.month}",
    )
    if done.unmeasured:
        _print_stderr(f"{done.unmeasured} cases without a verdict went out as Fail")
    return _DONE


def _export_bfcl(args: argparse.Namespace, folder: RunFolder) -> int:
    from evalcore.exchange.bfcl import exporter

    out = _require_output_path(args)
    done = exporter.export_bfcl_run(folder, out)
    _print_result(
        args,
        done,
        f"{out}: {format_count(len(done.files), 'file')}, "
        f"{format_count(done.answers, 'answer')} of {done.model}",
    )
    if done.failed:
        _print_stderr(f"{done.failed} failed requests went out as upstream writes them")
    if done.left_out:
        _print_stderr(f"{done.left_out} samples without an answer were left out")
    return _DONE


def _export_gaia(args: argparse.Namespace, folder: RunFolder) -> int:
    from evalcore.exchange import gaia

    out = _require_output_path(args, "file")
    done = gaia.export_gaia_run(folder, out)
    _print_result(
        args, done, f"{out}: {format_count(done.samples, 'line')} for the leaderboard of GAIA"
    )
    if done.missing:
        _print_stderr(f"{done.missing} samples without an answer went out as empty ones")
    if done.gated:
        _print_stderr(
            f"{done.gated} answers are to gated questions: {out} is not to be shared openly"
        )
    return _DONE


def _export_swe_bench(args: argparse.Namespace, folder: RunFolder) -> int:
    from evalcore.exchange import swe_bench

    out = _require_output_path(args, "file")
    done = swe_bench.export_swe_bench_run(folder, out, args.patch or swe_bench.OFFICIAL)
    _print_result(args, done, f"{out}: {format_count(done.samples, 'prediction')} of {done.model}")
    if done.missing:
        _print_stderr(f"{done.missing} samples without a patch went out as empty ones")
    if done.repaired:
        _print_stderr(f"{done.repaired} patches are others than the official extraction finds")
    return _DONE


def _export_eval_results(args: argparse.Namespace, folder: RunFolder) -> int:
    from evalcore.exchange import reports

    hub_tasks = {}
    for text in args.hub:
        benchmark, _, hub_task = text.partition("=")
        hub_tasks[benchmark] = reports.parse_hub_task(hub_task)
    return _write_report_text(args, reports.render_eval_results(folder, hub_tasks, args.source))


def _export_bundle(args: argparse.Namespace, folder: RunFolder) -> int:
    from evalcore.exchange.bundle import exporter

    out = _require_output_path(args, "file")
    done = exporter.export_bundle(folder, out, _load_cli_settings(args))
    _print_result(
        args, done, f"{out}: a bundle of {format_count(done.cases, 'case')} of run {done.run}"
    )
    if done.redacted:
        _print_stderr(
            f"the texts of {done.redacted} gated cases were left out, so that nobody can score "
            "them again: what they are part of is taken in at level 0, as a claim"
        )
    if done.gated:
        _print_stderr(f"{done.gated} cases are gated: {out} is not to be shared openly")
    return _DONE


#: Forms apart from reports: for official evaluations, for the Hub, and the bundle.
_EXPORTERS: dict[str, Callable[[argparse.Namespace, RunFolder], int]] = {
    SCALE: _export_scale,
    BFCL: _export_bfcl,
    GAIA: _export_gaia,
    SWE_BENCH: _export_swe_bench,
    EVAL_RESULTS: _export_eval_results,
    BUNDLE: _export_bundle,
}


def _import_scale(args: argparse.Namespace) -> int:
    from evalcore.exchange.scale import importer

    done = importer.import_scale_tree(
        args.path, _load_cli_settings(args), args.month, _print_stderr
    )
    _print_result(args, vars(done), _format_imported_runs(done))
    return _DONE


def _import_bfcl(args: argparse.Namespace) -> int:
    from evalcore.exchange.bfcl import importer

    source = importer.BfclImportSource(str(args.path), args.dataset, args.month, args.mode)
    done = importer.import_bfcl_results(source, _load_cli_settings(args), _print_stderr)
    _print_result(args, vars(done), _format_imported_runs(done))
    return _DONE


def _import_bundle(args: argparse.Namespace) -> int:
    from evalcore.exchange.bundle import importer

    done = importer.import_bundle(args.path, _load_cli_settings(args), args.dataset, _print_stderr)
    _print_result(args, done, _format_imported_bundle(done))
    return _DONE


def _format_imported_bundle(done: ImportedBundle) -> str:
    """What became of the run, then each claim beside what is counted here."""
    lines = [f"run {done.run} {done.became}: {done.target}, from run {done.source_run}"]
    for claim in done.scores:
        claimed, here = (
            "not scored" if score is None else f"{score:.2f}"
            for score in (claim.claimed, claim.recomputed)
        )
        lines.append(
            f"{claim.benchmark}: level {claim.level}, {claimed} claimed, {here} here; "
            f"{claim.equal} of {claim.verdicts} verdicts came out equal"
        )
        lines += [f"  not scored here, {count}: {why}" for why, count in claim.kept.items()]
        if claim.unconfirmed:
            lines.append(
                f"  {claim.unconfirmed} expected answers are not confirmed: {claim.reason}"
            )
    return "\n".join(lines)


def _print_result(args: argparse.Namespace, done: Any, text: str) -> None:
    """What was done: as JSON for machines, else as text."""
    import msgspec

    print(msgspec.json.encode(done).decode() if args.json else text)


def _print_stderr(line: str) -> None:
    print(line, file=sys.stderr)


def _format_imported_runs(done: ImportResult) -> str:
    """What became of the runs, how the claims come about, and the flags, in lines."""
    became = ("created", "replaced", "unchanged")
    lines = ["runs: " + ", ".join(f"{len(getattr(done, name))} {name}" for name in became)]
    for title, counts in (("claims", done.reading_counts), ("flags", done.flags)):
        if counts:
            parts = (f"{count} {name}" for name, count in counts.most_common())
            lines.append(f"{title}: {', '.join(parts)}")
    return "\n".join([*lines, *(f"left out: {line}" for line in done.skipped)])


def _verify_published(args: argparse.Namespace) -> int:
    from evalcore.exchange.scale import verify

    twins = Path(_load_cli_settings(args).datasets) / "scale_twins" / "logical_equivalence.jsonl"
    report = verify.verify_published_answers(args.path, twins)
    if args.out:
        lines = (json.dumps(d, ensure_ascii=False) for d in verify.list_disagreements(report))
        args.out.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    _print_result(args, report, verify.format_verification(report))
    return _DONE


# The verb `hub` of the command line: results sent to a repository of the Hub and taken back.

_INCOMPLETE = 3


def add_hub_verb(verbs: Any, add_common: Callable[[argparse.ArgumentParser, Verb], None]) -> None:
    """Add the verb; `add_common` adds the flags that every verb has and sets its function."""
    about = "keep results in a private data set repository of the Hugging Face Hub (HF_TOKEN)"
    actions = verbs.add_parser("hub", help=about, description=about).add_subparsers(
        required=True, metavar="ACTION"
    )
    about = "send the runs that have ended, own data sets and cards; what is there is not sent"
    sub = actions.add_parser("push", help=about, description=about)
    _add_repo_flag(sub)
    sub.add_argument("runs", nargs="*", metavar="RUN", help="default: all, and the rest")
    add_common(sub, _push_results)
    about = "take back what is missing here; nothing that is here is lost"
    sub = actions.add_parser("pull", help=about, description=about)
    _add_repo_flag(sub)
    sub.add_argument(
        "--foreign",
        action="store_true",
        help="take in what other installations sent too, scored again and marked as theirs",
    )
    add_common(sub, _pull_results)


def _add_repo_flag(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "--repo", default="", metavar="OWNER/NAME", help="default: the setting hub_repo"
    )


def _push_results(args: argparse.Namespace) -> int:
    from evalcore import settings
    from evalcore.exchange.hub_store.push import push_results

    pushed = push_results(settings.load_settings(args.data), args.repo, args.runs, _print_stderr)
    _print_sync_result(args, pushed, _format_pushed_runs(pushed))
    return _INCOMPLETE if pushed.held else 0


def _pull_results(args: argparse.Namespace) -> int:
    from evalcore import settings
    from evalcore.exchange.hub_store.pull import pull_results

    pulled = pull_results(
        settings.load_settings(args.data), args.repo, foreign=args.foreign, progress=_print_stderr
    )
    _print_sync_result(args, pulled, _format_pulled_runs(pulled))
    return _INCOMPLETE if pulled.refused else 0


def _format_pushed_runs(pushed: PushResult) -> list[str]:
    lines = [
        f"{pushed.repo}: {format_count(len(pushed.sent), 'run')} sent, {pushed.same} were there"
    ]
    lines += [f"{len(pushed.removed)} deleted runs marked"] if pushed.removed else []
    lines += ["cards, data sets and applications sent"] if pushed.extras else []
    return lines + [f"{run} was not sent: {why}" for run, why in pushed.held.items()]


def _format_pulled_runs(pulled: PullResult) -> list[str]:
    lines = [
        f"{pulled.repo}: {format_count(len(pulled.taken), 'run')} taken back, "
        f"{len(pulled.renewed)} renewed, "
        f"{pulled.same} were here"
    ]
    lines += [f"also taken back: {', '.join(pulled.extras)}"] if pulled.extras else []
    lines += [f"{run} differs here and was left as it is" for run in pulled.kept]
    if pulled.foreign and not pulled.imported:
        lines.append(
            f"{format_count(len(pulled.foreign), 'run')} of other installations: "
            "--foreign takes them in"
        )
    lines += [f"taken in from another installation: {run}" for run in pulled.imported]
    lines += [f"{name}: {why}" for name, why in pulled.unconfirmed.items()]
    return lines + [f"{name} was refused: {why}" for name, why in pulled.refused.items()]


def _print_sync_result(
    args: argparse.Namespace, result: PushResult | PullResult, lines: list[str]
) -> None:
    from evalcore.records import to_json

    print(to_json(result).decode() if args.json else "\n".join(lines))

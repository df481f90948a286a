"""`evalcore show` and `evalcore diff`: a run, a case, two runs and two sides of a case."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalcore.cli import terminal
from evalcore.cli.parser import AddCommon, CommandParser
from evalcore.cli.run import load_operator_settings
from evalcore.cli.terminal import LAYOUTS, get_language, tr, tr_note
from evalcore.errors import UsageError
from evalcore.i18n import DEFAULT, Note, name_code

if TYPE_CHECKING:
    from evalcore.results import RunSummary
    from evalcore.settings import Settings
    from evalcore.views.case_text import TextBlock
    from evalcore.views.cases import CaseView
    from evalcore.views.comparability import Comparability
    from evalcore.views.run_problems import RunProblems

DONE, INCOMPLETE = 0, 3
CASES = 20  # listed per benchmark unless asked otherwise
_CELL = 90  # characters of a cell
_RUN_HELP = "id of the run; `evalcore list runs` lists them"
_CASE_HELP = "id of a case, or METRIC/ID, or BENCHMARK/METRIC/ID"


def add_show_verb(verbs: Any, add_common: AddCommon) -> None:
    """Add the verb; `add_common` adds the common flags and sets the verb's function."""
    sub = verbs.add_parser("show", help="print the result of a run, or one of its cases")
    sub.add_argument("run", metavar="RUN", help=_RUN_HELP)
    sub.add_argument("case", metavar="CASE", nargs="?", default="", help=_CASE_HELP)
    sub.add_argument(
        "--epoch", type=int, default=0, metavar="N", help="repetition of CASE (default: 0)"
    )
    _add_listing_flags(sub, f"list at most N failed cases per benchmark (default: {CASES})")
    add_common(sub, _show)


def add_diff_verb(verbs: Any, add_common: AddCommon) -> None:
    """Add the verb; `add_common` adds the common flags and sets the verb's function."""
    about = "print the cases that two runs answered differently, and whether it is significant"
    sub = verbs.add_parser(
        "diff",
        help="print what changed between two runs, or both sides of a case",
        description=about,
    )
    sub.add_argument("first", metavar="RUN", help="id of the run that comes first (before)")
    sub.add_argument("second", metavar="RUN", help="id of the run that is compared with it (after)")
    sub.add_text("--case", "CASE", f"both sides of a case: {_CASE_HELP}")
    sub.add_argument(
        "--epoch", type=int, default=0, metavar="N", help="repetition of --case (default: 0)"
    )
    sub.add_argument(
        "--layout",
        choices=LAYOUTS,
        default="auto",
        help="how the sides of --case stand (default: columns in a wide terminal)",
    )
    _add_listing_flags(sub, f"list at most N changed cases per benchmark (default: {CASES})")
    add_common(sub, _diff)


def _add_listing_flags(sub: CommandParser, about: str) -> None:
    sub.add_argument("--cases", type=int, default=CASES, metavar="N", help=about)
    sub.add_argument("--full", action="store_true", help="print long texts of a case to their end")


def _check_flags(args: argparse.Namespace) -> None:
    for name in ("cases", "epoch"):
        if getattr(args, name) < 0:
            raise UsageError(Note("cli_not_negative", name=name, value=getattr(args, name)))


def _show(args: argparse.Namespace) -> int:
    _check_flags(args)
    settings = load_operator_settings(args)
    return _show_case(args, settings) if args.case else _show_run(args, settings)


def _show_run(args: argparse.Namespace, settings: Settings) -> int:
    from evalcore.exchange import report_data
    from evalcore.plain_text import align_columns, to_terminal_text
    from evalcore.store import run_folder
    from evalcore.views import run_problems
    from evalcore.views.comparability import assess_run, assessment_to_dict

    folder = run_folder.find_run(args.run, settings.run_roots)
    summary = folder.read_summary()
    if summary is None:
        raise UsageError(Note("cli_no_result_yet", run=args.run, state=folder.current_state()))
    problems = run_problems.load_run_problems(folder, show_gated=settings.show_gated)
    assessed = assess_run(folder.read_spec(), summary)
    if args.json:
        extra: dict[str, Any] = {"state": summary.state, "message": summary.message or None}
        extra |= _list_problems(problems)
        extra["comparable"] = {key: assessment_to_dict(each) for key, each in assessed.items()}
        print(json.dumps(report_data.summary_to_dict(summary) | extra))
    else:
        print(to_terminal_text(report_data.format_run_summary(summary, get_language())))
        print(f"\n{tr('target.comparable_by_benchmark')}")
        print(align_columns([[key, _format_assessment(each)] for key, each in assessed.items()]))
        _print_problems(problems, summary, args.cases)
    return DONE if summary.is_complete else INCOMPLETE


def _format_assessment(assessed: Comparability) -> str:
    from evalcore.views.comparability import describe_reasons

    if assessed.comparable:
        return f"{tr('common.yes').lower()} ({assessed.official_board})"
    return tr("cli.show.not_comparable", reasons=describe_reasons(assessed, get_language()))


def _list_problems(problems: RunProblems) -> dict[str, Any]:
    """Every field of each, those that hold their default too."""
    return {
        name: [
            {field: getattr(entry, field) for field in entry.__struct_fields__} for entry in entries
        ]
        for name, entries in (("errors", problems.errors), ("failed", problems.failed))
    }


def _print_problems(problems: RunProblems, summary: RunSummary, limit: int) -> None:
    from evalcore.plain_text import align_columns, to_single_line
    from evalcore.views.case_text import TextBlock
    from evalcore.views.run_problems import find_remedy

    blocks = []
    for error in problems.errors:
        lines = [to_single_line(tr_note(error.note), 300)] if error.note else []
        remedy = find_remedy(error.outcome, error.reason, summary.run_id, get_language())
        lines += [f"{tr('cli.show.remedy')}: {remedy}"] if remedy else []
        outcome = name_code(error.outcome, get_language(), "outcome")
        reason = name_code(error.reason, get_language(), "reason", "cause")
        title = f"{error.benchmark}: {error.cases} {outcome}" + (f": {reason}" if reason else "")
        blocks.append(TextBlock(title, "\n".join(lines) or tr("cli.show.no_remedy")))
    for benchmark in summary.benchmarks:
        failed = [case for case in problems.failed if case.benchmark == benchmark]
        if not failed or not limit:
            continue
        numbered = summary.epochs > 1
        rows = [
            (
                f"{c.metric}/{c.id}" + (f" #{c.epoch}" if numbered else ""),
                name_code(c.cause, get_language(), "cause", "reason"),
                tr_note(c.note),
            )
            for c in failed[:limit]
        ]
        rest = len(failed) - len(rows)
        more = "\n" + tr("cli.more_cases", rest=rest, all=len(failed)) if rest > 0 else ""
        text = align_columns([[to_single_line(cell, _CELL) for cell in row] for row in rows])
        title = tr("cli.show.failed", benchmark=benchmark, count=len(failed))
        blocks.append(TextBlock(title, text + more))
    if blocks:
        _print_blocks(blocks, full=True)


def _print_blocks(blocks: Sequence[TextBlock], *, full: bool) -> None:
    print()
    terminal.print_blocks(blocks, full=full)


def _load_case(args: argparse.Namespace, run: str, name: str, settings: Settings) -> CaseView:
    from evalcore.views import cases, run_problems

    roots: Sequence[Path] = settings.run_roots
    benchmark, metric, case = run_problems.find_case(roots, run, name)
    return cases.case_view(
        roots,
        run,
        metric,
        case,
        benchmark=benchmark,
        epoch=args.epoch,
        show_gated=settings.show_gated,
    )


def _show_case(args: argparse.Namespace, settings: Settings) -> int:
    from evalcore.views.case_text import build_case_blocks

    view = _load_case(args, args.run, args.case, settings)
    if args.json:
        print(json.dumps(_case_to_dict(view, args.epoch)))
        return DONE
    blocks = build_case_blocks(view, args.epoch, get_language())
    terminal.print_blocks([*blocks, *_build_remedy(view)], full=args.full)
    return DONE


def _build_remedy(view: CaseView) -> list[TextBlock]:
    from evalcore.views.case_text import TextBlock

    remedy = _find_case_remedy(view, get_language())
    return [TextBlock(tr("cli.show.remedy"), remedy)] if remedy else []


def _find_case_remedy(view: CaseView, language: str = DEFAULT) -> str:
    from evalcore.records import MEASURED
    from evalcore.views.run_problems import find_remedy

    if view.outcome in MEASURED:
        return ""
    reason = view.verdict.reason if view.verdict else ""
    return find_remedy(view.outcome, reason, view.spec.run_id, language)


def _case_to_dict(view: CaseView, epoch: int) -> dict[str, Any]:
    """All that is known of a case; null is unknown."""
    from evalcore.records import to_plain

    verdict, episode = view.verdict, view.episode
    return {
        "run_id": view.spec.run_id,
        "target": view.spec.target.identity,
        "benchmark": view.benchmark,
        "metric": view.sample.metric,
        "id": view.sample.id,
        "epoch": epoch,
        "difficulty": view.sample.difficulty,
        "gated": view.hidden,
        "outcome": view.outcome,
        "score": verdict.score if verdict else None,
        "reason": verdict.reason if verdict else None,
        "note": verdict.note if verdict else None,
        "remedy": _find_case_remedy(view) or None,
        "evidence_kind": verdict.evidence_kind if verdict else None,
        "views": verdict.views if verdict else {},
        "details": to_plain(verdict.details) if verdict else {},
        "input": to_plain(view.sample.input),
        "reference": to_plain(view.sample.reference),
        "episode": to_plain(episode) if episode else None,
        "evidence": to_plain(verdict.evidence) if verdict else [],
    }


def _diff(args: argparse.Namespace) -> int:
    _check_flags(args)
    settings = load_operator_settings(args)
    return _diff_case(args, settings) if args.case else _diff_runs(args, settings)


def _diff_runs(args: argparse.Namespace, settings: Settings) -> int:
    from evalcore.views import run_diff

    diff = run_diff.build_run_diff(settings.run_roots, args.first, args.second)
    if args.json:
        print(json.dumps(run_diff.diff_to_dict(diff)))
        return DONE
    language = get_language()
    blocks = [run_diff.build_diff_block(each, args.cases, language) for each in diff.benchmarks]
    blocks += run_diff.build_obstacle_blocks(diff, language)
    print(run_diff.format_diff_head(diff, language))
    print()
    terminal.print_blocks(blocks, full=True)
    return DONE


def _diff_case(args: argparse.Namespace, settings: Settings) -> int:
    from evalcore.views.case_text import build_case_blocks, pair_blocks

    first, second = (
        _load_case(args, run, args.case, settings) for run in (args.first, args.second)
    )
    sides = [first, second]
    if first.benchmark != second.benchmark or first.sample.case_hash != second.sample.case_hash:
        raise UsageError(Note("cli_other_case", case=args.case))
    if args.json:
        content = {"first": first, "second": second}
        print(json.dumps({side: _case_to_dict(v, args.epoch) for side, v in content.items()}))
        return DONE
    pairs = pair_blocks(*(build_case_blocks(v, args.epoch, get_language()) for v in sides))
    names = (
        f"{first.spec.run_id} ({first.spec.target.identity})",
        f"{second.spec.run_id} ({second.spec.target.identity})",
    )
    terminal.print_block_pairs(pairs, names, layout=args.layout, full=args.full)
    return DONE

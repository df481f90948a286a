"""The verb `published`: results that others published, kept apart from what was measured here."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from evalcore.cli.exchange import load_cli_settings, print_result, print_stderr
from evalcore.cli.parser import AddCommon
from evalcore.cli.terminal import get_language, tr, tr_count, tr_note
from evalcore.errors import UsageError
from evalcore.i18n import Note
from evalcore.plain_text import NOT_RUN, format_signed, to_single_line
from evalcore.records import to_plain

if TYPE_CHECKING:
    from evalcore.views.published_claims import ClaimFinding
    from evalcore.views.published_pairs import PairComparison

_DONE = 0
_CASES = 20  # listed unless asked otherwise


def add_published_verb(verbs: Any, add_common: AddCommon) -> None:
    """Add the verb; `add_common` adds the common flags and sets the verb's function."""
    about = "show, check, compare and refresh results that others published"
    verb = verbs.add_parser("published", help=about)
    actions = verb.add_subparsers(required=True, metavar="ACTION")
    about = "list the publishers with source, date and months"
    add_common(actions.add_parser("list", help=about), _list_publishers)
    about = "read a newer checkout of a publisher's repository (SCALE or tau2-bench)"
    sub = actions.add_parser("refresh", help=about)
    sub.add_path("path", "PATH", "folder of the checkout")
    about = "day of the checkout, as 2026-11-28 (default: the newest month or submission in it)"
    sub.add_text("--date", "DAY", about)
    add_common(sub, _refresh_publication)
    about = "compare two published rows on the cases that both were given"
    sub = actions.add_parser("compare", help=about)
    for name in ("first", "second"):
        about = "id or name of a model, or PUBLISHER/MONTH/ID (default month: the newest)"
        sub.add_argument(name, metavar=name.upper(), help=about)
    sub.add_text("--publisher", "KEY", "look only among the rows of this publisher")
    about = f"list at most N differing cases (default: {_CASES})"
    sub.add_argument("--cases", type=int, default=_CASES, metavar="N", help=about)
    add_common(sub, _compare_rows)
    about = "list figures that do not follow from the published verdicts, and other oddities"
    sub = actions.add_parser("check", help=about)
    sub.add_text("--publisher", "KEY", "check only this publisher")
    sub.add_text("--month", "MONTH", "check only this month")
    about = "also list verdicts that were carried over unchanged from an earlier month"
    sub.add_argument("--all", action="store_true", help=about)
    add_common(sub, _check_claims)


def _list_publishers(args: argparse.Namespace) -> int:
    from evalcore.views import payloads, published_payloads

    current = load_cli_settings(args)
    rows = published_payloads.list_publishers(current)
    print_result(args, rows, payloads.as_text(rows, get_language()))
    for problem in published_payloads.find_publication_problems(current):
        print(tr_note(problem), file=sys.stderr)
    return _DONE


def _refresh_publication(args: argparse.Namespace) -> int:
    from evalcore.exchange.published import refresh

    done = refresh.refresh_publication(load_cli_settings(args), args.path, args.date, print_stderr)
    counts = {
        "entries": tr_count("cli.count_entry", done.entries),
        "months": tr_count("cli.count_month", done.months),
    }
    text = tr("cli.published.refreshed", **to_plain(done) | counts)
    print_result(args, to_plain(done), text)
    return _DONE


def _compare_rows(args: argparse.Namespace) -> int:
    from evalcore.views import published_pairs, published_payloads

    if args.cases < 0:
        raise UsageError(Note("cli_negative_cases", number=args.cases))
    comparison = published_pairs.compare_published_rows(
        load_cli_settings(args), args.first, args.second, args.publisher
    )
    data = published_payloads.build_comparison(comparison)
    print_result(args, data, _format_comparison(comparison, args.cases))
    return _DONE


def _format_comparison(comparison: PairComparison, cases: int) -> str:
    from evalcore.views import payloads

    head = [
        f"A: {to_single_line(comparison.first_name)} ({comparison.first})",
        f"B: {to_single_line(comparison.second_name)} ({comparison.second})",
    ]
    rows = [
        {
            "benchmark": pair.benchmark,
            "metric": pair.metric or "all",
            "A": f"{pair.first:.1f}",
            "B": f"{pair.second:.1f}",
            "B - A": format_signed(pair.second - pair.first),
            "95% interval": _format_interval(pair.result),
            "B wins": NOT_RUN if pair.result is None else str(pair.result.wins),
            "A wins": NOT_RUN if pair.result is None else str(pair.result.losses),
            "p": NOT_RUN if pair.result is None else f"{pair.result.p:.4f}",
        }
        for pair in comparison.pairs
    ]
    parts = [
        "\n".join(head),
        payloads.as_text(rows, get_language()) if rows else tr("cli.no_common"),
    ]
    if any(pair.result is None for pair in comparison.pairs):
        parts.append(tr("cli.claims_untested"))
    if comparison.excluded:
        parts.append(tr("cli.other_cases", names=", ".join(comparison.excluded)))
    if comparison.cases and cases:
        parts.append(tr_count("cli.cases_differ", len(comparison.cases)))
        parts.append(
            payloads.as_text(
                [
                    {
                        "benchmark": c.benchmark,
                        "metric": c.metric,
                        "case": c.id,
                        "weight": f"{c.weight:g}",
                        "solved by": "A" if c.first else "B",
                    }
                    for c in comparison.cases[:cases]
                ],
                get_language(),
            )
        )
    return "\n\n".join(parts)


def _format_interval(result: Any) -> str:
    if result is None or result.interval is None:
        return NOT_RUN
    low, high = format_signed(result.interval.low), format_signed(result.interval.high)
    return tr("cli.published.span", low=low, high=high)


def _check_claims(args: argparse.Namespace) -> int:
    from evalcore.views import published_boards, published_claims

    current = load_cli_settings(args)
    publishers = published_boards.load_publishers(current)
    keys = [args.publisher] if args.publisher else [publisher.key for publisher in publishers]
    findings = [
        finding
        for key in keys
        for finding in published_claims.list_claim_findings(current, key, args.month)
        if args.all or finding.kind not in published_claims.HARMLESS
    ]
    print_result(args, [to_plain(finding) for finding in findings], _format_findings(findings))
    return _DONE


def _format_findings(findings: Sequence[ClaimFinding]) -> str:
    from evalcore.views import payloads
    from evalcore.views.published_payloads import describe_finding

    rows = [
        {
            "row": to_single_line(finding.row),
            "benchmark": finding.benchmark,
            "metric": finding.metric or "all",
            "finding": describe_finding(finding, get_language()),
        }
        for finding in findings
    ]
    text = f"{payloads.as_text(rows, get_language())}\n\n" if rows else ""
    return f"{text}{tr_count('cli.findings', len(findings))}"

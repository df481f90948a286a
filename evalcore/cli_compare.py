"""The verb of the command line that puts runs side by side: compare."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

from evalcore.errors import UsageError

Verb = Callable[[argparse.Namespace], int]
COMPARISON_FORMATS = ("text", "md", "csv")
CASES = 20  # shown per benchmark unless asked otherwise
_DONE = 0


def add_compare_verb(
    verbs: Any, add_common: Callable[[argparse.ArgumentParser, Verb], None]
) -> None:
    """Add the verb; `add_common` adds the flags that every verb has and sets its function."""
    about = "compare 2 to 8 runs: scores, wins and losses against a base run, cases that differ"
    sub = verbs.add_parser("compare", help=about, description=about)
    sub.add_argument("runs", nargs="+", metavar="RUN")
    sub.add_argument("--base", default="", metavar="RUN", help="one of them (default: the first)")
    sub.add_argument("--benchmark", default="", metavar="B", help="only this one")
    sub.add_argument("--metric", default="", metavar="M", help="only the cases of this metric")
    sub.add_argument("--format", choices=COMPARISON_FORMATS, default="text")
    sub.add_argument(
        "--cases", type=int, default=CASES, metavar="N", help="cases that differ to be listed"
    )
    add_common(sub, _compare_runs)


def _compare_runs(args: argparse.Namespace) -> int:
    from evalcore import settings
    from evalcore.queries import comparison_report, comparison_runs
    from evalcore.records import to_json

    if args.cases < 0:
        raise UsageError(f"--cases {args.cases} cannot be negative")
    roots = settings.load_settings(args.data).run_roots
    comparison = comparison_runs.load_lineup(
        roots, comparison_runs.validate_compared_runs(args.runs)
    )
    if comparison.excluded:
        raise UsageError("; ".join(excluded.reason for excluded in comparison.excluded))
    report = comparison_report.build_comparison_report(
        roots,
        comparison,
        args.base,
        benchmark=args.benchmark,
        metric=args.metric,
        cases=args.cases,
    )
    if args.json:
        print(to_json(report).decode())
    else:
        text = comparison_report.FORMATS[args.format](report)
        sys.stdout.write(text if text.endswith("\n") else f"{text}\n")
    return _DONE

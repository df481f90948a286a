"""The verb of the command line that puts runs side by side: compare."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

from evalcore.errors import UsageError

Verb = Callable[[argparse.Namespace], int]
FORMATS = ("text", "md", "csv")
CASES = 20  # shown per benchmark unless asked otherwise
_DONE = 0


def add(verbs: Any, common: Callable[[argparse.ArgumentParser, Verb], None]) -> None:
    """Add the verb; `common` adds the flags that every verb has and sets its function."""
    about = "compare 2 to 8 runs: scores, wins and losses against a base run, cases that differ"
    sub = verbs.add_parser("compare", help=about, description=about)
    sub.add_argument("runs", nargs="+", metavar="RUN")
    sub.add_argument("--base", default="", metavar="RUN", help="one of them (default: the first)")
    sub.add_argument("--benchmark", default="", metavar="B", help="only this one")
    sub.add_argument("--metric", default="", metavar="M", help="only the cases of this metric")
    sub.add_argument("--format", choices=FORMATS, default="text")
    sub.add_argument(
        "--cases", type=int, default=CASES, metavar="N", help="cases that differ to be listed"
    )
    common(sub, _compare)


def _compare(given: argparse.Namespace) -> int:
    from evalcore import settings
    from evalcore.queries import comparison_report, lineup
    from evalcore.records import to_json

    if given.cases < 0:
        raise UsageError(f"--cases {given.cases} cannot be negative")
    roots = settings.load(given.data).run_roots
    who = lineup.load(roots, lineup.wanted(given.runs))
    if who.absent:
        raise UsageError("; ".join(one.reason for one in who.absent))
    found = comparison_report.report(
        roots,
        who,
        given.base,
        benchmark=given.benchmark,
        metric=given.metric,
        cases=given.cases,
    )
    if given.json:
        print(to_json(found).decode())
    else:
        text = comparison_report.FORMATS[given.format](found)
        sys.stdout.write(text if text.endswith("\n") else f"{text}\n")
    return _DONE

"""`evalcore gate`: may a run pass, against a base run and a score; for CI jobs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from evalcore.cli.parser import AddCommon
from evalcore.cli.terminal import get_language
from evalcore.errors import UsageError
from evalcore.i18n import Note

STATUSES = {"passed": 0, "failed": 1, "inconclusive": 4}


def add_gate_verb(verbs: Any, add_common: AddCommon) -> None:
    """Add the verb; `add_common` adds the common flags and sets the verb's function."""
    about = "check a run against a base run or a minimum score"
    status = "Exit status: 0 passed, 1 failed, 4 inconclusive (with the number of cases to add)."
    sub = verbs.add_parser("gate", help=about, description=f"{about.capitalize()}. {status}")
    sub.add_argument("run", metavar="RUN", help="id of the run to check")
    about = "id of the base run, or the folder of one that was made elsewhere"
    sub.add_text("--against", "RUN|FOLDER", about)
    sub.add_argument(
        "--max-drop",
        type=float,
        default=None,
        metavar="POINTS",
        help="points that a benchmark may fall below the base run (default: 2)",
    )
    sub.add_number("--min-score", "N", "score that every benchmark must reach, 0 to 100", float)
    sub.add_path("--junit", "FILE.xml", "write the checks as JUnit XML")
    sub.add_path("--markdown", "FILE.md", "write a summary with the cases that flipped")
    add_common(sub, _check_run)


def _check_run(args: argparse.Namespace) -> int:
    from evalcore import settings
    from evalcore.exchange import gate_report
    from evalcore.exchange.gate_report import format_gate_lines
    from evalcore.records import to_json
    from evalcore.views.gate import GateRules, check_gate

    if args.max_drop is not None and not args.against:
        raise UsageError(Note("cli_gate_base"))
    max_drop = 2.0 if args.max_drop is None else args.max_drop
    roots, against = settings.load_settings(args.data).run_roots, args.against
    if against and Path(against).is_dir():
        roots, against = (*roots, Path(against).resolve().parent), Path(against).resolve().name
    rules = GateRules(against=against, max_drop=max_drop, min_score=args.min_score)
    report = check_gate(roots, args.run, rules)
    if args.junit is not None:
        args.junit.write_bytes(gate_report.render_gate_junit(report))
    if args.markdown is not None:
        args.markdown.write_text(gate_report.render_gate_markdown(report), "utf-8")
    print(to_json(report).decode() if args.json else format_gate_lines(report, get_language()))
    return STATUSES[report.state]

"""`evalcore decide`: which target fits your own weights and requirements, and how sure that is."""

from __future__ import annotations

import argparse
from typing import Any

from evalcore.cli.parser import AddCommon
from evalcore.cli.terminal import get_language

_DONE = 0


def add_decide_verb(verbs: Any, add_common: AddCommon) -> None:
    """Add the verb; `add_common` adds the common flags and sets the verb's function."""
    about = "rank the targets of a board by your own weights and requirements"
    sub = verbs.add_parser(
        "decide",
        help=about,
        description=f"{about.capitalize()}, with intervals, ties and what would change the leader.",
    )
    sub.add_text("--suite", "S", "suite to show (default: the first with scores)")
    sub.add_text("--board", "KEY", "key of another board (default: the suite's own board)")
    about = "the board of a publisher in place of what was run here: scale, tau2"
    sub.add_text("--published", "PUBLISHER", about)
    sub.add_text("--month", "MONTH", "month of --published (default: the newest)")
    sub.add_text("--setup", "NAME", "test setup of --published (default: the most frequent)")
    about = "what to weigh: benchmarks, metrics or dialects (default: benchmarks)"
    sub.add_text("--level", "LEVEL", about)
    about = "weight of a criterion from 0 to 100 (default: the board's own rule); repeatable"
    sub.add_repeatable("--weight", "CRITERION=N", about)
    about = "leave out targets that cost more USD per case, or have no known price"
    sub.add_text("--max-cost-per-case", "USD", about)
    sub.add_text("--max-cost-per-run", "USD", "the same for their runs on the board together")
    about = "only endpoint, local, application, program or model (published); repeatable"
    sub.add_repeatable("--kind", "KIND", about)
    about = "only targets of this organization, or unknown; repeatable"
    sub.add_repeatable("--organization", "NAME", about)
    about = "only targets under this license, or unknown; repeatable"
    sub.add_repeatable("--licence", "NAME", about)
    about = "only models with open or closed weights, or unknown; repeatable"
    sub.add_repeatable("--model-weights", "WEIGHTS", about)
    add_common(sub, _decide)


def _decide(args: argparse.Namespace) -> int:
    from evalcore import settings
    from evalcore.errors import UsageError
    from evalcore.i18n import Note
    from evalcore.records import to_json
    from evalcore.views import decision_payloads

    if args.published and (args.suite or args.board):
        raise UsageError(Note("cli_published_alone"))
    if not args.published and (args.month or args.setup):
        raise UsageError(Note("cli_published_only"))
    names = ("suite", "board", "published", "month", "setup", "level")
    limits = ("max_cost_per_case", "max_cost_per_run")
    query = decision_payloads.DecisionQuery(
        **{name: getattr(args, name) for name in (*names, *limits)},
        weights=tuple(args.weight),
        kinds=tuple(args.kind),
        organizations=tuple(args.organization),
        licences=tuple(args.licence),
        open_weights=tuple(args.model_weights),
    )
    key, table, decision = decision_payloads.decide_query(settings.load_settings(args.data), query)
    if args.json:
        payload = decision_payloads.build_decision_payload(key, table, decision)
        print(to_json(payload, ordered=False).decode())
    else:
        print(decision_payloads.format_decision(table, decision, get_language()))
    return _DONE

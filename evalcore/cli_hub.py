"""The verb `hub` of the command line: results sent to a repository of the Hub and taken back."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from evalcore.plain_text import format_count

if TYPE_CHECKING:
    from evalcore.exchange.hub_store.pull import PullResult
    from evalcore.exchange.hub_store.push import PushResult

Verb = Callable[[argparse.Namespace], int]
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


def _print_stderr(line: str) -> None:
    print(line, file=sys.stderr)

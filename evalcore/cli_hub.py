"""The verb `hub` of the command line: results sent to a repository of the Hub and taken back."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from evalcore.plain_text import format_count

if TYPE_CHECKING:
    from evalcore.exchange.hub_store.pull import Pulled
    from evalcore.exchange.hub_store.push import Pushed

Verb = Callable[[argparse.Namespace], int]
_DONE, _INCOMPLETE = 0, 3


def add(verbs: Any, common: Callable[[argparse.ArgumentParser, Verb], None]) -> None:
    """Add the verb; `common` adds the flags that every verb has and sets its function."""
    about = "keep results in a private data set repository of the Hugging Face Hub (HF_TOKEN)"
    actions = verbs.add_parser("hub", help=about, description=about).add_subparsers(
        required=True, metavar="ACTION"
    )
    about = "send the runs that have ended, own data sets and cards; what is there is not sent"
    sub = actions.add_parser("push", help=about, description=about)
    _repo(sub)
    sub.add_argument("runs", nargs="*", metavar="RUN", help="default: all, and the rest")
    common(sub, _push)
    about = "take back what is missing here; nothing that is here is lost"
    sub = actions.add_parser("pull", help=about, description=about)
    _repo(sub)
    sub.add_argument(
        "--foreign",
        action="store_true",
        help="take in what other installations sent too, scored again and marked as theirs",
    )
    common(sub, _pull)


def _repo(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "--repo", default="", metavar="OWNER/NAME", help="default: the setting hub_repo"
    )


def _push(given: argparse.Namespace) -> int:
    from evalcore import settings
    from evalcore.exchange.hub_store.push import push

    told = push(settings.load(given.data), given.repo, given.runs, _say)
    _print(given, told, _sent(told))
    return _INCOMPLETE if told.held else _DONE


def _pull(given: argparse.Namespace) -> int:
    from evalcore import settings
    from evalcore.exchange.hub_store.pull import pull

    told = pull(settings.load(given.data), given.repo, foreign=given.foreign, progress=_say)
    _print(given, told, _taken(told))
    return _INCOMPLETE if told.refused else _DONE


def _sent(told: Pushed) -> list[str]:
    lines = [f"{told.repo}: {format_count(len(told.sent), 'run')} sent, {told.same} were there"]
    lines += [f"{len(told.removed)} deleted runs marked"] if told.removed else []
    lines += ["cards, data sets and applications sent"] if told.extras else []
    return lines + [f"{run} was not sent: {why}" for run, why in told.held.items()]


def _taken(told: Pulled) -> list[str]:
    lines = [
        f"{told.repo}: {format_count(len(told.taken), 'run')} taken back, "
        f"{len(told.renewed)} renewed, "
        f"{told.same} were here"
    ]
    lines += [f"also taken back: {', '.join(told.extras)}"] if told.extras else []
    lines += [f"{run} differs here and was left as it is" for run in told.kept]
    if told.foreign and not told.imported:
        lines.append(
            f"{format_count(len(told.foreign), 'run')} of other installations: "
            "--foreign takes them in"
        )
    lines += [f"taken in from another installation: {run}" for run in told.imported]
    lines += [f"{name}: {why}" for name, why in told.unconfirmed.items()]
    return lines + [f"{name} was refused: {why}" for name, why in told.refused.items()]


def _print(given: argparse.Namespace, told: Pushed | Pulled, lines: list[str]) -> None:
    from evalcore.records import to_json

    print(to_json(told).decode() if given.json else "\n".join(lines))


def _say(line: str) -> None:
    print(line, file=sys.stderr)

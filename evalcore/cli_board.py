"""The verb `evalcore board`: the ranking of a board on the command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evalcore.catalog import SUITES
from evalcore.errors import UsageError

Verb = Callable[[argparse.Namespace], int]
FORMATS = ("text", "csv", "json", "md", "latex")
_DONE = 0


def add(verbs: Any, common: Callable[[argparse.ArgumentParser, Verb], None]) -> None:
    """Add the verb; `common` adds the flags that every verb has and sets its function."""
    about = "print the ranking of a board, as the app shows it"
    sub = verbs.add_parser("board", help=about, description=about)
    sub.add_argument("--format", choices=FORMATS, help="default: text; --json is the same as json")
    sub.add_argument("--suite", choices=SUITES, default="", help="default: the first with scores")
    sub.add_argument(
        "--board", default="", metavar="KEY", help="of a further board (default: the suite's own)"
    )
    sub.add_argument(
        "--by", default="", metavar="BENCHMARK", help="what to rank by (default: the suite's mean)"
    )
    sub.add_argument("--out", type=Path, metavar="FILE", help="default: standard output")
    common(sub, _board)


def _board(given: argparse.Namespace) -> int:
    from evalcore import settings
    from evalcore.exchange import board_export

    if given.json and given.format not in (None, "json"):
        raise UsageError(f"--json and --format {given.format} contradict each other; drop one")
    form = given.format or ("json" if given.json else "text")
    chosen = board_export.Chosen(given.suite, given.board, given.by)
    text = board_export.render(settings.load(given.data), chosen, form)
    if given.out is None:
        sys.stdout.write(text)
        return _DONE
    try:
        given.out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--out {given.out}: {error.strerror}") from None
    return _DONE

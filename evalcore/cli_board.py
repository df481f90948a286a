"""The verb `evalcore board`: the ranking of a board on the command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalcore.errors import UsageError

if TYPE_CHECKING:
    from evalcore.exchange.board_export import Chosen

Verb = Callable[[argparse.Namespace], int]
FORMATS = ("text", "csv", "json", "md", "latex")
_DONE = 0


def add(verbs: Any, common: Callable[[argparse.ArgumentParser, Verb], None]) -> None:
    """Add the verb; `common` adds the flags that every verb has and sets its function."""
    about = "print the ranking of a board, as the app shows it"
    sub = verbs.add_parser("board", help=about, description=about)
    sub.add_argument("--format", choices=FORMATS, help="default: text; --json is the same as json")
    sub.add_argument(
        "--suite",
        default="",
        metavar="S",
        help="default: the first with scores",
    )
    sub.add_argument(
        "--board", default="", metavar="KEY", help="of a further board (default: the suite's own)"
    )
    sub.add_argument(
        "--by", default="", metavar="BENCHMARK", help="what to rank by (default: the suite's mean)"
    )
    sub.add_argument("--out", type=Path, metavar="FILE", help="default: standard output")
    sub.add_argument(
        "--chart",
        type=Path,
        metavar="FILE.svg|FILE.png",
        help="write the chart of scores and intervals instead of the table",
    )
    sub.add_argument("--theme", choices=("light", "dark"), default="light", help="of the chart")
    common(sub, _board)


def _board(given: argparse.Namespace) -> int:
    from evalcore import settings
    from evalcore.exchange import board_export

    if given.json and given.format not in (None, "json"):
        raise UsageError(f"--json and --format {given.format} contradict each other; drop one")
    chosen = board_export.Chosen(given.suite, given.board, given.by)
    if given.chart is not None:
        return _chart(given, chosen)
    form = given.format or ("json" if given.json else "text")
    text = board_export.render(settings.load(given.data), chosen, form)
    if given.out is None:
        sys.stdout.write(text)
        return _DONE
    return _write("--out", given.out, text.encode())


def _chart(given: argparse.Namespace, chosen: Chosen) -> int:
    from evalcore import settings
    from evalcore.exchange import board_chart

    if given.format or given.out or given.json:
        raise UsageError("--chart is a file of its own; drop --format, --json and --out")
    picture = board_chart.render(
        settings.load(given.data), chosen, given.chart.suffix[1:].lower(), given.theme
    )
    return _write("--chart", given.chart, picture)


def _write(flag: str, path: Path, content: bytes) -> int:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise UsageError(f"{flag} {path}: {error.strerror}") from None
    return _DONE

"""The verb `evalcore board`: the ranking of a board on the command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalcore.errors import UsageError

if TYPE_CHECKING:
    from evalcore.exchange.board_export import BoardSelection

Verb = Callable[[argparse.Namespace], int]
BOARD_FORMATS = ("text", "csv", "json", "md", "latex")
_DONE = 0


def add_board_verb(verbs: Any, add_common: Callable[[argparse.ArgumentParser, Verb], None]) -> None:
    """Add the verb; `add_common` adds the flags that every verb has and sets its function."""
    about = "print the ranking of a board, as the app shows it"
    sub = verbs.add_parser("board", help=about, description=about)
    sub.add_argument(
        "--format", choices=BOARD_FORMATS, help="default: text; --json is the same as json"
    )
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
    add_common(sub, _print_board)


def _print_board(args: argparse.Namespace) -> int:
    from evalcore import settings
    from evalcore.exchange import board_export

    if args.json and args.format not in (None, "json"):
        raise UsageError(f"--json and --format {args.format} contradict each other; drop one")
    chosen = board_export.BoardSelection(args.suite, args.board, args.by)
    if args.chart is not None:
        return _write_board_chart(args, chosen)
    form = args.format or ("json" if args.json else "text")
    text = board_export.render_board_listing(settings.load_settings(args.data), chosen, form)
    if args.out is None:
        sys.stdout.write(text)
        return _DONE
    return _write_board_file("--out", args.out, text.encode())


def _write_board_chart(args: argparse.Namespace, chosen: BoardSelection) -> int:
    from evalcore import settings
    from evalcore.exchange import board_chart

    if args.format or args.out or args.json:
        raise UsageError("--chart is a file of its own; drop --format, --json and --out")
    picture = board_chart.render_board_chart(
        settings.load_settings(args.data), chosen, args.chart.suffix[1:].lower(), args.theme
    )
    return _write_board_file("--chart", args.chart, picture)


def _write_board_file(flag: str, path: Path, content: bytes) -> int:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise UsageError(f"{flag} {path}: {error.strerror}") from None
    return _DONE

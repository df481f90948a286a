"""The verbs that show results: board, compare, card and site."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from evalcore.errors import UsageError
from evalcore.plain_text import format_count

if TYPE_CHECKING:
    from evalcore.exchange.board_export import BoardSelection
    from evalcore.target_cards import TargetCard

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
    sub.add_argument("--suite", default="", metavar="S", help="default: the first with scores")
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
    from evalcore.exchange import board_export

    if args.format or args.out or args.json:
        raise UsageError("--chart is a file of its own; drop --format, --json and --out")
    picture = board_export.render_board_chart(
        settings.load_settings(args.data), chosen, args.chart.suffix[1:].lower(), args.theme
    )
    return _write_board_file("--chart", args.chart, picture)


def _write_board_file(flag: str, path: Path, content: bytes) -> int:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise UsageError(f"{flag} {path}: {error.strerror}") from None
    return _DONE


COMPARISON_FORMATS = ("text", "md", "csv")
CASES = 20  # shown per benchmark unless asked otherwise


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
    from evalcore.records import to_json
    from evalcore.views import comparison_report, comparison_runs

    if args.cases < 0:
        raise UsageError(f"--cases {args.cases} cannot be negative")
    roots = settings.load_settings(args.data).run_roots
    comparison = comparison_runs.load_lineup(
        roots, comparison_runs.validate_compared_runs(args.runs)
    )
    if comparison.excluded:
        raise UsageError("; ".join(excluded.reason for excluded in comparison.excluded))
    report = comparison_report.build_comparison_report(
        roots, comparison, args.base, benchmark=args.benchmark, metric=args.metric, cases=args.cases
    )
    if args.json:
        print(to_json(report).decode())
    else:
        text = comparison_report.FORMATS[args.format](report)
        sys.stdout.write(text if text.endswith("\n") else f"{text}\n")
    return _DONE


_TEXTS = ("name", "organization", "released", "licence", "site")
_WEIGHTS = {"open": True, "closed": False, "unknown": None}


def add_card_verb(verbs: Any, add_common: Callable[[argparse.ArgumentParser, Verb], None]) -> None:
    """Add the verb; `add_common` adds the flags that every verb has and sets its function."""
    about = "show the card of a target, or set fields of it; an empty value clears a field"
    sub = verbs.add_parser("card", help=about, description=about)
    sub.add_argument("key", metavar="KEY", help="of the target, for example openai:MODEL")
    for name in _TEXTS:
        sub.add_argument(f"--{name}", metavar="TEXT")
    sub.add_argument("--type", help="chat, thinking, application, baseline or local")
    sub.add_argument("--parameters", metavar="BILLIONS", help="empty: unknown")
    sub.add_argument("--weights", choices=tuple(_WEIGHTS))
    sub.add_argument("--logo", metavar="FILE", help="a PNG, JPEG, WebP or GIF picture; empty: none")
    sub.add_argument("--remove", action="store_true", help="take back what was set here")
    add_common(sub, _show_or_set_card)


def _show_or_set_card(args: argparse.Namespace) -> int:
    import msgspec

    from evalcore import settings
    from evalcore.access.policy import OPERATOR
    from evalcore.access.redaction import mask_target
    from evalcore.records import to_json
    from evalcore.target_cards import NO_CARD, load_cards, save_card

    current, changes = settings.load_settings(args.data), _collect_card_changes(args)
    name = mask_target(args.key)
    if args.remove and changes:
        raise UsageError("--remove takes the whole card back; drop the other flags")
    shown = load_cards(current).get(name, NO_CARD)
    if args.remove:
        save_card(current, OPERATOR, args.key, NO_CARD)
    elif changes:
        save_card(current, OPERATOR, args.key, msgspec.structs.replace(shown, **changes))
    card = load_cards(current).get(name, NO_CARD)
    print(to_json(card).decode() if args.json else _format_card(args.key, card))
    return _DONE


def _collect_card_changes(args: argparse.Namespace) -> dict[str, Any]:
    """The fields that were given, as the card has them."""
    flag_values = {name: getattr(args, name) for name in (*_TEXTS, "type")}
    changes: dict[str, Any] = {
        name: value for name, value in flag_values.items() if value is not None
    }
    if args.parameters is not None:
        changes["parameters"] = _parse_billions(args.parameters)
    if args.type is not None:
        _check_card_type(args.type)
    if args.weights is not None:
        changes["open_weights"] = _WEIGHTS[args.weights]
    if args.logo is not None:
        changes["logo"] = _load_logo(args.logo)
    return changes


def _check_card_type(name: str) -> None:
    from evalcore.target_cards import TargetType

    if name not in get_args(TargetType):
        allowed = ", ".join(filter(None, get_args(TargetType)))
        raise UsageError(f"--type {name}: one of {allowed}, or empty")


def _parse_billions(text: str) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        raise UsageError(f"--parameters {text}: a number of billions above 0") from None


def _load_logo(path: str) -> str:
    from evalcore.target_cards import encode_logo

    if not path:
        return ""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise UsageError(f"--logo {path}: {error.strerror}") from None
    return encode_logo(content)


def _format_card(key: str, card: TargetCard) -> str:
    """The card, a field a line; what is not known is a dash, a logo is not printed."""
    weights = next(word for word, value in _WEIGHTS.items() if value is card.open_weights)
    fields: dict[str, Any] = {name: getattr(card, name) for name in (*_TEXTS, "type")}
    size = "" if card.parameters is None else f"{card.parameters:g} billion"
    fields |= {"parameters": size, "weights": weights, "logo": "yes" if card.logo else ""}
    width = max(map(len, fields))
    return "\n".join([key, *(f"  {name:<{width}}  {fields[name] or '-'}" for name in fields)])


def add_site_verb(verbs: Any, add_common: Callable[[argparse.ArgumentParser, Verb], None]) -> None:
    """Add the verb; `add_common` adds the flags that every verb has and sets its function."""
    about = "write a leaderboard as static pages, for any web host or to open without one"
    sub = verbs.add_parser("site", help=about, description=about)
    sub.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="DIR",
        help="an empty or new folder, or one that this verb wrote: it is replaced as a whole",
    )
    sub.add_argument("--title", default="Evalboard", metavar="T", help="default: Evalboard")
    sub.add_argument(
        "--base-url",
        default="",
        metavar="URL",
        help="the address the folder will have, for previews where a link is shared",
    )
    add_common(sub, _write_site)


def _write_site(args: argparse.Namespace) -> int:
    from evalcore import settings
    from evalcore.exchange.site.publish import SiteOptions, publish_site

    options = SiteOptions(args.out, args.title, args.base_url)
    count = publish_site(settings.load_settings(args.data), options)
    index_path = args.out / "index.html"
    summary = {"out": str(args.out), "files": count}
    print(json.dumps(summary) if args.json else f"{format_count(count, 'file')}; open {index_path}")
    return _DONE

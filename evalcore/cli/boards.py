"""The verbs that show results: board, compare, card and site."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from evalcore.cli.exchange import load_cli_settings, print_result
from evalcore.cli.parser import AddCommon
from evalcore.cli.terminal import get_language, tr
from evalcore.errors import FileError, UsageError, join_notes
from evalcore.i18n import Note, name_term
from evalcore.plain_text import align_columns
from evalcore.records import to_json

if TYPE_CHECKING:
    from evalcore.exchange.board_export import BoardSelection
    from evalcore.target_cards import TargetCard

BOARD_FORMATS = ("text", "csv", "json", "md", "latex")
_DONE = 0


def add_board_verb(verbs: Any, add_common: AddCommon) -> None:
    """Add the verb; `add_common` adds the common flags and sets the verb's function."""
    sub = verbs.add_parser("board", help="print the ranking of a board as shown in the app")
    sub.add_argument(
        "--format", choices=BOARD_FORMATS, help="output format (default: text); --json means json"
    )
    sub.add_text("--suite", "S", "suite to show (default: the first with scores)")
    sub.add_text("--board", "KEY", "key of another board (default: the suite's own board)")
    sub.add_text("--by", "BENCHMARK", "benchmark to rank by (default: the suite's mean)")
    sub.add_path("--out", "FILE", "file to write (default: standard output)")
    sub.add_text("--target", "T", "one target of the board, by benchmark and metric")
    sub.add_argument(
        "--scope",
        metavar="RUN",
        help="rank all targets on the cases within the scope of an application's run",
    )
    sub.add_text(
        "--published",
        "PUBLISHER",
        "the board of a publisher (`evalcore published list`) in place of what was run here",
    )
    sub.add_text("--month", "MONTH", "month of --published (default: the newest)")
    sub.add_text("--setup", "NAME", "test setup of --published (default: the most frequent)")
    sub.add_path(
        "--chart", "FILE.svg|FILE.png", "write a chart of scores and intervals instead of the table"
    )
    sub.add_argument(
        "--theme", choices=("light", "dark"), default="light", help="chart theme (default: light)"
    )
    add_common(sub, _print_board)


def _print_board(args: argparse.Namespace) -> int:
    from evalcore.exchange import board_export

    if args.scope:
        return _print_scope_boards(args)
    if args.json and args.format not in (None, "json"):
        raise UsageError(Note("cli_two_formats", form=args.format))
    if not args.published and (args.month or args.setup):
        raise UsageError(Note("cli_published_only"))
    published = (args.published, args.month, args.setup)
    chosen = board_export.BoardSelection(args.suite, args.board, args.by, *published)
    if args.chart is not None:
        return _write_board_chart(args, chosen)
    form = args.format or ("json" if args.json else "text")
    current = load_cli_settings(args)
    if args.target and form not in ("text", "json"):
        raise UsageError(Note("cli_target_form", form=form))
    if args.target:
        text = board_export.render_target_listing(
            current, chosen, args.target, as_json=form == "json", language=get_language()
        )
    else:
        text = board_export.render_board_listing(current, chosen, form, get_language())
    if args.out is None:
        sys.stdout.write(text)
        return _DONE
    return _write_board_file("--out", args.out, text.encode())


def _print_scope_boards(args: argparse.Namespace) -> int:
    from evalcore.views import scope_board

    boards = scope_board.build_scope_boards(args.scope, load_cli_settings(args))
    if args.json or args.format == "json":
        print(to_json(boards).decode())
    else:
        print("\n\n".join(map(scope_board.format_scope_board, boards)))
    return _DONE


def _write_board_chart(args: argparse.Namespace, chosen: BoardSelection) -> int:
    from evalcore.exchange import board_export

    if args.format or args.out or args.json:
        raise UsageError(Note("cli_chart_alone"))
    picture = board_export.render_board_chart(
        load_cli_settings(args), chosen, args.chart.suffix[1:].lower(), args.theme
    )
    return _write_board_file("--chart", args.chart, picture)


def _write_board_file(flag: str, path: Path, content: bytes) -> int:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise FileError(f"{flag} {path}", error) from None
    return _DONE


COMPARISON_FORMATS = ("text", "md", "csv")
CASES = 20  # shown per benchmark unless asked otherwise


def add_compare_verb(verbs: Any, add_common: AddCommon) -> None:
    """Add the verb; `add_common` adds the common flags and sets the verb's function."""
    about = "compare 2 to 8 runs: scores, wins and losses against a base run, differing cases"
    sub = verbs.add_parser("compare", help=about)
    sub.add_argument("runs", nargs="+", metavar="RUN", help="ids of the runs")
    sub.add_text("--base", "RUN", "run to compare against (default: the first)")
    sub.add_text("--benchmark", "B", "only this benchmark")
    sub.add_text("--metric", "M", "only cases of this metric")
    about = "output format (default: text)"
    sub.add_argument("--format", choices=COMPARISON_FORMATS, default="text", help=about)
    sub.add_argument(
        "--cases",
        type=int,
        default=CASES,
        metavar="N",
        help=f"list at most N differing cases per benchmark (default: {CASES})",
    )
    add_common(sub, _compare_runs)


def _compare_runs(args: argparse.Namespace) -> int:
    from evalcore.views import comparison_report, comparison_runs

    if args.cases < 0:
        raise UsageError(Note("cli_negative_cases", number=args.cases))
    roots = load_cli_settings(args).run_roots
    comparison = comparison_runs.load_lineup(
        roots, comparison_runs.validate_compared_runs(args.runs)
    )
    if comparison.excluded:
        raise UsageError(join_notes([excluded.reason for excluded in comparison.excluded]))
    report = comparison_report.build_comparison_report(
        roots, comparison, args.base, benchmark=args.benchmark, metric=args.metric, cases=args.cases
    )
    if args.json:
        print(to_json(report).decode())
    else:
        text = comparison_report.FORMATS[args.format](report, get_language())
        sys.stdout.write(text if text.endswith("\n") else f"{text}\n")
    return _DONE


_TEXTS = {
    "name": "display name",
    "organization": "organization that made the target",
    "released": "release date, as 2026, 2026-11 or 2026-11-20",
    "licence": "license",
    "site": "website, an https:// address",
}
_WEIGHTS = {"open": True, "closed": False, "unknown": None}


def add_card_verb(verbs: Any, add_common: AddCommon) -> None:
    """Add the verb; `add_common` adds the common flags and sets the verb's function."""
    about = "show the card of a target, or set its fields; an empty value clears a field"
    sub = verbs.add_parser("card", help=about)
    sub.add_argument("key", metavar="KEY", help="key of the target, for example openai:MODEL")
    for name, text_about in _TEXTS.items():
        sub.add_argument(f"--{name}", metavar="TEXT", help=text_about)
    sub.add_argument(
        "--type", help="kind of target: chat, thinking, application, baseline or local"
    )
    sub.add_argument("--parameters", metavar="BILLIONS", help="parameters, in billions")
    about = "whether the weights can be downloaded"
    sub.add_argument("--weights", choices=tuple(_WEIGHTS), help=about)
    sub.add_argument("--logo", metavar="FILE", help="a PNG, JPEG, WebP or GIF image")
    sub.add_argument("--remove", action="store_true", help="delete what was set here")
    add_common(sub, _show_or_set_card)


def _show_or_set_card(args: argparse.Namespace) -> int:
    import msgspec

    from evalcore.access.policy import OPERATOR
    from evalcore.access.redaction import mask_target
    from evalcore.target_cards import NO_CARD, load_cards, save_card

    current, changes = load_cli_settings(args), _collect_card_changes(args)
    name = mask_target(args.key)
    if args.remove and changes:
        raise UsageError(Note("cli_card_remove"))
    shown = load_cards(current).get(name, NO_CARD)
    if args.remove:
        save_card(current, OPERATOR, args.key, NO_CARD)
    elif changes:
        save_card(current, OPERATOR, args.key, msgspec.structs.replace(shown, **changes))
    card = load_cards(current).get(name, NO_CARD)
    print(to_json(card).decode() if args.json else _format_card(args.key, card))
    return _DONE


def _collect_card_changes(args: argparse.Namespace) -> dict[str, Any]:
    """Collect the fields set by flags, in the form that the card has them."""
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
        raise UsageError(Note("cli_card_type", name=name, names=allowed))


def _parse_billions(text: str) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        raise UsageError(Note("cli_card_parameters", value=text)) from None


def _load_logo(path: str) -> str:
    from evalcore.target_cards import encode_logo

    if not path:
        return ""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise FileError(f"--logo {path}", error) from None
    return encode_logo(content)


def _format_card(key: str, card: TargetCard) -> str:
    """Format the card, one field per line: a dash if unknown; the logo is not printed."""
    weights = next(word for word, value in _WEIGHTS.items() if value is card.open_weights)
    fields: dict[str, Any] = {name: getattr(card, name) for name in (*_TEXTS, "type")}
    size = "" if card.parameters is None else tr("cli.card.billions", size=f"{card.parameters:g}")
    logo = tr("common.yes").lower() if card.logo else ""
    fields |= {"parameters": size, "weights": name_term(weights, get_language()), "logo": logo}
    names = {name: name_term(name, get_language()) for name in fields}
    return f"{key}\n" + align_columns([(f"  {names[n]}", fields[n] or "-") for n in fields])


def add_site_verb(verbs: Any, add_common: AddCommon) -> None:
    """Add the verb; `add_common` adds the common flags and sets the verb's function."""
    about = "write a leaderboard as static pages, for a web host or to open locally"
    sub = verbs.add_parser("site", help=about)
    sub.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="DIR",
        help="new or empty folder, or one written by this command, which is replaced entirely",
    )
    sub.add_argument(
        "--title", default="Evalboard", metavar="T", help="page title (default: Evalboard)"
    )
    sub.add_argument(
        "--base-url",
        "--base",
        default="",
        metavar="URL",
        help="public address of the folder, for absolute links and previews of shared links",
    )
    sub.add_text(
        "--app-url",
        "URL",
        "address of the app with the same runs; each page then links to its live counterpart",
    )
    add_common(sub, _write_site)


def _write_site(args: argparse.Namespace) -> int:
    from evalcore.exchange.site.publish import SiteOptions, publish_site

    options = SiteOptions(args.out, args.title, args.base_url, args.app_url)
    count = publish_site(load_cli_settings(args), options)
    index_path = args.out / "index.html"
    summary = {"out": str(args.out), "files": count}
    print_result(args, summary, tr("cli.site.written", count=count, path=index_path))
    return _DONE

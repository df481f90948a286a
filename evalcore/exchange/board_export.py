"""The ranking of a board for others: as text for a terminal, a spreadsheet, a paper or a program,
and as a chart in a picture file."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import pandas as pd

from evalcore.access.redaction import mask_target
from evalcore.catalog import suite_cards
from evalcore.charts import pictures
from evalcore.charts.pictures import Theme
from evalcore.errors import UsageError, suggest_name
from evalcore.exchange import report_tables
from evalcore.exchange.report_tables import ReportTable
from evalcore.i18n import DEFAULT, Note, name_term, t
from evalcore.plain_text import NOT_RUN, format_csv, to_single_line
from evalcore.records import Record
from evalcore.settings import Settings
from evalcore.target_cards import TargetCard, colour_of, load_cards
from evalcore.views import board_titles, boards, payloads, stored_boards
from evalcore.views.board_table import RankingView
from evalcore.views.board_titles import Options, collect_options, column_title, display_name
from evalcore.views.boards import Board
from evalcore.views.comparability import describe_comparability
from evalcore.views.payloads import to_json_value
from evalcore.views.published_ranking import PublishedRanking, load_published_ranking
from evalcore.views.ranking import SUITE, list_board_orders

_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "–": "--",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    **{sign: f"{{{sign}}}" for sign in "[]<>\"'`-|"},
}


class BoardSelection(Record, frozen=True):
    """What to list: empty names mean the first suite, its default board, its first order; with
    `published` the board of a publisher, its newest month, its most frequent setup."""

    suite: str = ""
    board: str = ""
    by: str = ""
    published: str = ""
    month: str = ""
    setup: str = ""


def render_board_listing(
    settings: Settings, selection: BoardSelection, format: str, language: str = DEFAULT
) -> str:
    """The listing in a format of FORMATS, `language` is that of "text". Raises UsageError where
    there is no such board or order, naming those there are."""
    ranking = load_selected_ranking(settings, selection)
    own = format == "text" and language != DEFAULT
    return _render_text_listing(ranking, language) if own else FORMATS[format](ranking)


def render_target_listing(
    settings: Settings, selection: BoardSelection, identity: str, *, as_json: bool, language: str
) -> str:
    """A target of the board: its scores by benchmark and metric. Raises UsageError as
    `render_board_listing` does, and where the target is not on the board."""
    ranking = load_selected_ranking(settings, selection)
    payload = ranking.build_target_payload(mask_target(identity))
    if payload is None:
        names = ", ".join(row["identity"] for row in ranking.rows) or "none"
        raise UsageError(Note("cli_board_no_target", target=identity, names=names))
    if as_json:
        return json.dumps(payload, ensure_ascii=False, indent=2) + "\n"
    shown = [
        {name: _format_target_value(value) for name, value in line.items()}
        for line in payload["items"]
    ]
    return payloads.as_text(shown, language) + "\n"


def load_selected_ranking(settings: Settings, selection: BoardSelection) -> RankingView:
    """The ranking that is meant; raises UsageError where there is none."""
    if not selection.published:
        headers = stored_boards.load_run_headers(settings)
        return RankingView(settings, headers, *resolve_ranking(headers, selection))
    if selection.suite or selection.board:
        raise UsageError(Note("cli_published_alone"))
    ranking = load_published_ranking(
        settings, selection.published, selection.month, selection.by, selection.setup
    )
    if selection.by not in ("", ranking.order):
        orders = ", ".join(list_board_orders(ranking.board))
        raise UsageError(Note("cli_board_by", by=selection.by, names=orders))
    return ranking


def resolve_ranking(headers: stored_boards.Headers, selection: BoardSelection) -> tuple[Board, str]:
    """The board that is meant and what it is ranked by; raises UsageError where there is none."""
    board = _find_selected_board(headers, selection)
    by = selection.by or list_board_orders(board)[0]
    if by not in list_board_orders(board):
        orders = list_board_orders(board)
        problem = Note("cli_board_by", by=by, names=", ".join(orders))
        raise UsageError(suggest_name(problem, by, orders))
    return board, by


def _find_selected_board(headers: stored_boards.Headers, selection: BoardSelection) -> Board:
    suites = boards.list_suites(headers)
    if selection.suite not in ("", *suites, *suite_cards()):
        names = dict.fromkeys([*suite_cards(), *suites])
        problem = Note("cli_board_no_suite", suite=selection.suite, names=", ".join(names))
        raise UsageError(suggest_name(problem, selection.suite, names))
    candidates = boards.list_boards(headers, selection.suite or suites[0]) if suites else []
    if not candidates:
        where = f" of suite {selection.suite}" if selection.suite else ""
        raise UsageError(Note("cli_board_none_yet", where=where))
    for board in candidates:
        if board.key == (selection.board or candidates[0].key):
            return board
    keys = ", ".join(board.key for board in candidates)
    raise UsageError(Note("cli_board_unknown", board=selection.board, names=keys))


def ranking_to_csv(frame: pd.DataFrame) -> str:
    """Every column of the ranking, as the Ranking page's download has them."""
    records = (map(to_json_value, record) for record in frame.itertuples(index=False))
    return format_csv([frame.columns, *records])


def _render_text_listing(ranking: RankingView, language: str = DEFAULT) -> str:
    table = _build_listing_table(ranking, language)
    lines = [dict(zip(table.columns, map(to_single_line, row), strict=True)) for row in table.rows]
    about = describe_comparability(ranking.board, ranking.order, language)
    shown = payloads.as_text(lines, language)
    return f"{to_single_line(table.title)}\n\n{shown}\n\n{about}\n"


def _render_latex_listing(ranking: RankingView) -> str:
    """A `tabular` with the rules of the package booktabs."""
    table = _build_listing_table(ranking)
    kinds = "rlrrrl" + "r" * (len(table.columns) - 6)
    about = describe_comparability(ranking.board, ranking.order, "en")
    lines = [
        f"% {to_single_line(table.title)} {about}".rstrip(),
        f"\\begin{{tabular}}{{{kinds}}}",
        "\\toprule",
    ]
    lines += [_latex_row(table.columns), "\\midrule", *map(_latex_row, table.rows)]
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}"]) + "\n"


def _latex_row(cells: Sequence[str]) -> str:
    texts = ("".join(_LATEX.get(sign, sign) for sign in to_single_line(cell)) for cell in cells)
    return " & ".join(texts) + r" \\"


def _build_listing_table(ranking: RankingView, language: str = DEFAULT) -> ReportTable:
    """The table that people read, without metrics, of which a board can have more than a page is
    wide; those without a rank stand below, with the reason."""
    columns = ("Rank", "Target", "Score", "95% interval", "Rank interval", "Status")
    board, order = ranking.board, ranking.order
    shown = board.columns if order == SUITE else {order: board.columns[order]}
    labels = " + ".join(
        column_title(column, language) if language != DEFAULT else column.label or key
        for key, column in shown.items()
    )
    benchmarks = list(board.columns) if len(board.columns) > 1 else []
    rows = tuple(
        (
            _format_listing_value(row["rank"], "{}"),
            row["identity"],
            _format_listing_value(row["score"], "{:.1f}"),
            _format_listing_range(row["low"], row["high"], "{:.1f}", language),
            _format_listing_range(row["rank_low"], row["rank_high"], "{}", language),
            name_term(row["status"], language),
            *(_format_listing_value(row["scores"][name], "{:.1f}") for name in benchmarks),
            _format_listing_value(row["cost"], "{:.4f}"),
        )
        for row in ranking.rows
    )
    by = name_term("the mean of the suite", language) if order == SUITE else order
    title = t("cli.board_title", language, suite=board.suite, labels=labels, by=by)
    return ReportTable(title, (*columns, *benchmarks, "Cost, USD"), rows)


def _format_target_value(value: Any) -> Any:
    if value is None:
        return NOT_RUN
    return f"{value:.1f}" if isinstance(value, float) else value


def _format_listing_value(value: float | None, form: str) -> str:
    return NOT_RUN if value is None else form.format(value)


def _format_listing_range(low: float | None, high: float | None, form: str, language: str) -> str:
    if low is None or high is None:
        return NOT_RUN
    return t("cli.report.interval", language, low=form.format(low), high=form.format(high))


FORMATS: dict[str, Callable[[RankingView], str]] = {
    "csv": lambda ranking: ranking_to_csv(ranking.frame),
    "text": _render_text_listing,
    "json": lambda ranking: (
        json.dumps(ranking.build_payload(), ensure_ascii=False, indent=2) + "\n"
    ),
    "md": lambda ranking: report_tables.render_markdown_tables(
        "Ranking", [_build_listing_table(ranking)]
    ),
    "latex": _render_latex_listing,
}


# The scores of a board with intervals and floors as a picture file, for a paper or a post.

_LONGEST = 40  # characters of a name
MOST_BARS = 40
FLOORS = {
    "null": "floor: empty answer",
    "noop": "floor: input returned",
    "cte": "floor: input in a CTE",
    "limit": "floor: input with a limit",
    "tautology": "floor: input with 1 = 1",
}
LABELS = {"name": "Target", "score": "Score", "interval": "95% interval"}


def render_board_chart(
    settings: Settings, selection: BoardSelection, form: str, theme: Theme = "light"
) -> bytes:
    """Draw the chart of a board in a format of `chart_files.FORMATS`. Raises UsageError for another
    format, an unknown board, or a board without a ranked target."""
    if form not in pictures.FORMATS:
        raise UsageError(Note("cli_chart_name"))
    ranking = load_selected_ranking(settings, selection)
    board, by = ranking.board, ranking.order
    if not ranking.ranked:
        raise UsageError(Note("cli_chart_empty"))
    names = name_ranking(ranking, load_cards(settings))
    suite, order = board_titles.suite_title(board.suite, "en"), board_titles.order_title(by, "en")
    return pictures.render_chart_file(
        build_score_chart(names, ranking.floors).to_dict(),
        form,
        title=f"{suite}: {order}",
        source=f"Evalboard · {board_titles.ranked_title(board, by, 'en')}",
        theme=theme,
    )


def name_ranking(ranking: RankingView, cards: Mapping[str, TargetCard]) -> pd.DataFrame:
    """The ranking with a column `name`, by the cards, or as the publisher calls its models."""
    if isinstance(ranking, PublishedRanking):
        names = [to_single_line(ranking.names[who], _LONGEST) for who in ranking.frame["identity"]]
        return ranking.frame.assign(name=names)
    return add_display_names(ranking.frame, cards, collect_options(ranking.headers))


def add_display_names(
    frame: pd.DataFrame,
    cards: Mapping[str, TargetCard],
    options: Mapping[str, Options] = MappingProxyType({}),
) -> pd.DataFrame:
    """The ranking with a column `name`, what targets are called; those of one name
    go by their identity, since a chart would draw them as one."""
    names = [
        to_single_line(display_name(identity, key, cards, options.get(identity)), _LONGEST)
        for identity, key in zip(frame["identity"], frame["target_key"], strict=True)
    ]
    duplicates = {name for name, count in Counter(names).items() if count > 1}
    pairs = zip(frame["identity"], names, strict=True)
    return frame.assign(name=[who if name in duplicates else name for who, name in pairs])


def build_score_chart(frame: pd.DataFrame, floors: dict[str, float]) -> Any:
    """Bars of the first ranked targets in their colours; `frame` comes from `add_display_names`."""
    from evalcore.charts import plots  # Altair takes as long to load as a listing to make

    ranked = frame[frame["status"] == "ranked"].head(MOST_BARS)
    floor_lines = {
        f"{FLOORS[name]} {score:.1f}": score for name, score in floors.items() if name in FLOORS
    }
    coloured = ranked.assign(colour=[colour_of(identity) for identity in ranked["identity"]])
    return plots.build_score_bars(coloured, LABELS, floor_lines)

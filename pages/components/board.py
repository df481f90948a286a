"""What the pages of a board share: which board is shown, its frames, the names on it.

Frames are kept for all sessions until a run on the board changes.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec
import pandas as pd

from evalcore.catalog import benchmark_cards, local, target_kinds
from evalcore.queries import boards, stored_boards, targets
from evalcore.queries.boards import Board, Column, is_bundled
from evalcore.queries.metric_board import MetricView
from evalcore.queries.ranking import SUITE
from evalcore.queries.stored_boards import Headers
from evalcore.settings import Settings
from pages.components import url_state
from pages.components.language import Translate, current
from pages.components.text import escape, plain

_OPTION = re.compile(r", (?=\w+=)")
_UNUSABLE = re.compile(r"(\d+) unusable")
_PUBLISHERS = {"scale": "SCALE"}  # the kinds of imported targets, under their proper names


def choose(headers: Headers, page: str, tr: Translate, identity: str = "") -> Board | None:
    """The board the URL names, with pickers where there is a choice; None without any score.

    With an `identity` only the boards on which that target has a score.
    """
    suites = boards.suites(targets.runs_of(headers, identity) if identity else headers)
    if not suites:
        return None
    suite = suites[0]
    if len(suites) > 1:
        suite = url_state.select(
            tr("ranking.suite"),
            suites,
            page=page,
            name="suite",
            title=lambda code: tr(f"common.suite.{code}"),
            width=140,
        )
    else:
        url_state.only(
            tr("ranking.suite"),
            suite,
            page=page,
            name="suite",
            title=lambda code: tr(f"common.suite.{code}"),
        )
    known = {
        board.key: board
        for board in boards.boards(headers, suite)
        if not identity or any(row.identity == identity for row in boards.rows(headers, board))
    }
    if len(known) < 2:
        alone = next(iter(known.values()), None)
        if alone is not None:
            title = board_title(alone, tr)
            label = tr("ranking.board")
            url_state.only(label, alone.key, page=page, name="board", title=lambda code: title)
        return alone
    titles = _told_apart(known, tr)
    key = url_state.select(
        tr("ranking.board"),
        list(known),
        page=page,
        name="board",
        title=lambda code: titles[code],
        help=tr("ranking.board_help"),
        width=330,
    )
    return known[key]


def frame(settings: Settings, board: Board, order: str = "") -> pd.DataFrame:
    """The ranking of a board, kept while its runs are unchanged."""
    return stored_boards.kept_ranking(settings, board, order)


def _told_apart(known: Mapping[str, Board], tr: Translate) -> dict[str, str]:
    """The titles of boards by key; those that read alike, such as two versions of a data set, are
    followed by the day of their newest run and the beginning of their key."""
    titles = {key: board_title(board, tr) for key, board in known.items()}
    told = Counter(titles.values())
    for key, title in titles.items():
        if told[title] > 1:
            newest = max(column.newest for column in known[key].columns.values())
            titles[key] = f"{title} · {newest[:10]} · {plain(key, 8)}"
    return titles


def metric_view(settings: Settings, board: Board, benchmark: str, metric: str) -> MetricView:
    """One metric across the targets of a board, kept while its runs are unchanged."""
    return stored_boards.kept_metric(settings, board, benchmark, metric)


def board_title(board: Board, tr: Translate) -> str:
    """The columns of a board in words, from the most to the least telling; of a published one its
    publication."""
    if board.published:
        label = next(iter(board.columns.values())).label
        return f"{plain(label.split(' · ')[0], 40)} · {tr('ranking.imported')}"
    return " + ".join(column_title(column, tr) for column in board.columns.values())


def column_title(column: Column, tr: Translate) -> str:
    """Data set, mode and size of one column."""
    title = describe(msgspec.structs.asdict(column), tr)
    return title if column.executed else f"{title} · {tr('ranking.imported')}"


def describe(score: Mapping[Any, Any], tr: Translate) -> str:
    """What a score rests on, in the session's language, from its benchmark, dataset, label,
    samples and full: the label's last part, the size, is said anew with the number of tasks that
    were set aside, and the bundled cases go by the title of their benchmark."""
    told = score["label"].split(" · ")
    unusable = _UNUSABLE.fullmatch(told[-1])
    parts = (told[:-2] if unusable else told[:-1]) or [score["dataset"]]
    parts = [parts[0], *filter(None, (_chosen(part, score["benchmark"]) for part in parts[1:]))]
    if is_bundled(score["benchmark"], score["dataset"]):
        parts[0] = benchmark_title(score["benchmark"])
    sizes = [tr("ranking.cases" if score["full"] else "ranking.subset", count=score["samples"])]
    sizes += [tr("ranking.unusable", count=unusable[1])] if unusable else []
    return " · ".join([*(plain(part, 40) for part in parts), *sizes])


def _chosen(part: str, benchmark: str) -> str:
    """Options "name=value, name=value" of a label without those that hold their default."""
    card = benchmark_cards().get(benchmark)
    usual = {f"{one.name}={one.default}" for one in card.options} if card else set()
    return ", ".join(told for told in _OPTION.split(part) if told not in usual)


def benchmark_title(benchmark: str) -> str:
    """The title of a benchmark in the session's language."""
    card = benchmark_cards().get(benchmark)
    return (local(card.title, current()) if card else "") or plain(benchmark)


def metric_title(benchmark: str, metric: str) -> str:
    """The title of a metric in the session's language."""
    card = benchmark_cards().get(benchmark)
    title = next((one.title for one in card.metrics if one.key == metric), None) if card else None
    return (local(title, current()) if title else "") or plain(metric)


def order_title(order: str, tr: Translate) -> str:
    return tr("ranking.suite_score") if order == SUITE else benchmark_title(order)


def kind_title(kind: str) -> str:
    """The title of a kind of target, by its prefix."""
    card = target_kinds().get(kind)
    return (local(card.title, current()) if card else "") or _PUBLISHERS.get(kind) or plain(kind)


def bold(name: str) -> str:
    """A name from outside in bold, for a sentence that is Markdown."""
    return f"**{escape(name, 60)}**"


def cost_format(costs: pd.Series[float]) -> str:
    """A number format with two digits of the smallest cost above zero, the same for a column."""
    above = costs.astype(float)[costs.astype(float) > 0]
    digits = 2 if above.empty else min(6, max(2, 1 - math.floor(math.log10(above.min()))))
    return f"$%.{digits}f"


def span(low: float, high: float, form: str) -> str:
    """An interval as "85.2 – 95.3", one number where both ends read the same, else empty."""
    if pd.isna(low) or pd.isna(high):
        return ""
    first, last = form.format(low), form.format(high)
    return first if first == last else f"{first} – {last}"

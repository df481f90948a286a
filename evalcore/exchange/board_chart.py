"""The scores of a board with intervals and floors as a picture file, for a paper or a post."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pandas as pd

from evalcore import chart_files, charts
from evalcore.chart_files import Theme
from evalcore.errors import UsageError
from evalcore.exchange.board_export import BoardSelection, resolve_ranking
from evalcore.plain_text import to_single_line
from evalcore.queries import board_words, boards, stored_boards
from evalcore.queries.names import display_name
from evalcore.queries.ranking import SUITE
from evalcore.settings import Settings
from evalcore.target_cards import TargetCard, load_cards
from evalcore.target_colours import colour_of

_LONGEST = 40  # characters of a name
MOST_BARS = 40
FLOORS = {
    "null": "floor: empty answer",
    "noop": "floor: input returned",
    "cte": "floor: input in a CTE",
    "limit": "floor: input with a limit",
    "tautology": "floor: input with 1 = 1",
}
LABELS = {"name": "Target", "score": "Score", "interval": "95 % interval"}


def render_board_chart(
    settings: Settings, selection: BoardSelection, form: str, theme: Theme = "light"
) -> bytes:
    """The chart of a board in a format of `chart_files.FORMATS`.

    Raises UsageError for another format, for no such board, and where nobody is ranked on it.
    """
    if form not in chart_files.FORMATS:
        raise UsageError("--chart: the file's name must end with .svg or .png")
    headers = stored_boards.load_run_headers(settings)
    board, by = resolve_ranking(headers, selection)
    frame = stored_boards.board_ranking(settings, board, by)
    if not (frame["status"] == "ranked").any():
        raise UsageError("--chart: nobody is ranked on this board yet")
    names = add_display_names(frame, load_cards(settings))
    floors = boards.compute_floors(headers, board, "" if by == SUITE else by)
    return chart_files.render_chart_file(
        build_score_chart(names, floors).to_dict(),
        form,
        title=f"{board_words.suite_title(board.suite, 'en')}: {board_words.order_title(by, 'en')}",
        source=f"Evalboard · {board_words.ranked_title(board, by, 'en')}",
        theme=theme,
    )


def add_display_names(frame: pd.DataFrame, cards: Mapping[str, TargetCard]) -> pd.DataFrame:
    """The ranking with a column `name`, what targets are called; those of one name
    go by their identity, since a chart would draw them as one."""
    names = [
        to_single_line(display_name(identity, key, cards), _LONGEST)
        for identity, key in zip(frame["identity"], frame["target_key"], strict=True)
    ]
    duplicates = {name for name, count in Counter(names).items() if count > 1}
    return frame.assign(
        name=[
            identity if name in duplicates else name
            for identity, name in zip(frame["identity"], names, strict=True)
        ]
    )


def build_score_chart(frame: pd.DataFrame, floors: dict[str, float]) -> Any:
    """Bars of the first ranked targets in their colours; `frame` comes from `add_display_names`."""
    ranked = frame[frame["status"] == "ranked"].head(MOST_BARS)
    floor_lines = {
        f"{FLOORS[name]} {score:.1f}": score for name, score in floors.items() if name in FLOORS
    }
    coloured = ranked.assign(colour=[colour_of(identity) for identity in ranked["identity"]])
    return charts.build_score_bars(coloured, LABELS, floor_lines)

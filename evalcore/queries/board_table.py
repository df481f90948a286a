"""All that the Ranking page shows of a board: the ranking with the facts of its targets beside it.

Made once per state of the store and read ever after: what a visitor asks for is cut from it.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from evalcore.queries import boards
from evalcore.queries.board_filters import every_part
from evalcore.queries.board_periods import list_board_months, select_runs_between
from evalcore.queries.boards import Board, Row
from evalcore.queries.facts import build_target_facts
from evalcore.queries.leaders import Leader, find_leaders
from evalcore.queries.ranking import SUITE
from evalcore.queries.recent_targets import find_recent_targets
from evalcore.queries.stored_boards import load_cached_ranking, load_run_headers
from evalcore.records import Record
from evalcore.settings import Settings
from evalcore.store.headers import RunHeader
from evalcore.target_cards import load_cards


class BoardTable(Record, frozen=True):
    """`frame` is that of `ranking` with the columns of `build_target_facts` and `new`; nobody may
    change it.

    `floors` are the scores of the controls, `months` all that the board has runs in, whatever the
    range; `leaders` are of the ranked.
    """

    frame: pd.DataFrame
    floors: dict[str, float]
    leaders: tuple[Leader, ...]
    months: tuple[str, ...]


def board_table(
    settings: Settings, board: Board, order: str, since: str = "", until: str = ""
) -> BoardTable:
    """The table of a board by the runs of a range of months, see `periods.within`."""
    all_headers = load_run_headers(settings)
    selected_headers = select_runs_between(all_headers, since, until)
    board_rows = boards.list_board_rows(selected_headers, board)
    frame = join_target_facts(
        load_cached_ranking(settings, board, order, selected_headers),
        board_rows,
        selected_headers,
        board,
        settings,
    )
    ranked_identities = set(frame.loc[frame["status"] == "ranked", "identity"])
    return BoardTable(
        frame=frame,
        floors=boards.compute_floors(selected_headers, board, "" if order == SUITE else order),
        leaders=find_leaders(
            [row for row in board_rows if row.identity in ranked_identities],
            frame,
            every_part(board),
        ),
        months=tuple(list_board_months(all_headers, board)),
    )


def join_target_facts(
    frame: pd.DataFrame,
    board_rows: Sequence[Row],
    selected_headers: Sequence[RunHeader],
    board: Board,
    settings: Settings,
) -> pd.DataFrame:
    """A ranking with the columns of `build_target_facts` and whether a target is `new`."""
    target_facts = build_target_facts(board_rows, load_cards(settings), settings)
    released = dict(zip(target_facts.index, target_facts["released"], strict=True))
    recent_identities = find_recent_targets(selected_headers, board, released)
    joined = frame.join(target_facts, on="identity")
    return joined.assign(new=joined["identity"].isin(recent_identities))

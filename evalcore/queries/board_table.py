"""All that the Ranking page shows of a board: the ranking with the facts of its targets beside it.

Made once per state of the store and read ever after: what a visitor asks for is cut from it.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from evalcore.queries import boards
from evalcore.queries.boards import Board, Row
from evalcore.queries.facts import facts
from evalcore.queries.leaders import Leader, leaders
from evalcore.queries.narrowing import every_part
from evalcore.queries.novelty import newcomers
from evalcore.queries.periods import months, within
from evalcore.queries.ranking import SUITE
from evalcore.queries.stored_boards import headers, kept_ranking
from evalcore.records import Record
from evalcore.settings import Settings
from evalcore.store.headers import RunHeader
from evalcore.target_cards import load_cards


class BoardTable(Record, frozen=True):
    """`frame` is that of `ranking` with the columns of `facts` and `new`; nobody may change it.

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
    everything = headers(settings)
    chosen = within(everything, since, until)
    held = boards.rows(chosen, board)
    frame = with_facts(kept_ranking(settings, board, order, chosen), held, chosen, board, settings)
    placed = set(frame.loc[frame["status"] == "ranked", "identity"])
    return BoardTable(
        frame=frame,
        floors=boards.floors(chosen, board, "" if order == SUITE else order),
        leaders=leaders([row for row in held if row.identity in placed], frame, every_part(board)),
        months=tuple(months(everything, board)),
    )


def with_facts(
    frame: pd.DataFrame,
    held: Sequence[Row],
    chosen: Sequence[RunHeader],
    board: Board,
    settings: Settings,
) -> pd.DataFrame:
    """A ranking with the columns of `facts` and whether a target is `new`."""
    known = facts(held, load_cards(settings), settings)
    released = dict(zip(known.index, known["released"], strict=True))
    lately = newcomers(chosen, board, released)
    joined = frame.join(known, on="identity")
    return joined.assign(new=joined["identity"].isin(lately))

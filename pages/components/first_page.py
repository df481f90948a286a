"""What the first visitor would otherwise wait for: the code of all pages, the rows of the boards
that are shown first."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from evalcore.queries import boards, stored_boards
from evalcore.queries.board_filters import BoardFilter
from evalcore.queries.ranking import list_board_orders
from evalcore.queries.row_sorting import list_sort_keys
from evalcore.settings import Settings
from pages.components import ranking_data
from pages.components.ranking_data import RankingView


def warm_up_pages(settings: Settings) -> None:
    """Load the components, then work out what the Ranking page shows where nothing is asked for.

    Raises what reading the store does.
    """
    for module in iter_modules([str(Path(__file__).parent)]):
        import_module(f"pages.components.{module.name}")
    headers = stored_boards.load_run_headers(settings)
    for suite in boards.list_suites(headers):
        board = boards.list_boards(headers, suite)[0]
        view = RankingView(
            settings,
            ranking_data.compute_store_version(settings),
            board,
            list_board_orders(board)[0],
        )
        ranking_data.load_ranking_rows(view, BoardFilter(), list_sort_keys(board)[0])
        ranking_data.load_filter_choices(view)

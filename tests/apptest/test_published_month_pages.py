"""All 13 months that SCALE published, with their real gaps, on every page that shows a board."""

import pytest

from evalcore.store.run_folder import find_run
from evalcore.views import boards, stored_boards
from evalcore.views.ranking import list_board_orders
from tests.support.pages import open_page, words
from tests.support.scale_months import EACH_MONTH, months, months_store

pytestmark = pytest.mark.slow

__all__ = ["months", "months_store"]  # fixtures


@pytest.fixture(params=EACH_MONTH)
def board(request, months):
    all_boards = boards.list_boards(stored_boards.load_run_headers(months), "sql")
    return boards.find_board(all_boards, f"scale-{request.param}")


def gap_of(settings, board):
    """A run that stands on a board with the first case that its publisher dropped, of any run."""
    for row in boards.list_board_rows(stored_boards.load_run_headers(settings), board):
        for benchmark, run in row.runs.items():
            if run.benchmarks[benchmark].outcomes.get("missing"):
                folder = find_run(run.run_id, settings.run_roots)
                graded = {
                    (line.benchmark, line.verdict.metric, line.verdict.id)
                    for line in folder.read_verdicts("published")
                }
                for line in folder.read_samples():
                    key = (line.benchmark, line.sample.metric, line.sample.id)
                    if key not in graded:
                        return row.identity, run.run_id, *key
    row = boards.list_board_rows(stored_boards.load_run_headers(settings), board)[0]
    run = next(iter(row.runs.values()))
    line = next(find_run(run.run_id, settings.run_roots).read_samples())
    return run.identity, run.run_id, line.benchmark, line.sample.metric, line.sample.id


@pytest.mark.full
def test_every_page_opens_on_every_month(months, board):
    params = {"suite": "sql", "board": board.key}
    identity, run, benchmark, metric, case = gap_of(months, board)
    ranked = stored_boards.load_cached_ranking(months, board, "sql_optimization")
    runs = dict.fromkeys([run, *ranked["run_id"].head(2)])
    for by in (list_board_orders(board)[0], benchmark):
        assert "scale" in words(open_page("ranking", **params, by=by)).lower()
    open_page("metrics", **params, benchmark=benchmark, metric=metric)
    open_page("target", **params, key=identity)
    open_page("compare", runs=",".join(runs))
    app = open_page("case", run=run, benchmark=benchmark, metric=metric, id=case)
    assert case in words(app)
    open_page("methodology", **params)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_runs_of_all_months_are_listed(months, language):
    app = open_page("runs", language, run="scale-2026-06-qwen3.5-397b-a17b")
    assert not app.error

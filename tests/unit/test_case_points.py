"""The points of a board are those of its cases, whether just read or kept from before."""

import shutil

import numpy as np
import pandas as pd
import pytest

from evalcore.scoring.ranks import rank_board
from evalcore.store import case_tables
from evalcore.store.case_index import CaseIndex
from evalcore.store.case_tables import PointTable
from evalcore.store.run_folder import RunFolder, list_run_folders
from evalcore.store.stored_cases import read_case_points, write_case_points
from evalcore.views import boards, case_points, ranking, stored_boards
from tests.support.boards import build_ranking, settings_in
from tests.support.many_runs import make_store

KEYS = ["metric", "id"]


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    result = settings_in(tmp_path_factory.mktemp("points"))
    make_store(result, targets=60, months=2)
    return result


@pytest.fixture
def board(settings):
    return boards.list_boards(stored_boards.load_run_headers(settings), "sql")[0]


def ranked_rows(rows, board, by, cases):
    readable = set(zip(cases["benchmark"], cases["run"], strict=True))
    return [row for row in rows if ranking.find_row_status(row, board, by, readable) == "ranked"]


def slow_standings(rows, board, by, cases):
    """The rule at its plainest: per target a look at its own cases, one after the other."""
    benchmarks = list(board.columns) if by == ranking.SUITE else [by]
    added, most = {}, pd.Series(dtype=float)
    for row in ranked_rows(rows, board, by, cases):
        parts, heaviest = [], []
        for key in benchmarks:
            own = cases[(cases["run"] == row.runs[key].run_id) & (cases["benchmark"] == key)]
            own = own.set_index(["benchmark", *KEYS])
            heaviest.append(100 * own["weight"] / own["weight"].sum())
            parts.append(heaviest[-1] * own["score"])
        added[row.identity] = pd.concat(parts) / len(benchmarks)
        most = (pd.concat(heaviest) / len(benchmarks)).combine(most, max, fill_value=0.0)
    table = pd.DataFrame(added).sort_index()
    return rank_board(
        {name: table[name].to_numpy() for name in table},
        strata=[(benchmark, metric) for benchmark, metric, _ in table.index],
        maxima=most.sort_index().to_numpy(),
    )


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize("stored", [False, True])
def test_ranks_are_those_of_the_plain_rule(settings, board, stored):
    shutil.rmtree(settings.data_dir / case_points.FOLDER, ignore_errors=True)
    rows = boards.list_board_rows(stored_boards.load_run_headers(settings), board)
    if stored:
        case_points.load_board_points(settings, rows, board)
    points = case_points.load_board_points(settings, rows, board)
    cases = case_points.case_scores(list_run_folders(settings.run_roots))
    readable = case_points.find_readable_scores(points)
    assert readable == {(key, run.run_id) for row in rows for key, run in row.runs.items()}
    assert case_points.find_partial_scores(points) == set()
    for by in ranking.list_board_orders(board):
        standings = ranking.compute_standings(
            ranked_rows(rows, board, by, cases), board, by, points
        )
        assert standings == slow_standings(rows, board, by, cases)
        assert len(standings) > 50


def test_a_ranking_from_kept_points_equals_one_from_the_frame_of_cases(settings, board):
    headers = stored_boards.load_run_headers(settings)
    cases = case_points.case_scores(list_run_folders(settings.run_roots))
    stored_boards.board_ranking(settings, board)
    board_ranking = stored_boards.board_ranking(settings, board)
    pd.testing.assert_frame_equal(board_ranking, build_ranking(headers, board, cases))


def test_kept_points_are_read_from_one_file_a_column(settings, board, monkeypatch):
    stored_boards.board_ranking(settings, board)
    monkeypatch.setattr(
        case_tables, "query_samples", lambda *_: pytest.fail("read the cases again")
    )
    frame = stored_boards.board_ranking(settings, board)
    assert (frame["status"] == "ranked").sum() > 50
    files = list((settings.data_dir / case_points.FOLDER).iterdir())
    assert len(files) == len(board.columns)


def test_points_that_a_worker_keeps_are_those_of_its_journals(settings, monkeypatch):
    folder = next(item for item in list_run_folders(settings.run_roots) if item.read_summary())
    expected, spec = case_points.case_scores([folder]), folder.read_spec()
    with CaseIndex.load(folder, folder.read_summary().scoring, spec.epochs) as index:
        write_case_points(index, spec)
    with monkeypatch.context() as patch:
        patch.setattr(case_tables, "query_samples", lambda *_: pytest.fail("read the cases again"))
        kept = case_points.case_scores([folder])
    order = ["run", "benchmark", *KEYS]
    sort = [frame.sort_values(order, ignore_index=True) for frame in (kept, expected)]
    pd.testing.assert_frame_equal(*sort, check_dtype=False)
    assert len(expected) > 5
    [path] = folder.path.glob("points.*")
    content = path.read_bytes()
    for damage in (b"", content[:-9], b'["", {"a": [["m", "1", "x", 1]]}]'):
        path.write_bytes(damage)
        assert read_case_points(folder) is None
    path.write_bytes(content)
    (folder.path / "generations" / "w2.jsonl").touch()
    assert read_case_points(folder) is None
    (folder.path / "generations" / "w2.jsonl").unlink()


def test_a_changed_folder_is_read_again_and_only_that(settings, board, monkeypatch):
    stored_boards.board_ranking(settings, board)
    rows = boards.list_board_rows(stored_boards.load_run_headers(settings), board)
    changed = next(row.runs["sql_understanding"].run_id for row in rows if row.is_complete)
    journal = settings.runs_dir / changed / "verdicts" / "s1" / "w1.jsonl"
    content = journal.read_bytes()
    journal.unlink()  # it is one file under many names
    journal.write_bytes(content)
    read = []
    scores = case_points.case_scores
    monkeypatch.setattr(
        case_points,
        "case_scores",
        lambda some: scores(read.extend(item.run_id for item in some) or some),
    )
    case_points.load_board_points(settings, rows, board)
    case_points.load_board_points(settings, rows, board)
    assert read == [changed]


@pytest.mark.parametrize("content", [b"", b"no parquet", None])
def test_a_damaged_file_of_points_is_made_anew(settings, board, content):
    expected = stored_boards.board_ranking(settings, board)
    for path in (settings.data_dir / case_points.FOLDER).iterdir():
        path.write_bytes(path.read_bytes()[:-9] if content is None else content)
    pd.testing.assert_frame_equal(stored_boards.board_ranking(settings, board), expected)


def test_a_store_that_cannot_be_written_is_ranked_all_the_same(settings, board, monkeypatch):
    expected = stored_boards.board_ranking(settings, board)
    shutil.rmtree(settings.data_dir / case_points.FOLDER)

    def refused(*_):
        raise PermissionError("read-only")

    monkeypatch.setattr(case_tables, "write_atomic", refused)
    pd.testing.assert_frame_equal(stored_boards.board_ranking(settings, board), expected)
    assert not (settings.data_dir / case_points.FOLDER).exists()


def test_a_folder_that_is_gone_has_no_points(settings, board):
    rows = boards.list_board_rows(stored_boards.load_run_headers(settings), board)
    gone = rows[0].runs["sql_understanding"].run_id
    away = settings.data_dir / "away"
    (settings.runs_dir / gone).rename(away)
    try:
        points = case_points.load_board_points(settings, rows, board)
        assert gone not in case_points.find_readable_scores(points)
    finally:
        away.rename(settings.runs_dir / gone)


def test_a_table_comes_back_as_it_was(tmp_path):
    points = np.array([[1.5, np.nan], [0.1 + 0.2, -0.0]])
    table = PointTable(
        [("m", "1"), ("m", "|'é")], {"a": 0, "b": 1}, {"a": "x", "b": "y"}, points, np.ones(2)
    )
    case_tables.save_point_table(tmp_path / "t.parquet", table)
    point_table = case_tables.load_point_table(tmp_path / "t.parquet")
    assert point_table[:3] == table[:3]
    assert point_table.points.tobytes() == points.tobytes()
    assert point_table.maxima.tolist() == [1.0, 1.0]
    assert case_tables.load_point_table(tmp_path / "none.parquet") is None


def test_a_table_without_a_case_is_not_kept(tmp_path):
    case_tables.save_point_table(
        tmp_path / "t.parquet", PointTable([], {}, {}, np.empty((0, 0)), np.empty(0))
    )
    assert not (tmp_path / "t.parquet").exists()


def test_the_signature_of_a_run_changes_with_its_journals(settings):
    folder = RunFolder(next(settings.runs_dir.iterdir()))
    before = case_tables.samples_signature(folder)
    assert case_tables.samples_signature(folder) == before
    extra = folder.path / "generations" / "w2.jsonl"
    extra.write_bytes(b"")
    assert case_tables.samples_signature(folder) != before
    extra.unlink()
    assert case_tables.samples_signature(folder) == before


def test_few_cases_are_read_together(settings, board, monkeypatch):
    shutil.rmtree(settings.data_dir / case_points.FOLDER, ignore_errors=True)
    rows = boards.list_board_rows(stored_boards.load_run_headers(settings), board)
    whole = case_points.load_board_points(settings, rows, board)
    shutil.rmtree(settings.data_dir / case_points.FOLDER)
    sizes, read = [], case_points.case_scores

    def count_cases(folders):
        frame = read(folders)
        sizes.append((frame["run"].nunique(), len(frame)))
        return frame

    monkeypatch.setattr(case_points, "case_scores", count_cases)
    monkeypatch.setattr(case_points, "_BATCH_CASES", 100)
    points = case_points.load_board_points(settings, rows, board)
    assert len(sizes) > 5
    assert all(cases <= 100 or runs == 1 for runs, cases in sizes)
    for key, table in whole.items():
        assert points[key].runs.keys() == table.runs.keys()
        for run, row in table.runs.items():
            assert np.array_equal(points[key].points[points[key].runs[run]], table.points[row])

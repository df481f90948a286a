"""What a rerun of a page over 500 runs must not do: counts, since times are for perf/pages.py."""

from __future__ import annotations

import builtins
import io
import os

import altair as alt
import pytest

from evalcore.scoring import ranks
from evalcore.store import case_tables
from evalcore.store.index import load_headers
from evalcore.store.run_folder import RunFolder
from evalcore.views import boards, runs, stored_boards
from tests.support.boards import settings_in
from tests.support.many_runs import HOSTILE, make_store, name_of
from tests.support.pages import open_page, table, words

pytestmark = pytest.mark.slow

TARGETS = 500
#: Files that one rerun may open: sources and catalogues are kept, a chosen run's own files are not.
FEW = 60


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    settings = settings_in(tmp_path_factory.mktemp("large"))
    make_store(settings, TARGETS)
    return settings


@pytest.fixture
def store(large, monkeypatch):
    monkeypatch.setenv("EVALBOARD_DATA", large.data)
    monkeypatch.setenv("EVALBOARD_SHIPPED", large.shipped)
    monkeypatch.delenv("EVALBOARD_CONFIG", raising=False)
    return large


@pytest.fixture
def done(monkeypatch):
    """Counts from here on: files opened, rankings made, charts built, tables of cases asked for."""
    counts = dict.fromkeys(("opened", "ranked", "built", "asked"), 0)

    def counted(name, function):
        def call(*args, **named):
            counts[name] += 1
            return function(*args, **named)

        return call

    monkeypatch.setattr(io, "open", counted("opened", io.open))
    monkeypatch.setattr(builtins, "open", counted("opened", builtins.open))
    compare = counted("ranked", ranks._significantly_better)
    monkeypatch.setattr(ranks, "_significantly_better", compare)
    monkeypatch.setattr(alt.LayerChart, "to_dict", counted("built", alt.LayerChart.to_dict))
    monkeypatch.setattr(
        case_tables, "ensure_samples_table", counted("asked", case_tables.ensure_samples_table)
    )
    return counts


def query_of(page: str, settings) -> dict[str, str]:
    if page == "target":
        return {"key": name_of(1)}
    if page == "compare":
        whole = [header.run_id for header in load_headers(settings) if len(header.benchmarks) == 3]
        return {"runs": ",".join(whole[:3])}
    return {}


@pytest.mark.full
@pytest.mark.parametrize("page", ["ranking", "metrics", "target", "compare", "runs"])
def test_a_warm_rerun_reads_little_and_works_nothing_out(store, done, page):
    app = open_page(page, **query_of(page, store))
    app.run()
    done.update(dict.fromkeys(done, 0))
    app.run()
    assert not app.exception
    assert done["opened"] <= FEW
    assert done["ranked"] == done["built"] == 0
    assert done["asked"] <= 3  # of the run whose cases are shown: reasons, levels, one page


def test_the_second_visitor_finds_the_board_ranked(store, done):
    open_page()
    done["ranked"] = 0
    open_page(language="zh")
    open_page("target", key=name_of(2))
    assert done["ranked"] == 0


def test_another_run_outside_the_board_leaves_it_as_it_is(store, done):
    headers = load_headers(store)
    board = boards.list_boards(headers, "sql")[0]
    before = stored_boards.compute_board_version(headers, board)
    stored_boards.load_cached_ranking(store, board)
    done["ranked"] = 0
    stored_boards.load_cached_ranking(store, board, run_headers=list(headers))
    assert stored_boards.compute_board_version(headers[:-1], board) != before
    assert done["ranked"] == 0


@pytest.mark.parametrize("language", ["en", "zh"])
def test_many_runs_are_shown_a_page_at_a_time(store, language):
    app = open_page("runs", language)
    shown = table(app, "run")
    assert len(shown) == 100
    assert str(TARGETS + 3) in words(app)
    last = load_headers(store)[-1].run_id
    app = open_page("runs", language, run=last)
    assert last in set(table(app, "run")["run"])


def test_runs_are_found_by_what_is_typed_in_any_page(store):
    app = open_page("runs", q="model-0417")
    assert list(table(app, "run")["target"]) == ["Model 417"]


def test_hostile_names_are_on_the_board(store):
    assert any(text in name_of(96 + 97 * n) for n, text in enumerate(HOSTILE))
    app = open_page()
    assert not app.exception


def test_looking_at_all_runs_again_opens_no_file_of_a_run_at_rest(store, monkeypatch):
    open_page("runs")  # makes the tables of cases, each a new file of its run
    for folder in store.runs_dir.iterdir():
        os.utime(folder, ns=(0, 10**9))
    runs.clear_run_cache()  # which believes for a moment what it has seen before that
    open_page("runs")
    read = []
    spec = RunFolder.read_spec
    monkeypatch.setattr(RunFolder, "read_spec", lambda self: read.append(self.run_id) or spec(self))
    open_page("runs")
    assert len(set(read)) <= 1, "the chosen run, however often it is drawn, and no other"

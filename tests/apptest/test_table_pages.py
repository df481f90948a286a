"""Tables of many targets come a page at a time; ranks and totals are of all of them."""

from __future__ import annotations

import pytest

from pages.shared.url_state import ROWS
from tests.support.boards import settings_in
from tests.support.many_runs import make_store
from tests.support.pages import open_page, table, words

pytestmark = pytest.mark.slow

TARGETS = 150


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    settings = settings_in(tmp_path_factory.mktemp("wide"))
    make_store(settings, TARGETS)
    return settings


@pytest.fixture(autouse=True)
def store(wide, monkeypatch):
    monkeypatch.setenv("EVALBOARD_DATA", wide.data)
    monkeypatch.setenv("EVALBOARD_SHIPPED", wide.shipped)
    monkeypatch.delenv("EVALBOARD_CONFIG", raising=False)


@pytest.mark.parametrize("page", ["ranking", "metrics"])
def test_the_pages_of_a_table_hold_every_target_once(page):
    first, second = (table(open_page(page, p=number), "rank") for number in ("1", "2"))
    assert len(first) == ROWS
    assert 0 < len(second) < ROWS
    names = [*first["target"], *second["target"]]
    assert len(set(names)) == len(names)
    ranks = [*first["rank"], *second["rank"]]
    assert ranks == sorted(ranks)


@pytest.mark.parametrize("page", ["ranking", "metrics"])
def test_a_page_says_which_rows_of_how_many_it_shows(page):
    text = words(open_page(page, p="2"))
    assert f"Rows {ROWS + 1}–" in text


@pytest.mark.parametrize("asked", ["9", "0", "x"])
def test_a_number_that_is_no_page_shows_one_that_is(asked):
    app = open_page(p=asked)
    assert not app.exception
    assert len(table(app, "rank"))


def test_a_search_begins_with_the_first_page():
    app = open_page(p="2")
    app.text_input(key="ranking.q").set_value("model-00").run()
    result = table(app, "rank")
    assert len(result) < ROWS
    assert "Rows " not in words(app)

"""What others published on the Ranking page: the first board until a model was measured here."""

import shutil
from pathlib import Path

import pytest

from tests.support.boards import Plan, make_run
from tests.support.pages import drawn_html, open_page, store, table, words

__all__ = ["store"]  # a fixture

PUBLISHED = Path(__file__).resolve().parents[2] / "data" / "shipped" / "published"


@pytest.fixture
def published(store):
    shutil.copytree(PUBLISHED, Path(store.shipped) / "published")
    return store


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_first_start_ranks_published_models_with_their_source(published, language):
    app = open_page(language=language)
    shown = table(app, "rank")
    assert len(shown) > 20
    assert {"interval", "organization", "group"} <= set(shown.columns)
    text = words(app)
    source = {"en": "Published by SCALE", "zh": "由 SCALE 公布"}[language]
    assert source in text
    assert 'data-fact="certainty"' in "".join(drawn_html(app))


def test_figures_without_verdicts_have_no_interval_and_say_that_no_lead_can_be_tested(published):
    app = open_page(suite="agentic")
    shown = table(app, "rank")
    assert not {"interval", "group", "range"} & set(shown.columns)
    assert 'class="eb-tie"' not in "".join(drawn_html(app))
    text = words(app)
    assert "cannot be tested" in text
    assert "significant" not in text


def test_a_month_and_a_row_of_it_open_by_a_link(published):
    newest = open_page(suite="sql")
    name = table(newest, "rank")["target"][0]
    month = newest.select_slider(key="ranking.month").options[0]
    app = open_page(suite="sql", source="published", month=month)
    assert app.query_params["month"] == month
    assert list(table(app, "rank")["target"]) != list(table(newest, "rank")["target"])
    marked = open_page(suite="sql", row=_identity_of(newest, name))
    details = [
        body for body in drawn_html(marked) if body.startswith("<section") or "Calculated" in body
    ]
    assert any(name in body and "Published figure" in body for body in details)
    assert any("Open the page of this model" in body for body in details)


def test_measured_models_come_first_and_share_no_rank_with_published_ones(published):
    make_run(published, Plan(target="openai:ours"))
    app = open_page()
    assert list(table(app, "rank")["target"]) == ["openai:ours"]
    theirs = list(table(open_page(source="published"), "rank")["target"])
    assert "openai:ours" not in theirs
    assert len(theirs) > 20


def test_a_link_to_a_board_of_ours_stays_ours(published):
    make_run(published, Plan(target="baseline:sqlglot"))
    assert len(table(open_page(), "rank")) > 20
    shown = table(open_page(suite="sql", board="default"), "rank")
    assert list(shown["target"]) == ["baseline:sqlglot"]


def test_a_publisher_that_is_not_here_is_told(published):
    app = open_page(source="published", publisher="nosuch")
    assert any("nosuch" in toast.value for toast in app.toast)
    assert len(table(app, "rank")) > 20


def _identity_of(app, name):
    import re
    from urllib.parse import parse_qs, urlsplit

    body = next(body for body in drawn_html(app) if "eb-table" in body)
    for href, text in re.findall(
        r'<a href="([^"]+)" data-page data-field="target">([^<]+)</a>', body
    ):
        if text == name:
            address = urlsplit(href.replace("&amp;", "&"))
            assert address.path == "target"
            return parse_qs(address.query)["key"][0]
    raise AssertionError(name)

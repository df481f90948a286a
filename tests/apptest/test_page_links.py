"""`?page=NAME` opens a page on hosts that pass no path; an unknown name gets a friendly notice."""

import pytest
from streamlit.testing.v1 import AppTest

import app as entry
from tests.support.boards import Plan, make_run
from tests.support.pages import APP, SECONDS, store, words

__all__ = ["store"]  # a fixture


def opened(**query: str) -> AppTest:
    """The app as it is reached at its root with these parameters."""
    app = AppTest.from_file(str(APP), default_timeout=SECONDS)
    for key, value in query.items():
        app.query_params[key] = value
    app.run()
    assert not app.exception, app.exception
    return app


@pytest.mark.parametrize(("language", "title"), [("en", "Methodology"), ("zh", "评测方法")])
def test_a_name_opens_the_page_in_the_language_of_the_link(store, language, title):
    app = opened(page="methodology", lang=language)
    assert app.title[0].value == title
    assert "page" not in app.query_params


def test_the_other_parameters_go_along(store):
    for name in ("openai:a", "openai:b"):
        make_run(store, Plan(target=name))
    app = opened(page="target", key="openai:b")
    assert app.title[0].value == "openai\\:b"
    assert app.query_params["key"] == "openai:b"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("card", entry.PAGES, ids=lambda card: card.name)
def test_every_page_can_be_named(store, card):
    app = opened(page=card.name)
    assert "There is no page" not in words(app)
    assert len(app.main) > 0


@pytest.mark.parametrize("name", ["nowhere", "../app", "![x](http://evil.example)", "🙂" * 500])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_an_unknown_name_is_said_to_be_one(store, name, language):
    app = opened(page=name, lang=language)
    expected_text = {"en": "There is no page", "zh": "没有名为"}[language]
    assert expected_text in app.warning[0].value
    assert "![x](" not in words(app)
    assert app.title[0].value == {"en": "Ranking", "zh": "排行榜"}[language]


def test_a_link_is_followed_once_so_that_one_can_go_back(store):
    app = opened(page="methodology")
    app.query_params["page"] = "methodology"
    app.switch_page("pages/ranking.py").run()
    assert app.title[0].value == "Ranking"
    assert not app.warning


def test_an_empty_name_is_none(store):
    app = opened(page="")
    assert app.title[0].value == "Ranking"
    assert not app.warning


def test_a_path_counts_for_more_than_the_parameter(store):
    app = opened()
    app.query_params["page"] = "methodology"
    app.switch_page("pages/runs.py").run()
    assert app.title[0].value == "Runs"
    assert not app.warning

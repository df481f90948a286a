"""A link to a case has one spelling and survives any name."""

from __future__ import annotations

from evalcore.views.cases import EVERY_CASE, CaseFilter
from pages.shared.page_links import CaseLink, build_cases_query


def test_defaults_stay_out_of_the_link():
    link = CaseLink(run="r", benchmark="", metric="m", id="1")
    assert link.query_params == {"run": "r", "metric": "m", "id": "1"}


def test_everything_else_is_in_it():
    link = CaseLink(run="r", benchmark="b", metric="m", id="1", epoch=2, outcome="failed")
    assert link.query_params["epoch"] == "2"
    assert link.query_params["outcome"] == "failed"


def test_a_filter_goes_into_the_link_and_comes_back():
    where = CaseFilter(
        metric=("m", "n"), outcome=("failed",), difficulty=(1, 3), why=("a:b",), text="a, b & c"
    )
    link = CaseLink("r", "b", "m", "1").with_filter(where)
    assert link.case_filter == where
    assert link.query_params["metrics"] == "m,n"
    assert link.with_filter(EVERY_CASE).query_params == CaseLink("r", "b", "m", "1").query_params


def test_a_senseless_difficulty_is_none():
    assert CaseLink("r", "b", "m", "1", difficulty="hard,,2,99").case_filter.difficulty == (2,)


def test_the_way_back_to_the_list_has_the_filter_and_not_the_case():
    link = CaseLink("r", "b", "m", "1", outcome="failed", metrics="n", q="x")
    assert build_cases_query("openai:a", link) == {
        "key": "openai:a",
        "benchmark": "b",
        "metric": "n",
        "outcome": "failed",
        "q": "x",
    }

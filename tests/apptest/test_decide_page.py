"""The page Best for me: weights and requirements in the URL, the answer, the ranking, the rest."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from evalcore.access.policy import OPERATOR
from evalcore.target_cards import TargetCard, save_card
from tests.support.boards import Plan, make_run
from tests.support.pages import drawn_html, open_page, store, table, unfolded, words

__all__ = ["store"]  # a fixture

PUBLISHED = Path(__file__).resolve().parents[2] / "data" / "shipped" / "published"
HOSTILE = "![x](http://evil.invalid/i.png) <b>bold</b>"


@pytest.fixture
def measured(store):
    make_run(store, Plan("openai:strong", 0.9, price=0.004))
    make_run(store, Plan("openai:weak", 0.3, price=0.001))
    make_run(store, Plan("openai:broken", 0.9, failing=4))
    save_card(store, OPERATOR, "openai:weak", TargetCard(name=HOSTILE, organization="Acme"))
    return store


def slider(app, key):
    return app.slider(key=f"decide.weight.{key}")


def test_the_answer_comes_first_and_the_incomplete_last(measured):
    app = open_page("decide")
    text = words(app)
    assert "openai:strong is best for you" in text
    assert "2 ranked, 1 not ranked" in text
    assert "Incomplete on SQL understanding" in text
    assert list(table(app, "leads")["target"]) == ["openai:strong", HOSTILE]


def test_a_slider_is_in_the_url_and_reset_takes_it_out(measured):
    app = open_page("decide")
    slider(app, "cost").set_value(100).run()
    assert app.query_params["w"] == "cost:100"
    slider(app, "sql_understanding").set_value(10).run()
    assert app.query_params["w"] == "sql_understanding:10,cost:100"
    # where a slow browser draws the sliders, which it was told to set in an earlier run
    assert [slider(app, key).proto.default[0] for key in ("sql_understanding", "cost")] == [10, 100]
    assert next(iter(table(app, "leads")["target"])) == HOSTILE
    next(button for button in app.button if button.label == "Reset weights").click().run()
    assert "w" not in app.query_params
    assert slider(app, "cost").value == 0
    assert slider(app, "sql_understanding").value == 50


@pytest.mark.parametrize(
    "text", ["cost:nan", "cost:inf,foo:3", "cost", ":", "cost:-5", "cost:1e99", "🙂:5", "w" * 5000]
)
def test_a_link_with_weights_that_cannot_be_is_told_and_the_preset_stands(measured, text):
    app = open_page("decide", w=text)
    assert slider(app, "cost").value == 0
    assert "w" not in app.query_params
    assert any("were ignored" in toast.value for toast in app.toast)
    assert "is best for you" in words(app)


def test_all_weights_zero_says_what_to_do(measured):
    app = open_page("decide", w="sql_understanding:0")
    assert "Raise at least one weight above 0" in words(app)


def test_a_single_target_is_said_to_be_the_only_one(store):
    make_run(store, Plan("openai:alone", 0.5))
    assert "the only target that can be ranked" in words(open_page("decide"))


def test_ties_are_said_to_be_ties(store):
    for name in ("a", "b"):
        make_run(store, Plan(f"openai:{name}", skill=1.0))
    text = words(open_page("decide"))
    assert "1 other target is statistically tied" in text
    assert "50% of 2,000 resamples" in text


def test_requirements_leave_out_with_the_reason_and_can_be_taken_back(measured):
    app = open_page("decide", maxcase="0.002")
    assert "Too expensive per case: $0.004" in words(app)
    assert "only target" in words(app)
    app.button(key="decide.tag.max_cost_per_case").click().run()
    assert "maxcase" not in app.query_params
    assert "2 ranked" in words(app)


@pytest.mark.parametrize("text", ["nan", "-1", "inf", "1e999", "abc"])
def test_a_limit_that_is_no_number_is_told(measured, text):
    app = open_page("decide", maxcase=text)
    assert "2 ranked" in words(app)
    assert app.toast


def test_requirements_are_set_in_their_menu(measured):
    app = unfolded(open_page("decide"), "decide.limits")
    app.number_input(key="decide.maxcase").set_value(0.002).run()
    assert app.query_params["maxcase"] == "0.002"
    app.multiselect(key="decide.org").select("Acme").run()
    assert app.query_params["org"] == "Acme"
    assert list(table(app, "leads")["target"]) == [HOSTILE]


@pytest.mark.parametrize("price", [None, 0.0])
def test_limits_of_cost_are_offered_only_where_something_costs(store, price):
    for name, skill in (("one", 0.9), ("two", 0.3)):
        make_run(store, Plan(f"openai:{name}", skill, price=price))
    save_card(store, OPERATOR, "openai:one", TargetCard(organization="Acme"))
    app = unfolded(open_page("decide"), "decide.limits")
    assert app.multiselect(key="decide.org").options == ["Acme", "Unknown"]
    assert not list(app.number_input)
    asked = unfolded(open_page("decide", maxcase="0.5"), "decide.limits")
    assert [field.key for field in asked.number_input] == ["decide.maxcase"], "to take it back"


def test_a_board_on_which_targets_differ_in_nothing_has_no_requirements(store):
    for name, skill in (("one", 0.9), ("two", 0.3)):
        make_run(store, Plan(f"openai:{name}", skill, price=None))
    menus = open_page("decide").get("popover")
    assert [menu.proto.popover.label for menu in menus] == ["Share"]


@pytest.mark.parametrize("limit", [0.00001, 1234567.5, 2e7])
def test_a_limit_of_any_size_comes_back_from_its_own_link(measured, limit):
    app = unfolded(open_page("decide"), "decide.limits")
    app.number_input(key="decide.maxrun").set_value(limit).run()
    again = unfolded(open_page("decide", maxrun=app.query_params["maxrun"]), "decide.limits")
    assert again.number_input(key="decide.maxrun").value == limit
    assert not again.toast


def test_nobody_left_says_so(measured):
    text = words(open_page("decide", maxcase="0"))
    assert "No target can be ranked" in text


def test_another_level_forgets_weights_that_it_does_not_have_without_a_word(measured):
    app = open_page("decide", w="sql_understanding:20,cost:10")
    app.button_group(key="decide.level").set_value("dialects").run()
    assert app.query_params["w"] == "cost:10"
    assert not app.toast
    assert slider(app, "SQLite").value > 0


def test_a_hostile_name_draws_nothing_of_its_own(measured):
    html = "".join(drawn_html(open_page("decide")))
    assert "<b>bold" not in html
    assert "<img" not in html


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_publisher_with_verdicts_and_one_with_claims(store, language):
    shutil.copytree(PUBLISHED, Path(store.shipped) / "published")
    scale = words(open_page("decide", language, suite="sql"))
    assert {"en": "resamples", "zh": "重抽样"}[language] in scale
    claims = words(open_page("decide", language, suite="agentic"))
    assert {"en": "no lead can be tested", "zh": "无法检验"}[language] in claims


def test_an_empty_store_leads_to_the_launcher(store):
    assert "Nothing to decide on yet" in words(open_page("decide"))


def test_the_ranking_links_to_the_same_board(measured):
    app = open_page("ranking")
    links = {link.proto.page: link.proto for link in app.get("page_link")}
    assert "decide" in links
    assert "suite=sql" in str(links["decide"])

"""Best for me in a browser: the answer on the first screen, weights by keyboard, a link that holds
them, cards on a phone."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install -e .[dev]")

from playwright.sync_api import expect

from tests.support.full_board import settle, visit
from tests.support.phone import faults_on_phone

DESKTOP, PHONE = (1440, 900), (390, 844)


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
@pytest.mark.parametrize("query", ["?suite=sql&source=published", "?suite=agentic&lang=zh"])
def test_the_answer_and_the_first_weight_are_on_the_first_screen(shipped, tabs, size, query):
    tab = tabs("en", *size)
    visit(tab, f"{shipped.url}/decide{query}")
    answer = tab.locator(".eb-answer")
    expect(answer).to_be_visible()
    box = answer.bounding_box()
    assert box["y"] + box["height"] < size[1]
    slider = tab.get_by_role("slider").last.bounding_box()
    assert slider is not None
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    if size == PHONE:
        assert faults_on_phone(tab) == []
        assert not tab.locator(".eb-table thead").first.evaluate("one => one.clientWidth > 1")


def test_a_weight_is_changed_by_keyboard_and_kept_by_the_link(shipped, tabs):
    tab = tabs("en", *DESKTOP)
    visit(tab, f"{shipped.url}/decide?suite=sql&source=published")
    slider = tab.get_by_role("slider", name="SQL optimization")
    slider.focus()
    for _ in range(10):
        tab.keyboard.press("ArrowLeft")
    expect(tab).to_have_url(re.compile(r"w=sql_optimization%3A40"))
    settle(tab)
    expect(tab.locator(".eb-answer")).to_contain_text("Gemini 3 Pro comes first")
    visit(tab, tab.url)
    expect(tab.get_by_role("slider", name="SQL optimization")).to_have_value("40")
    expect(tab.locator(".eb-answer")).to_contain_text("Gemini 3 Pro comes first")
    tab.get_by_role("button", name="Reset weights").click()
    expect(tab).not_to_have_url(re.compile("[?&]w="))
    settle(tab)
    expect(tab.locator(".eb-answer")).to_contain_text("Gemini 3.5 Flash comes first")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_many_criteria_scroll_beside_the_names(shipped, tabs, language):
    tab = tabs(language, *DESKTOP)
    visit(tab, f"{shipped.url}/decide?suite=sql&source=here&level=metrics")
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    table = tab.locator(".eb-many").first
    expect(table.locator(".eb-group:not(:empty)")).to_have_count(3)  # a benchmark each
    name, score = table.locator("td.eb-name").first, table.locator("td.eb-score").first
    before = name.bounding_box(), score.bounding_box()
    table.evaluate("one => { one.scrollLeft = one.scrollWidth }")
    assert table.evaluate("one => one.scrollLeft") > 100
    assert (name.bounding_box(), score.bounding_box()) == before
    last, edge = (
        table.locator("tbody tr").first.locator("td").last.bounding_box(),
        table.bounding_box(),
    )
    assert before[1]["x"] + before[1]["width"] <= last["x"]
    assert last["x"] + last["width"] <= edge["x"] + edge["width"] + 1


def test_the_ranking_leads_to_the_same_board(shipped, tabs):
    tab = tabs("en", *DESKTOP)
    visit(tab, f"{shipped.url}/?suite=agentic&source=published")
    tab.locator(".st-key-ranking-next").get_by_role("link", name="Best for me").click()
    expect(tab).to_have_url(re.compile("/decide"))
    settle(tab)
    expect(tab.locator(".eb-answer")).to_contain_text("no lead can be tested")

"""The Metrics page and links by `?page=` in a real browser: addresses, Back and Forward."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install -e .[dev]")

from playwright.sync_api import expect

from evalcore.settings import Settings
from tests.support.boards import Plan, make_run


def fill(served) -> None:
    settings = Settings(data=str(served.data), shipped=str(served.data.parent / "none"))
    make_run(settings, Plan(target="openai:strong", skill=0.9))
    make_run(settings, Plan(target="openai:weak", skill=0.2))
    make_run(settings, Plan(target="control:null", skill=0.05, price=None))


def heading(page, text: str) -> None:
    expect(page.get_by_role("heading", name=text, exact=True).first).to_be_visible()


def chosen(page, text: str) -> None:
    expect(page.get_by_role("combobox").last).to_have_value(text)


def test_the_metric_is_in_the_address_and_stays_with_back_and_forward(served, page):
    fill(served)
    page.goto(f"{served.url}/metrics")
    chosen(page, "Execution accuracy")
    page.get_by_role("combobox").last.click()
    page.get_by_role("option", name="Plan reading").click()
    page.wait_for_url(re.compile(r"/metrics\?metric=explain_detection$"))
    page.get_by_role("link", name="Ranking").click()
    page.wait_for_url(f"{served.url}/")
    page.go_back()
    page.wait_for_url(re.compile(r"/metrics\?metric=explain_detection$"))
    chosen(page, "Plan reading")
    page.go_forward()
    page.wait_for_url(f"{served.url}/")
    heading(page, "Ranking")

    page.goto(f"{served.url}/metrics?metric=sql_identification&q=strong")
    chosen(page, "SQL identification")
    expect(page.get_by_label("Search")).to_have_value("strong")


def test_a_page_named_by_a_parameter_opens_and_lets_one_go_back(served, page):
    fill(served)
    page.goto(f"{served.url}/?page=target&key=openai%3Aweak")
    page.wait_for_url(f"{served.url}/target?key=openai%3Aweak")
    heading(page, "openai:weak")
    page.go_back()
    heading(page, "Ranking")
    page.go_forward()
    page.wait_for_url(f"{served.url}/target?key=openai%3Aweak")
    heading(page, "openai:weak")

    page.goto(f"{served.url}/?page=nowhere")
    expect(page.get_by_text("There is no page “nowhere”")).to_be_visible()


def test_a_phone_shows_the_page_without_scrolling_sideways(served, page):
    fill(served)
    page.set_viewport_size({"width": 390, "height": 1200})
    page.goto(f"{served.url}/metrics")
    heading(page, "Why answers failed")
    expect(page.get_by_test_id("stVegaLiteChart").first).to_be_visible()
    main = page.get_by_test_id("stMain")
    assert main.evaluate("e => e.scrollWidth <= e.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390

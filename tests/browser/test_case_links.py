"""The Case page in a real browser: keys step through a filter, Back and Forward."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install -e .[dev]")

from playwright.sync_api import expect

from evalcore.settings import Settings
from tests.support.boards import Plan, make_run
from tests.support.full_board import settle

CASE = "case?run=run-a&benchmark=sql_understanding&metric=execution_accuracy"


@pytest.mark.full
def test_keys_step_through_the_selection_and_back_returns(served, page):
    settings = Settings(data=str(served.data), shipped=str(served.data.parent / "none"))
    make_run(settings, Plan(target="openai:a", skill=0.5), "run-a")
    page.goto(f"{served.url}/{CASE}&id=18&difficulty=1%2C2&q=answer")
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_have_text("Execution accuracy · 18")
    expect(page.get_by_text("Raw record")).to_be_visible()
    settle(page)  # a key that is pressed while the page is drawn is lost
    page.keyboard.press("Alt+n")
    expect(heading).to_have_text("Execution accuracy · 19")
    settle(page)
    page.keyboard.press("Alt+n")
    page.wait_for_url(re.compile(r"metric=(?!execution_accuracy).*&id=0&difficulty=1%2C2&q=answer"))
    settle(page)
    page.keyboard.press("Alt+p")
    expect(heading).to_have_text("Execution accuracy · 19")
    page.go_back()
    expect(heading).to_have_text("SQL identification · 0")
    page.go_forward()
    expect(heading).to_have_text("Execution accuracy · 19")
    page.get_by_role("link", name="Cases of openai:a").click()
    page.wait_for_url(re.compile(r"/target\?key=openai%3Aa.*difficulty=1%2C2.*q=answer"))
    expect(page.get_by_text("56 cases, showing 1 to 25")).to_be_visible()

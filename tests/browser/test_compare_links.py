"""The Compare page in a real browser: its state is its link, also after Back and on a phone."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install -e .[dev]")

from playwright.sync_api import expect

from evalcore.settings import Settings
from tests.support.boards import Plan, make_run


@pytest.fixture
def runs(served) -> list[str]:
    store = Settings(data=str(served.data), shipped=str(served.data / "none"))
    return [make_run(store, Plan(f"openai:m{n}", skill=0.2 + 0.2 * n)).run_id for n in range(3)]


def shown(page, text: str) -> None:
    expect(page.get_by_role("heading", name=text)).to_be_visible()


def test_the_link_keeps_everything_through_back_and_forward(served, page, runs):
    link = f"{served.url}/compare?runs={','.join(runs)}"
    page.goto(f"{link}&base={runs[2]}&metric=sql_identification")
    shown(page, "against C")
    page.get_by_role("link", name="Runs").first.click()
    page.wait_for_url(re.compile("/runs"))
    page.go_back()
    shown(page, "against C")
    assert f"base={runs[2]}" in page.url
    assert "metric=sql_identification" in page.url
    page.go_forward()
    page.wait_for_url(re.compile("/runs"))


def test_a_choice_goes_into_the_link_and_a_fresh_tab_shows_the_same(served, page, runs):
    page.goto(f"{served.url}/compare?runs={','.join(runs)}")
    shown(page, "against A")
    page.get_by_role("combobox", name=re.compile("Measured against")).click()
    page.get_by_role("option", name=re.compile("openai:m1")).click()
    shown(page, "against B")
    page.wait_for_url(re.compile(f"base={runs[1]}"))
    page.goto(page.url)
    shown(page, "against B")


def test_a_phone_scrolls_in_one_direction_only(served, page, runs):
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{served.url}/compare?runs={','.join(runs)}")
    shown(page, "against A")
    expect(page.locator('[data-testid="stVegaLiteChart"] canvas, svg.marks').first).to_be_attached()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390

"""The Ranking page in a real browser: filters by hand, their tags, and the page on a phone."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install -e .[dev]")

from playwright.sync_api import expect

from tests.support.linked_store import serving

PATIENCE = 30_000  # ms


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory):
    with serving(tmp_path_factory.mktemp("ranking")) as started:
        yield started[0]


def shows(page, counted: str, told: str) -> None:
    expect(page.get_by_text(re.compile(f"^{counted}"))).to_be_visible(timeout=PATIENCE)
    expect(page.get_by_role("button", name=told).first).to_be_visible()


def test_filters_made_by_hand_are_in_the_address_and_stay_with_back(url, page):
    page.goto(url)
    page.get_by_role("searchbox", name="Search").fill("o")
    page.wait_for_url(re.compile(r"\?q=o$"))
    page.get_by_role("button", name="Filters", exact=True).click()
    page.get_by_role("button", name="Closed", exact=True).click()
    page.wait_for_url(re.compile(r"\?q=o&weights=closed$"))
    expect(page.get_by_role("button", name="Filters (1)")).to_be_visible()
    expect(page.get_by_role("button", name="Closed", exact=True)).to_be_visible()  # still unfolded
    page.keyboard.press("Escape")
    shows(page, "1 of 3 targets", "Weights: Closed")

    share = page.get_by_role("button", name="Share")
    expect(share).to_have_count(1)  # that of the rows before is gone
    share.click()
    expect(page.get_by_test_id("stCode").first).to_contain_text("/?q=o&weights=closed")
    page.keyboard.press("Escape")

    page.get_by_role("link", name="Metrics", exact=True).click()
    page.wait_for_url(re.compile("/metrics"))
    page.go_back()
    page.wait_for_url(re.compile(r"\?q=o&weights=closed$"))
    shows(page, "1 of 3 targets", "Weights: Closed")
    page.get_by_role("button", name="Weights: Closed").click()
    page.wait_for_url(re.compile(r"\?q=o$"))
    shows(page, "3 of 3 targets", "Search: o")


def test_a_phone_shows_rows_and_scrolls_only_down(url, page):
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{url}/?weights=open%2Cclosed")
    shows(page, "2 of 3 targets", "Weights: ")
    main = page.get_by_test_id("stMain")
    assert main.evaluate("e => e.scrollWidth <= e.clientWidth")
    page.get_by_role("button", name="Filters (1)").click()
    expect(page.get_by_role("button", name="Closed", exact=True)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390

"""The Ranking page in a real browser: every filter in the address, in a fresh browser, Back and
Forward, and on a phone."""

from __future__ import annotations

import re
from urllib.parse import urlencode

import pytest

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install -e .[dev]")

from playwright.sync_api import expect

from evalcore.access import OPERATOR
from evalcore.settings import Settings
from evalcore.target_cards import TargetCard, save_card
from tests.support.boards import Plan, make_run

PATIENCE = 30_000  # ms
#: Query of a link -> what the page then counts, and the tag of a filter or the value of a field.
STATES = [
    ({"q": "strong"}, "1 of 3 targets", "Search: strong"),
    ({"kind": "hf"}, "1 of 3 targets", "Kind: "),
    ({"org": "Acme"}, "1 of 3 targets", "Organization: Acme"),
    ({"weights": "open"}, "1 of 3 targets", "Weights: Open"),
    ({"size": "s,l"}, "2 of 3 targets", "Size: 3 to 10 B, 40 to 150 B"),
    ({"price": "free"}, "1 of 3 targets", "Price: free"),
    ({"evidence": "parsed"}, "3 of 3 targets", "Evidence: Parsed"),
    ({"complete": "1"}, "3 of 3 targets", "Complete only"),
    ({"until": "2026-08"}, "2 of 2 targets", "As of month: 2026-08"),
    ({"since": "2026-11"}, "2 of 2 targets", "From month: 2026-11"),
    ({"sort": "cost"}, "3 of 3 targets", "Cost, lowest first"),
    ({"cols": "cost,price"}, "3 of 3 targets", ""),
    ({"vs": "latency"}, "3 of 3 targets", ""),
    ({"weights": "open,closed", "sort": "name", "q": "o"}, "2 of 3 targets", "Weights: "),
]


def fill(served) -> None:
    settings = Settings(data=str(served.data), shipped=str(served.data.parent / "none"))
    for target, skill, price, month in (
        ("openai:strong", 0.5, 0.004, "08"),
        ("openai:strong", 0.9, 0.004, "11"),
        ("openai:weak", 0.3, 0.001, "08"),
        ("hf:model", 0.6, 0.0, "11"),
    ):
        created = f"2026-{month}-05T10:00:00.000+00:00"
        plan = Plan(target=target, skill=skill, price=price, created_at=created, cases=8)
        make_run(settings, plan)
    made = TargetCard(organization="Acme", parameters=70.0, open_weights=False)
    save_card(settings, OPERATOR, "openai:strong", made)
    save_card(settings, OPERATOR, "hf:model", TargetCard(parameters=4.0, open_weights=True))


def link(served, query: dict[str, str]) -> str:
    return f"{served.url}/?{urlencode(query)}"


def shows(page, counted: str, told: str) -> None:
    expect(page.get_by_text(re.compile(f"^{counted}"))).to_be_visible(timeout=PATIENCE)
    if told.endswith("first"):
        expect(page.get_by_role("combobox", name="Order of rows")).to_have_value(told)
    elif told:
        expect(page.get_by_role("button", name=told).first).to_be_visible()


def test_every_filter_state_survives_its_link_in_a_fresh_browser(served, page, chromium):
    fill(served)
    fresh = chromium.new_context(locale="en-US").new_page()
    for query, counted, told in STATES:
        fresh.goto(link(served, query))
        shows(fresh, counted, told)
        assert fresh.url == link(served, query)
    fresh.reload()
    shows(fresh, *STATES[-1][1:])
    fresh.context.close()
    for query, _, _ in STATES[:2]:
        page.goto(link(served, query))
    shows(page, *STATES[1][1:])
    page.go_back()
    page.wait_for_url(link(served, STATES[0][0]))
    shows(page, *STATES[0][1:])
    page.go_forward()
    page.wait_for_url(link(served, STATES[1][0]))
    shows(page, *STATES[1][1:])


def test_filters_made_by_hand_are_in_the_address_and_stay_with_back(served, page):
    fill(served)
    page.goto(served.url)
    page.get_by_role("searchbox", name="Search").fill("o")
    page.wait_for_url(re.compile(r"\?q=o$"))
    page.get_by_role("button", name="Filters", exact=True).click()
    page.get_by_role("button", name="Closed", exact=True).click()
    page.wait_for_url(re.compile(r"\?q=o&weights=closed$"))
    expect(page.get_by_role("button", name="Filters (1)")).to_be_visible()
    expect(page.get_by_role("button", name="Closed", exact=True)).to_be_visible()  # still unfolded
    page.keyboard.press("Escape")
    shows(page, "1 of 3 targets", "Weights: Closed")

    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_test_id("stCode")).to_contain_text("/?q=o&weights=closed")
    page.keyboard.press("Escape")

    page.get_by_role("link", name="Metrics", exact=True).click()
    page.wait_for_url(re.compile("/metrics"))
    page.go_back()
    page.wait_for_url(re.compile(r"\?q=o&weights=closed$"))
    shows(page, "1 of 3 targets", "Weights: Closed")
    page.get_by_role("button", name="Weights: Closed").click()
    page.wait_for_url(re.compile(r"\?q=o$"))
    shows(page, "3 of 3 targets", "Search: o")


def test_a_phone_shows_rows_and_scrolls_only_down(served, page):
    fill(served)
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(link(served, {"weights": "open,closed"}))
    shows(page, "2 of 3 targets", "Weights: ")
    main = page.get_by_test_id("stMain")
    assert main.evaluate("e => e.scrollWidth <= e.clientWidth")
    page.get_by_role("button", name="Filters (1)").click()
    expect(page.get_by_role("button", name="Closed", exact=True)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390

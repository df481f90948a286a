"""The Target page in a real browser: every filter in the address, Back, Forward, and its card."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install -e .[dev]")

from playwright.sync_api import expect

from evalcore.access import OPERATOR
from evalcore.settings import Settings
from evalcore.target_cards import TargetCard, load_cards, save_card
from tests.support.boards import Plan, make_run

HOSTILE = "![x](http://evil.invalid/i.png) <img src=http://evil.invalid/j>"


def fill(served) -> Settings:
    settings = Settings(data=str(served.data), shipped=str(served.data.parent / "none"))
    make_run(settings, Plan(target="openai:a", skill=0.5), "run-a")
    make_run(settings, Plan(target="openai:b", skill=0.9, failing=6), "run-b")
    return settings


#: A state of the page by what its address says, and what then is to be read.
STATES = {
    "": "80 cases, 1 to 25 shown",
    "&p=3": "80 cases, 51 to 75 shown",
    "&metric=explain_detection": "20 cases, 1 to 20 shown",
    "&metric=execution_accuracy%2Cexplain_detection&difficulty=2": "14 cases, 1 to 14 shown",
    "&outcome=passed&cause=wrong_result": "No case fits",
    "&q=answer+to+explain_detection%2F7": "1 cases, 1 to 1 shown",
    "&view=history": "All runs of this target",
    "&view=outcomes": "Failed requests of the newest run",
}


def test_every_state_opens_from_its_address_and_stays_with_back_and_forward(served, page):
    fill(served)

    def shows(state: str) -> None:
        expect(page.get_by_text(STATES[state]).first).to_be_visible(timeout=30_000)
        assert page.url == f"{served.url}/target?key=openai%3Aa{state}"

    for state in STATES:
        page.goto(f"{served.url}/target?key=openai%3Aa{state}")
        shows(state)
    backwards = list(reversed(STATES))
    for state in backwards[1:3]:
        page.go_back()
        shows(state)
    for state in reversed(backwards[:2]):
        page.go_forward()
        shows(state)


def test_what_is_chosen_goes_into_the_address_and_to_the_case_and_back(served, page):
    fill(served)
    page.goto(f"{served.url}/target?key=openai%3Aa")
    page.get_by_role("searchbox", name="Search").fill("answer to explain")
    page.wait_for_url(re.compile(r"&q=answer(\+|%20)to(\+|%20)explain$"))
    expect(page.get_by_text("20 cases, 1 to 20 shown")).to_be_visible()
    page.get_by_role("button", name="openai:b", exact=True).click()
    page.wait_for_url(re.compile(r"key=openai%3Ab"))
    expect(page.get_by_role("heading", name="openai:b", exact=True)).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="openai:a", exact=True)).to_be_visible()


def test_a_card_is_edited_and_a_hostile_one_asks_nobody_for_anything(served, page):
    settings = fill(served)
    save_card(settings, OPERATOR, "openai:b", TargetCard(name=HOSTILE[:60], licence=HOSTILE[:60]))
    page.goto(f"{served.url}/target?key=openai%3Aa")
    page.get_by_role("button", name="Edit card").click()
    page.get_by_label("Display name").fill("Alpha 1")
    page.get_by_label("Released").fill("soon")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("A date as 2026")).to_be_visible()
    expect(page.get_by_label("Display name")).to_have_value("Alpha 1")
    page.get_by_label("Released").fill("2026-11")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="Alpha 1", exact=True)).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("heading", name="openai:a", exact=True)).to_be_visible()
    assert set(load_cards(settings)) == {"openai:b"}
    page.goto(f"{served.url}/target?key=openai%3Ab")
    expect(page.get_by_role("heading", name=re.compile("^!\\[x\\]"))).to_be_visible()
    assert page.locator("img[src*=evil]").count() == 0

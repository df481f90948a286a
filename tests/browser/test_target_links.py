"""The Target page in a real browser: from target to target, and its card."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install -e .[dev]")

from playwright.sync_api import expect

from evalcore.access.policy import OPERATOR
from evalcore.settings import Settings
from evalcore.target_cards import TargetCard, load_cards, save_card
from tests.support.boards import Plan, make_run

HOSTILE = "![x](http://evil.invalid/i.png) <img src=http://evil.invalid/j>"


def fill(served) -> Settings:
    settings = Settings(data=str(served.data), shipped=str(served.data.parent / "none"))
    make_run(settings, Plan(target="openai:a", skill=0.5), "run-a")
    make_run(settings, Plan(target="openai:b", skill=0.9, failing=6), "run-b")
    return settings


@pytest.mark.full
def test_the_next_target_is_in_the_address_and_back_returns(served, page):
    fill(served)
    page.goto(f"{served.url}/target?key=openai%3Aa")
    page.get_by_role("button", name="openai:b", exact=True).click()
    page.wait_for_url(re.compile(r"key=openai%3Ab"))
    expect(page.get_by_role("heading", name="openai:b", exact=True)).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="openai:a", exact=True)).to_be_visible()


@pytest.mark.full
def test_a_card_is_edited_and_a_hostile_one_asks_nobody_for_anything(served, page):
    settings = fill(served)
    save_card(settings, OPERATOR, "openai:b", TargetCard(name=HOSTILE[:60], licence=HOSTILE[:60]))
    page.goto(f"{served.url}/target?key=openai%3Aa")
    page.get_by_role("button", name="Edit card").click()
    save = page.get_by_role("dialog").get_by_role("button", name="Save")
    page.get_by_label("Display name").fill("Alpha 1")
    page.get_by_label("Released").fill("soon")
    save.click()
    expect(page.get_by_text("A date such as 2026")).to_be_visible()
    expect(page.get_by_label("Display name")).to_have_value("Alpha 1")
    page.get_by_label("Released").fill("2026-11")
    save.click()
    expect(page.get_by_role("heading", name="Alpha 1", exact=True)).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("heading", name="openai:a", exact=True)).to_be_visible()
    assert set(load_cards(settings)) == {"openai:b"}
    page.goto(f"{served.url}/target?key=openai%3Ab")
    expect(page.get_by_role("heading", name=re.compile("^!\\[x\\]"))).to_be_visible()
    assert page.locator("img[src*=evil]").count() == 0

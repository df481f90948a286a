"""The pages that are read, in a real browser: on a phone, on paper and by keyboard.

One server and one store for all of it.
"""

from __future__ import annotations

import re

import pytest

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install -e .[dev]")

from playwright.sync_api import expect

from evalcore.settings import Settings
from tests.support.boards import Plan, make_run
from tests.support.server import serve

PATIENCE = 30_000  # ms, of a machine that has other work


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A server over three targets on one board and a control."""
    with serve(tmp_path_factory.mktemp("reading")) as started:
        store = Settings(data=str(started.data), shipped=str(started.data / "none"))
        names = {"strong": 0.9, "middle": 0.5, "weak": 0.2}
        runs = {
            name: make_run(store, Plan(f"openai:{name}", skill=skill)).run_id
            for name, skill in names.items()
        }
        make_run(store, Plan("control:null", skill=0.05, price=None))
        yield started.url, runs


def shows(page, text: str) -> None:
    expect(page.get_by_test_id("stMain").get_by_text(text).first).to_be_visible(timeout=PATIENCE)


def test_a_phone_scrolls_in_one_direction_only(site, page):
    url, runs = site
    page.set_viewport_size({"width": 390, "height": 844})
    named = ",".join(runs[name] for name in ("strong", "weak"))
    for path, last in (
        (f"compare?runs={named}", "Profiles"),
        ("metrics", "Why answers failed"),
        ("methodology", "Versions"),
        ("runs", "Reproduce"),
    ):
        page.goto(f"{url}/{path}")
        shows(page, last)
        main = page.get_by_test_id("stMain")
        assert main.evaluate("e => e.scrollWidth <= e.clientWidth")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_on_paper_there_are_no_controls_and_nothing_is_cut_off(site, page):
    url, _ = site
    page.goto(f"{url}/methodology")
    shows(page, "Versions")
    page.emulate_media(media="print")
    expect(page.get_by_test_id("stSidebar")).to_be_hidden(timeout=PATIENCE)
    expect(page.get_by_test_id("stSelectbox").first).to_be_hidden(timeout=PATIENCE)
    main = page.get_by_test_id("stMain")
    assert main.evaluate("e => getComputedStyle(e).overflowY") == "visible"
    assert page.evaluate("document.documentElement.scrollHeight") > 1_500


def test_the_keyboard_shows_where_it_is(site, page):
    url, _ = site
    page.goto(f"{url}/methodology")
    shows(page, "From cases to a score")
    link = page.get_by_role("link", name=re.compile("Ranking"))
    page.keyboard.press("Tab")
    for _ in range(6):
        if link.evaluate("e => e === document.activeElement"):
            break
        page.keyboard.press("Tab")
    assert link.evaluate("e => getComputedStyle(e).outlineStyle") == "solid"

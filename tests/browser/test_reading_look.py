"""A page that is read, on paper: no controls, nothing cut off."""

from __future__ import annotations

import pytest

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install -e .[dev]")

from playwright.sync_api import expect

from evalcore.settings import Settings
from tests.support.boards import Plan, make_run


@pytest.fixture
def url(served):
    """A server over three targets on one board and a control."""
    store = Settings(data=str(served.data), shipped=str(served.data.parent / "none"))
    for name, skill in {"strong": 0.9, "middle": 0.5, "weak": 0.2}.items():
        make_run(store, Plan(f"openai:{name}", skill=skill))
    make_run(store, Plan("control:null", skill=0.05, price=None))
    return served.url


@pytest.mark.full
def test_on_paper_there_are_no_controls_and_nothing_is_cut_off(url, page):
    page.goto(f"{url}/methodology")
    main = page.get_by_test_id("stMain")
    expect(main.get_by_text("Versions").first).to_be_visible()
    page.emulate_media(media="print")
    expect(page.get_by_test_id("stSidebar")).to_be_hidden()
    expect(page.get_by_test_id("stSelectbox").first).to_be_hidden()
    assert main.evaluate("e => getComputedStyle(e).overflowY") == "visible"
    assert page.evaluate("document.documentElement.scrollHeight") > 1_500

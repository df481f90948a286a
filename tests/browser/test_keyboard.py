"""The main job by the keyboard alone: launch, watch, look up why a case failed; nothing clicked."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install -e .[dev]")

from playwright.sync_api import expect

from tests.support.full_board import settle

RUN_TIME = 120_000  # milliseconds a run of the baseline may take on a busy machine
MOST_TABS = 60
#: The name of what has the focus, as a screen reader says it, or near to that.
NAME = """() => {
  const one = document.activeElement
  const icons = [...one.querySelectorAll('[data-testid="stIconMaterial"]')]
  const drawn = icons.map(icon => icon.textContent).join('')
  return one.getAttribute('aria-label') || one.textContent.replace(drawn, '').trim()
}"""
#: Whether the ring of the style sheet is drawn around what has the focus, within the window.
SEEN = """() => {
  const one = document.activeElement, look = getComputedStyle(one)
  const box = one.getBoundingClientRect()
  const ringed = look.outlineStyle === 'solid' && parseFloat(look.outlineWidth) >= 2
  return ringed && box.bottom > 0 && box.top < innerHeight && box.width > 0 && box.height > 0
}"""


def tab_to(page, name: str, *, back: bool = False) -> None:
    """Go on by Tab until what is called so has the focus; all on the way must be seen to have it.

    A table draws a ring of its own around a cell, and the ends of the page have none.
    """
    for _ in range(MOST_TABS):
        page.keyboard.press("Shift+Tab" if back else "Tab")
        tag = page.evaluate("document.activeElement.tagName")
        if tag in ("BODY", "CANVAS", "TD", "IFRAME"):
            continue
        verdict = page.evaluate(NAME)
        expect_ring(page, verdict)
        if re.fullmatch(name, verdict):
            return
    pytest.fail(f"no way by Tab to {name}")


def expect_ring(page, name: str) -> None:
    try:
        page.wait_for_function(SEEN, timeout=5000)
    except Exception as error:
        pytest.fail(f"the focus is not seen on {name!r}: {error}")


def heading(page, text: str) -> None:
    expect(page.get_by_role("heading", name=text).first).to_be_visible()
    settle(page)


@pytest.mark.full
def test_the_main_job_by_keyboard(served, page):
    press = page.keyboard.press
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(served.url)
    heading(page, "Ranking")
    tab_to(page, "Launch")
    press("Enter")

    heading(page, "Launch an evaluation")
    fill_the_form(page)
    tab_to(page, "Start")
    press("Enter")

    page.wait_for_url(re.compile(r"/runs\?run=[0-9]{8}-"), timeout=RUN_TIME)
    run = page.url.partition("run=")[2]
    expect(page.locator(".stMarkdownBadge", has_text="Done")).to_be_visible(timeout=RUN_TIME)
    settle(page)
    tab_to(page, "Results and cases")
    press("Enter")

    page.wait_for_url(re.compile(r"/target\?.*key=baseline"))
    heading(page, "baseline:")
    tab_to(page, "Cases")
    press("ArrowRight")
    press("Space")
    page.wait_for_url(re.compile("view=failures"))
    settle(page)
    tab_to(page, "Read these cases one by one")
    press("Enter")

    page.wait_for_url(re.compile(rf"/case\?.*run={run}"))
    heading(page, "Why this verdict")
    expect(page.locator(".stMarkdownBadge", has_text="Failed")).to_be_visible()
    tab_to(page, ".*Prompt and transcript.*")
    press("Enter")
    expect(page.locator("details[open]", has_text="Prompt and transcript")).to_be_visible()


def fill_the_form(page) -> None:
    """Choose another kind of target and the baseline again, one benchmark anew, and ten cases."""
    press = page.keyboard.press
    tab_to(page, "OpenAI-compatible endpoint")
    for key in ("ArrowRight", "ArrowRight", "ArrowRight", "Space"):
        press(key)
    expect(page.get_by_role("radio", name="Control")).to_be_checked()
    for key in ("ArrowLeft", "Space"):
        press(key)
    expect(page.get_by_role("radio", name="Built-in baseline")).to_be_checked()
    settle(page)
    tab_to(page, "Benchmarks")
    press("Backspace")
    expect(page.get_by_text("Metrics of SQL understanding")).to_be_hidden()
    settle(page)
    page.keyboard.type("SQL under")
    expect(page.get_by_role("option")).to_have_count(1)
    press("Enter")
    expect(page.get_by_text("Metrics of SQL understanding")).to_be_visible()
    press("Escape")
    settle(page)
    tab_to(page, "Case limit")
    page.keyboard.type("10")
    press("Enter")
    settle(page)


@pytest.mark.full
def test_the_skip_link_leads_past_the_navigation(served, page):
    page.goto(f"{served.url}/methodology")
    heading(page, "Methodology")
    page.keyboard.press("Tab")
    assert page.evaluate(NAME) == "Skip to main content"
    expect_ring(page, "the skip link")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "stMain"
    page.keyboard.press("Tab")
    assert page.evaluate("!!document.activeElement.closest('[data-testid=\"stMain\"]')")


#: Where what Tab comes to in the main part of the page is: beside the form or in it, and the upper
#: and left edges, the upper one of its field, since the parts of a field differ by a few pixels.
PLACES = """() => {
  const main = document.querySelector('[data-testid="stMain"]'), columns = []
  const all = [...main.querySelectorAll('input, button, select, textarea, [tabindex="0"], summary')]
  const shown = all.filter(one => one.tabIndex >= 0 && !one.disabled && one.checkVisibility()
    && one.getBoundingClientRect().width > 1 && !one.closest('[data-testid="stTooltipIcon"]'))
  const form = main.querySelector('[data-testid="stColumn"]').getBoundingClientRect()
  return shown.map(one => {
    const box = one.getBoundingClientRect()
    const field = (one.closest('[data-testid="stElementContainer"]') ?? one).getBoundingClientRect()
    return {name: one.getAttribute('aria-label') || one.textContent, x: box.x, y: field.y,
            top: box.y, side: box.x >= form.right ? 1 : 0}
  })
}"""


@pytest.mark.parametrize("width", [1440, 390])
def test_the_keyboard_goes_through_the_launch_form_as_the_eye_does(served, page, width):
    page.set_viewport_size({"width": width, "height": 1400})
    page.goto(f"{served.url}/launch")
    heading(page, "Launch an evaluation")
    page.get_by_text("Options of SQL understanding").first.click()
    settle(page)
    places = page.evaluate(PLACES)
    order = [(place["side"], round(place["y"] / 8)) for place in places]
    assert len(order) > 15
    assert order == sorted(order), places
    for before, after in pairwise(places):
        same_field = (before["side"], before["y"]) == (after["side"], after["y"])
        is_below = after["top"] > before["top"] + 10  # what does not fit a line
        assert not same_field or is_below or before["x"] <= after["x"] + 1, (before, after)

"""Every page at 390 pixels: nothing scrolls sideways, nothing is cut off, links can be hit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install -e .[dev]")

from playwright.sync_api import expect

from tests.support.full_board import ADDRESSES, LOCALES, open_tab, serve_board, visit
from tests.support.server import Served, serve

WIDTH = 390  # pixels
#: More than one address can show of a page, and the widest of its views.
MORE = {
    "failures": "/target?key=openai%3Astrong&view=failures",
    "data sets": "/datasets",
    "own data set": "/datasets?view=add",
    "official data set": "/datasets?view=fetch",
}
#: What is wider than the window, what a box of its own cuts off, and what is too small to hit.
WRONG = """() => {
  const main = document.querySelector('[data-testid="stMain"]'), found = []
  const told = (what, one) => found.push(
    `${what}: <${one.tagName.toLowerCase()}> ${one.textContent.trim().slice(0, 60)}`)
  const all = name => [...main.querySelectorAll(name)].filter(one => one.checkVisibility())
  if (document.documentElement.scrollWidth > innerWidth) found.push('the document scrolls')
  if (main.scrollWidth > main.clientWidth) found.push('the page scrolls')
  const texts = 'h1, h2, h3, h4, h5, h6, button, [data-testid="stPageLink"] a, '
    + '[data-testid="stMetric"], [data-testid="stMarkdownBadge"]'
  for (const one of all(texts)) {
    const box = one.getBoundingClientRect()
    if (box.width > 1 && (box.left < -1 || box.right > innerWidth + 1)) told('outside', one)
    for (const part of [one, ...one.querySelectorAll('*')]) {
      const look = getComputedStyle(part)
      if (part.clientWidth > 1 && look.overflowX !== 'visible' && look.display !== 'inline'
          && part.scrollWidth > part.clientWidth + 1) told('cut off', part)
    }
  }
  const targets = 'a[href], [data-testid^="stBaseButton"], [role="radio"], summary'
  for (const one of all(targets)) {
    const box = one.getBoundingClientRect(), line = one.closest('p, li, h1, h2, h3, h4, h5, h6')
    const inText = line && line.textContent.trim() !== one.textContent.trim()
    if (box.width > 1 && !inText && Math.min(box.width, box.height) < 23.5)
      told(`only ${Math.round(box.width)} x ${Math.round(box.height)}`, one)
  }
  return [...new Set(found)]
}"""

#: Puts a button where a menu with a line or two would still open below it.
LITTLE_ROOM_BELOW = """button => {
  button.scrollIntoView({block: 'end'})
  document.querySelector('[data-testid="stMain"]').scrollBy(0, 110)
}"""


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serve_board(tmp_path_factory.mktemp("phone")) as served:
        yield served


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serve(tmp_path_factory.mktemp("phone-empty")) as served:
        yield served


@pytest.fixture(scope="module")
def tabs(chromium):
    """One tab a language for all tests."""
    with ExitStack() as opened:
        yield {
            language: opened.enter_context(open_tab(chromium, language, WIDTH, 844))
            for language in LOCALES
        }


@pytest.mark.parametrize("language", LOCALES)
@pytest.mark.parametrize("name", ADDRESSES | MORE)
def test_a_page_fits_a_phone(tabs, board, name, language) -> None:
    tab = tabs[language]
    visit(tab, board.url + (ADDRESSES | MORE)[name])
    assert tab.evaluate(WRONG) == []


@pytest.mark.parametrize("language", LOCALES)
@pytest.mark.parametrize("name", ADDRESSES)
def test_a_page_with_nothing_to_show_fits_a_phone(tabs, empty, name, language) -> None:
    tab = tabs[language]
    visit(tab, f"{empty.url}/{name if name != 'ranking' else ''}")
    assert tab.evaluate(WRONG) == []


def test_what_a_chart_is_saved_as_lies_on_the_screen_wherever_the_chart_ends(tabs, board) -> None:
    tab = tabs["en"]
    visit(tab, board.url + ADDRESSES["target"])
    menus = tab.get_by_role("button", name="Save chart")
    assert menus.count() >= 2
    for number in range(menus.count()):
        menus.nth(number).evaluate(LITTLE_ROOM_BELOW)
        menus.nth(number).click()
        offered = tab.locator('[data-testid="stPopoverBody"]:visible button')
        expect(offered).to_have_count(3)
        expect(offered.first).to_be_in_viewport(ratio=1)
        expect(offered.last).to_be_in_viewport(ratio=1)
        tab.keyboard.press("Escape")
        expect(offered).to_have_count(0)

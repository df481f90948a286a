"""Every page and view as people look at it: axe-core finds nothing serious in light and dark, and
on a phone nothing scrolls sideways, nothing is cut off, links can be hit."""

from __future__ import annotations

import pytest

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install -e .[dev]")
pytest.importorskip("axe_playwright_python", reason="needs axe-core: pip install -e .[dev]")

from playwright.sync_api import expect

from app import PAGES
from evalcore.records import Section
from tests.support.axe import violations, violations_at
from tests.support.full_board import ADDRESSES, VIEWS, settle, visit
from tests.support.lanes import in_languages
from tests.support.page_stores import SECTIONS, evidence_run
from tests.support.phone import PHONE, faults_on_phone

EVERY = ADDRESSES | VIEWS
SOME = {*ADDRESSES, "failures", "data sets", "own data set", "official data set"}
#: The pages of boards that others published, with verdicts and without.
PUBLISHED = {
    f"{page or 'ranking'} {suite}": f"/{page}?source=published&suite={suite}"
    for page in ("", "decide", "metrics", "target", "compare", "methodology")
    for suite in ("sql", "agentic")
}
POPOVERS = ("Why separate boards?", "Filters", "View", "Share")
#: Puts a button where a menu with a line or two would still open below it.
LITTLE_ROOM_BELOW = """button => {
  button.scrollIntoView({block: 'end'})
  document.querySelector('[data-testid="stMain"]').scrollBy(0, 110)
}"""


def test_every_page_is_looked_at() -> None:
    assert set(ADDRESSES) == {card.name for card in PAGES}


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("name", "language"), in_languages(EVERY, SOME))
def test_a_page_is_accessible_and_fits_a_phone(tabs, full_board, name, language) -> None:
    tab = tabs(language)
    faults = violations_at(tab, full_board.url + EVERY[name])
    faults += faults_on_phone(tab)
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(("name", "language"), in_languages(PUBLISHED, {"ranking sql"}))
def test_a_page_of_a_published_board_is_accessible_and_fits_a_phone(
    tabs, shipped, name, language
) -> None:
    tab = tabs(language)
    faults = violations_at(tab, shipped.url + PUBLISHED[name])
    faults += faults_on_phone(tab)
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(("name", "language"), in_languages(EVERY, ()))
def test_a_page_that_is_opened_on_a_phone_fits_it(tabs, full_board, name, language) -> None:
    tab = tabs(language, *PHONE)
    visit(tab, full_board.url + EVERY[name])
    assert faults_on_phone(tab) == []


def test_the_card_dialog(tabs, full_board) -> None:
    tab = tabs("en")
    visit(tab, full_board.url + ADDRESSES["target"])
    tab.get_by_role("button", name="Edit card").click()
    tab.get_by_role("dialog").wait_for()
    grave = violations(tab)
    assert not grave, "\n".join(grave)


@pytest.mark.full
def test_the_popovers_of_the_ranking(tabs, full_board) -> None:
    tab, grave = tabs("en"), []
    visit(tab, f"{full_board.url}/?complete=1&kind=openai&evidence=executed")
    for name in POPOVERS:
        button = tab.get_by_test_id("stPopoverButton").filter(has_text=name)
        button.click()
        tab.get_by_test_id("stPopoverBody").locator("p").first.wait_for()  # drawn once it is open
        grave += violations(tab)
        tab.keyboard.press("Escape")
        tab.get_by_test_id("stPopoverBody").wait_for(state="detached")
    assert not grave, "\n".join(grave)


_TOOLS_SHOWN = """() => [...document.querySelectorAll('[data-testid="stElementToolbar"]')].some(
  one => one.getBoundingClientRect().width && getComputedStyle(one).opacity === '1')"""
#: What the tools lie over that a table shows above itself when it is pointed at.
_COVERED = """() => {
  const tools = [...document.querySelectorAll('[data-testid="stElementToolbar"]')]
  const controls = '[data-testid="stMain"] :is(button, a, input, [role="radio"])'
  const others = [...document.querySelectorAll(controls)].filter(one => one.getClientRects().length)
  return tools.flatMap(tool => {
    const box = tool.getBoundingClientRect()
    return box.width ? others.filter(one => {
      const own = one.getBoundingClientRect()
      return !one.closest('[data-testid="stElementToolbar"]')
        && own.left < box.right - 1 && own.right > box.left + 1 && own.top < box.bottom - 1
        && own.bottom > box.top + 1
    }).map(one => one.textContent) : []
  })
}"""


@pytest.mark.parametrize("name", ["runs", "compare", "metrics", "target", "datasets"])
def test_the_tools_of_a_table_cover_no_control(tabs, full_board, name) -> None:
    tab = tabs("en")
    tab.emulate_media(media="screen")
    visit(tab, full_board.url + ADDRESSES[name])
    places = tab.locator('[data-testid="stDataFrame"]:visible')
    assert places.count()
    for number in range(places.count()):
        places.nth(number).scroll_into_view_if_needed()
        places.nth(number).hover()
        tab.wait_for_function(_TOOLS_SHOWN)
        assert tab.evaluate(_COVERED) == []


_WIDE = Section(
    kind="table",
    title="rows",
    body={
        "columns": [f"measure_{number}" for number in range(9)],
        "rows": [[f"row {row}", *range(8)] for row in range(3)],
    },
)


def test_a_wide_table_of_evidence_keeps_its_first_column_on_a_phone(served, tabs, monkeypatch):
    monkeypatch.setitem(SECTIONS, "table", _WIDE)
    evidence_run(served.data / "runs")
    tab = tabs("en", *PHONE)
    visit(tab, f"{served.url}{ADDRESSES['case']}".replace("id=table_diff", "id=table"))
    grid = tab.locator(':has(+ * .eb-swipe) > [data-testid="stFullScreenFrame"] .stDataFrame').first
    hint = tab.locator(".eb-swipe:visible").first
    expect(hint).to_have_text("Swipe the table sideways for more columns.")
    hint.scroll_into_view_if_needed()
    settle(tab)
    box = grid.bounding_box()
    assert box["y"] < hint.bounding_box()["y"]

    def photograph(left, right):
        size = {"x": box["x"] + left, "width": right - left}
        return tab.screenshot(clip={**size, "y": box["y"] + 2, "height": box["height"] - 10})

    names, others = photograph(2, 40), photograph(200, 300)
    grid.locator(".dvn-scroller").evaluate("one => one.scrollBy(260, 0)")
    settle(tab)
    assert photograph(200, 300) != others
    assert photograph(2, 40) == names
    tab.set_viewport_size({"width": 1440, "height": 1400})
    expect(hint).to_be_hidden()
    tab.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})


_PATCH = Section(
    kind="code",
    title="patch",
    body={
        "language": "diff",
        "text": "--- a/f.py\n+++ b/f.py\n@@ -1,2 +1,2 @@\n def f():\n-  a\n+  b",
    },
)


def test_the_lines_of_a_patch_are_readable(served, tabs, monkeypatch):
    monkeypatch.setitem(SECTIONS, "code", _PATCH)
    evidence_run(served.data / "runs")
    address = f"{served.url}{ADDRESSES['case']}".replace("id=table_diff", "id=code")
    tab = tabs("en")
    assert violations_at(tab, address) == []
    assert tab.locator(".stCode .token.deleted").count()


@pytest.mark.full
def test_every_kind_of_target_of_the_launcher(tabs, full_board) -> None:
    tab, grave = tabs("en"), []
    visit(tab, f"{full_board.url}/launch")
    kinds = tab.get_by_test_id("stMain").get_by_role("radiogroup").first.get_by_role("radio")
    for number in range(kinds.count()):
        kinds.nth(number).click()
        settle(tab)
        grave += violations(tab)
    assert not grave, "\n".join(grave)
    assert kinds.count() >= 4


@pytest.mark.full
def test_what_a_chart_is_saved_as_lies_on_the_screen_wherever_the_chart_ends(
    tabs, full_board
) -> None:
    tab = tabs("en", *PHONE)
    visit(tab, full_board.url + ADDRESSES["target"])
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

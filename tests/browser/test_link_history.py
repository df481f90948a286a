"""Links in a real browser, in whose history every state of a page is an address of its own.

`make test` takes a few of the states and ways of `link_states`, `make test-full` all of them; in
AppTest `tests/apptest/test_link_states.py` always takes all.
"""

from __future__ import annotations

import re
from contextlib import ExitStack

import pytest

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install -e .[dev]")

from playwright.sync_api import expect

from tests.support.full_board import open_tab, settle
from tests.support.link_states import NOT_HERE, STATES, WAYS, State
from tests.support.linked_store import serving
from tests.support.page_widgets import heading, says

AT_ONCE = 3  # browsers side by side: while one draws, the server works for another
#: The ways by hand that `make test` takes.
SOME_WAYS = ("case",)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory):
    """The address of a server and the key of its second board."""
    with serving(tmp_path_factory.mktemp("links")) as started:
        yield started


def follow(tabs, states: tuple[State, ...], site: tuple[str, str]) -> None:
    """Open each state in a tab, leave it, and come back to it by Back; Forward leads away again."""
    for tab, state in zip(tabs, states, strict=False):
        tab.goto(state.address(*site), wait_until="commit")
    look(tabs, states, site)
    left = [(tab, state) for tab, state in zip(tabs, states, strict=False) if returns(state)]
    for tab, state in left:
        tab.locator(f'[data-testid="stSidebar"] a[href$="/{away(state)}"]').click()
        tab.wait_for_url(f"{site[0]}/{away(state)}")
        tab.go_back()
    look([tab for tab, _ in left], tuple(state for _, state in left), site)
    for tab, state in left:
        tab.go_forward()
        tab.wait_for_url(f"{site[0]}/{away(state)}")


def away(state: State) -> str:
    """Another page than that of a state."""
    return "metrics" if state.path == "methodology" else "methodology"


def returns(state: State) -> bool:
    """Whether one step back leads to a state: not where the language differs from the browser's,
    which Streamlit can only add to the next address by a step of its own."""
    return "lang" not in state.query


def look(tabs, states: tuple[State, ...], site: tuple[str, str]) -> None:
    for tab, state in zip(tabs, states, strict=False):
        settle(tab)
        for check in state.holds:
            check.in_browser(tab)
        assert tab.url == state.address(*site)


@pytest.fixture
def fresh_tabs(chromium):
    """Tabs of browsers that were never here."""
    with ExitStack() as fresh:
        yield [fresh.enter_context(open_tab(chromium)) for _ in range(AT_ONCE)]


@pytest.mark.full
def test_three_states_open_from_their_links_and_again_by_back(site, page):
    """A filter within a menu, a page of a long list, a case within a selection."""
    for state in (STATES["ranking"][3], STATES["target"][1], STATES["case"][1]):
        follow([page], (state,), site)


@pytest.mark.full
@pytest.mark.parametrize("name", STATES)
def test_every_state_opens_from_its_link_in_a_fresh_browser(site, fresh_tabs, name):
    states = STATES[name]
    for start in range(0, len(states), AT_ONCE):
        follow(fresh_tabs, states[start : start + AT_ONCE], site)


@pytest.mark.parametrize(
    "name",
    [name if name in SOME_WAYS else pytest.param(name, marks=pytest.mark.full) for name in WAYS],
)
def test_what_hands_have_set_stays_with_back_and_forward(site, page, name):
    way, url = WAYS[name], site[0]
    page.goto(way.start.address(*site))
    heading_of(page).wait_for()
    for act, ending in way.acts:
        settle(page)  # what is touched before may be replaced under the hand
        act.in_browser(page)
        page.wait_for_url(re.compile(f"{re.escape(ending)}$"))
    settle(page)
    for check in way.holds:
        check.in_browser(page)
    address = page.url
    there = f"{url}/{way.elsewhere}"
    page.get_by_test_id("stSidebar").get_by_role("link", name=way.elsewhere.title()).click()
    page.wait_for_url(there)
    heading(way.elsewhere.title()).in_browser(page)
    page.go_back()
    page.wait_for_url(address)
    settle(page)
    for check in way.holds:
        check.in_browser(page)
    assert page.url == address
    page.go_forward()
    page.wait_for_url(there)
    heading(way.elsewhere.title()).in_browser(page)


def heading_of(tab):
    return tab.get_by_test_id("stMain").get_by_role("heading").first


@pytest.mark.full
@pytest.mark.parametrize("name", [name for name in STATES if name != "launch"])
def test_the_copied_link_is_the_address(site, page, name):
    """With what hosts without paths need where the page has one, which then leads there."""
    state = STATES[name][1]
    page.goto(state.address(*site))
    page.get_by_role("button", name="Share", exact=True).click()
    for address in (state.address(*site), *([state.bare(*site)] if state.path else [])):
        menu = page.get_by_test_id("stPopoverBody")
        expect(menu.get_by_text(address, exact=True)).to_be_visible()


@pytest.mark.full
@pytest.mark.parametrize("name", STATES)
def test_a_page_named_by_a_parameter_opens_with_all_the_others(site, page, name):
    """For hosts that pass no path; a step back leads to the ranking and not forward again."""
    state = STATES[name][-1]
    page.goto(state.bare(*site))
    page.wait_for_url(state.address(*site))
    look([page], (state,), site)
    if name == "ranking":
        return
    page.go_back()
    says(re.compile("Ranking|排行榜")).in_browser(page)
    page.go_forward()
    page.wait_for_url(state.address(*site))
    look([page], (state,), site)


@pytest.mark.full
def test_what_is_not_here_is_told(site, page):
    for state, left in NOT_HERE:
        page.goto(state.address(*site))
        expect(page.get_by_test_id("stToast").filter(has_text="“nosuch”")).to_be_visible()
        page.wait_for_url(State(state.path, left, ()).address(*site))
    page.goto(f"{site[0]}/?page=nowhere")
    says("There is no page “nowhere”").in_browser(page)


@pytest.mark.full
def test_a_filter_made_by_hand_is_tagged_copied_and_taken_back(site, page):
    url = site[0]
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


@pytest.mark.full
def test_a_phone_shows_filtered_rows_and_scrolls_only_down(site, page):
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{site[0]}/?weights=open%2Cclosed")
    shows(page, "2 of 3 targets", "Weights: ")
    main = page.get_by_test_id("stMain")
    assert main.evaluate("e => e.scrollWidth <= e.clientWidth")
    page.get_by_role("button", name="Filters (1)").click()
    expect(page.get_by_role("button", name="Closed", exact=True)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def shows(tab, counted: str, tag: str) -> None:
    expect(tab.get_by_text(re.compile(f"^{counted}"))).to_be_visible()
    expect(tab.get_by_role("button", name=tag).first).to_be_visible()

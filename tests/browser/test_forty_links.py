"""At least forty states over all pages: each opens from its link, those of a page in a browser of
their own, with nothing taken out of the address and every widget as the link says, and again by
Back."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install -e .[dev]")

from playwright.sync_api import expect

from app import PAGES
from tests.support.full_board import open_tab
from tests.support.link_states import STATES, State
from tests.support.linked_store import serving

AT_ONCE = 3  # browsers side by side: while one draws, the server works for another
PATIENCE = 60_000  # milliseconds


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory):
    """The address of a server and the key of its second board."""
    with serving(tmp_path_factory.mktemp("links")) as started:
        yield started


def opened(tabs, states: tuple[State, ...], site: tuple[str, str]) -> None:
    """Open each state in a tab, leave it, and come back to it by Back; Forward leads away again."""
    for tab, state in zip(tabs, states, strict=False):
        tab.goto(state.address(*site), wait_until="commit")
    looked_at(tabs, states, site)
    left = [(tab, state) for tab, state in zip(tabs, states, strict=False) if returns(state)]
    for tab, state in left:
        tab.locator(f'[data-testid="stSidebar"] a[href$="/{away(state)}"]').click()
        tab.wait_for_url(f"{site[0]}/{away(state)}")
        tab.go_back()
    looked_at([tab for tab, _ in left], tuple(state for _, state in left), site)
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


def looked_at(tabs, states: tuple[State, ...], site: tuple[str, str]) -> None:
    for tab, state in zip(tabs, states, strict=False):
        for check in state.holds:
            check(tab)
        assert tab.url == state.address(*site)


def test_there_are_forty_over_all_pages():
    assert set(STATES) == {card.name for card in PAGES}
    everything = [state for states in STATES.values() for state in states]
    assert len({state.address("", "b") for state in everything}) == len(everything)
    assert sum(map(returns, everything)) >= 40


@pytest.mark.parametrize("name", STATES)
def test_every_state_opens_from_its_link_in_a_fresh_browser(site, chromium, name):
    expect.set_options(timeout=PATIENCE)
    states = STATES[name]
    with ExitStack() as fresh:
        tabs = [fresh.enter_context(open_tab(chromium)) for _ in range(AT_ONCE)]
        for tab in tabs:
            tab.set_default_timeout(PATIENCE)
        for start in range(0, len(states), AT_ONCE):
            opened(tabs, states[start : start + AT_ONCE], site)

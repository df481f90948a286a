"""States that people set with their hands: each is in the address, and Back and Forward between
pages lead to the same addresses and the same widgets."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install -e .[dev]")

from playwright.sync_api import expect

from tests.support.link_states import STATES
from tests.support.linked_store import serving
from tests.support.page_widgets import Check, box, chips, heading, says, segment, typed

PATIENCE = 60_000  # milliseconds
#: Nothing is being drawn: what is clicked before may be replaced under the hand.
SETTLED = """() => document.querySelector('[data-testid="stMain"] h1, h2, h3') &&
  !document.querySelector(
  '[data-testid="stSkeleton"], [data-testid="stStatusWidget"], [data-stale="true"]')"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory):
    """The address of a server and the key of its second board."""
    with serving(tmp_path_factory.mktemp("history")) as started:
        yield started


@pytest.fixture
def tab(lasting_page):
    lasting_page.set_default_timeout(PATIENCE)
    expect.set_options(timeout=PATIENCE)
    return lasting_page


def choose(label: str, option: str) -> Callable[[Any], None]:
    """Pick one of a list."""

    def act(tab: Any) -> None:
        tab.get_by_role("combobox", name=label, exact=True).click()
        tab.get_by_role("option", name=re.compile(f"^{re.escape(option)}")).first.click()
        tab.keyboard.press("Escape")

    return act


def fill(text: str, label: str = "Search") -> Callable[[Any], None]:
    return lambda tab: tab.get_by_label(label, exact=True).fill(text)


def press(name: str, role: str = "button") -> Callable[[Any], None]:
    return lambda tab: tab.get_by_role(role, name=name, exact=True).first.click()


class Way(NamedTuple):
    """Where a person begins, what they do, each with what the address then ends with, and what
    the widgets hold in the end."""

    start: str
    acts: tuple[tuple[Callable[[Any], None], str], ...]
    holds: tuple[Check, ...]
    elsewhere: str = "Methodology"


SQL = "sql_understanding"
CASE = f"case?run=strong&benchmark={SQL}&metric=execution_accuracy&id=4"
WAYS = {
    "ranking": Way(
        "",
        (
            (fill("o"), "?q=o"),
            (choose("Sort by", "Name"), "?q=o&sort=name"),
            (press("Latency", "radio"), "?q=o&sort=name&vs=latency"),
        ),
        (typed("o"), box("Sort by", "Name"), segment("Latency")),
    ),
    "metrics": Way(
        "metrics",
        (
            (choose("Metric", "Plan reading"), "?metric=explain_detection"),
            (fill("weak"), "?metric=explain_detection&q=weak"),
        ),
        (box("Metric", "Plan reading"), typed("weak")),
    ),
    "target": Way(
        "target?key=openai%3Astrong",
        (
            (press("Next page"), "&p=2"),
            (choose("Difficulty", "2"), "&difficulty=2"),
            (fill("answer to"), "&difficulty=2&q=answer+to"),
        ),
        (chips("Difficulty", "2"), typed("answer to")),
    ),
    "case": Way(
        CASE,
        (
            (choose("Step through", "Passed"), "&outcome=passed"),
            (lambda tab: tab.keyboard.press("Alt+n"), "&id=5&outcome=passed"),
        ),
        (box("Step through", "Passed"),),
    ),
    "compare": Way(
        "compare?runs=strong,weak,model",
        (
            (choose("Measured against", "B · openai:weak"), "&base=weak"),
            (choose("Metric", "Plan reading"), "&base=weak&metric=explain_detection"),
        ),
        (box("Measured against", "B · openai:weak"), box("Metric", "Plan reading")),
    ),
    "methodology": Way(
        "methodology",
        (
            (choose("Worked for", "openai:weak"), "?key=openai%3Aweak"),
            (press("Plan reading", "radio"), "&prompt=sql_understanding%2Fexplain_detection"),
        ),
        (box("Worked for", "openai:weak"), segment("Plan reading")),
        elsewhere="Metrics",
    ),
    "launch": Way(
        "datasets?set=bundled%3Agaia",
        ((press("Evaluate on it"), "/launch?benchmark=gaia"),),
        (chips("Benchmarks", "GAIA"),),
    ),
    "runs": Way(
        "runs?run=weak",
        (
            (
                choose("Compare with another run", "openai:strong · strong"),
                "?run=weak&with=strong",
            ),
        ),
        (box("Compare with another run", "openai:strong · strong"), heading("openai:weak")),
    ),
    "datasets": Way(
        f"datasets?set=bundled%3A{SQL}",
        (
            (press("Next page"), "&p=2"),
            (choose("Metric", "Plan reading"), "&metric=explain_detection"),
            (fill("select", "Search in cases"), "&metric=explain_detection&q=select"),
        ),
        (box("Metric", "Plan reading"), typed("select", "Search in cases")),
    ),
}


def test_there_is_a_way_through_every_page():
    assert list(WAYS) == list(STATES)


@pytest.mark.parametrize("name", WAYS)
def test_what_hands_have_set_stays_with_back_and_forward(site, tab, name):
    way, url = WAYS[name], site[0]
    tab.goto(f"{url}/{way.start}")
    for act, ending in way.acts:
        tab.wait_for_function(SETTLED)
        act(tab)
        tab.wait_for_url(re.compile(f"{re.escape(ending)}$"))
    for check in way.holds:
        check(tab)
    address = tab.url
    there = f"{url}/{way.elsewhere.lower()}"
    tab.get_by_test_id("stSidebar").get_by_role("link", name=way.elsewhere).click()
    tab.wait_for_url(there)
    heading(way.elsewhere)(tab)
    tab.go_back()
    tab.wait_for_url(address)
    for check in way.holds:
        check(tab)
    assert tab.url == address
    tab.go_forward()
    tab.wait_for_url(there)
    heading(way.elsewhere)(tab)


@pytest.mark.parametrize("name", [name for name in STATES if name != "launch"])
def test_the_copied_link_is_the_address(site, tab, name):
    """With what hosts without paths need where the page has one, which then leads there."""
    state = STATES[name][1]
    tab.goto(state.address(*site))
    tab.get_by_role("button", name="Share", exact=True).click()
    for address in (state.address(*site), *([state.bare(*site)] if state.path else [])):
        menu = tab.get_by_test_id("stPopoverBody")
        expect(menu.get_by_text(address, exact=True)).to_be_visible()


@pytest.mark.parametrize("name", STATES)
def test_a_page_named_by_a_parameter_opens_with_all_the_others(site, tab, name):
    """For hosts that pass no path; a step back leads to the ranking and not forward again."""
    state = STATES[name][-1]
    tab.goto(state.bare(*site))
    tab.wait_for_url(state.address(*site))
    for check in state.holds:
        check(tab)
    if name == "ranking":
        return
    tab.go_back()
    says(re.compile("Ranking|排行榜"))(tab)
    tab.go_forward()
    tab.wait_for_url(state.address(*site))
    for check in state.holds:
        check(tab)


def test_what_is_not_here_is_told(site, tab):
    url = site[0]
    told = tab.get_by_test_id("stToast")
    for asked, left in (
        ("metrics?metric=nosuch", "metrics"),
        ("methodology?key=nosuch", "methodology"),
        ("?kind=nosuch,hf", "?kind=hf"),
        ("launch?benchmark=nosuch", "launch"),
        ("launch?benchmark=gaia&dataset=nosuch", "launch?benchmark=gaia"),
        ("runs?run=weak&with=nosuch", "runs?run=weak"),
        (f"datasets?set=bundled%3A{SQL}&case=nosuch", f"datasets?set=bundled%3A{SQL}"),
    ):
        tab.goto(f"{url}/{asked}")
        expect(told.filter(has_text="“nosuch”")).to_be_visible()
        tab.wait_for_url(f"{url}/{left}")
    tab.goto(f"{url}/?page=nowhere")
    says("There is no page “nowhere”")(tab)

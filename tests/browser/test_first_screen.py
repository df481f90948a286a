"""The answer first: who leads, by how much, how sure that is, on what, and where to go next lie on
the first screen of a desktop and of a phone, and every name leads to its target."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install -e .[dev]")

from evalcore.exchange.scale.importer import import_scale_tree
from evalcore.settings import Settings
from tests.support.boards import Plan, make_run
from tests.support.full_board import settle, visit
from tests.support.scale_tree import CAPABILITY, TreeBuilder, claim, model, report

MONTH = "2026-05"
DESKTOP, PHONE = (1440, 900), (390, 844)
#: The shipped boards show in every run that the Chinese answer fits too.
ENGLISH_FIRST = ["en", pytest.param("zh", marks=pytest.mark.full)]
FACTS = ("leader", "lead", "certainty", "scope")
#: Where the parts of the answer end, and the first row; in pixels below the top of the window.
_ENDS = """facts => {
  const end = one => one ? one.getBoundingClientRect().bottom : null
  const find = name => document.querySelector(name)
  const ends = Object.fromEntries(facts.map(fact => [fact, end(find(`[data-fact="${fact}"]`))]))
  return {...ends, next: end(find('.st-key-ranking-next a')),
    row: end(find('.eb-table tbody tr')), table: end(find('.eb-table .eb-name a'))}
}"""


def expect_answer(tab, url: str) -> None:
    """All parts of the answer and the first row end on the first screen."""
    for width, height in (DESKTOP, PHONE):
        tab.set_viewport_size({"width": width, "height": height})
        visit(tab, url)
        tab.locator(".eb-table").first.wait_for()
        tab.locator(".st-key-ranking-next a").first.wait_for()
        for theme in ("dark", "light"):
            tab.emulate_media(color_scheme=theme)
            settle(tab)
            ends = tab.evaluate(_ENDS, list(FACTS))
            below = {
                name: end for name, end in ends.items() if end is None or not 0 < end <= height
            }
            assert not below, f"{width} x {height}, {theme}: {below}"
            assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.slow
@pytest.mark.sampled(3)
@pytest.mark.parametrize("query", ["", "?suite=agentic", "?source=here"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_shipped_boards_answer_on_the_first_screen(shipped, tabs, language, query) -> None:
    expect_answer(tabs(language), f"{shipped.url}/{query}")


@pytest.mark.slow
@pytest.mark.parametrize("language", ENGLISH_FIRST)
def test_an_imported_board_answers_on_the_first_screen(served, tabs, tmp_path, language) -> None:
    settings = Settings(data=str(served.data), shipped=str(tmp_path / "none"))
    tree = TreeBuilder(tmp_path / "public")
    tree.board(MONTH, model("a", {CAPABILITY: claim(55.5)}), model("b", {CAPABILITY: claim(70.5)}))
    for name in ("a", "b"):
        tree.report(MONTH, name, report())
    import_scale_tree(tree.root, settings, progress=lambda line: None)
    expect_answer(tabs(language), served.url)


@pytest.mark.slow
@pytest.mark.parametrize("language", ENGLISH_FIRST)
def test_a_fresh_board_answers_on_the_first_screen(served, tabs, tmp_path, language) -> None:
    settings = Settings(data=str(served.data), shipped=str(tmp_path / "none"))
    tab = tabs(language)
    visit(tab, served.url)  # nothing yet: what to do comes in the place of the answer
    label = {"en": "Start a run", "zh": "发起评测"}[language]
    start = tab.get_by_test_id("stMain").get_by_role("link", name=label)
    assert start.bounding_box()["y"] < PHONE[1]
    make_run(settings, Plan(target="openai:first", skill=0.6))
    expect_answer(tab, served.url)
    make_run(settings, Plan(target="openai:second with a rather long name", skill=0.55))
    expect_answer(tab, served.url)


_LONG = "maker-of-models/a-model-with-a-name-of-sixty-characters-v2.5-it"
#: Boards on which an answer takes room: names that end late, ties, own cases, many rows.
CROWDED = {
    "long names": [Plan(f"openai:{_LONG}-{n}", skill=n / 10) for n in (9, 5, 2)],
    "ties": [Plan(f"openai:tied-{n}", skill=1, cases=3) for n in range(6)],
    "own cases": [Plan(f"openai:m{n}", skill=n / 4, dataset="our own cases") for n in range(4)],
    "a hundred": [Plan(f"openai:m{n}", skill=n / 100, cases=3) for n in range(100)],
}


@pytest.mark.full
@pytest.mark.parametrize("name", CROWDED)
def test_a_crowded_board_answers_on_the_first_screen(served, tabs, tmp_path, name) -> None:
    settings = Settings(data=str(served.data), shipped=str(tmp_path / "none"))
    for plan in CROWDED[name]:
        make_run(settings, plan)
    expect_answer(tabs("en"), served.url)
    expect_answer(tabs("zh"), served.url)


@pytest.mark.slow
@pytest.mark.parametrize("language", ENGLISH_FIRST)
def test_where_nobody_is_ranked_that_comes_before_the_controls(served, tabs, tmp_path, language):
    settings = Settings(data=str(served.data), shipped=str(tmp_path / "none"))
    make_run(settings, Plan(target="openai:cut", failing=3))
    make_run(settings, Plan(target="control:null", skill=0.05))
    tab = tabs(language)
    for width, height in (DESKTOP, PHONE):
        tab.set_viewport_size({"width": width, "height": height})
        visit(tab, served.url)
        answer, step = tab.locator(".eb-answer"), tab.locator(".st-key-ranking-next a")
        boxes = [one.bounding_box() for one in (answer, step.first, step.last)]
        controls = tab.locator(".st-key-ranking-controls").bounding_box()
        assert all(box["y"] + box["height"] <= controls["y"] for box in boxes)
        assert controls["y"] + controls["height"] < height
        assert tab.locator(".eb-table td.eb-name a").first.bounding_box()["y"] < height


@pytest.mark.slow
def test_every_name_opens_from_the_keyboard_within_the_session_and_back(served, page, tmp_path):
    settings = Settings(data=str(served.data), shipped=str(tmp_path / "none"))
    for name, skill in (("one", 0.9), ("two", 0.5), ("three", 0.2)):
        make_run(settings, Plan(target=f"openai:{name}", skill=skill))
    make_run(settings, Plan(target="control:null", skill=0.05))
    visit(page, served.url)
    page.evaluate("window.same = true")
    names = page.locator(".eb-table .eb-name a")
    expect(names).to_have_count(4)
    for number in range(4):
        names.nth(number).focus()
        page.keyboard.press("Enter")
        page.wait_for_url(re.compile(r"/target\?key="))
        settle(page)
        assert page.evaluate("window.same"), "the session goes on"
        page.go_back()
        page.wait_for_url(re.compile(rf"^{re.escape(served.url)}/$"))
        names.nth(3).wait_for()
        settle(page)
    address = names.first.get_attribute("href")
    page.goto(f"{served.url}/{address}")  # as in a new tab, or where no script runs
    page.get_by_role("heading", name="openai:one").first.wait_for()

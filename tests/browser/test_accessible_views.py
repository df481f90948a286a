"""axe-core on what a page shows on demand: its views, its dialogs, its popovers, its forms."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install -e .[dev]")
pytest.importorskip("axe_playwright_python", reason="needs axe-core: pip install -e .[dev]")

from tests.support.axe import violations, violations_at
from tests.support.full_board import LOCALES, serve_board, settle, visit
from tests.support.server import Served

TARGET = "/target?key=openai%3Astrong"
VIEWS = {
    "data sets": "/datasets",
    "own data set": "/datasets?view=add",
    "official data set": "/datasets?view=fetch",
    "history": f"{TARGET}&view=history",
    "failures": f"{TARGET}&view=failures",
    "outcomes": f"{TARGET}&view=outcomes",
    "nothing found": "/?q=nobody",
    "unknown target": "/target?key=nobody",
    "unknown page": "/nowhere",
}
POPOVERS = ("Why separate boards?", "Filters", "Columns", "Share")


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serve_board(tmp_path_factory.mktemp("views")) as served:
        yield served


@pytest.fixture
def tab(tabs):
    return tabs["en"]


@pytest.mark.parametrize("language", LOCALES)
@pytest.mark.parametrize("name", VIEWS)
def test_a_view(tabs, board, name, language) -> None:
    grave = violations_at(tabs[language], board.url + VIEWS[name])
    assert not grave, "\n".join(grave)


def test_the_card_dialog(tab, board) -> None:
    visit(tab, board.url + TARGET)
    tab.get_by_role("button", name="Edit card").click()
    tab.get_by_role("dialog").wait_for()
    grave = violations(tab)
    assert not grave, "\n".join(grave)


def test_the_popovers_of_the_ranking(tab, board) -> None:
    visit(tab, f"{board.url}/?complete=1&kind=openai&evidence=executed")
    grave = []
    for name in POPOVERS:
        button = tab.get_by_test_id("stPopoverButton").filter(has_text=name)
        button.click()
        tab.get_by_test_id("stPopoverBody").locator("p").first.wait_for()  # drawn once it is open
        grave += violations(tab)
        tab.keyboard.press("Escape")
        tab.get_by_test_id("stPopoverBody").wait_for(state="detached")
    assert not grave, "\n".join(grave)


def test_every_kind_of_target_of_the_launcher(tab, board) -> None:
    visit(tab, f"{board.url}/launch")
    kinds = tab.get_by_test_id("stMain").get_by_role("radiogroup").first.get_by_role("radio")
    grave = []
    for number in range(kinds.count()):
        kinds.nth(number).click()
        settle(tab)
        grave += violations(tab)
    assert not grave, "\n".join(grave)
    assert kinds.count() >= 4

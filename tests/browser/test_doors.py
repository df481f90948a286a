"""An empty board behind a door: a passcode opens it for one tab, a public address leaves it shut;
each page with nothing to show, and the door itself, is accessible and fits a phone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install -e .[dev]")
pytest.importorskip("axe_playwright_python", reason="needs axe-core: pip install -e .[dev]")

from tests.support.axe import violations, violations_at
from tests.support.full_board import ADDRESSES
from tests.support.lanes import in_languages
from tests.support.phone import faults_on_phone
from tests.support.server import Served, serve

CODE = "correct horse battery"


@pytest.fixture(scope="module")
def shut(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A board with nothing on it, and a passcode."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EVALBOARD_ACCESS", "passcode")
        patch.setenv("EVALBOARD_PASSCODE", CODE)
        with serve(tmp_path_factory.mktemp("shut")) as served:
            yield served


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A board with nothing on it, open to all who can reach it."""
    with serve(tmp_path_factory.mktemp("empty")) as served:
        yield served


def faults_of(tab, served: Served, name: str) -> list[str]:
    """What is wrong with a page that has nothing to show."""
    faults = violations_at(tab, f"{served.url}/{name if name != 'ranking' else ''}")
    return faults + faults_on_phone(tab)


@pytest.mark.parametrize(("name", "language"), in_languages(ADDRESSES, ("ranking", "runs")))
def test_a_page_with_nothing_to_show_behind_a_door(tabs, shut, name, language) -> None:
    faults = faults_of(tabs(language), shut, name)
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(("name", "language"), in_languages(ADDRESSES, ()))
def test_a_page_with_nothing_to_show(tabs, empty, name, language) -> None:
    faults = faults_of(tabs(language), empty, name)
    assert not faults, "\n".join(faults)


def test_the_passcode_opens_the_launcher_of_this_tab(shut, page):
    page.goto(f"{shut.url}/launch")
    page.get_by_text("Runs cannot be started here").wait_for()
    assert page.get_by_role("button", name="Start").count() == 0
    door = page.get_by_test_id("stMain")
    door.get_by_label("Passcode of this board").fill("not the one")
    door.get_by_role("button", name="Unlock").click()
    page.get_by_text("Wrong passcode.").wait_for()
    grave = violations(page)
    assert not grave, "\n".join(grave)
    door.get_by_label("Passcode of this board").fill(CODE)
    door.get_by_role("button", name="Unlock").click()
    page.get_by_text("Kind of target").first.wait_for()
    page.get_by_text("You can launch runs here.").wait_for()
    assert CODE.replace(" ", "") not in page.url.replace("%20", "").replace("+", "")
    page.reload()
    page.get_by_text("Runs cannot be started here").wait_for()


@pytest.mark.full
def test_a_server_on_all_addresses_reads_only_until_it_is_told(tmp_path, page, monkeypatch):
    monkeypatch.delenv("EVALBOARD_ACCESS", raising=False)
    monkeypatch.setenv("STREAMLIT_SERVER_ADDRESS", "0.0.0.0")
    with serve(tmp_path) as started:
        page.goto(f"{started.url}/launch")
        page.get_by_text("Runs cannot be started here").wait_for()
        assert page.get_by_role("link", name="Launch").count() == 0
        page.goto("about:blank")


@pytest.mark.full
def test_the_note_of_a_board_that_is_read_only(tabs, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("EVALBOARD_ACCESS", "read-only")
    with serve(tmp_path) as served:
        grave = violations_at(tabs("zh"), f"{served.url}/launch")
    assert not grave, "\n".join(grave)

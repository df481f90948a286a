"""axe-core on an empty board behind a passcode, on one that is read only, on the static site."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install -e .[dev]")
pytest.importorskip("axe_playwright_python", reason="needs axe-core: pip install -e .[dev]")

from evalcore.exchange.site.publish import SiteOptions, publish_site
from tests.support.api import fill
from tests.support.axe import violations, violations_at
from tests.support.boards import settings_in
from tests.support.full_board import ADDRESSES, visit
from tests.support.server import Served, serve

#: The language each page of the empty board is looked at in: they take turns.
PAGES = {name: ("en", "zh")[number % 2] for number, name in enumerate(ADDRESSES)}
SITE = ("index.html", "boards/index.html", "methodology.html", "targets/*.html")


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A board with nothing on it, and a passcode."""
    with pytest.MonkeyPatch.context() as changed:
        changed.setenv("EVALBOARD_ACCESS", "passcode")
        changed.setenv("EVALBOARD_PASSCODE", "correct horse battery")
        with serve(tmp_path_factory.mktemp("empty")) as served:
            yield served


@pytest.mark.parametrize("name", PAGES)
def test_a_page_with_nothing_to_show(tabs, empty, name) -> None:
    address = f"{empty.url}/{name if name != 'ranking' else ''}"
    grave = violations_at(tabs[PAGES[name]], address)
    assert not grave, "\n".join(grave)


def test_the_passcode_form(tabs, empty) -> None:
    tab = tabs["en"]
    visit(tab, f"{empty.url}/launch")
    tab.get_by_text("Passcode", exact=True).first.click()
    tab.get_by_label("Passcode of this board").fill("not the one")
    tab.get_by_role("button", name="Unlock").click()
    tab.get_by_text("Wrong passcode.").wait_for()
    grave = violations(tab)
    assert not grave, "\n".join(grave)


def test_the_note_of_a_board_that_is_read_only(tabs, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("EVALBOARD_ACCESS", "read-only")
    with serve(tmp_path) as served:
        grave = violations_at(tabs["zh"], f"{served.url}/launch")
    assert not grave, "\n".join(grave)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    settings = settings_in(folder)
    fill(settings)
    publish_site(settings, SiteOptions(folder / "out"))
    return folder / "out"


@pytest.mark.parametrize("language", ["", "zh/"])
def test_the_static_site(tabs, site, language) -> None:
    tab, grave = tabs["en"], []
    for name in SITE:
        page = next((site / language).glob(name))
        tab.goto(page.as_uri())
        grave += [f"{name} {line}" for line in violations(tab)]
    assert not grave, "\n".join(grave)

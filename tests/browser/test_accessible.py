"""axe-core on every page, in both themes and languages: nothing serious, nothing critical."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install -e .[dev]")
pytest.importorskip("axe_playwright_python", reason="needs axe-core: pip install -e .[dev]")

from tests.support.axe import violations_at
from tests.support.full_board import ADDRESSES, LOCALES, serve_board
from tests.support.server import Served


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serve_board(tmp_path_factory.mktemp("accessible")) as served:
        yield served


def test_every_page_is_looked_at() -> None:
    from app import PAGES

    assert set(ADDRESSES) == {card.name for card in PAGES}


@pytest.mark.parametrize("language", LOCALES)
@pytest.mark.parametrize("name", ADDRESSES)
def test_nothing_serious_or_critical(tabs, board, name, language) -> None:
    grave = violations_at(tabs[language], board.url + ADDRESSES[name])
    assert not grave, "\n".join(grave)

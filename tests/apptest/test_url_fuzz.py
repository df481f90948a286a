"""Addresses that nobody wrote by hand: every page opens on any query, says so where it cannot use
it, and takes no text of the address for Markdown or HTML.

EVALBOARD_FUZZ is the number of addresses of each page; the usual few are always the same.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from app import PAGES
from evalcore.settings import Settings
from tests.support import linked_store
from tests.support.link_states import NOT_HERE, STATES
from tests.support.pages import open_page, words

ADDRESSES = int(os.environ.get("EVALBOARD_FUZZ", "40")) // 10
EVIL = "![x](https://evil.example/x.png)<script>alert(1)</script>"
VALUES = (
    *("", " ", "0", "-1", "1e999", "9" * 400, "NaN", "true", "null", "None", "1,2,,3", ",,,"),
    *("../../etc/passwd", "/etc/passwd", "a\x00b", "\u202eevil", "中文", "é" * 300, "%00", "%ZZ"),
    *(EVIL, "$x^2$ :material/lock: :red[x]", "{run}", "{0.__class__}", "{{7*7}}", "'; DROP TABLE"),
    *("x" * 5000, "strong,weak," * 200, "\U0001f600", "__proto__", "constructor", "[object]"),
)
#: Every parameter that a link of the app holds, and some that none does.
NAMES = sorted(
    {name for states in STATES.values() for state in states for name in state.query}
    | {name for state, _ in NOT_HERE for name in state.query}
    | {"lang", "page", "embed", "theme", "key", "run", "runs", "q", "id", "nobody"}
)
PATHS = sorted(STATES)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory):
    """A store that the app reads."""
    folder: Path = tmp_path_factory.mktemp("links")
    settings = Settings(data=str(folder / "data"), shipped=str(folder / "none"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EVALBOARD_DATA", settings.data)
        patch.setenv("EVALBOARD_SHIPPED", settings.shipped)
        patch.delenv("EVALBOARD_CONFIG", raising=False)
        linked_store.fill(settings)
        yield settings


def draw_query(dice: random.Random, name: str) -> dict[str, str]:
    """A query of a real link of the page, with parameters replaced and others added."""
    query = dict(dice.choice(STATES[name]).query) if dice.random() < 0.7 else {}
    for _ in range(dice.randint(1, 4)):
        value = dice.choice(VALUES)
        query[dice.choice(NAMES)] = value if dice.random() < 0.8 else value + dice.choice(VALUES)
    return query


@pytest.mark.slow
@pytest.mark.parametrize("name", PATHS)
def test_a_page_opens_on_any_address(filled: Settings, name: str) -> None:
    dice = random.Random(name)
    for _ in range(ADDRESSES):
        query = draw_query(dice, name)
        language = query.pop("lang", dice.choice(["en", "zh"]))
        app = open_page(name, language, **query)  # fails for a page with an exception
        shown = words(app)
        assert "<script>alert(1)" not in shown, query
        assert "![x](https" not in shown, query


def test_every_page_has_links_to_distort() -> None:
    assert {page.name for page in PAGES} == set(PATHS)
    assert len(NAMES) > 20

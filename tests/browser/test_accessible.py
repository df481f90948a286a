"""axe-core on every page, in both themes and languages: nothing serious, nothing critical."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install -e .[dev]")

from axe_playwright_python.sync_playwright import Axe

from evalcore.settings import Settings
from tests.support.boards import Plan, make_run
from tests.support.page_stores import CANARY, evidence_run
from tests.support.server import Served, serve

LOCALES = {"en": "en-US", "zh": "zh-CN"}
#: Every page by name, with an address that shows as much of it as one address can.
ADDRESSES = {
    "ranking": "/",
    "metrics": "/metrics?metric=execution_accuracy",
    "target": "/target?key=openai%3Astrong",
    "case": "/case?run=20260101-100000-aaaaaa&benchmark=sql_understanding"
    "&metric=execution_accuracy&id=table_diff",
    "compare": "/compare?runs=strong,weak",
    "methodology": "/methodology",
    "launch": "/launch",
    "runs": "/runs?run=strong",
    "datasets": "/datasets?set=sql_understanding",
}
SETTLED = """() => !document.querySelector(
  '[data-testid="stSkeleton"], [data-testid="stStatusWidget"], [data-stale="true"]')"""


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server over a board with everything on it: ranked, incomplete, floors, hostile names."""
    folder = tmp_path_factory.mktemp("accessible")
    with serve(folder) as served:
        settings = Settings(data=str(served.data), shipped=str(folder / "none"))
        make_run(settings, Plan(target="openai:strong", skill=0.9), "strong")
        make_run(settings, Plan(target="openai:weak", skill=0.2), "weak")
        make_run(settings, Plan(target=f"openai:{CANARY}", skill=0.4, failing=3))
        make_run(settings, Plan(target="control:null", skill=0.05, price=None))
        evidence_run(settings.runs_dir)
        yield served


def test_every_page_is_looked_at() -> None:
    from app import PAGES

    assert set(ADDRESSES) == {card.name for card in PAGES}


@pytest.mark.parametrize("language", LOCALES)
@pytest.mark.parametrize("name", ADDRESSES)
def test_nothing_serious_or_critical(chromium, board, name, language) -> None:
    context = chromium.new_context(
        locale=LOCALES[language], viewport={"width": 1440, "height": 1400}
    )
    try:
        tab = context.new_page()
        tab.goto(board.url + ADDRESSES[name])
        tab.get_by_role("heading", level=1).first.wait_for()
        grave = [line for theme in ("light", "dark") for line in violations(tab, theme)]
    finally:
        context.close()
    assert not grave, "\n".join(grave)


def violations(tab, theme: str) -> list[str]:
    """What axe-core finds serious or critical on the page in a theme, a line each."""
    tab.emulate_media(color_scheme=theme)
    tab.wait_for_function(SETTLED)
    tab.wait_for_timeout(700)  # charts and tables are drawn after the page has settled
    return [
        f"{theme}: {one['id']} ({one['impact']}): {node['html'][:300]} {node['target']} "
        f"{node['any'][0]['message'] if node['any'] else ''}"
        for one in Axe().run(tab).response["violations"]
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]

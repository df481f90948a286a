"""A server over a board with everything on it, and waiting until a page of it has been drawn."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evalcore.settings import Settings
from tests.support.boards import Plan, make_run
from tests.support.page_stores import CANARY, evidence_run
from tests.support.server import Served, serve

LOCALES = {"en": "en-US", "zh": "zh-CN"}
#: Every page by name, with an address that shows as much of it as one address can.
ADDRESSES = {
    "ranking": "/",
    "decide": "/decide?w=cost%3A40",
    "metrics": "/metrics?metric=execution_accuracy",
    "target": "/target?key=openai%3Astrong",
    "case": "/case?run=20260101-100000-aaaaaa&benchmark=sql_understanding"
    "&metric=execution_accuracy&id=table_diff",
    "compare": "/compare?runs=strong,weak",
    "methodology": "/methodology",
    "launch": "/launch",
    "runs": "/runs?run=strong",
    "datasets": "/datasets?set=bundled%3Asql_understanding",
    "equivalent": "/equivalent",
}
#: What more there is to see of them: other views, nothing found, nothing there.
VIEWS = {
    "decision by metrics": "/decide?level=metrics",
    "decision with nothing weighed": "/decide?w=sql_understanding%3A0",
    "data sets": "/datasets",
    "file of pairs": "/equivalent?view=file",
    "own data set": "/datasets?view=add",
    "official data set": "/datasets?view=fetch",
    "case of a data set": "/datasets?set=bundled%3Asql_understanding"
    "&case=execution_accuracy%2Fea-001",
    "history": "/target?key=openai%3Astrong&view=history",
    "failures": "/target?key=openai%3Astrong&view=failures",
    "outcomes": "/target?key=openai%3Astrong&view=outcomes",
    "nothing found": "/?q=nobody",
    "unknown target": "/target?key=nobody",
    "unknown page": "/nowhere",
}
#: The page's run has ended: until then its heading may stand above an empty table.
_SETTLED = """() => !document.querySelector(`
  [data-testid="stApp"]:not([data-test-script-state="notRunning"]),
  [data-testid="stSkeleton"], [data-testid="stStatusWidget"], [data-stale="true"]`)"""
#: Charts and tables are drawn after the page has settled: nothing changes for 200 ms, at most 5 s.
_QUIET = """() => new Promise(done => {
  let timer = setTimeout(end, 200)
  const watch = new MutationObserver(() => { clearTimeout(timer); timer = setTimeout(end, 200) })
  const latest = setTimeout(end, 5000)
  function end() { watch.disconnect(); clearTimeout(latest); done() }
  watch.observe(document, {subtree: true, childList: true, attributes: true, characterData: true})
})"""


@contextmanager
def serve_board(folder: Path) -> Iterator[Served]:
    """Ranked targets, an incomplete one, floors, hostile names, and evidence of every form."""
    with serve(folder) as served:
        settings = Settings(data=str(served.data), shipped=str(folder / "none"))
        make_run(settings, Plan(target="openai:strong", skill=0.9), "strong")
        make_run(settings, Plan(target="openai:weak", skill=0.2), "weak")
        make_run(settings, Plan(target=f"openai:{CANARY}", skill=0.4, failing=3))
        make_run(settings, Plan(target="control:null", skill=0.05, price=None))
        evidence_run(settings.runs_dir)
        yield served


@contextmanager
def open_tab(
    chromium: Any, language: str = "en", width: int = 1440, height: int = 1400
) -> Iterator[Any]:
    """A new tab of that language and size, closed with the block."""
    size = {"width": width, "height": height}
    context = chromium.new_context(locale=LOCALES[language], viewport=size)
    try:
        tab = context.new_page()
        tab.set_default_timeout(180_000)  # milliseconds: browsers and servers share the machine
        yield tab
    finally:
        context.close()


def visit(tab: Any, address: str) -> None:
    """Open an address and wait until everything on it stands."""
    tab.goto(address)
    tab.get_by_role("heading", level=1).first.wait_for()
    settle(tab)


def settle(tab: Any) -> None:
    """Wait until the page has been drawn."""
    tab.wait_for_function(_SETTLED)
    tab.evaluate(_QUIET)

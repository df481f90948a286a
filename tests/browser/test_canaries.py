"""Hostile text in every field: on no page does it load, run or become anything."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import urlencode

import pytest

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install -e .[dev]")

from evalcore.settings import Settings
from tests.support.boards import Plan, make_run
from tests.support.canaries import CANARY, HOST, METRIC, OUTCOMES, RUN, SHORT, canary_store
from tests.support.full_board import settle
from tests.support.server import Served, serve
from tests.support.stored_runs import BENCHMARK

#: Elements that a canary would have become, and addresses that it would have been followed to.
BECAME = f"""() => ({{
  elements: document.querySelectorAll('b.canary, [src*="{HOST}"], iframe[srcdoc]').length,
  scripts: [...document.scripts].filter(one => one.text.includes('pwned')).length,
  links: document.querySelectorAll('a[href^="javascript:"], a[href*="pwned=1"]:not([rel])').length,
  ran: window.pwned === undefined ? 0 : 1,
}})"""


class Hostile(NamedTuple):
    """A server over the hostile store, and the target's identity."""

    served: Served
    identity: str


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hostile]:
    folder = tmp_path_factory.mktemp("canaries")
    with serve(folder) as served:
        settings = Settings(data=str(served.data), shipped=str(folder / "none"))
        identity = canary_store(settings)
        make_run(settings, Plan(target="openai:plain", skill=0.5), "plain")
        make_run(settings, Plan(target=f"openai:{CANARY} b", skill=0.3), "other")
        yield Hostile(served, identity)


#: Those that `make test` looks at: each kind of text on each page that shows it.
SOME = (
    "ranking searched",
    "target",
    "target failures",
    "case 0",
    "compare",
    "runs",
    "no such page",
)


def addresses(identity: str) -> dict[str, str]:
    """Pages by a name for the test's output."""

    def link(path: str, **query: str) -> str:
        return f"/{path}?{urlencode(query)}"

    case = {"run": RUN, "benchmark": BENCHMARK, "metric": METRIC}
    return {
        "ranking": "/",
        "ranking searched": link("", q=SHORT, kind=SHORT),
        "metrics": link("metrics", metric=METRIC, q=SHORT),
        "target": link("target", key=identity),
        "target history": link("target", key=identity, view="history"),
        "target failures": link("target", key=identity, view="failures"),
        "target unknown": link("target", key=CANARY),
        **{
            f"case {number}": link("case", **case, id=f"{number} {CANARY}")
            for number in range(len(OUTCOMES))
        },
        "case unknown": link("case", **case, id=SHORT),
        "compare": link("compare", runs=f"{RUN},plain,other"),
        "compare unknown": link("compare", runs=SHORT),
        "methodology": "/methodology",
        "runs": link("runs", run=RUN),
        "unknown path": link("nowhere", page=SHORT),
        "no such page": link("", page=SHORT),
    }


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "name",
    [
        name if name in SOME else pytest.param(name, marks=pytest.mark.full)
        for name in addresses("")
    ],
)
def test_no_text_loads_runs_or_becomes_anything(hostile: Hostile, page, name) -> None:
    """The fixture `page` fails on any request to another host and on any error of the console."""
    page.goto(hostile.served.url + addresses(hostile.identity)[name])
    page.get_by_test_id("stMain").get_by_role("heading").first.wait_for()
    settle(page)
    assert page.evaluate(BECAME) == {"elements": 0, "scripts": 0, "links": 0, "ran": 0}


@pytest.mark.parametrize("route", ["boards", "ranking", "runs", f"cases?run={RUN}", "badge.svg"])
def test_the_api_is_data_and_never_a_page(hostile: Hostile, page, route) -> None:
    answer = page.request.get(f"{hostile.served.url}/api/v1/{route}")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "html" not in answer.headers["content-type"]

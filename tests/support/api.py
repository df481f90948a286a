"""The HTTP API in a test: its routes in a small app, over a store of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.testclient import TestClient

from evalcore.settings import Settings
from evalcore.web.application import ROUTES
from tests.support.boards import Plan, make_run

V1 = "/api/v1"
#: A name that is markup, a formula, a template and a lookalike link at once.
HOSTILE = "openai:<script>alert(1)</script>&'\"]]>{0}=1+1\u202ex"

PLANS = (
    Plan(target="openai:strong", skill=0.9, cases=8),
    Plan(target="openai:middle", skill=0.6, cases=8, price=None),
    Plan(target=HOSTILE, skill=0.3, cases=8),
    Plan(target="openai:broken", skill=0.8, cases=8, failing=3),
    Plan(target="control:null", skill=0, cases=8),
)


def client() -> TestClient:
    return TestClient(Starlette(routes=list(ROUTES)))


def fill(settings: Settings) -> None:
    """A board of three ranked targets, an incomplete one and a control, one a minute."""
    for minute, plan in enumerate(PLANS):
        created = f"2026-11-01T10:0{minute}:00.000+00:00"
        run = f"20261101-100{minute}00-aaaaaa"
        make_run(settings, msgspec.structs.replace(plan, created_at=created), run)


def pages(asked: TestClient, address: str) -> Iterator[dict[str, Any]]:
    """Every page from an address on, by its `next` links."""
    following: str | None = address
    while following:
        answer = asked.get(following)
        assert answer.status_code == 200, answer.text
        yield answer.json()
        following = answer.json()["next"]


def items(asked: TestClient, address: str) -> list[dict[str, Any]]:
    """The items of every page from an address on."""
    return [item for page in pages(asked, address) for item in page["items"]]

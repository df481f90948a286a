"""The sandbox by every means that this machine has, as root and otherwise."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.sandbox import EVERY_WAY, Driver, Way, drivers_for_tests, way


@pytest.fixture(scope="module")
def drivers() -> Iterator[dict[str, Driver]]:
    with drivers_for_tests() as started:
        yield started


@pytest.fixture(params=EVERY_WAY, ids="-".join)
def sandbox(request: pytest.FixtureRequest, drivers: dict[str, Driver]) -> Way:
    return way(*request.param, drivers)

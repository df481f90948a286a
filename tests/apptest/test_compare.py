"""The Compare page over none, one, two and eight runs, incomparable ones and a corrupt folder."""

from __future__ import annotations

import pytest

from evalcore import settings as configuration
from evalcore.queries import lineup
from evalcore.store.index import record_run
from tests.apptest.conftest import words
from tests.support.boards import Plan, finish
from tests.support.page_stores import CANARY, CORRUPT, corrupt_run
from tests.support.pair_runs import FIRST, SECOND, pair_of_runs


@pytest.fixture
def compared(open_page):
    """`compared(runs, language, ...)`: the page with the runs in its link."""

    def opened(runs, language="en", **query):
        return open_page("compare", language, runs=",".join(runs), **query)

    return opened


def two(runs_root, **more):
    """Two runs of three cases in the index."""
    folders = pair_of_runs(runs_root, **more)
    for folder in folders:
        record_run(configuration.load(), folder)
    return [FIRST, SECOND]


def many(count, **more):
    """Runs of as many targets, from the weakest to the strongest."""
    return [
        finish(configuration.load(), Plan(f"openai:m{n}", skill=n / count, **more)).run_id
        for n in range(count)
    ]

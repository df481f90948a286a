"""What of a page's state lives in its URL, and the links between pages.

A link is made here and nowhere else, so that the parameters of a page have one spelling.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import urlencode

import streamlit as st

from evalcore.queries.boards import Board
from evalcore.queries.lineup import MOST

RANKING, TARGET, CASE = "pages/ranking.py", "pages/target.py", "pages/case.py"
COMPARE, METRICS = "pages/compare.py", "pages/metrics.py"
LAUNCH, RUNS, METHODOLOGY = "pages/launch.py", "pages/runs.py", "pages/methodology.py"


class CaseLink(NamedTuple):
    """A case of a run: what `/case` needs. `outcome` is the filter that previous and next keep."""

    run: str
    benchmark: str
    metric: str
    id: str
    epoch: int = 0
    outcome: str = ""

    @property
    def params(self) -> dict[str, str]:
        """The query parameters, without those that hold their default."""
        values = self._asdict()
        return {name: str(value) for name, value in values.items() if value not in ("", 0)}

    @property
    def url(self) -> str:
        """The address, relative to the app."""
        return f"case?{urlencode(self.params)}"


def case_link_of_url() -> CaseLink:
    """The case that the URL names; missing parts are empty and a bad epoch is 0."""
    query = st.query_params
    epoch = query.get("epoch", "0")
    return CaseLink(
        run=query.get("run", ""),
        benchmark=query.get("benchmark", ""),
        metric=query.get("metric", ""),
        id=query.get("id", ""),
        epoch=int(epoch) if re.fullmatch("[0-9]{1,6}", epoch) else 0,
        outcome=query.get("outcome", ""),
    )


def go_to_case(link: CaseLink) -> None:
    """Make the Case page show another case, and the address bar say so."""
    for name in CaseLink._fields:
        remember(name, link.params.get(name))


def metric_link(identity: str, board: Board, benchmark: str, metric: str) -> dict[str, str]:
    """The query parameters of a target's cases of one metric on a board."""
    return {
        "suite": board.suite,
        "board": board.key,
        "key": identity,
        "benchmark": benchmark,
        "metric": metric,
    }


def compare_link(runs: Iterable[str]) -> dict[str, str]:
    """The query parameters of a comparison of some runs, each once and no more than there is room
    for."""
    return {"runs": ",".join([*dict.fromkeys(runs)][:MOST])}


def remember(name: str, value: str | None) -> None:
    """Write one query parameter, or remove it when the value is empty."""
    if not value:
        st.query_params.pop(name, None)
    elif st.query_params.get(name) != value:
        st.query_params[name] = value

"""What of a page's state lives in its URL, and the links between pages. A link is made here and
nowhere else, so that the parameters of a page have one spelling."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import streamlit as st

from evalcore.access.redaction import mask_target
from evalcore.views.boards import Board
from evalcore.views.cases import CaseFilter
from evalcore.views.comparison_runs import MAX_COMPARED

RANKING, TARGET, CASE = "pages/ranking.py", "pages/target.py", "pages/case.py"
COMPARE, METRICS = "pages/compare.py", "pages/metrics.py"
DECIDE = "pages/decide.py"
LAUNCH, RUNS, METHODOLOGY = "pages/launch.py", "pages/runs.py", "pages/methodology.py"


class CaseLink(NamedTuple):
    """A case of a run: what `/case` needs. From `outcome` on it is the filter that previous and
    next keep, each as the address has it: several values are parted by commas."""

    run: str
    benchmark: str
    metric: str
    id: str
    epoch: int = 0
    outcome: str = ""
    metrics: str = ""
    difficulty: str = ""
    cause: str = ""
    level: str = ""
    q: str = ""

    @property
    def query_params(self) -> dict[str, str]:
        """The query parameters, without those that hold their default."""
        values = self._asdict()
        return {name: str(value) for name, value in values.items() if value not in ("", 0)}

    def with_filter(self, case_filter: CaseFilter) -> CaseLink:
        """The same case within another filter."""
        return self._replace(
            outcome=",".join(case_filter.outcome),
            metrics=",".join(case_filter.metric),
            difficulty=",".join(map(str, case_filter.difficulty)),
            cause=",".join(case_filter.why),
            level=",".join(case_filter.level),
            q=case_filter.text,
        )

    @property
    def case_filter(self) -> CaseFilter:
        """The filter; a difficulty that is no number is none."""
        levels = filter(re.compile("[0-9]").fullmatch, split_url_values(self.difficulty))
        return CaseFilter(
            metric=split_url_values(self.metrics),
            outcome=split_url_values(self.outcome),
            difficulty=tuple(map(int, levels)),
            why=split_url_values(self.cause),
            level=split_url_values(self.level),
            text=self.q,
        )


def read_case_link() -> CaseLink:
    """The case that the URL names; missing parts are empty and a bad epoch is 0."""
    query = st.query_params
    epoch = query.get("epoch", "0")
    texts = {name: query.get(name, "") for name in CaseLink._fields if name != "epoch"}
    return CaseLink(epoch=int(epoch) if re.fullmatch("[0-9]{1,6}", epoch) else 0, **texts)


def split_url_values(text: str) -> tuple[str, ...]:
    """The values of a parameter that may hold several."""
    return tuple(filter(None, text.split(",")))


def go_to_case(link: CaseLink) -> None:
    """Make the Case page show another case, and the address bar say so."""
    set_query_params({name: link.query_params.get(name) for name in CaseLink._fields})


def step_to_case(metric: str, case: str, epoch: int) -> None:
    """Make the Case page show another case of the run, within the filter that the address has by
    then."""
    set_query_params({"metric": metric, "id": case, "epoch": str(epoch or "")})


def build_cases_query(identity: str, link: CaseLink) -> dict[str, str]:
    """The query parameters of the list of a target's cases that a case was opened from."""
    query = {"key": identity, "benchmark": link.benchmark, "metric": link.metrics}
    names = ("outcome", "difficulty", "cause", "level", "q")
    filters = {name: getattr(link, name) for name in names}
    return {name: value for name, value in (query | filters).items() if value}


def build_metric_query(identity: str, board: Board, benchmark: str, metric: str) -> dict[str, str]:
    """The query parameters of a target's cases of one metric on a board."""
    query = {"suite": board.suite, "board": board.key, "key": identity}
    return query | {"benchmark": benchmark, "metric": metric}


def build_ranking_query(board: Board, by: str, run: str) -> dict[str, str]:
    """The query parameters of a ranking on which the row of a run is marked."""
    return {"suite": board.suite, "board": board.key, "by": by, "run": run}


def build_compare_query(runs: Iterable[str]) -> dict[str, str]:
    """The query parameters of a comparison of some runs, each once and no more than there is room
    for."""
    return {"runs": ",".join([*dict.fromkeys(runs)][:MAX_COMPARED])}


def mask_target_link() -> None:
    """Write a target that a link names by a path under its masked name, which the pages know."""
    key = st.query_params.get("key", "")
    if mask_target(key) != key:
        set_query_param("key", mask_target(key))


def set_query_param(name: str, value: str | None) -> None:
    """Write one query parameter, or remove it when the value is empty."""
    set_query_params({name: value})


def set_query_params(values: Mapping[str, str | None]) -> None:
    """Write query parameters, and remove those whose value is empty. All at once: every write is a
    place that Back leads to."""
    before = st.query_params.to_dict()
    after = {name: value for name, value in (before | values).items() if value}
    if after != before:
        st.query_params.from_dict(after)

"""States of all pages: path and query of a link, and what the widgets of the page then hold; ways
by hand into others; links to what is not here.

The store is that of `linked_store`. No query holds a default, which an address leaves out.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlencode

from tests.support.page_widgets import (
    Act,
    Check,
    box,
    chips,
    choose,
    fill,
    folded,
    heading,
    numbered,
    press,
    press_key,
    pressed,
    says,
    segment,
    slid,
    switched,
    tagged,
    take_segment,
    turn_page,
    typed,
    unfold,
)

BOARD = "BOARD"  # stands for the key of the second board, which the store gives
_SQL, _PART, _PLAN = "sql_understanding", "execution_accuracy", "explain_detection"
_RUNS = "strong,weak,model"
_SET = f"bundled:{_SQL}"


class State(NamedTuple):
    """A link and what is to be seen of it."""

    path: str
    query: dict[str, str]
    holds: tuple[Check, ...]

    def address(self, url: str, board: str) -> str:
        """The link on a server with a second board of this key."""
        query = urlencode(self.query_for(board))
        return f"{url}/{self.path}" + (f"?{query}" if query else "")

    def query_for(self, board: str) -> dict[str, str]:
        """The query on such a server."""
        return {name: board if value == BOARD else value for name, value in self.query.items()}

    def bare(self, url: str, board: str) -> str:
        """The same for a host that passes no path."""
        named = {"page": self.path or "ranking", **self.query}
        return State("", named, ()).address(url, board)


def _ranking(query: dict[str, str], *holds: Check) -> State:
    return State("", query, holds)


def _target(query: dict[str, str], *holds: Check) -> State:
    return State("target", {"key": "openai:strong", **query}, holds)


def _case(query: dict[str, str], *holds: Check) -> State:
    named = {"run": "strong", "benchmark": _SQL, "metric": _PART, "id": "4"}
    return State("case", named | query, holds)


def _compare(query: dict[str, str], *holds: Check) -> State:
    return State("compare", {"runs": _RUNS} | query, holds)


def _set(query: dict[str, str], *holds: Check) -> State:
    return State("datasets", {"set": _SET} | query, holds)


RANKING = (
    _ranking({"q": "strong"}, typed("strong"), says("1 of 3 targets"), tagged("Search: strong")),
    _ranking({"kind": "hf"}, folded("Filters (1)", chips("Kind", "Local model"))),
    _ranking({"org": "Acme"}, folded("Filters (1)", chips("Organization", "Acme"))),
    _ranking({"weights": "open"}, folded("Filters (1)", pressed("Open")), tagged("Weights: Open")),
    _ranking({"size": "s,l"}, folded("Filters (1)", pressed("3 to 10 B", "40 to 150 B"))),
    _ranking({"price": "free"}, folded("Filters (1)", pressed("free")), says("1 of 3 targets")),
    _ranking({"evidence": "parsed"}, folded("Filters (1)", pressed("Parsed"))),
    _ranking({"complete": "1"}, folded("Filters (1)", switched("Complete only"))),
    _ranking(
        {"since": "2026-08", "until": "2026-08"},
        folded("Filters (1)", box("From month", "2026-08"), box("As of month", "2026-08")),
        says("2 of 2 targets"),
    ),
    _ranking({"sort": "cost"}, folded("View", box("Sort by", "Cost, lowest first"))),
    _ranking(
        {"cols": "cost,price"},
        folded("View", chips("Columns besides rank, target and score", "Cost", "Price")),
    ),
    _ranking({"vs": "latency"}, segment("Latency")),
    _ranking({"board": BOARD}, box("Board", "other_cases"), says("1 of 1 targets")),
    _ranking(
        {"suite": "agentic", "by": "swe_bench"}, box("Suite", "Agent"), box("Rank by", "SWE-bench")
    ),
    _ranking(
        {"q": "o", "sort": "name", "weights": "open,closed", "lang": "zh"},
        typed("o", "搜索"),
        says("排行榜"),
    ),
)
DECIDE = (
    State("decide", {"w": "cost:40"}, (slid("Low cost", 40), slid("SQL understanding", 50))),
    State("decide", {"level": "dialects"}, (segment("SQL dialects"), slid("Low cost", 0))),
    State(
        "decide",
        {"level": "metrics", "w": f"{_SQL}/{_PLAN}:90,latency:5"},
        (segment("Metrics"), slid("Plan reading", 90), slid("Low latency", 5)),
    ),
    State(
        "decide",
        {"maxcase": "0.002", "kind": "endpoint,local"},
        (
            folded("Requirements (2)", chips("Kind", "Endpoint", "Local model")),
            tagged("Maximum USD per case: 0.002"),
        ),
    ),
    State("decide", {"board": BOARD}, (box("Board", "other_cases"),)),
    State("decide", {"w": f"{_SQL}:0", "lang": "zh"}, (slid("低成本", 0), says("选型助手"))),
)
METRICS = (
    State("metrics", {"metric": _PLAN}, (box("Metric", "Plan reading"),)),
    State(
        "metrics", {"metric": _PLAN, "q": "weak"}, (box("Metric", "Plan reading"), typed("weak"))
    ),
    State("metrics", {"q": "nobody"}, (typed("nobody"), says("No target matches"))),
    State("metrics", {"board": BOARD}, (box("Board", "other_cases"),)),
    State(
        "metrics",
        {"suite": "agentic", "benchmark": "swe_bench"},
        (box("Suite", "Agent"), box("Benchmark", "SWE-bench")),
    ),
)
TARGET = (
    _target({}, box("Target", "openai:strong"), says("80 cases, showing 1 to 25")),
    _target({"p": "3"}, numbered(3), says("80 cases, showing 51 to 75")),
    _target(
        {"metric": f"{_PART},{_PLAN}", "difficulty": "2"},
        chips("Metric", "Execution accuracy", "Plan reading"),
        chips("Difficulty", "2"),
    ),
    _target({"outcome": "failed"}, chips("Outcome", "Failed")),
    _target({"cause": "wrong_result", "q": "answer"}, chips("Reason", "Wrong"), typed("answer")),
    _target(
        {"view": "failures", "difficulty": "1,3"},
        segment("Why answers failed"),
        chips("Difficulty", "1", "3"),
    ),
    _target({"view": "history"}, segment("History")),
    _target({"view": "outcomes"}, segment("Outcomes and errors")),
    State("target", {"key": "openai:weak", "board": BOARD}, (box("Board", "other_cases"),)),
    State(
        "target",
        {"key": "openai:worker", "benchmark": "swe_bench"},
        (box("Target", "openai:worker"), box("Benchmark", "SWE-bench")),
    ),
)
CASE = (
    _case({}, says("Case 5 of 80 in this selection")),
    _case({"metrics": _PART}, says("Case 5 of 20 in this selection")),
    _case({"outcome": "passed"}, box("Step through", "Passed (")),
    _case({"difficulty": "1,2", "q": "answer to execution"}, says("Case 4 of 14")),
    _case({"cause": "wrong_result"}, says("Within:")),
)
COMPARE = (
    State("compare", {}, (says("Choose two to eight runs"),)),
    _compare({}, chips("Runs", "openai:strong", "openai:weak", "hf:model")),
    _compare({"base": "model"}, box("Compare against", "C · hf:model")),
    _compare({"metric": _PLAN}, box("Metric", "Plan reading")),
    _compare(
        {"runs": "weak,strong", "base": "strong", "metric": _PART},
        box("Compare against", "B · openai:strong"),
        box("Metric", "Execution accuracy"),
    ),
    _compare(
        {"runs": "strong"}, chips("Runs", "openai:strong"), says("Choose at least one more run")
    ),
)
METHODOLOGY = (
    State("methodology", {"key": "openai:weak"}, (box("Example target", "openai:weak"),)),
    State("methodology", {"prompt": f"{_SQL}/{_PLAN}"}, (segment("Plan reading"),)),
    State("methodology", {"board": BOARD}, (box("Board", "other_cases"),)),
    State(
        "methodology",
        {"suite": "agentic"},
        (box("Suite", "Agent"), box("Example target", "openai:worker")),
    ),
)
LAUNCH = (
    State("launch", {"benchmark": "gaia"}, (chips("Benchmarks", "GAIA"),)),
    State("launch", {"benchmark": "bfcl"}, (chips("Benchmarks", "Function calling (BFCL)"),)),
)
RUNS = (
    State("runs", {"run": "other"}, (heading("openai:weak"), says("Reproduce run other"))),
    State(
        "runs",
        {"run": "weak", "with": "strong"},
        (box("Compare with another run", "openai:strong · strong"), heading("openai:weak")),
    ),
    State("runs", {"run": "nosuch"}, (says("There is no run nosuch"),)),
    State("runs", {"run": "model", "lang": "zh"}, (heading("hf:model"), says("复现"))),
)
DATASETS = (
    State(
        "datasets",
        {"origin": "bundled", "benchmark": "gaia"},
        (box("Origin", "Bundled"), box("Benchmark", "GAIA")),
    ),
    State("datasets", {"q": "swe"}, (typed("swe", "Search"), heading("SWE-bench"))),
    _set({}, heading("SQL understanding"), numbered(1)),
    _set({"p": "2"}, numbered(2)),
    _set(
        {"metric": _PLAN, "difficulty": "3"},
        box("Metric", "Plan reading"),
        box("Difficulty", "Level 3"),
    ),
    _set({"dialect": "duckdb"}, box("Dialect", "duckdb")),
    _set(
        {"q": "count", "case": f"{_PART}/ea-001"},
        typed("count", "Search in cases"),
        heading("ea-001"),
    ),
    State(
        "datasets",
        {"view": "add", "benchmark": "bfcl", "part": "parallel"},
        (
            segment("Add your own cases"),
            box("Benchmark", "Function calling"),
            heading("What a case looks like"),
        ),
    ),
    State("datasets", {"view": "fetch"}, (segment("Fetch official datasets"),)),
)
EQUIVALENT = (
    State("equivalent", {"view": "file"}, (segment("A file of pairs"),)),
    State("equivalent", {"check": "nosuch"}, (segment("Two statements"),)),
)
STATES = {
    "ranking": RANKING,
    "decide": DECIDE,
    "metrics": METRICS,
    "target": TARGET,
    "case": CASE,
    "compare": COMPARE,
    "methodology": METHODOLOGY,
    "launch": LAUNCH,
    "runs": RUNS,
    "datasets": DATASETS,
    "equivalent": EQUIVALENT,
}


class Way(NamedTuple):
    """Where a person begins, what they do, each with what the address then ends with, and what
    the widgets hold in the end; then the page they leave for and come back from."""

    start: State
    acts: tuple[tuple[Act, str], ...]
    holds: tuple[Check, ...]
    elsewhere: str = "methodology"


WAYS = {
    "ranking": Way(
        _ranking({}),
        (
            (fill("o"), "?q=o"),
            (unfold("View", choose("Sort by", "Name")), "?q=o&sort=name"),
            (take_segment("Latency"), "?q=o&sort=name&vs=latency"),
        ),
        (typed("o"), folded("View", box("Sort by", "Name")), segment("Latency")),
    ),
    "decide": Way(
        State("decide", {}, ()),
        (
            (take_segment("Metrics"), "?level=metrics"),
            (
                unfold("Requirements", choose("Kind", "Endpoint")),
                "?level=metrics&kind=endpoint",
            ),
        ),
        (segment("Metrics"), folded("Requirements (1)", chips("Kind", "Endpoint"))),
    ),
    "metrics": Way(
        State("metrics", {}, ()),
        (
            (choose("Metric", "Plan reading"), "?metric=explain_detection"),
            (fill("weak"), "?metric=explain_detection&q=weak"),
        ),
        (box("Metric", "Plan reading"), typed("weak")),
    ),
    "target": Way(
        _target({}),
        (
            (turn_page(), "&p=2"),
            (choose("Difficulty", "2"), "&difficulty=2"),
            (fill("answer to"), "&difficulty=2&q=answer+to"),
        ),
        (chips("Difficulty", "2"), typed("answer to")),
    ),
    "case": Way(
        _case({}),
        (
            (choose("Step through", "Passed"), "&outcome=passed"),
            (press_key("Alt+n"), "&id=5&outcome=passed"),
        ),
        (box("Step through", "Passed"),),
    ),
    "compare": Way(
        _compare({}),
        (
            (choose("Compare against", "B · openai:weak"), "&base=weak"),
            (choose("Metric", "Plan reading"), "&base=weak&metric=explain_detection"),
        ),
        (box("Compare against", "B · openai:weak"), box("Metric", "Plan reading")),
    ),
    "methodology": Way(
        State("methodology", {}, ()),
        (
            (choose("Example target", "openai:weak"), "?key=openai%3Aweak"),
            (take_segment("Plan reading"), "&prompt=sql_understanding%2Fexplain_detection"),
        ),
        (box("Example target", "openai:weak"), segment("Plan reading")),
        elsewhere="metrics",
    ),
    "launch": Way(
        State("datasets", {"set": "bundled:gaia"}, ()),
        ((press("Evaluate on it"), "/launch?benchmark=gaia"),),
        (chips("Benchmarks", "GAIA"),),
    ),
    "runs": Way(
        State("runs", {"run": "weak"}, ()),
        (
            (
                choose("Compare with another run", "openai:strong · strong"),
                "?run=weak&with=strong",
            ),
        ),
        (box("Compare with another run", "openai:strong · strong"), heading("openai:weak")),
    ),
    "datasets": Way(
        _set({}),
        (
            (turn_page(), "&p=2"),
            (choose("Metric", "Plan reading"), "&metric=explain_detection"),
            (fill("select", "Search in cases"), "&metric=explain_detection&q=select"),
        ),
        (box("Metric", "Plan reading"), typed("select", "Search in cases")),
    ),
    "equivalent": Way(
        State("equivalent", {}, ()),
        ((take_segment("A file of pairs"), "/equivalent?view=file"),),
        (segment("A file of pairs"),),
    ),
}

#: Links that ask for what is not here, each with the query that is left of it.
NOT_HERE = (
    (State("metrics", {"metric": "nosuch"}, ()), {}),
    (State("methodology", {"key": "nosuch"}, ()), {}),
    (_ranking({"kind": "nosuch,hf"}), {"kind": "hf"}),
    (State("launch", {"benchmark": "nosuch"}, ()), {}),
    (
        State("launch", {"benchmark": "gaia", "dataset": "nosuch"}, ()),
        {"benchmark": "gaia"},
    ),
    (State("runs", {"run": "weak", "with": "nosuch"}, ()), {"run": "weak"}),
    (_set({"case": "nosuch"}), {"set": _SET}),
)

"""`evalcore gate`: passed, failed or inconclusive, and what says so in CI."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

import evalcore
from evalcore.benchmarks.functions import remove_benchmark
from evalcore.cli.main import main
from evalcore.errors import UsageError
from evalcore.exchange.gate_report import render_gate_junit, render_gate_markdown
from evalcore.results import Interval
from evalcore.views.gate import GateRules, check_drop, check_gate

CASES = 200


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Runs of targets that answer some of the cases right, by the share of them."""
    data = tmp_path_factory.mktemp("gate")
    cases = [{"id": f"<b>{n}|", "input": str(n), "reference": "right"} for n in range(CASES)]
    defined = evalcore.benchmark(cases, name="test_gated")(lambda answer: answer == "right")

    @evalcore.target(name="test_share", concurrency=4)
    def answer_some(prompt: str, share: float = 1.0, broken: bool = False) -> str:
        if broken and int(prompt) > CASES - 10:
            raise RuntimeError("down")
        return "right" if int(prompt) < share * CASES else "wrong"

    runs = {
        name: evalcore.evaluate(answer_some, defined, target_options=options, data=data).id
        for name, options in (
            ("all", {}),
            ("most", {"share": 0.985}),
            ("half", {"share": 0.5}),
            ("broken", {"broken": True}),
        )
    }
    yield data, runs
    remove_benchmark("test_gated")


def gate(store, run, **rules):
    data, runs = store
    if "against" in rules:
        rules["against"] = runs[rules["against"]]
    return check_gate([data / "runs"], runs[run], GateRules(**rules))


@pytest.mark.parametrize(
    ("run", "rules", "state"),
    [
        ("half", {"against": "all", "max_drop": 2}, "failed"),
        ("all", {"against": "half", "max_drop": 0}, "passed"),
        ("most", {"against": "all", "max_drop": 2}, "inconclusive"),
        ("most", {"against": "all", "max_drop": 10}, "passed"),
        ("all", {"min_score": 95}, "passed"),
        ("half", {"min_score": 60}, "failed"),
        ("most", {"min_score": 98}, "inconclusive"),
        ("half", {"against": "all", "max_drop": 60, "min_score": 90}, "failed"),
        ("broken", {"against": "all", "max_drop": 50}, "inconclusive"),
        ("broken", {"min_score": 1}, "inconclusive"),
    ],
)
def test_a_gate_decides_only_what_the_interval_does(store, run, rules, state):
    assert gate(store, run, **rules).state == state


def test_the_flipped_cases_are_listed(store):
    report = gate(store, "most", against="all", max_drop=2)
    assert (report.lost_count, report.gained_count) == (3, 0)
    assert {flip.id for flip in report.lost} == {"<b>197|", "<b>198|", "<b>199|"}
    assert all((flip.before, flip.after, flip.change) == (1, 0, -1) for flip in report.lost)
    [check] = report.checks
    assert check.needed
    assert check.needed > 0


def test_an_incomplete_run_is_named_and_counts_neither_way(store):
    [check] = gate(store, "broken", against="all", max_drop=50).checks
    assert "incomplete" in check.reason
    assert check.needed is None


@pytest.mark.parametrize("cases", [50, 200, 1000])
@pytest.mark.parametrize("estimate", [-1.0, 0.0, 1.0])
def test_the_cases_still_needed_would_decide_it(cases, estimate):
    """With as many cases more, and the same estimate, Wilson's interval is off the bound."""
    from evalcore.scoring.intervals import wilson_interval

    def interval_of(count):
        interval = wilson_interval((1 + estimate / 100) / 2, count)
        return Interval(2 * interval.low - 100, 2 * interval.high - 100)

    check = check_drop("b", estimate, interval_of(cases), cases, 2.0)
    assert check.state == "inconclusive"
    more = cases + check.needed
    assert check_drop("b", estimate, interval_of(more), more, 2.0).state == "passed"
    fewer = cases + int(check.needed * 0.9)
    assert check_drop("b", estimate, interval_of(fewer), fewer, 2.0).state == "inconclusive"


def test_an_estimate_on_the_bound_is_decided_by_no_number_of_cases():
    check = check_drop("b", -2.0, Interval(-5.0, 1.0), 100, 2.0)
    assert (check.state, check.needed) == ("inconclusive", None)


@pytest.mark.parametrize(
    ("rules", "problem"),
    [
        ({}, "nothing to check"),
        ({"against": "all", "max_drop": -1}, "max-drop"),
        ({"against": "all", "max_drop": float("nan")}, "max-drop"),
        ({"min_score": 101}, "min-score"),
        ({"against": "half"}, "is the run itself"),
    ],
)
def test_rules_that_make_no_sense_are_refused(store, rules, problem):
    with pytest.raises(UsageError, match=problem):
        gate(store, "half", **rules)


def test_one_case_decides_nothing_and_names_break_no_report(tmp_path):
    """A gate of one case, of other cases than the base, and of names that are markup."""
    hostile = "]]>&<\x01\x1b[2J|`\u202e"
    runs = []
    for count in (1, 1, 2):
        cases = [{"id": f"{hostile}{n}", "input": "x", "reference": "x"} for n in range(count)]
        target = "control:null" if len(runs) != 1 else "control:noop"
        scorer = evalcore.benchmark(cases, name="test_tiny", version="1")(score_equal)
        runs.append(evalcore.evaluate(target, scorer, data=tmp_path).id)
    remove_benchmark("test_tiny")
    nothing, right, more = runs
    roots = [tmp_path / "runs"]
    lost = check_gate(roots, nothing, GateRules(against=right, max_drop=2))
    assert (lost.state, lost.lost_count) == ("inconclusive", 1)
    suite = ElementTree.fromstring(render_gate_junit(lost))
    assert (suite.get("errors"), len(suite.findall("testcase"))) == ("1", 1)
    assert "\x1b" not in render_gate_markdown(lost)
    with pytest.raises(UsageError, match="no benchmark with the same questions"):
        check_gate(roots, more, GateRules(against=right))


def score_equal(answer, case):
    return answer == case["reference"]


def test_runs_that_share_no_benchmark_are_refused(store):
    data, runs = store
    other = evalcore.evaluate("control:null", "bfcl", max_samples=2, data=data)
    with pytest.raises(UsageError, match="no benchmark with the same questions and scoring"):
        check_gate([data / "runs"], runs["all"], GateRules(against=other.id))


@pytest.mark.parametrize(
    ("run", "status", "failures", "errors"),
    [("half", 1, 1, 0), ("most", 4, 0, 1), ("all", 0, 0, 0)],
)
def test_the_command_line_writes_what_ci_reads(
    store, tmp_path, capsys, run, status, failures, errors
):
    data, runs = store
    junit, markdown = tmp_path / "gate.xml", tmp_path / "gate.md"
    base = "all" if run != "all" else "most"
    arguments = ["gate", runs[run], "--against", runs[base], "--data", str(data)]
    arguments += ["--junit", str(junit), "--markdown", str(markdown)]
    assert main(arguments) == status
    assert f"gate {'FAILED' if status == 1 else ''}" in capsys.readouterr().out
    suite = ElementTree.fromstring(junit.read_bytes())
    assert (suite.get("failures"), suite.get("errors")) == (str(failures), str(errors))
    text = markdown.read_text()
    assert "Evaluation gate" in text
    assert "<b>" not in text  # names are text, not markup
    assert main([*arguments, "--json"]) == status
    assert json.loads(capsys.readouterr().out)["run"] == runs[run]

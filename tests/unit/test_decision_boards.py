"""Decisions on boards: of runs here and of publishers, by the API and the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evalcore.access.policy import OPERATOR
from evalcore.cli.main import main
from evalcore.settings import Settings
from evalcore.target_cards import TargetCard, save_card
from evalcore.views import boards, published_boards, published_ranking, stored_boards
from evalcore.views.decision import LEVELS, DecisionLimits, decide
from evalcore.views.decision_payloads import (
    DecisionQuery,
    build_decision_payload,
    decide_query,
    describe_decision,
    describe_reasons,
    format_decision,
    title_criteria,
)
from evalcore.views.decision_sources import (
    build_published_table,
    load_decision_table,
    name_dialect,
    score_spending,
)
from evalcore.web.resources import EXTRA_FIELDS, ITEMS
from tests.support.api import client, items
from tests.support.boards import Plan, make_run, settings_in

SHIPPED = Path(__file__).resolve().parents[2] / "data" / "shipped"
HOSTILE = "![x](http://evil.invalid/i.png) <script>"


@pytest.fixture
def store(tmp_path, monkeypatch):
    settings = settings_in(tmp_path)
    monkeypatch.setenv("EVALBOARD_DATA", settings.data)
    monkeypatch.setenv("EVALBOARD_SHIPPED", settings.shipped)
    monkeypatch.delenv("EVALBOARD_CONFIG", raising=False)
    make_run(settings, Plan("openai:strong", 0.9, price=0.004))
    make_run(settings, Plan("openai:weak", 0.3, price=0.001))
    make_run(settings, Plan("openai:unpriced", 0.6, price=None))
    make_run(settings, Plan("openai:broken", 0.9, failing=4))
    make_run(settings, Plan("control:null", 0.0, price=0.0))
    save_card(settings, OPERATOR, "openai:weak", TargetCard(name=HOSTILE, licence="MIT"))
    return settings


def load_board(settings):
    headers = stored_boards.load_run_headers(settings)
    return headers, boards.list_boards(headers, "sql")[0]


@pytest.mark.parametrize("level", LEVELS)
def test_the_preset_ranks_as_the_board_does(store, level):
    headers, board = load_board(store)
    table = load_decision_table(store, headers, board, level)
    frame = stored_boards.load_cached_ranking(store, board, "")
    ranked = frame[frame["status"] == "ranked"]
    decision = decide(table, table.default_weights, DecisionLimits())
    assert [row.candidate.identity for row in decision.ranked] == list(ranked["identity"])
    scores = {row.candidate.identity: row.score for row in decision.ranked}
    tolerance = 1e-6 if level == "benchmarks" else 1.5  # whole weights stand for exact shares
    for identity, score in zip(ranked["identity"], ranked["score"], strict=True):
        assert scores[identity] == pytest.approx(score, abs=tolerance)
    if level == "benchmarks":
        assert [row.group for row in decision.ranked] == list(ranked["group"])
        assert [row.rank_high for row in decision.ranked] == list(ranked["rank_high"])
        assert_same_intervals(decision, ranked)


def assert_same_intervals(decision, ranked):
    """The preset is as uncertain as the board says."""
    for name in ("low", "high"):
        own = [getattr(row, name) for row in decision.ranked]
        assert own == pytest.approx(list(ranked[name]), abs=0.01)


def test_an_incomplete_run_and_a_control_are_never_ranked(store):
    headers, board = load_board(store)
    table = load_decision_table(store, headers, board, "benchmarks")
    decision = decide(table, table.default_weights, DecisionLimits())
    reasons = {e.candidate.identity: e.reasons[0].reason for e in decision.excluded}
    assert reasons == {"openai:broken": "incomplete", "control:null": "control"}


def test_cost_and_latency_are_criteria_with_their_medians(store):
    headers, board = load_board(store)
    table = load_decision_table(store, headers, board, "benchmarks")
    references = {c.key: c.reference for c in table.criteria if c.reference is not None}
    assert references["latency"] == pytest.approx(0.8)
    assert references["cost"] == pytest.approx(0.001)  # of 0.004, 0.001, 0.001
    assert table.scores["cost"].values["openai:weak"] == pytest.approx(50.0)
    assert table.scores["cost"].values["openai:strong"] == pytest.approx(20.0)
    assert table.scores["cost"].problems["openai:unpriced"] == "no_cost"
    assert score_spending(0.0, 1.0) == 100.0


def test_dialects_are_those_that_cases_name(store):
    headers, board = load_board(store)
    table = load_decision_table(store, headers, board, "dialects")
    assert {c.key for c in table.criteria} == {
        *("SQLite", "DuckDB", "PostgreSQL", "MySQL"),
        *("cost", "latency"),
    }
    assert sum(c.cases for c in table.criteria) == 80


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Oracle → MySQL 8.0", "MySQL"),
        ("postgres", "PostgreSQL"),
        ("", ""),
        ("My, odd:thing=", "My  odd thing "),
        ("a\nb", "a b"),
    ],
)
def test_a_dialect_goes_by_its_product(text, name):
    assert name_dialect(text) == name


def test_one_benchmark_can_still_be_weighed_against_cost(store):
    headers, board = load_board(store)
    table = load_decision_table(store, headers, board, "benchmarks")
    assert table.levels == LEVELS
    assert [c.key for c in table.criteria] == [*board.columns, "cost", "latency"]


def test_reasons_are_said_in_both_languages(store):
    _, table, decision = decide_query(
        store, DecisionQuery(max_cost_per_case="0.002", licences=("MIT",))
    )
    titles = title_criteria(table, "en")
    texts = {
        excluded.candidate.identity: describe_reasons(
            table, excluded.candidate.identity, excluded.reasons, titles, "en"
        )
        for excluded in decision.excluded
    }
    assert texts["openai:strong"] == "Too expensive per case: $0.004 · License unknown"
    assert texts["openai:unpriced"] == "No known price · License unknown"
    assert texts["openai:broken"].startswith("Incomplete on ")
    assert describe_decision(table, decision, "zh").startswith("只有")
    assert "\n" not in describe_decision(table, decision, "en")


def test_the_whole_decision_is_printed(store, capsys):
    assert main(["decide", "--weight", "cost=30"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("openai:")
    for part in ("criterion", "95% interval", "leads in", "not ranked", "No known price"):
        assert part in text


def test_json_holds_all_of_it_with_null_for_what_is_unknown(store, capsys):
    assert main(["decide", "--json", "--level", "metrics", "--weight", "latency=10"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["level"] == "metrics"
    by_identity = {row["identity"]: row for row in data["items"]}
    assert by_identity["openai:unpriced"]["cost_per_case"] is None
    assert by_identity["openai:unpriced"]["parts"]["cost"] is None
    assert data["leads"] == pytest.approx(by_identity[data["leader"]]["leads"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--weight", "cost=nan"], "give a number from 0 to 100"),
        (["--weight", "speed=3"], "write CRITERION:NUMBER with one of"),
        (["--level", "people"], "must be one of benchmarks, metrics, dialects"),
        (["--suite", "nope"], "there are: sql"),
        (["--board", "nope"], "no such board"),
        (["--published", "nope"], "not a publisher"),
        (["--published", "scale", "--suite", "sql"], "drop --suite and --board"),
        (["--month", "2026-01"], "belong to --published"),
        (["--max-cost-per-case", "inf"], "give a number from 0"),
    ],
)
def test_what_cannot_be_understood_is_named(store, capsys, arguments, message):
    assert main(["decide", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_nothing_to_decide_on(tmp_path, capsys):
    assert main(["decide", "--data", str(tmp_path / "empty"), "--suite", "nope"]) == 2
    assert "nope" in capsys.readouterr().err


def test_the_api_answers_what_it_describes(store):
    api = client()
    rows = items(api, "/api/v1/decide?weights=cost:40&max_cost_per_case=1")
    assert {row["identity"] for row in rows} == {"openai:strong", "openai:weak"}
    assert all(set(row) == set(ITEMS["DecisionRow"]) for row in rows)
    whole = api.get("/api/v1/decide").json()
    assert set(whole) == {"items", "total", "next", *EXTRA_FIELDS["DecisionRow"]}


@pytest.mark.parametrize(
    "query",
    [
        "weights=cost:nan",
        "weights=%00:1",
        "level=people",
        "kind=alien",
        "max_cost_per_run=-1",
        "published=nope",
        "published=../../etc",
        "suite=agentic",
        "weights=" + "a" * 400,
    ],
)
def test_the_api_refuses_by_name(store, query):
    reply = client().get(f"/api/v1/decide?{query}")
    assert reply.status_code == 400
    assert reply.json()["error"]["message"]


# Boards of publishers, as they ship.


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    return Settings(data=str(tmp_path_factory.mktemp("data")), shipped=str(SHIPPED))


def test_a_publisher_with_verdicts_ranks_as_its_board(shipped):
    source = published_boards.load_published_board(shipped, "scale")
    table = build_published_table(source, "benchmarks")
    decision = decide(table, table.default_weights, DecisionLimits())
    frame = published_ranking.load_published_ranking(shipped, "scale").frame
    ranked = frame[frame["status"] == "ranked"]
    assert [row.candidate.identity for row in decision.ranked] == list(ranked["identity"])
    assert [row.rank_high for row in decision.ranked] == list(ranked["rank_high"])
    assert_same_intervals(decision, ranked)
    assert decision.tested
    assert {r.reason for e in decision.excluded for r in e.reasons} == {"not_run", "incomplete"}
    assert len(decision.ranked) + len(decision.excluded) == len(frame)


def test_claims_without_verdicts_are_ranked_and_never_tested(shipped):
    source = published_boards.load_published_board(shipped, "tau2")
    for level in ("benchmarks", "metrics"):
        table = build_published_table(source, level)
        decision = decide(table, table.default_weights, DecisionLimits())
        first = decision.ranked[0]
        assert not decision.tested
        assert (first.low, first.leads, first.group) == (None, None, None)
        assert first.score == pytest.approx(
            sum(
                source.entries[first.candidate.identity].scores[k].score
                for k in source.board.columns
            )
            / len(source.board.columns)
        )
        assert "no lead can be tested" in describe_decision(table, decision, "en")
        assert "null" not in format_decision(table, decision)


def test_a_publisher_states_costs_of_some(shipped):
    source = published_boards.load_published_board(shipped, "tau2")
    table = build_published_table(source, "benchmarks")
    decision = decide(table, table.default_weights | {"cost": 50}, DecisionLimits())
    assert decision.ranked
    assert any(reason.reason == "no_cost" for e in decision.excluded for reason in e.reasons)
    payload = build_decision_payload("b", table, decision)
    assert payload["tested"] is False
    assert payload["leads"] is None

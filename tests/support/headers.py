"""Run headers without run folders, and a suite of two benchmarks, for tests of boards."""

import pytest

from evalcore.benchmarks.sql_understanding.card import CARD
from evalcore.catalog import BenchmarkCard, MetricCard, SuiteCard
from evalcore.results import Totals
from evalcore.store.headers import HeaderScore, RunHeader
from evalcore.views import boards

SQL = CARD.key


def score(column="c1", value=50.0, **more):
    values = {
        "dataset": SQL,
        "label": f"{SQL} · verified · 10 samples",
        "samples": 10,
        "low": value - 5,
        "high": value + 5,
        "outcomes": {"passed": 5, "failed": 5},
    }
    return HeaderScore(column=column, score=value, **{**values, **more})


def header(target, at, *, run="", **benchmarks):
    return RunHeader(
        run_id=run or f"{target}@{at}",
        target_key=target.split("#")[0],
        identity=target,
        created_at=f"2026-11-{at:02d}T10:00:00.000+00:00",
        state="done",
        benchmarks=benchmarks or {SQL: score()},
        totals=Totals(cost=1.0, input_tokens=10, output_tokens=2),
    )


@pytest.fixture
def two_benchmarks(monkeypatch):
    """A suite of two benchmarks, the second without any implementation."""
    other = BenchmarkCard(
        key="other",
        suite="sql",
        implementation="none:None",
        metrics=(MetricCard(key="m", weight=1),),
        dataset="other",
    )
    suite = SuiteCard(key="sql", memberships=((SQL, "other"),))
    monkeypatch.setattr(boards, "benchmark_cards", lambda: {SQL: CARD, "other": other})
    monkeypatch.setattr(boards, "suite_cards", lambda: {"sql": suite})

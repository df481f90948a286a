"""Published results on the pages: apart from what was measured here, in both languages."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.boards import Plan, make_run
from tests.support.pages import open_page, store, table, words
from tests.support.publications import PublicationBuilder

__all__ = ["store"]  # a fixture

ROOT = Path(__file__).resolve().parents[2]
HOSTILE = "<b>x</b> [y](http://evil.example) $1$"


@pytest.fixture
def filled(store):
    builder = PublicationBuilder()
    for month in ("2026-04", "2026-05"):
        for key, a, b in (("x y#?&=%", "111111110", "11"), ("z", "100000000", "01")):
            writing = builder.score(50.0, c=builder.report("10"))
            builder.entry(
                key,
                month,
                name=f"{HOSTILE} {key[0]}",
                reading=builder.reading(a, b),
                writing=writing,
            )
    builder.entry("late", reading=builder.reading("111111111", "11"))
    builder.write(store)
    return store


@pytest.fixture
def shipped(store, monkeypatch):
    monkeypatch.setenv("EVALBOARD_SHIPPED", str(ROOT / "data" / "shipped"))
    return store


PAGES = ("metrics", "methodology", "target", "compare")


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("language", ["zh"])
def test_every_page_opens_on_published_results_without_any_run(filled, page, language):
    app = open_page(page, language)
    assert {"en": "Published by Acme", "zh": "Acme 发布"}[language] in words(app)
    assert "<b>x</b>" not in words(app)


@pytest.mark.parametrize("suite", ["sql", "agentic"])
@pytest.mark.parametrize("page", PAGES)
def test_every_page_opens_on_what_ships(shipped, page, suite):
    app = open_page(page, suite=suite, source="published")
    publisher = {"sql": "SCALE", "agentic": "τ²"}[suite]
    assert f"Published by {publisher}" in words(app)
    assert not app.error


def test_what_was_measured_here_comes_first_once_a_model_was(filled):
    make_run(filled, Plan(target="openai:ours"))
    make_run(filled, Plan(target="openai:theirs"))
    app = open_page("metrics")
    assert "Published by" not in words(app)
    published = open_page("metrics", source="published")
    assert "Published by Acme" in words(published)
    assert "openai:ours" not in words(published)


def test_a_link_to_what_is_here_means_that(filled):
    folder = make_run(filled, Plan(target="baseline:sqlite"))
    app = open_page("target", key="baseline:sqlite")
    assert "Published by" not in words(app)
    app = open_page("compare", runs=folder.run_id)
    assert "Published by" not in words(app)


def test_a_metric_ranks_the_models_of_a_month(filled):
    app = open_page("metrics", source="published", metric="a")
    frame = table(app, "target")
    assert list(frame["rank"]) == [1, 2, 3]
    assert list(frame["passed"]) == ["9/9", "8/9", "1/9"]


def test_a_target_of_any_name_shows_claims_and_findings(filled):
    app = open_page("target", key="acme:x y#?&=%", source="published")
    frame = table(app, "claimed")
    assert 50.0 in list(frame["claimed"])
    findings = [frame.value for frame in app.table if "Finding" in frame.value.columns]
    assert any("published verdicts give" in line for line in findings[0]["Finding"])


def test_a_target_has_its_neighbors_ranks_by_month_and_cases_by_verdict(filled):
    app = open_page("target", key="acme:z", source="published")
    text = words(app)
    assert "Neighbors in the ranking" in text
    assert "late" in text
    months = table(app, "models")
    assert list(months["month"]) == ["2026-05", "2026-04"]
    assert list(months["rank"]) == [2, 2]  # the last in the suite, where "late" has no rank
    cases = table(app, "passed")
    assert len(cases) == 11
    first = cases.iloc[0]
    assert (first["outcome"], first["case"], first["passed"]) == ("✓ Passed", "1", "3/3")
    failed = open_page("target", key="acme:z", source="published", outcome="failed", metric="a")
    assert set(table(failed, "passed")["outcome"]) == {"✕ Failed"}
    assert len(table(failed, "passed")) == 8


def test_a_target_without_verdicts_has_no_list_of_cases(shipped):
    app = open_page("target", suite="agentic", source="published")
    assert "Cases by verdict" not in words(app)
    assert not app.error


def test_a_target_that_a_month_lacks_is_shown_in_another(filled):
    app = open_page("target", key="acme:late", source="published", month="2026-04")
    assert "is not on the board of 2026-04; the board of 2026-05 is shown" in words(app)


def test_two_rows_are_compared(filled):
    rows = "acme/2026-05/x y#?&=%,acme/2026-05/z"
    app = open_page("compare", source="published", runs=rows)
    assert "significantly better" in words(app)
    assert list(table(app, "solved")["solved"]).count("A") == 8
    assert "acme/2026-05/z" in str(app.query_params["runs"])


@pytest.mark.parametrize(
    "query",
    [
        {"publisher": "nobody"},
        {"month": "1999-01"},
        {"setup": "x"},
        {"source": "elsewhere"},
        {"runs": "acme/2026-05/nobody,/,//"},
        {"key": "acme:nobody"},
        {"board": "published-acme-1999-01"},
    ],
)
@pytest.mark.parametrize("page", ["target", "compare"])
@pytest.mark.sampled(3)
def test_a_link_to_what_is_not_there_ends_in_no_error(filled, page, query):
    app = open_page(page, **{"source": "published", **query})
    assert "Published by Acme" in words(app)

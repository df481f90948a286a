"""One case with its neighbours, found by what a URL says."""

from __future__ import annotations

import pytest

from evalcore.errors import RunFolderError, UsageError
from evalcore.store.case_tables import CaseFilter
from evalcore.views.cases import MISSING, case_page, case_view
from tests.support.page_stores import METRIC, RUN, SECTIONS, evidence_run
from tests.support.stored_runs import BENCHMARK, SAMPLES, answer, judge, plan

FAILED = CaseFilter(outcome=("failed",))


@pytest.fixture
def folder(tmp_path):
    return evidence_run(tmp_path)


@pytest.fixture
def roots(folder):
    return (folder.path.parent,)


def test_a_case_has_its_question_answer_and_verdict(roots):
    view = case_view(roots, RUN, METRIC, "table_diff")
    assert view.benchmark == BENCHMARK
    assert view.sample.id == view.verdict.id == "table_diff"
    assert view.episode.answer
    assert (view.outcome, view.engine) == ("failed", "sqlite 3.40.1")


def test_a_case_without_a_verdict_is_missing(roots):
    view = case_view(roots, RUN, METRIC, "log")
    assert (view.episode, view.verdict, view.outcome) == (None, None, MISSING)


def test_neighbours_stand_in_the_declared_order(roots):
    names = list(SECTIONS)
    position = case_view(roots, RUN, METRIC, names[1]).position
    assert (position.number, position.total) == (2, len(names))
    assert (position.previous.id, position.next.id) == (names[0], names[2])
    assert case_view(roots, RUN, METRIC, names[0]).position.previous is None
    assert case_view(roots, RUN, METRIC, names[-1]).position.next is None


def test_neighbours_keep_to_the_outcome(roots):
    position = case_view(roots, RUN, METRIC, "table_diff", where=FAILED).position
    assert (position.number, position.total, position.next.id) == (1, 2, "tree_diff")
    assert position.outcomes == {"failed": 2, "passed": len(SECTIONS) - 3, MISSING: 1}


def test_a_case_outside_of_the_filter_still_has_neighbours(roots):
    position = case_view(roots, RUN, METRIC, "chat", where=FAILED).position
    assert (position.number, position.total) == (None, 2)
    assert (position.previous.id, position.next) == ("tree_diff", None)


def test_epochs_are_cases_of_their_own(tmp_path):
    folder = plan(tmp_path, RUN, epochs=2)
    for epoch in (0, 1):
        answer(folder, SAMPLES[0], epoch=epoch)
        judge(folder, SAMPLES[0], passed=bool(epoch), epoch=epoch)
    own = CaseFilter(metric=(METRIC,))
    view = case_view((tmp_path,), RUN, METRIC, "1", epoch=1, where=own)
    assert view.outcome == "passed"
    assert (view.position.previous.id, view.position.previous.epoch) == ("1", 0)
    assert view.position.total == 4
    with pytest.raises(UsageError, match="2 epochs"):
        case_view((tmp_path,), RUN, METRIC, "1", epoch=2)


@pytest.mark.parametrize(
    ("run", "metric", "case"),
    [("20200101-000000-ffffff", METRIC, "chat"), (RUN, "nothing", "chat"), (RUN, METRIC, "nosuch")],
)
def test_what_is_not_there_is_named(roots, run, metric, case):
    with pytest.raises(UsageError):
        case_view(roots, run, metric, case)


@pytest.mark.parametrize("run", ["../secret", "", "a/b"])
def test_a_run_is_never_a_path(roots, run):
    with pytest.raises(UsageError):
        case_view(roots, run, METRIC, "chat")


def test_a_broken_journal_is_said(folder, roots):
    (folder.path / "samples.jsonl").write_text('{"id":"chat"\n', encoding="utf-8")
    with pytest.raises(RunFolderError, match=r"samples\.jsonl, line 1"):
        case_view(roots, RUN, METRIC, "chat")


def test_a_page_of_cases_is_filtered_and_counted(roots):
    cases, count = case_page(roots, RUN, CaseFilter(outcome=("failed",)), limit=1)
    assert count == 2
    assert cases["id"].tolist() == ["table_diff"]

"""Readings and measures of patches: their order, and what is not known."""

from __future__ import annotations

import pytest

from evalcore.errors import UsageError
from evalcore.runner.jobs import TaskContext, run_service
from evalcore.views import target_scores
from tests.support import agentic_runs
from tests.support.agentic_runs import GAIA_RUN, SWE_RUN
from tests.support.boards import settings_in


@pytest.fixture
def settings(tmp_path):
    return settings_in(tmp_path)


def test_measures_come_from_the_files_to_the_lines_and_are_no_groups(settings):
    score = agentic_runs.swe(settings).read_summary().benchmarks["swe_bench"]
    table = target_scores.build_patch_measures(score)
    assert list(table["measure"]) == ["applies_rate", "file_recall", "hunk_recall", "line_f1"]
    assert all(0 <= value <= 100 for value in table["value"])
    assert target_scores.build_group_scores(score).empty


def test_what_nobody_looked_at_is_none(settings):
    score = agentic_runs.swe(settings, "unexecuted").read_summary().benchmarks["swe_bench"]
    values = dict(target_scores.build_patch_measures(score).to_numpy())
    assert values["applies_rate"] is None


def test_other_benchmarks_have_no_measures(settings):
    score = agentic_runs.gaia(settings, "right").read_summary().benchmarks["gaia"]
    assert target_scores.build_patch_measures(score).empty


def test_the_official_reading_comes_first(settings):
    score = agentic_runs.swe(settings).read_summary().benchmarks["swe_bench"]
    table = target_scores.build_alternate_scores(score.views, score.score)
    assert list(table["view"]) == ["official", "hardened", "repaired"]
    assert list(table["difference"][:2]) == [12.5, 0], "the hardened reading decides"
    assert target_scores.lost_to_format(score.views) is None
    assert list(target_scores.build_alternate_scores({"lenient": 1, "strict": 0}, 1)["view"]) == [
        "strict",
        "lenient",
    ]


def test_unusable_tasks_are_counted(settings):
    agentic_runs.swe(settings)
    agentic_runs.gaia(settings)
    assert target_scores.count_unusable_tasks(settings.run_roots, SWE_RUN, "swe_bench") == 1
    assert target_scores.count_unusable_tasks(settings.run_roots, GAIA_RUN, "gaia") == 0
    with pytest.raises(UsageError):
        target_scores.count_unusable_tasks(
            settings.run_roots, "20200101-000000-aaaaaa", "swe_bench"
        )


def test_the_service_says_what_can_be_run(settings):
    support = run_service.probe_sandbox(TaskContext(settings))
    assert bool(support.means) != bool(support.problem)

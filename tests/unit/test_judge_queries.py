"""What is told of the judges of a board: counted over the latest verdicts of its runs."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from evalcore.errors import UsageError
from evalcore.store.journal import Journal
from evalcore.store.run_folder import StoredVerdict
from evalcore.views import methodology
from tests.support import stored_runs
from tests.support.boards import settings_in
from tests.support.judged_runs import VOTES, make_judged_run

MILD, SHY, STERN = "openai:mild", "openai:shy", "openai:stern"


def test_all_runs_are_told_of_together_and_each_once(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    make_judged_run(settings, "one")
    make_judged_run(settings, "two", cost=0.25)
    panel_report = methodology.build_panel_report(settings.run_roots, ["one", "two", "one"])
    assert panel_report is not None
    assert (panel_report.answers, panel_report.requests, panel_report.cost) == (8, 24, 3.0)
    assert (panel_report.splits.n, panel_report.splits.split) == (8, 4)


def test_a_price_that_is_unknown_makes_the_sum_unknown(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    make_judged_run(settings, "one")
    make_judged_run(settings, "two", cost=None)
    panel_report = methodology.build_panel_report(settings.run_roots, ["one", "two"])
    assert panel_report is not None
    assert panel_report.cost is None


def test_judges_are_named_without_their_options_and_compared(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    make_judged_run(settings, "one")
    panel_report = methodology.build_panel_report(settings.run_roots, ["one"])
    assert panel_report is not None
    profiles = {profile.judge: profile for profile in panel_report.profiles}
    assert list(profiles) == [MILD, SHY, STERN]
    assert (profiles[MILD].yes_rate, profiles[STERN].yes_rate) == (0.75, 0.25)
    assert (profiles[SHY].cast, profiles[SHY].abstained, profiles[SHY].failed) == (2, 0.25, 0.25)
    assert profiles[MILD].difference > 0 > profiles[STERN].difference
    agreed = {(pair.first, pair.second): (pair.n, pair.agreed) for pair in panel_report.pairs}
    assert agreed[MILD, STERN] == (4, 0.5)
    assert agreed[MILD, SHY] == (2, 0.5)


def test_judges_are_held_against_what_was_executed(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    make_judged_run(settings, "one")
    panel_report = methodology.build_panel_report(settings.run_roots, ["one"])
    assert panel_report is not None
    message = {
        calibration.judge: (calibration.n, calibration.false_pass, calibration.false_fail)
        for calibration in panel_report.calibration
    }
    assert message == {MILD: (3, 1, 0), SHY: (2, 0, 0), STERN: (3, 0, 1)}


def test_a_rescored_case_counts_by_its_latest_verdict(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    folder = make_judged_run(settings, "one")
    latest = next(line.verdict for line in folder.read_verdicts("s1") if line.verdict.id == "0")
    with Journal(folder.path / "verdicts" / "s1" / "w2.jsonl") as journal:
        unjudged = msgspec.structs.replace(latest, evidence=())
        journal.append(StoredVerdict(benchmark="dialect_conversion", verdict=unjudged))
    panel_report = methodology.build_panel_report(settings.run_roots, ["one"])
    assert panel_report is not None
    assert panel_report.answers == len(VOTES) - 1


def test_runs_without_judges_say_nothing_and_a_missing_run_is_an_error(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    stored_runs.finish(settings.runs_dir, "plain")
    assert methodology.build_panel_report(settings.run_roots, ["plain"]) is None
    with pytest.raises(UsageError, match="absent"):
        methodology.build_panel_report(settings.run_roots, ["absent"])

"""Runs that differ in the simulated user alone: agreement, the 2x2 table, who is left out, and the
same in the terminal; once with a model that really plays the user."""

from __future__ import annotations

import json

import pytest

from evalcore.catalog import benchmark_cards
from evalcore.cli.main import main
from evalcore.scoring.intervals import wilson_interval
from evalcore.settings import Settings
from evalcore.views import comparison_report, comparison_runs, user_calibration
from tests.support import tau_data, tau_server
from tests.support.boards import settings_in
from tests.support.user_runs import BENCHMARK, MODEL, RULES, make_user_run

PASSED, FAILED = ("passed",), ("failed",)
#: 3 pass with both users, 1 with the rules only, 2 with the model only, 2 with neither.
BY_RULES = dict(zip("abcdefgh", [PASSED] * 4 + [FAILED] * 4, strict=True))
BY_MODEL = BY_RULES | {"d": FAILED, "e": PASSED, "f": PASSED}


@pytest.fixture
def settings(tmp_path, monkeypatch) -> Settings:
    result = settings_in(tmp_path)
    monkeypatch.setenv("EVALBOARD_SHIPPED", result.shipped)
    return result


def calibrate(settings, *runs, metric=""):
    lineup = comparison_runs.load_lineup(settings.run_roots, runs)
    return user_calibration.calibrate_users(
        settings.run_roots, lineup, lineup.compared[0], metric=metric
    )


def make_both(settings, by_rules=BY_RULES, by_model=BY_MODEL, **more):
    make_user_run(settings, "rules", RULES, by_rules)
    make_user_run(settings, "model", MODEL, by_model, **more)
    return calibrate(settings, "rules", "model")


def test_outcomes_are_counted_in_a_table_of_two_by_two(settings):
    [calibration] = make_both(settings)
    assert (calibration.users, calibration.run_ids) == (("", "openai:user"), ("rules", "model"))
    cells = [
        calibration.count_tasks(ours, theirs) for ours in (True, False) for theirs in (True, False)
    ]
    assert cells == [3, 1, 2, 2]
    assert calibration.agreement == pytest.approx(62.5)
    assert calibration.interval == wilson_interval(5 / 8, 8)
    assert calibration.kappa == pytest.approx((5 * 8 - 32) / (64 - 32))
    assert [task.id for task in calibration.disagreements] == ["d", "e", "f"]
    assert [task.id for task in calibration.tasks][:3] == ["d", "e", "f"]


def test_the_score_is_compared_task_by_task(settings):
    [calibration] = make_both(settings)
    result = calibration.paired.result
    assert (calibration.paired.first, calibration.paired.second) == (50, 62.5)
    assert (result.wins, result.losses, result.ties, result.common) == (2, 1, 5, 8)
    assert result.difference == pytest.approx(12.5)
    assert result.interval.low < 12.5 < result.interval.high


def test_what_one_run_lacks_or_cannot_decide_is_counted_apart(settings):
    by_rules = {"a": PASSED, "b": PASSED, "c": ("environment_error",), "d": FAILED}
    by_model = {"a": FAILED, "b": PASSED, "c": PASSED, "d": FAILED, "prose": PASSED}
    [calibration] = make_both(settings, by_rules, by_model, wishes={"d": "another"})
    assert [task.id for task in calibration.tasks] == ["a", "b"]
    assert (calibration.undecided, calibration.unshared) == (1, 2)
    assert calibration.agreement == 50


def test_runs_without_a_common_verdict_have_no_number(settings):
    by_rules = {"a": ("target_error",), "c": PASSED}
    [calibration] = make_both(settings, by_rules, {"a": PASSED, "b": PASSED})
    assert (calibration.agreement, calibration.interval, calibration.kappa, calibration.paired) == (
        None,
    ) * 4
    tables = list(comparison_report.build_calibration_tables(calibration, lambda key, **_: key))
    assert [row[1] for row in tables[1][2]] == ["0", "--", "--", "1", "2"]
    assert all(len(columns) == 2 for _, columns, _ in tables)


def test_runs_without_a_common_task_are_no_calibration(settings):
    assert make_both(settings, {"a": PASSED}, {"b": PASSED}) == ()


def test_kappa_is_undefined_where_everything_passes(settings):
    [calibration] = make_both(settings, {"a": PASSED, "b": PASSED}, {"a": PASSED, "b": PASSED})
    assert (calibration.agreement, calibration.kappa) == (100, None)
    assert calibration.interval.low < 100


def test_more_repetitions_have_to_pass_than_fail(settings):
    by_rules = {"a": ("passed", "passed", "failed"), "b": ("passed", "failed", "target_error")}
    by_model = {"a": ("failed", "passed", "failed"), "b": ("failed", "failed", "failed")}
    [calibration] = make_both(settings, by_rules, by_model)
    assert [(task.id, task.agrees) for task in calibration.tasks] == [("a", False), ("b", True)]
    first = calibration.tasks[0].first
    assert (first.passed, first.failed, first.repetitions) == (2, 1, 3)
    assert first.score == pytest.approx(2 / 3)
    assert calibration.tasks[1].first.score == pytest.approx(1 / 2)


@pytest.mark.parametrize(
    "more",
    [
        {"target": "openai:another"},
        {"options": {"protocol": "official"}},
        {"options": {"max_turns": 15}},
        {"options": RULES},
    ],
)
def test_what_differs_in_more_or_in_nothing_is_no_calibration(settings, more):
    assert make_both(settings, **more) == ()


def test_two_models_as_users_are_compared_too_and_an_idle_name_is_no_user(settings):
    make_user_run(settings, "rules", RULES, BY_RULES)
    make_user_run(settings, "idle", {**RULES, "user_model": "openai:user"}, BY_RULES)
    make_user_run(settings, "one", MODEL, BY_MODEL)
    make_user_run(settings, "two", {**MODEL, "user_model": "openai:b"}, BY_RULES)
    [with_idle] = calibrate(settings, "one", "idle")
    [with_two] = calibrate(settings, "one", "two")
    assert (with_idle.users, with_two.users) == (("openai:user", ""), ("openai:user", "openai:b"))
    assert calibrate(settings, "rules", "idle") == ()
    assert len(calibrate(settings, "one", "rules", "two")) == 2


def test_a_metric_narrows_it_down(settings):
    make_both(settings)
    assert calibrate(settings, "rules", "model", metric="airline") == ()
    [calibration] = calibrate(settings, "rules", "model", metric="retail")
    assert len(calibration.tasks) == 8


def test_every_declared_option_is_an_option_of_the_benchmark():
    declared = {key: card for key, card in benchmark_cards().items() if card.user_options}
    assert BENCHMARK in declared
    assert len(declared) > 1
    for card in declared.values():
        switch, model = (
            next(option for option in card.options if option.name == name)
            for name in card.user_options
        )
        assert (switch.default, model.default) == (False, "")


def test_the_terminal_tells_the_same(settings, capsys):
    make_both(settings)
    assert main(["compare", "rules", "model", "--data", settings.data]) == 0
    text = capsys.readouterr().out
    assert f"{BENCHMARK}: These runs differ in the simulated user" in text
    assert "62.5% (" in text
    assert f"{BENCHMARK}: Tasks with different outcomes: 3 of 8" in text
    assert main(["compare", "rules", "model", "--json", "--data", settings.data]) == 0
    [calibration] = json.loads(capsys.readouterr().out)["calibrations"]
    assert (len(calibration["tasks"]), calibration["users"]) == (8, ["", "openai:user"])
    assert main(["compare", "rules", "model", "--format", "md", "--data", settings.data]) == 0
    assert "B: Passed" in capsys.readouterr().out.replace("&#58;", ":")


@pytest.mark.slow
def test_a_model_that_plays_the_user_is_held_against_the_rules(tmp_path):
    """The model asks for the cancellation whatever its task is; the agent cancels at once."""
    folder = tau_data.write(tmp_path / "tasks")
    with tau_server.serve((tau_data.CANCEL, "Cancelled.")) as server:
        asked = {"base_url": server.base_url, "asking": "native"}
        user = f"openai:user?base_url={server.base_url}&temperature=0"
        model = {"use_llm_user": "true", "user_model": user}
        runs = [
            tau_data.run(
                tmp_path, folder, "openai:m", {"domain": "retail", **options}, target_options=asked
            )[1].path.name
            for options in ({}, model)
        ]
    [calibration] = calibrate(Settings(data=str(tmp_path / "data")), *runs)
    assert calibration.users[0] == ""
    assert calibration.users[1].startswith("openai:user?")
    assert len(calibration.tasks) == tau_data.PLAYABLE
    assert calibration.unshared == 1, "only a model plays the task in free prose"
    assert calibration.undecided == 0
    assert calibration.paired.result.common == len(calibration.tasks)

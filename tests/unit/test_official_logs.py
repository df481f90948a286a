"""Result folders of official evaluations in: BFCL, τ²-bench and SWE-bench. Scores are what each
evaluation says itself; hostile files are named. The fixtures are made by
`tests/support/official_log_fixtures.py`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from evalcore.cli.main import main
from evalcore.errors import DatasetError
from evalcore.exchange.bfcl.fetch import default_folder
from evalcore.exchange.hub_datasets import NOTE_FILE
from evalcore.exchange.logs.importer import find_logs, import_logs
from evalcore.store.index import open_index
from evalcore.store.run_folder import find_run, read_published
from evalcore.views.boards import list_board_rows, list_boards
from evalcore.views.comparison import compare_benchmarks, load_common_cases
from tests.support.boards import settings_in
from tests.support.log_fixtures import FIXTURES
from tests.support.official_log_fixtures import CATEGORIES, write_bfcl_data

BFCL, TAU2, SWE = (FIXTURES / name for name in ("bfcl_eval", "tau2_results", "swebench"))
RESULTS = "simulations/small/results.json"


@pytest.fixture
def store(tmp_path):
    return settings_in(tmp_path / "store")


def import_folders(path: Path, store):
    """What was done, and the imported runs by target."""
    done = import_logs(path, store, "", str)
    folders = [find_run(run, store.run_roots) for run in (*done.created, *done.replaced)]
    return done, {folder.read_spec().target.key: folder for folder in folders}


def read_outcomes(folder, scoring="published"):
    verdicts = [line.verdict for line in folder.read_verdicts(scoring)]
    return {f"{each.id} {each.epoch}": each.score for each in verdicts}


def copy_fixture(source: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(source, tmp_path / "copy"))


def edit(path: Path, change) -> Path:
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    return path


@pytest.mark.parametrize("model", ["large", "small"])
def test_rewards_are_those_that_tau2_counts(store, model):
    done, runs = import_folders(TAU2 / "simulations" / model, store)
    expected = json.loads((TAU2 / "expected.json").read_text())[model]
    folder = runs[f"tau2_results:openai/{model}"]
    assert read_outcomes(folder) == expected["rewards"]
    score = folder.read_summary().benchmarks["tau2-results-mock"]
    assert score.score == pytest.approx(100 * expected["avg_reward"])
    assert (score.complete, score.samples, folder.read_spec().epochs) == (True, 4, 2)
    assert done.flags["log_no_total"] == 1
    episode = next(folder.read_episodes()).episode
    assert [message.role for message in episode.messages][:2] == ["assistant", "user"]
    assert episode.messages[2].tool_calls[0].name == "create_task"
    assert episode.messages[3].tool_call_id == episode.messages[2].tool_calls[0].id
    assert episode.usage.input_tokens == 24


def test_a_folder_of_simulations_is_the_same_run(store):
    first, _ = import_folders(TAU2 / "simulations" / "small", store)
    again = import_logs(TAU2 / "simulations" / "folder", store, "", str)
    assert again.unchanged == first.created


def test_runs_of_tau2_are_compared_in_pairs(store):
    _, runs = import_folders(TAU2, store)
    (board,) = list_boards(open_index(store).headers(), "imported")
    rows = list_board_rows(open_index(store).headers(), board)
    assert len(rows) == 2
    names = [runs[f"tau2_results:openai/{model}"].run_id for model in ("large", "small")]
    (paired,) = compare_benchmarks(load_common_cases(store.run_roots, *names))
    assert (paired.first, paired.second) == (100.0, 50.0)


def test_what_was_not_simulated_leaves_a_run_incomplete(store, tmp_path):
    path = copy_fixture(TAU2, tmp_path) / RESULTS
    edit(path, lambda log: log["simulations"].pop(3))
    edit(path, lambda log: log["simulations"][0].update(termination_reason="infrastructure_error"))
    _, runs = import_folders(path, store)
    (folder,) = runs.values()
    score = folder.read_summary().benchmarks["tau2-results-mock"]
    assert not score.complete
    assert score.outcomes == {"passed": 3, "failed": 3, "target_error": 1, "not_executed": 1}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (lambda log: log["info"].update(num_trials=10**9), "info.num_trials"),
        (lambda log: log["info"].update(num_trials=10**40), "info.num_trials"),
        (lambda log: log["info"].update(agent_info=[]), "info.agent_info"),
        (lambda log: log.update(tasks=3), "tasks"),
        (lambda log: log["tasks"].append(log["tasks"][0]), "tasks[4].id"),
        (lambda log: log["simulations"].append(log["simulations"][0]), "simulations[8].trial"),
        (lambda log: log["simulations"][2].update(task_id="../x"), "simulations[2].task_id"),
        (lambda log: log["simulations"][2].update(trial=-1), "simulations[2].trial"),
        (lambda log: log.update(simulations=[["x"]]), "simulations[0]"),
        (
            lambda log: log["simulations"][1]["reward_info"].update(reward=1e300),
            "simulations[1].reward_info.reward",
        ),
        (
            lambda log: log["simulations"][1]["reward_info"].update(reward="1"),
            "simulations[1].reward_info.reward",
        ),
    ],
)
def test_damage_in_results_of_tau2_is_named(store, tmp_path, change, field):
    path = edit(copy_fixture(TAU2, tmp_path) / RESULTS, change)
    with pytest.raises(DatasetError) as caught:
        import_logs(path, store, "", str)
    assert (Path(caught.value.path).name, caught.value.field) == ("results.json", field)
    assert open_index(store).headers() == []


def test_a_reward_that_is_not_finite_is_none(store, tmp_path):
    path = copy_fixture(TAU2, tmp_path) / RESULTS
    path.write_text(path.read_text().replace('"reward": 0.0', '"reward": NaN', 1))
    _, runs = import_folders(path, store)
    (folder,) = runs.values()
    assert folder.read_summary().benchmarks["tau2-results-mock"].outcomes["not_executed"] == 1


def test_a_simulation_that_the_index_names_has_to_be_there(store, tmp_path):
    folder = copy_fixture(TAU2, tmp_path) / "simulations" / "folder"
    next((folder / "simulations").glob("*.json")).unlink()
    with pytest.raises(DatasetError, match=r"simulations/.*\.json is missing"):
        import_logs(folder, store, "", str)


@pytest.mark.parametrize("whole", [True, False])
def test_instances_are_resolved_as_the_harness_reports(store, tmp_path, whole):
    root = copy_fixture(SWE, tmp_path)
    expected = json.loads((root / "expected.json").read_text())
    if not whole:
        for model in expected:
            (root / f"{model}.counting.json").unlink()
    done, runs = import_folders(root, store)
    assert set(runs) == {"swebench:large", "swebench:small"}
    for model, resolved in expected.items():
        folder = runs[f"swebench:{model}"]
        outcomes = read_outcomes(folder)
        assert {name for name, score in outcomes.items() if score == 1} == {
            f"{name} 0" for name in resolved
        }
        score = folder.read_summary().benchmarks["swebench-swe-bench"]
        assert (score.complete, score.samples, score.full) == (True, 6, whole)
        assert score.score == pytest.approx(100 * len(resolved) / 6)
        patches = {line.episode.key: line.episode.answer for line in folder.read_episodes()}
        assert patches["resolved/lab__tools-1"].startswith("diff --git")
        assert patches["resolved/lab__tools-5"] == ""
    assert done.reading_counts == ({"exact": 2} if whole else {})
    assert done.flags["log_no_declared"] == (0 if whole else 2)


def test_the_report_of_a_run_alone_leaves_errors_open(store, tmp_path):
    shutil.copy(SWE / "small.counting.json", tmp_path)
    _, runs = import_folders(tmp_path / "small.counting.json", store)
    score = runs["swebench:small"].read_summary().benchmarks["swebench-swe-bench"]
    assert (score.complete, score.outcomes) == (
        False,
        {"passed": 2, "failed": 3, "target_error": 1},
    )
    published = read_published(runs["swebench:small"]).scores["swebench-swe-bench"]
    assert published.claimed == pytest.approx(100 / 3)


def test_a_failure_of_the_machine_is_no_verdict(store, tmp_path):
    root = copy_fixture(SWE, tmp_path)
    report = next(root.rglob("small/lab__tools-2/report.json"))
    edit(report, lambda log: log["lab__tools-2"].update(infra_failure=True))
    _, runs = import_folders(root, store)
    verdicts = runs["swebench:small"].read_verdicts("published")
    outcomes = {line.verdict.id: line.verdict.outcome for line in verdicts}
    assert outcomes["lab__tools-2"] == "target_error"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (lambda log: log.update(total_instances=0), "total_instances"),
        (lambda log: log.update(total_instances=10**40), "total_instances"),
        (lambda log: log.update(total_instances="6"), "total_instances"),
        (lambda log: log.update(resolved_instances=7), "total_instances"),
        (lambda log: log["resolved_ids"].append(None), "resolved_ids[2]"),
        (lambda log: log["resolved_ids"].append("lab__tools-1"), "resolved_ids[2]"),
    ],
)
def test_damage_in_a_report_is_named(store, tmp_path, change, field):
    root = copy_fixture(SWE, tmp_path)
    edit(root / "small.counting.json", change)
    with pytest.raises(DatasetError) as caught:
        import_logs(root, store, "", str)
    assert (Path(caught.value.path).name, caught.value.field) == ("small.counting.json", field)


def test_names_of_instances_lead_nowhere(store, tmp_path):
    root = copy_fixture(SWE, tmp_path)
    outside = root / "logs" / "run_evaluation" / "counting" / "secret"
    outside.mkdir()
    (outside / "patch.diff").write_text("not yours")
    names = ["../secret", "/etc", "..", "a\\b", "<b>x</b>"]
    listed = [*names, "x" * 300]  # no file can be called so
    edit(root / "small.counting.json", lambda log: log["unresolved_ids"].extend(listed))
    done, runs = import_folders(root, store)
    episodes = {
        line.episode.key: line.episode.answer for line in runs["swebench:small"].read_episodes()
    }
    assert [episodes[f"resolved/{name}"] for name in names] == [""] * 5
    assert done.flags["counts_differ"] == 1


def test_a_report_of_another_instance_is_named(store, tmp_path):
    root = copy_fixture(SWE, tmp_path)
    report = next(root.rglob("small/lab__tools-2/report.json"))
    report.write_text(report.read_text().replace("lab__tools-2", "lab__tools-9"))
    with pytest.raises(DatasetError, match="lab__tools-2: is missing"):
        import_logs(root, store, "", str)


def test_a_prediction_that_is_there_twice_is_named(store, tmp_path):
    root = copy_fixture(SWE, tmp_path)
    file = root / "predictions_small.jsonl"
    file.write_text(file.read_text() + file.read_text().splitlines()[0] + "\n")
    with pytest.raises(DatasetError, match="also in line 1") as caught:
        import_logs(root, store, "", str)
    assert (Path(caught.value.path).name, caught.value.line) == ("predictions_small.jsonl", 7)


def test_verdicts_are_those_of_the_score_files(store):
    done, runs = import_folders(BFCL, store)
    assert done.reading_counts == {"exact": 6}
    assert done.flags["not_rescored"] == 6
    for model, share in (("large", 1.0), ("small", 0.5)):
        scores = runs[f"bfcl_eval:{model}"].read_summary().benchmarks
        assert {key: (score.score, score.samples) for key, score in scores.items()} == {
            f"bfcl-eval-{name}": (100 * share, number) for name, number in CATEGORIES.items()
        }
    outcomes = read_outcomes(runs["bfcl_eval:small"])
    assert outcomes["simple_python_1 0"] == 0.0
    assert outcomes["simple_python_2 0"] == 1.0
    (board,) = list_boards(open_index(store).headers(), "imported")
    assert len(list_board_rows(open_index(store).headers(), board)) == 2


def test_answers_are_scored_again_where_their_entries_are(store):
    folder = default_folder(store)
    write_bfcl_data(folder)
    (folder / NOTE_FILE).write_text("{}")
    done, runs = import_folders(BFCL, store)
    assert done.reading_counts == {"exact": 6}
    score = runs["bfcl:small"].read_summary().benchmarks["bfcl"]
    assert score.views["claimed"] == score.views["official"] == 50.0
    assert {line.verdict.metric for line in runs["bfcl:small"].read_verdicts("published")} == set(
        CATEGORIES
    )
    again = import_logs(BFCL, store, "", str)
    assert len(again.unchanged) == 2


def test_answers_to_other_entries_keep_the_published_verdicts(store):
    folder = default_folder(store)
    write_bfcl_data(folder)
    for file in folder.rglob("*.json"):
        file.write_text(file.read_text().replace('"id": "', '"id": "other_'))
    (folder / NOTE_FILE).write_text("{}")
    _, runs = import_folders(BFCL, store)
    assert set(runs) == {"bfcl_eval:large", "bfcl_eval:small"}


def test_each_model_is_scored_again_or_keeps_its_published_verdicts(store, tmp_path):
    folder = default_folder(store)
    write_bfcl_data(folder)
    (folder / NOTE_FILE).write_text("{}")
    root = copy_fixture(BFCL, tmp_path)
    for file in root.rglob("small/**/*.json"):
        file.write_text(file.read_text().replace('"id": "', '"id": "other_'))
    shutil.copytree(root / "score" / "large", root / "score" / "bare")
    done, runs = import_folders(root, store)
    assert set(runs) == {"bfcl:large", "bfcl_eval:small", "bfcl_eval:bare"}
    assert len(done.created) == 3


def test_a_category_without_a_score_file_is_named(store, tmp_path):
    root = copy_fixture(BFCL, tmp_path)
    next(root.rglob("score/small/*/BFCL_v4_multiple_score.json")).unlink()
    done, runs = import_folders(root, store)
    assert len(runs["bfcl_eval:small"].read_summary().benchmarks) == 2
    assert any("multiple" in line for line in done.skipped)


def test_scores_without_answers_are_claims(store, tmp_path):
    root = copy_fixture(BFCL, tmp_path)
    shutil.rmtree(root / "result")
    _, runs = import_folders(root, store)
    published = read_published(runs["bfcl_eval:small"]).scores["bfcl-eval-multiple"]
    assert (published.level, published.claimed) == (0, 50.0)


def test_a_failed_request_is_no_answer(store, tmp_path):
    root = copy_fixture(BFCL, tmp_path)
    file = next(root.rglob("small/*/BFCL_v4_multiple_result.json"))
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    rows[1]["result"] = "Error during inference: Request timed out."
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    _, runs = import_folders(root, store)
    score = runs["bfcl_eval:small"].read_summary().benchmarks["bfcl-eval-multiple"]
    assert (score.complete, score.outcomes) == (False, {"passed": 1, "target_error": 1})


@pytest.mark.parametrize(
    ("kind", "line", "change", "field"),
    [
        ("score", 0, {"total_count": 0}, "total_count"),
        ("score", 0, {"correct_count": True}, "correct_count"),
        ("score", 0, {"correct_count": 10**30}, "correct_count"),
        ("score", 1, {"id": "multiple_7"}, "id"),
        ("score", 1, {"id": 3.5}, "id"),
        ("result", 1, {"id": "multiple_0"}, "id"),
        ("result", 1, {"id": None}, "id"),
        ("result", 1, {"result": 3}, "result"),
    ],
)
def test_damage_in_files_of_a_category_is_named(store, tmp_path, kind, line, change, field):
    root = copy_fixture(BFCL, tmp_path)
    file = next(root.rglob(f"small/*/BFCL_v4_multiple_{kind}.json"))
    rows = [json.loads(text) for text in file.read_text().splitlines()]
    rows[line] |= change
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(DatasetError) as caught:
        import_logs(root, store, "", str)
    error = caught.value
    assert (Path(error.path).name, error.line, error.field) == (file.name, line + 1, field)
    assert open_index(store).headers() == []


def test_each_folder_is_recognized_without_a_word(store, capsys):
    kinds = {root: {form.framework for form, _ in find_logs(root)} for root in (BFCL, TAU2, SWE)}
    assert kinds == {BFCL: {"bfcl_eval"}, TAU2: {"tau2_results"}, SWE: {"swebench"}}
    assert main(["import", str(SWE), "--data", store.data]) == 0
    assert "runs: 2 created" in capsys.readouterr().out

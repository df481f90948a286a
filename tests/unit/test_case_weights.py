"""What a case weighs: its difficulty, what the run says of that difficulty, or its own weight."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from evalcore.cli.main import main
from evalcore.errors import DatasetError, UsageError
from evalcore.exchange import reports
from evalcore.exchange.bundle import importer
from evalcore.records import BenchmarkSpec, Sample
from evalcore.runner import plan
from evalcore.runner.plan import column_key
from evalcore.runner.run_request import RunRequest
from evalcore.runner.summary import describe_column
from evalcore.settings import ROOT, Settings
from evalcore.store import case_tables
from evalcore.store.run_folder import find_run
from evalcore.views import boards, comparison_runs, methodology, reproduce, stored_boards

KEY, METRIC = "sql_understanding", "syntax_error_detection"


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("EVALBOARD_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("EVALBOARD_SHIPPED", str(tmp_path / "none"))
    return Settings(data=str(tmp_path / "data"), shipped=str(tmp_path / "none"))


def own_cases(tmp_path: Path, weights: dict[str, object]) -> str:
    """Two bundled cases of each difficulty; `weights` by the position 0 to 5."""
    lines = (ROOT / "datasets" / KEY / f"{METRIC}.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    chosen = [
        row
        for level in ("1", "2", "3")
        for row in [item for item in rows if item["difficulty_level"] == level][:2]
    ]
    for position, weight in weights.items():
        chosen[int(position)]["weight"] = weight
    path = tmp_path / f"{METRIC}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in chosen), encoding="utf-8")
    return str(path)


def planned(settings: Settings, data: str, **options: object) -> BenchmarkSpec:
    request = RunRequest(
        "control:null", (KEY,), metrics=(METRIC,), dataset=data, options={KEY: options}
    )
    return plan.plan_run(request, settings).spec.benchmarks[0]


def test_by_default_keys_hashes_and_files_stay_as_they_were(settings: Settings) -> None:
    sample = Sample(metric="m", id="1", input={"a": 1}, difficulty=2)
    assert sample.case_hash == "b4b993de4442e369"
    assert b"weight" not in msgspec.json.encode(sample)
    assert b"difficulty_weights" not in msgspec.json.encode(planned(settings, ""))
    parts = ("b", "d", "1", "1", {}, {"m": 1.0})
    assert column_key(*parts) == column_key(*parts, difficulty_weights={}) == "5487ba1309f4"


def test_a_difficulty_weighs_what_the_run_says(settings: Settings, tmp_path: Path) -> None:
    data = own_cases(tmp_path, {})
    plain = planned(settings, data)
    same = planned(settings, data, **{"difficulty.1": "1", "difficulty.3": 3.0})
    other = planned(settings, data, **{"difficulty.1": "0", "difficulty.3": "7.5"})
    assert same == plain
    assert other.difficulty_weights == {"1": 0.0, "3": 7.5}
    assert (other.column != plain.column, other.dataset_hash) == (True, plain.dataset_hash)
    assert "weight of difficulty 1: 0, 3: 7.5" in describe_column(other)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"difficulty.4": 1}, "a difficulty is 1, 2 or 3"),
        ({"difficulty.": 1}, "a difficulty is 1, 2 or 3"),
        ({"difficulty.1": "nan"}, "is not a valid weight"),
        ({"difficulty.1": "inf"}, "is not a valid weight"),
        ({"difficulty.1": -1}, "is not a valid weight"),
        ({"difficulty.1": "much"}, "is not a valid weight"),
        ({f"difficulty.{level}": 0 for level in (1, 2, 3)}, "needs a weight above 0"),
        ({f"weights.{METRIC}": 0}, "there is nothing to score"),
    ],
)
def test_a_wrong_weight_is_refused(settings: Settings, tmp_path, options, problem) -> None:
    with pytest.raises(UsageError, match=problem):
        planned(settings, own_cases(tmp_path, {}), **options)


def test_a_difficulty_that_no_case_has_is_refused(settings: Settings, tmp_path: Path) -> None:
    data = own_cases(tmp_path, {"0": 4, "1": 4})
    with pytest.raises(UsageError, match=r"difficulty.1: no case has that difficulty.*2, 3"):
        planned(settings, data, **{"difficulty.1": 2})


@pytest.mark.sampled(3)
@pytest.mark.parametrize("weight", ["2", True, -1, 1e7, float("nan"), [1], {}])
def test_a_wrong_weight_of_a_case_names_file_line_and_field(
    settings: Settings, tmp_path: Path, capsys, weight
) -> None:
    data = own_cases(tmp_path, {"2": weight})
    with pytest.raises(DatasetError, match=rf"{METRIC}\.jsonl, line 3.*"):
        planned(settings, data)
    assert main(["datasets", "validate", data, "--benchmark", KEY]) == 2
    shown = capsys.readouterr()
    assert "line 3" in shown.out + shown.err


def run(tmp_path: Path, data: str, capsys, *more: str, target: str = "control:null") -> dict:
    words = ["run", "--target", target, "--benchmarks", KEY, "--dataset", data, "--json", *more]
    status = main([*words, "--metrics", METRIC])
    shown = capsys.readouterr()
    assert status == 0, shown.err
    return json.loads(shown.out.splitlines()[-1])


def test_weights_reach_score_points_ranks_and_exports(
    settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = own_cases(tmp_path, {"0": 10, "5": 0})
    option = ("--option", f"{KEY}.difficulty.2=5")
    done = run(tmp_path, data, capsys, *option, target="control:noop")
    folder = find_run(done["run_id"], settings.run_roots)
    summary = folder.read_summary()
    assert summary is not None
    score = summary.benchmarks[KEY]
    weights = [10.0, 1.0, 5.0, 5.0, 3.0, 0.0]
    passed = [
        line.verdict.score
        for line in sorted(folder.read_verdicts(summary.scoring), key=_order(folder))
    ]
    assert score.metrics[METRIC].maximum == sum(weights)
    expected = 100 * sum(w * p for w, p in zip(weights, passed, strict=True)) / sum(weights)
    assert score.score == pytest.approx(expected)
    assert score.interval.low <= score.score <= score.interval.high
    result, worked = methodology.load_run_score(settings.run_roots, done["run_id"], KEY)
    assert result.difficulty_weights == {"2": 5.0}
    assert methodology.sum_score_terms(
        methodology.build_score_terms(worked)
    ).score == pytest.approx(expected)
    table = case_tables.query_samples(
        [case_tables.ensure_samples_table(folder)],
        "SELECT case_weight FROM samples ORDER BY position",
    )
    assert list(table["case_weight"]) == weights
    report = json.loads(reports.render_report(folder, "json"))
    assert json.dumps(report).count('"weight": 5.0') >= 2
    recipe = reproduce.build_recipe(settings, done["run_id"])
    assert f"{KEY}.difficulty.2=5" in recipe.command
    status = main(["rescore", done["run_id"], "--json"])
    assert (status, json.loads(capsys.readouterr().out)["benchmarks"][KEY]["score"]) == (
        0,
        pytest.approx(expected),
    )
    frame = stored_boards.board_ranking(
        settings, boards.list_boards(stored_boards.load_run_headers(settings), "sql")[0]
    )
    assert frame["score"].iloc[0] == pytest.approx(expected)


def _order(folder):
    places = {line.sample.id: number for number, line in enumerate(folder.read_samples())}
    return lambda line: places[line.verdict.id]


def test_other_weights_are_another_board_and_a_named_difference(
    settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = own_cases(tmp_path, {})
    first = run(tmp_path, data, capsys)
    second = run(tmp_path, data, capsys, "--option", f"{KEY}.difficulty.3=9")
    line_up = comparison_runs.load_lineup(settings.run_roots, [first["run_id"], second["run_id"]])
    (obstacle,) = comparison_runs.find_incompatibilities(line_up, line_up.compared[0])
    assert [difference.rule for difference in obstacle.differences] == ["difficulty_weights.3"]
    assert len(boards.list_boards(stored_boards.load_run_headers(settings), "sql")) == 2


def test_a_bundle_keeps_the_weights(
    settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = own_cases(tmp_path, {"0": 10})
    done = run(tmp_path, data, capsys, "--option", f"{KEY}.difficulty.2=5", target="control:noop")
    out = tmp_path / "run.zip"
    assert main(["export", done["run_id"], "--format", "bundle", "--out", str(out)]) == 0
    other = Settings(data=str(tmp_path / "other"), shipped=str(tmp_path / "none"))
    taken = importer.import_bundle(out, other, data, lambda line: None)
    (score,) = taken.scores
    assert score.recomputed == pytest.approx(done["benchmarks"][KEY]["score"])

"""GAIA and SWE-bench on the command line: fetch, score predictions, run from a config, export."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from evalcore.cli.main import main
from evalcore.exchange.gaia import DATASET, REVISION
from evalcore.exchange.hub_datasets import NOTE_FILE
from evalcore.exchange.swe_bench import TASKS, VERIFIED
from evalcore.sandbox.program import detect_sandbox
from evalcore.settings import load_settings
from evalcore.store.run_folder import find_run
from tests.support.hub_server import NOT_GRANTED, TOKEN, Hub, serving
from tests.support.shared_data import shared_data

pytestmark = pytest.mark.slow

QUESTIONS = b'{"task_id": "q-1", "Question": "6 x 7?", "Level": 1, "Final answer": "42"}\n'
TASK_ROW = b'{"instance_id": "o__r-1", "repo": "o/r"}\n'


@pytest.fixture
def data(tmp_path: Path) -> str:
    return str(tmp_path / "store")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("EVALBOARD_SWE_REPOSITORIES", raising=False)


def call(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    status = main([str(word) for word in words])
    shown = capsys.readouterr()
    return status, shown.out, shown.err


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


# --- fetch --------------------------------------------------------------------------------------


@pytest.fixture
def gaia_hub(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda seconds: None)
    files = {f"2023/{split}/metadata.jsonl": QUESTIONS for split in ("validation", "test")}
    hub = Hub(DATASET, files, gated=True)
    hub.commits.add(REVISION)
    with serving(hub):
        monkeypatch.setenv("HF_ENDPOINT", hub.address)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        yield hub


@pytest.fixture
def swe_hub(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", "/nonexistent/token")
    monkeypatch.delenv("HF_TOKEN", raising=False)
    hub = Hub(VERIFIED, {"data/test-00000-of-00001.jsonl": TASK_ROW}, gated=False)
    with serving(hub):
        monkeypatch.setenv("HF_ENDPOINT", hub.address)
        yield hub


def test_fetched_questions_can_be_run_as_the_last_line_says(capsys, tmp_path, data, gaia_hub):
    status, out, err = call(capsys, "datasets", "fetch", "gaia", "--data", data)
    path = tmp_path / "store" / "datasets" / "gaia-validation"
    assert (status, (path / NOTE_FILE).is_file()) == (0, True)
    assert err.startswith("1 of 1: 2023/validation/metadata.jsonl\n")
    assert "not to be shared" in out
    line = out.splitlines()[-1]
    assert line.startswith("next: evalcore run --target TARGET --benchmarks gaia ")
    assert line.endswith(str(path))
    words = line.removeprefix("next: evalcore ").replace("TARGET", "control:reference").split()
    status, out, _ = call(capsys, *words, "--data", data, "--json")
    assert (status, json.loads(out)["benchmarks"]["gaia"]["score"]) == (0, 100.0)


def test_split_revision_and_place_can_be_chosen(capsys, tmp_path, data, gaia_hub):
    words = ("datasets", "fetch", "gaia", "--split", "test", "--revision", "main", "--json")
    payload = json.loads(call(capsys, *words, "--out", tmp_path / "t", "--data", data)[1])
    assert (payload["part"], payload["folder"]) == ("test", str(tmp_path / "t"))
    assert payload["commit"] != REVISION
    again = json.loads(call(capsys, *words, "--out", tmp_path / "t", "--data", data)[1])
    assert again["already"] is True


def test_without_access_nothing_is_fetched_and_no_key_is_shown(
    capsys, tmp_path, data, gaia_hub, monkeypatch
):
    monkeypatch.setenv("HF_TOKEN", NOT_GRANTED)
    status, out, err = call(capsys, "datasets", "fetch", "gaia", "--data", data)
    assert (status, out) == (2, "")
    assert "accept its terms" in err
    assert NOT_GRANTED not in err
    assert not (tmp_path / "store" / "datasets" / "gaia-validation").exists()


@pytest.mark.parametrize("split", ["dev", "../../out", ""])
def test_a_split_that_is_none_is_one_clear_line(capsys, tmp_path, data, gaia_hub, split):
    words = ("datasets", "fetch", "gaia", "--split", split, "--data", data)
    status, _, err = call(capsys, *words)
    assert (status, err.count("\n")) == (2, 1)
    assert "validation, test" in err
    assert not gaia_hub.asked


def test_tasks_are_fetched_by_name_or_short_name(capsys, tmp_path, data, swe_hub):
    status, out, err = call(capsys, "datasets", "fetch", "swe_bench", "--data", data)
    path = tmp_path / "store" / "datasets" / "swe_bench-swe-bench_verified"
    assert (status, (path / TASKS).is_file()) == (0, True)
    assert f"evalcore run --target TARGET --benchmarks swe_bench --dataset {path}" in out
    assert "tasks: 1" in err
    words = ("datasets", "fetch", "swe_bench", "--name", VERIFIED, "--data", data, "--json")
    assert json.loads(call(capsys, *words)[1])["already"] is True


def test_a_data_set_that_is_not_there_is_one_clear_line(capsys, data, swe_hub):
    words = ("datasets", "fetch", "swe_bench", "--name", "nobody/nothing", "--data", data)
    status, out, err = call(capsys, *words)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "no dataset nobody/nothing" in err


@pytest.mark.parametrize(
    "words",
    [
        ("fetch",),
        ("fetch", "gpqa"),
        ("fetch", "gaia", "--source", "hub"),
        ("fetch", "bfcl", "--revision", "main"),
    ],
)
def test_flags_of_another_data_set_are_refused(capsys, words):
    with pytest.raises(SystemExit) as left:
        main(["datasets", *words])
    assert left.value.code == 2
    assert "usage:" in capsys.readouterr().err


# --- score --------------------------------------------------------------------------------------


def test_predictions_for_gaia_score_as_the_official_scorer_says(capsys, tmp_path, data):
    with gzip.open(shared_data("gaia") / "official_verdicts.dev.jsonl.gz", "rt") as recorded:
        rows = [json.loads(line) for line in recorded]
    references = [{"id": row["id"], "reference": row["truth"]} for row in rows]
    args = [{"id": row["id"], "prediction": {"answer": row["prediction"]}} for row in rows]
    dataset, answers = write(tmp_path / "d.jsonl", references), write(tmp_path / "p.jsonl", args)
    words = ("score", "gaia", "--dataset", dataset, "--predictions", answers)
    out = tmp_path / "out.jsonl"
    status, shown, _ = call(capsys, *words, "--out", out, "--data", data, "--json")
    passeds = {line["id"]: line["passed"] for line in lines(out)}
    assert passeds == {row["id"]: row["official"] for row in rows}
    assert (status, sum(json.loads(shown).values())) == (0, len(rows))
    assert len(rows) >= 28


def test_text_for_gaia_goes_through_extraction(capsys, tmp_path, data):
    dataset = write(tmp_path / "d.jsonl", [{"id": "a", "reference": "1,234"}])
    texts = ["So.\nFINAL ANSWER: 1, 234", "answer: 1;234", "1,234", "FINAL ANSWER: 1234", ""]
    answers = write(tmp_path / "p.jsonl", [{"id": "a", "prediction": text} for text in texts])
    out = tmp_path / "out.jsonl"
    words = ("score", "gaia", "--dataset", dataset, "--predictions", answers, "--out", out)
    assert call(capsys, *words, "--data", data)[0] == 0
    result = [(line["passed"], line["views"]["strict"]) for line in lines(out)]
    assert result == [(True, 1.0), (True, 0.0), (True, 0.0), (False, 0.0), (False, 0.0)]


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of the example task, with the bundle of its repository where the setting says."""
    shared = shared_data("swe_bench")
    if not detect_sandbox().means:
        pytest.skip(f"no program can be run here: {detect_sandbox().problem}")
    (tmp_path / "repositories").mkdir()
    bundle = tmp_path / "repositories" / "evalcore__tinystats.bundle"
    shutil.copyfile(shared / "tinystats.bundle", bundle)
    monkeypatch.setenv("EVALBOARD_SWE_REPOSITORIES", str(bundle.parent))
    return shared / "example_task.jsonl"


def patches_of(example: Path) -> dict[str, Any]:
    """Answers to the example task by what they are; of `uncounted` the form has to be repaired."""
    patch = lines(example)[0]["patch"]
    return {
        "text": f"Here it is:\n```diff\n{patch}```\n",
        "given": {"model_patch": patch},
        "uncounted": patch.replace("@@ -13,7 +13,9 @@", "@@ -13,3 +13,3 @@"),
        "wrong": {"model_patch": patch.replace("(values[mid - 1] + values[mid]) / 2", "0")},
        "prose": "The median of an even number of values is wrong.",
        "empty": {"model_patch": None},
    }


def scored(capsys, tmp_path: Path, data: str, example: Path) -> dict[str, dict[str, Any]]:
    answers = patches_of(example)
    rows = [{"id": "evalcore__tinystats-1", "prediction": value} for value in answers.values()]
    args, out = write(tmp_path / "p.jsonl", rows), tmp_path / "out.jsonl"
    words = ("score", "swe_bench", "--dataset", example, "--predictions", args, "--out", out)
    assert call(capsys, *words, "--data", data)[0] == 0
    return dict(zip(answers, lines(out), strict=True))


def test_predictions_for_swe_bench_are_executed(capsys, tmp_path, data, example):
    result = scored(capsys, tmp_path, data, example)
    assert {name: line["passed"] for name, line in result.items()} == {
        "text": True,
        "given": True,
        "uncounted": False,
        "wrong": False,
        "prose": False,
        "empty": False,
    }
    assert {name for name, line in result.items() if line["views"]["repaired"] == 1} == {
        *("text", "given", "uncounted")
    }
    for line in result.values():
        assert line["details"]["resolved"] is line["passed"]
        assert not line["passed"] or line["details"]["log_sha256"]


def test_without_a_repository_nothing_is_resolved_nor_unresolved(
    capsys, tmp_path, data, example, monkeypatch
):
    monkeypatch.delenv("EVALBOARD_SWE_REPOSITORIES")
    result = scored(capsys, tmp_path, data, example)
    assert result["empty"]["details"]["resolved"] is False
    for name in ("text", "given", "wrong"):
        line = result[name]
        assert (line["outcome"], line["passed"], line["score"]) == ("not_executed", False, None)
        assert line["details"]["resolved"] is None
        assert line["details"]["file_recall"] == 1.0


# --- run from a config, and export ---------------------------------------------------------------

CONFIG = """
target: control:reference
experiment_name: nightly
output_dir: {place}
benchmarks: [{benchmark}]
max_samples: null
benchmark_overrides:
  {benchmark}: {overrides}
"""


def run(capsys, tmp_path: Path, data: str, benchmark: str, overrides: dict[str, Any]) -> Any:
    """The result of a run from a config, and slm-evals' results.json of it."""
    file = tmp_path / "run.yaml"
    path = tmp_path / "results"
    text = CONFIG.format(place=path, benchmark=benchmark, overrides=json.dumps(overrides))
    file.write_text(text, encoding="utf-8")
    _, out, err = call(capsys, "run", "--config", file, "--data", data, "--json")
    notices = [line for line in err.splitlines() if "continue it with" not in line]
    assert not notices
    return json.loads(out), json.loads((path / "nightly" / "results.json").read_text())


def question(number: int, level: Any, answer: str = "42") -> dict[str, Any]:
    asked = {"task_id": f"q-{number}", "Question": "6 x 7?", "Final answer": answer}
    return {**asked, "Level": level, "file_name": ""}


def test_the_overrides_of_slm_evals_for_gaia(capsys, tmp_path, data):
    levels = (1, "2", 3, "1")
    path = write(tmp_path / "own.jsonl", [question(n, level) for n, level in enumerate(levels)])
    options = {"data_path": str(path), "split": "validation", "levels": [1, 2]}
    message, files = run(capsys, tmp_path, data, "gaia", options | {"tool_mode": "describe"})
    assert message["complete"] is True
    assert [sample["id"] for sample in files["benchmarks"]["gaia"]["samples"]] == [
        "q-0",
        "q-1",
        "q-3",
    ]
    assert files["aggregate_score"] == files["benchmarks"]["gaia"]["score"] == 1.0
    spec = find_run(message["run_id"], load_settings(data).run_roots).read_spec().benchmarks[0]
    asked = {name: spec.options[name] for name in ("split", "levels", "tool_mode")}
    assert asked == {"split": "validation", "levels": [1, 2], "tool_mode": "describe"}
    # As the defaults are the same, the same column comes without them.
    again, _ = run(capsys, tmp_path, data, "gaia", {"data_path": str(path)})
    assert (
        find_run(again["run_id"], load_settings(data).run_roots).read_spec().benchmarks[0].column
        == spec.column
    )
    third, _ = run(capsys, tmp_path, data, "gaia", options | {"levels": [3], "tool_mode": "none"})
    assert (
        find_run(third["run_id"], load_settings(data).run_roots).read_spec().benchmarks[0].samples
        == 1
    )


def test_hidden_answers_are_exported_and_never_scored(capsys, tmp_path, data):
    path = write(tmp_path / "test.jsonl", [question(1, 1, "?"), question(2, 2, "?")])
    message, files = run(capsys, tmp_path, data, "gaia", {"data_path": str(path), "split": "test"})
    assert (message["complete"], files["aggregate_score"]) == (False, None)
    gaia = files["benchmarks"]["gaia"]
    assert (gaia["passed"], gaia["score"], gaia["not_executed"]) == (0, None, 2)
    assert [sample["passed"] for sample in gaia["samples"]] == [False, False]
    out = tmp_path / "answers.jsonl"
    words = ("export", message["run_id"], "--format", "gaia", "--out", out, "--data", data)
    assert call(capsys, *words) == (0, f"{out}: lines for the leaderboard of GAIA: 2\n", "")
    assert [line["model_answer"] for line in lines(out)] == ["?", "?"]


@pytest.mark.full
def test_the_overrides_of_slm_evals_for_swe_bench(capsys, tmp_path, data, example):
    options = {"data_path": str(example), "full_eval": False, "context_lines": 80}
    message, files = run(capsys, tmp_path, data, "swe_bench", options)
    assert (message["complete"], files["aggregate_score"]) == (True, 1.0)
    [sample] = files["benchmarks"]["swe_bench"]["samples"]
    assert (sample["id"], sample["resolved"]) == ("evalcore__tinystats-1", True)
    assert files["missing"] == ["bfcl", "tau_bench", "tau2_bench", "gaia"]
    folder = find_run(message["run_id"], load_settings(data).run_roots)
    asked = folder.read_spec().benchmarks[0].options
    assert (asked["full_eval"], asked["context_lines"]) == (False, 80)
    out = tmp_path / "preds.jsonl"
    words = ("export", message["run_id"], "--format", "swe_bench", "--out", out, "--data", data)
    for chosen, changed in (((), 0), (("--patch", "official"), 0), (("--patch", "repaired"), 1)):
        status, shown, _ = call(capsys, *words, *chosen, "--json")
        assert (status, json.loads(shown)["repaired"]) == (0, changed)
        [line] = lines(out)
        assert (line["model_patch"] == lines(example)[0]["patch"]) is not bool(changed)
        assert "+    return (values[mid - 1] + values[mid]) / 2\n" in line["model_patch"]
    text = (tmp_path / "results" / "nightly" / "report.md").read_text()
    assert "Patch format and localization (not executed)" in text


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--format", "gaia"), "--out is missing: the file that --format gaia writes"),
        (("--format", "swe_bench", "--out", "x"), "contains no swe_bench"),
        (("--format", "gaia", "--patch", "repaired", "--out", "x"), "--patch is for --format"),
        (("--format", "gaia", "--out", "/proc/none/x"), "--out /proc/none/x: No such file"),
    ],
)
def test_what_cannot_be_exported_is_one_clear_line(
    capsys, tmp_path, data, monkeypatch, words, problem
):
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path / "own.jsonl", [question(1, 1)])
    message, _ = run(capsys, tmp_path, data, "gaia", {"data_path": str(path)})
    status, out, err = call(capsys, "export", message["run_id"], *words, "--data", data)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert problem in err
    assert not (tmp_path / "x").exists()

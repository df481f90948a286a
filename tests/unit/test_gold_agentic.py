"""Own cases of the agentic benchmarks: their references are run wherever they enter."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from evalcore.access.policy import OPERATOR
from evalcore.benchmarks.bfcl.dataset import FLAGGED
from evalcore.benchmarks.gaia.benchmark import Gaia
from evalcore.benchmarks.gaia.tools.toolset import Toolset
from evalcore.cli.main import main
from evalcore.errors import EnvironmentFailure, UsageError
from evalcore.exchange.bundle.importer import import_bundle
from evalcore.records import Sample, to_json
from evalcore.runner import dataset_check, gold, jobs
from evalcore.runner.gold import GoldReport
from evalcore.runner.jobs import TaskContext, data_client
from evalcore.runner.jobs.data_client import DatasetLocation, OwnCard, Upload
from evalcore.runner.plan import create_benchmark, plan_run
from evalcore.runner.run_request import RunRequest
from evalcore.settings import ROOT, Settings
from evalcore.store import datasets
from tests.support.bundles import bundled, changed, edit, finished
from tests.support.shared_data import shared_data

pytestmark = pytest.mark.slow

DATA = ROOT / "datasets"
Edit = Callable[[dict[str, Any]], None]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data=str(tmp_path / "data"), shipped=str(tmp_path / "none"))


def first_row(path: Path, **fields: Any) -> dict[str, Any]:
    """The first bundled case of a file whose fields are so."""
    rows = (json.loads(line) for line in path.read_text("utf-8").splitlines())
    return next(
        row for row in rows if all(row.get(name) == value for name, value in fields.items())
    )


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def report_of(benchmark: str, folder: Path, settings: Settings, **options: Any) -> GoldReport:
    return gold.confirm_gold(DatasetLocation(benchmark, str(folder), options), settings)


# --- gaia -----------------------------------------------------------------------------------------

QUESTION = {
    "task_id": "own-1",
    "Question": "How much is six times seven?",
    "Level": 1,
    "Final answer": "42",
    "derivation": [{"tool": "calculator", "arguments": {"expression": "6 * 7"}}],
}
GAIA = {
    "right": (QUESTION, ""),
    "plain": (QUESTION | {"derivation": []}, ""),
    "derived otherwise": (QUESTION | {"Final answer": "43"}, "derivation"),
    "a derivation that does not run": (
        QUESTION | {"derivation": [{"tool": "calculator", "arguments": {"expression": "6 *"}}]},
        "derivation",
    ),
    "no such tool": (
        QUESTION | {"derivation": [{"tool": "oracle", "arguments": {}}]},
        "derivation",
    ),
    "not even itself": (QUESTION | {"Final answer": "nan", "derivation": []}, "Final answer"),
    "a wrong answer that is right": (QUESTION | {"wrong": ["42.0"]}, "wrong"),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("row", "field"), GAIA.values(), ids=GAIA)
def test_a_question_is_refused_by_its_field(
    row: dict[str, Any], field: str, settings: Settings, tmp_path: Path
) -> None:
    report = report_of("gaia", write(tmp_path / "validation.jsonl", row), settings)
    assert [contradicted.field for contradicted in report.contradicted] == (
        [field] if field else []
    )
    assert {contradicted.source for contradicted in report.contradicted} <= {"validation.jsonl:1"}
    assert (report.unconfirmed, report.complete) == (0, True)


def test_hidden_answers_and_scoring_sets_claim_nothing(settings: Settings, tmp_path: Path) -> None:
    hidden = QUESTION | {"Final answer": "?", "derivation": []}
    path = write(tmp_path / "validation.jsonl", hidden, {"id": "a", "reference": "nan"})
    report = report_of("gaia", path, settings)
    assert (report.samples, report.contradicted, report.unconfirmed) == (2, (), 0)


def test_a_derivation_that_nothing_here_runs_is_unconfirmed(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "validation.jsonl", QUESTION, QUESTION | {"task_id": "own-2"})

    def absent(*args: Any) -> str:
        raise EnvironmentFailure("there is no sandbox here")

    monkeypatch.setattr(Toolset, "call", absent)
    report = dataset_check.confirm_samples(
        TaskContext(settings), DatasetLocation("gaia", str(path))
    )
    assert (report.contradicted, report.unconfirmed) == ((), 2)
    assert "there is no sandbox here" in report.reason
    monkeypatch.undo()
    assert report_of("gaia", path, settings).unconfirmed == 0  # nothing stale is recalled


# --- tau_bench ------------------------------------------------------------------------------------


def tau(folder: Path, *rows: dict[str, Any]) -> Path:
    """A folder with the bundled retail shop and tasks of one's own."""
    shop = folder / "retail"
    shop.mkdir(parents=True)
    for path in (DATA / "tau_bench" / "retail").iterdir():
        if not path.name.startswith("tasks_"):
            (shop / path.name).write_bytes(path.read_bytes())
    write(shop / "tasks_own.jsonl", *rows)
    return folder


TASK = first_row(DATA / "tau_bench" / "retail" / "tasks_bundled.jsonl", topic="cancel")
TWICE = TASK | {"actions": TASK["actions"] * 2}
NO_TOOL = TASK | {"actions": [*TASK["actions"], {"name": "fly_away", "kwargs": {}}]}


def test_actions_that_do_not_run_are_refused_by_line(settings: Settings, tmp_path: Path) -> None:
    report = report_of("tau_bench", tau(tmp_path, TASK, TWICE, NO_TOOL), settings)
    twice, no_tool = report.contradicted
    assert (twice.source, twice.field) == ("retail/tasks_own.jsonl:2", "actions")
    assert "action 2: cancel_pending_order is refused: Error: non-pending order" in twice.problem
    assert (no_tool.source, no_tool.field) == ("retail/tasks_own.jsonl:3", "actions")
    assert "action 2: retail has no tool 'fly_away'" in no_tool.problem
    assert report.unconfirmed == 0


def test_published_tasks_that_err_are_named_and_not_refused(
    settings: Settings, tmp_path: Path
) -> None:
    report = report_of("tau_bench", shared_data("tau_bench"), settings)
    assert (report.contradicted, report.unconfirmed) == ((), 23)
    assert "the published ground truth does not run" in report.reason


# --- bfcl -----------------------------------------------------------------------------------------

CALL = first_row(DATA / "bfcl" / "simple_python.jsonl", id="simple_python_b00")
TALK = first_row(DATA / "bfcl" / "multi_turn_base.jsonl", id="multi_turn_base_b07")


def without_claims(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in row if name not in ("variants", "counterexamples")}


def misspelt(row: dict[str, Any]) -> None:
    row["ground_truth"] = [{"clinic.reserve_slot": {"patient": [40817]}}]


def of_another_function(row: dict[str, Any]) -> None:
    row["ground_truth"] = [{"clinic.cancel_slot": {"patient_id": [1]}}]


@pytest.mark.parametrize("how", [misspelt, of_another_function])
def test_calls_that_their_own_check_refuses_are_refused(
    how: Edit, settings: Settings, tmp_path: Path
) -> None:
    row = json.loads(json.dumps(without_claims(CALL)))
    how(row)
    path = write(tmp_path / "simple_python.jsonl", without_claims(CALL) | {"id": "own"}, row)
    [problem] = report_of("bfcl", path, settings).contradicted
    assert (problem.source, problem.field) == ("simple_python.jsonl:2", "ground_truth")


def test_an_entry_that_was_published_wrong_is_named_and_not_refused(
    settings: Settings, tmp_path: Path
) -> None:
    row = json.loads(json.dumps(without_claims(CALL))) | {"id": next(iter(FLAGGED))}
    misspelt(row)
    report = report_of("bfcl", write(tmp_path / "simple_python.jsonl", row), settings)
    assert (report.contradicted, report.unconfirmed) == ((), 1)


@pytest.mark.parametrize(
    ("call", "words"),
    [("vanish(x=1)", "vanish"), ("take_back(copy='C103')", "copy"), ("take_back(", "take_back(")],
)
def test_a_conversation_is_refused_whose_calls_do_not_run(
    call: str, words: str, settings: Settings, tmp_path: Path
) -> None:
    row = json.loads(json.dumps(without_claims(TALK)))
    row["ground_truth"][1] = [call]
    path = tmp_path / "multi_turn_base.jsonl"
    (tmp_path / "multi_turn_func_doc").symlink_to(DATA / "bfcl" / "multi_turn_func_doc")
    write(path, without_claims(TALK) | {"id": "multi_turn_base_own"}, row)
    problems = report_of("bfcl", path, settings).contradicted
    assert {(problem.source, problem.field) for problem in problems} == {
        ("multi_turn_base.jsonl:2", "ground_truth")
    }
    assert words in "".join(problem.problem for problem in problems)


def test_a_conversation_without_its_simulators_is_unconfirmed(settings: Settings) -> None:
    path = shared_data("bfcl") / "BFCL_v4_multi_turn_base.json"
    report = report_of("bfcl", path, settings)
    assert report.contradicted == ()
    if report.unconfirmed:  # else the official package is installed here
        assert report.unconfirmed == report.samples
        assert "evalcore datasets fetch bfcl" in report.reason


# --- swe_bench ------------------------------------------------------------------------------------

PATCH = first_row(DATA / "swe_bench" / "tasks.jsonl", instance_id="evalboard__wrapkit-11")


def swe(folder: Path, row: dict[str, Any]) -> Path:
    """A data set of one task, its repository beside it."""
    if row.get("bundle"):
        (folder / row["bundle"]).parent.mkdir(parents=True)
        (folder / row["bundle"]).write_bytes((DATA / "swe_bench" / row["bundle"]).read_bytes())
    return write(folder / "tasks.jsonl", row)


SWE = {
    "does not apply": (lambda row: row.update(patch=row["patch"].replace("\n-", "\n-x")), "apply"),
    "does not solve": (lambda row: row.update(patch=row["counterexamples"][0]), "tests fail"),
    "passes before": (
        lambda row: row.update(FAIL_TO_PASS=json.dumps(json.loads(row["PASS_TO_PASS"])[:1])),
        "pass without a patch",
    ),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("how", "words"), SWE.values(), ids=SWE)
def test_a_task_is_refused_that_its_patch_does_not_resolve(
    how: Edit, words: str, settings: Settings, tmp_path: Path
) -> None:
    row = json.loads(json.dumps(without_claims(PATCH) | {"variants": [], "counterexamples": []}))
    row["counterexamples"] = PATCH["counterexamples"]
    how(row)
    row["counterexamples"] = []
    [problem] = report_of("swe_bench", swe(tmp_path, row), settings).contradicted
    assert (problem.source, problem.field) == ("tasks.jsonl:1", "patch")
    assert words in problem.problem


def test_a_task_without_repository_is_unconfirmed_and_a_right_one_confirmed(
    settings: Settings, tmp_path: Path
) -> None:
    row = without_claims(PATCH)
    bare = report_of("swe_bench", swe(tmp_path / "a", row | {"bundle": ""}), settings)
    assert (bare.contradicted, bare.unconfirmed) == ((), 1)
    assert "repository is not available" in bare.reason
    right = report_of("swe_bench", swe(tmp_path / "b", row), settings)  # nothing stale is recalled
    assert (right.contradicted, right.unconfirmed) == ((), 0)


def test_a_module_that_is_missing_here_is_no_fault_of_the_task(
    settings: Settings, tmp_path: Path
) -> None:
    row = without_claims(PATCH)
    lacking = "diff --git a/conftest.py b/conftest.py\nnew file mode 100644\n--- /dev/null\n"
    lacking += "+++ b/conftest.py\n@@ -0,0 +1 @@\n+import module_of_another_world\n"
    report = report_of(
        "swe_bench", swe(tmp_path, row | {"patch": row["patch"] + lacking}), settings
    )
    assert (report.contradicted, report.unconfirmed) == ((), 1)


def test_the_official_harness_is_asked_in_no_door(settings: Settings, tmp_path: Path) -> None:
    path = swe(tmp_path, without_claims(PATCH))
    report = report_of("swe_bench", path, settings, full_eval=True)
    assert (report.contradicted, report.unconfirmed) == ((), 1)
    assert "official harness" in report.reason


# --- the doors ------------------------------------------------------------------------------------

WRONG = QUESTION | {"task_id": "own-2", "Final answer": "43"}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("verb", ["validate", "add", "run", "score"])
def test_every_command_refuses_it(
    verb: str, settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path / "own" / "validation.jsonl", QUESTION, WRONG)
    predictions = write(tmp_path / "predictions.jsonl")
    words = {
        "validate": ["datasets", "validate", file, "--benchmark", "gaia"],
        "add": ["datasets", "add", file, "--benchmark", "gaia", "--name", "mine"],
        "run": ["run", "--target", "control:null", "--benchmarks", "gaia", "--dataset", file],
        "score": [
            *("score", "gaia", "--dataset", file),
            *("--predictions", predictions, "--out", tmp_path / "out.jsonl"),
        ],
    }[verb]
    assert main([str(word) for word in [*words, "--data", settings.data]]) == 2
    shown = "".join(capsys.readouterr())
    assert "line 2" in shown
    assert "derivation" in shown
    assert datasets.load_own_cards(settings) == []
    assert not list(settings.runs_dir.glob("*"))


def test_a_page_names_the_line_of_a_task_in_what_was_handed_in(settings: Settings) -> None:
    content = b"\n" + json.dumps(TASK).encode() + b"\n" + json.dumps(TWICE).encode()
    upload = Upload("tau_bench", "mine.jsonl", content, "retail")
    result, stored = data_client.save_upload(
        upload, OwnCard("tau_bench", "mine"), OPERATOR, settings
    )
    assert stored is None
    [error] = result.errors
    assert (error.line, error.field) == (3, "actions")


def test_a_run_that_a_page_starts_is_refused(settings: Settings, tmp_path: Path) -> None:
    folder = tau(tmp_path / "own", TASK, TWICE)
    request = RunRequest(target="control:null", benchmarks=("tau_bench",), dataset=str(folder))
    with pytest.raises(UsageError, match=r"tasks_own.jsonl, line 2, field actions"):
        jobs.call_task("make_plan", {"request": request}, settings, str, visitor=OPERATOR)
    assert not list(settings.runs_dir.glob("*"))


def test_a_fetched_set_is_right_as_it_was_published(settings: Settings, tmp_path: Path) -> None:
    path = settings.data_dir / "datasets" / "gaia-validation"
    write(path / "validation.jsonl", WRONG)
    (path / datasets.SOURCE_FILE).write_text("{}")
    request = RunRequest(
        target="control:null", benchmarks=("gaia",), dataset="gaia-validation", max_samples=1
    )
    assert plan_run(request, settings).gold == {}


@pytest.mark.parametrize("benchmark", ["gaia", "tau_bench"])
def test_a_bundle_of_own_cases_is_refused(
    benchmark: str, settings: Settings, tmp_path: Path
) -> None:
    other = Settings(data=str(tmp_path / "other"), shipped=str(tmp_path / "none"))
    location = (
        write(tmp_path / "own" / "validation.jsonl", QUESTION, WRONG)
        if benchmark == "gaia"
        else tau(tmp_path / "own", TASK, TWICE)
    )
    folder = finished(other, "control:null", benchmark, dataset=str(location))

    def rename(spec: dict[str, Any]) -> None:
        spec["benchmarks"][0]["dataset"] = "mine"

    packed = bundled(folder, other, tmp_path / "packed.zip")
    bundle = changed(packed, tmp_path / "run.zip", edit("spec.json", rename))
    with pytest.raises(UsageError, match=r"refused: samples.jsonl, line 2, field"):
        import_bundle(bundle, settings, progress=lambda line: None)
    assert not [path for path in settings.runs_dir.glob("*") if any(path.rglob("*"))]


# --- what hangs, and who is gone ------------------------------------------------------------------


def test_what_was_found_out_before_a_case_that_hangs_is_reported(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(
        "import threading, time\n"
        "import evalcore.runner.dataset_check as service\n"
        "service._GRACE = 1.0\n"
        "from evalcore.benchmarks.gaia.benchmark import Gaia\n"
        "Gaia.checked_at_once = 1\n"
        "service._QUICK = 0.0\n"
        "validate = Gaia.validate_references\n"
        "def slow(self, samples):\n"
        "    if any(one.id == 'own-3' for one in samples):\n"
        "        time.sleep(600)\n"
        "    return validate(self, samples)\n"
        "Gaia.validate_references = slow\n"
    )
    path = write(tmp_path / "validation.jsonl", QUESTION, WRONG, QUESTION | {"task_id": "own-3"})
    arguments = {"location": DatasetLocation("gaia", str(path)), "seconds": 5.0}
    monkeypatch.setenv("PYTHONPATH", f"{site}:{ROOT}")
    code = (
        "import sys\n"
        "import sitecustomize\n"
        "from evalcore.runner.jobs import __main__ as process\n"
        "sys.argv = ['', 'gold']\n"
        "sys.exit(process.main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=to_json(jobs.TaskInput(settings, arguments)),
        capture_output=True,
        check=False,
    )
    report = msgspec.convert(json.loads(done.stdout)["ok"], GoldReport)
    assert [contradicted.sample for contradicted in report.contradicted] == ["level_1/own-2"]
    assert (report.unconfirmed, report.complete) == (1, False)


def test_nothing_more_is_run_for_somebody_who_is_gone(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "validation.jsonl", QUESTION)
    parents = iter([1, 2])
    monkeypatch.setattr(dataset_check.os, "getppid", lambda: next(parents))
    monkeypatch.setattr(Gaia, "validate_dataset", None)  # calling it breaks
    report = dataset_check.confirm_samples(
        TaskContext(settings), DatasetLocation("gaia", str(path))
    )
    assert (report.unconfirmed, report.complete) == (1, False)


def test_what_is_missing_for_a_claim_ends_no_other(tmp_path: Path) -> None:
    benchmark = create_benchmark("tau_bench", {})
    sample = Sample(metric="retail", id="a", input={}, reference={})
    benchmark.reference_episode = lambda sample: benchmark.episode_from_answer(sample, "")  # type: ignore[method-assign]

    async def absent(*args: Any) -> Any:
        raise EnvironmentFailure("the data is gone")

    benchmark.evaluate_sample = absent  # type: ignore[method-assign]
    benchmark.validate_references = lambda samples: ([], {})  # type: ignore[method-assign]
    [finding], _ = benchmark.validate_dataset([sample])
    assert (finding.kind, finding.field) == ("unconfirmed", "actions")
    assert "the data is gone" in finding.problem

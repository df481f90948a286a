"""Whole runs of `swe_bench`: controls on the bundled tasks, an agent, and replies of every form."""

from __future__ import annotations

import json

import pytest

from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.swe_bench.dataset import load_swe_samples, to_swe_task
from evalcore.benchmarks.swe_bench.prompts import resolve_auto_style
from evalcore.errors import UsageError
from evalcore.settings import ROOT
from tests.support import agentic, tau_server

pytestmark = pytest.mark.slow

BUNDLED = ROOT / "datasets" / "swe_bench"
ROWS = [json.loads(line) for line in (BUNDLED / "tasks.jsonl").read_text("utf-8").splitlines()]
SMALL = next(row for row in ROWS if row["instance_id"] == "evalboard__wrapkit-11")


def asked(tmp_path, script, row=SMALL, dataset=None, **options):
    """What a target that answers by a script makes of a task."""
    with tau_server.serve(script) as server:
        summary, folder = agentic.run(
            tmp_path / "runs",
            "swe_bench",
            "openai:m",
            dataset=dataset or write_task(tmp_path, row),
            target_options={"base_url": server.base_url, "asking": "native"},
            **options,
        )
    [verdict] = agentic.verdicts(folder, summary).values()
    return summary, folder, verdict


def write_task(tmp_path, row):
    """A data set of one task, its bundle beside it."""
    folder = tmp_path / "data"
    (folder / "repositories").mkdir(parents=True, exist_ok=True)
    (folder / row["bundle"]).write_bytes((BUNDLED / row["bundle"]).read_bytes())
    (folder / "tasks.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize("tasks", [3, pytest.param(len(ROWS), marks=pytest.mark.full)])
def test_the_reference_resolves_all_by_real_runs_and_doing_nothing_none(tmp_path, tasks):
    best, made = agentic.run(tmp_path / "a", "swe_bench", "control:reference", max_samples=tasks)
    score = best.benchmarks["swe_bench"]
    assert (best.state, score.score, score.samples) == ("done", 100, tasks)
    assert score.views == {"official": 100, "hardened": 100, "repaired": 100}
    assert score.groups["applies_rate"] == 100
    for verdict in agentic.verdicts(made, best).values():
        assert verdict.evidence_kind == "executed"
        assert (verdict.details["runner"], verdict.details["exit_code"]) == ("local", 0)
    assert made.read_spec().benchmarks[0].options["prompt_style"] == "files"
    for idle in ("null", "noop"):
        worst, _ = agentic.run(tmp_path / idle, "swe_bench", f"control:{idle}", max_samples=tasks)
        assert (worst.state, worst.benchmarks["swe_bench"].score) == ("done", 0)


@pytest.mark.full
def test_the_reference_resolves_as_an_agent_too(tmp_path):
    summary, folder = agentic.run(
        tmp_path,
        "swe_bench",
        "control:reference",
        prompt_style="agent",
        difficulties="1-4 hours",
        max_samples=2,
    )
    assert summary.benchmarks["swe_bench"].score == 100
    calls = [line.episode.state["calls"] for line in folder.read_episodes()]
    assert all(call["name"] == "run" for [call] in calls)


@pytest.mark.full
def test_a_malformed_patch_is_repaired_beside_the_score(tmp_path):
    headless = "\n".join(
        line for line in SMALL["patch"].splitlines() if not line.startswith(("diff ", "index "))
    )
    unprefixed = headless.replace("--- a/", "--- ").replace("+++ b/", "+++ ")
    summary, _, verdict = asked(tmp_path, [f"Here:\n```diff\n{unprefixed}\n```"])
    assert summary.benchmarks["swe_bench"].views["repaired"] == 100
    assert (verdict.outcome, verdict.details["repair"]) != ("passed", "none")


def test_a_forged_result_scores_nothing_and_counts_in_the_official_view_alone(tmp_path):
    conftest = (
        "import pytest\n\n\n@pytest.hookimpl(hookwrapper=True)\n"
        "def pytest_runtest_makereport(item, call):\n    outcome = yield\n"
        "    report = outcome.get_result()\n    report.outcome = 'passed'\n"
        "    report.longrepr = None\n"
    )
    body = "".join(f"+{line}\n" for line in conftest.splitlines())
    count = len(conftest.splitlines())
    patch = (
        "diff --git a/conftest.py b/conftest.py\nnew file mode 100644\n--- /dev/null\n"
        f"+++ b/conftest.py\n@@ -0,0 +1,{count} @@\n{body}"
    )
    summary, _, verdict = asked(tmp_path, [f"```diff\n{patch}```"])
    views = summary.benchmarks["swe_bench"].views
    assert (views["official"], views["hardened"], views["repaired"]) == (100, 0, 0)
    assert summary.benchmarks["swe_bench"].score == 0
    assert (verdict.outcome, verdict.reason) == ("failed", "tampered")
    assert "needs_machinery" in verdict.details["flags"]


@pytest.mark.parametrize("reply", ["--- \n- first I read\n+ then I fix", "I would fix it.", ""])
def test_a_plan_is_no_patch(tmp_path, reply):
    summary, _, verdict = asked(tmp_path, [reply])
    assert (verdict.outcome, verdict.details["resolved"]) == ("failed", False)
    assert summary.benchmarks["swe_bench"].views["repaired"] == 0


def test_without_a_repository_nothing_is_executed_and_nothing_ranked(tmp_path):
    row = {**SMALL, "bundle": ""}
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "tasks.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    reply = f"```diff\n{SMALL['patch']}```"
    summary, made, verdict = asked(tmp_path, [reply], dataset=folder)
    score = summary.benchmarks["swe_bench"]
    assert (verdict.outcome, verdict.details["resolved"]) == ("not_executed", None)
    assert (score.complete, score.views, score.groups["applies_rate"]) == (False, {}, None)
    assert score.groups["line_f1"] == 100
    assert made.read_spec().benchmarks[0].options["prompt_style"] == "issue_only"


def test_a_task_that_its_true_patch_does_not_resolve_is_unusable(tmp_path):
    row = {**SMALL, "patch": SMALL["counterexamples"][0]}
    reply = f"```diff\n{SMALL['patch']}```"
    summary, _, verdict = asked(tmp_path, [reply], row=row)
    score = summary.benchmarks["swe_bench"]
    assert (verdict.outcome, verdict.reason) == ("environment_error", "unusable_task")
    assert (score.samples, score.full) == (0, False)
    assert score.label.endswith("1 unusable")


@pytest.mark.full
def test_an_agent_edits_tests_and_submits(tmp_path):
    command = f"git apply - <<'EOF'\n{SMALL['patch']}EOF"
    script = [
        {"name": "list_files", "kwargs": {}},
        {"name": "run", "kwargs": {"command": "python -m pytest -q tests"}},
        {"name": "run", "kwargs": {"command": command}},
        {"name": "submit", "kwargs": {}},
    ]
    summary, folder, verdict = asked(tmp_path, script, prompt_style="agent")
    assert summary.benchmarks["swe_bench"].score == 100
    assert verdict.details["call_reading"] == "native"
    [episode] = [line.episode for line in folder.read_episodes()]
    assert episode.state["patch"].startswith("diff --git")
    assert "passed" in episode.state["calls"][1]["result"]


def test_work_that_is_never_submitted_counts_as_it_stands(tmp_path):
    command = f"git apply - <<'EOF'\n{SMALL['patch']}EOF"
    script = [{"name": "run", "kwargs": {"command": command}}]
    summary, folder, _ = asked(tmp_path, script, prompt_style="agent", max_steps=1)
    assert summary.benchmarks["swe_bench"].score == 100
    assert [line.episode.termination for line in folder.read_episodes()] == ["max_steps"]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"prompt_style": "text"}, "have no text"),
        ({"context_lines": -1}, "context_lines"),
        ({"max_steps": 0}, "max_steps"),
        ({"difficulties": "easy"}, "difficulties"),
        ({"full_eval": "true"}, "swebench"),
    ],
)
def test_what_cannot_be_run_is_said_before(tmp_path, options, named):
    with pytest.raises(UsageError, match=named):
        agentic.run(tmp_path, "swe_bench", "control:null", **options)


def test_auto_is_the_most_that_all_tasks_can_show():
    tasks = [to_swe_task(sample) for sample in load_swe_samples(DatasetSource(str(BUNDLED)))]
    assert resolve_auto_style(tasks) == "files"

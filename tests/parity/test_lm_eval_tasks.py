"""lm-evaluation-harness by itself and through our runner: the same answers, likelihoods and
metrics, with the tests' tiny local model and with a model that answers by rule behind a server.
"""

from __future__ import annotations

from typing import Any

import pytest

from evalcore.access.secrets import Secrets
from evalcore.runner import plan
from evalcore.runner.in_process import plan_checked_run, work_on_run_here
from evalcore.runner.run_request import RunRequest
from evalcore.settings import Settings, override_data_folder
from evalcore.store.run_folder import RunFolder
from tests.support.lm_eval import (
    evaluate_by_lm_eval,
    harnesses,
    python,
    serve_completions,
    settings,
)
from tests.support.tiny_models import TinyModel, tiny

__all__ = ["harnesses", "python", "settings", "tiny"]

pytestmark = pytest.mark.usefixtures("harnesses")

KEY = "academic"
GENERATION, CHOICES, CODE = "evalboard_arithmetic", "evalboard_choices", "evalboard_code"
INSTRUCTIONS = "evalboard_instructions"


def run_here(settings: Settings, request: RunRequest) -> RunFolder:
    with override_data_folder(settings.data):
        run_plan = plan_checked_run(
            request, settings, Secrets(), warn=print, progress=lambda line: None
        )
        folder = plan.create_folder(run_plan, settings)
        work_on_run_here(folder.run_id, settings, Secrets())
    return folder


def compare(folder: RunFolder, official: dict[str, Any], tolerance: float) -> None:
    """Every answer, likelihood and metric, and the score of every task."""
    samples = {line.sample.key: line.sample for line in folder.read_samples()}
    episodes = {line.episode.key: line.episode for line in folder.read_episodes()}
    summary = folder.read_summary()
    assert summary is not None
    verdicts = {
        f"{line.verdict.metric}/{line.verdict.id}": line.verdict
        for line in folder.read_verdicts(summary.scoring)
    }
    assert len(samples) == sum(len(task["samples"]) for task in official.values())
    for key, sample in samples.items():
        theirs = official[sample.metric]["samples"][sample.id]
        ours = episodes[key]
        if "likelihoods" in ours.state:
            logprobs, greedy = zip(*ours.state["likelihoods"], strict=True)
            their_logprobs, their_greedy = zip(*theirs["answers"], strict=True)
            assert logprobs == pytest.approx(their_logprobs, abs=tolerance), key
            assert greedy == their_greedy, key
        else:
            assert [ours.answer] == theirs["answers"], key
        assert verdicts[key].score == theirs["metric"], key
    score = summary.benchmarks[KEY]
    for task, results in official.items():
        assert score.metrics[task].score == pytest.approx(100 * results["score"]), task


def test_the_tiny_model_gets_what_lm_eval_gives_it(
    settings: Settings,
    python: str,
    tiny: TinyModel,
) -> None:
    tasks, limit = [GENERATION, CHOICES, CODE], 2
    official = evaluate_by_lm_eval(python, tasks, str(tiny.base), limit)
    request = RunRequest(
        target=f"hf:{tiny.base}",
        target_options={"dtype": "float32", "batch_size": 1, "device": "cpu"},
        benchmarks=(KEY,),
        options={KEY: {"tasks": tasks, "limit": limit}},
    )
    compare(run_here(settings, request), official, tolerance=1e-3)


def test_a_server_of_completions_gets_what_lm_eval_gives_it(
    settings: Settings, python: str
) -> None:
    tasks = [GENERATION, CHOICES, CODE, INSTRUCTIONS]
    official = evaluate_by_lm_eval(python, tasks, "", 0)
    with serve_completions() as server:
        request = RunRequest(
            target="openai:by-rule",
            target_options={"base_url": server.address, "api": "completions"},
            benchmarks=(KEY,),
            options={KEY: {"tasks": tasks}},
        )
        folder = run_here(settings, request)
    compare(folder, official, tolerance=1e-9)
    scores = {task: results["score"] for task, results in official.items()}
    assert scores[GENERATION] == scores[CODE] == scores[INSTRUCTIONS] == 0.5
    assert 0 < scores[CHOICES] < 1

"""SWE-bench under protocol=official: upstream's prompt, sampling, and rules that rank."""

from __future__ import annotations

import msgspec
import pytest

from evalcore.benchmarks.base import DatasetSource, check_options
from evalcore.benchmarks.official_texts import read_official_texts
from evalcore.benchmarks.swe_bench import Task, prompts, verdict
from evalcore.benchmarks.swe_bench.benchmark import SweBench
from evalcore.benchmarks.swe_bench.evaluate_patch import (
    HardenedResult,
    PatchEvaluation,
    SubmittedAnswer,
)
from evalcore.errors import UsageError
from evalcore.exchange.swe_bench import TEXTS_FOLDER, fetch_swe_texts
from evalcore.records import Sampling
from evalcore.settings import load_settings
from tests.unit.test_swe_verdict import EPISODE, PATCH, SAMPLE, TASK, ran

PROMPT = '''
PATCH_EXAMPLE = """--- a/x
+++ b/x"""

def prompt_style_3(instance):
    premise = "You see code."
    code_text = make_code_text(instance["file_contents"])
    readmes_text = make_code_text(instance["readmes"])
    problem_statement = instance["problem_statement"]
    final_text = [premise, "<i>", problem_statement, "</i>", readmes_text, code_text, PATCH_EXAMPLE]
    final_text = "\\\\n".join(final_text)
    return final_text
'''
RUNNER = """
def openai_inference(dataset, model_args):
    temperature = model_args.pop("temperature", 0.3)
    top_p = model_args.pop("top_p", 0.8 if temperature > 0 else 1)
    text = f"{dataset['text']}\\\\n\\\\n"
    raise SystemExit
"""


@pytest.fixture
def fetched(tmp_path, monkeypatch):
    monkeypatch.setenv("EVALBOARD_DATA", str(tmp_path / "data"))
    root = tmp_path / "swe"
    (root / "swebench/inference/make_datasets").mkdir(parents=True)
    module = root / "swebench/inference/make_datasets/create_instance.py"
    module.write_text(PROMPT.replace("\\\\n", "\\n"))
    (root / "swebench/inference/run_api.py").write_text(RUNNER.replace("\\\\n", "\\n"))
    fetch_swe_texts(load_settings(), root, lambda line: None)
    return tmp_path / "data" / "datasets" / TEXTS_FOLDER


def load_texts(folder):
    found = read_official_texts(folder, "swe_bench")
    assert found is not None
    return found.read_as(prompts.SweTexts)


def test_the_prompt_and_the_sampling_are_read_and_nothing_is_run(fetched):
    texts = load_texts(fetched)
    assert (texts.ending, texts.temperature, texts.top_p) == ("\n\n", 0.3, 0.8)
    task = msgspec.structs.replace(TASK, problem_statement="It breaks.\r\nReally.", text="")
    files = {"b.py": "x\n", "a.py": "y"}
    system, user = prompts.build_official_messages(task, texts, {"README.md": "# T"}, files)
    assert system.content == "You see code."
    assert user.content == (
        "<i>\nIt breaks.\r\nReally.\n</i>\n[start of README.md]\n1 # T\n[end of README.md]\n"
        "[start of a.py]\n1 y\n[end of a.py]\n[start of b.py]\n1 x\n2 \n[end of b.py]\n"
        "--- a/x\n+++ b/x\n\n"
    )


def test_a_task_with_its_own_text_is_asked_with_it(fetched):
    task: Task = msgspec.structs.replace(TASK, text="You see code.\n<issue>\nx")
    system, user = prompts.build_official_messages(task, load_texts(fetched), {}, {})
    assert (system.content, user.content) == ("You see code.", "<issue>\nx\n\n")


def test_sampling_and_styles_are_upstreams(fetched):
    texts = read_official_texts(fetched, "swe_bench")
    assert texts is not None
    options = {"protocol": "official"}
    made = SweBench(check_options(SweBench.card, options))
    made.select_official_texts(DatasetSource(path="."), load_settings())
    assert made.sampling == Sampling(temperature=0.3, top_p=0.8)
    assert made.options["official_texts"] == texts.hash
    for style in ("agent", "issue_only"):
        with pytest.raises(UsageError, match="protocol=official uses"):
            SweBench(check_options(SweBench.card, {**options, "prompt_style": style}))


def test_the_official_rules_rank_under_the_official_protocol_alone():
    forged = PatchEvaluation(
        SubmittedAnswer(PATCH), execution=ran(), hardened=HardenedResult(resolved=False)
    )
    for official, outcome in ((False, "failed"), (True, "passed")):
        result = verdict.build_swe_verdict(SAMPLE, EPISODE, TASK, forged, official=official)
        assert result.outcome == outcome
        assert (result.views["official"], result.views["hardened"]) == (1.0, 0.0)

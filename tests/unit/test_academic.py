"""Academic tasks without lm-eval: profiles, profile files, what is said where it is absent, how
completions and likelihoods are read, and how programs are run."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from evalcore import catalog
from evalcore.access.secrets import Secrets
from evalcore.benchmarks import registry
from evalcore.benchmarks.academic import harness_samples, profiles
from evalcore.benchmarks.academic.benchmark import _to_sample
from evalcore.benchmarks.academic.code_results import CodeResults, ProgramsNeeded
from evalcore.benchmarks.academic.harness_records import BuiltSample, BuiltTask, hash_program
from evalcore.benchmarks.academic.task_metrics import extract_program, instructions_followed
from evalcore.cli.main import main
from evalcore.errors import MissingDependency, TargetFailure, UsageError
from evalcore.exchange.bundle.checks import check_code_options
from evalcore.records import Completion, Failure, GenerationRequest, Message, Sample, Sampling
from evalcore.runner import dataset_check, run_request
from evalcore.runner.dataset_check import DatasetReport
from evalcore.runner.plan import plan_run
from evalcore.runner.request_policy import check_request
from evalcore.runner.run_request import RunRequest
from evalcore.settings import load_settings
from evalcore.targets.base import LEAST_LOGPROB, TargetInfo, bound_logprob
from evalcore.targets.endpoint.completions import CompletionsDialect, fit_to_request
from evalcore.targets.endpoint.dialect import Capabilities
from evalcore.views.cases import is_gated

ROOT = Path(__file__).parents[2]
TASKS = ROOT / "datasets" / "academic"
KEY = "academic"


def read_config(tmp_path: Path, text: str, **flags: Any) -> RunRequest:
    file = tmp_path / "profile.yaml"
    file.write_text(text, encoding="utf-8")
    return run_request.apply_flags(*run_request.read_run_config(file), flags)[0]


def test_profiles_are_named_in_both_languages_and_their_variants_are_tasks() -> None:
    file = profiles.load_profiles()
    assert all(profile.en and profile.zh and profile.tasks for profile in file.profiles.values())
    assert set(file.aliases.values()) <= set(file.profiles)
    assert {key for keys in file.benchmarks.values() for key in keys} <= set(
        catalog.benchmark_cards()
    )
    assert profiles.find_variant("mmlu_anatomy") == "mmlu_generative"
    assert profiles.find_variant("hellaswag") == ""
    with pytest.raises(UsageError, match="no profile 'nonsense'; known: bundled, "):
        profiles.find_profile("nonsense")


def test_fewshot_and_limit_are_those_of_the_profile_unless_a_run_says_otherwise() -> None:
    profile = profiles.find_profile("compare_study")
    (kept,) = profiles.build_task_requests(profile, ["hellaswag"], -1, -1)
    assert (kept.fewshot, kept.limit, kept.metric) == (5, 100, "acc_norm")
    (changed,) = profiles.build_task_requests(profile, ["gsm8k"], 0, 0)
    assert (changed.fewshot, changed.limit, changed.metric) == (0, 0, "")


def test_bundled_tasks_are_metrics_of_the_card_and_have_a_file_each() -> None:
    files = {path.stem for path in TASKS.glob("*.yaml")}
    assert files == {metric.key for metric in catalog.benchmark_card(KEY).metrics}
    assert not list(TASKS.glob("**/*.py"))
    for name in ("bundled", "bundled_likelihoods"):
        assert set(profiles.find_profile(name).tasks) < files


def test_a_profile_file_becomes_a_run(tmp_path: Path) -> None:
    text = """
profile: compare_study
claim: a small model is good enough
tasks: [gsm8k, piqa]
num_fewshot: 3
limit: 10
batch_size: auto
device: auto
dtype: bfloat16
trust_remote_code: true
confirm_run_unsafe_code: true
study: {baseline_preset: a, candidate_preset: b, notes: none}
"""
    request = read_config(tmp_path, text, target="hf:model")
    assert request.benchmarks == (KEY,)
    options = {"profile": "comparison", "tasks": ["gsm8k", "piqa"], "fewshot": 3, "limit": 10}
    assert request.options == {KEY: options}
    assert request.target_options == {"dtype": "bfloat16", "device": "auto"}
    agentic = read_config(tmp_path, "profile: agentic_tool_use", target="openai:a")
    assert agentic.benchmarks == ("bfcl", "tau_bench")


def test_flags_win_over_a_profile_file(tmp_path: Path) -> None:
    flags = {"target": "openai:a", "options": {KEY: {"limit": "7"}}}
    request = read_config(tmp_path, "profile: math\nlimit: 100", **flags)
    assert request.options[KEY] == {"profile": "math", "limit": "7"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("profile: math\nshots: 5\nmodle: x", "unknown fields: shots, modle; known: profile, "),
        ("profile: mathematics", "no profile 'mathematics'; known: bundled, "),
        ("tasks: gsm8k", "Expected `array`"),
        ("profile: math\nlimit: many", "Expected `int"),
    ],
)
def test_a_wrong_profile_file_is_refused_by_field(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        read_config(tmp_path, text, target="openai:a")


@pytest.fixture
def absent(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if lm-eval were not installed."""
    monkeypatch.setattr(catalog, "find_spec", lambda name: None)
    monkeypatch.delenv("EVALBOARD_LM_EVAL_PYTHON", raising=False)


@pytest.mark.usefixtures("absent")
def test_without_lm_eval_lists_and_plans_say_how_to_install_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["list", "benchmarks", "--data", str(tmp_path)]) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith(KEY))
    assert "pip install 'evalboard[academic]'" in line
    request = RunRequest(target="control:null", benchmarks=(KEY,))
    with pytest.raises(MissingDependency, match=r"pip install 'evalboard\[academic\]'"):
        plan_run(request, load_settings(tmp_path))
    assert main([KEY, "list", "--data", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    assert "reasoning" in printed.out
    assert "evalboard[academic]" in printed.err


def test_the_verb_lists_one_profile(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([KEY, "list", "math", "--json", "--data", str(tmp_path)]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert listed["tasks"] == ["gsm8k", "arc_challenge"]
    assert (listed["fewshot"], listed["limit"]) == (5, 100)
    assert main([KEY, "list", "nonsense", "--data", str(tmp_path)]) == 2


def test_a_python_that_cannot_be_started_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVALBOARD_LM_EVAL_PYTHON", str(tmp_path / "python"))
    request = RunRequest(target="control:null", benchmarks=(KEY,))
    with pytest.raises(MissingDependency, match="EVALBOARD_LM_EVAL_PYTHON names"):
        plan_run(request, load_settings(tmp_path))


def test_visitors_choose_a_profile_and_no_tasks(tmp_path: Path) -> None:
    settings = msgspec.structs.replace(load_settings(tmp_path), access="passcode")
    allowed = RunRequest("control:null", (KEY,), options={KEY: {"profile": "math"}})
    check_request(allowed, settings, Secrets())
    for name in ("tasks", "folder"):
        request = RunRequest("control:null", (KEY,), options={KEY: {name: "x"}})
        with pytest.raises(UsageError, match=f"academic.{name}"):
            check_request(request, settings, Secrets())


def choice_sample(task: str) -> Sample:
    question = {"kind": "choice", "prompt": "Q", "texts": [" a", " b"], "choices": ["a", "b"]}
    return Sample(task, "0", question, {"gold": [1], "task": task})


def test_a_target_without_likelihoods_is_refused_with_a_remedy() -> None:
    benchmark = registry.instantiate_benchmark(KEY)
    chat = TargetInfo(kind="endpoint", title="a chat model")
    with pytest.raises(UsageError, match=r"Nothing was asked.*arc_challenge_chat"):
        benchmark.check_target([choice_sample("arc_challenge")], chat)
    with pytest.raises(UsageError, match=r"which these tasks need: piqa.*api=completions"):
        benchmark.check_target([choice_sample("piqa")], chat)
    able = TargetInfo(kind="local", title="a local model", likelihoods=True)
    benchmark.check_target([choice_sample("piqa")], able)
    benchmark.check_target([choice_sample("piqa")], TargetInfo(kind="control", title="c"))


# Completions and likelihoods.


def build(request: GenerationRequest) -> tuple[Any, dict[str, Any]]:
    dialect = fit_to_request(CompletionsDialect("m", {"user": "u"}), request)
    parameters = CompletionsDialect("m", {"user": "u"}).build_parameters(
        Sampling(max_tokens=9, stop=("\n",)), Capabilities()
    )
    return dialect, dialect.build_request(request, parameters, Capabilities()).body


def test_a_text_is_sent_as_it_stands_and_turns_as_lines() -> None:
    text = GenerationRequest((Message("user", "Once upon"),), is_text=True)
    body = {"model": "m", "prompt": "Once upon", "max_tokens": 9, "stop": ["\n"], "user": "u"}
    assert build(text)[1] == body
    turns = GenerationRequest((Message("system", "Be kind."), Message("user", "Hi")))
    assert build(turns)[1]["prompt"] == "System: Be kind.\nUser: Hi\nAssistant:"


def echo(tokens: list[str], values: list[float | None], best: list[str]) -> dict[str, Any]:
    offsets = [sum(map(len, tokens[:number])) for number in range(len(tokens))]
    likeliest = [
        None if value is None else {word: -0.1} for word, value in zip(best, values, strict=True)
    ]
    logprobs = {
        "tokens": tokens,
        "token_logprobs": values,
        "text_offset": offsets,
        "top_logprobs": likeliest,
    }
    return {"index": 0, "text": "".join(tokens), "logprobs": logprobs, "finish_reason": "length"}


@pytest.mark.parametrize(
    ("context", "text", "expected"),
    [
        ("The sky", " is blue", (-3.0, True)),
        ("The sky ", "is blue", (-3.0, True)),  # the space belongs to what follows
        ("The", " sky is blue", (-3.5, False)),
        ("", "The sky is blue", (-3.5, False)),  # nothing precedes the first token
    ],
)
def test_the_likelihood_is_that_of_the_tokens_after_the_context(
    context: str, text: str, expected: tuple[float, bool]
) -> None:
    request = GenerationRequest((), continuations=((context, text),))
    dialect, body = build(request)
    assert body["prompt"] == [context + text]
    assert (body["echo"], body["logprobs"], body["temperature"]) == (True, 1, 0.0)
    tokens = ["The", " sky", " is", " blue", " today"]
    best = ["The", " sea", " is", " blue", " now"]
    reply = {"choices": [echo(tokens, [None, -0.5, -1.0, -2.0, -9.0], best)], "model": "m"}
    completion = dialect.parse_reply(reply, {})
    assert isinstance(completion, Completion)
    assert completion.likelihoods == (expected,)


@pytest.mark.parametrize(
    ("reply", "kind", "words"),
    [
        ({"choices": [{"text": "x", "logprobs": None}]}, "permanent", "does not say how likely"),
        ({"choices": []}, "malformed", "0 choices for 1 texts"),
        ({"choices": [{"logprobs": {"tokens": ["a"], "token_logprobs": "?"}}]}, "malformed", ""),
        ({"choices": "x"}, "malformed", ""),
        ([], "malformed", ""),
        ({"error": {"message": "no such model", "code": 404}}, "permanent", "no such model"),
    ],
)
def test_a_reply_without_likelihoods_is_a_failure_and_no_score(
    reply: Any, kind: str, words: str
) -> None:
    dialect, _ = build(GenerationRequest((), continuations=(("a", " b"),)))
    failure = dialect.parse_reply(reply, {})
    assert isinstance(failure, Failure)
    assert failure.kind == kind
    assert words in failure.message


def test_log_probabilities_stay_within_what_json_holds() -> None:
    assert bound_logprob(float("-inf")) == bound_logprob(float("nan")) == LEAST_LOGPROB
    assert bound_logprob(1e-9) == 0.0
    assert bound_logprob(-2.5) == -2.5


# Programs and metrics.


def test_a_metric_that_runs_code_asks_for_programs_and_runs_none() -> None:
    results = CodeResults()
    assert results.compute(["assert True"], [["boom"]], [1]) == ({"pass@1": 0.0}, {})
    results.is_scoring = True
    with pytest.raises(ProgramsNeeded):
        results.compute(["assert f()"], [["def f(): ...", "def f(): return 1"]], [1, 2])
    assert results.needed == ["def f(): ...\nassert f()", "def f(): return 1\nassert f()"]
    results.passed = {hash_program(text): "1" in text for text in results.needed}
    shares, _ = results.compute(["assert f()"], [["def f(): ...", "def f(): return 1"]], [1, 2])
    assert shares == {"pass@1": 0.5, "pass@2": 1.0}


@pytest.mark.parametrize(
    ("answer", "program"),
    [
        ("```python\nx = 1\n```\nDone.", "x = 1"),
        ("```\nx = 1\n", "x = 1\n"),
        ("x = 1", "x = 1"),
        ("", ""),
    ],
)
def test_the_program_of_an_answer(answer: str, program: str) -> None:
    assert extract_program(answer) == program


def test_every_bundled_example_follows_its_instructions_and_nothing_follows_none() -> None:
    rows = (TASKS / "instructions.jsonl").read_text(encoding="utf-8").splitlines()
    for row in map(json.loads, rows):
        assert instructions_followed([row["checks"]], [row["example"]]) == 1.0, row["id"]
        assert instructions_followed([row["checks"]], [""]) == 0.0, row["id"]
        assert instructions_followed([row["checks"]], ["No, I will not; ask me later."]) == 0.0


def test_documents_are_kept_as_json_and_pictures_are_refused() -> None:
    assert harness_samples.to_plain({"a": (1, 2.5, None, float("inf"))}) == {
        "a": [1, 2.5, None, None]
    }
    with pytest.raises(harness_samples.HarnessError, match="holds a bytes"):
        harness_samples.to_plain({"image": b"\x89PNG"})


class Answering:
    """A context whose target answers every request alike."""

    epoch = 0

    def __init__(self, completion: Completion) -> None:
        self._completion = completion

    async def generate(self, request: GenerationRequest, role: str = "target") -> Completion:
        return self._completion


@pytest.mark.parametrize(
    ("completion", "failed"),
    [
        (Completion(text="B"), True),
        (Completion(likelihoods=((-1.0, False),)), True),
        (Completion(likelihoods=((-1.0, False), (-2.0, False))), False),
        (Completion(), False),  # a control that says nothing
    ],
)
def test_likelihoods_that_are_missing_are_a_failure(completion: Completion, failed: bool) -> None:
    benchmark = registry.instantiate_benchmark(KEY, {})
    question = {"kind": "choice", "prompt": "?", "texts": [" a", " b"], "choices": ["a", "b"]}
    sample = Sample("evalboard_choices", "1", question, {"gold": [0]})
    context: Any = Answering(completion)
    if failed:
        with pytest.raises(TargetFailure, match="likelihoods for 2 texts"):
            asyncio.run(benchmark.run_sample(sample, context))
    else:
        asyncio.run(benchmark.run_sample(sample, context))


def test_questions_of_gated_datasets_are_marked() -> None:
    assert harness_samples.is_gated_dataset("Idavidrein/gpqa")
    assert not harness_samples.is_gated_dataset("openai/gsm8k")
    assert not harness_samples.is_gated_dataset(None)
    built = BuiltTask("gpqa", "1", 0, "text", "exact_match", (BuiltSample(0, {}),), gated=True)
    assert is_gated(_to_sample(built, built.samples[0]))


def test_a_bundle_never_names_a_folder_of_tasks() -> None:
    benchmark = registry.instantiate_benchmark(KEY, {"folder": "tasks"})
    with pytest.raises(UsageError, match=r"academic\.folder names code"):
        check_code_options(benchmark)
    check_code_options(registry.instantiate_benchmark(KEY, {}))


def test_a_check_of_all_datasets_names_what_it_leaves_out(monkeypatch, capsys):
    checked = []

    def check(name: str, **_: object) -> DatasetReport:
        checked.append(name)
        return DatasetReport(name, name, "", 1, 0, {}, ())

    monkeypatch.setattr(catalog, "find_missing_extra", lambda card: card.extra)
    monkeypatch.setattr(dataset_check, "_check_dataset", check)
    assert main(["datasets", "check", "--jobs", "1"]) == 0
    assert "bfcl" in checked
    assert KEY not in checked
    assert "academic: not checked; needs pip install 'evalboard[academic]'" in (
        capsys.readouterr().err
    )

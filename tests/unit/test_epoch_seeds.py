"""Repetitions with a seed: each is sent one of its own, and none takes the answer of another."""

from __future__ import annotations

from pathlib import Path

from evalcore import settings as configuration
from evalcore.access.secrets import Secrets
from evalcore.exchange.report_data import format_run_summary
from evalcore.records import (
    Completion,
    Episode,
    GenerationRequest,
    Message,
    RunSpec,
    TargetSpec,
    from_json,
    to_json,
)
from evalcore.results import BenchmarkScore, RunSummary
from evalcore.runner.channels import CompletionCache, compute_cache_key
from evalcore.runner.plan import create_folder, plan_run
from evalcore.runner.run_request import RunRequest
from evalcore.runner.summary import mark_repeats
from evalcore.runner.worker import work_on_run
from tests.support.cases import syntax_cases
from tests.support.loopback_server import serve

REQUEST = GenerationRequest(messages=(Message("user", "hi"),))


def test_epochs_of_a_run_are_asked_for_with_seeds_of_their_own(tmp_path: Path) -> None:
    settings = configuration.Settings(data=str(tmp_path / "data"))
    cases = syntax_cases(tmp_path / "cases", 3)
    with serve() as server:
        for repeat in range(2):
            request = RunRequest(
                target="openai:test",
                target_options={"base_url": server.base_url, "seed": 7},
                benchmarks=("sql_understanding",),
                dataset=str(cases),
                epochs=3,
            )
            folder = create_folder(plan_run(request, settings), settings)
            work_on_run(folder, settings, Secrets({"OPENAI_API_KEY": "canary-Zq7x-0123456789-KEY"}))
            seeds: dict[int, set[int]] = {}
            for call in folder.read_calls():
                seeds.setdefault(call.epoch, set()).add(call.completion.sent["seed"])
                assert call.completion.cached == bool(repeat)
            assert [len(seeds[epoch]) for epoch in range(3)] == [1, 3, 3]  # of three samples
            assert seeds[0] == {7}
            assert len(set.union(*seeds.values())) == 7
            assert server.stats()["requests"] == 9


def test_the_first_epoch_keeps_the_answers_that_were_cached_before() -> None:
    assert "epoch" not in to_json(REQUEST).decode()
    old = b'{"messages": [{"role": "user", "content": "hi"}]}'
    assert from_json(GenerationRequest, old) == REQUEST


def test_an_answer_that_a_provider_broke_off_is_not_taken_from_the_cache(tmp_path: Path) -> None:
    cache = CompletionCache(tmp_path / "cache.sqlite")
    for reason, is_taken in (("stop", True), ("unknown", True), ("error", False), ("ABORT", False)):
        name = compute_cache_key(REQUEST, reason, "", 0)
        cache.put(name, Completion(text="a", finish_reason=reason))
        assert (cache.get(name) is not None) == is_taken
    cache.close()


def run_epochs(folder: Path, server_url: str, cases: int, **options: object) -> RunSummary:
    settings = configuration.Settings(data=str(folder / "data"))
    request = RunRequest(
        target="openai:test",
        target_options={"base_url": server_url, **options},
        benchmarks=("sql_understanding",),
        dataset=str(syntax_cases(folder / "cases", cases)),
        epochs=2,
    )
    made = create_folder(plan_run(request, settings), settings)
    return work_on_run(made, settings, Secrets({"OPENAI_API_KEY": "canary-Zq7x-0123456789-KEY"}))


def test_repeats_that_are_all_alike_are_named_deterministic(tmp_path: Path) -> None:
    with serve() as server:  # its answers follow from the prompt alone
        for number, (cases, options, named) in enumerate(
            [
                (6, {}, "deterministic"),
                (2, {"temperature": 0}, "deterministic"),
                (2, {}, ""),  # too few to be no chance
            ]
        ):
            summary = run_epochs(tmp_path / str(number), server.base_url, cases, **options)
            score = summary.benchmarks["sql_understanding"]
            assert score.repeats == named
            assert ("repeats: deterministic" in format_run_summary(summary)) == bool(named)


def test_deterministic_repeats_have_no_pass_k_beyond_one() -> None:
    spec = RunSpec("r", "", TargetSpec("openai:m", {"temperature": "0"}), (), epochs=2)
    groups = {"pass^1": 50.0, "pass^1.low": 40.0, "pass^2": 50.0, "pass^2.low": 1.0, "p0": 3.0}
    fields = {"column": "", "score": 50.0, "interval": None, "answered": 50.0, "coverage": 1.0}
    fields |= {"samples": 1, "complete": True, "full": True, "metrics": {}, "outcomes": {}}
    score = BenchmarkScore(benchmark="b", groups=groups, **fields)

    def repeat(*texts: str) -> BenchmarkScore:
        episodes = [
            Episode("k", epoch, messages=(Message("assistant", text),))
            for epoch, text in enumerate(texts)
        ]
        return mark_repeats(score, spec, [episodes])

    marked = repeat("same", "same")
    assert marked.repeats == "deterministic"
    known = {name for name, value in marked.groups.items() if value is not None}
    assert known == {"pass^1", "pass^1.low", "p0"}
    assert repeat("one", "another") == score
    assert repeat("alone") == score

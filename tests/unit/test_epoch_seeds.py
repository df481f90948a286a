"""Repetitions with a seed: each is sent one of its own, and none takes the answer of another."""

from __future__ import annotations

from pathlib import Path

from evalcore import settings as configuration
from evalcore.access.secrets import Secrets
from evalcore.records import Completion, GenerationRequest, Message, from_json, to_json
from evalcore.runner.channels import CompletionCache, compute_cache_key
from evalcore.runner.plan import create_folder, plan_run
from evalcore.runner.run_request import RunRequest
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
            assert [len(seeds[epoch]) for epoch in range(3)] == [1, 1, 1]
            assert seeds[0] == {7}
            assert len(set.union(*seeds.values())) == 3
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

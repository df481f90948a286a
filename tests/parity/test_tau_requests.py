"""Under protocol=official every request of tau-bench is upstream's, for agent and user."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from evalcore.benchmarks.base import DatasetSource, user_role
from evalcore.benchmarks.registry import instantiate_benchmark
from evalcore.exchange.tau_bench import fetch_tau
from evalcore.records import Completion, GenerationRequest, Sampling, ToolCall, Usage
from evalcore.settings import load_settings
from evalcore.targets.endpoint.chat import build_parameters, build_request_body
from evalcore.targets.endpoint.dialect import Capabilities
from tests.support.tau_script import agent_answer, hash_request, user_line
from tests.support.upstream import ask_upstream, upstream_checkout

USER = "openai:gpt-4o"
MODES = {
    "tool-calling": ("native", "json"),
    "act": ("prompt", "json"),
    "react": ("prompt", "react"),
}


class ScriptedContext:
    """Answers as the script does, and keeps what it was asked as it goes over the wire."""

    epoch, seed, judges = 0, 0, ()

    def __init__(self, task: dict[str, Any], style: str) -> None:
        self._task, self._style = task, style
        self.requests: list[str] = []
        self._counts = {"target": 0, user_role(USER): 0}

    def price(self, role: str, usage: Usage) -> float:
        return 0.0

    async def resolve_tool_call_mode(self) -> str:
        return MODES[self._style][0]

    async def generate(self, request: GenerationRequest, role: str = "target") -> Completion:
        parameters = build_parameters("", request.sampling, {}, Capabilities())
        body = build_request_body(request, parameters, Capabilities())
        who = "agent" if role == "target" else "user"
        shown = {
            key: value for key, value in body.items() if key in ("messages", "tools", "temperature")
        }
        self.requests.append(hash_request({"who": who, **shown}))
        number, self._counts[role] = self._counts[role], self._counts[role] + 1
        if who == "user":
            return Completion(text=user_line(number))
        answer = agent_answer(self._task, self._style, number)
        calls = tuple(
            ToolCall(call["id"], call["function"]["name"], call["function"]["arguments"])
            for call in answer["tool_calls"]
        )
        return Completion(text=answer["content"] or "", tool_calls=calls)


@pytest.fixture(scope="module")
def checkout():
    return upstream_checkout("tau-bench")


@pytest.fixture
def fetched(checkout, tmp_path, monkeypatch):
    monkeypatch.setenv("EVALBOARD_DATA", str(tmp_path))
    folder = tmp_path / "datasets" / "tau-v1"
    assert fetch_tau(folder, checkout, lambda line: None).commit != "unknown"
    return folder


def play_ours(folder, questions):
    """Our requests of each conversation."""
    conversations = []
    samples: dict[str, Any] = {}
    for asked in questions:
        style = asked["style"]
        benchmark = instantiate_benchmark(
            "tau_bench",
            {
                "protocol": "official",
                "use_llm_user": True,
                "user_model": USER,
                "style": MODES[style][1],
                "split": asked["split"],
                "domain": asked["domain"],
            },
        )
        source = DatasetSource(str(folder))
        key = f"{asked['domain']}/{asked['split']}"
        if key not in samples:
            samples[key] = benchmark.load_dataset(source)
        benchmark.select_official_texts(source, load_settings())
        sample = samples[key][asked["index"]]
        assert sample.id == f"{key}/{asked['index']}"
        actions = [
            {"name": action["name"], "kwargs": json.loads(action["kwargs"])}
            for action in sample.reference["actions"]
        ]
        context = ScriptedContext({"key": sample.id, "actions": actions}, style)
        asyncio.run(benchmark.run_sample(sample, context))
        conversations.append(context.requests)
    return conversations


def compare_conversations(checkout, fetched, tasks):
    questions = [
        {"domain": domain, "split": "test", "index": index, "style": style}
        for domain, index in tasks
        for style in MODES
    ]
    theirs = ask_upstream("upstream_tau", checkout, questions)
    ours = play_ours(fetched, questions)
    differing = []
    requests = 0
    for asked, expected, got in zip(questions, theirs, ours, strict=True):
        requests += len(expected)
        if expected != got:
            differing.append(asked)
    assert not differing
    return requests


def test_requests_of_a_few_conversations_are_upstreams(checkout, fetched):
    tasks = [("retail", index) for index in (0, 3, 12)] + [("airline", 2), ("airline", 46)]
    assert compare_conversations(checkout, fetched, tasks) > 100


@pytest.mark.full
def test_requests_of_every_conversation_are_upstreams(checkout, fetched):
    tasks = [("retail", index) for index in range(115)] + [("airline", i) for i in range(50)]
    assert compare_conversations(checkout, fetched, tasks) > 5_000


def test_sampling_is_upstreams(checkout, fetched):
    benchmark = instantiate_benchmark("tau_bench", {"protocol": "official"})
    benchmark.select_official_texts(DatasetSource(str(fetched)), load_settings())
    assert benchmark.sampling == Sampling(temperature=0.0)

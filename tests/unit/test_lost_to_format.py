"""A call that a target asked natively writes as text is lost to its format, in every benchmark that
runs an agent: it is not made, nobody takes it for an answer, and the verdict says so.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.registry import instantiate_benchmark
from evalcore.benchmarks.swe_bench import benchmark as swe
from evalcore.benchmarks.swe_bench.evaluate_patch import evaluate_without_running
from evalcore.catalog import benchmark_card
from evalcore.records import Completion, GenerationRequest
from evalcore.settings import ROOT

OPTIONS: dict[str, dict[str, Any]] = {
    "gaia": {"tool_mode": "local"},
    "swe_bench": {"prompt_style": "agent"},
    "bfcl": {},
    "tau_bench": {},
    "tau2_bench": {},
}
CASES = [
    *(("gaia", None, form) for form in ("json", "xml")),
    *(("swe_bench", None, form) for form in ("json", "xml")),
    ("bfcl", "multi_turn_base", "xml"),
    ("bfcl", "memory_rec_sum", "xml"),
    ("bfcl", "web_search_base", "json"),
    ("tau_bench", None, "json"),
    ("tau2_bench", None, "xml"),
]
FORMS = {"json": "{}", "xml": "I will look.\n<tool_call>\n{}\n</tool_call>"}


class WritingContext:
    """Writes the first tool that it is offered as text, `times` times, then an answer."""

    epoch = seed = 0
    judges = ()

    def __init__(self, form: str, times: int) -> None:
        self._form, self._left = FORMS[form], times
        self.requests: list[GenerationRequest] = []

    async def resolve_tool_call_mode(self) -> str:
        return "native"

    async def generate(self, request: GenerationRequest, role: str = "target") -> Completion:
        self.requests.append(request)
        if not self._left:
            return Completion(text="FINAL ANSWER: I do not know.", finish_reason="stop")
        self._left -= 1
        function = request.tools[0]["function"]
        required = function["parameters"].get("required", [])
        arguments = ", ".join(f'"{name}": "a"' for name in required)
        call = f'{{"name": "{function["name"]}", "arguments": {{{arguments}}}}}'
        return Completion(text=self._form.replace("{}", call), finish_reason="stop")

    def price(self, role: str, usage: Any) -> None:
        return None


def run_first_sample(key: str, metric: str | None, context: WritingContext) -> Any:
    benchmark = instantiate_benchmark(key, OPTIONS[key])
    source = DatasetSource(str(ROOT / "datasets" / benchmark_card(key).dataset))
    samples = benchmark.select_runnable(list(benchmark.load_dataset(source)))
    sample = next(each for each in samples if metric in (None, each.metric))
    try:
        episode = asyncio.run(benchmark.run_sample(sample, context))
        return episode, asyncio.run(benchmark.evaluate_sample(sample, episode))
    finally:
        benchmark.close()


@pytest.fixture(autouse=True)
def without_running(monkeypatch):
    def evaluate(task, answer, python):
        return evaluate_without_running(task, answer)

    monkeypatch.setattr(swe, "evaluate_answer", evaluate)


@pytest.mark.parametrize(("key", "metric", "form"), CASES)
def test_a_call_in_words_is_lost(key, metric, form):
    context = WritingContext(form, times=40 if metric == "memory_rec_sum" else 1)
    episode, verdict = run_first_sample(key, metric, context)
    assert verdict.details["lost_to_format"] is True
    assert verdict.details["call_reading"] == "lost"
    assert not episode.state.get("calls")
    sent = [message for request in context.requests for message in request.messages]
    users = [message.content for message in sent if message.role == "user"]
    assert not any("arguments" in text for text in users), (
        "nobody is told what was meant for a tool"
    )


@pytest.mark.parametrize(("key", "metric", "form"), CASES)
def test_words_alone_lose_nothing(key, metric, form):
    _, verdict = run_first_sample(key, metric, WritingContext(form, times=0))
    assert not verdict.details.get("lost_to_format")

"""A sample worked on by an agent: tools are sent or told, and what they bring comes back."""

from __future__ import annotations

import json

import pytest

from evalcore.benchmarks.agent_loop import Tools, run_agent
from evalcore.benchmarks.agents import Tool
from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.registry import instantiate_benchmark
from evalcore.records import Completion, ToolCall
from evalcore.settings import ROOT

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
OFFERED = (Tool("shout", "Shouts.", SCHEMA), Tool("stop", "Stops.", SCHEMA))


class FakeContext:
    epoch = seed = 0

    def __init__(self, asking, answers):
        self._asking, self._answers, self.requests = asking, list(answers), []

    async def resolve_tool_call_mode(self):
        return self._asking

    async def generate(self, request, role="target"):
        self.requests.append(request)
        return self._answers.pop(0)


@pytest.mark.parametrize("asking", ["native", "prompt", "json"])
async def test_tools_are_sent_or_told_and_their_results_come_back(asking):
    arguments = json.dumps({"text": "hey"})
    if asking == "native":
        called = Completion(tool_calls=(ToolCall("1", "shout", arguments),))
    else:
        called = Completion(text=json.dumps({"name": "shout", "arguments": {"text": "hey"}}))
    context = FakeContext(asking, [called, Completion(text="done")])
    benchmark = instantiate_benchmark("sql_understanding")
    source = DatasetSource(str(ROOT / "datasets" / "sql_understanding"))
    sample = benchmark.load_dataset(source)[0]
    tools = Tools(OFFERED, lambda name, args: args["text"].upper(), "stop")
    agent = await run_agent(benchmark, sample, context, tools, 5)
    first, second = context.requests
    assert bool(first.tools) is (asking == "native")
    assert ("shout" in first.messages[0].content) is (asking != "native")
    assert "HEY" in second.messages[-1].content
    assert first.input["sql"] == sample.input["sql"]
    assert agent.last_text == "done"

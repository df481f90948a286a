"""Under protocol=official every request of BFCL is upstream's, natively and by prompt."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from itertools import product
from pathlib import Path

import pytest

from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.bfcl.agentic import SCENARIOS
from evalcore.benchmarks.bfcl.categories import MEMORY, MULTI_TURN, SINGLE_TURN
from evalcore.benchmarks.bfcl.multi_turn.simulators import VARIABLE
from evalcore.benchmarks.bfcl.official_prompts import build_agentic_text
from evalcore.benchmarks.official_texts import (
    OfficialTexts,
    write_official_texts,
)
from evalcore.benchmarks.registry import instantiate_benchmark
from evalcore.exchange.bfcl import fetch
from evalcore.intake.python_source import SourceModule
from evalcore.records import Completion, GenerationRequest, ToolCall, to_plain
from evalcore.settings import load_settings
from evalcore.targets.endpoint.chat import build_parameters, build_request_body
from evalcore.targets.endpoint.dialect import Capabilities
from tests.support.bfcl_memory_script import answer_request
from tests.support.tau_script import hash_request
from tests.support.upstream import ask_upstream, upstream_checkout

MODES = ("native", "prompt")


class RecordingContext:
    """Answers words, by default always the same, and keeps the hash of what it was asked as it goes
    over the wire."""

    epoch, seed, judges = 0, 0, ()

    def __init__(self, mode: str, answer=lambda body: {"content": "Done."}) -> None:
        self._mode, self._answer = mode, answer
        self.requests: list[str] = []

    async def resolve_tool_call_mode(self) -> str:
        return self._mode

    async def generate(self, request: GenerationRequest, role: str = "target") -> Completion:
        parameters = build_parameters("", request.sampling, {}, Capabilities())
        body = build_request_body(request, parameters, Capabilities())
        shown = {key: body[key] for key in ("messages", "tools", "temperature") if key in body}
        self.requests.append(hash_request(shown))
        reply = self._answer(shown)
        if reply is None:
            return Completion(finish_reason="context_overflow")
        calls = tuple(
            ToolCall(call["id"], **call["function"]) for call in reply.get("tool_calls", ())
        )
        return Completion(text=reply["content"] or "", tool_calls=calls)


@pytest.fixture(scope="module")
def environment():
    return upstream_checkout("bfcl")


@pytest.fixture
def fetched(environment, tmp_path, monkeypatch):
    """The data and the texts of the installed package, as a fetch leaves those of its wheel."""
    monkeypatch.setenv("EVALBOARD_DATA", str(tmp_path))
    (package,) = environment.glob("lib/python*/site-packages")
    monkeypatch.setenv(VARIABLE, str(package))
    folder = tmp_path / "datasets" / "bfcl-v4"
    for name, member in fetch.wheel_members().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes((package / member).read_bytes())
    sources = {name: (package / path).read_bytes() for name, path in fetch.TEXT_MODULES.items()}
    texts = OfficialTexts("bfcl", "the wheel", to_plain(fetch.read_bfcl_texts(sources)))
    write_official_texts(texts, folder)
    return folder


def list_our_requests(folder: Path, category: str, every: int) -> dict[str, list[str]]:
    benchmark = instantiate_benchmark("bfcl", {"protocol": "official", "categories": [category]})
    source = DatasetSource(str(folder))
    samples = benchmark.load_dataset(source)[::every]
    benchmark.select_official_texts(source, load_settings())
    requests = {}
    for sample in samples:
        for mode in MODES:
            context = RecordingContext(mode)
            asyncio.run(benchmark.run_sample(sample, context))
            requests[f"{sample.id} {mode}"] = context.requests
    benchmark.close()
    return requests


def compare_requests(environment, folder, categories, every):
    question = {"categories": list(categories), "every": every, "modes": MODES}
    theirs = ask_upstream("upstream_bfcl", environment, question)
    ours = {}
    for category in categories:
        ours |= list_our_requests(folder, category, every)
    assert ours.keys() == theirs.keys()
    differing = [name for name, requests in theirs.items() if ours[name] != requests]
    assert differing == []
    return len(ours)


def test_requests_of_some_entries_are_upstreams(environment, fetched):
    assert compare_requests(environment, fetched, (*SINGLE_TURN, *MULTI_TURN), 40) > 200


def strip_number(requests: dict[str, list[str]]) -> dict[str, list[str]]:
    """By form and entry: the numbers follow the order of the file, which is nobody's concern."""
    return {name.partition(":")[2]: hashes for name, hashes in requests.items()}


def test_requests_of_every_form_are_upstreams(environment, fetched):
    question = {"categories": ["format_sensitivity"], "every": 1, "modes": ["prompt"]}
    theirs = strip_number(ask_upstream("upstream_bfcl", environment, question))
    benchmark = instantiate_benchmark("bfcl", {"protocol": "official", "format_sensitivity": True})
    source = DatasetSource(str(fetched))
    samples = benchmark.load_dataset(source)
    benchmark.select_official_texts(source, load_settings())
    ours = {}
    for sample in samples:
        context = RecordingContext("native")
        asyncio.run(benchmark.run_sample(sample, context))
        ours[f"{sample.id} prompt"] = context.requests
    assert len(samples) == 5_200
    assert strip_number(ours) == theirs


def test_what_agentic_entries_are_told_is_upstreams(environment, fetched):
    (package,) = environment.glob("lib/python*/site-packages")
    prompts = SourceModule(
        (package / fetch.TEXT_MODULES["prompts"]).read_text("utf-8"), "default_prompts.py"
    )
    texts = fetch.read_bfcl_texts(
        {name: (package / path).read_bytes() for name, path in fetch.TEXT_MODULES.items()}
    )
    answer = prompts.get_constant("ADDITIONAL_SYSTEM_PROMPT_FOR_AGENTIC_RESPONSE_FORMAT")
    for scenario, setting in prompts.get_constant("MEMORY_AGENT_SETTINGS").items():
        template = prompts.get_constant("MEMORY_BACKEND_INSTRUCTION_CORE_ARCHIVAL")
        empty = "There is no content in the core memory at this point."
        expected = template.format(scenario_setting=setting, memory_content=empty)
        said = build_agentic_text("memory_kv", scenario, texts, None, True)
        assert said == f"{expected}\n\n{answer}"


def list_memory_truths(samples) -> dict[str, str]:
    """The first accepted answer by question."""
    return {
        sample.input["question"][0][-1]["content"]: json.loads(sample.reference["ground_truth"])[0]
        for sample in samples
    }


def compare_memories(environment, folder, category, mode, scenarios):
    """Every request of both phases, in order, and every verdict; the conversations before the
    questions are held once by scenario."""
    benchmark = instantiate_benchmark("bfcl", {"protocol": "official", "categories": [category]})
    source = DatasetSource(str(folder))
    samples = benchmark.load_dataset(source)
    benchmark.select_official_texts(source, load_settings())
    benchmark.select_runnable(samples)
    truths = list_memory_truths(samples)
    question = {"category": category, "mode": mode, "scenarios": scenarios, "truths": truths}
    theirs = ask_upstream("upstream_bfcl_memory", environment, question)
    written, differing = set(), []
    for sample in samples:
        if (expected := theirs.pop(sample.id, None)) is None:
            continue
        context = RecordingContext(mode, partial(answer_request, truths=truths))
        episode = asyncio.run(benchmark.run_sample(sample, context))
        verdict = asyncio.run(benchmark.evaluate_sample(sample, episode))
        before = [] if sample.meta["material"] in written else expected["written"]
        written.add(sample.meta["material"])
        ours = (context.requests, verdict.details.get("error_type", ""))
        if ours != ([*before, *expected["asked"]], expected["error"]):
            differing.append(sample.id)
    benchmark.close()
    assert not theirs
    assert len(written) == len(scenarios)
    assert differing == []


MEMORY_MODES = pytest.mark.parametrize(("category", "mode"), list(product(MEMORY, MODES)))


@MEMORY_MODES
def test_memory_conversations_are_upstreams(environment, fetched, category, mode):
    compare_memories(environment, fetched, category, mode, ["notetaker"])


@pytest.mark.full
@MEMORY_MODES
def test_all_memory_conversations_are_upstreams(environment, fetched, category, mode):
    compare_memories(environment, fetched, category, mode, list(SCENARIOS))


@pytest.mark.full
def test_requests_of_all_entries_are_upstreams(environment, fetched):
    assert compare_requests(environment, fetched, (*SINGLE_TURN, *MULTI_TURN), 1) == 2 * 4_441

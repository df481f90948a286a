"""Under protocol=official every request of BFCL is upstream's, natively and by prompt."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.bfcl.categories import MULTI_TURN, SINGLE_TURN
from evalcore.benchmarks.bfcl.multi_turn.simulators import VARIABLE
from evalcore.benchmarks.official_texts import (
    OfficialTexts,
    write_official_texts,
)
from evalcore.benchmarks.registry import instantiate_benchmark
from evalcore.exchange.bfcl import fetch
from evalcore.records import Completion, GenerationRequest, to_plain
from evalcore.settings import load_settings
from evalcore.targets.endpoint.chat import build_parameters, build_request_body
from evalcore.targets.endpoint.dialect import Capabilities
from tests.support.tau_script import hash_request
from tests.support.upstream import ask_upstream, upstream_checkout

MODES = ("native", "prompt")


class RecordingContext:
    """Answers words, and keeps the hash of what it was asked as it goes over the wire."""

    epoch, seed, judges = 0, 0, ()

    def __init__(self, mode: str) -> None:
        self._mode = mode
        self.requests: list[str] = []

    async def resolve_tool_call_mode(self) -> str:
        return self._mode

    async def generate(self, request: GenerationRequest, role: str = "target") -> Completion:
        parameters = build_parameters("", request.sampling, {}, Capabilities())
        body = build_request_body(request, parameters, Capabilities())
        shown = ("messages", "tools", "temperature")
        self.requests.append(hash_request({key: body[key] for key in shown if key in body}))
        return Completion(text="Done.")


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


@pytest.mark.full
def test_requests_of_all_entries_are_upstreams(environment, fetched):
    assert compare_requests(environment, fetched, (*SINGLE_TURN, *MULTI_TURN), 1) == 2 * 4_441

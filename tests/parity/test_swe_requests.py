"""Under protocol=official the prompt of every bundled SWE task is upstream's `style-3`."""

from __future__ import annotations

import pytest

from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.registry import instantiate_benchmark
from evalcore.benchmarks.swe_bench import dataset
from evalcore.benchmarks.swe_bench.benchmark import _read_official_files
from evalcore.exchange.swe_bench import fetch_swe_texts
from evalcore.records import GenerationRequest
from evalcore.settings import ROOT, load_settings
from evalcore.targets.endpoint.chat import build_parameters, build_request_body
from evalcore.targets.endpoint.dialect import Capabilities
from tests.support.tau_script import hash_request
from tests.support.upstream import ask_upstream, upstream_checkout


@pytest.fixture(scope="module")
def checkout():
    return upstream_checkout("swe-bench")


def test_prompts_of_all_bundled_tasks_are_upstreams(checkout, tmp_path, monkeypatch):
    monkeypatch.setenv("EVALBOARD_DATA", str(tmp_path))
    fetch_swe_texts(load_settings(), checkout, lambda line: None)
    source = DatasetSource(str(ROOT / "datasets" / "swe_bench"))
    benchmark = instantiate_benchmark("swe_bench", {"protocol": "official"})
    samples = benchmark.load_dataset(source)
    benchmark.select_official_texts(source, load_settings())
    instances, ours = [], []
    for sample in samples:
        task = dataset.to_swe_task(sample)
        readmes, files = _read_official_files(task)
        instances.append(
            {
                "problem_statement": task.problem_statement,
                "readmes": readmes,
                "file_contents": files,
            }
        )
        request = GenerationRequest(benchmark.messages(sample), sampling=benchmark.sampling)
        parameters = build_parameters("", request.sampling, {}, Capabilities())
        body = build_request_body(request, parameters, Capabilities())
        shown = ("messages", "temperature", "top_p")
        ours.append(hash_request({name: body[name] for name in shown}))
    theirs = ask_upstream("upstream_swe", checkout, instances)
    assert len(ours) == 20
    assert [ours[at] == theirs[at] for at in range(20)] == [True] * 20

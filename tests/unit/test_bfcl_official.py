"""BFCL under protocol=official: words of the wheel, requests in upstream's form."""

from __future__ import annotations

import asyncio
import json

import pytest

from evalcore.benchmarks.bfcl.official_prompts import BfclTexts, build_system_prompt
from evalcore.benchmarks.official_texts import find_official_texts, read_official_texts
from evalcore.benchmarks.registry import instantiate_benchmark
from evalcore.errors import UsageError
from evalcore.exchange.bfcl.fetch import fetch_bfcl
from evalcore.records import Completion, GenerationRequest, Sample, Sampling
from evalcore.settings import load_settings
from tests.support.bfcl_wheel import NAME, make_wheel

FUNCTION = {
    "name": "math.area",
    "description": "The area.",
    "parameters": {
        "type": "dict",
        "properties": {
            "side": {"type": "float", "description": "Its side."},
            "n": {"type": "integer", "description": "How many."},
            "odd": {"type": "Fancy", "description": "Odd.", "optional": True},
        },
        "required": ["side"],
    },
}


class Recorder:
    epoch, seed, judges = 0, 0, ()

    def __init__(self, mode: str) -> None:
        self._mode = mode
        self.requests: list[GenerationRequest] = []

    async def resolve_tool_call_mode(self) -> str:
        return self._mode

    async def generate(self, request: GenerationRequest, role: str = "target") -> Completion:
        self.requests.append(request)
        return Completion(text="[]")


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A data folder into which the small wheel was fetched."""
    monkeypatch.setenv("EVALBOARD_DATA", str(tmp_path / "data"))
    folder = tmp_path / "data" / "datasets" / "bfcl-v4"
    release = make_wheel(tmp_path / "wheel")
    fetch_bfcl(folder, tmp_path / "wheel" / NAME, lambda line: None, release)
    return folder


def ask(data, mode, category="simple_python", messages=()):
    question = [[*messages, {"role": "user", "content": "How big?"}]]
    sample = Sample(
        metric=category,
        id=f"{category}_0",
        input={"question": question, "functions": json.dumps([FUNCTION])},
        reference={"ground_truth": "[]"},
    )
    texts = find_official_texts("bfcl", data, load_settings())
    options = {"protocol": "official", "official_texts": texts.hash}
    recorder = Recorder(mode)
    asyncio.run(instantiate_benchmark("bfcl", options).run_sample(sample, recorder))
    return recorder.requests[0]


def test_native_requests_have_upstreams_schemas(data):
    request = ask(data, "native")
    (tool,) = request.tools
    function = tool["function"]
    assert (function["name"], function["description"]) == ("math_area", "The area. In Python.")
    properties = function["parameters"]["properties"]
    assert function["parameters"]["type"] == "object"
    assert properties["side"] == {
        "type": "number",
        "description": "Its side. A float.",
        "format": "float",
    }
    assert properties["odd"] == {"type": "string", "description": "Odd.", "optional": True}
    assert [message.role for message in request.messages] == ["user"]
    assert request.sampling == Sampling(temperature=0.125)


@pytest.mark.parametrize("mode", ["prompt", "json"])
def test_prompted_requests_have_upstreams_system_message(data, mode):
    own = {"role": "system", "content": "Be brief."}
    request = ask(data, mode, messages=[own])
    system, user = request.messages
    described = {**FUNCTION, "description": "The area. In Python."}
    listed = json.dumps([described], indent=4)
    head = f"You write calls. Do it.|As [f(a=1)]. |Go on.|In json:\n{listed}\n"
    assert system.content == f"{head}\n\nBe brief."
    assert user.content == "How big?"
    assert not request.tools


def test_parameters_of_java_are_texts(data):
    (tool,) = ask(data, "native", "simple_java").tools
    schema = tool["function"]["parameters"]["properties"]["n"]
    assert schema == {"type": "string", "description": "How many. Java's integer."}


def test_a_form_that_upstream_does_not_have_is_refused(data):
    found = read_official_texts(data, "bfcl")
    assert found is not None
    texts = found.read_as(BfclTexts)
    for form in ("", "ret_fmt=python", texts.default_form.replace("classic", "new")):
        with pytest.raises(UsageError, match="have no prompt of the form"):
            build_system_prompt("[]", texts, form)


def test_a_wheel_in_another_form_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("EVALBOARD_DATA", str(tmp_path / "data"))
    more = {"bfcl_eval/utils.py": "def _get_language_specific_hint(c):\n    return hint(c)\n"}
    release = make_wheel(tmp_path, more=more)
    with pytest.raises(UsageError, match="texts of the official package cannot be read"):
        fetch_bfcl(tmp_path / "out", tmp_path / NAME, lambda line: None, release)
    assert not (tmp_path / "out").exists()

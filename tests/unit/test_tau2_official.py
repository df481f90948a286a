"""tau2-bench under protocol=official: words of a checkout, requests in upstream's form."""

from __future__ import annotations

import asyncio
import json

import pytest

from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.official_texts import OfficialTexts, store_official_texts
from evalcore.benchmarks.registry import instantiate_benchmark
from evalcore.benchmarks.tau2_bench.environment.tasks import Scenario
from evalcore.benchmarks.tau2_bench.official import format_scenario
from evalcore.errors import IntakeError, UsageError
from evalcore.exchange.tau2_bench_texts import read_tau2_texts, write_tau2_texts
from evalcore.intake.python_tools import read_tool_schemas
from evalcore.records import Completion, Sampling, ToolCall, to_plain
from evalcore.settings import ROOT, load_settings
from tests.support.tau2_sources import MODELS, TOOLS, write_sources

BUNDLED = ROOT / "datasets" / "tau2_bench"
USER = "openai:gpt-4.1-2025-04-14"


class Recorder:
    """Answers by script; the user stops at the second line."""

    epoch, seed, judges = 0, 0, ()

    def __init__(self, answers=()) -> None:
        self._answers = list(answers)
        self.requests = []

    async def resolve_tool_call_mode(self) -> str:
        return "prompt"

    def price(self, role, usage):
        return 0.0

    async def generate(self, request, role="target"):
        self.requests.append((role, request))
        if role != "target":
            said = sum(each == role for each, _ in self.requests)
            return Completion(text="Cancel my order." if said == 1 else "###OUT-OF-SCOPE###")
        return self._answers.pop(0) if self._answers else Completion(text="Done.")


@pytest.fixture
def texts(tmp_path, monkeypatch):
    monkeypatch.setenv("EVALBOARD_DATA", str(tmp_path / "data"))
    read = read_tau2_texts(write_sources(tmp_path / "checkout"))
    official = OfficialTexts("tau2_bench", "a checkout", to_plain(read))
    store_official_texts(official, load_settings())
    return official


def build(texts, **options):
    chosen = {"protocol": "official", "official_texts": texts.hash, "domain": "retail"}
    chosen |= {"use_llm_user": True, "user_model": USER}
    benchmark = instantiate_benchmark("tau2_bench", chosen | options)
    return benchmark, benchmark.load_dataset(DatasetSource(str(BUNDLED)))


def test_requests_have_upstreams_words_schemas_and_sampling(texts):
    benchmark, samples = build(texts)
    call = ToolCall("c1", "list_all_product_types", "{}")
    recorder = Recorder([Completion(tool_calls=(call,), finish_reason="tool_calls")])
    episode = asyncio.run(benchmark.run_sample(samples[0], recorder))
    (user, first_line), (_, request), *rest = recorder.requests
    assert user != "target"
    assert first_line.sampling == Sampling(temperature=0.5)
    system, greeting = first_line.messages
    assert system.content.startswith("Be a customer.\n<story>Instructions:\n\t")
    assert (greeting.role, greeting.content) == ("user", "Welcome!")
    system, greeting, opening = request.messages
    assert system.content.startswith("<do>Serve.</do>\n<rules>#")
    assert (greeting.role, greeting.content) == ("assistant", "Welcome!")
    assert (opening.role, opening.content) == ("user", "Cancel my order.")
    assert request.sampling == Sampling(temperature=0.25)
    assert [tool["function"]["name"] for tool in request.tools] == [
        *("cancel_pending_order", "list_all_product_types", "change")
    ]
    followed = rest[0][1].messages
    assert [message.role for message in followed[3:]] == ["assistant", "tool"]
    assert episode.state["ended"] == "user_stop"
    assert episode.state["mode"] == "fc"


def test_upstreams_limits_end_it(texts):
    benchmark, samples = build(texts)
    wrong = ToolCall("c1", "get_order_details", '{"order_id": "none"}')
    turn = Completion(tool_calls=(wrong,), finish_reason="tool_calls")
    episode = asyncio.run(benchmark.run_sample(samples[0], Recorder([turn] * 20)))
    assert episode.state["ended"] == "max_tool_errors"
    assert len(episode.state["actions"]) == 4
    right = ToolCall("c1", "list_all_product_types", "{}")
    turn = Completion(tool_calls=(right,), finish_reason="tool_calls")
    episode = asyncio.run(benchmark.run_sample(samples[0], Recorder([turn] * 20)))
    assert (episode.state["ended"], len(episode.state["actions"])) == ("max_turns", 6)


def test_what_cannot_be_asked_officially_is_refused_before_the_first_request(texts):
    with pytest.raises(UsageError, match=r"tau2_bench\.max_turns"):
        build(texts, max_turns=7)
    benchmark, samples = build(texts, domain="telecom")
    with pytest.raises(UsageError, match="no tools of telecom"):
        benchmark.select_runnable(samples)
    benchmark, samples = build(texts)
    assert benchmark.select_runnable(samples)


def test_without_the_protocol_nothing_changes(texts):
    benchmark, samples = build(texts, protocol="board", official_texts="")
    recorder = Recorder()
    asyncio.run(benchmark.run_sample(samples[0], recorder))
    _, request = recorder.requests[1]
    assert "<rules>" not in request.messages[0].content
    assert request.sampling == Sampling()


def test_schemas_are_pydantics():
    cancel, listing, change = read_tool_schemas(TOOLS, MODELS, "tools.py")
    assert (
        cancel["function"]["description"] == "Cancel it.\n\nOnly where it is pending.\nAsk first."
    )
    assert cancel["function"]["parameters"] == {
        "properties": {
            "order_id": {
                "description": "The order, such as '#W1'.\nWith its sign.",
                "title": "Order Id",
                "type": "string",
            },
            "reason": {
                "description": "Why.",
                "enum": ["no longer needed", "ordered by mistake"],
                "title": "Reason",
                "type": "string",
            },
        },
        "required": ["order_id", "reason"],
        "title": "parameters",
        "type": "object",
    }
    assert listing["function"]["parameters"] == {
        "properties": {},
        "title": "parameters",
        "type": "object",
    }
    parameters = change["function"]["parameters"]
    assert parameters["$defs"]["Row"] == {
        "description": "One row.",
        "properties": {
            "number": {"description": "Its number.", "title": "Number", "type": "string"},
            "share": {"title": "Share", "type": "number"},
        },
        "required": ["number", "share"],
        "title": "Row",
        "type": "object",
    }
    assert parameters["properties"]["rows"]["items"] == {
        "anyOf": [{"$ref": "#/$defs/Row"}, {"additionalProperties": True, "type": "object"}]
    }
    assert [parameters["properties"][name]["type"] for name in ("amount", "fast", "kinds")] == [
        *("integer", "boolean", "array")
    ]


@pytest.mark.parametrize(
    ("tools", "words"),
    [
        ("class T: pass", "defines no tool"),
        ("class (", "no Python"),
        ("class T:\n  @is_tool()\n  def f(self, a): 'x'", "f.a has no type"),
        ("class T:\n  @is_tool()\n  def f(self, a: int = 1): 'x'", "optional arguments"),
        ("class T:\n  @is_tool()\n  def f(self, a: Unheard): 'x'", "no known type: Unheard"),
        (
            "class T:\n  @is_tool()\n  def f(self, a: Literal[1]): 'x'",
            "Literal of other than texts",
        ),
    ],
)
def test_sources_of_another_form_are_refused(tools, words):
    with pytest.raises(IntakeError, match=words):
        read_tool_schemas(tools, MODELS, "tools.py")


def test_nothing_of_the_sources_is_run(tmp_path):
    mark = tmp_path / "ran"
    evil = f'open({str(mark)!r}, "w")\n' + TOOLS
    write_sources(tmp_path / "checkout", tools=evil)
    read_tau2_texts(tmp_path / "checkout")
    assert not mark.exists()


def test_a_checkout_without_sources_has_no_texts(tmp_path):
    assert not write_tau2_texts(write_sources(tmp_path / "a", config=""), "a")
    with pytest.raises(UsageError, match="cannot be read"):
        read_tau2_texts(write_sources(tmp_path / "b", llm_agent="SYSTEM_PROMPT = read()"))
    assert write_tau2_texts(write_sources(tmp_path / "c"), "c")
    assert json.loads((tmp_path / "c" / "official.json").read_text())["benchmark"] == "tau2_bench"


def test_a_scenario_is_written_as_upstream_writes_it():
    parts = {
        "task_instructions": "Be brief.\n\nStop then.",
        "domain": "retail",
        "reason_for_call": "A return.",
        "known_info": "You are Mia.",
        "unknown_info": None,
    }
    assert format_scenario(Scenario(persona="Shy", instructions=parts)) == (
        "Persona:\n\tShy\nInstructions:\n\tDomain: retail\n\tReason for call:\n\t\tA return.\n"
        "\tKnown info:\n\t\tYou are Mia.\n\tTask instructions:\n\t\tBe brief.\n\n\t\tStop then."
    )
    assert format_scenario(Scenario(instructions="Just this.")) == "Instructions:\n\tJust this."

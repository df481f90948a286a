"""tau2-bench under protocol=official: words of a checkout, requests in upstream's form."""

from __future__ import annotations

import asyncio
import hashlib
import json
from random import Random

import pytest
from msgspec.structs import replace

from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.official_texts import OfficialTexts, store_official_texts
from evalcore.benchmarks.registry import instantiate_benchmark
from evalcore.benchmarks.tau2_bench.card import BANK
from evalcore.benchmarks.tau2_bench.dataset import load_sample_world, to_task
from evalcore.benchmarks.tau2_bench.environment import loaders
from evalcore.benchmarks.tau2_bench.environment.reward import start_environment
from evalcore.benchmarks.tau2_bench.environment.tasks import Scenario, read_task
from evalcore.benchmarks.tau2_bench.official import Tau2Texts, format_scenario, read_answer
from evalcore.errors import EnvironmentFailure, IntakeError, UsageError
from evalcore.exchange.tau2_bench import read_tau2_texts, write_tau2_texts
from evalcore.intake.python_tools import read_tool_schemas
from evalcore.records import Completion, Sampling, ToolCall, to_plain
from evalcore.settings import ROOT, load_settings
from tests.support.tau2_sources import (
    MODELS,
    PHONE,
    PHONE_MODELS,
    TOOLS,
    write_bank_sources,
    write_sources,
)

BUNDLED = ROOT / "datasets" / "tau2_bench"
USER = "openai:gpt-4.1-2025-04-14"
#: What seed 7 of the fixture draws for the first trial.
FIRST_SEED = 339563
STOP = "###STOP###"


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
    assert first_line.sampling == Sampling(temperature=0.5, seed=FIRST_SEED)
    system, greeting = first_line.messages
    assert system.content.startswith("Be a customer.\n<story>Instructions:\n\t")
    assert (greeting.role, greeting.content) == ("user", "Welcome!")
    system, greeting, opening = request.messages
    assert system.content.startswith("<do>Serve.</do>\n<rules>#")
    assert (greeting.role, greeting.content) == ("assistant", "Welcome!")
    assert (opening.role, opening.content) == ("user", "Cancel my order.")
    assert request.sampling == Sampling(temperature=0.25, seed=FIRST_SEED)
    assert [tool["function"]["name"] for tool in request.tools] == [
        *("cancel_pending_order", "list_all_product_types", "change")
    ]
    followed = rest[0][1].messages
    assert [message.role for message in followed[3:]] == ["assistant", "tool"]
    assert episode.state["ended"] == "user_stop"
    assert episode.state["mode"] == "fc"


@pytest.mark.parametrize(
    ("said", "lost"),
    [
        ('<tool_call>{"name": "get_order_details", "arguments": {"order_id": "1"}}</tool_call>', 1),
        ('<think>Look.</think>{"name": "get_order_details", "arguments": {"order_id": "1"}}', 1),
        ("Which order is it?", 0),
    ],
)
def test_a_call_as_text_is_lost_to_its_format(texts, said, lost):
    benchmark, samples = build(texts)
    recorder = Recorder([Completion(text=said)])
    episode = asyncio.run(benchmark.run_sample(samples[0], recorder))
    assert episode.state["call_readings"].get("lost", 0) == lost
    verdict = asyncio.run(benchmark.evaluate_sample(samples[0], episode))
    assert bool(verdict.details.get("lost_to_format")) == bool(lost)


def test_numbers_beyond_the_bound_are_written_as_upstream_writes_them(texts):
    _, samples = build(texts, domain="airline")
    world, task = load_sample_world(samples[0]), to_task(samples[0])
    environment = start_environment(world, task)
    number, reservation = next(environment.state.agent.rows("reservations"))
    user = environment.state.agent.get("users", reservation["user_id"])
    written = {"reservation_id": number, "total_baggages": 10**19, "nonfree_baggages": 0}
    written["payment_id"] = next(iter(user["payment_methods"]))
    call = ToolCall("c1", "update_reservation_baggages", json.dumps(written))
    reading = read_answer(Completion(tool_calls=(call,)), 0)
    [(name, kwargs)] = reading.calls
    before = environment.state.agent.hash()
    said, done = environment.try_call(name, kwargs, "assistant")
    assert done, said
    assert environment.state.agent.hash() != before


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ('{"n": 1000000000000000}', {"n": 10**15}),
        ('{"n": [-1e16, {"m": 9999999999999999999999}]}', {"n": [-1e15, {"m": 10**15}]}),
        ('{"n": Infinity, "m": true}', {"n": 1e15, "m": True}),
        ('{"n": NaN}', {"n": 1e15}),
    ],
)
def test_numbers_are_held_at_the_bound(text, arguments):
    reading = read_answer(Completion(tool_calls=(ToolCall("c1", "f", text),)), 0)
    assert reading.calls == (("f", arguments),)


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
    benchmark, samples = build(texts, domain="banking_knowledge")
    with pytest.raises(UsageError, match="no tools of banking_knowledge"):
        benchmark.select_runnable(samples)
    benchmark, samples = build(texts)
    assert benchmark.select_runnable(samples)
    benchmark, samples = build(texts, domain="all")
    asked = {sample.metric for sample in benchmark.select_runnable(samples)}
    assert asked == {"retail", "airline", "telecom"}


@pytest.fixture
def bank(tmp_path):
    return read_tau2_texts(write_bank_sources(tmp_path / "bank")).bank


def test_the_bank_is_asked_by_a_way_to_its_documents(tmp_path, monkeypatch, bank):
    monkeypatch.setenv("EVALBOARD_DATA", str(tmp_path / "data"))
    read = read_tau2_texts(tmp_path / "bank")
    official = OfficialTexts("tau2_bench", "a checkout", to_plain(read))
    store_official_texts(official, load_settings())
    benchmark, samples = build(official, domain=BANK)
    with pytest.raises(UsageError, match=r"tau2_bench\.retrieval: bm25, bm25_grep"):
        benchmark.select_runnable(samples)
    benchmark, samples = build(official, domain="retail", retrieval="bm25")
    with pytest.raises(UsageError, match=r"tau2_bench\.retrieval"):
        benchmark.select_runnable(samples)
    benchmark, samples = build(official, domain=BANK, retrieval="bm25_grep")
    sample = benchmark.select_runnable(samples)[0]
    calls = (
        *(("KB_search", '{"query": "card"}'), ("grep", '{"pattern": "c.rd|("}')),
        ("get_user_information_by_id", '{"user_id": "u1"}'),
        ("hidden_0001", "{}"),
        ("change_user_email", '{"user": 1}'),
        ("none", "{}"),
    )
    pair = Pair([say(*calls), say(text="Bye.")], [say(text="Hello."), say(text=STOP)])
    asyncio.run(benchmark.run_sample(sample, pair))
    benchmark.close()
    request, followed = pair.agent_requests
    assert "classic_rag_bm25 Be kind." in request.messages[0].content
    names = [tool["function"]["name"] for tool in request.tools]
    assert names == ["KB_search", "grep", "get_user_information_by_id", "change_user_email"]
    found, matched, *rest = (each.content for each in followed.messages if each.role == "tool")
    assert "=" in found
    assert matched == ""
    assert rest[0].startswith("u1: ")
    assert rest[1] == "Error: open is refused in this process"
    assert rest[2].startswith("Error: KnowledgeTools.change_user_email() got an unexpected keyword")
    assert rest[3] == "Error: Tool 'none' not found."


def test_documents_that_a_retrieval_gives_beforehand_are_in_the_policy(bank):
    world = loaders.load_world(BUNDLED, BANK)
    first, second, *_ = world.documents
    whole = bank.build_policy("full_kb", world, None)
    assert whole.startswith(f"<## {first['title']}\n\n")
    assert len(whole) > sum(len(each["content"]) for each in world.documents)
    needed = bank.build_policy("golden_retrieval", world, (second["title"], first["id"], "none"))
    text = f"<## {second['title']}\n\n{second['content']}\n\n---\n\n## {first['title']}"
    assert needed.startswith(text)
    assert bank.build_policy("golden_retrieval", world, None) == "<(No documents provided)>"


def test_a_database_that_is_not_upstreams_is_named(texts, monkeypatch):
    benchmark, samples = build(texts)
    benchmark.select_runnable(samples)
    assert benchmark.options["other_data"] == "retail"
    digest = hashlib.sha256((BUNDLED / "retail" / "db.json").read_bytes()).hexdigest()
    monkeypatch.setattr(loaders, "OFFICIAL_DATABASES", {"retail/db.json": digest})
    benchmark.select_runnable(samples)
    assert benchmark.options["other_data"] == ""


def say(*calls, text=""):
    made = tuple(ToolCall(f"c{at}", *call) for at, call in enumerate(calls))
    return Completion(text=text, tool_calls=made, finish_reason="tool_calls" if calls else "stop")


class Pair(Recorder):
    """Both sides answer by scripts of their own."""

    def __init__(self, agent, user) -> None:
        super().__init__()
        self._scripts = {"target": iter(agent), "user": iter(user)}
        self.user_requests = []
        self.agent_requests = []

    async def generate(self, request, role="target"):
        side = "target" if role == "target" else "user"
        (self.agent_requests if side == "target" else self.user_requests).append(request)
        return next(self._scripts[side])


def play_phone(texts, agent, user):
    benchmark, samples = build(texts, domain="telecom")
    pair = Pair(agent, user)
    return pair, asyncio.run(benchmark.run_sample(samples[0], pair))


def test_a_user_with_tools_is_asked_with_them_and_acts_between_two_lines(texts):
    look = ("check_status_bar", "{}")
    pair, episode = play_phone(
        texts,
        [say(text="Look at your phone."), say(text="Thanks.")],
        [say(text="Hi."), say(look, text="One moment."), say(text="It shows."), say(text=STOP)],
    )
    first, *_, last = pair.user_requests
    assert [tool["function"]["name"] for tool in first.tools] == [
        *("check_status_bar", "check_apn_settings", "set_apn_settings", "run_speed_test")
    ]
    assert first.messages[0].content.startswith("Use tools.")
    assert [message.role for message in last.messages] == [
        *("system", "user", "assistant", "user", "assistant", "tool", "assistant", "user")
    ]
    assert last.messages[4].content == "One moment."
    assert last.messages[4].tool_calls[0].arguments == "{}"
    said = [message.content for message in pair.agent_requests[-1].messages[1:]]
    assert said == ["Welcome!", "Hi.", "Look at your phone.", "It shows."]
    assert episode.state["ended"] == "user_stop"
    assert [action["requestor"] for action in episode.state["actions"]] == ["user"]


def test_answers_of_tools_are_phrased_as_upstreams(texts):
    wrong = ("check_status_bar", '{"extra": 1}')
    pair, _ = play_phone(texts, [], [say(("check_apn_settings", "{}"), wrong), say(text=STOP)])
    settings, problem = pair.user_requests[-1].messages[-2:]
    assert settings.content.endswith("\nLeave them.")
    start = "Error: TelecomUserTools.check_status_bar() got an unexpected keyword argument"
    assert problem.content.startswith(start)


def test_arguments_go_back_as_upstream_writes_them(texts):
    benchmark, samples = build(texts)
    pair = Pair(
        [say(("get_order_details", '{"order_id":"é"}')), say(text="Bye.")],
        [say(text="Hi."), say(text=STOP)],
    )
    asyncio.run(benchmark.run_sample(samples[0], pair))
    call = pair.agent_requests[-1].messages[-2].tool_calls[0]
    assert call.arguments == r'{"order_id": "\u00e9"}'


@pytest.mark.parametrize(
    "answer",
    [
        *(say(("f", text)) for text in ("", "{", "[]", "null", '"x"')),
        *(say(text=text) for text in ("", " \n")),
    ],
)
def test_an_answer_that_upstream_cannot_read_ends_it(texts, answer):
    _, episode = play_phone(texts, [answer], [say(text="Hi.")])
    assert episode.state["ended"] == "max_parse_errors"
    assert episode.state["actions"] == []
    with pytest.raises(EnvironmentFailure):
        play_phone(texts, [], [answer])


def test_a_limit_outweighs_the_users_last_word(texts):
    lines = [say(text="Line.") for _ in range(6)]
    last = [say(text="Line.")] * 5 + [say(("check_status_bar", "{}")), say(text=STOP)]
    _, episode = play_phone(texts, lines, last)
    assert episode.state["ended"] == "max_turns"
    bad = [("no_such_tool", "{}")] * 2
    _, episode = play_phone(texts, [], [say(*bad), say(*bad)])
    assert episode.state["ended"] == "max_tool_errors"


def test_a_task_that_names_tools_of_the_user_offers_those_and_none_where_one_is_unknown(texts):
    read = texts.read_as(Tau2Texts)
    task = read_task({"id": "1", "user_scenario": {"instructions": "x"}})
    offered = [("check_status_bar",), ("check_status_bar", "no_such_tool"), ()]
    counts = [
        len(read.list_user_tool_schemas(replace(task, user_tools=names), "telecom"))
        for names in (None, *offered)
    ]
    assert counts == [4, 1, 0, 0]
    assert read.list_user_tool_schemas(task, "retail") == ()


def test_each_trial_has_the_seed_that_upstream_draws(texts):
    read = texts.read_as(Tau2Texts)
    drawn = Random(7)
    assert [read.draw_seed(trial) for trial in range(3)] == [
        drawn.randint(0, 1_000_000) for _ in range(3)
    ]


def test_enumerations_defaults_and_closed_models_are_pydantics():
    *_, setting, _ = read_tool_schemas(PHONE, PHONE_MODELS, "user_tools.py")
    parameters = setting["function"]["parameters"]
    assert parameters["required"] == ["apn_settings"]
    assert parameters["properties"]["times"] == {"default": 2, "title": "Times", "type": "integer"}
    definitions = parameters["$defs"]
    assert definitions["Names"] == {"enum": ["first", "other"], "title": "Names", "type": "string"}
    assert definitions["Settings"]["additionalProperties"] is False
    assert definitions["Settings"]["required"] == ["needed"]
    assert definitions["Settings"]["properties"] == {
        "name": {"$ref": "#/$defs/Names", "default": "other", "description": "The name."},
        "port": {
            "anyOf": [{"type": "integer"}, {"type": "null"}],
            "default": None,
            "description": "The port.",
            "title": "Port",
        },
        "needed": {"title": "Needed"},
    }


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
        ("class (", "not Python source"),
        ("class T:\n  @is_tool()\n  def f(self, a): 'x'", "f.a has no type"),
        ("class T:\n  @is_tool()\n  def f(self, a: int = f()): 'x'", "no known default: f"),
        ("class T:\n  @is_tool()\n  def f(self, *a: int): 'x'", "arguments that are not read"),
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

"""Memory and web search: two phases, one memory for many questions, recorded pages, and what is
asked for before the first request.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.bfcl import web_search
from evalcore.benchmarks.bfcl.agentic import NO_LIST, NO_MESSAGE, NOT_FOUND
from evalcore.benchmarks.bfcl.benchmark import Bfcl
from evalcore.benchmarks.bfcl.card import CARD
from evalcore.benchmarks.bfcl.categories import AGENTIC, MEMORY, WEB_SEARCH
from evalcore.benchmarks.bfcl.simulated.memory import MemoryAPI_vector, embed_text, rank_by_words
from evalcore.benchmarks.http_client import HttpReply, ToolError, Unreachable
from evalcore.errors import DatasetError, EnvironmentFailure, TargetFailure, UsageError
from evalcore.records import Completion, Failure, GenerationRequest, Sample, ToolCall
from evalcore.settings import ROOT

FOLDER = ROOT / "datasets" / "bfcl"
Answer = Callable[[GenerationRequest], Completion]


def make_benchmark(**options: Any) -> Bfcl:
    return Bfcl({option.name: option.default for option in CARD.options} | options)


def load(folder: Path = FOLDER, **options: Any) -> list[Sample]:
    samples = make_benchmark(**options).load_dataset(DatasetSource(folder))
    return [sample for sample in samples if sample.metric in AGENTIC]


SAMPLES = load()


def pick(metric: str, number: int = 0) -> Sample:
    return [sample for sample in SAMPLES if sample.metric == metric][number]


class AskContext:
    """Answers requests by a function, and counts them."""

    epoch = seed = 0
    judges = ()

    def __init__(self, answer: Answer, mode: str = "native") -> None:
        self.answer, self.mode, self.requests = answer, mode, list[GenerationRequest]()

    async def resolve_tool_call_mode(self) -> str:
        return self.mode

    async def generate(self, request: GenerationRequest, role: str = "target") -> Completion:
        await asyncio.sleep(0)
        self.requests.append(request)
        return self.answer(request)

    def price(self, role: str, usage: Any) -> None:
        return None


def call(name: str, **arguments: Any) -> Completion:
    made = ToolCall("c1", name, json.dumps(arguments))
    return Completion(tool_calls=(made,), finish_reason="tool_calls")


def keep_everything(request: GenerationRequest) -> Completion:
    """Writes every message to the memory, and answers with all that it holds."""
    last = request.messages[-1]
    names = {tool["function"]["name"] for tool in request.tools}
    asked = last.content.endswith("?")
    if last.role == "tool":
        return Completion(text=f"Noted or found: {last.content}")
    if "memory_append" in names:
        return call("memory_retrieve") if asked else call("memory_append", text=f"{last.content}\n")
    key_based = "archival_memory_key_search" in names
    if asked:
        found = "archival_memory_retrieve_all" if not key_based else "core_memory_retrieve_all"
        return call(found)
    number = sum(message.role == "user" for message in request.messages)
    if key_based:
        return call("core_memory_add", key=f"note_{number}", value=last.content)
    return call("archival_memory_add", text=last.content)


@pytest.mark.parametrize("metric", MEMORY)
def test_a_memory_is_written_once_and_asked_alone(metric: str) -> None:
    benchmark = make_benchmark()
    samples = [sample for sample in SAMPLES if sample.metric == metric and "orchard" in sample.id]
    context = AskContext(keep_everything)

    async def run_all() -> list[Any]:
        return await asyncio.gather(*(benchmark.run_sample(one, context) for one in samples))

    episodes = asyncio.run(run_all())
    writing, asking = 2 * 8, 2 * len(samples)
    assert len(context.requests) == writing + asking
    for sample, episode in zip(samples, episodes, strict=True):
        text = "".join(message.content for message in episode.messages if message.role == "user")
        assert "Petra" not in text, "the conversations are over"
        assert len(episode.state["memory_calls"]) == 8
        verdict = asyncio.run(benchmark.evaluate_sample(sample, episode))
        # Keys are given twice, so that the second conversation's notes do not go in by key.
        assert verdict.outcome == "passed" or metric == "memory_kv", verdict
    benchmark.close()


def test_the_core_memory_is_shown_when_a_conversation_begins() -> None:
    benchmark, context = make_benchmark(), AskContext(keep_everything)
    asyncio.run(benchmark.run_sample(pick("memory_kv"), context))
    systems = {request.messages[0].content for request in context.requests}
    benchmark.close()
    assert sum("I look after the orchard" in text for text in systems) == 2
    assert sum("(empty)" in text for text in systems) == 1


@pytest.mark.parametrize("overflows", [False, True])
def test_a_core_memory_is_shown_whatever_its_keys(overflows: bool) -> None:
    """One that outgrew the context leaves nothing."""

    def keep_odd_keys(request: GenerationRequest) -> Completion:
        if request.messages[-1].role == "tool":
            return Completion(finish_reason="context_overflow" if overflows else "stop")
        return call("core_memory_add", key="error", value="E 17")

    benchmark, context = make_benchmark(), AskContext(keep_odd_keys)
    episode = asyncio.run(benchmark.run_sample(pick("memory_kv"), context))
    benchmark.close()
    assert ('{"error": "E 17"}' in episode.messages[0].content) is not overflows


def test_a_failure_while_writing_is_tried_again_by_the_next() -> None:
    benchmark, left = make_benchmark(), [1]

    def fail_once(request: GenerationRequest) -> Completion:
        if left.pop() if left else 0:
            raise TargetFailure(Failure(kind="retryable", message="down"))
        return keep_everything(request)

    context = AskContext(fail_once)
    with pytest.raises(TargetFailure):
        asyncio.run(benchmark.run_sample(pick("memory_rec_sum"), context))
    episode = asyncio.run(benchmark.run_sample(pick("memory_rec_sum"), context))
    benchmark.close()
    assert len(episode.state["memory_calls"]) == 8


def test_the_memory_of_an_epoch_is_its_own() -> None:
    benchmark, context = make_benchmark(), AskContext(keep_everything)
    asyncio.run(benchmark.run_sample(pick("memory_rec_sum"), context))
    first = len(context.requests)
    context.epoch = 1
    asyncio.run(benchmark.run_sample(pick("memory_rec_sum"), context))
    benchmark.close()
    assert len(context.requests) == 2 * first


@pytest.mark.parametrize("mode", ["native", "prompt", "json"])
def test_recorded_pages_are_searched_and_read(mode: str) -> None:
    steps = [
        ("search_engine_query", {"keywords": "glass works Teglund", "max_results": 2}),
        ("fetch_url_content", {"url": "https://pages.example.org/teglund", "mode": "truncate"}),
    ]
    written = {
        "prompt": "[{}({})]",
        "json": '{{"name": "{}", "arguments": {}}}',
    }

    def browse(request: GenerationRequest) -> Completion:
        done = sum(message.role == "assistant" for message in request.messages)
        if done == len(steps):
            return Completion(text=f"It says: {request.messages[-1].content}")
        name, arguments = steps[done]
        if mode == "native":
            return call(name, **arguments)
        pairs = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
        values = pairs if mode == "prompt" else json.dumps(arguments)
        return Completion(text=written[mode].format(name, values))

    benchmark, sample = make_benchmark(), pick("web_search_no_snippet")
    context = AskContext(browse, mode)
    episode = asyncio.run(benchmark.run_sample(sample, context))
    verdict = asyncio.run(benchmark.evaluate_sample(sample, episode))
    assert (verdict.outcome, verdict.details["web"]) == ("passed", "recorded")
    results = context.requests[1].messages[-1].content
    assert "Teglund" in results
    assert "body" not in results


@pytest.mark.parametrize(
    ("steps", "error"),
    [
        ([["[f(x=1)]", "It was in 1871, they say."]], ""),
        ([["It was in 1871.", "[f(x=1)]"]], ""),
        ([["I do not know, maybe 18711."]], NOT_FOUND),
        ([["It was in 1871.", "No idea."]], NOT_FOUND),
        ([["[f(x=1)]"]], NO_MESSAGE),
        ([[""]], NO_MESSAGE),
        ([["1871"], ["1871"]], NO_LIST),
        (["1871"], NO_LIST),
    ],
)
def test_the_last_message_that_is_no_call_counts(steps: list[Any], error: str) -> None:
    benchmark, sample = make_benchmark(), pick("web_search_base")
    episode = benchmark.episode_from_answer(sample, steps, {"mode": "prompt_python"})
    verdict = asyncio.run(benchmark.evaluate_sample(sample, episode))
    assert verdict.details.get("error_type", "") == error


@pytest.mark.parametrize("sample", SAMPLES, ids=[sample.id for sample in SAMPLES])
def test_bundled_answers(sample: Sample) -> None:
    benchmark = make_benchmark()

    def outcome(answer: str) -> str:
        episode = benchmark.episode_from_answer(sample, answer)
        return asyncio.run(benchmark.evaluate_sample(sample, episode)).outcome

    reference = benchmark.reference_episode(sample)
    assert asyncio.run(benchmark.evaluate_sample(sample, reference)).outcome == "passed"
    assert {outcome(text) for text in sample.meta["variants"]} == {"passed"}
    assert {outcome(text) for text in sample.meta["counterexamples"]} == {"failed"}


def test_bundled_web_answers_are_in_the_pages() -> None:
    pages = web_search.load_pages(FOLDER / web_search.PAGES_FILE)
    text = "\n".join(page["text"] for page in pages)
    for sample in SAMPLES:
        if sample.metric in WEB_SEARCH:
            accepted = json.loads(sample.reference["ground_truth"])
            assert web_search.mentions_answer(text, accepted), sample.id
            assert not web_search.mentions_answer(
                sample.input["question"][0][0]["content"], accepted
            )


def make_official(folder: Path) -> Path:
    """A folder as the official one: no recorded pages."""
    shutil.copytree(
        FOLDER, folder, ignore=shutil.ignore_patterns("web_pages.jsonl", "multi_turn_*.jsonl")
    )
    return folder


def test_web_questions_without_pages_need_a_key_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(web_search.KEY_VARIABLE, raising=False)
    samples = load(make_official(tmp_path / "d"))
    with pytest.raises(UsageError, match=r"SERPAPI_API_KEY.*bfcl\.categories"):
        make_benchmark().select_runnable(samples)
    monkeypatch.setenv(web_search.KEY_VARIABLE, "a-key")
    assert len(make_benchmark().select_runnable(samples)) == len(samples)


def test_multi_turn_entries_without_their_services_are_named_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVALBOARD_DATA_DIR", str(tmp_path))
    monkeypatch.setattr(
        "evalcore.benchmarks.bfcl.multi_turn.simulators.find_installation", lambda: None
    )
    monkeypatch.setattr("evalcore.benchmarks.bfcl.dataset.find_installation", lambda: None)
    row = {"id": "multi_turn_base_0", "question": [[{"role": "user", "content": "x"}]]}
    row |= {"involved_classes": ["TradingBot"], "ground_truth": [["f()"]]}
    path = tmp_path / "BFCL_v4_multi_turn_base.json"
    path.write_text(json.dumps(row) + "\n")
    benchmark = make_benchmark()
    samples = benchmark.load_dataset(DatasetSource(path))
    with pytest.raises(UsageError, match="TradingBot"):
        benchmark.select_runnable(samples)
    benchmark.close()


def test_conversations_that_changed_end_the_sample(tmp_path: Path) -> None:
    folder = make_official(tmp_path / "d")
    sample = next(one for one in load(folder) if one.metric == "memory_kv")
    path = Path(sample.meta["material"])
    path.write_text(path.read_text() + "\n")
    benchmark = make_benchmark()
    with pytest.raises(EnvironmentFailure, match="changed"):
        asyncio.run(benchmark.run_sample(sample, AskContext(keep_everything)))
    benchmark.close()
    path.unlink()
    with pytest.raises(DatasetError, match="memory_orchard"):
        load(folder)


def test_the_material_belongs_to_the_case_and_its_path_does_not(tmp_path: Path) -> None:
    moved = {one.id: one.case_hash for one in load(make_official(tmp_path / "d"))}
    for sample in SAMPLES:
        assert (moved[sample.id] == sample.case_hash) == (sample.metric in MEMORY)


class TestLiveWeb:
    def reply(
        self, monkeypatch: pytest.MonkeyPatch, *replies: HttpReply | Exception
    ) -> web_search.LiveWeb:
        left = list(replies)

        def send(request: Any, **_: Any) -> HttpReply:
            given = left.pop(0)
            if isinstance(given, Exception):
                raise given
            return given

        monkeypatch.setattr(web_search, "send_http_request", send)
        return web_search.LiveWeb("secret-key", pause=lambda seconds: None)

    def test_results(self, monkeypatch: pytest.MonkeyPatch) -> None:
        row = {"title": "T", "link": "https://a.example.org", "snippet": "S", "more": 1}
        body = json.dumps({"organic_results": [row, "odd", {"title": "no link"}]}).encode()
        web = self.reply(monkeypatch, HttpReply(429, {}, b""), HttpReply(200, {}, body))
        assert web.search("x", "wt-wt") == [
            {"title": "T", "href": "https://a.example.org", "body": "S"}
        ]

    @pytest.mark.parametrize(
        "reply",
        [
            HttpReply(401, {}, b""),
            HttpReply(200, {}, b"[1]"),
            HttpReply(200, {}, b"\xff"),
            Unreachable("down"),
        ],
    )
    def test_a_service_that_fails_is_never_the_models_fault(
        self, monkeypatch: pytest.MonkeyPatch, reply: HttpReply | Exception
    ) -> None:
        web = self.reply(monkeypatch, *[reply] * 4)
        tools = web_search.WebSearchAPI(web, [], snippets=True)
        with pytest.raises(EnvironmentFailure) as caught:
            tools.execute(None, [], ["search_engine_query(keywords='x')"])  # type: ignore[arg-type]
        assert "secret-key" not in str(caught.value)

    def test_pages(self, monkeypatch: pytest.MonkeyPatch) -> None:
        page = b"<h1>Top</h1><script>x()</script><ul><li>One <a href='/b'>two</a></ul>"
        moved = HttpReply(302, {"location": "/b"}, b"")
        ok = HttpReply(200, {}, page)
        web = self.reply(monkeypatch, moved, ok, HttpReply(404, {}, b""), ToolError("private"))
        tools = web_search.WebSearchAPI(web, [], snippets=True)
        url = "url='https://a.example.org/a'"
        calls = [f"fetch_url_content({url}, mode='markdown')"] + [f"fetch_url_content({url})"] * 2
        calls += ["fetch_url_content(url='file:///etc/passwd')", "__import__('os').getcwd()"]
        first, *rest = tools.execute(None, [], calls)  # type: ignore[arg-type]
        assert json.loads(first)["content"] == "# Top\n* One [two](/b)"
        assert [("error" in text or "Error" in text) for text in rest] == [True] * 4


def test_words_rank_keys() -> None:
    ranked = rank_by_words("city", ["first_name", "city_of_birth", "city"])
    assert [key for _, key in ranked] == ["city", "city_of_birth", "first_name"]
    with pytest.raises(ZeroDivisionError):
        rank_by_words("city", [])


def test_likeness_finds_the_text_that_shares_words() -> None:
    memory = MemoryAPI_vector()
    for text in ("The cart is free on Thursdays.", "The press gives 3 bottles.", "14 euros"):
        memory.archival_memory_add(text)
    best = memory.archival_memory_retrieve("When is the cart free?", 1)["result"][0]
    assert best["id"] == 0
    with pytest.raises(AssertionError):
        memory.archival_memory_retrieve("cart", 0)
    assert memory.core_memory_retrieve("cart", 0) == {"result": []}
    assert sum(value * value for value in embed_text("any words").values()) == pytest.approx(1)

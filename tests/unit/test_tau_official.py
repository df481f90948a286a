"""tau-bench under protocol=official: texts of upstream's code, in upstream's loop."""

from __future__ import annotations

import asyncio
import json

import pytest

from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.official_texts import TEXTS_FILE, read_official_texts
from evalcore.errors import UsageError
from evalcore.exchange.tau_bench import fetch_tau, format_tau_fetch
from evalcore.records import Completion, Sampling, ToolCall
from evalcore.runner.plan import plan_run
from evalcore.runner.run_request import RunRequest
from evalcore.settings import load_settings
from tests.support.tau_checkout import write_checkout
from tests.support.tau_data import Scripted, benchmark

OFFICIAL = {"protocol": "official", "domain": "retail", "use_llm_user": True}
OFFICIAL |= {"user_model": "openai:gpt-4o"}


@pytest.fixture
def fetched(tmp_path, monkeypatch):
    """A data folder into which the small checkout was fetched."""
    monkeypatch.setenv("EVALBOARD_DATA", str(tmp_path / "data"))
    folder = tmp_path / "data" / "datasets" / "tau-v1"
    lines: list[str] = []
    fetch_tau(folder, write_checkout(tmp_path), lines.append)
    assert "the domain airline is left out" in lines[0]
    return folder


def play(folder, answers, *, asking="native", **options):
    """The episode, its verdict and the context of one conversation."""
    made = benchmark(**(OFFICIAL | options))
    (sample,) = made.load_dataset(DatasetSource(str(folder)))
    made.select_official_texts(DatasetSource(str(folder)), load_settings())
    context = Scripted(
        lambda step, request: answers[min(step, len(answers) - 1)],
        asking=asking,
        user=lambda step, request: Completion(text=f" line {step}" if step < 2 else "###STOP###"),
    )
    episode = asyncio.run(made.run_sample(sample, context))
    return episode, asyncio.run(made.evaluate_sample(sample, episode)), context


def call(name, arguments, number=0):
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return ToolCall(f"c{number}", name, text)


@pytest.mark.parametrize("kind", ["folder", "zip", "tar.gz"])
def test_a_checkout_or_an_archive_is_fetched_whole(tmp_path, kind):
    folder = tmp_path / "out"
    done = fetch_tau(folder, write_checkout(tmp_path, kind), lambda line: None)
    assert done.commit == "unknown"
    names = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert not any(name.endswith(("secret.py", "__init__.py", "user.py")) for name in names)
    assert {TEXTS_FILE, "source.json", "tau_bench/envs/retail/wiki.md"} <= names
    texts = read_official_texts(folder, "tau_bench")
    assert texts is not None
    assert texts.texts["tools_heading"] == "\n# The tools\n"
    assert texts.texts["instructions"]["act"] == "\nAct; respond speaks.\n"
    assert texts.texts["user_prompt"] == [
        "You play a customer.\nWhat you want: ",
        "\nStay in your role.",
    ]
    assert [tool["function"]["name"] for tool in json.loads(texts.texts["tools"]["retail"])] == [
        "alpha",
        "beta",
    ]
    assert (texts.texts["temperature"], texts.texts["max_steps"]) == (0.25, 4)
    again = fetch_tau(folder, None, lambda line: None)
    assert again.already
    assert "tau_bench.protocol=official" in format_tau_fetch(again)


def test_what_is_no_checkout_is_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "text").write_text("x")
    for source in ("empty", "text", "nowhere"):
        with pytest.raises(UsageError):
            fetch_tau(tmp_path / "out", tmp_path / source, lambda line: None)
        assert not (tmp_path / "out").exists()
    root = write_checkout(tmp_path)
    agent = root / "tau_bench/agents/chat_react_agent.py"
    agent.write_text(
        agent.read_text().replace("ACT_INSTRUCTION = f", "ACT_INSTRUCTION = read() or f")
    )
    with pytest.raises(UsageError, match="texts of tau-bench cannot be read"):
        fetch_tau(tmp_path / "out", root, lambda line: None)


def test_native_requests_are_upstreams(fetched):
    answers = [
        Completion(text="Which order?"),
        Completion(
            tool_calls=(call("think", {"thought": "x"}), call("think", {"thought": "y"}, 1))
        ),
        Completion(text="Done."),
    ]
    episode, verdict, context = play(fetched, answers)
    first = context.requests[0]
    assert [message.content for message in first.messages] == ["# Policy\nBe kind.\n", " line 0"]
    assert [tool["function"]["name"] for tool in first.tools] == ["alpha", "beta"]
    assert first.sampling == Sampling(temperature=0.25)
    sent = context.requests[2].messages
    assert [message.role for message in sent[-2:]] == ["assistant", "tool"]
    assert len(sent[-2].tool_calls) == 1, "upstream takes one call an answer"
    assert (sent[-1].name, sent[-1].tool_call_id) == ("think", "c0")
    user = context.of_user[0].messages
    assert user[0].content == (
        "You play a customer.\nWhat you want: You are Ann. Cancel #W1.\nStay in your role."
    )
    assert user[1].content == "Hello, what can I help with?"
    assert context.of_user[0].sampling == Sampling()
    assert (episode.state["ended"], verdict.outcome) == ("user_stop", "passed")


@pytest.mark.parametrize(("style", "words"), [("json", "\nAct;"), ("react", "\nThink, then act;")])
def test_prompted_requests_are_upstreams(fetched, style, words):
    action = 'Action:\n{"name": "think", "arguments": {"thought": "x"}}'
    answers = [Completion(text=f"Thought: hm\n{action}"), Completion(text="Action: all done")]
    _, _, context = play(fetched, answers, asking="prompt", style=style)
    system = context.requests[0].messages[0].content
    assert system.startswith('# Policy\nBe kind.\n\n# The tools\n[{"type": "function"')
    assert words in system
    assert not context.requests[0].tools
    assert context.requests[1].messages[-1].content == "The output: "
    assert context.of_user[1].messages[-1].content == "all done"


@pytest.mark.parametrize(
    ("answer", "asking"),
    [
        (Completion(tool_calls=(call("think", "{broken"),)), "native"),
        (Completion(tool_calls=(call("think", [1]),)), "native"),
        (Completion(text='Action: {"name": "think"}'), "prompt"),
        (Completion(text="Action: 5"), "prompt"),
        (Completion(text='Action: {"name": "respond", "arguments": {"text": "x"}}'), "prompt"),
    ],
)
def test_what_raises_upstream_ends_without_a_reward(fetched, answer, asking):
    episode, verdict, _ = play(fetched, [answer], asking=asking)
    assert (episode.termination, verdict.outcome) == ("max_parse_errors", "failed")


def test_the_steps_are_upstreams_and_no_other_limit_holds(fetched):
    unknown = Completion(tool_calls=(call("nothing", {}),))
    episode, verdict, context = play(fetched, [unknown])
    assert (len(context.requests), episode.termination) == (4, "max_turns")
    assert verdict.outcome == "failed"
    with pytest.raises(UsageError, match="protocol=official allows only upstream's limits"):
        benchmark(protocol="official", max_turns=15)


def test_a_native_call_in_words_is_lost(fetched):
    answers = [
        Completion(text='<tool_call>{"name": "think", "arguments": {"thought": "x"}}</tool_call>')
    ]
    _, verdict, _ = play(fetched, answers)
    assert verdict.details["call_reading"] == "lost"


def test_the_hash_of_the_texts_is_part_of_the_column(tmp_path, fetched):
    settings = load_settings()

    def plan(**options):
        request = RunRequest(
            target="control:null",
            benchmarks=("tau_bench",),
            dataset=str(fetched),
            options={"tau_bench": {"use_llm_user": True, "user_model": "openai:gpt-4o", **options}},
        )
        return plan_run(request, settings).spec.benchmarks[0]

    board, official = plan(), plan(protocol="official")
    assert official.column != board.column
    assert len(official.options["official_texts"]) == 12
    assert official.dataset == "tau-v1"  # named as boards know it, though it came by its path
    assert plan(protocol="official", official_texts=official.options["official_texts"]) == official
    texts = fetched / TEXTS_FILE
    texts.write_text(texts.read_text().replace("Be kind", "Be brief").replace("Think", "Muse"))
    assert plan(protocol="official").column not in (board.column, official.column)


def test_without_texts_the_run_says_what_to_fetch(tmp_path, fetched):
    (fetched / TEXTS_FILE).unlink()
    with pytest.raises(UsageError, match="evalcore datasets fetch tau_bench"):
        benchmark(protocol="official").select_official_texts(
            DatasetSource(str(fetched)), load_settings()
        )
    with pytest.raises(UsageError, match="cannot be read"):
        _ = benchmark(protocol="official", official_texts="../../etc").official_texts

"""Agents that write anything at all: no exception, no transcript lost, the same verdict twice."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path
from typing import Any

import pytest

from evalcore.benchmarks.base import ToolCallMode
from evalcore.records import Completion, Episode, GenerationRequest, ToolCall, from_json, to_json
from tests.support import tau_data
from tests.support.tau_agents import NEEDS
from tests.support.tau_data import Scripted

#: Python's parser warns of odd escapes in what is read as a literal.
pytestmark = pytest.mark.filterwarnings("ignore:invalid escape sequence:DeprecationWarning")

EPISODES = 2_000
ENDS = {"user_stop", "transfer", "max_turns", "max_tool_errors", "max_parse_errors"}
_ASKING: tuple[ToolCallMode, ...] = ("native", "prompt", "json")
_NAMES = (*NEEDS, "no_such_tool", "", "respond", "__class__", "x" * 5_000, "工具")
_SCALARS = (
    *("#W1", "l1", "card_1", "", "\x00", "日本", "a" * 3_000, "9**9**9", "no longer needed"),
    *(None, True, 0, -1, 10**30, 1e308, 0.1, "\ud800"),
)
_WORDS = (
    "yes",
    "order?",
    "###STOP###",
    "Thought:",
    "Action:",
    "{",
    "}",
    "[",
    '"',
    "'",
    "\\",
    "```",
)
_PIECES = ("TOOL_CALL: ", "<tool_call>", "</tool_call>", "[TOOL_CALLS]", "```json\n", "Action: ")


def value(dice: random.Random, depth: int = 0) -> Any:
    kind = dice.random()
    if kind < 0.7 or depth > 3:
        return dice.choice(_SCALARS)
    if kind < 0.85:
        return [value(dice, depth + 1) for _ in range(dice.randrange(4))]
    return {str(dice.choice(_WORDS)): value(dice, depth + 1) for _ in range(dice.randrange(4))}


def arguments(dice: random.Random, name: str) -> Any:
    if dice.random() < 0.1:
        return value(dice)
    names = list(NEEDS.get(name, ("order_id",)))
    return {item: value(dice) for item in names if dice.random() < 0.9}


def broken(dice: random.Random, text: str) -> str:
    """Sometimes cut, doubled, nested deep or with a character changed."""
    kind = dice.random()
    if kind < 0.15:
        return text[: dice.randrange(len(text) + 1)]
    if kind < 0.2:
        return text + text
    if kind < 0.25:
        return "[" * dice.choice((10, 2_000)) + text
    if kind < 0.35 and text:
        at = dice.randrange(len(text))
        return text[:at] + dice.choice("{}[]\"',:\\ \n") + text[at + 1 :]
    return text


def prose(dice: random.Random) -> str:
    words = [dice.choice(_WORDS) for _ in range(dice.randrange(30))]
    return " ".join(words) * (200 if dice.random() < 0.03 else 1)


def answer(dice: random.Random, asking: ToolCallMode) -> Completion:
    name = dice.choice(_NAMES)
    written = json.dumps(arguments(dice, name))
    if dice.random() < 0.03:
        return Completion(finish_reason=dice.choice(("unparsable", "length")))
    if asking == "native" and dice.random() < 0.7:
        count = dice.choice((1, 1, 1, 2, 5))
        made = tuple(
            ToolCall(dice.choice(("", "c1", f"c{at}")), name, broken(dice, written))
            for at in range(count)
        )
        return Completion(text=prose(dice), tool_calls=made, finish_reason="tool_calls")
    if dice.random() < 0.4:
        return Completion(text=prose(dice))
    call = f'{{"name": {json.dumps(name)}, "arguments": {written}}}'
    call = repr(json.loads(call)) if dice.random() < 0.2 else call
    before = dice.choice((*_PIECES, "", prose(dice)))
    # A target's text can always be written to the journal, hence no half of a surrogate pair.
    text = (before + broken(dice, call)).encode(errors="replace").decode()
    return Completion(text=text)


def play(folder: Path, seed: int, task: str) -> Episode:
    dice = random.Random(seed)
    asking = dice.choice(_ASKING)
    answered: list[Completion] = []

    def says(step: int, request: GenerationRequest) -> Completion:
        answered.append(answer(dice, asking))
        return answered[-1]

    context = Scripted(says, asking=asking, epoch=seed)
    benchmark = tau_data.benchmark(
        style=dice.choice(("json", "react")), max_turns=dice.choice((6, 30))
    )
    sample = SAMPLES[folder][task]
    episode = asyncio.run(benchmark.run_sample(sample, context))
    messages = [message for message in episode.messages if message.role == "assistant"]
    assert [message.content for message in messages] == [item.text for item in answered]
    return episode


SAMPLES: dict[Path, dict[str, Any]] = {}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tau_data.write(tmp_path_factory.mktemp("tau") / "data")
    SAMPLES[path] = tau_data.samples(path)
    return path


@pytest.mark.full
def test_two_thousand_episodes_of_a_fuzzing_agent(folder: Path) -> None:
    tasks = [name for name in SAMPLES[folder] if name != "retail/test/4"]
    ends: dict[str, int] = {}
    benchmark = tau_data.benchmark()
    for seed in range(EPISODES):
        task = tasks[seed % len(tasks)]
        episode = play(folder, seed, task)
        stored = from_json(Episode, to_json(episode))
        assert stored == episode
        verdict = asyncio.run(benchmark.evaluate_sample(SAMPLES[folder][task], stored))
        assert verdict.outcome in ("passed", "failed")
        assert to_json(verdict)
        ends[episode.state["ended"]] = ends.get(episode.state["ended"], 0) + 1
    assert set(ends) == ENDS
    assert min(ends.values()) >= 10


def test_the_same_seed_gives_the_same_episode(folder: Path) -> None:
    for seed in range(30):
        assert play(folder, seed, "retail/test/0") == play(folder, seed, "retail/test/0")

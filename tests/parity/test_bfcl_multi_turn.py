"""Multi-turn verdicts against the official checker's, which runs in an environment of its own."""

from __future__ import annotations

import ast
import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evalcore.benchmarks.bfcl.categories import MULTI_TURN
from evalcore.benchmarks.bfcl.entry import BfclEntry, load_folder
from evalcore.benchmarks.bfcl.multi_turn.conversations import run_conversation
from evalcore.benchmarks.bfcl.multi_turn.service import calls_to_text
from evalcore.benchmarks.bfcl.multi_turn.simulators import (
    OFFICIAL_APIS,
    VARIABLE,
    Simulators,
    open_simulators,
)
from evalcore.benchmarks.call_decoding import Call, DecodeError, decode_calls
from evalcore.records import Completion
from tests.support.bfcl_multi_turn import (
    ask_official,
    check_prediction,
    official_environment,
    official_folder,
)
from tests.support.shared_data import shared_data

Prediction = list[list[Any]]


@pytest.fixture(scope="module")
def python() -> Path:
    return official_environment()


@pytest.fixture(scope="module")
def entries() -> list[BfclEntry]:
    return load_folder(shared_data("bfcl"), MULTI_TURN)


@pytest.fixture(scope="module")
def simulators(python, entries) -> Iterator[Simulators]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, official_folder(python))
        opened = open_simulators([shared_data("bfcl")])
    with opened:
        yield opened


def as_truth(entry: BfclEntry) -> Prediction:
    """The ground truth as a prediction of one step a turn."""
    return [[list(turn)] if turn else [] for turn in truth(entry)]


def truth(entry: BfclEntry) -> list[list[str]]:
    return entry.ground_truth or []


def positional(entry: BfclEntry) -> bool:
    """Whether a call has an argument without a name, which decoding of text drops."""
    calls = [ast.parse(call, mode="eval").body for turn in truth(entry) for call in turn]
    return any(isinstance(call, ast.Call) and call.args for call in calls)


def read(text: str) -> list[Call]:
    return decode_calls(text, "prompt_python")


def test_all_ground_truths_are_valid_twice_in_one_process(entries, simulators):
    for _ in range(2):
        failed = [
            entry.id
            for entry in entries
            if not check_prediction(entry, as_truth(entry), simulators).valid
        ]
        assert not failed
    assert len(entries) == 800


def some_turn(prediction: Prediction, dice: random.Random) -> list[Any]:
    return dice.choice([turn for turn in prediction if turn])


def drop_call(prediction: Prediction, dice: random.Random) -> None:
    calls = some_turn(prediction, dice)[0]
    calls.pop(dice.randrange(len(calls)))


def change_argument(prediction: Prediction, dice: random.Random) -> None:
    calls = some_turn(prediction, dice)[0]
    index = dice.randrange(len(calls))
    for old, new in (("='", "='x"), ("=1", "=2"), ("=True", "=False"), ("('", "('y"), ("=", "=7")):
        if old in calls[index]:
            calls[index] = calls[index].replace(old, new, 1)
            return


def wrong_type(prediction: Prediction, dice: random.Random) -> None:
    calls = some_turn(prediction, dice)[0]
    index = dice.randrange(len(calls))
    head, _, tail = calls[index].partition("=")
    calls[index] = f"{head}={dice.choice(['None', '[1]', '{}', '(1, 2)', '-3.5'])})" if tail else ""


def reorder(prediction: Prediction, dice: random.Random) -> None:
    some_turn(prediction, dice)[0].reverse()


def reorder_turns(prediction: Prediction, dice: random.Random) -> None:
    dice.shuffle(prediction)


def extra_call(prediction: Prediction, dice: random.Random) -> None:
    calls = some_turn(prediction, dice)[0]
    calls.insert(dice.randrange(len(calls) + 1), dice.choice(calls))


def foreign_call(prediction: Prediction, dice: random.Random) -> None:
    extra = dice.choice(
        [
            "ls()",
            "pwd()",
            "logout()",
            "touch(file_name='new')",
            "ticket_logout()",
            "fillFuelTank(1)",
        ]
    )
    dice.choice(prediction).append([extra])


def empty_turn(prediction: Prediction, dice: random.Random) -> None:
    some_turn(prediction, dice).clear()


def lose_turn(prediction: Prediction, dice: random.Random) -> None:
    prediction.pop()


def odd_calls(prediction: Prediction, dice: random.Random) -> None:
    odd = [
        "unknown(a=1)",
        "GorillaFileSystem.ls()",
        "cd(",
        "cd(folder=nan)",
        "mean(numbers=[add(a=1,b=2)])",
        "cd(folder=mkdir(dir_name='nested'))",
        "ls(a=True, a=False)",
        "divide(a=1,b=0)",
        "find(**{})",
        "_load_scenario({})",
        "7",
    ]
    turn = some_turn(prediction, dice)
    turn.insert(dice.randrange(len(turn) + 1), dice.sample(odd, 4))


def split_steps(prediction: Prediction, dice: random.Random) -> None:
    turn = some_turn(prediction, dice)
    turn[:] = ["I think.", *([call] for step in turn for call in step), [], [""], "Done."]


def early(prediction: Prediction, dice: random.Random) -> None:
    """The calls of all turns in the first one; the later ones make a harmless one."""
    every = [call for turn in prediction for step in turn for call in step]
    prediction[:] = [[every], *([["unknown()"]] for _ in prediction[1:])]


MUTATIONS: tuple[Callable[[Prediction, random.Random], None], ...] = (
    drop_call,
    change_argument,
    wrong_type,
    reorder,
    reorder_turns,
    extra_call,
    foreign_call,
    empty_turn,
    lose_turn,
    odd_calls,
    split_steps,
    early,
)


def test_verdicts_and_error_types_of_mutants_are_the_official_ones(
    entries, simulators, python, tmp_path
):
    dice = random.Random(7)
    cases: list[tuple[str, BfclEntry, Any]] = [("inference", entries[0], "Error during inference.")]
    for entry in entries:
        for mutate in dice.sample(MUTATIONS, 3):
            prediction = as_truth(entry)
            mutate(prediction, dice)
            cases.append((mutate.__name__, entry, prediction))
    requests = [
        {
            "entry": {"id": item.id, **item.extra},
            "truth": item.ground_truth,
            "prediction": prediction,
        }
        for _, item, prediction in cases
    ]
    official = ask_official(python, requests, tmp_path)
    ours = [check_prediction(item, prediction, simulators) for _, item, prediction in cases]
    differing = [
        (kind, case.id, prediction, theirs, scored.error_type)
        for (kind, case, prediction), theirs, scored in zip(cases, official, ours, strict=True)
        if theirs != [scored.valid, scored.error_type]
    ]
    assert not differing, (len(differing), differing[:3])
    error_types = Counter(scored.error_type for scored in ours)
    assert len(error_types) == 6
    assert min(error_types.values()) >= 1
    assert sum(error_types.values()) == len(cases) == 2401
    assert error_types[""] > 400


def test_decoded_calls_are_written_as_the_official_code_writes_them(python, tmp_path):
    values: list[Any] = [1, -2.5, "it's", 'a"b\\', None, True, [], [1, [2, {"k": "v"}]], "ü\n"]
    mappings: list[Any] = [{}, {"k": 1}, {"k": {}}, {"f": {"a": 1}}, {"f": {"a": {"g": {}}}}]
    mappings += [{"k": 1, "l": {"m": "n"}}, {"f": {"a": 1}, "g": {"b": 2}}, {"k'": 1}]
    lists: list[Any] = [[], [{}], [{"f": {}}], [{"f": {"a": 1}, "g": {"b": "x", "c": 2}}]]
    lists += [[{"f": {"a": value}}] for value in values + mappings]
    requests = [{"calls": calls, "native": native} for calls in lists for native in (True, False)]
    for request, theirs in zip(requests, ask_official(python, requests, tmp_path), strict=True):
        try:
            ours = calls_to_text(request["calls"], native=request["native"])
        except DecodeError:
            ours = None
        assert ours == theirs, request


async def test_conversations_that_follow_the_ground_truth_are_valid(entries, simulators):
    named = [entry for entry in entries if not positional(entry)]
    assert len(named) > 600
    for entry in named[::8]:
        turns = [[f"[{', '.join(turn)}]", "Done."] if turn else ["No."] for turn in truth(entry)]
        answers = iter([text for turn in turns for text in turn])

        async def ask(messages, tools, answers=answers) -> Completion:
            return Completion(text=next(answers))

        conversation = await run_conversation(entry, ask, simulators, read)
        assert check_prediction(entry, conversation.prediction, simulators).valid, entry.id
        assert next(answers, None) is None


def test_every_official_class_has_documents(simulators, entries):
    named = {name for entry in entries for name in entry.extra["involved_classes"]}
    assert named == set(OFFICIAL_APIS)
    assert sum(map(len, map(simulators.list_documents, entries))) > 10_000

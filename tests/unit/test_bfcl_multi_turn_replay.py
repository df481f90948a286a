"""Predictions replayed on a tiny API: verdicts, evidence, limits and isolation."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from evalcore.benchmarks.bfcl.checker.arguments import classify_call_error
from evalcore.benchmarks.bfcl.multi_turn.conversations import (
    examine_prediction,
)
from evalcore.benchmarks.bfcl.multi_turn.service import find_first_difference, missing_results
from evalcore.benchmarks.bfcl.multi_turn.simulators import Simulators
from evalcore.errors import DatasetError, EnvironmentFailure
from evalcore.records import from_json, to_json
from tests.support.bfcl_multi_turn import (
    Shelf,
    check_prediction,
    shelf_apis,
    shelf_entry,
    shelf_simulators,
)

PUT, LOOK, COUNT = "put(box='b', item=1)", "look(box='a')", "count()"
EMPTY, STATE = "multi_turn:empty_turn_model_response", "multi_turn:instance_state_mismatch"
RESPONSE = "multi_turn:execution_response_mismatch"


@pytest.fixture(scope="module")
def simulators() -> Iterator[Simulators]:
    with shelf_simulators() as opened:
        yield opened


@pytest.mark.parametrize(
    ("truth", "prediction", "error_type"),
    [
        ([[PUT, LOOK]], [[[PUT, LOOK]]], ""),
        ([[PUT, LOOK]], [[[LOOK], [PUT]]], ""),
        ([[PUT, LOOK]], [[["unknown()", LOOK, COUNT], [PUT], "Done."]], ""),
        ([[PUT, LOOK]], [[[{"look": {"box": "a"}}, {"put": {"box": "b", "item": 1}}]]], ""),
        ([[LOOK], [LOOK]], [[[LOOK]], [[COUNT]]], ""),  # a result serves every later turn
        ([[LOOK, LOOK]], [[[LOOK]]], RESPONSE),
        ([[PUT], [COUNT]], [[[PUT]], [["greet()"]]], RESPONSE),
        ([[PUT]], [[[PUT, PUT]]], STATE),
        ([[PUT]], [[["put(box='b', item=2)"]]], STATE),
        ([[PUT]], [[[]]], EMPTY),
        ([[PUT]], [[]], EMPTY),
        ([[PUT]], [["put it", None]], EMPTY),
        ([[], [PUT]], [[], [[PUT]]], ""),
        ([[], [PUT]], [[[LOOK]], [[PUT]]], ""),
        ([[], [PUT]], [[[PUT]], [[LOOK]]], ""),
        ([[], [PUT]], [[[PUT]], [[PUT]]], STATE),
        ([[PUT], []], [[[PUT]], [[PUT]]], ""),
        ([[PUT], [LOOK]], [[[PUT]]], "multi_turn:force_terminated"),
        ([[PUT]], [[[PUT]], []], "multi_turn:force_terminated"),
        ([[PUT]], "Error during inference", "multi_turn:inference_error"),
        ([["greet(name='Ada')"]], [[["greet('Ada')"]]], ""),
        ([["Shelf.count()"]], [[["Shelf.look()"]]], ""),
        ([["count()"]], [[["Shelf.count()"]]], RESPONSE),
    ],
)
def test_verdicts(simulators, truth, prediction, error_type):
    scored = check_prediction(shelf_entry(truth), prediction, simulators)
    assert scored.error_type == error_type
    assert (scored.valid, scored.score) == (not error_type, float(not error_type))
    assert bool(scored.message) == bool(error_type)
    assert classify_call_error(error_type) in (None, "state", "response", "ended")


def test_a_differing_state_is_narrowed_down(simulators):
    entry = shelf_entry([[LOOK], [PUT]])
    outcome = examine_prediction(
        entry, [[[LOOK]], [["put(box='b', item=[2, 3])"]]], simulators
    ).outcome
    assert outcome.turn == 1
    difference = outcome.difference
    assert (difference.api, difference.attribute) == ("Shelf", "boxes")
    assert (difference.path, difference.expected, difference.actual) == (("b", "0"), 1, [2, 3])
    assert "Shelf.boxes.b.0" in outcome.message
    assert outcome.turns[0].called == outcome.turns[0].expected == ((LOOK, '{"items": ["nail"]}'),)
    assert outcome.turns[1].expected == ((PUT, '{"items": 1}'),)
    assert from_json(type(outcome), to_json(outcome)) == outcome


def test_missing_results_are_shown(simulators):
    outcome = examine_prediction(shelf_entry([[LOOK, COUNT]]), [[[COUNT]]], simulators).outcome
    assert (outcome.turn, outcome.missing) == (0, ('{"items": ["nail"]}',))


@pytest.mark.parametrize(
    ("call", "result"),
    [
        ("label()", "shelf"),
        ("count()", "2"),
        (PUT, '{"items": 1}'),
        ("odd()", "{'set': {1}}"),
        ("look('none')", '{"error": "no box none"}'),
        (
            "put(item=1)",
            "Error during execution: Shelf.put() missing 1 required positional argument: 'box'",
        ),
        ("look(box=[])", "Error during execution: unhashable type: 'list'"),
        ("unknown()", "Error during execution: name 'unknown' is not defined"),
        ("secret()", "Error during execution: name 'secret' is not defined"),
        ("_load_scenario({})", "Error during execution: name '_load_scenario' is not defined"),
        ("look(", "Error during execution: '(' was never closed (<string>, line 1)"),
    ],
)
def test_results_are_written_as_upstream_does(simulators, call, result):
    assert simulators.execute(shelf_entry([[call]]), [], [call]) == [result]


def test_samples_do_not_reach_each_other(simulators):
    entry = shelf_entry([[PUT]])
    for _ in range(3):
        assert check_prediction(entry, [[[PUT]]], simulators).valid
    assert simulators.execute(entry, [], [PUT]) == ['{"items": 1}']
    assert simulators.execute(entry, [PUT], [PUT, LOOK]) == ['{"items": 2}', '{"items": ["nail"]}']
    assert entry.extra["initial_config"] == {"Shelf": {"boxes": {"a": ["nail"], "b": []}}}


def test_the_order_of_a_scenario_is_kept(simulators):
    scenario = {"Shelf": {"boxes": {"a": {"z": 1, "b": 2}}}}
    entry = shelf_entry([[LOOK]], initial_config=scenario)
    assert simulators.execute(entry, [], [LOOK]) == ['{"items": ["z", "b"]}']


def test_long_context_is_told_to_the_apis(simulators):
    entry = shelf_entry([[COUNT]], "multi_turn_long_context")
    assert simulators.execute(entry, [], [COUNT]) == ["502"]


def test_a_call_that_hangs_fails_its_entry_alone():
    with shelf_simulators(seconds=1.0) as simulators:
        hung = check_prediction(shelf_entry([[PUT]]), [[["wait()", PUT]]], simulators)
        assert (hung.valid, hung.error_type) == (False, "execution_timeout")
        assert check_prediction(shelf_entry([[PUT]]), [[[PUT]]], simulators).valid


def test_a_call_that_kills_the_process_fails_its_entry_alone(simulators):
    lost = check_prediction(shelf_entry([[PUT]]), [[["crash()"]]], simulators)
    assert lost.error_type == "execution_lost"
    assert check_prediction(shelf_entry([[PUT]]), [[[PUT]]], simulators).valid


HOSTILE = [
    "put(box='b', item=" + "[" * 150 + "]" * 150 + ")",
    "put(box='b', item='\\ud800')",
    "put(box='b', item='\ud800')",
    "put(box='\\ud800', item=1)",
    "put(box='c', item={'\\ud800': {'\\ud800': [[[[[[[['\\ud800']]]]]]]]}})",
    "put(box='" + "k" * 100_000 + "', item=1)",
    "put(box='b', item=[" + "['some text', {'k': [1, 2]}], " * 3000 + "])",
    "put(box='b', item=" + "9" * 4000 + ")",
    "put(box='b', item=1e999)",
    "put(box=('b', 1), item={1: {2: 3}})",
    "put(box='b', item='" + "x" * 500_000 + "')",
]


@pytest.mark.parametrize("call", HOSTILE)
def test_hostile_calls_fail_with_evidence_that_can_be_stored(simulators, call):
    examined = examine_prediction(shelf_entry([[PUT]]), [[[call]]], simulators)
    assert examined.scored.error_type == STATE
    assert len(to_json(examined)) < 50_000


def test_classes_that_cannot_be_had_are_no_fault_of_the_model():
    entry = shelf_entry([[PUT]], involved_classes=["Shelf", "MathAPI"])
    with (
        Simulators(shelf_apis(), missing={"MathAPI": "pip install it"}) as simulators,
        pytest.raises(EnvironmentFailure, match="pip install it"),
    ):
        check_prediction(entry, [[[PUT]]], simulators)
    gone = {**shelf_apis(), "Shelf": shelf_apis()["Shelf"].__class__("Shelf", "no_module:X", ())}
    with (
        Simulators(gone) as simulators,
        pytest.raises(EnvironmentFailure, match=r"no_module.*pip install"),
    ):
        check_prediction(shelf_entry([[PUT]]), [[[PUT]]], simulators)


@pytest.mark.parametrize(
    "extra",
    [{"involved_classes": None}, {"involved_classes": ["Other"]}, {"initial_config": [1]}],
)
def test_entries_that_are_none_are_refused(simulators, extra):
    with pytest.raises(DatasetError):
        check_prediction(shelf_entry([[PUT]], **extra), [[[PUT]]], simulators)
    for truth in ([], [PUT], [[1]]):
        with pytest.raises(DatasetError):
            check_prediction(shelf_entry(truth), [[]], simulators)


def test_a_scenario_that_an_api_cannot_load_is_no_fault_of_the_model(simulators):
    entry = shelf_entry([[PUT]], initial_config={"Shelf": 7})
    with pytest.raises(EnvironmentFailure, match="multi_turn_base_0"):
        check_prediction(entry, [[[PUT]]], simulators)


def test_every_result_counts_once():
    assert missing_results(["a", "b"], ["b", "c", "a"]) == []
    assert missing_results(["a", "a"], ["a", "b"]) == ["a"]
    assert missing_results([], []) == []


def test_private_attributes_are_no_state():
    ours, theirs = Shelf(), Shelf()
    ours._moves = 5
    assert find_first_difference({"Shelf": ours}, {"Shelf": theirs}) is None
    theirs.lost = 1
    first_difference = find_first_difference({"Shelf": ours}, {"Shelf": theirs})
    assert (first_difference.attribute, first_difference.expected, first_difference.actual) == (
        "lost",
        1,
        "(absent)",
    )


def test_differences_of_equal_types_end_at_the_first_key():
    ours, theirs = Shelf(), Shelf()
    ours.boxes, theirs.boxes = {"a": [1, {"b": 2}], "z": 1}, {"a": [1, {"b": 3}], "z": 2}
    first_difference = find_first_difference({"Shelf": ours}, {"Shelf": theirs})
    assert (first_difference.path, first_difference.expected, first_difference.actual) == (
        ("a", "1", "b"),
        3,
        2,
    )
    ours.boxes = {**theirs.boxes, "more": []}
    first_difference = find_first_difference({"Shelf": ours}, {"Shelf": theirs})
    assert (first_difference.path, first_difference.expected, first_difference.actual) == (
        ("more",),
        "(absent)",
        [],
    )
    ours.boxes = 5
    first_difference = find_first_difference({"Shelf": ours}, {"Shelf": theirs})
    assert (first_difference.path, first_difference.actual) == ((), 5)

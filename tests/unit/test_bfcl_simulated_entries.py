"""The multi-turn entries of our own: right where they should be, and answerable with the tools."""

from __future__ import annotations

import json
import re

import pytest

from evalcore.benchmarks.bfcl.categories import MULTI_TURN
from evalcore.benchmarks.bfcl.entry import load_folder
from evalcore.benchmarks.bfcl.multi_turn.conversations import examine_prediction
from evalcore.benchmarks.bfcl.multi_turn.simulators import open_simulators
from tests.support.shared_data import ROOT

FOLDER = ROOT / "datasets" / "bfcl"
ENTRIES = load_folder(FOLDER, MULTI_TURN)
EACH = pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
LEAST = {"base": 8, "miss_func": 6, "miss_param": 6, "long_context": 4}

ID = re.compile(r"'([TCMZ]\d+|[a-z]+-Z\d-\d{4})'")


@pytest.fixture(scope="module")
def simulators():
    with open_simulators([FOLDER]) as opened:
        yield opened


def run_singly(truth):
    return [[[call] for call in turn] for turn in truth]


@EACH
def test_references_and_variants_pass_and_counterexamples_fail(entry, simulators):
    reference = run_singly(entry.ground_truth)
    assert examine_prediction(entry, reference, simulators).outcome.error_type == ""
    for variant in entry.extra["variants"]:
        assert variant != reference
        assert examine_prediction(entry, variant, simulators).outcome.error_type == "", variant
    for wrong in entry.extra["counterexamples"]:
        assert not examine_prediction(entry, wrong, simulators).scored.valid, wrong


@EACH
def test_no_call_of_a_reference_can_be_left_out(entry, simulators):
    for turn, calls in enumerate(entry.ground_truth):
        for index in range(len(calls)):
            shorter = run_singly(entry.ground_truth)
            del shorter[turn][index]
            assert not examine_prediction(entry, shorter, simulators).scored.valid, calls[index]


@EACH
def test_references_use_only_ids_that_were_said_or_looked_up(entry, simulators):
    outcome = examine_prediction(entry, run_singly(entry.ground_truth), simulators).outcome
    text = ""
    for message, turn in zip(entry.question, outcome.turns, strict=True):
        text += json.dumps(message)
        for call, result in turn.called:
            assert not result.lower().startswith(('{"error', "error")), call
            for used in ID.findall(call):
                assert re.search(rf"\b{re.escape(used)}\b", text), (call, used)
            text += full_result(entry, outcome, call, simulators)


def full_result(entry, outcome, call, simulators) -> str:
    """The result of a call at its place; evidence shows long ones cut."""
    calls = [called for turn in outcome.turns for called, _ in turn.called]
    return simulators.execute(entry, calls[: calls.index(call)], [call])[0]


@pytest.mark.parametrize("kind", LEAST)
def test_the_entries_keep_the_rules_of_their_category(kind):
    lines = (FOLDER / "multi_turn_func_doc").glob("*.json")
    names = {json.loads(row)["name"] for path in lines for row in path.open(encoding="utf-8")}
    result = [entry for entry in ENTRIES if entry.category == f"multi_turn_{kind}"]
    assert len(result) >= LEAST[kind]
    assert any(len(entry.extra["involved_classes"]) == 2 for entry in result)
    for item in result:
        truth, extra = item.ground_truth, item.extra
        assert 2 <= len(item.question) == len(truth) <= 5
        assert set(extra["initial_config"]) == set(extra["involved_classes"])
        assert len(extra["variants"]) >= 2
        assert len(extra["counterexamples"]) >= 3
        missed = extra.get("missed_function", {})
        assert {name for held in missed.values() for name in held} <= names
        assert [k for k, turn in enumerate(item.question) if not turn] == [*map(int, missed)]
        silent = [k for k, turn in enumerate(truth) if not turn]
        if kind == "miss_func":
            assert silent == [int(turn) - 1 for turn in missed] != []
        else:
            assert not missed
            assert bool(silent) == (kind == "miss_param")


def test_no_two_entries_ask_the_same():
    assert len({json.dumps(item.question) for item in ENTRIES}) == len(ENTRIES) > 0

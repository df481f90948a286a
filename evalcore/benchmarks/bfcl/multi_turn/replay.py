"""A whole prediction of a multi-turn entry against its ground truth: verdict and evidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evalcore.benchmarks.bfcl.entry import BfclEntry
from evalcore.benchmarks.bfcl.multi_turn.calls import list_call_steps
from evalcore.benchmarks.bfcl.multi_turn.checkers import ReplayOutcome
from evalcore.benchmarks.bfcl.multi_turn.simulators import Overrun, Simulators
from evalcore.benchmarks.bfcl.score import ViewResult
from evalcore.errors import DatasetError
from evalcore.records import Record

INFERENCE = "multi_turn:inference_error"
TERMINATED = "multi_turn:force_terminated"

#: Two error types of ours, for calls that overran their limits.
OVERRUNS = ("execution_timeout", "execution_lost")
#: Every error type: upstream's five, then ours.
ERROR_TYPES = (
    INFERENCE,
    TERMINATED,
    "multi_turn:empty_turn_model_response",
    "multi_turn:instance_state_mismatch",
    "multi_turn:execution_response_mismatch",
    *OVERRUNS,
)


class Examination(Record, frozen=True):
    """A verdict and what it rests on: the turn that failed, the first difference of the states,
    the results that are missing, and what was called in each turn with what result."""

    scored: ViewResult
    outcome: ReplayOutcome


def check_prediction(entry: BfclEntry, prediction: Any, simulators: Simulators) -> ViewResult:
    """The verdict alone; see `examine_prediction`."""
    return examine_prediction(entry, prediction, simulators).scored


def examine_prediction(entry: BfclEntry, prediction: Any, simulators: Simulators) -> Examination:
    """Upstream's verdict on a prediction: a list of turns, each a list of steps (`calls.steps`).

    Raises nothing for what a model wrote; EnvironmentFailure where the APIs cannot be run,
    DatasetError for an entry that is none.
    """
    truth = ground_truth(entry)
    outcome = _find_turn_mismatch(truth, prediction)
    if outcome is None:
        turns = [list_call_steps(turn) for turn in prediction]
        outcome = _replay_turns(entry, truth, turns, simulators)
    valid = not outcome.error_type
    scored = ViewResult(valid, outcome.error_type, outcome.message, score=float(valid))
    return Examination(scored, outcome)


def ground_truth(entry: BfclEntry) -> list[list[str]]:
    """The calls of every turn as text; raises DatasetError for anything else."""
    truth = entry.ground_truth
    if not truth or not all(
        isinstance(turn, list) and all(isinstance(call, str) for call in turn) for turn in truth
    ):
        raise DatasetError(entry.id, None, "ground_truth", "must be a list of turns of calls")
    return truth


def _find_turn_mismatch(truth: Sequence[Any], prediction: Any) -> ReplayOutcome | None:
    if not isinstance(prediction, list | tuple):
        return ReplayOutcome(INFERENCE, "the prediction is no list of turns")
    if len(prediction) != len(truth):
        message = f"the conversation ended in turn {len(prediction)} of {len(truth)}"
        return ReplayOutcome(TERMINATED, message)
    return None


def _replay_turns(
    entry: BfclEntry, truth: list[list[str]], turns: list[list[list[str]]], simulators: Simulators
) -> ReplayOutcome:
    try:
        return simulators.replay(entry, truth, turns)
    except Overrun as overrun:
        return ReplayOutcome(overrun.kind, str(overrun))

"""The verdict on an episode: its actions replayed on a fresh database, as upstream rewards them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from evalcore.benchmarks.tau_bench import evidence
from evalcore.benchmarks.tau_bench.budgets import FILTERED, OVERFLOW, TRANSFER, USER_STOP
from evalcore.benchmarks.tau_bench.dataset import (
    list_task_flags,
    load_sample_domain,
    noop_passes,
    to_task,
)
from evalcore.benchmarks.tau_bench.environment import Environment, Reward, compute_reward
from evalcore.benchmarks.tau_bench.episode import is_tool_error
from evalcore.errors import UsageError
from evalcore.records import Episode, Sample, Verdict

MAX_ACTIONS = 10_000
#: An answer that somebody already has came to its end, whatever that was.
IMPORTED_ENDING = ""
_REWARDED = (USER_STOP, TRANSFER, IMPORTED_ENDING)
_HASH_DIGITS = 16  # hex digits of an observation's hash
_FORM = 'a prediction is {"actions": [{"name", "kwargs"}], "says": [texts]}'


def to_episode_state(prediction: Any) -> dict[str, Any]:
    """What an episode's state holds of a prediction. Raises UsageError for another form."""
    if isinstance(prediction, str):
        try:
            prediction = json.loads(prediction)
        except (ValueError, RecursionError):
            prediction = {"says": [prediction] if prediction else []}
    if not isinstance(prediction, dict):
        raise UsageError(f"{_FORM}, not a {type(prediction).__name__}")
    actions, says = prediction.get("actions") or [], prediction.get("says") or []
    if not isinstance(actions, list) or not all(isinstance(action, dict) for action in actions):
        raise UsageError(f"{_FORM}; actions must be objects")
    if not isinstance(says, list) or not all(isinstance(text, str) for text in says):
        raise UsageError(f"{_FORM}; says must be texts")
    if len(actions) > MAX_ACTIONS:
        raise UsageError(f"a prediction has at most {MAX_ACTIONS} actions, not {len(actions)}")
    return {
        "actions": [_convert_action(action) for action in actions],
        "says": says,
        "ended": IMPORTED_ENDING,
    }


def _convert_action(action: Mapping[str, Any]) -> dict[str, str]:
    name = action.get("name")
    if not isinstance(name, str):
        raise UsageError(f"{_FORM}; the name of an action must be a text")
    return {"name": name, "kwargs": json.dumps(action.get("kwargs", {}))}


def build_tau_verdict(sample: Sample, episode: Episode, *, substring: bool) -> Verdict:
    """Raises EnvironmentFailure where the data of the sample is no longer there."""
    state, task, domain = episode.state, to_task(sample), load_sample_domain(sample)
    environment = Environment(domain)
    observations = [
        environment.call(action["name"], json.loads(action["kwargs"]))
        for action in state.get("actions", ())
    ]
    reward = compute_reward(domain, task, environment, state.get("says", ()), substring=substring)
    ended = str(state.get("ended", IMPORTED_ENDING))
    passed = bool(reward.value) and ended in _REWARDED
    details = _build_verdict_details(sample, state, reward, observations)
    return Verdict(
        metric=sample.metric,
        id=sample.id,
        epoch=episode.epoch,
        outcome="passed" if passed else "failed",
        score=float(passed),
        evidence_kind="executed",
        reason="" if passed else _select_failure_reason(ended),
        note="" if passed else _format_failure_note(reward, ended),
        details=details | {"writes": len(environment.writes)},
        evidence=evidence.build_tau_sections(task, reward, state.get("user", {})),
    )


def _build_verdict_details(
    sample: Sample, state: Mapping[str, Any], reward: Reward, observations: Sequence[str]
) -> dict[str, Any]:
    user = state.get("user", {})
    facts = {
        "db_hash": reward.db_hash,
        "gt_hash": reward.gt_hash,
        "obs_sha": [_hash_observation(text) for text in observations],
        "actions_ok": reward.actions_ok,
        "outputs_ok": reward.outputs_ok,
        "tool_errors": sum(map(is_tool_error, observations)),
        "idle_passes": noop_passes(sample),
    }
    facts |= {
        name: user[name] for name in ("user_turns", "unrecognised", "user_cost") if name in user
    }
    facts |= {name: state[name] for name in ("mode", "parse_errors") if name in state}
    if state.get("ended"):
        facts["termination"] = state["ended"]
    if list_task_flags(sample):
        facts["flagged"] = ", ".join(list_task_flags(sample))
    return facts


def _hash_observation(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:_HASH_DIGITS]


def _select_failure_reason(ended: str) -> str:
    if ended in _REWARDED:
        return "wrong_answer"
    return ended if ended in (OVERFLOW, FILTERED) else "budget"


def _format_failure_note(reward: Reward, ended: str) -> str:
    if ended not in _REWARDED:
        return f"The conversation came to no end of its own: {ended}."
    if reward.difference is not None:
        where = [reward.difference.table, reward.difference.id, *map(str, reward.difference.path)]
        return f"The database is not as the task leaves it: {'.'.join(where)}."
    return f"Never said: {', '.join(reward.missing_outputs)}."

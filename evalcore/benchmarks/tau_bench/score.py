"""The verdict on an episode: its actions replayed on a fresh database, as upstream rewards them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from evalcore.benchmarks.tau_bench import evidence
from evalcore.benchmarks.tau_bench.budgets import FILTERED, OVERFLOW, TRANSFER, USER_STOP
from evalcore.benchmarks.tau_bench.dataset import domain_of, flags, idle_passes, task_of
from evalcore.benchmarks.tau_bench.environment import Environment, Reward, reward
from evalcore.benchmarks.tau_bench.episode import erred
from evalcore.errors import UsageError
from evalcore.records import Episode, Sample, Verdict

MOST_ACTIONS = 10_000
#: An answer that somebody already has came to its end, whatever that was.
GIVEN = ""
_REWARDED = (USER_STOP, TRANSFER, GIVEN)
_HASH = 16  # hex digits of an observation's hash
_FORM = 'a prediction is {"actions": [{"name", "kwargs"}], "says": [texts]}'


def state_of(prediction: Any) -> dict[str, Any]:
    """What an episode's state holds of a prediction. Raises UsageError for another form."""
    if isinstance(prediction, str):
        try:
            prediction = json.loads(prediction)
        except (ValueError, RecursionError):
            prediction = {"says": [prediction] if prediction else []}
    if not isinstance(prediction, dict):
        raise UsageError(f"{_FORM}, not a {type(prediction).__name__}")
    actions, says = prediction.get("actions") or [], prediction.get("says") or []
    if not isinstance(actions, list) or not all(isinstance(one, dict) for one in actions):
        raise UsageError(f"{_FORM}; actions must be objects")
    if not isinstance(says, list) or not all(isinstance(text, str) for text in says):
        raise UsageError(f"{_FORM}; says must be texts")
    if len(actions) > MOST_ACTIONS:
        raise UsageError(f"a prediction has at most {MOST_ACTIONS} actions, not {len(actions)}")
    return {"actions": [_kept(one) for one in actions], "says": says, "ended": GIVEN}


def _kept(action: Mapping[str, Any]) -> dict[str, str]:
    name = action.get("name")
    if not isinstance(name, str):
        raise UsageError(f"{_FORM}; the name of an action must be a text")
    return {"name": name, "kwargs": json.dumps(action.get("kwargs", {}))}


def verdict(sample: Sample, episode: Episode, *, substring: bool) -> Verdict:
    """Raises EnvironmentFailure where the data of the sample is no longer there."""
    state, task, domain = episode.state, task_of(sample), domain_of(sample)
    environment = Environment(domain)
    seen = [
        environment.call(action["name"], json.loads(action["kwargs"]))
        for action in state.get("actions", ())
    ]
    found = reward(domain, task, environment, state.get("says", ()), substring=substring)
    ended = str(state.get("ended", GIVEN))
    passed = bool(found.value) and ended in _REWARDED
    details = _details(sample, state, found, seen)
    return Verdict(
        metric=sample.metric,
        id=sample.id,
        epoch=episode.epoch,
        outcome="passed" if passed else "failed",
        score=float(passed),
        evidence_kind="executed",
        reason="" if passed else _reason(ended),
        note="" if passed else _note(found, ended),
        details=details | {"writes": len(environment.writes)},
        evidence=evidence.sections(task, found, state.get("user", {})),
    )


def _details(
    sample: Sample, state: Mapping[str, Any], found: Reward, seen: Sequence[str]
) -> dict[str, Any]:
    user = state.get("user", {})
    facts = {
        "db_hash": found.db_hash,
        "gt_hash": found.gt_hash,
        "obs_sha": [_short(text) for text in seen],
        "actions_ok": found.actions_ok,
        "outputs_ok": found.outputs_ok,
        "tool_errors": sum(map(erred, seen)),
        "idle_passes": idle_passes(sample),
    }
    facts |= {
        name: user[name] for name in ("user_turns", "unrecognised", "user_cost") if name in user
    }
    facts |= {name: state[name] for name in ("mode", "parse_errors") if name in state}
    if state.get("ended"):
        facts["termination"] = state["ended"]
    if flags(sample):
        facts["flagged"] = ", ".join(flags(sample))
    return facts


def _short(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:_HASH]


def _reason(ended: str) -> str:
    if ended in _REWARDED:
        return "wrong_answer"
    return ended if ended in (OVERFLOW, FILTERED) else "budget"


def _note(found: Reward, ended: str) -> str:
    if ended not in _REWARDED:
        return f"The conversation came to no end of its own: {ended}."
    if found.difference is not None:
        where = [found.difference.table, found.difference.id, *map(str, found.difference.path)]
        return f"The database is not as the task leaves it: {'.'.join(where)}."
    return f"Never said: {', '.join(found.missing_outputs)}."

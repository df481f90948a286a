"""The verdict on an episode with its evidence: the parts of the reward, and what both sides did."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from evalcore.benchmarks.agents import summarize_call_readings
from evalcore.benchmarks.tau2_bench.dataset import (
    list_task_flags,
    load_sample_world,
    noop_passes,
    to_task,
)
from evalcore.benchmarks.tau2_bench.environment.reward import (
    Check,
    Reward,
    compute_reward,
    start_environment,
)
from evalcore.benchmarks.tau2_bench.environment.tasks import Task
from evalcore.benchmarks.tau2_bench.environment.world import Environment
from evalcore.benchmarks.tau_bench.conversation import (
    FILTERED,
    OVERFLOW,
    USER_STOP,
    is_tool_error,
)
from evalcore.benchmarks.tau_bench.score import (
    IMPORTED_ENDING,
    MAX_ACTIONS,
    build_difference_section,
    build_table_section,
    describe_end,
)
from evalcore.errors import EnvironmentFailure, UsageError
from evalcore.i18n import Note
from evalcore.records import Episode, Outcome, Sample, Section, Verdict

_REWARDED = (USER_STOP, IMPORTED_ENDING)
_FORM = 'a prediction is {"actions": [{"name", "arguments", "requestor"}], "says": [texts]}'


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
    name, requestor = action.get("name"), action.get("requestor", "assistant")
    if not isinstance(name, str):
        raise UsageError(f"{_FORM}; the name of an action must be a text")
    if requestor not in ("assistant", "user"):
        raise UsageError(f"{_FORM}; the requestor of an action is assistant or user")
    kwargs = json.dumps(action.get("arguments", action.get("kwargs", {})))
    return {"name": name, "kwargs": kwargs, "requestor": requestor}


def list_environment_actions(environment: Environment) -> list[dict[str, str]]:
    """The calls of an episode as its state holds them."""
    return [
        {"name": call.name, "kwargs": json.dumps(call.kwargs), "requestor": call.requestor}
        for call in environment.calls
    ]


def build_verdict(sample: Sample, episode: Episode, *, substring: bool) -> Verdict:
    """Raises EnvironmentFailure where the data of the sample is no longer there."""
    state, task, world = episode.state, to_task(sample), load_sample_world(sample)
    try:
        environment = start_environment(world, task)
    except ValueError as error:
        raise EnvironmentFailure(str(error)) from None
    observations = [
        environment.call(
            action["name"],
            json.loads(action["kwargs"]),
            "user" if action.get("requestor") == "user" else "assistant",
        )
        for action in state.get("actions", ())
    ]
    writes = len(environment.writes)
    reward = compute_reward(world, task, environment, state.get("says", ()), substring=substring)
    ended = str(state.get("ended", IMPORTED_ENDING))
    outcome = _decide_outcome(reward, ended)
    return Verdict(
        metric=sample.metric,
        id=sample.id,
        epoch=episode.epoch,
        outcome=outcome,
        score=None if outcome == "not_executed" else float(outcome == "passed"),
        evidence_kind="executed",
        reason=_select_reason(outcome, ended),
        note="" if outcome == "passed" else format_note(reward, ended),
        details=_build_details(sample, state, reward, observations) | {"writes": writes},
        evidence=build_sections(task, reward, environment, state.get("user", {})),
    )


def _decide_outcome(reward: Reward, ended: str) -> Outcome:
    if ended not in _REWARDED or reward.value == 0:
        return "failed"
    return "not_executed" if reward.value is None else "passed"


def _select_reason(outcome: Outcome, ended: str) -> str:
    if outcome == "passed":
        return ""
    if outcome == "not_executed":
        return "undecided"
    if ended in _REWARDED:
        return "wrong_answer"
    return ended if ended in (OVERFLOW, FILTERED) else "budget"


def format_note(reward: Reward, ended: str) -> str:
    """Why an episode has no reward, by the first part that failed."""
    if ended not in _REWARDED:
        return Note("tau_no_end", problem=describe_end(ended))
    failed = [name for name, value in reward.parts.items() if value == 0]
    if "DB" in failed and reward.difference is not None:
        difference = reward.difference
        where = [difference.table, difference.id, *map(str, difference.path)]
        return Note("tau_database", place=".".join(where))
    if "ENV_ASSERTION" in failed:
        return Note("tau2_assertion", assertion=_name_failed(reward.assertions))
    if "ACTION" in failed:
        return Note("tau2_action", name=_name_failed(reward.actions))
    if "COMMUNICATE" in failed:
        return Note("tau_never_said", outputs=", ".join(reward.missing_outputs))
    return Note("tau2_undecided")


def _name_failed(checks: Sequence[Check]) -> str:
    return next((check.subject for check in checks if not check.holds), "")


def _build_details(
    sample: Sample, state: Mapping[str, Any], reward: Reward, observations: Sequence[str]
) -> dict[str, Any]:
    user = state.get("user", {})
    facts = {
        "db_hash": reward.db_hash,
        "gt_hash": reward.gt_hash,
        "reward_parts": ", ".join(
            f"{name}={'?' if value is None else int(value)}" for name, value in reward.parts.items()
        ),
        "tool_errors": sum(map(is_tool_error, observations)),
        "idle_passes": noop_passes(sample),
    }
    facts |= {
        name: user[name] for name in ("user_turns", "unrecognised", "user_cost") if name in user
    }
    facts |= {name: state[name] for name in ("mode", "parse_errors") if name in state}
    facts |= summarize_call_readings(state)
    if state.get("ended"):
        facts["termination"] = state["ended"]
    if list_task_flags(sample):
        facts["flagged"] = ", ".join(list_task_flags(sample))
    return facts


def build_sections(
    task: Task, reward: Reward, environment: Environment, user: Mapping[str, Any]
) -> tuple[Section, ...]:
    """What each part of the reward found, what the user did themselves, and the true actions."""
    sections = []
    if reward.difference is not None:
        sections.append(build_difference_section(reward.difference))
    checks = [("assertions", reward.assertions)]
    checks += [("actions_made", reward.actions)] if "ACTION" in reward.parts else []
    for title, results in checks:
        if results:
            rows = [[check.subject, check.holds] for check in results]
            sections.append(build_table_section(title, ["check", "holds"], rows))
    if reward.missing_outputs:
        rows = [[text] for text in reward.missing_outputs]
        sections.append(build_table_section("missing_outputs", ["output"], rows))
    own = [call for call in environment.calls if call.requestor == "user"]
    if own:
        rows = [[call.name, json.dumps(call.kwargs, ensure_ascii=False)] for call in own]
        sections.append(build_table_section("user_calls", ["tool", "arguments"], rows))
    if user.get("goals"):
        rows = [[goal["kind"], goal["order"], goal["progress"]] for goal in user["goals"]]
        sections.append(build_table_section("goals", ["goal", "subject", "progress"], rows))
    if task.actions:
        calls = [
            {"name": action.name, "arguments": action.arguments, "requestor": action.requestor}
            for action in task.actions
        ]
        sections.append(Section(kind="json", title="true_actions", body=calls))
    return tuple(sections)

"""The verdict on an episode with its evidence: the parts of the reward, and what both sides did."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from evalcore.benchmarks.tau2_bench.dataset import open_sample
from evalcore.benchmarks.tau2_bench.environment.reward import Check, Reward, compute_reward
from evalcore.benchmarks.tau2_bench.environment.tasks import Task
from evalcore.benchmarks.tau2_bench.environment.world import Environment
from evalcore.benchmarks.tau_bench import score as tau_score
from evalcore.benchmarks.tau_bench.conversation import USER_STOP
from evalcore.benchmarks.tau_bench.score import (
    IMPORTED_ENDING,
    build_difference_section,
    build_table_section,
    describe_end,
)
from evalcore.errors import UsageError
from evalcore.i18n import Note
from evalcore.records import Episode, Outcome, Sample, Section, Verdict

_REWARDED = (USER_STOP, IMPORTED_ENDING)
_FORM = 'a prediction is {"actions": [{"name", "arguments", "requestor"}], "says": [texts]}'


def to_episode_state(prediction: Any) -> dict[str, Any]:
    """What an episode's state holds of a prediction. Raises UsageError for another form."""
    return tau_score.to_episode_state(prediction, _FORM, _convert_action)


def _convert_action(action: Mapping[str, Any]) -> dict[str, str]:
    name, requestor = action.get("name"), action.get("requestor", "assistant")
    if not isinstance(name, str):
        raise UsageError(Note("prediction_name", form=_FORM))
    if requestor not in ("assistant", "user"):
        raise UsageError(Note("prediction_requestor", form=_FORM))
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
    state, (world, task, environment) = episode.state, open_sample(sample)
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
    return tau_score.select_failure_reason(ended, _REWARDED)


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
    facts = {
        "db_hash": reward.db_hash,
        "gt_hash": reward.gt_hash,
        "reward_parts": ", ".join(
            f"{name}={'?' if value is None else int(value)}" for name, value in reward.parts.items()
        ),
    }
    return facts | tau_score.describe_conversation(sample, state, observations)


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
    sections += tau_score.build_missing_section(reward.missing_outputs)
    own = [call for call in environment.calls if call.requestor == "user"]
    if own:
        rows = [[call.name, json.dumps(call.kwargs, ensure_ascii=False)] for call in own]
        sections.append(build_table_section("user_calls", ["tool", "arguments"], rows))
    sections += tau_score.build_goals_section(user)
    if task.actions:
        calls = [
            {"name": action.name, "arguments": action.arguments, "requestor": action.requestor}
            for action in task.actions
        ]
        sections.append(Section(kind="json", title="true_actions", body=calls))
    return tuple(sections)

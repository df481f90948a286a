"""The verdict on an episode with its evidence, and pass^k over the epochs of a run.

pass^k after S. Yao et al., "tau-bench" (2024): the mean over tasks of C(c, k) / C(n, k), c being
the successes. Beside it stands p0, the share of tasks that doing nothing passes.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from math import comb, fsum
from typing import Any

from evalcore.benchmarks.agents import summarize_call_readings
from evalcore.benchmarks.tau_bench.conversation import (
    FILTERED,
    OVERFLOW,
    TRANSFER,
    USER_STOP,
    Budgets,
    is_tool_error,
)
from evalcore.benchmarks.tau_bench.dataset import load_sample_domain, to_task
from evalcore.benchmarks.tau_bench.environment import (
    DatabaseDifference,
    Environment,
    Reward,
    Task,
    compute_reward,
)
from evalcore.benchmarks.tau_bench.task_data import list_task_flags, noop_passes
from evalcore.errors import UsageError
from evalcore.i18n import Note
from evalcore.records import MEASURED, Episode, Record, Sample, Section, Verdict
from evalcore.results import Interval
from evalcore.scoring.intervals import compute_moments, effective_size, wilson_interval


def build_tau_sections(task: Task, reward: Reward, user: Mapping[str, Any]) -> tuple[Section, ...]:
    """The first entity that differs, what was never said, the user's goals and the true actions."""
    sections = []
    if reward.difference is not None:
        sections.append(build_difference_section(reward.difference))
    sections += build_missing_section(reward.missing_outputs)
    sections += build_goals_section(user)
    if task.actions:
        calls = [{"name": action.name, "arguments": action.kwargs} for action in task.actions]
        sections.append(Section(kind="json", title="true_actions", body=calls))
    return tuple(sections)


def build_missing_section(outputs: Sequence[str]) -> list[Section]:
    """What was never said; nothing where nothing is missing."""
    rows = [[text] for text in outputs]
    return [build_table_section("missing_outputs", ["output"], rows)] if rows else []


def build_goals_section(user: Mapping[str, Any]) -> list[Section]:
    """The wishes of a user by rules; nothing for a user that is a model."""
    rows = [[goal["kind"], goal["order"], goal["progress"]] for goal in user.get("goals") or ()]
    columns = ["goal", "subject", "progress"]
    return [build_table_section("goals", columns, rows)] if rows else []


def build_difference_section(difference: DatabaseDifference) -> Section:
    path = ".".join((difference.table, difference.id, *map(str, difference.path)))
    pair = {"expected": difference.expected, "actual": difference.actual}
    body = {**pair, "differences": [{"path": path, **pair}]}
    return Section(kind="tree_diff", title="database_difference", body=body)


def build_table_section(title: str, columns: list[str], rows: list[list[Any]]) -> Section:
    return Section(kind="table", title=title, body={"columns": columns, "rows": rows})


MAX_ACTIONS = 10_000
#: An answer that somebody already has came to its end, whatever that was.
IMPORTED_ENDING = ""
_REWARDED = (USER_STOP, TRANSFER, IMPORTED_ENDING)
#: The limits that end a conversation; the note on each is `end_` and its name.
ENDINGS = (*Budgets.__struct_fields__, OVERFLOW, FILTERED)
_HASH_DIGITS = 16  # hex digits of an observation's hash
_FORM = 'a prediction is {"actions": [{"name", "kwargs"}], "says": [texts]}'


def to_episode_state(
    prediction: Any,
    form: str = _FORM,
    convert: Callable[[Mapping[str, Any]], dict[str, str]] | None = None,
) -> dict[str, Any]:
    """What an episode's state holds of a prediction, its actions by `convert`. Raises UsageError,
    naming the `form`, for another one."""
    if isinstance(prediction, str):
        try:
            prediction = json.loads(prediction)
        except (ValueError, RecursionError):
            prediction = {"says": [prediction] if prediction else []}
    if not isinstance(prediction, dict):
        raise UsageError(f"{form}, not a {type(prediction).__name__}")
    actions, says = prediction.get("actions") or [], prediction.get("says") or []
    if not isinstance(actions, list) or not all(isinstance(action, dict) for action in actions):
        raise UsageError(Note("prediction_actions", form=form))
    if not isinstance(says, list) or not all(isinstance(text, str) for text in says):
        raise UsageError(Note("prediction_says", form=form))
    if len(actions) > MAX_ACTIONS:
        raise UsageError(Note("prediction_many", most=MAX_ACTIONS, count=len(actions)))
    return {
        "actions": list(map(convert or _convert_action, actions)),
        "says": says,
        "ended": IMPORTED_ENDING,
    }


def _convert_action(action: Mapping[str, Any]) -> dict[str, str]:
    name = action.get("name")
    if not isinstance(name, str):
        raise UsageError(Note("prediction_name", form=_FORM))
    return {"name": name, "kwargs": json.dumps(action.get("kwargs", {}))}


def build_tau_verdict(
    sample: Sample, episode: Episode, *, substring: bool, checks_types: bool = True
) -> Verdict:
    """Raises EnvironmentFailure where the data of the sample is no longer there."""
    state, task, domain = episode.state, to_task(sample), load_sample_domain(sample)
    environment = Environment(domain, checks_types=checks_types)
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
        reason="" if passed else select_failure_reason(ended),
        note="" if passed else _format_failure_note(reward, ended),
        details=details | {"writes": len(environment.writes)},
        evidence=build_tau_sections(task, reward, state.get("user", {})),
    )


def _build_verdict_details(
    sample: Sample, state: Mapping[str, Any], reward: Reward, observations: Sequence[str]
) -> dict[str, Any]:
    facts = {
        "db_hash": reward.db_hash,
        "gt_hash": reward.gt_hash,
        "obs_sha": [_hash_observation(text) for text in observations],
        "actions_ok": reward.actions_ok,
        "outputs_ok": reward.outputs_ok,
    }
    return facts | describe_conversation(sample, state, observations)


def describe_conversation(
    sample: Sample, state: Mapping[str, Any], observations: Sequence[str]
) -> dict[str, Any]:
    """What the details of a verdict hold of the conversation, whatever its reward."""
    user = state.get("user", {})
    facts: dict[str, Any] = {
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


def _hash_observation(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:_HASH_DIGITS]


def select_failure_reason(ended: str, rewarded: Sequence[str] = _REWARDED) -> str:
    """The reason of a verdict without a reward: a wrong answer, or the limit that ended it."""
    if ended in rewarded:
        return "wrong_answer"
    return ended if ended in (OVERFLOW, FILTERED) else "budget"


def describe_end(ended: str) -> str:
    """What ended a conversation, as a note where it is one of our limits."""
    return Note(f"end_{ended}") if ended in ENDINGS else ended


def _format_failure_note(reward: Reward, ended: str) -> str:
    if ended not in _REWARDED:
        return Note("tau_no_end", problem=describe_end(ended))
    if reward.difference is not None:
        where = [reward.difference.table, reward.difference.id, *map(str, reward.difference.path)]
        return Note("tau_database", place=".".join(where))
    return Note("tau_never_said", outputs=", ".join(reward.missing_outputs))


class PassK(Record, frozen=True):
    """`value` and its 95 % interval, 0 to 100; the cases that it counts are whole tasks."""

    k: int
    value: float
    interval: Interval


def pass_k(successes: Sequence[int], tries: int) -> tuple[PassK, ...]:
    """Compute pass^1 to pass^tries from the successes per task; all tasks have equally many
    tries."""
    return (
        tuple(_estimate_pass_k(successes, tries, k) for k in range(1, tries + 1))
        if successes
        else ()
    )


def _estimate_pass_k(successes: Sequence[int], tries: int, k: int) -> PassK:
    shares = sorted(comb(count, k) / comb(tries, k) for count in successes)
    value = 100 * fsum(shares) / len(shares)
    moments = compute_moments([(1.0, share, 1) for share in shares])
    return PassK(k, value, wilson_interval(value / 100, effective_size([moments])))


def compute_pass_groups(
    samples: Sequence[Sample], verdicts: Sequence[Verdict], tries: int
) -> dict[str, float | None]:
    """By name, 0 to 100: `pass^k` with `pass^k.low` and `pass^k.high`, `p0`, and `adjusted^k` (for
    k = 1 `adjust_for_noop`). pass^k is None while a task was not measured in every epoch; what is
    adjusted is None where doing nothing passes all."""
    if not samples:
        return {}
    successes = _count_successes(samples, verdicts, tries)
    p0 = 100 * sum(map(noop_passes, samples)) / len(samples)
    scores: dict[str, float | None] = {"p0": p0}
    if successes is None:
        return scores | {f"pass^{k}": None for k in range(1, tries + 1)} | {"adjusted": None}
    for estimate in pass_k(successes, tries):
        name = f"pass^{estimate.k}"
        scores |= {
            name: estimate.value,
            f"{name}.low": estimate.interval.low,
            f"{name}.high": estimate.interval.high,
            "adjusted" if estimate.k == 1 else f"adjusted^{estimate.k}": adjust_for_noop(
                estimate.value, p0
            ),
        }
    return scores


def adjust_for_noop(value: float, p0: float) -> float | None:
    """How much of what doing nothing leaves was reached: 0 for p0, 100 for all, below 0 for less
    than p0. None where it leaves nothing."""
    return None if p0 >= 100 else 100 * ((value - p0) / (100 - p0))


def _count_successes(
    samples: Sequence[Sample], verdicts: Sequence[Verdict], tries: int
) -> list[int] | None:
    """How often each task succeeded, None unless all were measured in each epoch."""
    passed: Mapping[tuple[str, str], dict[int, bool]] = defaultdict(dict)
    for verdict in verdicts:
        if verdict.outcome in MEASURED and 0 <= verdict.epoch < tries:
            passed[verdict.metric, verdict.id][verdict.epoch] = verdict.outcome == "passed"
    task_epochs = [passed[sample.metric, sample.id] for sample in samples]
    if any(len(tried) < tries for tried in task_epochs):
        return None
    return [sum(tried.values()) for tried in task_epochs]

"""Result files of τ²-bench: `simulations/NAME/results.json` with the simulations in it, or beside
it in a folder `simulations/`, as its runner writes those with sound."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from evalcore.exchange.logs.files import read_json_file
from evalcore.exchange.logs.inspect_logs import iter_messages
from evalcore.exchange.logs.records import (
    FieldReader,
    FrameworkLog,
    LoggedSample,
    LoggedTask,
    clean_model_name,
    convert_score,
    convert_text,
    convert_time,
    is_share,
    select_sampling,
)
from evalcore.exchange.logs.runs import EPOCHS_LIMIT
from evalcore.i18n import Note
from evalcore.intake import add_counts, read_count, read_seconds
from evalcore.records import Usage
from evalcore.store.run_folder import Flag

FRAMEWORK = "tau2_results"
_METRIC = "reward"
_FOLDER = "simulations"
_TOLERANCE = 1e-6  # within which a reward counts as 1, as upstream reads it
_FAILED = "infrastructure_error"  # upstream leaves such a simulation out, too
_SAMPLES_LIMIT = 200_000


def is_tau2_result(path: Path, head: bytes) -> bool:
    """Whether a file holds results of τ²-bench, by its first bytes."""
    return path.suffix == ".json" and b'"user_info"' in head and b'"num_trials"' in head


def read_tau2_result(path: Path) -> FrameworkLog:
    """Read one result file with its simulations. Raises DatasetError naming file and field."""
    results = FieldReader(path, read_json_file(path))
    info = results.read_object("info")
    agent, user = info.read_object("agent_info"), info.read_object("user_info")
    domain = info.read_object("environment_info").read_text("domain_name")
    commit = info.find_text("git_commit")
    version = "" if commit in ("", "unknown") else commit[:12]
    trials = info.find_count("num_trials")
    if trials is None or not 1 <= trials <= EPOCHS_LIMIT:
        raise info.fail("num_trials", Note("log_number", low=1, high=EPOCHS_LIMIT))
    samples = _list_samples(results, domain, trials)
    options = {
        "agent": agent.find_text("implementation"),
        "user": clean_model_name(user.find_text("llm") or user.find_text("implementation")),
        "max_steps": info.find_count("max_steps"),
        "retrieval": info.find_text("retrieval_config"),
        "commit": version,
    }
    return FrameworkLog(
        framework=FRAMEWORK,
        version=version,
        model=clean_model_name(agent.find_text("llm") or agent.read_text("implementation")),
        created_at=convert_time(results.values.get("timestamp")),
        tasks=(
            LoggedTask(
                name=domain,
                metric=_METRIC,
                claimed={},
                samples=tuple(samples),
                options={name: value for name, value in options.items() if value not in ("", None)},
                epochs=trials,
                flags=() if version else (Flag("log_no_version"),),
            ),
        ),
        sampling=select_sampling(agent.find_object("llm_args")),
        facts={"seed": info.find_count("seed"), "user": user.find_text("llm")},
    )


def _list_samples(results: FieldReader, domain: str, trials: int) -> list[LoggedSample]:
    """Every task in every trial; one that was not simulated has no score."""
    tasks: dict[str, FieldReader] = {}
    for number, values in enumerate(results.read_list("tasks")):
        task = FieldReader(results.path, values, None, f"tasks[{number}]")
        name = task.read_text("id")
        if name in tasks:
            raise task.fail("id", Note("log_name_twice", name=name[:80]))
        tasks[name] = task
    if len(tasks) * trials > _SAMPLES_LIMIT:
        raise results.fail("tasks", Note("log_rows", limit=_SAMPLES_LIMIT))
    simulated: dict[tuple[str, int], LoggedSample] = {}
    counts: Counter[str] = Counter()
    for simulation in _iter_simulations(results):
        name = simulation.read_text("task_id")
        if name not in tasks:
            raise simulation.fail("task_id", Note("log_unknown_name", name=name[:80]))
        trial = simulation.find_count("trial")
        trial = counts[name] if trial is None else trial
        counts[name] += 1
        if not 0 <= trial < trials:
            raise simulation.fail("trial", Note("log_number", low=0, high=trials - 1))
        if (name, trial) in simulated:
            raise simulation.fail("trial", Note("log_name_twice", name=f"{name[:80]} {trial}"))
        simulated[name, trial] = _read_simulation(simulation, tasks[name], domain, trial)
    return [
        simulated.get((name, trial)) or _build_unasked(task, domain, trial)
        for name, task in tasks.items()
        for trial in range(trials)
    ]


def _iter_simulations(results: FieldReader) -> Iterator[FieldReader]:
    """The simulations of the file, else those of the folder beside it: all that its index names."""
    folder = results.path.parent / _FOLDER
    if results.find_list("simulations") or not folder.is_dir():
        for number, values in enumerate(results.read_list("simulations")):
            yield FieldReader(results.path, values, None, f"simulations[{number}]")
        return
    listed = {
        convert_text(entry.get("id")): number
        for number, entry in enumerate(results.find_list("simulation_index"))
        if isinstance(entry, Mapping)
    }
    for file in sorted(folder.glob("*.json")):
        if file.is_symlink():
            continue
        listed.pop(file.stem, None)
        yield FieldReader(file, read_json_file(file))
    for name, number in listed.items():
        problem = Note("log_no_file", name=f"{_FOLDER}/{name[:80]}.json")
        raise results.fail(f"simulation_index[{number}].id", problem)


def _describe_task(task: FieldReader, domain: str) -> dict[str, Any]:
    scenario = task.find_object("user_scenario")
    parts = {name: scenario.get(name) for name in ("persona", "instructions")}
    return {"domain": domain, **{name: value for name, value in parts.items() if value}}


def _build_unasked(task: FieldReader, domain: str, trial: int) -> LoggedSample:
    return LoggedSample(
        id=task.read_text("id"),
        input=_describe_task(task, domain),
        reference=task.find_object("evaluation_criteria"),
        epoch=trial,
    )


def _read_simulation(
    simulation: FieldReader, task: FieldReader, domain: str, trial: int
) -> LoggedSample:
    ended = simulation.find_text("termination_reason")
    info = simulation.find_object("reward_info")
    reward = convert_score(info.get("reward"))
    if reward is None and info.get("reward") is not None:
        raise simulation.fail("reward_info.reward", Note("log_share"))
    if reward is not None and abs(reward - 1) <= _TOLERANCE:
        reward = 1.0
    if reward is not None and not is_share(reward):
        raise simulation.fail("reward_info.reward", Note("log_share"))
    failed = ended == _FAILED
    turns = [each for each in simulation.find_list("messages") if isinstance(each, Mapping)]
    messages = tuple(iter_messages(map(_convert_turn, turns), {}))
    said = (each.content for each in reversed(messages) if each.role == "assistant")
    usages = [
        each["usage"]
        for each in turns
        if each.get("role") == "assistant" and isinstance(each.get("usage"), Mapping)
    ]
    return LoggedSample(
        id=task.read_text("id"),
        epoch=trial,
        input=_describe_task(task, domain),
        reference=task.find_object("evaluation_criteria"),
        answer=next((text for text in said if text), ""),
        messages=messages,
        scores={} if failed or reward is None else {_METRIC: reward},
        error=ended if failed else "",
        explanation=_explain_reward(info, ended),
        usage=Usage(
            input_tokens=add_counts(*(read_count(each.get("prompt_tokens")) for each in usages)),
            output_tokens=add_counts(
                *(read_count(each.get("completion_tokens")) for each in usages)
            ),
        ),
        latency=read_seconds(simulation.values.get("duration")) or 0.0,
    )


def _convert_turn(turn: Mapping[str, Any]) -> dict[str, Any]:
    """A turn with its calls and its reply to a call where chat APIs have them."""
    calls = turn.get("tool_calls")
    return {
        "role": turn.get("role"),
        "content": convert_text(turn.get("content")),
        "tool_calls": [
            {name: call.get(field) for name, field in _CALL_FIELDS.items()}
            for call in (calls if isinstance(calls, list) else ())
            if isinstance(call, Mapping)
        ],
        "tool_call_id": turn.get("id") if turn.get("role") == "tool" else "",
    }


_CALL_FIELDS = {"id": "id", "function": "name", "arguments": "arguments"}


def _explain_reward(info: Mapping[str, Any], ended: str) -> str:
    """How the conversation ended, and the parts of the reward that are not full."""
    parts = info.get("reward_breakdown")
    lines = [f"ended by {ended}"] if ended else []
    for name, value in parts.items() if isinstance(parts, Mapping) else ():
        lines.append(f"{name}: {convert_text(value)}")
    checks = info.get("action_checks")
    for check in checks if isinstance(checks, list) else ():
        action = check.get("action") if isinstance(check, Mapping) else None
        if isinstance(action, Mapping) and check.get("action_match") is False:
            arguments = convert_text(action.get("arguments"))
            lines.append(f"missing call: {convert_text(action.get('name'))}({arguments})")
    return "\n".join(lines)

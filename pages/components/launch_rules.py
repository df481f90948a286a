"""What is wrong with a run request, said before anything is started: pure, no widget in here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from evalcore.errors import UsageError
from evalcore.records import Record
from evalcore.runner import client
from evalcore.runner.request import RunRequest


class LaunchProblem(Record, frozen=True):
    """A text of the catalogue and its values."""

    key: str
    values: dict[str, str] = {}


def find_request_problems(
    request: RunRequest,
    missing_keys: Sequence[str],
    metrics: Mapping[str, Sequence[str]],
    datasets: Path,
    *,
    own_dataset: bool = False,
    added_names: Sequence[str] = (),
) -> list[LaunchProblem]:
    """Everything that would stop the run.

    `metrics` are those chosen, by benchmark; `datasets` is the folder whose entries are datasets by
    name, `added_names` the names of those that were added here; `own_dataset` says that the bundled
    cases are not wanted.
    """
    problems = [
        *find_target_problems(request.target, request.target_options),
        *_find_case_problems(request, metrics),
        *_find_judge_problems(request),
    ]
    if own_dataset and not request.dataset:
        problems.append(LaunchProblem(key="launch.problem.dataset_empty"))
    elif (
        request.dataset
        and request.dataset not in added_names
        and not _has_dataset(request.dataset, datasets)
    ):
        problems.append(
            LaunchProblem(key="launch.problem.dataset", values={"path": request.dataset})
        )
    problems += [
        LaunchProblem(key="launch.problem.key", values={"name": name}) for name in missing_keys
    ]
    return problems


def find_target_problems(target: str, options: Mapping[str, Any]) -> list[LaunchProblem]:
    """What is wrong with the name and the address of a target."""
    prefix, _, name = target.partition(":")
    problems = []
    if not name.strip() or (name.endswith("/") and prefix != "hf"):
        noun = "model" if prefix in ("openai", "hf") else "target"
        problems.append(LaunchProblem(key=f"launch.problem.{noun}"))
    if "base_url" in options and not _is_http_url(str(options["base_url"])):
        # not repeated: a key may stand in it
        problems.append(LaunchProblem(key="launch.problem.address"))
    return problems


def _find_judge_problems(request: RunRequest) -> list[LaunchProblem]:
    try:
        client.check_judges(request.judges)
    except UsageError as error:
        return [LaunchProblem(key="launch.problem.judge", values={"problem": str(error)})]
    return []


def _is_http_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return False


def _has_dataset(name: str, datasets: Path) -> bool:
    try:
        return Path(name).exists() or (datasets / name).exists()
    except (OSError, ValueError):  # too long, or with a null in it
        return False


def _find_case_problems(
    request: RunRequest, metrics: Mapping[str, Sequence[str]]
) -> list[LaunchProblem]:
    problems = []
    if not request.benchmarks:
        problems.append(LaunchProblem(key="launch.problem.benchmark"))
    problems += [
        LaunchProblem(key="launch.problem.metric", values={"benchmark": key})
        for key in request.benchmarks
        if not metrics.get(key)
    ]
    return problems

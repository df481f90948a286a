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


class Problem(Record, frozen=True):
    """A text of the catalogue and its values."""

    key: str
    values: dict[str, str] = {}


def problems(
    request: RunRequest,
    missing_keys: Sequence[str],
    metrics: Mapping[str, Sequence[str]],
    datasets: Path,
    *,
    own_dataset: bool = False,
    added: Sequence[str] = (),
) -> list[Problem]:
    """Everything that would stop the run.

    `metrics` are those chosen, by benchmark; `datasets` is the folder whose entries are datasets by
    name, `added` the names of those that were added here; `own_dataset` says that the bundled cases
    are not wanted.
    """
    found = [
        *target_problems(request.target, request.target_options),
        *_cases(request, metrics),
        *_judges(request),
    ]
    if own_dataset and not request.dataset:
        found.append(Problem(key="launch.problem.dataset_empty"))
    elif (
        request.dataset and request.dataset not in added and not _exists(request.dataset, datasets)
    ):
        found.append(Problem(key="launch.problem.dataset", values={"path": request.dataset}))
    found += [Problem(key="launch.problem.key", values={"name": name}) for name in missing_keys]
    return found


def target_problems(target: str, options: Mapping[str, Any]) -> list[Problem]:
    """What is wrong with the name and the address of a target."""
    prefix, _, name = target.partition(":")
    found = []
    if not name.strip() or (name.endswith("/") and prefix != "hf"):
        what = "model" if prefix in ("openai", "hf") else "target"
        found.append(Problem(key=f"launch.problem.{what}"))
    if "base_url" in options and not _is_address(str(options["base_url"])):
        found.append(Problem(key="launch.problem.address"))  # not repeated: a key may stand in it
    return found


def _judges(request: RunRequest) -> list[Problem]:
    try:
        client.check_judges(request.judges)
    except UsageError as error:
        return [Problem(key="launch.problem.judge", values={"problem": str(error)})]
    return []


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return False


def _exists(name: str, datasets: Path) -> bool:
    try:
        return Path(name).exists() or (datasets / name).exists()
    except (OSError, ValueError):  # too long, or with a null in it
        return False


def _cases(request: RunRequest, metrics: Mapping[str, Sequence[str]]) -> list[Problem]:
    found = []
    if not request.benchmarks:
        found.append(Problem(key="launch.problem.benchmark"))
    found += [
        Problem(key="launch.problem.metric", values={"benchmark": key})
        for key in request.benchmarks
        if not metrics.get(key)
    ]
    return found

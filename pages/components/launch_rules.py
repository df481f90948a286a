"""What is wrong with a run request, said before anything is started: pure, no widget in here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from evalcore.records import Record
from evalcore.runner.request import RunRequest


class Problem(Record, frozen=True):
    """A text of the catalogue and its values."""

    key: str
    values: dict[str, str] = {}


def problems(
    request: RunRequest, missing_keys: Sequence[str], metrics: Mapping[str, Sequence[str]]
) -> list[Problem]:
    """Everything that would stop the run; `metrics` are those chosen, by benchmark."""
    found = [*_target(request), *_cases(request, metrics)]
    found += [Problem(key="launch.problem.key", values={"name": name}) for name in missing_keys]
    return found


def _target(request: RunRequest) -> list[Problem]:
    prefix, _, name = request.target.partition(":")
    address = str(request.target_options.get("base_url", ""))
    found = []
    if not name.strip() or name.endswith("/"):
        what = "model" if prefix == "openai" else "target"
        found.append(Problem(key=f"launch.problem.{what}"))
    if address and not (urlsplit(address).scheme in ("http", "https") and urlsplit(address).netloc):
        found.append(Problem(key="launch.problem.address"))  # not repeated: a key may stand in it
    return found


def _cases(request: RunRequest, metrics: Mapping[str, Sequence[str]]) -> list[Problem]:
    found = []
    if not request.benchmarks:
        found.append(Problem(key="launch.problem.benchmark"))
    found += [
        Problem(key="launch.problem.metric", values={"benchmark": key})
        for key in request.benchmarks
        if not metrics.get(key)
    ]
    if request.dataset and not Path(request.dataset).exists():
        found.append(Problem(key="launch.problem.dataset", values={"path": request.dataset}))
    return found

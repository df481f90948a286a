"""What a person asks for, before anything is loaded: the same for CLI, config file and pages."""

from __future__ import annotations

from typing import Any

from evalcore.records import Record


class RunRequest(Record, frozen=True):
    """One run to be planned. `options` is per benchmark: {"sql_understanding": {"mode": "scale"}}.

    `dataset` is a name under `datasets/`, a folder or a jsonl file; empty means the bundled set.
    `concurrency` 0 leaves the width to the target; None for `max_samples` means all. `access` and
    `started_by` are those of `RunSpec`.
    """

    target: str
    benchmarks: tuple[str, ...]
    target_options: dict[str, Any] = {}
    metrics: tuple[str, ...] = ()
    dataset: str = ""
    max_samples: int | None = None
    seed: int = 0
    epochs: int = 1
    options: dict[str, dict[str, Any]] = {}
    judges: tuple[str, ...] = ()
    concurrency: int = 0
    use_cache: bool = True
    note: str = ""
    access: str = ""
    started_by: str = ""


class Estimate(Record, frozen=True):
    """What a run would take; None is unknown, never zero. Tokens are estimates by characters."""

    samples: int
    requests: int
    input_tokens: int
    output_tokens: int | None
    seconds: float | None
    cost: float | None
    notes: tuple[str, ...] = ()


class ConnectionReport(Record, frozen=True):
    """The result of one tiny request to a target."""

    ok: bool
    message: str
    latency: float | None = None
    model: str = ""
    reply: str = ""

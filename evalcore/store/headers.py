"""The header of a run: the little that lists and boards need, small enough for the index.

Everything else stays in the run folder. A header is made from `spec.json` and `summary.json`, and
can be made again at any time.
"""

from __future__ import annotations

from functools import lru_cache
from sys import intern
from typing import Any

import msgspec

from evalcore.catalog import is_builtin
from evalcore.errors import IndexFileError, RunFolderError
from evalcore.privacy import (
    dataset_name,
    is_path,
    mask_label,
    mask_options,
    mask_target,
    redact_paths,
)
from evalcore.records import (
    BenchmarkScore,
    BenchmarkSpec,
    Interval,
    MetricScore,
    Record,
    RunSpec,
    RunState,
    RunSummary,
    Totals,
    content_hash,
    from_json,
    measured_score,
    to_json,
)

LIMIT = 4096
_REPEATED = ("target_key", "identity", "created_at", "finished_at")
_SAME = ("column", "label", "dataset", "suite")
_TEXT = 200
_LINES = 16_384  # lines of metrics that are looked for among those already held

#: Score (None unmeasured), lower and upper bound (0 to 100, two decimals), number of samples.
MetricLine = tuple[float | None, float | None, float | None, int]


class HeaderScore(Record, frozen=True):
    """One benchmark of a run. `score` is exact; bounds and metric lines are rounded to fit.
    Scores are None where nothing was measured.

    `suite` is recorded for a benchmark of a plug-in alone, which may be absent when this is read.
    """

    column: str
    score: float | None
    low: float | None = None
    high: float | None = None
    answered: float | None = None
    coverage: float = 1.0
    samples: int = 0
    complete: bool = True
    full: bool = True
    label: str = ""
    dataset: str = ""
    metrics: dict[str, MetricLine] = {}
    outcomes: dict[str, int] = {}
    views: dict[str, float] = {}
    level: int | None = None
    self_judged: bool = False
    suite: str = ""

    def __post_init__(self) -> None:
        """An index written before unmeasured scores were None holds 0.0 for them."""
        if (
            self.is_bare_claim
            or self.coverage
            or measured_score(0.0, self.answered, self.samples) == 0
        ):
            return
        lines = {name: (None, None, None, line[3]) for name, line in self.metrics.items()}
        for name, value in {"score": None, "low": None, "high": None, "metrics": lines}.items():
            msgspec.structs.force_setattr(self, name, value)

    @property
    def is_bare_claim(self) -> bool:
        """Whether the score is a bare claim of others, with no case behind it."""
        return self.level == 0


class RunHeader(Record, frozen=True):
    """One row of the index, at most `LIMIT` bytes of JSON. `shipped`: from the read-only root;
    `source` changes with the files it was made from, "" unknown."""

    run_id: str
    target_key: str
    identity: str
    created_at: str
    state: RunState
    target_options: dict[str, Any] = {}
    finished_at: str = ""
    origin: str = "executed"
    note: str = ""
    epochs: int = 1
    benchmarks: dict[str, HeaderScore] = {}
    totals: Totals = Totals()
    errors: dict[str, int] = {}
    shipped: bool = False
    source: str = ""


def build_run_header(spec: RunSpec, summary: RunSummary) -> RunHeader:
    """The header of a run; long texts are cut, long option values replaced by their hash.

    Raises IndexFileError when it is still larger than `LIMIT`, naming what takes the room, and
    RunFolderError for a value that no index can hold.
    """
    declared = {benchmark.key: benchmark for benchmark in spec.benchmarks}
    header = RunHeader(
        run_id=spec.run_id,
        target_key=spec.target.key,
        target_options={
            name: _shorten_option(value) for name, value in spec.target.options.items()
        },
        identity=spec.target.identity,
        created_at=summary.created_at or spec.created_at,
        finished_at=summary.finished_at,
        state=summary.state,
        origin=spec.origin,
        note=_truncate_text(redact_paths(spec.note)),
        epochs=spec.epochs,
        benchmarks={
            key: _build_header_score(score, declared.get(key))
            for key, score in summary.benchmarks.items()
        },
        totals=summary.totals,
        errors=summary.errors,
    )
    check_size(header)
    try:  # a score that is not finite is written as null, which could not be read again
        from_json(RunHeader, to_json(header))
    except msgspec.MsgspecError as error:
        raise RunFolderError(f"run {spec.run_id}: summary.json: {error}") from None
    return header


def intern_header_texts(header: RunHeader) -> RunHeader:
    """The same header, just decoded, with its repeated texts and lines held once for all headers:
    thousands of runs name the same targets, columns and data sets, and many score the same. It is
    changed in place."""
    if any(is_path(score.dataset) for score in header.benchmarks.values()):
        # Written by a version that named the place: the index reads its folder again.
        msgspec.structs.force_setattr(header, "source", "")
        for score in header.benchmarks.values():
            for name in ("dataset", "label"):
                shown = redact_paths(dataset_name(getattr(score, name)))
                msgspec.structs.force_setattr(score, name, shown)
    for record, names in ((header, _REPEATED), *((s, _SAME) for s in header.benchmarks.values())):
        for name in names:
            msgspec.structs.force_setattr(record, name, intern(getattr(record, name)))
    for score in header.benchmarks.values():
        score.metrics.update(
            {name: _share_metric_line(line) for name, line in score.metrics.items()}
        )
    return header


def mask_header(header: RunHeader) -> RunHeader:
    """The header with its target named for readers; the very same where that changes nothing."""
    masked = {
        "target_key": intern(mask_target(header.target_key)),
        "identity": intern(mask_target(header.identity)),
        "target_options": mask_options(header.target_options),
    }
    if all(getattr(header, name) == value for name, value in masked.items()):
        return header
    return msgspec.structs.replace(header, **masked)


@lru_cache(maxsize=_LINES)
def _share_metric_line(line: MetricLine) -> MetricLine:
    return line


def check_size(header: RunHeader) -> None:
    """Raises IndexFileError when the header is larger than `LIMIT`."""
    size = len(to_json(msgspec.structs.replace(header, source="")))
    if size <= LIMIT:
        return
    parts = {name: len(to_json(getattr(header, name))) for name in header.__struct_fields__}
    largest = max(parts, key=lambda name: parts[name])
    raise IndexFileError(
        f"run {header.run_id}: its header takes {size} bytes, the limit is {LIMIT}; "
        f"`{largest}` alone takes {parts[largest]}: run fewer benchmarks or options at once"
    )


def _build_header_score(score: BenchmarkScore, declared: BenchmarkSpec | None) -> HeaderScore:
    low, high = _round_bounds(score.interval, 4)
    dataset = dataset_name(declared.dataset, declared.dataset_hash) if declared else ""
    label = mask_label(score.label, declared) if declared else score.label
    added = declared if declared is not None and not is_builtin(declared.key) else None
    return HeaderScore(
        column=score.column,
        score=score.score,
        low=low,
        high=high,
        answered=_round_or_none(score.answered, 4),
        coverage=score.coverage,
        samples=score.samples,
        complete=score.complete,
        full=score.full,
        label=_truncate_text(label),
        dataset=_truncate_text(dataset),
        metrics={name: _build_metric_line(metric) for name, metric in score.metrics.items()},
        outcomes={name: count for name, count in score.outcomes.items() if count},
        views={name: round(value, 4) for name, value in score.views.items()},
        level=score.level,
        self_judged=score.self_judged,
        suite=added.suite if added else "",
    )


def _build_metric_line(metric: MetricScore) -> MetricLine:
    return (_round_or_none(metric.score, 2), *_round_bounds(metric.interval, 2), metric.samples)


def _round_bounds(interval: Interval | None, decimals: int) -> tuple[float | None, float | None]:
    if interval is None:
        return None, None
    return round(interval.low, decimals), round(interval.high, decimals)


def _round_or_none(value: float | None, decimals: int) -> float | None:
    return None if value is None else round(value, decimals)


def _truncate_text(text: str) -> str:
    return text if len(text) <= _TEXT else text[: _TEXT - 1] + "…"


def _shorten_option(value: Any) -> Any:
    """An option value for display; the identity, which holds its hash, tells runs apart."""
    return value if len(to_json(value)) <= _TEXT else f"(long, hash {content_hash(value, 8)})"

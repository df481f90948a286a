"""The header of a run, all that boards need of it, and the scan of run folders that builds it."""

from __future__ import annotations

import logging
import os
import re
import secrets
from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from sys import intern
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from evalcore.access.redaction import (
    dataset_name,
    is_path,
    mask_label,
    mask_options,
    mask_target,
    redact_paths,
)
from evalcore.catalog import is_builtin
from evalcore.errors import EvalboardError, IndexFileError, RunFolderError, describe_os_error
from evalcore.i18n import Note
from evalcore.records import BenchmarkSpec, Record, RunSpec, content_hash, from_json, to_json
from evalcore.results import (
    BenchmarkScore,
    Interval,
    MetricScore,
    RunState,
    RunSummary,
    Totals,
    drop_unmeasured_views,
    measured_score,
)
from evalcore.single_flight import SingleFlightCache
from evalcore.store.journal import PACKED, SAMPLES, locate_journal
from evalcore.store.run_folder import RunFolder, is_file, is_run_id

# The note that ties two runs together which were started to be compared.

Side = Literal["first", "second"]
_COMPARISON_NOTE = re.compile(r"comparison ([0-9a-f]{8}): (first|second) of two")


class ComparisonSide(Record, frozen=True):
    """Which comparison a run belongs to, and on which side of it."""

    id: str
    side: Side


def create_comparison_sides() -> tuple[ComparisonSide, ComparisonSide]:
    """Both sides of a comparison that no other has the id of."""
    name = secrets.token_hex(4)
    return ComparisonSide(name, "first"), ComparisonSide(name, "second")


def format_comparison_note(pair: ComparisonSide) -> str:
    """The note of a run, for people too."""
    return f"comparison {pair.id}: {pair.side} of two"


def parse_comparison_note(note: str) -> ComparisonSide | None:
    """What a note says, None for any other note."""
    match = _COMPARISON_NOTE.fullmatch(note)
    if match is None:
        return None
    return ComparisonSide(match[1], "first" if match[2] == "first" else "second")


# The header of a run: the little that lists and boards need, small enough for the index.
# Everything else stays in the run folder. A header is made from `spec.json` and `summary.json`,
# and can be made again at any time.

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
        blank = {"score": None, "low": None, "high": None, "metrics": lines}
        for name, value in (blank | {"views": drop_unmeasured_views(self.views)}).items():
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
    run, taken = header.run_id, parts[largest]
    raise IndexFileError(
        Note("header_large", run=run, size=size, most=LIMIT, part=largest, bytes=taken)
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


# Headers straight from run folders: what the index is rebuilt from, and the shipped runs.

_log = logging.getLogger(__name__)
#: The files whose change makes a header be read again; without the first there is none.
_SOURCES = ("summary.json", "spec.json", SAMPLES, SAMPLES + PACKED)


def sort_newest_first(headers: Iterable[RunHeader]) -> list[RunHeader]:
    return sorted(headers, key=lambda header: (header.created_at, header.run_id), reverse=True)


def compute_source_signature(folder: str) -> str:
    """Changes with every file that a header is made from or rests on; "" without a summary. Raises
    OSError where the folder cannot be looked into."""
    parts = []
    for name in _SOURCES:
        try:
            status = os.stat(f"{folder}/{name}")  # noqa: PTH116 - asked of thousands of runs
        except FileNotFoundError:
            if name == _SOURCES[0]:
                return ""
            parts.append("")
        else:
            parts.append(f"{status.st_ino}:{status.st_mtime_ns}:{status.st_size}")
    return blake2b("|".join(parts).encode(), digest_size=8).hexdigest()


def read_header(folder: RunFolder) -> RunHeader | None:
    """The header of a run folder, None before it has a summary. Raises RunFolderError when a file
    is broken, and as `check_folder`."""
    try:
        # before the read: at worst it is read once more
        source = compute_source_signature(str(folder.path))
    except OSError as error:
        raise RunFolderError.locate(folder.path, error) from None
    summary, spec = folder.read_summary(), folder.read_spec()
    if summary is None:
        return None
    check_folder(folder, spec, summary)
    return replace(build_run_header(spec, summary), source=source)


def check_folder(folder: RunFolder, spec: RunSpec, summary: RunSummary) -> None:
    """Raise RunFolderError where the files do not make a run that can stand on a board: they speak
    of another one, or the cases that were asked are gone, so that nothing could be shown of it."""
    if spec.run_id != folder.run_id:
        raise RunFolderError(Note("spec_other_run", path=folder.path, run=repr(spec.run_id)))
    asked = spec.origin == "executed" and any(benchmark.samples for benchmark in spec.benchmarks)
    if asked and not is_file(locate_journal(folder.path / SAMPLES)):
        raise RunFolderError(Note("file_missing", path=folder.path, name=SAMPLES))


def scan_run_folders(roots: Iterable[Path], report: Callable[[str], None]) -> dict[str, RunHeader]:
    """The headers of all finished runs by run id; `report` takes a line per broken folder."""
    headers: dict[str, RunHeader] = {}
    for root in roots:
        headers = FolderComparison(root, report).find_changes({}).newer | headers
    return headers


class IndexChanges(NamedTuple):
    """What an index lacks: headers to enter by run id, and runs to leave out."""

    newer: dict[str, RunHeader]
    gone: frozenset[str]


class FolderComparison:
    """Run folders below `root` against the headers that an index has of them, again and again.

    A folder that cannot be read is left as it is, reported once, and read again when its files
    change.
    """

    def __init__(self, root: Path, report: Callable[[str], None] = _log.warning) -> None:
        self.root, self._report = root, report
        self._broken: dict[str, str] = {}

    def find_changes(
        self,
        headers: Mapping[str, RunHeader],
        loaded_headers: Mapping[str, RunHeader] = MappingProxyType({}),
    ) -> IndexChanges:
        """A look at three files a run, and a read of what is new and not among the headers
        `loaded_headers`.

        A root that cannot be read (not mounted, not made yet, not ours) changes nothing.
        """
        try:
            with os.scandir(self.root) as entries:
                names = [entry.name for entry in entries if is_run_id(entry.name)]
        except OSError as error:
            problem: str = Note("no_read", path=self.root, problem=describe_os_error(error))
            if not isinstance(error, FileNotFoundError) and problem not in self._broken:
                self._broken[problem] = ""  # said once
                self._report(problem)
            return IndexChanges({}, frozenset())
        newer: dict[str, RunHeader] = {}
        whole: set[str] = set()
        broken: dict[str, str] = {}
        for name in names:
            path = f"{self.root}/{name}"
            indexed = headers.get(name)
            try:
                source = compute_source_signature(path)
                if source and (indexed is None or indexed.source != source):
                    if self._broken.get(name) == source:
                        broken[name] = source
                        continue
                    header = loaded_headers.get(name)
                    if header is None or header.source != source:
                        header = read_header(RunFolder(self.root / name))
                    if header is not None:
                        newer[name] = header
            except (EvalboardError, OSError) as error:
                ours = isinstance(error, EvalboardError)
                broken[name] = source if ours else describe_os_error(error)
                if self._broken.get(name) != broken[name]:
                    problem = str(error) if ours else f"{path}: {describe_os_error(error)}"
                    self._report(f"run folder skipped: {problem}")
                continue
            if source:
                whole.add(name)
        self._broken = broken
        return IndexChanges(newer, frozenset(headers).difference(whole))


class ShippedRuns:
    """The runs of a read-only root, each read again only when one of its files changes."""

    def __init__(self, root: Path, report: Callable[[str], None] = _log.warning) -> None:
        self._comparison = FolderComparison(root, report)
        self._headers: dict[str, RunHeader] = {}

    def headers(self) -> dict[str, RunHeader]:
        """Headers by run id, each marked `shipped`; the very same object while nothing changes."""
        if not self._comparison.root.exists():
            return {}
        newer, gone = self._comparison.find_changes(self._headers)
        if newer or gone:
            fresh = {name: replace(header, shipped=True) for name, header in newer.items()}
            older = {name: header for name, header in self._headers.items() if name not in gone}
            self._headers = older | fresh
        return self._headers

    def signature(self) -> str:
        """Changes when a run is added, removed or summed up anew."""
        return "|".join(
            f"{name}={header.source}" for name, header in sorted(self.headers().items())
        )


# The headers of a store as they were at one moment, with room for what is worked out from them.
# A page asks a dozen questions about the same headers, and all visitors ask them until the store
# changes. What `memoize_on_snapshot` holds lives exactly as long as the headers it was made from.

_SNAPSHOT_CACHE_SIZE = 256
V = TypeVar("V")


class HeaderSnapshot(list[RunHeader]):
    """Every finished run, newest first. It is shared, and read only."""

    def __init__(self, headers: Iterable[RunHeader] = ()) -> None:
        super().__init__(headers)
        self.cache: SingleFlightCache[Any] = SingleFlightCache(_SNAPSHOT_CACHE_SIZE)


def memoize_on_snapshot(headers: Iterable[RunHeader], key: Hashable, compute: Callable[[], V]) -> V:
    """What `compute` says of the headers, from the snapshot where they are one; key names the
    question. The answer is shared: hand out copies of what could be changed."""
    if isinstance(headers, HeaderSnapshot):
        value: V = headers.cache.get(key, compute)
        return value
    return compute()

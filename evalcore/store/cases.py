"""The cases of a run, read from its journals: rows for tables, and one case with all its epochs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from evalcore.errors import RunFolderError, UsageError
from evalcore.records import (
    BenchmarkSpec,
    Episode,
    Failure,
    Measured,
    Record,
    RunSpec,
    Usage,
    Verdict,
    to_json,
)
from evalcore.store import journal
from evalcore.store.case_index import CaseIndex, locate_index
from evalcore.store.case_lines import NOWHERE
from evalcore.store.run_folder import RunFolder, StoredEpisode, StoredSample, StoredVerdict

# The journals of a run as flat rows: one per declared case and epoch, for tables and exports.

_INT64 = 2**63

#: Column -> pyarrow type. `position` is the row of the case in samples.jsonl; latency in seconds,
#: cost in USD, case_weight that of the case within its metric, weight that of the metric (null:
#: reported, not scored); `cause` is why an answer failed, in the coarsest words its scorer has
#: (null: it did not fail); `call_reading` how calls were read (null: none were
#: made); `words` is what was asked and answered, for a search.
COLUMNS: dict[str, str] = {
    "run": "string",
    "position": "int64",
    "benchmark": "string",
    "metric": "string",
    "id": "string",
    "epoch": "int64",
    "difficulty": "int64",
    "case_weight": "float64",
    "dialect": "string",
    "outcome": "string",
    "score": "float64",
    "evidence_kind": "string",
    "reason": "string",
    "note": "string",
    "packed_note": "string",
    "latency": "float64",
    "input_tokens": "int64",
    "output_tokens": "int64",
    "cost": "float64",
    "attempts": "int64",
    "cached": "bool",
    "finish_reason": "string",
    "weight": "float64",
    "extraction": "string",
    "call_reading": "string",
    "error_type": "string",
    "cause": "string",
    "answer_kind": "string",
    "level": "string",
    "words": "string",
}

#: Of a question and of an answer, so much is searched.
SEARCHED_CHARACTERS = 20_000

#: The error group of what fits no other, less telling than the error type itself.
_NO_GROUP = "checker"

Row = dict[str, Any]
Case = tuple[str, str, str, int]  # benchmark, metric, id, epoch


def select_scoring(folder: RunFolder) -> str:
    """The scoring to show: the one that summary.json names, else the newest begun, else ''."""
    summary = folder.read_summary()
    if summary is not None:
        return summary.scoring
    try:
        begun = [
            (path.stat().st_mtime_ns, path.name) for path in (folder.path / "verdicts").glob("*/")
        ]
    except OSError as error:
        raise RunFolderError.locate(folder.path, error) from None
    return max(begun)[1] if begun else ""


def generation_key(verdict: Verdict | None, sample_key: str) -> str:
    """The key of the episode a verdict is about: cases may share one, then the verdict names it."""
    return str(verdict.details.get("generation", sample_key)) if verdict else sample_key


class RunCase(NamedTuple):
    """A declared case in one epoch with what was answered and how it was judged, None for what is
    not there (yet)."""

    stored: StoredSample
    epoch: int
    episode: Episode | None
    verdict: Verdict | None


def read_run_cases(folder: RunFolder, scoring: str) -> Iterator[RunCase]:
    """The cases of a run in their declared order, one per epoch.

    Of several verdicts or episodes of one case the last journaled counts. Those of undeclared cases
    are left out.
    """
    epochs = folder.read_spec().epochs
    with CaseIndex.load(folder, scoring, epochs) as index:
        for position in range(index.cases):
            for epoch in range(epochs):
                yield read_indexed_case(index, position, epoch)


def read_case_rounds(
    index: CaseIndex, benchmark: str = ""
) -> Iterator[tuple[StoredSample, list[tuple[Episode | None, Verdict | None]]]]:
    """Every declared case, of one benchmark or of all, with its rounds by epoch; one case at a time
    is in memory."""
    for key, first, last in index.ranges:
        for position in range(first, last) if benchmark in ("", key) else ():
            cases = [read_indexed_case(index, position, epoch) for epoch in range(index.epochs)]
            yield cases[0].stored, [(case.episode, case.verdict) for case in cases]


def read_indexed_case(index: CaseIndex, position: int, epoch: int) -> RunCase:
    """A case by where its records lie; no other line is read."""
    offset, _, *locations = index.read_row(position)
    at, verdict_at = locations[2 * epoch : 2 * epoch + 2]
    return RunCase(
        index.read_sample_at(offset, StoredSample),
        epoch,
        None if at == NOWHERE else index.read_episode(at, StoredEpisode).episode,
        None if verdict_at == NOWHERE else index.read_verdict(verdict_at, StoredVerdict).verdict,
    )


class _RowSample(Record, frozen=True):
    """A sample without its reference."""

    metric: str
    id: str
    input: dict[str, Any] = {}
    difficulty: int = 1
    weight: float | None = None


class _RowVerdict(Record, frozen=True):
    """A verdict without its evidence."""

    outcome: str
    score: float | None = None
    evidence_kind: str = "checked"
    reason: str = ""
    note: str = ""
    details: dict[str, Any] = {}
    note_code: str = ""
    note_params: dict[str, Any] = {}


class _RowEpisode(Measured, frozen=True):
    """An episode without its transcript."""

    answer: str = ""
    finish_reason: str = ""
    usage: Usage = Usage()
    cost: float | None = None
    latency: float = 0.0
    attempts: int = 0
    cached: bool = False
    failure: Failure | None = None


class _SampleLine(Record, frozen=True):
    benchmark: str
    sample: _RowSample


class _VerdictLine(Record, frozen=True):
    verdict: _RowVerdict


class _EpisodeLine(Record, frozen=True):
    episode: _RowEpisode


def build_sample_rows(index: CaseIndex, spec: RunSpec) -> Iterator[Row]:
    """The rows of a run in the order of its declared cases, one per epoch.

    A case without a verdict has the outcome `missing`; of several verdicts or episodes of one case
    the last journaled counts. Those of undeclared cases are left out.
    """
    for start, rows in index.read_rows():
        yield from build_indexed_rows(index, spec, start, rows.tolist())


def build_indexed_rows(
    index: CaseIndex, spec: RunSpec, start: int, rows: Sequence[Sequence[int]]
) -> Iterator[Row]:
    """The rows of the cases from the position `start` on, by their rows in the index."""
    specs = {benchmark.key: benchmark for benchmark in spec.benchmarks}
    for position, (offset, _, *locations) in enumerate(rows, start):
        line = index.read_sample_at(offset, _SampleLine)
        declared = _sample_columns(line, specs)
        asked = _join_texts(line.sample.input)[:SEARCHED_CHARACTERS]
        for epoch in range(spec.epochs):
            at, verdict_at = locations[2 * epoch : 2 * epoch + 2]
            verdict = episode = None
            if verdict_at != NOWHERE:
                verdict = index.read_verdict(verdict_at, _VerdictLine).verdict
            if at != NOWHERE:
                episode = index.read_episode(at, _EpisodeLine).episode
            answered = episode.answer[:SEARCHED_CHARACTERS] if episode else ""
            yield {
                "run": spec.run_id,
                "position": position,
                "epoch": epoch,
                **declared,
                **_verdict_columns(verdict),
                **_episode_columns(verdict, episode),
                "words": f"{asked}\n{answered}",
            }


def _sample_columns(case: _SampleLine, specs: Mapping[str, BenchmarkSpec]) -> Row:
    sample, spec = case.sample, specs.get(case.benchmark)
    return {
        "benchmark": case.benchmark,
        "metric": sample.metric,
        "id": sample.id,
        "difficulty": _to_int64(sample.difficulty),
        "dialect": _to_optional_text(sample.input.get("dialect")),
        "case_weight": spec.case_weight(sample) if spec else None,
        "weight": spec.weights.get(sample.metric) if spec else None,
    }


def _verdict_columns(verdict: _RowVerdict | None) -> Row:
    if verdict is None:
        return {"outcome": "missing"}
    return {
        "outcome": verdict.outcome,
        "score": verdict.score,
        "evidence_kind": verdict.evidence_kind,
        "reason": verdict.reason,
        "note": verdict.note,
        "packed_note": _pack_note(verdict),
        "extraction": _to_optional_text(verdict.details.get("extraction")),
        "call_reading": _to_optional_text(verdict.details.get("call_reading")),
        "cause": find_failure_cause(verdict),
        "answer_kind": _to_optional_text(verdict.details.get("answer_kind")),
        "level": _to_optional_text(verdict.details.get("equivalence_level")),
    }


def _pack_note(verdict: _RowVerdict) -> str | None:
    """Code and values of a note as JSON, from which it is said in any language."""
    if not verdict.note_code:
        return None
    return to_json({"code": verdict.note_code, "params": verdict.note_params}).decode()


def find_failure_cause(verdict: _RowVerdict | Verdict) -> str | None:
    """Its error group, else its error type, else the reason, of a failed answer."""
    if verdict.outcome != "failed":
        return None
    group = verdict.details.get("error_group")
    specific_group = group if group != _NO_GROUP else None
    return _to_optional_text(specific_group or verdict.details.get("error_type") or verdict.reason)


def _episode_columns(verdict: _RowVerdict | None, episode: _RowEpisode | None) -> Row:
    failure = episode.failure if episode else None
    error = verdict.details.get("error_type") if verdict else None
    columns: Row = {
        "error_type": _to_optional_text(error if error or not failure else failure.kind)
    }
    if episode is None:
        return columns
    return columns | {
        "latency": episode.latency or None,  # 0: nobody measured it
        "input_tokens": _to_int64(episode.usage.input_tokens),
        "output_tokens": _to_int64(episode.usage.output_tokens),
        "cost": episode.cost,
        "attempts": _to_int64(episode.attempts),
        "cached": episode.cached,
        "finish_reason": episode.finish_reason,
    }


def _join_texts(value: Any) -> str:
    """The texts of an input, however deep they lie, a line each."""
    texts: list[str] = []
    waiting: list[Any] = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            texts.append(value)
        elif isinstance(value, Mapping):
            waiting.extend(reversed([*value.values()]))
        elif isinstance(value, list | tuple):
            waiting.extend(reversed(value))
    return "\n".join(texts)


def _to_optional_text(value: Any) -> str | None:
    """Details and inputs hold any JSON; a column holds text."""
    return None if value is None else str(value)


def _to_int64(value: int | None) -> int | None:
    """Files and providers may hold any integer; what 64 bits cannot hold is not known."""
    return value if value is not None and -_INT64 <= value < _INT64 else None


# One case of a run, found in its journals without decoding the other lines.

#: Text that JSON writes as it is.
_PLAIN = re.compile(r"[A-Za-z0-9 _.:#@/-]+")


def load_run_case(
    folder: RunFolder,
    benchmark: str,
    metric: str,
    id: str,
    epoch: int = 0,
    scoring: str | None = None,
) -> tuple[StoredSample, Episode | None, Verdict | None]:
    """The case with what was answered and how it was judged, None for what is not there (yet).

    Of several journaled episodes or verdicts the last counts. Raises UsageError when the run
    declares no such case, RunFolderError when its line in a journal is broken.
    """
    scoring_name = select_scoring(folder) if scoring is None else scoring
    epochs = folder.read_spec().epochs
    if locate_index(folder, scoring_name).exists() and 0 <= epoch < epochs:
        with CaseIndex.load(folder, scoring_name, epochs) as index:
            position = index.find_case(benchmark, metric, id)
            if position is None:
                raise UsageError(_describe_no_case(folder, benchmark, metric, id))
            case = read_indexed_case(index, position, epoch)
            return case.stored, case.episode, case.verdict
    sample = _find_stored_sample(folder, benchmark, metric, id)
    verdict = _find_last_verdict(folder, scoring_name, sample, epoch) if scoring_name else None
    key = generation_key(verdict, sample.sample.key)
    return sample, _find_last_episode(folder, benchmark, key, epoch), verdict


def _find_stored_sample(folder: RunFolder, benchmark: str, metric: str, case: str) -> StoredSample:
    path = folder.path / "samples.jsonl"
    for stored in journal.read_journal(path, StoredSample, _build_search_bytes(case)):
        sample = stored.sample
        if (stored.benchmark, sample.metric, sample.id) == (benchmark, metric, case):
            return stored
    raise UsageError(_describe_no_case(folder, benchmark, metric, case))


def _describe_no_case(folder: RunFolder, benchmark: str, metric: str, case: str) -> str:
    return f"run {folder.run_id} has no case {case!r} of {benchmark}, metric {metric}"


def _find_last_verdict(
    folder: RunFolder, scoring: str, case: StoredSample, epoch: int
) -> Verdict | None:
    case_key = (case.benchmark, case.sample.metric, case.sample.id, epoch)
    last = None
    lines = journal.read_journals(
        folder.verdicts_dir(scoring), StoredVerdict, _build_search_bytes(case.sample.id)
    )
    for stored in lines:
        verdict = stored.verdict
        if (stored.benchmark, verdict.metric, verdict.id, verdict.epoch) == case_key:
            last = verdict
    return last


def _find_last_episode(folder: RunFolder, benchmark: str, key: str, epoch: int) -> Episode | None:
    last = None
    for stored in journal.read_journals(
        folder.path / "generations", StoredEpisode, _build_search_bytes(key)
    ):
        episode = stored.episode
        if (stored.benchmark, episode.key, episode.epoch) == (benchmark, key, epoch):
            last = episode
    return last


def _build_search_bytes(text: str) -> bytes:
    """Bytes that a line about `text` must hold: `text` quoted, or its longest unescaped part."""
    if _PLAIN.fullmatch(text):
        return f'"{text}"'.encode()
    return max(_PLAIN.findall(text), key=len, default="").encode()

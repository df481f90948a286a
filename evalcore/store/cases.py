"""The cases of a run, read from its journals: rows for tables, and one case with all its epochs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from evalcore.errors import RunFolderError, UsageError
from evalcore.records import BenchmarkSpec, Episode, Sample, Verdict, to_json
from evalcore.store import journal
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
        raise RunFolderError(f"{folder.path}: {error.strerror}") from None
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
    verdicts: dict[Case, Verdict] = {}
    for stored in folder.read_verdicts(scoring) if scoring else ():
        verdict = stored.verdict
        verdicts[stored.benchmark, verdict.metric, verdict.id, verdict.epoch] = verdict
    episodes = {
        (e.benchmark, e.episode.key, e.episode.epoch): e.episode for e in folder.read_episodes()
    }
    for case in folder.read_samples():
        sample = case.sample
        for epoch in range(epochs):
            own = verdicts.get((case.benchmark, sample.metric, sample.id, epoch))
            key = generation_key(own, sample.key)
            yield RunCase(case, epoch, episodes.get((case.benchmark, key, epoch)), own)


def build_sample_rows(folder: RunFolder, scoring: str) -> Iterator[Row]:
    """The rows of a run, see `read_run_cases`; a case without a verdict has the outcome
    `missing`."""
    spec = folder.read_spec()
    specs = {benchmark.key: benchmark for benchmark in spec.benchmarks}
    position = -1
    for case in read_run_cases(folder, scoring):
        position += case.epoch == 0
        yield {
            "run": spec.run_id,
            "position": position,
            "epoch": case.epoch,
            **_sample_columns(case.stored, specs),
            **_verdict_columns(case.verdict),
            **_episode_columns(case.verdict, case.episode),
            "words": _build_search_text(case.stored.sample, case.episode),
        }


def _sample_columns(case: StoredSample, specs: Mapping[str, BenchmarkSpec]) -> Row:
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


def _verdict_columns(verdict: Verdict | None) -> Row:
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


def _pack_note(verdict: Verdict) -> str | None:
    """Code and values of a note as JSON, from which it is said in any language."""
    if not verdict.note_code:
        return None
    return to_json({"code": verdict.note_code, "params": verdict.note_params}).decode()


def find_failure_cause(verdict: Verdict) -> str | None:
    """Its error group, else its error type, else the reason, of a failed answer."""
    if verdict.outcome != "failed":
        return None
    group = verdict.details.get("error_group")
    specific_group = group if group != _NO_GROUP else None
    return _to_optional_text(specific_group or verdict.details.get("error_type") or verdict.reason)


def _episode_columns(verdict: Verdict | None, episode: Episode | None) -> Row:
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


def _build_search_text(sample: Sample, episode: Episode | None) -> str:
    """The texts of the input, however deep they lie, and the answer, a line each."""
    texts: list[str] = []
    waiting: list[Any] = [sample.input]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            texts.append(value)
        elif isinstance(value, Mapping):
            waiting.extend(reversed([*value.values()]))
        elif isinstance(value, list | tuple):
            waiting.extend(reversed(value))
    asked, answered = "\n".join(texts), episode.answer if episode else ""
    return "\n".join((asked[:SEARCHED_CHARACTERS], answered[:SEARCHED_CHARACTERS]))


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
    sample = _find_stored_sample(folder, benchmark, metric, id)
    scoring_name = select_scoring(folder) if scoring is None else scoring
    verdict = _find_last_verdict(folder, scoring_name, sample, epoch) if scoring_name else None
    key = generation_key(verdict, sample.sample.key)
    return sample, _find_last_episode(folder, benchmark, key, epoch), verdict


def _find_stored_sample(folder: RunFolder, benchmark: str, metric: str, case: str) -> StoredSample:
    path = folder.path / "samples.jsonl"
    for stored in journal.read_journal(path, StoredSample, _build_search_bytes(case)):
        sample = stored.sample
        if (stored.benchmark, sample.metric, sample.id) == (benchmark, metric, case):
            return stored
    raise UsageError(f"run {folder.run_id} has no case {case!r} of {benchmark}, metric {metric}")


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

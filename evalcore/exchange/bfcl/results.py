"""Official result and score files of BFCL: read a model's answers and claims, and score the answers
here."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from evalcore.access.secrets import scrub_secrets
from evalcore.benchmarks.base import Benchmark
from evalcore.benchmarks.bfcl.categories import (
    CATEGORIES,
    V3_ALIASES,
    Tally,
    find_category_language,
    to_v4_category,
)
from evalcore.benchmarks.bfcl.score import INFRASTRUCTURE_PREFIX, is_infrastructure_error
from evalcore.benchmarks.call_decoding import prompt_mode
from evalcore.errors import DatasetError, UsageError
from evalcore.exchange.imported_run import score_answers
from evalcore.i18n import Note
from evalcore.intake import read_count, read_seconds
from evalcore.intake.json_text import is_deeper, read_rows
from evalcore.records import Episode, Failure, Record, Sample, Usage, Verdict

# Official result and score files of BFCL: the answers of a model, and what was claimed of them.
# `result/<model>/<group>/BFCL_v4_<category>_result.json` (v3: no group) has a line per entry:
# {"id", "result", "input_token_count", "output_token_count", "latency"}. `result` is the text of
# the model, or [{name: arguments as JSON text}] for native tool calls; of a multi-turn entry a
# list of turns, each a list of steps of one of these forms, and the numbers are lists of lists.
# `score/<model>/...BFCL_v4_<category>_score.json` begins with {"accuracy", "correct_count",
# "total_count"}; wrong answers follow. Files of agentic categories and of format sensitivity are
# passed over.

Mode = Literal["fc", "prompt"]
N = TypeVar("N", bound=float)

NAME_PATTERN = re.compile(r"BFCL_(?P<version>v\d+)_(?P<category>\w+?)_(?P<kind>result|score)\.json")
_CATEGORIES = frozenset(CATEGORIES)
_DEPTH_LIMIT = 64  # what a model wrote of arguments is text, however deep it is
_MESSAGE_LIMIT = 500


class Prediction(Record, frozen=True):
    """One answer. `category` is the v4 name, `id` as the file has it, `line` where it stands.

    `answer` is text, or what the native calls or the turns are in the official form; a missing one
    (null) is empty text. `error` says why there is none. `latency` is in seconds, over all steps.
    """

    category: str
    id: str
    mode: Mode
    answer: str | list[Any] = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    latency: float = 0.0
    error: str = ""
    line: int = 0

    @property
    def answer_text(self) -> str:
        """The answer as `Episode.answer` holds it: text as it is, everything else as JSON text."""
        if isinstance(self.answer, str):
            return self.answer
        return json.dumps(self.answer, ensure_ascii=False)


def read_results(path: Path, mode: Mode | None = None) -> Iterator[Prediction]:
    """The answers of a model's result folder, or of one result file, category by category.

    Without `mode` the answers are native calls (`fc`) if any of them is: a text among them is then
    a reply without a call, as upstream reads it. Raises DatasetError naming file, line and field.
    """
    files = find_bfcl_files(path, "result")
    answer_mode = mode or (
        "fc" if any(has_native_calls(file) for file in files.values()) else "prompt"
    )
    for category, file in files.items():
        seen = set()
        for line, row in read_rows(file):
            prediction = parse_prediction(file, line, row, category, answer_mode)
            if prediction.id in seen:
                raise DatasetError(file, line, "id", Note("there_twice", name=repr(prediction.id)))
            seen.add(prediction.id)
            yield prediction


def read_claims(path: Path) -> dict[str, Tally]:
    """The claimed counts by category of a model's score folder; raises DatasetError."""
    claims = {}
    for category, file in find_bfcl_files(path, "score").items():
        line, header = next(read_rows(file), (1, {}))
        right = _parse_entry_count(file, line, header, "correct_count")
        total = _parse_entry_count(file, line, header, "total_count")
        if not total or right > total:
            raise DatasetError(file, line, "total_count", Note("bfcl_least_count"))
        claims[category] = Tally(right, total)
    return claims


class NoResults(DatasetError):
    """A folder without answers in a category of the data set."""


def find_bfcl_files(path: Path, kind: Literal["result", "score"]) -> dict[str, Path]:
    """The files of a kind in a folder by category, in official order; raises DatasetError where a
    category has two, and NoResults for results where there is none."""
    files: dict[str, Path] = {}
    for file in [path] if path.is_file() else sorted(path.rglob(f"BFCL_v*_{kind}.json")):
        match = NAME_PATTERN.fullmatch(file.name)
        category = to_v4_category(match["category"]) if match and match["kind"] == kind else ""
        if category not in _CATEGORIES:
            continue
        if category in files:
            problem = Note("log_same_category", path=files[category])
            raise DatasetError(file, None, "", problem)
        files[category] = file
    if not files and kind == "result":
        raise NoResults(path, None, "", Note("lacks_file", name="BFCL_v4_<category>_result.json"))
    return {name: files[name] for name in CATEGORIES if name in files}


def parse_results_version(path: Path) -> str:
    """The version in the name of a result file: v3 or v4."""
    match = NAME_PATTERN.fullmatch(path.name)
    return match["version"] if match else ""


def _parse_entry_count(file: Path, line: int, header: Mapping[str, Any], field: str) -> int:
    value = header.get(field)
    if type(value) is not int or value < 0:
        raise DatasetError(file, line, field, Note("bfcl_entry_number"))
    return value


def has_native_calls(file: Path) -> bool:
    return any(_is_native(row.get("result")) for _, row in read_rows(file))


def _is_native(result: Any, depth: int = 0) -> bool:
    """Whether an answer, or a step of a turn of it, is a list of calls."""
    if not isinstance(result, list) or depth > 2:
        return False
    return any(isinstance(item, dict) or _is_native(item, depth + 1) for item in result)


def parse_prediction(
    file: Path, line: int, row: Mapping[str, Any], category: str, mode: Mode
) -> Prediction:
    sample_id = row.get("id")
    if not isinstance(sample_id, str) or not sample_id:
        raise DatasetError(file, line, "id", Note("upload_text"))
    if "result" not in row:
        raise DatasetError(file, line, "result", Note("upload_is_missing"))
    result = row["result"]
    if result is not None and not isinstance(result, str | list):
        raise DatasetError(file, line, "result", Note("bfcl_text_or_list"))
    if is_deeper(result, _DEPTH_LIMIT):
        raise DatasetError(file, line, "result", Note("deep_result", most=_DEPTH_LIMIT))
    failed = is_infrastructure_error(result)
    return Prediction(
        category=category,
        id=sample_id,
        mode=mode,
        answer="" if failed or result is None else result,
        input_tokens=_sum_nested(row.get("input_token_count"), read_count),
        output_tokens=_sum_nested(row.get("output_token_count"), read_count),
        latency=_sum_nested(row.get("latency"), read_seconds) or 0.0,
        error=scrub_secrets(_extract_failure_reason(str(result))) if failed else "",
        line=line,
    )


def _extract_failure_reason(result: str) -> str:
    reason = result.strip().removeprefix(INFRASTRUCTURE_PREFIX).strip()
    return reason[:_MESSAGE_LIMIT] or "no reason was given"


def _sum_nested(value: Any, read: Callable[[object], N | None], depth: int = 0) -> N | None:
    """A number, or the sum over turns and steps; None where nothing sensible is given."""
    if isinstance(value, list) and depth < 3:
        parts = [part for item in value if (part := _sum_nested(item, read, depth + 1)) is not None]
        return read(sum(parts)) if parts else None
    return read(value)


# The answers of official result files, scored here: samples, episodes, verdicts and counts.

_V3_NAMES = {today: earlier for earlier, today in V3_ALIASES.items()}
_OFFICIAL = "official"


class ModelResults(Record, frozen=True):
    """What a model's folder holds. `date` is YYYY-MM-DD, `version` v3 or v4; `claims` are the
    counts of the score files beside it, empty where there are none."""

    model: str
    date: str
    version: str
    predictions: tuple[Prediction, ...]
    claims: dict[str, Tally] = {}


class CategoryCount(Record, frozen=True):
    """What upstream's rule counts of a category here: `failed` requests are never right."""

    right: int
    total: int
    failed: int = 0

    @property
    def accuracy(self) -> float:
        return 100 * self.right / self.total

    def classify_claim(self, claim: Tally) -> str:
        return "exact" if (self.right, self.total) == (claim.right, claim.total) else "unexplained"


class RescoredResults(Record, frozen=True):
    """`samples` are all entries of the categories that were answered. By category: `counts` where
    every answer could be scored, how many ids were `renamed` from v3 to v4, how many were `unknown`
    to the data set, and how many were `unscored` for want of what `missing` says."""

    samples: tuple[Sample, ...]
    episodes: tuple[Episode, ...]
    verdicts: tuple[Verdict, ...]
    counts: dict[str, CategoryCount]
    renamed: dict[str, int]
    unknown: dict[str, int]
    unscored: dict[str, int] = {}
    missing: str = ""

    @property
    def left_out(self) -> list[str]:
        """What a person should know of, in lines."""
        lines = [f"{n} answers to unknown entries of {name}" for name, n in self.unknown.items()]
        if self.unscored:
            names = ", ".join(f"{n} of {name}" for name, n in self.unscored.items())
            lines.append(f"answers that could not be scored, {names}: {self.missing}")
        return lines


class UnknownEntries(UsageError):
    """None of the answers is to an entry of the data set."""


def rescore_predictions(
    benchmark: Benchmark, samples: Sequence[Sample], results: ModelResults
) -> RescoredResults:
    """Score every answer to an entry that the samples hold; raises UsageError for no such answer. A
    v3 answer is taken as one to the v4 entry of the same category and number."""
    samples_by_key = {sample.key: sample for sample in samples}
    renamed: Counter[str] = Counter()
    unknown: Counter[str] = Counter()
    pairs: list[tuple[Sample, Prediction]] = []
    for prediction in results.predictions:
        sample = samples_by_key.get(f"{prediction.category}/{prediction.id}")
        if sample is None:
            sample = samples_by_key.get(f"{prediction.category}/{_current_sample_id(prediction)}")
            (renamed if sample else unknown)[prediction.category] += 1
        if sample is not None:
            pairs.append((sample, prediction))
    if not pairs:
        raise UnknownEntries(Note("bfcl_no_answers", model=results.model))
    answered = {sample.metric for sample, _ in pairs}
    episode_pairs = [
        (sample, build_rescored_episode(benchmark, sample, prediction, results.date))
        for sample, prediction in pairs
    ]
    verdicts = score_answers(benchmark, episode_pairs)
    broken = [verdict for verdict in verdicts if verdict.outcome == "environment_error"]
    unscored = Counter(verdict.metric for verdict in broken)
    return RescoredResults(
        samples=tuple(sample for sample in samples if sample.metric in answered),
        episodes=tuple(episode for _, episode in episode_pairs),
        verdicts=tuple(verdicts),
        counts=_count_categories(
            [verdict for verdict in verdicts if verdict.metric not in unscored]
        ),
        renamed=dict(renamed),
        unknown=dict(unknown),
        unscored=dict(unscored),
        missing=broken[0].note if broken else "",
    )


def build_rescored_episode(
    benchmark: Benchmark, sample: Sample, prediction: Prediction, at: str
) -> Episode:
    """An answer as an episode of ours; a failed request upstream kept as an answer is a failure."""
    failure = Failure(kind="retryable", message=prediction.error) if prediction.error else None
    mode = (
        prediction.mode
        if prediction.mode == "fc"
        else prompt_mode(find_category_language(prediction.category))
    )
    return msgspec.structs.replace(
        benchmark.episode_from_answer(sample, prediction.answer, {"mode": mode}),
        usage=Usage(input_tokens=prediction.input_tokens, output_tokens=prediction.output_tokens),
        latency=prediction.latency,
        completions=0 if failure else 1,
        attempts=1,
        failure=failure,
        termination=failure.kind if failure else "",
        at=at,
    )


def _current_sample_id(prediction: Prediction) -> str:
    earlier = _V3_NAMES.get(prediction.category)
    if earlier and prediction.id.startswith(f"{earlier}_"):
        return f"{prediction.category}{prediction.id.removeprefix(earlier)}"
    return prediction.id


def _count_categories(verdicts: Sequence[Verdict]) -> dict[str, CategoryCount]:
    total = Counter(verdict.metric for verdict in verdicts)
    right = Counter(verdict.metric for verdict in verdicts if _is_official_pass(verdict))
    failed = Counter(verdict.metric for verdict in verdicts if verdict.outcome == "target_error")
    return {name: CategoryCount(right[name], n, failed[name]) for name, n in total.items()}


def _is_official_pass(verdict: Verdict) -> bool:
    """Whether upstream's rule accepts the answer."""
    views: Mapping[str, float] = verdict.views
    if _OFFICIAL in views:
        return views[_OFFICIAL] == 1
    return verdict.outcome == "passed"

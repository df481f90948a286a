"""The figures of a run: counted while it is under way, and summed up when it has ended."""

from __future__ import annotations

import logging
import re
import time
from array import array
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from evalcore import catalog
from evalcore.benchmarks import registry
from evalcore.errors import RunFolderError, UsageError
from evalcore.i18n import Note
from evalcore.intake import add_counts, add_numbers, read_cost, read_count
from evalcore.judges import is_same_model
from evalcore.records import (
    BenchmarkSpec,
    CostSource,
    Episode,
    Failure,
    Measured,
    Record,
    RunSpec,
    Sample,
    Usage,
    Verdict,
    content_hash,
    utc_now,
)
from evalcore.results import BenchmarkScore, Progress, RunState, RunSummary, Totals, add_usage
from evalcore.runner.limits import FlowCounts
from evalcore.runner.plan import create_benchmark, panel_parts, with_column_key
from evalcore.runner.preflight import CARD_FIELD
from evalcore.runner.run_request import list_judge_specs
from evalcore.store.case_index import CaseIndex
from evalcore.store.run_folder import API_CHANGE, RunFolder, StoredVerdict
from evalcore.store.stored_cases import (
    StoredSamples,
    StoredVerdicts,
    iterate_episodes,
    iterate_repeats,
)

# Where a run stands: counted in memory, written to `progress.json` for any process to read.

_RATE_WINDOW = 15.0  # seconds over which the rate is taken
#: The events of a request that failed, with kind, status and cause, and of one that was sent again.
REQUEST_FAILED, REQUEST_RESENT = "request_failed", "request_resent"
_MOST_LOGGED = 1000  # of a worker: a server that is down for hours must not fill the disk
_CAUSE_LENGTH = 300  # characters


class Event(Record, frozen=True):
    """Line of events.jsonl: something worth telling that happened to a run."""

    at: str
    kind: str
    message: str = ""


class Tracker:
    """Counts of one worker; `write` publishes them."""

    def __init__(self, folder: RunFolder, total: int) -> None:
        self.folder = folder
        self.total = total
        self.generated = 0
        self.outcomes: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self.requests = 0
        self.usage = Usage()
        self.cost: float | None = 0.0
        self.started_at = utc_now()
        self.started = time.monotonic()
        self.phase = "loading"
        self.message = ""
        self.rate = 0.0  # verdicts a second, at the last `write`
        self.flow: FlowCounts | None = None
        self.card: Callable[[], Mapping[str, Any]] = dict  # of the target, once it is open
        self._written_card: Mapping[str, Any] = {}
        self._preflight = _read_preflight(folder)
        self._recent: deque[tuple[float, int]] = deque()
        self._logged_requests = 0
        self._events = folder.open_journal(folder.events_path.name)

    def record_event(self, kind: str, message: str = "") -> None:
        _log.debug("%s: %s: %s", self.folder.run_id, kind, message)
        with suppress(OSError):  # a full disk ends a run by its journals, which say why
            self._events.append(Event(at=utc_now(), kind=kind, message=message))

    def record_failure(self, failure: Failure) -> None:
        """A request failed; it may yet be tried again. The log names the cause."""
        self.errors[failure.kind] += 1
        self.requests += 1
        status = f" {failure.status}" if failure.status else ""
        self._log_request(
            REQUEST_FAILED, f"{failure.kind}{status}: {failure.message[:_CAUSE_LENGTH]}"
        )

    def record_resend(self, cause: str) -> None:
        """A connection was closed before a request was read, which went out again on another."""
        self._log_request(REQUEST_RESENT, f"the connection was lost before an answer ({cause})")

    def _log_request(self, kind: str, message: str) -> None:
        self._logged_requests += 1
        if self._logged_requests <= _MOST_LOGGED:
            self.record_event(kind, message)
        if self._logged_requests == _MOST_LOGGED:
            self.record_event(kind, "no more of these are logged; the summary counts failures")

    def record_episode(self, episode: Episode | EpisodeTally, requests: int = 0) -> None:
        """An episode is there; `requests` were answered for it just now."""
        self.generated += 1
        self.requests += requests
        self.usage = add_usage(self.usage, episode.usage)
        self.cost = add_numbers(self.cost, episode.cost)

    def record_outcome(self, outcome: str) -> None:
        self.outcomes[outcome] += 1

    def write(self, state: RunState = "running") -> None:
        scored = self.outcomes.total()
        rate = self.rate = self._compute_rate(scored)
        left = self.total - scored
        progress = Progress(
            run_id=self.folder.run_id,
            state=state,
            phase=self.phase,
            total=self.total,
            generated=self.generated,
            scored=scored,
            outcomes=dict(self.outcomes),
            errors=dict(self.errors),
            in_flight=self.flow.in_flight if self.flow else 0,
            limit=self.flow.limit if self.flow else 0,
            requests=self.requests,
            refused=self.flow.refused if self.flow else 0,
            rate=rate,
            eta=left / rate if rate and state == "running" else None,
            input_tokens=self.usage.input_tokens or 0,
            output_tokens=self.usage.output_tokens or 0,
            cost=self.cost,
            started_at=self.started_at,
            at=utc_now(),
            message=self.message,
        )
        self.folder.write_progress(progress)
        if (card := dict(self.card())) != self._written_card:
            reason = card.get("api_reason")
            if reason and reason != self._written_card.get("api_reason"):
                self.record_event(API_CHANGE, f"{card.get('api')}: {reason}")
            self.folder.write_card(card | self._preflight)
            self._written_card = card

    def _compute_rate(self, scored: int) -> float:
        """Verdicts a second over the recent past."""
        moment = time.monotonic()
        self._recent.append((moment, scored))
        while moment - self._recent[0][0] > _RATE_WINDOW:
            self._recent.popleft()
        since, before = self._recent[0]
        return (scored - before) / (moment - since) if moment - since > 0.2 else 0.0

    def close(self) -> None:
        self._events.close()


def _read_preflight(folder: RunFolder) -> dict[str, Any]:
    """What the card of the run says that was learned before it; the target's own card joins it."""
    try:
        card = folder.read_card()
    except RunFolderError:
        return {}
    return {CARD_FIELD: card[CARD_FIELD]} if CARD_FIELD in card else {}


# From journals to `summary.json`: the scores of a run, and what it took.

_log = logging.getLogger(__name__)

EpisodeKey = tuple[str, str, int]
VerdictKey = tuple[str, str, str, int]


def scoring_id(spec: RunSpec) -> str:
    """Names a folder of verdicts: equal scorers, equal name."""
    versions = [[b.key, to_current_spec(b).scorer_version] for b in spec.benchmarks]
    return content_hash([versions, panel_parts(list_judge_specs(spec))], 10)


def to_current_spec(spec: BenchmarkSpec) -> BenchmarkSpec:
    """The spec as this version of the code scores it: scorer version and column key follow."""
    card = create_benchmark(spec.key, spec.options).card
    if card.scorer_version == spec.scorer_version:
        return spec
    return msgspec.structs.replace(spec, scorer_version=card.scorer_version)


def latest_episodes(folder: RunFolder) -> dict[EpisodeKey, Episode]:
    """The last journaled episode of each generation: a repeated one replaces the failed one."""
    return {
        (stored.benchmark, stored.episode.key, stored.episode.epoch): stored.episode
        for stored in folder.read_episodes()
    }


def latest_verdicts(stored: Iterable[StoredVerdict]) -> dict[VerdictKey, Verdict]:
    return {
        (line.benchmark, line.verdict.metric, line.verdict.id, line.verdict.epoch): line.verdict
        for line in stored
    }


def summarise_run(index: CaseIndex, spec: RunSpec, cancelled: bool, wall: float) -> RunSummary:
    """Score everything that is journaled; the state follows from what is missing."""
    scores: dict[str, BenchmarkScore] = {}
    for declared in spec.benchmarks:
        key, samples = declared.key, StoredSamples(index, declared)
        try:
            with registry.plugin_faults(key):
                scores[key] = _score_benchmark(declared, spec, samples, StoredVerdicts(samples))
        except UsageError as error:
            if catalog.is_builtin(key):
                raise
            _log.warning("run %s: %s", spec.run_id, error)  # its neighbours keep their scores
    if catalog.is_model(spec.target.key) and spec.epochs > 1:
        scores = {
            key: mark_repeats(score, spec, _iterate_repeats(index, key))
            for key, score in scores.items()
        }
    errors: Counter[str] = Counter()
    totals = compute_totals(_iterate_tallies(index, errors), _iterate_judged(index, spec), wall)
    complete = len(scores) == len(spec.benchmarks) and all(s.is_settled for s in scores.values())
    state: RunState = "done" if complete else "cancelled" if cancelled else "incomplete"
    return RunSummary(
        run_id=spec.run_id,
        target=spec.target,
        state=state,
        scoring=index.scoring,
        benchmarks=scores,
        totals=totals,
        errors=dict(errors),
        created_at=spec.created_at,
        finished_at=utc_now(),
        origin=spec.origin,
        epochs=spec.epochs,
    )


def _score_benchmark(
    spec: BenchmarkSpec, run: RunSpec, samples: Sequence[Sample], verdicts: Sequence[Verdict]
) -> BenchmarkScore:
    benchmark = create_benchmark(spec.key, spec.options)
    now_scored = with_column_key(to_current_spec(spec))
    scored = benchmark.aggregate(
        samples,
        verdicts,
        spec.weights,
        epochs=run.epochs,
        column=now_scored.column,
        full=spec.full,
        label=describe_column(spec),
    )
    in_range = scored.score is None or 0 <= scored.score <= 100
    if not (scored.benchmark == spec.key and in_range):
        raise ValueError(Note("aggregate_score", benchmark=scored.benchmark, score=scored.score))
    by_itself = any(is_same_model(judge, run.target) for judge in spec.judges)
    return msgspec.structs.replace(scored, self_judged=by_itself)


_FEWEST_ALIKE = 5  # generations whose equal repeats are no chance, above temperature 0


def mark_repeats(
    score: BenchmarkScore, run: RunSpec, generations: Iterable[Sequence[Episode]]
) -> BenchmarkScore:
    """The score with repeats of a model named deterministic where each epoch gave the same answers:
    they are no tries of their own, so that pass^k is known for k = 1 alone. `generations` holds the
    episodes of each in all epochs."""
    repeated = 0
    for episodes in generations:
        answered = [episode for episode in episodes if episode.failure is None]
        if len(answered) > 1:
            repeated += 1
            if len({_hash_answers(episode) for episode in answered}) > 1:
                return score
    is_greedy = str(run.target.options.get("temperature")) in ("0", "0.0")
    if repeated < (1 if is_greedy else _FEWEST_ALIKE):
        return score
    groups = {
        name: None if re.match(r"(pass|adjusted)\^(?!1\b)", name) else value
        for name, value in score.groups.items()
    }
    return msgspec.structs.replace(score, groups=groups, repeats="deterministic")


def _hash_answers(episode: Episode) -> str:
    turns = [m for m in episode.messages if m.role == "assistant"]
    calls = [[(call.name, call.arguments) for call in turn.tool_calls] for turn in turns]
    return content_hash([[turn.content for turn in turns], calls])


def _iterate_repeats(index: CaseIndex, benchmark: str) -> Iterator[list[Episode]]:
    for lines in iterate_repeats(index, benchmark):
        yield [line.episode for line in lines]


def describe_column(spec: BenchmarkSpec) -> str:
    """The column in words: data set, mode, options that are not as usual, and size."""
    usual = {option.name: option.default for option in catalog.benchmark_card(spec.key).options}
    options = ", ".join(
        f"{name}={value}"
        for name, value in spec.options.items()
        if name not in ("mode", "prompt", catalog.TEXTS_OPTION) and value != usual.get(name)
    )
    parts = [spec.dataset, str(spec.options.get("mode", "")), options, f"{spec.samples} samples"]
    if spec.difficulty_weights:
        levels = (f"{level}: {weight:g}" for level, weight in spec.difficulty_weights.items())
        parts.insert(-1, f"weight of difficulty {', '.join(levels)}")
    parts += ["own prompt"] if "prompt" in spec.options else []
    return " · ".join(part for part in parts if part)


class EpisodeTally(Measured, frozen=True):
    """What an episode took, without its texts."""

    usage: Usage = Usage()
    cost: float | None = None
    cost_sources: tuple[CostSource, ...] = ()
    latency: float = 0.0
    attempts: int = 0
    cached: bool = False
    failure: Failure | None = None
    time_to_first_token: float | None = None
    queue_time: float | None = None

    @property
    def tokens_per_second(self) -> float | None:
        """See `Episode.tokens_per_second`."""
        tokens = self.usage.output_tokens
        return tokens / self.latency if tokens and self.latency else None


class TalliedLine(Record, frozen=True):
    episode: EpisodeTally


def _iterate_tallies(index: CaseIndex, errors: Counter[str]) -> Iterator[EpisodeTally]:
    """What each episode took; failures are counted by kind."""
    for line in iterate_episodes(index, TalliedLine):
        if line.episode.failure:
            errors[line.episode.failure.kind] += 1
        yield line.episode


def _iterate_judged(index: CaseIndex, spec: RunSpec) -> Iterator[Verdict]:
    """The last verdicts of benchmarks with a panel."""
    for declared in spec.benchmarks:
        if declared.judges:
            yield from StoredVerdicts(StoredSamples(index, declared))


def compute_totals(
    episodes: Iterable[Episode | EpisodeTally], verdicts: Iterable[Verdict], wall: float
) -> Totals:
    """What the episodes and the panel took; `wall` is the time of the worker in seconds."""
    usage, cost = Usage(), None
    count, requests, cached = 0, 0, 0
    sources: set[CostSource] = set()
    latencies, first, rates, queued = (array("d") for _ in range(4))
    for episode in episodes:
        usage = add_usage(usage, episode.usage)
        cost = add_numbers(cost if count else 0.0, episode.cost)
        count += 1
        requests += episode.attempts
        sources.update(episode.cost_sources)
        if episode.cached:
            cached += 1
            continue
        if episode.latency:
            latencies.append(episode.latency)
        if episode.time_to_first_token is not None:
            first.append(episode.time_to_first_token)
        if (rate := episode.tokens_per_second) is not None:
            rates.append(rate)
        if episode.queue_time is not None:
            queued.append(episode.queue_time)
    asked, judge_cost = 0, add_numbers(0.0)
    for verdict in verdicts:
        if number := read_count(verdict.details.get("judge_requests")):
            asked += number
            judge_cost = add_numbers(judge_cost, read_cost(verdict.details.get("judge_cost")))
    return Totals(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cost=cost,
        latency_p50=_compute_quantile(latencies, 0.5),
        latency_p95=_compute_quantile(latencies, 0.95),
        first_token_p50=_compute_quantile(first, 0.5),
        tokens_per_second=_compute_quantile(rates, 0.5),
        queue_p50=_compute_quantile(queued, 0.5),
        requests=add_counts(requests) or 0,
        cached=cached,
        wall=round(wall, 3),
        judge_requests=add_counts(asked) or 0,
        cost_sources=tuple(sorted(sources)),
        judge_cost=judge_cost,
    )


#: Values that are sorted sooner than numpy is imported.
_FEW = 50_000


def _compute_quantile(values: array[float], share: float) -> float | None:
    """Nearest rank; sorts the values."""
    if not values:
        return None
    rank = min(len(values) - 1, int(share * len(values)))
    if len(values) < _FEW:
        return sorted(values)[rank]
    import numpy as np

    ordered = np.frombuffer(values)
    ordered.sort()
    return float(ordered[rank])

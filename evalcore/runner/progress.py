"""Where a run stands: counted in memory, written to `progress.json` for any process to read."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from evalcore.intake import add_numbers
from evalcore.records import (
    Episode,
    Failure,
    Progress,
    Record,
    RunState,
    Usage,
    Verdict,
    add_usage,
    utc_now,
)
from evalcore.runner.limits import Flow
from evalcore.store.run_folder import RunFolder

_RATE_WINDOW = 15.0  # seconds over which the rate is taken


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
        self.flow: Flow | None = None
        self.card: Callable[[], Mapping[str, Any]] = dict  # of the target, once it is open
        self._written_card: Mapping[str, Any] = {}
        self._recent: deque[tuple[float, int]] = deque()
        self._events = folder.open_journal(folder.events_path.name)

    def record_event(self, kind: str, message: str = "") -> None:
        with suppress(OSError):  # a full disk ends a run by its journals, which say why
            self._events.append(Event(at=utc_now(), kind=kind, message=message))

    def record_failure(self, failure: Failure) -> None:
        """A request failed; it may yet be tried again."""
        self.errors[failure.kind] += 1
        self.requests += 1

    def record_episode(self, episode: Episode, fresh: bool) -> None:
        self.generated += 1
        if fresh:
            self.requests += episode.completions
        self.usage = add_usage(self.usage, episode.usage)
        self.cost = add_numbers(self.cost, episode.cost)

    def record_verdict(self, verdict: Verdict) -> None:
        self.outcomes[verdict.outcome] += 1

    def write(self, state: RunState = "running") -> None:
        scored = self.outcomes.total()
        rate = self._compute_rate(scored)
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
            self.folder.write_card(card)
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

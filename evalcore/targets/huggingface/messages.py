"""What the process of a model and its parent tell each other, as frames on a pipe."""

from __future__ import annotations

from typing import Any

import msgspec

from evalcore.records import Completion, FailureKind, GenerationRequest, Record
from evalcore.targets.huggingface.options import HuggingFaceOptions


class StartOrder(Record, frozen=True):
    """The parent's first message. `halved` tells how often an earlier process ran out of memory or
    was killed: so often the budget of a batch is halved from the start."""

    key: str
    options: HuggingFaceOptions
    halved: int = 0


class AskOrder(Record, frozen=True, tag="ask"):
    id: str
    request: GenerationRequest


class CancelOrder(Record, frozen=True, tag="cancel"):
    """Nobody waits for this answer any more."""

    id: str


class LoadingEvent(Record, frozen=True, tag="loading"):
    """A line for people while the model is loaded."""

    line: str


class ReadyEvent(Record, frozen=True, tag="ready"):
    """The model is loaded; `report` holds the fields of `load.Report`."""

    report: dict[str, Any]


class RefusedEvent(Record, frozen=True, tag="refused"):
    """The model cannot be loaded; `kind` is that of a LoadError, else empty."""

    kind: str
    message: str


class AnswerEvent(Record, frozen=True, tag="answer"):
    id: str
    completion: Completion


class FailedEvent(Record, frozen=True, tag="failed"):
    """A request without an answer."""

    id: str
    kind: FailureKind
    message: str


class StatsEvent(Record, frozen=True, tag="stats"):
    """How the process does: new tokens a second since the last such message and in all, bytes that
    it holds (on the GPU where the model is there), rows running and waiting, places that a batch
    may take and how often they were halved."""

    tokens_per_second: float
    tokens: int
    process_bytes: int
    batch: int
    waiting: int
    budget_tokens: int
    halved: int


WorkerOrder = AskOrder | CancelOrder
WorkerEvent = LoadingEvent | ReadyEvent | RefusedEvent | AnswerEvent | FailedEvent | StatsEvent

_order_decoder: msgspec.json.Decoder[WorkerOrder] = msgspec.json.Decoder(WorkerOrder)
_event_decoder: msgspec.json.Decoder[WorkerEvent] = msgspec.json.Decoder(WorkerEvent)


def read_order(frame: bytes) -> WorkerOrder:
    """A message of the parent; raises msgspec.DecodeError."""
    return _order_decoder.decode(frame)


def read_event(frame: bytes) -> WorkerEvent:
    """A message of the process; raises msgspec.DecodeError."""
    return _event_decoder.decode(frame)

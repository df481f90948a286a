"""What the process of a model and its parent tell each other, as frames on a pipe."""

from __future__ import annotations

from typing import Any

import msgspec

from evalcore.records import Completion, FailureKind, GenerationRequest, Record
from evalcore.targets.huggingface.options import Options


class Start(Record, frozen=True):
    """The parent's first message. `halved` tells how often an earlier process ran out of memory or
    was killed: so often the budget of a batch is halved from the start."""

    key: str
    options: Options
    halved: int = 0


class Ask(Record, frozen=True, tag="ask"):
    id: str
    request: GenerationRequest


class Cancel(Record, frozen=True, tag="cancel"):
    """Nobody waits for this answer any more."""

    id: str


class Loading(Record, frozen=True, tag="loading"):
    """A line for people while the model is loaded."""

    line: str


class Ready(Record, frozen=True, tag="ready"):
    """The model is loaded; `report` holds the fields of `load.Report`."""

    report: dict[str, Any]


class Refused(Record, frozen=True, tag="refused"):
    """The model cannot be loaded; `kind` is that of a LoadError, else empty."""

    kind: str
    message: str


class Answer(Record, frozen=True, tag="answer"):
    id: str
    completion: Completion


class Failed(Record, frozen=True, tag="failed"):
    """A request without an answer."""

    id: str
    kind: FailureKind
    message: str


class Stats(Record, frozen=True, tag="stats"):
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


Order = Ask | Cancel
News = Loading | Ready | Refused | Answer | Failed | Stats

_orders: msgspec.json.Decoder[Order] = msgspec.json.Decoder(Order)
_news: msgspec.json.Decoder[News] = msgspec.json.Decoder(News)


def read_order(frame: bytes) -> Order:
    """A message of the parent; raises msgspec.DecodeError."""
    return _orders.decode(frame)


def read_news(frame: bytes) -> News:
    """A message of the process; raises msgspec.DecodeError."""
    return _news.decode(frame)

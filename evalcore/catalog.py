"""Light cards of benchmarks, targets and datasets: what a page may know without importing them.

A benchmark is found by its card. Built-in cards stand in `_BUILTIN`; another package adds its own
with an entry point of the group `evalcore.benchmarks` whose object is a `BenchmarkCard`. The card
names the implementing class as "module:Class", which only the process that runs it imports.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Literal

from evalcore.errors import UsageError
from evalcore.records import EvidenceKind, Record
from evalcore.settings import Endpoint, Settings

SUITES: tuple[str, ...] = ("sql", "agentic")


class MetricCard(Record, frozen=True):
    """A weighted part of a benchmark; `weight` None means reported and not scored."""

    key: str
    weight: float | None
    evidence: EvidenceKind = "checked"
    title: dict[str, str] = {}
    about: dict[str, str] = {}


class OptionCard(Record, frozen=True):
    """An option of a benchmark or target, settable by `--option KEY.name=value` and in Launch."""

    name: str
    type: Literal["str", "int", "float", "bool", "list"] = "str"
    default: Any = None
    choices: tuple[str, ...] = ()
    about: dict[str, str] = {}


class BenchmarkCard(Record, frozen=True):
    """What is known of a benchmark without loading it. Titles and texts are per language.

    `judged` tells whether a panel may decide what cannot be executed; the panel then belongs to the
    column key.
    """

    key: str
    suite: str
    implementation: str
    metrics: tuple[MetricCard, ...]
    options: tuple[OptionCard, ...] = ()
    title: dict[str, str] = {}
    about: dict[str, str] = {}
    dataset: str = ""
    prompt_version: str = "1"
    scorer_version: str = "1"
    judged: bool = False

    @property
    def weights(self) -> dict[str, float]:
        return {m.key: m.weight for m in self.metrics if m.weight is not None}

    def metric(self, key: str) -> MetricCard:
        for metric in self.metrics:
            if metric.key == key:
                return metric
        known = ", ".join(m.key for m in self.metrics)
        raise UsageError(f"benchmark {self.key} has no metric {key!r}; it has: {known}")


class TargetKindCard(Record, frozen=True):
    """A kind of target: its key prefix, what follows it, and the options it takes."""

    prefix: str
    form: str
    title: dict[str, str]
    about: dict[str, str]
    options: tuple[OptionCard, ...] = ()
    examples: tuple[str, ...] = ()


class ApplicationCard(Record, frozen=True):
    """A described HTTP service: what it answers and what it needs.

    `answers` holds (benchmark, metrics) pairs, empty meaning all; `variables` are environment
    variables; `problem` says why its description cannot be used.
    """

    key: str
    title: str
    about: str = ""
    answers: tuple[tuple[str, tuple[str, ...]], ...] = ()
    variables: tuple[str, ...] = ()
    problem: str = ""

    def takes(self, benchmark: str, metric: str) -> bool:
        """Whether the service is described to answer cases of a metric."""
        return any(
            name in ("", benchmark) and (not metrics or metric in metrics)
            for name, metrics in self.answers
        )


_BUILTIN = (
    "evalcore.benchmarks.sql_understanding.card:CARD",
    "evalcore.benchmarks.dialect_conversion.card:CARD",
    "evalcore.benchmarks.sql_optimization.card:CARD",
    "evalcore.benchmarks.bfcl.card:CARD",
    "evalcore.benchmarks.tau_bench.card:CARD",
    "evalcore.benchmarks.gaia.card:CARD",
    "evalcore.benchmarks.swe_bench.card:CARD",
)


def _load(reference: str) -> Any:
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)


@cache
def benchmark_cards() -> dict[str, BenchmarkCard]:
    """Every known benchmark by key, in suite order."""
    cards = [_load(reference) for reference in _BUILTIN]
    cards += [point.load() for point in entry_points(group="evalcore.benchmarks")]
    return {card.key: card for card in sorted(cards, key=lambda c: SUITES.index(c.suite))}


def benchmark_card(key: str) -> BenchmarkCard:
    """The card of one benchmark; raises UsageError naming the known ones."""
    cards = benchmark_cards()
    if key not in cards:
        raise UsageError(f"unknown benchmark {key!r}; known: {', '.join(cards)}")
    return cards[key]


@cache
def target_kinds() -> dict[str, TargetKindCard]:
    """Every known kind of target by prefix."""
    cards: list[TargetKindCard] = list(_load("evalcore.targets.cards:CARDS"))
    cards += [point.load() for point in entry_points(group="evalcore.targets")]
    return {card.prefix: card for card in cards}


def endpoints(settings: Settings) -> dict[str, Endpoint]:
    """The named OpenAI-compatible servers: presets, and those that the settings add or replace."""
    known: dict[str, Endpoint] = _load("evalcore.targets.endpoints:known")(settings)
    return known


def applications(settings: Settings) -> dict[str, ApplicationCard]:
    """The described services that have a name, by target key."""
    cards: dict[str, ApplicationCard] = _load("evalcore.targets.application_card:cards")(settings)
    return cards


def application(key: str, settings: Settings) -> ApplicationCard:
    """What a target key `app:NAME` or `app:FILE` means, its problem included."""
    card: ApplicationCard = _load("evalcore.targets.application_card:card")(key, settings)
    return card


def local(text: dict[str, str], language: str) -> str:
    """A per-language text in `language`, else in English, else empty."""
    return text.get(language) or text.get("en", "")

"""Light cards of benchmarks, targets and datasets: what a page may know without importing them.

A benchmark is found by its card. Built-in cards stand in `_BUILTIN`; another package adds its own
with an entry point of the group `evalcore.benchmarks` whose object is a `BenchmarkCard`. The card
names the implementing class as "module:Class", which only the process that runs it imports. A suite
is what the cards say; a `SuiteCard` (group `evalcore.suites`) gives it a title and its members.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any, Literal

from msgspec.structs import replace

from evalcore import plugins
from evalcore.errors import UsageError
from evalcore.plain_text import to_single_line
from evalcore.plugins import SkippedPlugin, UnusablePlugin
from evalcore.records import EvidenceKind, Record
from evalcore.settings import Endpoint, Settings

_TITLE = 80  # characters of a plug-in's title
#: What a benchmark cannot be called: a board is ranked by it, or its ranking has such a column.
RESERVED = frozenset(
    """suite identity target_key kind status rank rank_low rank_high group leader score low high
    coverage passed measured errors cost input_tokens output_tokens latency date run_id self_judged
    name organization logo type weights parameters price released new place""".split()  # noqa: SIM905
)


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


#: What the controls of every benchmark answer with.
CONTROLS = ("reference", "null", "noop")
#: Those that answer with their input in a disguise that saves nothing: in a CTE, with a limit, with
#: a condition that always holds.
COSMETIC_CONTROLS = ("cte", "limit", "tautology")
#: Those whose scores are floors: worth no thought.
FLOOR_CONTROLS = ("null", "noop", *COSMETIC_CONTROLS)


class BenchmarkCard(Record, frozen=True):
    """What is known of a benchmark without loading it. Titles and texts are per language.

    `judged` tells whether a panel may decide what cannot be executed; the panel then belongs to the
    column key. `controls` are the control targets that can answer it. `evidence_by_mode` tells what
    all verdicts rest on in a mode that decides otherwise than its metrics say.
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
    controls: tuple[str, ...] = CONTROLS
    evidence_by_mode: dict[str, EvidenceKind] = {}

    @property
    def weights(self) -> dict[str, float]:
        return {m.key: m.weight for m in self.metrics if m.weight is not None}

    def evidence(self, metric: str, mode: str) -> EvidenceKind:
        """What the verdicts on a metric rest on in a mode; raises UsageError as `metric` does."""
        return self.evidence_by_mode.get(mode) or self.find_metric(metric).evidence

    def find_metric(self, key: str) -> MetricCard:
        for metric in self.metrics:
            if metric.key == key:
                return metric
        metric_keys = ", ".join(m.key for m in self.metrics)
        raise UsageError(f"benchmark {self.key} has no metric {key!r}; it has: {metric_keys}")


class SuiteCard(Record, frozen=True):
    """Benchmarks that share a board.

    `memberships` declares over which of them the mean of the suite is taken, one entry per version,
    the first being version 1. A declared version never changes: who adds a benchmark declares a
    further one. Other benchmarks of the suite are columns of the board that the mean leaves out.
    """

    key: str
    title: dict[str, str] = {}
    about: dict[str, str] = {}
    memberships: tuple[tuple[str, ...], ...] = ()


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

    def can_answer(self, benchmark: str, metric: str) -> bool:
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
_SUITES = (
    SuiteCard(
        key="sql",
        title={"en": "SQL", "zh": "SQL"},
        memberships=(("sql_understanding", "dialect_conversion", "sql_optimization"),),
    ),
    SuiteCard(
        key="agentic",
        title={"en": "Agentic", "zh": "智能体"},
        memberships=(("bfcl", "tau_bench", "gaia", "swe_bench"),),
    ),
)


def _import_reference(reference: str) -> Any:
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)


@cache
def _load_benchmark_cards() -> tuple[dict[str, BenchmarkCard], tuple[SkippedPlugin, ...]]:
    """The cards by key in the order of the suites, and the plug-ins that are left out."""
    cards: list[BenchmarkCard] = [_import_reference(reference) for reference in _BUILTIN]
    added, skipped = plugins.load_plugins(
        plugins.BENCHMARKS, BenchmarkCard, [card.key for card in cards], _check_benchmark
    )
    cards += map(_fill_card_titles, added)
    order = list(dict.fromkeys([*_load_suite_cards()[0], *sorted({card.suite for card in cards})]))
    in_order = sorted(cards, key=lambda card: order.index(card.suite))
    return {card.key: card for card in in_order}, tuple(skipped)


@cache
def _load_suite_cards() -> tuple[dict[str, SuiteCard], tuple[SkippedPlugin, ...]]:
    added, skipped = plugins.load_plugins(
        plugins.SUITES, SuiteCard, [card.key for card in _SUITES], _check_suite
    )
    added = [replace(card, title=_normalize_title(card.title, card.key)) for card in added]
    return {card.key: card for card in (*_SUITES, *added)}, tuple(skipped)


@cache
def _load_target_kinds() -> tuple[dict[str, TargetKindCard], tuple[SkippedPlugin, ...]]:
    cards: tuple[TargetKindCard, ...] = _import_reference("evalcore.targets.cards:CARDS")
    added, skipped = plugins.load_plugins(
        plugins.TARGETS, TargetKindCard, [card.prefix for card in cards], _check_target_kind
    )
    added = [replace(card, title=_normalize_title(card.title, card.prefix)) for card in added]
    return {card.prefix: card for card in (*cards, *added)}, tuple(skipped)


def benchmark_cards() -> dict[str, BenchmarkCard]:
    """Every usable benchmark by key, in suite order."""
    return _load_benchmark_cards()[0]


def benchmark_card(key: str) -> BenchmarkCard:
    """The card of one benchmark; raises UsageError naming the known ones, and why a plug-in of
    that name is left out."""
    cards = benchmark_cards()
    if key not in cards:
        reasons = [f". {plugin}" for plugin in list_skipped_plugins() if plugin.name == key]
        raise UsageError(f"unknown benchmark {key!r}; known: {', '.join(cards)}{''.join(reasons)}")
    return cards[key]


def suite_cards() -> dict[str, SuiteCard]:
    """Every suite by key: the declared ones, then those that only benchmarks name."""
    named = {card.suite: SuiteCard(key=card.suite) for card in benchmark_cards().values()}
    return {
        **_load_suite_cards()[0],
        **{key: card for key, card in named.items() if key not in _load_suite_cards()[0]},
    }


def target_kinds() -> dict[str, TargetKindCard]:
    """Every usable kind of target by prefix."""
    return _load_target_kinds()[0]


def list_skipped_plugins() -> tuple[SkippedPlugin, ...]:
    """Every plug-in that is installed and cannot be used, with the reason."""
    return (*_load_benchmark_cards()[1], *_load_suite_cards()[1], *_load_target_kinds()[1])


def find_membership_problems(own: Mapping[str, Sequence[str]]) -> list[str]:
    """What is wrong with the setting `suites`, in sentences for the operator."""
    problems = []
    for suite, members in own.items():
        suite_benchmarks = [key for key, card in benchmark_cards().items() if card.suite == suite]
        for member in members:
            if member not in suite_benchmarks:
                available = ", ".join(suite_benchmarks) or "none"
                problems.append(
                    f"setting suites.{suite} names {member!r}, which is no installed benchmark of "
                    f"that suite; its benchmarks: {available}"
                )
    return problems


def is_builtin(benchmark: str) -> bool:
    """Whether a benchmark comes with this package, whatever plug-ins are installed."""
    return benchmark in _builtin_keys()


@cache
def _builtin_keys() -> frozenset[str]:
    return frozenset(_import_reference(reference).key for reference in _BUILTIN)


def is_usable_key(key: str) -> bool:
    """Whether a benchmark or suite can have this key; of a run whose plug-in is absent."""
    return plugins.is_key(key) and key not in RESERVED


def clear_plugin_cache() -> None:
    """Read the plug-ins anew at the next question; for tests and for long-lived processes."""
    for loader in (_load_benchmark_cards, _load_suite_cards, _load_target_kinds):
        loader.cache_clear()


def _check_benchmark(card: BenchmarkCard) -> str:
    plugins.check_key("the benchmark", card.key)
    plugins.check_key("the suite", card.suite)
    if card.key in RESERVED:
        raise UnusablePlugin(f"the key {card.key!r} is a word of the board's own", "rename it")
    module, colon, name = card.implementation.partition(":")
    if not (module and colon and name):
        raise UnusablePlugin(
            f"its implementation is {card.implementation!r}", 'name it as "module:Class"'
        )
    if not card.metrics:
        raise UnusablePlugin("it has no metric", "declare at least one MetricCard")
    plugins.check_unique("the metric", (metric.key for metric in card.metrics))
    plugins.check_unique("the option", (option.name for option in card.options))
    for metric in card.metrics:
        plugins.check_weight(f"the metric {metric.key!r}", metric.weight)
    if not any(card.weights.values()):
        raise UnusablePlugin(
            "none of its metrics has a weight", "give at least one a weight above 0"
        )
    return card.key


def _fill_card_titles(card: BenchmarkCard) -> BenchmarkCard:
    """The card with an English title for itself and its metrics, the key where it has none."""
    metrics = tuple(
        replace(metric, title=_normalize_title(metric.title, metric.key)) for metric in card.metrics
    )
    return replace(card, title=_normalize_title(card.title, card.key), metrics=metrics)


def _normalize_title(title: dict[str, str], key: str) -> dict[str, str]:
    lines = {language: to_single_line(text, _TITLE) for language, text in title.items()}
    return lines | {"en": lines.get("en") or key}


def _check_suite(card: SuiteCard) -> str:
    plugins.check_key("the suite", card.key)
    for members in card.memberships:
        if not members:
            raise UnusablePlugin("a version of the suite has no member", "name its benchmarks")
        plugins.check_unique("the member", members)
    return card.key


def _check_target_kind(card: TargetKindCard) -> str:
    plugins.check_key("the kind of target", card.prefix)
    plugins.check_unique("the option", (option.name for option in card.options))
    return card.prefix


def load_endpoints(settings: Settings) -> dict[str, Endpoint]:
    """The named OpenAI-compatible servers: presets, and those that the settings add or replace."""
    endpoints: dict[str, Endpoint] = _import_reference("evalcore.targets.registry:list_endpoints")(
        settings
    )
    return endpoints


def load_applications(settings: Settings) -> dict[str, ApplicationCard]:
    """The described services that have a name, by target key."""
    cards: dict[str, ApplicationCard] = _import_reference(
        "evalcore.targets.application_card:build_application_cards"
    )(settings)
    return cards


def load_application(key: str, settings: Settings) -> ApplicationCard:
    """What a target key `app:NAME` or `app:FILE` means, its problem included."""
    card: ApplicationCard = _import_reference(
        "evalcore.targets.application_card:build_application_card"
    )(key, settings)
    return card


def localize_text(text: dict[str, str], language: str) -> str:
    """A per-language text in `language`, else in English, else empty."""
    return text.get(language) or text.get("en", "")

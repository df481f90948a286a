"""Light cards of benchmarks, targets and datasets: what a page may know without importing them.

A benchmark is found by its card. Built-in cards stand in `_BUILTIN`; another package adds its own
with an entry point of the group `evalcore.benchmarks` whose object is a `BenchmarkCard`. The card
names the implementing class as "module:Class", which only the process that runs it imports. A suite
is what the cards say; a `SuiteCard` (group `evalcore.suites`) gives it a title and its members.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from msgspec.structs import replace

from evalcore import i18n, plugins
from evalcore.cards import BOARD as BOARD
from evalcore.cards import CONTROL_KIND as CONTROL_KIND
from evalcore.cards import CONTROLS as CONTROLS
from evalcore.cards import COSMETIC_CONTROLS as COSMETIC_CONTROLS
from evalcore.cards import FLOOR_CONTROLS as FLOOR_CONTROLS
from evalcore.cards import OFFICIAL as OFFICIAL
from evalcore.cards import OTHER_DATA_OPTION as OTHER_DATA_OPTION
from evalcore.cards import STAND_IN as STAND_IN
from evalcore.cards import TEXTS_OPTION as TEXTS_OPTION
from evalcore.cards import ApplicationCard as ApplicationCard
from evalcore.cards import BenchmarkCard as BenchmarkCard
from evalcore.cards import CommandCard as CommandCard
from evalcore.cards import CommandResult as CommandResult
from evalcore.cards import EngineCard as EngineCard
from evalcore.cards import FlagCard as FlagCard
from evalcore.cards import GroupCard as GroupCard
from evalcore.cards import MetricCard as MetricCard
from evalcore.cards import OfficialDataset as OfficialDataset
from evalcore.cards import OptionCard as OptionCard
from evalcore.cards import SuiteCard as SuiteCard
from evalcore.cards import TargetKindCard as TargetKindCard
from evalcore.cards import UploadForm as UploadForm
from evalcore.cards import build_metric as build_metric
from evalcore.cards import build_option as build_option
from evalcore.cards import build_protocol_options as build_protocol_options
from evalcore.errors import EvalboardError, UsageError, suggest_name
from evalcore.i18n import Note
from evalcore.plain_text import to_single_line
from evalcore.plugins import SkippedPlugin, UnusablePlugin
from evalcore.settings import Endpoint, Settings

_TITLE = 80  # characters of a plug-in's title
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{2,63}")
#: What a benchmark cannot be called: a board is ranked by it, or its ranking has such a column.
RESERVED = frozenset(
    """suite identity target_key kind status rank rank_low rank_high group leader score low high
    coverage passed measured errors cost input_tokens output_tokens latency date run_id self_judged
    name organization logo type weights parameters price released new place""".split()  # noqa: SIM905
)

_BUILTIN = (
    "evalcore.benchmarks.sql_understanding.card:CARD",
    "evalcore.benchmarks.dialect_conversion.card:CARD",
    "evalcore.benchmarks.sql_optimization.card:CARD",
    "evalcore.benchmarks.bfcl.card:CARD",
    "evalcore.benchmarks.tau_bench.card:CARD",
    "evalcore.benchmarks.tau2_bench.card:CARD",
    "evalcore.benchmarks.gaia.card:CARD",
    "evalcore.benchmarks.swe_bench.card:CARD",
    "evalcore.benchmarks.academic.card:CARD",
)
#: The suite of what other frameworks measured: tasks that no benchmark here asks. It has no card,
#: as nothing can be run in it.
IMPORTED_SUITE = "imported"
#: What other frameworks are called, by the prefix of the targets that they measured.
FRAMEWORKS = {
    "inspect": "Inspect AI",
    "lm_eval": "lm-evaluation-harness",
    "lighteval": "lighteval",
    "evalscope": "EvalScope",
    "helm": "HELM",
    "every_eval_ever": "Every Eval Ever",
    "bfcl_eval": "bfcl-eval",
    "tau2_results": "τ²-bench",
    "swebench": "SWE-bench harness",
}
_SUITES = (
    SuiteCard(
        key="sql",
        title={"en": "SQL", "zh": "SQL"},
        memberships=(("sql_understanding", "dialect_conversion", "sql_optimization"),),
    ),
    SuiteCard(
        key="agentic",
        title={"en": "Agentic", "zh": "智能体"},
        memberships=(
            ("bfcl", "tau_bench", "gaia", "swe_bench"),
            ("bfcl", "tau_bench", "tau2_bench", "gaia", "swe_bench"),
        ),
    ),
    SuiteCard(key="academic", title={"en": "Academic", "zh": "学术"}),
)


def import_reference(reference: str) -> Any:
    """The object that "module:name" names on a card."""
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)


def call_reference(reference: str, owner: str, *arguments: Any) -> Any:
    """Call the function that a card names. Raises UsageError, naming the owner of the card, for
    whatever the code of a plug-in raises; faults of this package stay as they are."""
    try:
        return import_reference(reference)(*arguments)
    except EvalboardError:
        raise
    except (Exception, SystemExit) as error:
        if reference.startswith("evalcore."):
            raise
        raise UsageError(
            Note("plugin_failed", owner=owner, kind=type(error).__name__, problem=error)
        ) from error


#: Benchmarks that this process has defined, by key.
_process_cards: dict[str, BenchmarkCard] = {}


def add_process_card(card: BenchmarkCard) -> None:
    """Add a benchmark for as long as this process lives, in place of an earlier one of its key that
    was added so. Raises UsageError for a card that cannot be used."""
    taken = benchmark_cards().keys() - _process_cards.keys()
    try:
        if _check_benchmark(card) in taken:
            raise UnusablePlugin(f"the key {card.key!r} is taken", "rename it")
    except UnusablePlugin as error:
        raise UsageError(
            Note("benchmark_unusable", owner=card.key[:80], problem=error.why, remedy=error.remedy)
        ) from None
    _process_cards[card.key] = _fill_card_titles(card)
    _load_benchmark_cards.cache_clear()


def remove_process_card(key: str) -> None:
    """Forget a benchmark of this process."""
    _process_cards.pop(key, None)
    _load_benchmark_cards.cache_clear()


@cache
def _load_benchmark_cards() -> tuple[dict[str, BenchmarkCard], tuple[SkippedPlugin, ...]]:
    """The cards by key in the order of the suites, and the plug-ins that are left out."""
    cards: list[BenchmarkCard] = [import_reference(reference) for reference in _BUILTIN]
    added, skipped = plugins.load_plugins(
        plugins.BENCHMARKS, BenchmarkCard, [card.key for card in cards], _check_benchmark
    )
    cards += map(_fill_card_titles, added)
    cards += _process_cards.values()
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
    cards: tuple[TargetKindCard, ...] = import_reference("evalcore.targets.cards:CARDS")
    added, skipped = plugins.load_plugins(
        plugins.TARGETS, TargetKindCard, [card.prefix for card in cards], _check_target_kind
    )
    added = [replace(card, title=_normalize_title(card.title, card.prefix)) for card in added]
    return {card.prefix: card for card in (*cards, *added)}, tuple(skipped)


@cache
def _load_engine_cards() -> tuple[dict[str, EngineCard], tuple[SkippedPlugin, ...]]:
    cards: tuple[EngineCard, ...] = import_reference("evalcore.sqlkit.engines.cards:CARDS")
    added, skipped = plugins.load_plugins(
        plugins.ENGINES, EngineCard, [card.name for card in cards], _check_engine
    )
    added = [replace(card, title=to_single_line(card.title, _TITLE) or card.name) for card in added]
    return {card.name: card for card in (*cards, *added)}, tuple(skipped)


def benchmark_cards() -> dict[str, BenchmarkCard]:
    """Every usable benchmark by key, in suite order."""
    return _load_benchmark_cards()[0]


def benchmark_card(key: str) -> BenchmarkCard:
    """The card of one benchmark; raises UsageError naming the known ones, and why a plug-in of
    that name is left out."""
    cards = benchmark_cards()
    if key not in cards:
        reasons = [f". {plugin}" for plugin in list_skipped_plugins() if plugin.name == key]
        known_names = f"{', '.join(cards)}{''.join(reasons)}"
        problem = Note("bundle_unknown", name=f"{key!r}", known=known_names)
        raise UsageError(suggest_name(problem, key, cards))
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


def find_target_kind(target: str) -> TargetKindCard | None:
    """The kind of a target key, None where its plug-in is not installed."""
    return target_kinds().get(target.partition(":")[0])


def find_chooser(target: str) -> str:
    """How Launch asks for targets of a key's kind (`TargetKindCard.chooser`), "" for no kind."""
    card = find_target_kind(target)
    return card.chooser if card else ""


def is_model(target: str) -> bool:
    """Whether a target is a model, at a server or on this machine, whose answers may vary."""
    card = find_target_kind(target)
    return card is not None and card.can_judge


def runs_models_here(target: str) -> bool:
    """Whether a target is a model that is loaded on this machine."""
    card = find_target_kind(target)
    return card is not None and card.runs_models_here


def engine_cards() -> dict[str, EngineCard]:
    """Every usable SQL engine by name."""
    return _load_engine_cards()[0]


def list_skipped_plugins() -> tuple[SkippedPlugin, ...]:
    """Every plug-in that is installed and cannot be used, with the reason."""
    return (
        tuple(
            skipped
            for loader in (_load_benchmark_cards, _load_suite_cards, _load_target_kinds)
            for skipped in loader()[1]
        )
        + _load_engine_cards()[1]
    )


def find_membership_problems(own: Mapping[str, Sequence[str]]) -> list[str]:
    """What is wrong with the setting `suites`, in sentences for the operator."""
    problems = []
    for suite, members in own.items():
        suite_benchmarks = [key for key, card in benchmark_cards().items() if card.suite == suite]
        for member in members:
            if member not in suite_benchmarks:
                available = ", ".join(suite_benchmarks) or "none"
                problems.append(
                    f"setting suites.{suite} names {member!r}, which is not an installed "
                    f"benchmark of that suite; its benchmarks: {available}"
                )
    return problems


def is_builtin(benchmark: str) -> bool:
    """Whether a benchmark comes with this package, whatever plug-ins are installed."""
    return benchmark in _builtin_keys()


@cache
def _builtin_keys() -> frozenset[str]:
    return frozenset(import_reference(reference).key for reference in _BUILTIN)


def is_usable_key(key: str) -> bool:
    """Whether a benchmark or suite can have this key; of a run whose plug-in is absent."""
    return plugins.is_key(key) and key not in RESERVED


def clear_plugin_cache() -> None:
    """Read the plug-ins anew at the next question; for tests and for long-lived processes."""
    for loader in (
        *(_load_benchmark_cards, _load_suite_cards),
        *(_load_target_kinds, _load_engine_cards),
    ):
        loader.cache_clear()


def _check_benchmark(card: BenchmarkCard) -> str:
    plugins.check_key("the benchmark", card.key)
    plugins.check_key("the suite", card.suite)
    if card.key in RESERVED:
        raise UnusablePlugin(f"the key {card.key!r} is reserved", "rename it")
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
    plugins.check_unique("the rule", card.rules)
    for command in (card.fetcher, card.exporter, card.importer, card.lister):
        if command is not None:
            plugins.check_unique("the flag", (flag.name for flag in command.flags))
    if card.official_datasets and not (card.fetcher and card.fetcher.flags):
        raise UnusablePlugin(
            "it declares official datasets but no fetcher with a flag for their part", "add it"
        )
    for official in card.official_datasets:
        plugins.check_key("the official dataset", official.name)
        plugins.check_key("the folder", official.folder)
        if official.benchmark != card.key:
            raise UnusablePlugin(
                f"its dataset {official.name!r} is of {official.benchmark!r}", "fix it"
            )
    if not any(card.weights.values()):
        raise UnusablePlugin("no metric has a weight", "give at least one a weight above 0")
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
    for option in card.secrets:
        if not _VARIABLE.fullmatch(option.name):
            raise UnusablePlugin(
                f"its secret option {option.name!r} is not a valid environment variable name",
                "name it like MY_API_KEY",
            )
    return card.prefix


def _check_engine(card: EngineCard) -> str:
    plugins.check_key("the engine", card.name)
    if card.name != card.name.lower():
        raise UnusablePlugin(f"the name {card.name!r} has capitals", "write it in lower case")
    module, colon, name = card.backend.partition(":")
    if not (module and colon and name) or card.server:
        raise UnusablePlugin(
            f"its backend is {card.backend!r}", 'name the function that opens it as "module:name"'
        )
    if not card.statements.split():
        raise UnusablePlugin(
            "it runs no statements", "name the first words of the statements it runs"
        )
    try:
        re.compile(card.refused_functions)
    except re.error as error:
        raise UnusablePlugin(f"refused_functions is not a pattern: {error}", "fix it") from error
    return card.name


def load_endpoints(settings: Settings) -> dict[str, Endpoint]:
    """The named OpenAI-compatible servers: presets, and those that the settings add or replace."""
    endpoints: dict[str, Endpoint] = import_reference("evalcore.targets.endpoints:list_endpoints")(
        settings
    )
    return endpoints


def load_applications(settings: Settings) -> dict[str, ApplicationCard]:
    """The described services that have a name, by target key."""
    cards: dict[str, ApplicationCard] = import_reference(
        "evalcore.targets.application_card:build_application_cards"
    )(settings)
    return cards


def load_application(key: str, settings: Settings) -> ApplicationCard:
    """What a target key `app:NAME` or `app:FILE` means, its problem included."""
    card: ApplicationCard = import_reference(
        "evalcore.targets.application_card:build_application_card"
    )(key, settings)
    return card


def find_bundled_folder(card: BenchmarkCard, settings: Settings) -> Path:
    """Where the bundled cases of a benchmark are; those of a plug-in lie beside its implementation,
    which is not imported for it."""
    if is_builtin(card.key):
        return Path(settings.datasets) / card.dataset
    try:
        spec = find_spec(card.implementation.partition(":")[0])
    except Exception:  # whatever the code of a plug-in's package raises
        spec = None
    folder = Path(spec.origin).parent if spec and spec.origin else Path(settings.datasets)
    return folder / card.dataset


def find_missing_extra(card: BenchmarkCard) -> str:
    """The extra of this package that a benchmark lacks here, "" where it can run."""
    if not card.library or os.environ.get(card.library_variable) or find_spec(card.library):
        return ""
    return card.extra


def list_command_cards(
    kind: Literal["fetcher", "exporter", "importer", "preparer", "lister"],
) -> dict[str, CommandCard]:
    """List what benchmarks add to a verb of the command line, by benchmark."""
    commands = {key: getattr(card, kind) for key, card in benchmark_cards().items()}
    return {key: command for key, command in commands.items() if command is not None}


def list_official_datasets() -> dict[str, OfficialDataset]:
    """The official data sets that can be fetched, by name."""
    cards = benchmark_cards().values()
    return {official.name: official for card in cards for official in card.official_datasets}


def find_benchmark_text(benchmark: str, name: str, language: str) -> str | None:
    """A text of `BenchmarkCard.texts`, else the English one, else None."""
    if is_builtin(benchmark):
        return i18n.lookup_text(f"{benchmark}.{name}", language)
    card = benchmark_cards().get(benchmark)
    return localize_text(card.texts.get(name, {}), language) or None if card else None


def localize_text(text: dict[str, str], language: str) -> str:
    """A per-language text in `language`, else in English, else empty."""
    return text.get(language) or text.get("en", "")

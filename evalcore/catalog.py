"""Light cards of benchmarks, targets and datasets: what a page may know without importing them.

A benchmark is found by its card. Built-in cards stand in `_BUILTIN`; another package adds its own
with an entry point of the group `evalcore.benchmarks` whose object is a `BenchmarkCard`. The card
names the implementing class as "module:Class", which only the process that runs it imports. A suite
is what the cards say; a `SuiteCard` (group `evalcore.suites`) gives it a title and its members.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any, Literal, NamedTuple

from msgspec.structs import replace

from evalcore import i18n, plugins
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


class UploadForm(Record, frozen=True):
    """How own cases of a benchmark are handed in.

    `parts` are the names that a case may belong to, by its field `metric` or by choice; `file`
    is where the cases of a part go within the folder, `bundled_file` where the bundled ones are
    (default: `file`), `companion_files` the patterns of bundled files that they need there,
    `identity` the field that names a case ("" for the order of the lines), and `left_out` the
    fields of bundled cases that point to files, which nobody can hand in. A bundled case with a
    value in the field `unsuitable_with` is no example.
    """

    parts: tuple[str, ...]
    file: str = "{part}.jsonl"
    bundled_file: str = ""
    companion_files: tuple[str, ...] = ()
    identity: str = "case_id"
    left_out: tuple[str, ...] = ()
    unsuitable_with: str = ""

    def part_of(self, row: dict[str, object], chosen: str) -> str:
        """The part of a case: its own word, else the choice of whoever handed it in."""
        if len(self.parts) == 1:
            return self.parts[0]
        return str(row.get("metric", row.get("category", chosen)))


class OfficialDataset(Record, frozen=True):
    """An official data set that can be fetched. `part` is the value of the fetcher's first flag,
    `folder` where it goes below `<data>/datasets`, `page` where its terms stand, `cases` how many
    it is published with, where that is known. `on_hub`: a token of the Hub is of use."""

    name: str
    benchmark: str
    part: str
    folder: str
    title: str
    page: str
    cases: int | None = None
    gated: bool = False
    on_hub: bool = True


class FlagCard(Record, frozen=True):
    """A flag, `--name`, that a command of a benchmark takes."""

    name: str
    about: str = ""
    metavar: str = "TEXT"
    choices: tuple[str, ...] = ()
    default: str = ""


class CommandCard(Record, frozen=True):
    """What a benchmark adds to `datasets fetch`, `export` or `import`; `run` is "module:function".

    A fetcher is called with (settings, folder or None, flags, progress, token), an exporter with
    (run folder, output path, flags), an importer with (settings, path, flags, progress); flags are
    texts by name, their defaults where they were not typed, and all answer with a `CommandResult`.
    An exporter writes a `file` or a `folder`; an importer names the `publisher` of its runs.
    """

    run: str
    about: str
    flags: tuple[FlagCard, ...] = ()
    output: Literal["file", "folder"] = "file"
    publisher: str = ""
    path_about: str = "the file or folder to take in"


class CommandResult(NamedTuple):
    """What a command did: data for `--json`, the same as text, and remarks for standard error."""

    data: Any
    text: str
    remarks: tuple[str, ...] = ()


class GroupCard(Record, frozen=True):
    """A group of metrics with an official score of its own: its points of the overall score (None
    for a part of another group), its members, and whether tables list it."""

    key: str
    weight: float | None = None
    members: tuple[str, ...] = ()
    listed: bool = True


class BenchmarkCard(Record, frozen=True):
    """What is known of a benchmark without loading it. Titles and texts are per language.

    `judged` tells whether a panel may decide what cannot be executed; the panel then belongs to the
    column key. `controls` are the control targets that can answer it. `evidence_by_mode` tells what
    all verdicts rest on in a mode that decides otherwise than its metrics say. `baselines` name, by
    baseline, the function that answers its cases ("module:function").

    `submission` is the field of an episode's state that is scored where it is not the answer's
    text; `groups_title` says what its groups are where they are no scores. `resolves`: its cases
    are resolved, or not, by being executed. `cases_are_data`: no case names a program to be run, so
    that cases of others can be scored here. `agent_options` are the values of options under which
    the target works with programs; `executes_unless` is the option that leaves it to others to run
    programs for a verdict. `fetched_option` is set to the part of a fetched data set.

    `texts` are further words for pages, by name: `options_about`, `form`, `official`, `spread`,
    `published_about`, `view_about.VIEW`, `remark.OPTION.VALUE`, and for each of `rules`
    `rules.RULE` and `rules.RULE.words`. Those of the built-in benchmarks are catalogues.
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
    upload_form: UploadForm | None = None
    official_datasets: tuple[OfficialDataset, ...] = ()
    fetcher: CommandCard | None = None
    exporter: CommandCard | None = None
    importer: CommandCard | None = None
    baselines: dict[str, str] = {}
    groups: tuple[GroupCard, ...] = ()
    groups_title: str = ""
    submission: str = ""
    resolves: bool = False
    cases_are_data: bool = False
    agent_options: dict[str, tuple[str, ...]] = {}
    executes_unless: str = ""
    fetched_option: str = ""
    rules: tuple[str, ...] = ()
    texts: dict[str, dict[str, str]] = {}

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
    """A kind of target: its key prefix, what follows it, and the options it takes.

    `implementation` is the "module:function" that makes a target of (spec, settings, secrets).
    `check` is one of the same arguments that refuses what a restricted board does not allow, by the
    setting `allow_setting`; without it a restricted board has none of the kind, unless it
    `reaches_nobody`.
    """

    prefix: str
    form: str
    title: dict[str, str]
    about: dict[str, str]
    options: tuple[OptionCard, ...] = ()
    examples: tuple[str, ...] = ()
    implementation: str = ""
    check: str = ""
    allow_setting: str = ""
    reaches_nobody: bool = False


class EngineCard(Record, frozen=True):
    """An SQL engine, by the name that cases and servers use for its dialect (lower case).

    `backend` is the "module:function" that its worker process opens, a `Backend`; an engine that is
    a server names the class of its `server` instead. `dialect` is sqlglot's name of the dialect
    that its SQL is read in, by default the engine's. `library` is the Python module that it needs,
    `extra` the extra of this package that brings it. `statements` are the first words of the
    statements that are run, parted by spaces, `refused_functions` a pattern of functions that are
    not, and `unit` what `measure` counts. `schemes` are those of a server's DSN, whose path is the
    parameter `dsn_path`, and `local_parameters` lead to a server kept in a folder ("{folder}").
    """

    name: str
    title: str
    backend: str = ""
    server: str = ""
    dialect: str = ""
    library: str = ""
    extra: str = ""
    statements: str = ""
    refused_functions: str = ""
    unit: str = ""
    schemes: tuple[str, ...] = ()
    dsn_path: str = ""
    local_parameters: dict[str, str] = {}


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


def import_reference(reference: str) -> Any:
    """The object that "module:name" names on a card."""
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)


@cache
def _load_benchmark_cards() -> tuple[dict[str, BenchmarkCard], tuple[SkippedPlugin, ...]]:
    """The cards by key in the order of the suites, and the plug-ins that are left out."""
    cards: list[BenchmarkCard] = [import_reference(reference) for reference in _BUILTIN]
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
                    f"setting suites.{suite} names {member!r}, which is no installed benchmark of "
                    f"that suite; its benchmarks: {available}"
                )
    return problems


def is_builtin(benchmark: str) -> bool:
    """Whether a benchmark comes with this package, whatever plug-ins are installed."""
    return benchmark in _builtin_keys()


def is_builtin_target(prefix: str) -> bool:
    """Whether a kind of target comes with this package, whatever plug-ins are installed."""
    cards: tuple[TargetKindCard, ...] = import_reference("evalcore.targets.cards:CARDS")
    return prefix in {card.prefix for card in cards}


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
    plugins.check_unique("the rule", card.rules)
    for command in (card.fetcher, card.exporter, card.importer):
        if command is not None:
            plugins.check_unique("the flag", (flag.name for flag in command.flags))
    if card.official_datasets and not (card.fetcher and card.fetcher.flags):
        raise UnusablePlugin(
            "it names official data sets and no fetcher with a flag for their part", "add it"
        )
    for official in card.official_datasets:
        plugins.check_key("the official data set", official.name)
        plugins.check_key("the folder", official.folder)
        if official.benchmark != card.key:
            raise UnusablePlugin(
                f"its data set {official.name!r} is of {official.benchmark!r}", "mend it"
            )
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
        raise UnusablePlugin("it runs no statements", "name the first words of those that it runs")
    try:
        re.compile(card.refused_functions)
    except re.error as error:
        raise UnusablePlugin(f"refused_functions is no pattern: {error}", "mend it") from error
    return card.name


def load_endpoints(settings: Settings) -> dict[str, Endpoint]:
    """The named OpenAI-compatible servers: presets, and those that the settings add or replace."""
    endpoints: dict[str, Endpoint] = import_reference("evalcore.targets.registry:list_endpoints")(
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


def list_command_cards(kind: Literal["fetcher", "exporter", "importer"]) -> dict[str, CommandCard]:
    """What benchmarks add to a verb of the command line, by benchmark."""
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

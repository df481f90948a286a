"""Cards: what is known of benchmarks, suites, targets and engines without importing them.

Plug-ins import them from `evalcore.catalog`, which finds the cards of all that is installed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from evalcore.errors import UsageError
from evalcore.i18n import Note
from evalcore.records import EvidenceKind, Record

Texts = tuple[str, str]


class MetricCard(Record, frozen=True):
    """A weighted part of a benchmark; `weight` None means reported and not scored."""

    key: str
    weight: float | None
    evidence: EvidenceKind = "checked"
    title: dict[str, str] = {}
    about: dict[str, str] = {}


def build_metric(
    key: str,
    weight: float | None,
    evidence: EvidenceKind,
    title: Texts,
    english: str,
    chinese: str,
) -> MetricCard:
    """A metric with its title and what it is about, each in both languages."""
    titles = {"en": title[0], "zh": title[1]}
    return MetricCard(key, weight, evidence, titles, {"en": english, "zh": chinese})


class OptionCard(Record, frozen=True):
    """An option of a benchmark or target, settable by `--option KEY.name=value` and in Launch.

    `label` is what Launch calls it (default: its name). For a target, `shown` puts its field beside
    the target's name, not among the folded ones. A `secret` option of a target is a key: its name
    is the environment variable that holds it, Launch hides what is typed, and it is no option of
    a run. Without a `default` a run needs it. A `derived` option is set by the plan of a run: no
    form asks for it. `former_choices` are values of earlier runs, which are read and not offered.
    An option that is `operator_only` is not a visitor's to set on a restricted board; one that
    `names_code` is not followed where a run comes from elsewhere.
    """

    name: str
    type: Literal["str", "int", "float", "bool", "list"] = "str"
    default: Any = None
    choices: tuple[str, ...] = ()
    about: dict[str, str] = {}
    label: dict[str, str] = {}
    shown: bool = False
    secret: bool = False
    derived: bool = False
    former_choices: tuple[str, ...] = ()
    operator_only: bool = False
    names_code: bool = False


def build_option(
    name: str,
    english: str = "",
    chinese: str = "",
    *,
    default: Any = None,
    kind: Any = None,
    choices: tuple[str, ...] = (),
    derived: bool = False,
) -> OptionCard:
    """An option with its text in both languages, of the type of its default or of `kind`."""
    if not kind:
        kind = "str" if default is None or isinstance(default, str) else type(default).__name__
    about = {"en": english, "zh": chinese} if english else {}
    return OptionCard(name, kind, default, choices, about, derived=derived)


#: How a benchmark asks: in the words of this package, or exactly as upstream asks.
BOARD, OFFICIAL = "board", "official"
#: The option that names the texts of `OFFICIAL` by their hash; a plan sets it.
TEXTS_OPTION = "official_texts"
#: The value of a derived option that says that something of ours replaces what upstream has.
STAND_IN = "stand-in"
#: The option that names what of the data is not upstream's; a plan sets it.
OTHER_DATA_OPTION = "other_data"


def build_protocol_options() -> tuple[OptionCard, OptionCard]:
    """The options of a benchmark that can be asked as upstream asks."""
    return (
        build_option(
            "protocol",
            "prompts, tool schemas, sampling and limits: those of this board, or the official ones",
            "提示词、工具定义、采样与限额：本榜自有，或与官方完全一致",
            default=BOARD,
            choices=(BOARD, OFFICIAL),
        ),
        build_option(
            TEXTS_OPTION,
            "hash of the fetched official texts; set by the run itself",
            "已获取的官方文本的哈希值；由运行自动填写",
            default="",
            derived=True,
        ),
    )


#: The kind of target that answers as a benchmark says: a yardstick that takes no rank.
CONTROL_KIND = "control"
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
    """An official dataset that can be fetched. `part` is the value of the fetcher's first flag,
    `folder` its folder below `<data>/datasets`, `page` the page with its terms, `cases` the
    published number of cases, if known. `on_hub`: a Hub token helps."""

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
    (run folder, output path, flags), an importer with (settings, path, flags, progress), a
    preparer, which makes what its cases need on this machine, with (settings, name or path of a
    dataset, flags, progress) and a lister with (settings, name, flags, progress); flags are texts
    by name, their defaults where they were not typed, and all answer with a `CommandResult`.
    An exporter writes a `file` or a `folder`; an importer names the `publisher` of its runs.
    """

    run: str
    about: str
    flags: tuple[FlagCard, ...] = ()
    output: Literal["file", "folder"] = "file"
    publisher: str = ""
    path_about: str = "file or folder to import"


class CommandResult(NamedTuple):
    """What a command did: data for `--json`, the same as text or lines, and remarks for standard
    error."""

    data: Any
    text: str | Sequence[str]
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
    programs for a verdict. `system_prompt`: the option `prompt` may hold the system message of the
    official protocol in place of a template. `fetched_option` is set to the part of a fetched data
    set, and `key_variables` name the environment variables with the keys that options need.
    `official_board` is the name of the leaderboard that its scores may stand beside, and
    `official_options` the values that options have there: what they end with, "" for any. Its score
    is over all of `official_metrics`, where there are any and no option chooses one of them.
    `user_options` are, where a simulated user talks with the target, the option under which a model
    plays that user in place of rules, and the option that names the model.

    `open_metrics`: a run may have metrics that the card does not list, as its options choose them.
    `library` is the distribution that it needs, `extra` the extra of this package that brings it,
    and `library_variable` an environment variable that names another Python with it. `lister` is
    what `evalcore KEY list` prints. A configuration file of `run` that has one of `config_fields`
    is read by `config_reader` ("module:function" of its path and content), which returns the
    fields of a run's own configuration.

    `answer_tokens` is how long an answer may be for a target that needs a limit, a local model for
    one, where neither the benchmark's protocol nor a person sets one; 0: as that target has it.

    `draft_parts` are the metrics whose cases can be made of pasted SQL; `draft_target`: such a case
    has a second dialect, which its statement is converted to.

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
    answer_tokens: int = 0
    judged: bool = False
    controls: tuple[str, ...] = CONTROLS
    evidence_by_mode: dict[str, EvidenceKind] = {}
    upload_form: UploadForm | None = None
    official_datasets: tuple[OfficialDataset, ...] = ()
    fetcher: CommandCard | None = None
    exporter: CommandCard | None = None
    importer: CommandCard | None = None
    preparer: CommandCard | None = None
    baselines: dict[str, str] = {}
    groups: tuple[GroupCard, ...] = ()
    groups_title: str = ""
    submission: str = ""
    resolves: bool = False
    cases_are_data: bool = False
    agent_options: dict[str, tuple[str, ...]] = {}
    executes_unless: str = ""
    system_prompt: bool = False
    official_board: str = ""
    official_options: dict[str, str] = {}
    official_metrics: tuple[str, ...] = ()
    user_options: tuple[str, ...] = ()
    fetched_option: str = ""
    key_variables: tuple[str, ...] = ()
    open_metrics: bool = False
    library: str = ""
    extra: str = ""
    library_variable: str = ""
    lister: CommandCard | None = None
    config_reader: str = ""
    config_fields: tuple[str, ...] = ()
    draft_parts: tuple[str, ...] = ()
    draft_target: bool = False
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
        if self.open_metrics:
            return MetricCard(key=key, weight=1.0, title={"en": key})
        metric_keys = ", ".join(m.key for m in self.metrics)
        raise UsageError(Note("metric_unknown", benchmark=self.key, metric=key, names=metric_keys))


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
    `reaches_nobody`. `egress` (the same arguments) tells how far the target may reach.

    `missing_keys` (spec, settings) names the environment variables that are not set,
    `key_variables` (spec, settings) all that it uses, `list_price` (spec, settings) is USD for a
    million tokens, and `named_targets` (settings) gives targets to choose from in place of the
    `examples`. `can_judge`: it is a model that can give an opinion or play a user; `is_free`: it
    costs nothing to ask; `runs_models_here`: what follows its prefix is a model that is loaded on
    this machine. `chooser` is how Launch asks for what follows the prefix: by a name among the
    examples, by a named server and its model, by a described service, or by a model of this
    machine.
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
    egress: str = ""
    missing_keys: str = ""
    key_variables: str = ""
    named_targets: str = ""
    list_price: str = ""
    can_judge: bool = True
    is_free: bool = False
    runs_models_here: bool = False
    chooser: Literal["name", "server", "service", "local_model"] = "name"

    @property
    def secrets(self) -> tuple[OptionCard, ...]:
        """The options that hold keys."""
        return tuple(option for option in self.options if option.secret)


class EngineCard(Record, frozen=True):
    """An SQL engine, by the name that cases and servers use for its dialect (lower case).

    `backend` is the "module:function" that its worker process opens, a `Backend`; an engine that is
    a server names the class of its `server` instead. `dialect` is sqlglot's name of the dialect
    that its SQL is read in, by default the engine's. `library` is the Python module that it needs,
    `extra` the extra of this package that brings it. `statements` are the first words of the
    statements that are run, parted by spaces, `refused_functions` a pattern of functions that are
    not, and `unit` what `measure` counts. `schemes` are those of a server's DSN, whose path is the
    parameter `dsn_path`, and `local_parameters` lead to a server kept in a folder ("{folder}").
    `kind_query` asks its catalogue what "{name}" is, and whether for the session alone.
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
    kind_query: str = ""


class ApplicationCard(Record, frozen=True):
    """A described HTTP service: what it answers and what it needs.

    `answers` holds (benchmark, metrics) pairs, empty meaning all; `variables` are environment
    variables; `problem` says why its description cannot be used, `scope` which dialects
    and kinds of statements it is for (empty: all).
    """

    key: str
    title: str
    about: str = ""
    answers: tuple[tuple[str, tuple[str, ...]], ...] = ()
    variables: tuple[str, ...] = ()
    problem: str = ""
    scope: dict[str, tuple[str, ...]] = {}

    def can_answer(self, benchmark: str, metric: str) -> bool:
        """Whether the service is described to answer cases of a metric."""
        return any(
            name in ("", benchmark) and (not metrics or metric in metrics)
            for name, metrics in self.answers
        )

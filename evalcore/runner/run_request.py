"""What a person asks for before anything is loaded: the request of a run, its judges, and the
configuration file that holds it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl

import msgspec

from evalcore import catalog
from evalcore.errors import UsageError
from evalcore.i18n import LANGUAGES, Note
from evalcore.records import Record, RunSpec, TargetSpec
from evalcore.runner import config_fields

# What a person asks for, before anything is loaded: the same for CLI, config file and pages.


class RunRequest(Record, frozen=True):
    """One run to be planned. `options` is per benchmark: {BENCHMARK: {"mode": "scale"}}.

    `dataset` is a name under `datasets/`, a folder or a jsonl file; empty means the bundled set.
    `concurrency` 0 leaves the width to the target; None for `max_samples` means all. `access`,
    `started_by`, `budget` and `executor` are those of `RunSpec`.
    """

    target: str
    benchmarks: tuple[str, ...]
    target_options: dict[str, Any] = {}
    metrics: tuple[str, ...] = ()
    dataset: str = ""
    max_samples: int | None = None
    seed: int = 0
    epochs: int = 1
    options: dict[str, dict[str, Any]] = {}
    judges: tuple[str, ...] = ()
    concurrency: int = 0
    use_cache: bool = True
    note: str = ""
    access: str = ""
    started_by: str = ""
    budget: float = 0.0
    executor: Literal["", "ray"] = ""


def check_budget(amount: float) -> None:
    """Raises UsageError for an amount that is none."""
    if not 0 <= amount < float("inf"):
        raise UsageError(Note("budget_amount", amount=f"{amount:g}"))


class Estimate(Record, frozen=True):
    """What a run would take; None is unknown, never zero. Tokens are estimates by characters."""

    samples: int
    requests: int
    input_tokens: int
    output_tokens: int | None
    seconds: float | None
    cost: float | None
    notes: tuple[str, ...] = ()


#: What a preflight looks at, in the order in which people read it. `usage`: whether tokens are
#: counted; `price`: whether an answer can be priced.
_Asked = Literal["key", "model", "tools", "tool_results"]
_Measured = Literal["sampling", "token_limit", "streaming", "usage", "price"]
CapabilityName = Literal[_Asked, _Measured]
CapabilityState = Literal["yes", "no", "unknown"]


class Capability(Record, frozen=True):
    """One line of a capability card; `detail` is what the server says, or what it refused."""

    name: CapabilityName
    state: CapabilityState
    detail: str = ""


class ConnectionReport(Record, frozen=True):
    """What a target answered to a few tiny requests; `identity` and `at` say which, and when.

    `model` is the name that the server uses, `latency` in seconds is that of the first answer,
    `message` says why there was none. `capabilities` is empty where nothing was probed.
    """

    ok: bool
    message: str
    latency: float | None = None
    model: str = ""
    reply: str = ""
    capabilities: tuple[Capability, ...] = ()
    requests: int = 0
    identity: str = ""
    at: str = ""


# The judges of a run: written `openai:MODEL?base_url=...&temperature=0`, checked before the start.
# A judge is a target like any other, asked under the role `judge:` and its spec as written.


def parse_model_spec(judge: str, role: Literal["judge", "user"] = "judge") -> TargetSpec:
    """The target that a judge, or a model that plays a user, is; raises UsageError for a text that
    names none."""
    key, _, query = judge.partition("?")
    kind, colon, name = key.partition(":")
    if not (colon and kind and name):
        raise UsageError(Note("judge_form", role=role, judge=judge))
    card = catalog.find_target_kind(key)
    if card is not None and not card.can_judge:
        does = "judge" if role == "judge" else "play a user"
        raise UsageError(Note("judge_cannot", role=role, judge=judge, kind=kind, task=does))
    try:
        options = dict(parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query)))
    except ValueError:
        raise UsageError(Note("judge_options", role=role, judge=judge)) from None
    return TargetSpec(key=key, options=options)


def check_panel(judges: Sequence[str]) -> None:
    """Raises UsageError for a panel that cannot sit: a judge that is none, or one named twice."""
    for judge in judges:
        parse_model_spec(judge)
    if len(set(judges)) < len(judges):
        raise UsageError(Note("judge_twice", names=", ".join(judges)))


def list_judge_specs(run: RunSpec) -> tuple[str, ...]:
    """The judges that a run really asks: those of its columns, in order."""
    return tuple(dict.fromkeys(judge for spec in run.benchmarks for judge in spec.judges))


# A run from a YAML file: slm-evals' fields, `target`, options, `judges`; flags win over it. Fields
# and their meaning: slm-evals' run configuration (model_path, device, dtype, max_new_tokens,
# temperature, experiment_name, output_dir, benchmarks, max_samples, benchmark_overrides). There the
# file wins over its flags; here what was typed does, as on any command line, and says so.


class RunConfig(Record, frozen=True, forbid_unknown_fields=True):
    """The file, typed: slm-evals' fields, then a field for every flag of `evalcore run`.
    `benchmarks` empty means all; `max_samples` null means all."""

    target: str = ""
    model_path: str = ""
    model_type: str = ""
    device: str = ""
    dtype: str = ""
    max_new_tokens: int | None = None
    temperature: float | None = None
    experiment_name: str = ""
    output_dir: str = ""
    benchmarks: list[str] = []
    max_samples: int | None = None
    benchmark_overrides: dict[str, dict[str, Any]] = {}
    target_options: dict[str, Any] = {}
    judges: list[str] = []
    metrics: list[str] = []
    dataset: str = ""
    seed: int = 0
    epochs: int = 1
    concurrency: int = 0
    budget: float = 0.0
    executor: Literal["process", "ray"] = "process"
    batch_size: int | str | None = None
    ray_address: str | None = None
    ray_workers: int | None = None
    node_concurrency: int | None = None
    node_requests_per_minute: float | None = None
    data: str | None = None
    lang: str | None = None
    estimate: bool = False
    json: bool = False
    quiet: bool = False
    verbose: bool = False


#: Fields that a file shares with the request of a run, each with its flag.
_SHARED = {
    "max_samples": "--max-samples",
    "metrics": "--metrics",
    "dataset": "--dataset",
    "seed": "--seed",
    "epochs": "--epochs",
    "concurrency": "--concurrency",
    "budget": "--budget",
    "executor": "--executor",
}
#: Fields of a file that say where and how a command works, not what is run.
COMMAND_FIELDS = (
    *("data", "lang", "estimate", "json", "quiet", "verbose"),
    *("ray_address", "ray_workers", "node_concurrency", "node_requests_per_minute"),
)


def read_run_config(path: Path) -> tuple[RunConfig, frozenset[str]]:
    """The file and the names of the fields it sets; raises UsageError naming what is wrong."""
    names = [field.name for field in msgspec.structs.fields(RunConfig)]
    values = config_fields.read_config_fields(path, names)
    config = config_fields.convert_fields(values, RunConfig, path)
    config_fields.check_model_type(config.model_type, path)
    if config.lang is not None and config.lang not in LANGUAGES:
        raise UsageError(
            Note("config_lang", path=path, lang=config.lang, names=", ".join(LANGUAGES))
        )
    return config, frozenset(values)


def apply_flags(
    config: RunConfig, file_fields: frozenset[str], flags: Mapping[str, Any]
) -> tuple[RunRequest, list[str]]:
    """The request of a file and of flags, which win, and what they override, in words.

    `file_fields` names the fields that the file sets; `flags` holds fields of RunRequest that were
    typed, `executor` as a person types it.
    """
    overridden: list[str] = []

    def choose_value(flag: str, field: str, ours: Any, theirs: Any) -> Any:
        """Prefer a typed value to that of the file; note the name where the two differ."""
        if ours is None or theirs is None:
            return theirs if ours is None else ours
        if _format_typed(ours) != _format_typed(theirs):
            overridden.append(
                f"{flag}{_format_typed(ours)} overrides {field}: {_format_typed(theirs)}"
            )
        return ours

    def merge_options(
        flag: str, field: str, ours: Mapping[str, Any], theirs: Mapping[str, Any]
    ) -> Any:
        return {
            name: choose_value(
                f"{flag}{name}=", f"{field}.{name}", ours.get(name), theirs.get(name)
            )
            for name in dict.fromkeys([*theirs, *ours])
        }

    own = f"hf:{config.model_path}" if config.model_path else config.target or None
    name = "model_path" if config.model_path else "target"
    target = choose_value("--target ", name, flags.get("target"), own) or ""
    benchmarks = choose_value(
        "--benchmarks ", "benchmarks", flags.get("benchmarks"), tuple(config.benchmarks) or None
    )
    cards = catalog.benchmark_cards()
    chosen = benchmarks or tuple(key for key, card in cards.items() if not card.extra)
    kind, replaced = target.partition(":")[0], own is not None and target != own
    model_options, unused = _model_options(config, file_fields, kind)
    if unused and not replaced:
        raise UsageError(Note("config_unused", name=unused[0], kind=kind))
    overridden += [f"{name} does not apply to --target {target}" for name in unused]
    if config.batch_size is not None:
        model_options["batch_size"] = str(config.batch_size)
    overrides, typed = _select_overrides(config, chosen), flags.get("options", {})
    shared: dict[str, Any] = {}
    for name, flag in _SHARED.items():
        theirs = getattr(config, name) if name in file_fields else None
        theirs = tuple(theirs) if isinstance(theirs, list) else theirs
        value = choose_value(f"{flag} ", name, flags.get(name), theirs)
        if value is not None:
            shared[name] = value
    if shared.get("executor") == "process":  # the default of a request
        del shared["executor"]
    changes = {
        **{name: value for name, value in flags.items() if name not in _SHARED},
        **shared,
        "target": target,
        "benchmarks": chosen,
        "target_options": merge_options(
            "--target-option ",
            "target_options",
            flags.get("target_options", {}),
            {**model_options, **config.target_options},
        ),
        "judges": choose_value(
            "--judge ", "judges", flags.get("judges"), tuple(config.judges) or None
        )
        or (),
        "options": {
            key: merge_options(
                f"--option {key}.",
                f"benchmark_overrides.{key}",
                typed.get(key, {}),
                overrides.get(key, {}),
            )
            for key in dict.fromkeys([*typed, *overrides])
        },
    }
    return RunRequest(**changes), overridden


def _format_typed(value: Any) -> str:
    """A value as it stands on a command line, so that 0.5 and "0.5" are the same."""
    if isinstance(value, bool):
        return str(value).lower()
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def find_output_folder(config: RunConfig, file_fields: frozenset[str]) -> Path | None:
    """Where slm-evals' three files go: `output_dir`/`experiment_name`, the latter a time stamp if
    omitted; None for a file that is not of its kind."""
    if not config.model_path and not file_fields & {"experiment_name", "output_dir"}:
        return None
    stamp = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    return Path(config.output_dir or "results") / (config.experiment_name or stamp)


def _select_overrides(config: RunConfig, chosen: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """Those of the benchmarks that are run."""
    return {
        key: config_fields.rename_options(key, values)
        for key, values in config.benchmark_overrides.items()
        if key in chosen
    }


def _model_options(
    config: RunConfig, file_fields: frozenset[str], kind: str
) -> tuple[dict[str, Any], list[str]]:
    """device, dtype, max_new_tokens and temperature as options of the kind of target, and the names
    of those that it does not take."""
    names = {
        "hf": {name: name for name in ("device", "dtype", "max_new_tokens", "temperature")},
        "openai": {"max_new_tokens": "max_tokens", "temperature": "temperature"},
    }.get(kind, {})
    fields = [
        name for name in ("device", "dtype", "max_new_tokens", "temperature") if name in file_fields
    ]
    options = {names[name]: getattr(config, name) for name in fields if name in names}
    return options, [name for name in fields if name not in names]

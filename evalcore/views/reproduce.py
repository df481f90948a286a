"""How to run a run again: command, configuration, and the card of the model it was made with."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from evalcore.access.redaction import (
    build_redactor,
    is_path,
    mask_path,
    mask_target,
    redact_paths,
    redact_spec,
)
from evalcore.catalog import call_reference, find_target_kind
from evalcore.errors import EvalboardError, UsageError
from evalcore.i18n import Note, restore_notes
from evalcore.records import BenchmarkSpec, Record, RunSpec, TargetSpec
from evalcore.settings import Settings
from evalcore.store.run_folder import RunFolder, find_run
from evalcore.views.boards import is_bundled

# What a local model told of itself while a run loaded and asked it.


class ModelCard(Record, frozen=True):
    """Fields of `card.json`, 0 and empty where unknown: sizes in bytes, times in seconds.

    `memory_bytes` are the weights', `process_bytes` all that the process holds as last seen;
    `halved` tells how often the batches were made smaller for want of memory.
    """

    architecture: str = ""
    parameters: int = 0
    dtype: str = ""
    device: str = ""
    memory_bytes: int = 0
    load_seconds: float = 0.0
    context: int = 0
    template: bool = False
    tools: bool = False
    threads: int = 0
    revision: str = ""
    adapter: str = ""
    notes: tuple[str, ...] = ()
    tokens_per_second: float = 0.0
    tokens: int = 0
    process_bytes: int = 0
    batch: int = 0
    waiting: int = 0
    budget_tokens: int = 0
    halved: int = 0


def model_card(roots: Iterable[Path], run: str) -> ModelCard | None:
    """The card of a run's local model, None before it is loaded, for other kinds of target, and
    where the file cannot be read."""
    try:
        content = find_run(run, roots).read_card()
        packed_notes = msgspec.convert(content.pop("packed_notes", {}), dict[str, Any])
        card = msgspec.convert(restore_notes(content, packed_notes), ModelCard)
    except (EvalboardError, OSError, msgspec.MsgspecError):
        return None
    adapter = mask_path(card.adapter) if is_path(card.adapter) else card.adapter
    notes = tuple(map(redact_paths, card.notes))
    is_loaded = card.parameters > 0
    return msgspec.structs.replace(card, adapter=adapter, notes=notes) if is_loaded else None


# What it takes to repeat a run elsewhere: the exact command, its file, and everything it rests on.
# All of it is for pasting where others read it, so that keys and places of this machine are left
# out: data sets and local models go by their names.

#: The file that the command reads where a flag cannot say everything.
CONFIG = "run.yaml"
_PROMPT = "prompt"
_WEIGHT = re.compile(r"--option '?([a-z0-9_]+)\.weights\.([a-z0-9_]+)=([0-9.eE+-]+)'?(?=\s|$)")
_LONGEST_LINE = 80
_NOTHING: tuple[Any, ...] = (None, "", [], {})
#: Chosen weights by benchmark and metric.
Weights = dict[tuple[str, str], float]


class Column(Record, frozen=True):
    """What the score of one benchmark rests on; equal `key` means that scores may be compared."""

    benchmark: str
    key: str
    dataset: str
    dataset_hash: str
    samples: int
    full: bool
    prompt_version: str
    scorer_version: str
    options: dict[str, Any]
    judges: tuple[str, ...]


class Recipe(Record, frozen=True):
    """How to repeat a run. `command` is "" for what was not run here; `with_config` is the command
    for the file `config`; `keys` are environment variables that must hold a key; `prompts` are
    templates by the name of the file that the command reads; `cases` is how many it asks; `named`
    says that a data set or model of this machine stands there by its name; `spec` is JSON."""

    run_id: str
    imported: bool
    command: str
    config: str
    with_config: str
    keys: tuple[str, ...]
    prompts: dict[str, str]
    columns: tuple[Column, ...]
    versions: dict[str, str]
    git_commit: str
    seed: int
    epochs: int
    hardware: ModelCard | None
    cases: int
    named: bool
    spec: str


def build_recipe(settings: Settings, run: str, benchmark: str = "", metric: str = "") -> Recipe:
    """How to repeat a run, or only what it asked for one metric of one benchmark.

    The command line asks no single case; of a run that drew some of the cases, the same of the
    metric are drawn again. Raises UsageError when there is no such run, RunFolderError when its
    files are broken.
    """
    folder = find_run(run, settings.run_roots)
    redactor = build_redactor(settings)
    whole = folder.read_spec()
    # The spec holds what became of chosen weights, which in some benchmarks depends on the number
    # of cases: the recorded command names them.
    chosen = _WEIGHT.findall(whole.command)
    weights = {(key, name): float(value) for key, name, value in chosen}
    redacted = redact_spec(whole, redactor)
    masked = mask_target(whole.target.key)
    if masked != whole.target.key:  # the hash is of no use to who fills in a path of their own
        bare = TargetSpec(masked.rpartition("~")[0], redacted.target.options)
        redacted = msgspec.structs.replace(redacted, target=bare)
    part = _narrow_spec(redacted, folder, benchmark, metric)
    imported = whole.origin == "imported"
    # Flags carry text, and the type of an option of the target belongs to its identity.
    plain = all(isinstance(value, str) for value in part.target.options.values())
    flags = _build_flags(part, weights) if plain else _build_config_flags(part)
    prompts = {spec.key: spec.options.get(_PROMPT) for spec in part.benchmarks}
    text = msgspec.json.format(msgspec.json.encode(redacted), indent=2).decode()
    return Recipe(
        run_id=run,
        imported=imported,
        command="" if imported else _format_command(flags),
        config="" if imported else _build_config_yaml(part, weights),
        with_config="" if imported else _format_command(_build_config_flags(part)),
        keys=() if imported else _list_key_variables(whole, settings),
        prompts={_prompt_file(key): str(prompt) for key, prompt in prompts.items() if prompt},
        columns=tuple(_build_recipe_column(benchmark_spec) for benchmark_spec in part.benchmarks),
        versions=dict(sorted(whole.versions.items())),
        git_commit=whole.git_commit,
        seed=whole.seed,
        epochs=whole.epochs,
        hardware=model_card(settings.run_roots, run),
        cases=sum(benchmark_spec.samples for benchmark_spec in part.benchmarks),
        named=_list_local_refs(redacted) != _list_local_refs(whole),
        spec="\n".join(map(redactor.redact_line, text.splitlines())) + "\n",
    )


def _narrow_spec(spec: RunSpec, folder: RunFolder, benchmark: str, metric: str) -> RunSpec:
    """The spec with one metric of one benchmark only, drawing as many of its cases."""
    if not benchmark:
        return spec
    own = [entry for entry in spec.benchmarks if entry.key == benchmark]
    if not own:
        raise UsageError(Note("run_no_benchmark", run=spec.run_id, benchmark=benchmark))
    sample_metrics = (
        entry.sample.metric for entry in folder.read_samples() if entry.benchmark == benchmark
    )
    count = sum(entry == metric for entry in sample_metrics)
    return msgspec.structs.replace(
        spec,
        benchmarks=(msgspec.structs.replace(own[0], metrics=(metric,), samples=count),),
        max_samples=spec.max_samples and count,
    )


def _list_local_refs(spec: RunSpec) -> tuple[TargetSpec, list[str]]:
    """Where a spec may name a folder."""
    return spec.target, [benchmark_spec.dataset for benchmark_spec in spec.benchmarks]


def _build_flags(spec: RunSpec, weights: Weights) -> list[str]:
    """The flags of a run, one string a flag with its value."""
    words = [_format_flag("target", spec.target.key)]
    words += [_format_flag("target-option", f"{k}={v}") for k, v in spec.target.options.items()]
    words.append(_format_flag("benchmarks", *(benchmark.key for benchmark in spec.benchmarks)))
    words += [
        _format_flag("option", f"{benchmark.key}.{name}={_format_option(value)}")
        for benchmark in spec.benchmarks
        for name, value in _collect_options(benchmark, weights).items()
    ]
    words += [_format_flag("max-samples", spec.max_samples)] if spec.max_samples else []
    words += [_format_flag("judge", judge) for judge in spec.judges]
    return words + _build_extra_flags(spec)


def _build_config_flags(spec: RunSpec) -> list[str]:
    return [_format_flag("config", CONFIG), *_build_extra_flags(spec)]


def _build_extra_flags(spec: RunSpec) -> list[str]:
    """The flags for what a file of settings has no field for."""
    metrics = dict.fromkeys(
        metric for benchmark_spec in spec.benchmarks for metric in benchmark_spec.metrics
    )
    words = [_format_flag("metrics", *metrics)] if metrics else []
    words += [_format_flag("seed", spec.seed)] if spec.seed else []
    words += [_format_flag("epochs", spec.epochs)] if spec.epochs != 1 else []
    return words + ([_format_flag("concurrency", spec.concurrency)] if spec.concurrency else [])


def _format_flag(name: str, *values: object) -> str:
    return shlex.join([f"--{name}", *map(str, values)])


def _format_command(flags: Sequence[str]) -> str:
    """The command, a flag a line where it would be long."""
    line = " ".join(["evalcore run", *flags])
    return line if len(line) <= _LONGEST_LINE else " \\\n  ".join(["evalcore run", *flags])


def _build_config_yaml(spec: RunSpec, weights: Weights) -> str:
    """The file of settings, with the types that the run had."""
    import yaml

    overrides = {
        benchmark.key: _collect_options(benchmark, weights) for benchmark in spec.benchmarks
    }
    fields: dict[str, Any] = {
        "target": spec.target.key,
        "target_options": msgspec.to_builtins(spec.target.options),
        "benchmarks": [benchmark_spec.key for benchmark_spec in spec.benchmarks],
        "benchmark_overrides": {key: values for key, values in overrides.items() if values},
        "max_samples": spec.max_samples,
        "judges": list(spec.judges),
    }
    filled_fields = {name: value for name, value in fields.items() if value not in _NOTHING}
    return str(yaml.safe_dump(filled_fields, sort_keys=False, allow_unicode=True, width=100))


def _collect_options(spec: BenchmarkSpec, weights: Weights) -> dict[str, Any]:
    """All options of a benchmark by the names that a person may give, defaults included: a later
    version may have others. One that holds nothing cannot be given, and is left at its default."""
    options = {k: v for k, v in spec.options.items() if k != _PROMPT and v not in _NOTHING}
    options |= {f"weights.{name}": w for (key, name), w in weights.items() if key == spec.key}
    options |= {f"difficulty.{level}": w for level, w in spec.difficulty_weights.items()}
    options |= {_PROMPT: _prompt_file(spec.key)} if _PROMPT in spec.options else {}
    data_path = {} if is_bundled(spec.key, spec.dataset) else {"data_path": spec.dataset}
    plain: dict[str, Any] = msgspec.to_builtins(options)
    return data_path | plain


def _format_option(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _prompt_file(benchmark: str) -> str:
    return f"prompt-{benchmark}.txt"


def _build_recipe_column(spec: BenchmarkSpec) -> Column:
    shared = set(Column.__struct_fields__) - {"benchmark", "key", "options"}
    options = {name: value for name, value in spec.options.items() if name != _PROMPT}
    fields = {name: getattr(spec, name) for name in shared}
    return Column(benchmark=spec.key, key=spec.column, options=options, **fields)


def _list_key_variables(spec: RunSpec, settings: Settings) -> tuple[str, ...]:
    """The variables whose keys the target and the panel of a run are asked with."""
    models = [(spec.target.key, dict(spec.target.options))]
    for judge in dict.fromkeys(
        name for benchmark_spec in spec.benchmarks for name in benchmark_spec.judges
    ):
        key, _, query = judge.partition("?")
        models.append((key, dict(parse_qsl(query))))
    variables: list[str] = []
    for key, options in models:
        try:
            variables += _iter_key_variables(key, options, settings)
        except UsageError:  # an endpoint or a description that is not here any more
            continue
    return tuple(dict.fromkeys(variables))


def _iter_key_variables(key: str, options: dict[str, Any], settings: Settings) -> Iterator[str]:
    card = find_target_kind(key)
    if card is None:
        return
    yield from (option.name for option in card.secrets)
    if card.key_variables:
        yield from call_reference(
            card.key_variables, card.prefix, TargetSpec(key, options), settings
        )

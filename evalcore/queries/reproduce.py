"""What it takes to repeat a run elsewhere: the exact command, its file, and everything it rests on.

All of it is for pasting where others read it, so that keys and places of this machine are left
out: data sets and local models go by their names.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from evalcore.catalog import benchmark_cards
from evalcore.errors import UsageError
from evalcore.privacy import Redactor, build_redactor, mask_target, redact_spec
from evalcore.queries.model_cards import ModelCard, model_card
from evalcore.records import BenchmarkSpec, Record, RunSpec, TargetSpec
from evalcore.settings import Settings
from evalcore.store.run_folder import RunFolder, find_run
from evalcore.targets import endpoints

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


def recipe(settings: Settings, run: str, benchmark: str = "", metric: str = "") -> Recipe:
    """How to repeat a run, or only what it asked for one metric of one benchmark.

    The command line asks no single case; of a run that drew some of the cases, the same of the
    metric are drawn again. Raises UsageError when there is no such run, RunFolderError when its
    files are broken.
    """
    folder = find_run(run, settings.run_roots)
    censored = build_redactor(settings)
    whole, weights = folder.read_spec(), _weights(folder.read_spec().command)
    told = redact_spec(whole, censored)
    masked = mask_target(whole.target.key)
    if masked != whole.target.key:  # the hash is of no use to who fills in a path of their own
        bare = TargetSpec(masked.rpartition("~")[0], told.target.options)
        told = msgspec.structs.replace(told, target=bare)
    part = _narrowed(told, folder, benchmark, metric)
    imported = whole.origin == "imported"
    flags = [] if imported else _words(part, weights)
    return Recipe(
        run_id=run,
        imported=imported,
        command="" if imported else _lines(flags if _plain(part) else _rest(part)),
        config="" if imported else _yaml(part, weights),
        with_config="" if imported else _lines(_rest(part)),
        keys=() if imported else _keys(whole, settings),
        prompts={_prompt_file(one.key): str(one.options[_PROMPT]) for one in _with_prompt(part)},
        columns=tuple(_column(one) for one in part.benchmarks),
        versions=dict(sorted(whole.versions.items())),
        git_commit=whole.git_commit,
        seed=whole.seed,
        epochs=whole.epochs,
        hardware=model_card(settings.run_roots, run),
        cases=sum(one.samples for one in part.benchmarks),
        named=_places(told) != _places(whole),
        spec=_spec_text(told, censored),
    )


def _narrowed(spec: RunSpec, folder: RunFolder, benchmark: str, metric: str) -> RunSpec:
    """The spec with one metric of one benchmark only, drawing as many of its cases."""
    if not benchmark:
        return spec
    own = [one for one in spec.benchmarks if one.key == benchmark]
    if not own:
        raise UsageError(f"run {spec.run_id} did not run {benchmark!r}")
    held = (one.sample.metric for one in folder.read_samples() if one.benchmark == benchmark)
    count = sum(one == metric for one in held)
    return msgspec.structs.replace(
        spec,
        benchmarks=(msgspec.structs.replace(own[0], metrics=(metric,), samples=count),),
        max_samples=spec.max_samples and count,
    )


def _places(spec: RunSpec) -> tuple[TargetSpec, list[str]]:
    """Where a spec may name a folder."""
    return spec.target, [one.dataset for one in spec.benchmarks]


def _plain(spec: RunSpec) -> bool:
    """Whether flags can say all: they carry text, and the type of an option of the target belongs
    to its identity."""
    return all(isinstance(value, str) for value in spec.target.options.values())


def _words(spec: RunSpec, weights: Weights) -> list[str]:
    """The flags of a run, one string a flag with its value."""
    words = [_flag("target", spec.target.key)]
    words += [_flag("target-option", f"{k}={v}") for k, v in spec.target.options.items()]
    words.append(_flag("benchmarks", *(one.key for one in spec.benchmarks)))
    for one in spec.benchmarks:
        given = _options(one, weights)
        words += [_flag("option", f"{one.key}.{k}={_text(v)}") for k, v in given.items()]
    words += [_flag("max-samples", spec.max_samples)] if spec.max_samples else []
    words += [_flag("judge", judge) for judge in spec.judges]
    return words + _outside(spec)


def _rest(spec: RunSpec) -> list[str]:
    """The flags beside the file of settings."""
    return [_flag("config", CONFIG), *_outside(spec)]


def _outside(spec: RunSpec) -> list[str]:
    """The flags for what a file of settings has no field for."""
    metrics = dict.fromkeys(metric for one in spec.benchmarks for metric in one.metrics)
    words = [_flag("metrics", *metrics)] if metrics else []
    words += [_flag("seed", spec.seed)] if spec.seed else []
    words += [_flag("epochs", spec.epochs)] if spec.epochs != 1 else []
    return words + ([_flag("concurrency", spec.concurrency)] if spec.concurrency else [])


def _flag(name: str, *values: object) -> str:
    return shlex.join([f"--{name}", *map(str, values)])


def _lines(flags: Sequence[str]) -> str:
    """The command, a flag a line where it would be long."""
    line = " ".join(["evalcore run", *flags])
    return line if len(line) <= _LONGEST_LINE else " \\\n  ".join(["evalcore run", *flags])


def _yaml(spec: RunSpec, weights: Weights) -> str:
    """The file of settings, with the types that the run had."""
    import yaml

    overrides = {one.key: _options(one, weights) for one in spec.benchmarks}
    fields: dict[str, Any] = {
        "target": spec.target.key,
        "target_options": msgspec.to_builtins(spec.target.options),
        "benchmarks": [one.key for one in spec.benchmarks],
        "benchmark_overrides": {key: values for key, values in overrides.items() if values},
        "max_samples": spec.max_samples,
        "judges": list(spec.judges),
    }
    kept = {name: value for name, value in fields.items() if value not in _NOTHING}
    return str(yaml.safe_dump(kept, sort_keys=False, allow_unicode=True, width=100))


def _weights(command: str) -> Weights:
    """The weights that were chosen, as the recorded command names them: the spec holds what became
    of them, which in some benchmarks depends on the number of cases."""
    return {(key, metric): float(value) for key, metric, value in _WEIGHT.findall(command)}


def _options(one: BenchmarkSpec, weights: Weights) -> dict[str, Any]:
    """All options of a benchmark by the names that a person may give, defaults included: a later
    version may have others. One that holds nothing cannot be given, and is left at its default."""
    given = {k: v for k, v in one.options.items() if k != _PROMPT and v not in _NOTHING}
    given |= {f"weights.{metric}": w for (key, metric), w in weights.items() if key == one.key}
    given |= {f"difficulty.{level}": weight for level, weight in one.difficulty_weights.items()}
    given |= {_PROMPT: _prompt_file(one.key)} if _PROMPT in one.options else {}
    card = benchmark_cards().get(one.key)
    bundled = card is not None and card.dataset == one.dataset
    place = {} if bundled else {"data_path": one.dataset}
    plain: dict[str, Any] = msgspec.to_builtins(given)
    return place | plain


def _text(value: Any) -> str:
    """An option as the command line reads it."""
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _with_prompt(spec: RunSpec) -> list[BenchmarkSpec]:
    return [one for one in spec.benchmarks if one.options.get(_PROMPT)]


def _prompt_file(benchmark: str) -> str:
    return f"prompt-{benchmark}.txt"


def _column(one: BenchmarkSpec) -> Column:
    return Column(
        benchmark=one.key,
        key=one.column,
        dataset=one.dataset,
        dataset_hash=one.dataset_hash,
        samples=one.samples,
        full=one.full,
        prompt_version=one.prompt_version,
        scorer_version=one.scorer_version,
        options={name: value for name, value in one.options.items() if name != _PROMPT},
        judges=one.judges,
    )


def _keys(spec: RunSpec, settings: Settings) -> tuple[str, ...]:
    """The variables whose keys the target and the panel of a run are asked with."""
    asked = [(spec.target.key, dict(spec.target.options))]
    for judge in dict.fromkeys(name for one in spec.benchmarks for name in one.judges):
        key, _, query = judge.partition("?")
        asked.append((key, dict(parse_qsl(query))))
    found: list[str] = []
    for key, options in asked:
        try:
            found += _variables(key, options, settings)
        except UsageError:  # an endpoint or a description that is not here any more
            continue
    return tuple(dict.fromkeys(found))


def _variables(key: str, options: dict[str, Any], settings: Settings) -> Iterable[str]:
    if key.startswith("app:"):
        from evalcore.targets import application_card  # only here: it reads a description file

        described = application_card.load_description(key, settings)
        return (*described.address_variables, *described.key_variables)
    if not key.startswith("openai:"):
        return ()
    address, variable = str(options.get("base_url", "")), str(options.get("api_key_env", ""))
    place = endpoints.resolve_route(key, settings, address, variable)
    return () if place.key_optional else (place.endpoint.api_key_env,)


def _spec_text(told: RunSpec, censored: Redactor) -> str:
    text = msgspec.json.format(msgspec.json.encode(told), indent=2).decode()
    return "\n".join(map(censored.redact_line, text.splitlines())) + "\n"

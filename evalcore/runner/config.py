"""A run from a YAML file: slm-evals' fields, `target`, options, `judges`; it wins over flags.

Fields and their meaning: slm-evals' run configuration (model_path, device, dtype, max_new_tokens,
temperature, experiment_name, output_dir, benchmarks, max_samples, benchmark_overrides).
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from evalcore import catalog
from evalcore.errors import UsageError
from evalcore.intake.documents import read_document
from evalcore.records import Record
from evalcore.runner.request import RunRequest

#: Keys that its files may set; what is not run is left alone, as there.
_SLM_EVALS = ("bfcl", "tau_bench", "gaia", "swe_bench")


class Config(Record, frozen=True, forbid_unknown_fields=True):
    """The file, typed. `benchmarks` empty means all; `max_samples` null means all."""

    target: str = ""
    model_path: str = ""
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


def read(path: Path) -> tuple[Config, frozenset[str]]:
    """The file and the names of the fields it sets; raises UsageError naming what is wrong."""
    values = read_document(path)
    known = [field.name for field in msgspec.structs.fields(Config)]
    for name in values:
        if name not in known:
            raise UsageError(f"{path}: unknown field {name!r}; known: {', '.join(known)}")
    try:
        return msgspec.convert(values, Config), frozenset(values)
    except msgspec.ValidationError as error:
        raise UsageError(f"{path}: {error}") from None


def apply(config: Config, given: frozenset[str], request: RunRequest) -> RunRequest:
    """The request with the fields that the file sets."""
    changes: dict[str, Any] = {}
    target = f"hf:{config.model_path}" if config.model_path else config.target or request.target
    changes["target"] = target
    changes["target_options"] = {
        **request.target_options,
        **_model_options(config, given, target.partition(":")[0]),
        **config.target_options,
    }
    chosen = tuple(config.benchmarks) or request.benchmarks or tuple(catalog.benchmark_cards())
    changes["benchmarks"] = chosen
    if config.judges:
        changes["judges"] = tuple(config.judges)
    if "max_samples" in given:
        changes["max_samples"] = config.max_samples
    options = {key: dict(values) for key, values in request.options.items()}
    for key, values in _overrides(config, chosen).items():
        options[key] = options.get(key, {}) | values
    changes["options"] = options
    return msgspec.structs.replace(request, **changes)


def place(config: Config, given: frozenset[str]) -> Path | None:
    """Where slm-evals' three files go: `output_dir`/`experiment_name`, the latter a time stamp if
    omitted; None for a file that is not of its kind."""
    if not config.model_path and not given & {"experiment_name", "output_dir"}:
        return None
    stamp = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    return Path(config.output_dir or "results") / (config.experiment_name or stamp)


def _overrides(config: Config, chosen: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """Those of the benchmarks that are run; raises UsageError for a name that nobody knows."""
    known = list(dict.fromkeys([*catalog.benchmark_cards(), *_SLM_EVALS, *chosen]))
    for key in config.benchmark_overrides:
        if key not in known:
            raise UsageError(f"benchmark_overrides has {key!r}; known: {', '.join(known)}")
    return {key: values for key, values in config.benchmark_overrides.items() if key in chosen}


def _model_options(config: Config, given: frozenset[str], kind: str) -> dict[str, Any]:
    """device, dtype, max_new_tokens and temperature as options of the kind of target."""
    names = {
        "hf": {name: name for name in ("device", "dtype", "max_new_tokens", "temperature")},
        "openai": {"max_new_tokens": "max_tokens", "temperature": "temperature"},
    }.get(kind, {})
    options = {}
    for name in ("device", "dtype", "max_new_tokens", "temperature"):
        if name not in given:
            continue
        if name not in names:
            raise UsageError(f"field {name} does not apply to a {kind}: target; remove it")
        options[names[name]] = getattr(config, name)
    return options

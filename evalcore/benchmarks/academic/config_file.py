"""Profile files of the reference project: lists of tasks with their options, as YAML.

They are read into the fields of a run's own configuration. What they say of a model is left to
the flags: a preset there is a name in another file, and is a target here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from evalcore.benchmarks.academic.card import CARD
from evalcore.benchmarks.academic.profiles import load_profiles
from evalcore.errors import FileError, UsageError
from evalcore.i18n import Note
from evalcore.records import Record


class Study(Record, frozen=True, forbid_unknown_fields=True):
    """Two presets to compare, in a file of a study."""

    baseline_preset: str = ""
    candidate_preset: str = ""
    notes: str = ""


class ProfileConfig(Record, frozen=True):
    """The file. `claim`, `study` and what is said of the model's code change nothing here."""

    profile: str = ""
    claim: str = ""
    tasks: tuple[str, ...] = ()
    num_fewshot: int | None = None
    limit: int | None = None
    seed: int = 0
    batch_size: int | str | None = None
    device: str = ""
    dtype: str = ""
    trust_remote_code: bool = False
    confirm_run_unsafe_code: bool = False
    output_dir: str = ""
    study: Study = Study()
    target: str = ""
    model_path: str = ""
    experiment_name: str = ""


def read_profile_file(path: Path, values: dict[str, Any]) -> dict[str, Any]:
    """The fields of a run's configuration. Raises UsageError naming every unknown field, or what
    is wrong with one."""
    field_names = ProfileConfig.__struct_fields__
    unknown = [name for name in values if name not in field_names]
    if unknown:
        names, known = ", ".join(map(str, unknown)), ", ".join(field_names)
        raise UsageError(Note("academic_config_fields", path=str(path), names=names, known=known))
    try:
        config = msgspec.convert(values, ProfileConfig)
    except msgspec.ValidationError as error:
        raise FileError(path, str(error)) from None
    file = load_profiles()
    fields: dict[str, Any] = {
        name: getattr(config, name)
        for name in ("target", "model_path", "device", "output_dir", "experiment_name")
        if getattr(config, name)
    }
    if config.dtype:
        fields["dtype"] = config.dtype
    if config.profile in file.benchmarks and not config.tasks:
        return fields | {"benchmarks": list(file.benchmarks[config.profile])}
    options: dict[str, Any] = {}
    name = file.aliases.get(config.profile, config.profile)
    if name in file.profiles:
        options["profile"] = name
    elif not config.tasks:
        known = ", ".join([*file.profiles, *file.benchmarks])
        raise UsageError(Note("academic_profile", name=f"{config.profile[:80]!r}", known=known))
    if config.tasks:
        options["tasks"] = list(config.tasks)
    if config.num_fewshot is not None:
        options["fewshot"] = config.num_fewshot
    if config.limit is not None:
        options["limit"] = config.limit
    if isinstance(config.batch_size, int):
        fields["target_options"] = {"batch_size": config.batch_size}
    return fields | {"benchmarks": [CARD.key], "benchmark_overrides": {CARD.key: options}}

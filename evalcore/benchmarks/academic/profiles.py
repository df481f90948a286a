"""The profiles: named lists of tasks with their options, from `profiles.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import msgspec

from evalcore.benchmarks.academic.harness_records import TaskRequest
from evalcore.errors import UsageError
from evalcore.i18n import Note
from evalcore.records import Record

BUNDLED = "bundled"
#: How tasks of this package are called; lm-eval has none that begins so.
BUNDLED_PREFIX = "evalboard_"
_FILE = Path(__file__).with_name("profiles.toml")


class Profile(Record, frozen=True, forbid_unknown_fields=True):
    """Tasks that are asked together; `fewshot` and `limit` are those of `TaskRequest`."""

    tasks: tuple[str, ...]
    fewshot: int = -1
    limit: int = 0
    en: str = ""
    zh: str = ""

    def describe(self, language: str) -> str:
        """What the profile asks, in a language."""
        return (self.zh if language == "zh" else self.en) or self.en


class ProfileFile(Record, frozen=True, forbid_unknown_fields=True):
    """What `profiles.toml` holds: profiles, other names of them, the benchmarks that such a name
    stands for, the metric of a task, and the task that asks the same for a written answer."""

    profiles: dict[str, Profile]
    aliases: dict[str, str] = {}
    benchmarks: dict[str, tuple[str, ...]] = {}
    metrics: dict[str, str] = {}
    variants: dict[str, str] = {}


@cache
def load_profiles() -> ProfileFile:
    return msgspec.convert(tomllib.loads(_FILE.read_text(encoding="utf-8")), ProfileFile)


def find_profile(name: str) -> Profile:
    """A profile by its name or another name of it; raises UsageError naming the known ones."""
    file = load_profiles()
    profile = file.profiles.get(file.aliases.get(name, name))
    if profile is None:
        known = ", ".join(file.profiles)
        raise UsageError(Note("academic_profile", name=f"{name[:80]!r}", known=known))
    return profile


def build_task_requests(
    profile: Profile, names: Sequence[str], fewshot: int, limit: int
) -> list[TaskRequest]:
    """What is asked of each task; -1 leaves `fewshot` and `limit` to the profile."""
    metrics = load_profiles().metrics
    return [
        TaskRequest(
            name=name,
            fewshot=profile.fewshot if fewshot < 0 else fewshot,
            limit=profile.limit if limit < 0 else limit,
            metric=metrics.get(name, ""),
        )
        for name in names
    ]


def is_bundled_task(name: str) -> bool:
    return name.startswith(BUNDLED_PREFIX)


def find_variant(task: str) -> str:
    """A task that asks the same for a written answer, "" where none is known."""
    variants = load_profiles().variants
    if task in variants:
        return variants[task]
    family = next((name for name in variants if task.startswith(f"{name}_")), "")
    return variants[family] if family == "mmlu" else ""

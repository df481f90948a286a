"""The column key: the hash of all that must be equal for two scores to be comparable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from evalcore.judges.prompts import PROMPT_VERSION
from evalcore.records import Sample, content_hash

REDUCER = "mean"  # how the epochs of a sample become one score


def dataset_hash(samples: Iterable[Sample]) -> str:
    """The hash of a sample set, whatever its order."""
    return content_hash(sorted(f"{sample.key}:{sample.case_hash}" for sample in samples))


def column_key(
    benchmark: str,
    data: str,
    prompt_version: str,
    scorer_version: str,
    options: Mapping[str, Any],
    weights: Mapping[str, float],
    judges: Iterable[str] = (),
    difficulty_weights: Mapping[str, float] | None = None,
) -> str:
    """The key; a panel enters it with the version of its prompts, in whatever order it sits.

    `difficulty_weights` enter it where there are any, so that keys without them stay as they are.
    """
    parts = [benchmark, data, prompt_version, scorer_version, dict(options), dict(weights)]
    own = [dict(difficulty_weights)] if difficulty_weights else []
    return content_hash([*parts, REDUCER, panel_parts(judges), *own], 12)


def panel_parts(judges: Iterable[str]) -> list[str]:
    """What distinguishes one panel from another; empty for none."""
    named = sorted(judges)
    return [*named, f"prompts {PROMPT_VERSION}"] if named else []

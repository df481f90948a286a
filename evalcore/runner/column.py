"""The column key: the hash of all that must be equal for two scores to be comparable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from evalcore.judges.prompts import PROMPT_VERSION
from evalcore.records import Sample, content_hash

REDUCER = "mean"  # how the epochs of a sample become one score


def dataset_hash(samples: Iterable[Sample]) -> str:
    """The hash of a sample set, whatever its order."""
    return content_hash(sorted(f"{sample.key}:{sample.content}" for sample in samples))


def column_key(
    benchmark: str,
    data: str,
    prompt_version: str,
    scorer_version: str,
    options: Mapping[str, Any],
    weights: Mapping[str, float],
    judges: Iterable[str] = (),
) -> str:
    """The key; a panel enters it with the version of its prompts, in whatever order it sits."""
    parts = [benchmark, data, prompt_version, scorer_version, dict(options), dict(weights)]
    return content_hash([*parts, REDUCER, panel_parts(judges)], 12)


def panel_parts(judges: Iterable[str]) -> list[str]:
    """What distinguishes one panel from another; empty for none."""
    named = sorted(judges)
    return [*named, f"prompts {PROMPT_VERSION}"] if named else []

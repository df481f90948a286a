"""The column key: the hash of all that must be equal for two scores to be comparable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

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
    parts = [benchmark, data, prompt_version, scorer_version, dict(options), dict(weights)]
    return content_hash([*parts, REDUCER, sorted(judges)], 12)

"""What one entry of a category weighs, so that the score of a run is the official v4 mean.

Officially categories are averaged in groups: plainly, but for the live ones, which are pooled by
their number of entries. A sum over entries gives the same number if each of a category weighs the
category's points over its number, and each live one the points of all live over theirs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from evalcore.benchmarks.bfcl.aggregate import GROUPS
from evalcore.records import Sample

_POOLED = GROUPS["live"].members


def compute_entry_weights(
    samples: Sequence[Sample], points: Mapping[str, float]
) -> dict[str, float]:
    """The weight of an entry by category, from the points of each category.

    Where a category has no entries its points are left out: what is missing is not 0.
    """
    counts = Counter(sample.metric for sample in samples)
    weights = {name: points[name] / counts[name] for name in points if counts[name]}
    pooled = [name for name in _POOLED if name in weights]
    if pooled:
        entries = sum(counts[name] for name in pooled)
        share = sum(points[name] for name in pooled) / entries
        weights |= dict.fromkeys(pooled, share)
    return weights

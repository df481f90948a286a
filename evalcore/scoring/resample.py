"""The bootstrap's inner loop: sums over samples drawn with replacement."""

from __future__ import annotations

import numpy as np

_BLOCK = 20_000  # draws at a time: the counts of a block stay in the processor's cache
_MERGED = 16  # drawing a cell costs as much as drawing about this many samples


def resampled_sums(values: np.ndarray, counts: np.ndarray, resamples: int, seed: int) -> np.ndarray:
    """Column sums of `values` over samples drawn with replacement: shape (resamples, columns).

    `values` has a row per cell and `counts` says how many samples a cell stands for; as many are
    drawn as there are. Equal arguments give equal sums.
    """
    rng = np.random.default_rng(seed)
    total = int(counts.sum())
    if len(counts) * _MERGED <= total:
        return np.asarray(rng.multinomial(total, counts / total, size=resamples) @ values)
    single = np.repeat(values, counts, axis=0)
    rows = max(1, _BLOCK // total)
    blocks = [
        _drawn(rng, total, min(rows, resamples - start)) @ single
        for start in range(0, resamples, rows)
    ]
    return np.concatenate(blocks)


def _drawn(rng: np.random.Generator, samples: int, rows: int) -> np.ndarray:
    """How often each sample is drawn: shape (rows, samples), every row adding up to `samples`."""
    draws = rng.integers(0, samples, size=(rows, samples))
    draws += np.arange(rows)[:, None] * samples
    return np.bincount(draws.ravel(), minlength=rows * samples).reshape(rows, samples)

"""How often a 95 % interval holds the truth, on the strata of every bundled benchmark.

    python -m perf.intervals [--draws 2000] [--before 100] [--pairs 300]

Cases are drawn again and again from rates that are known; printed are the share of intervals that
hold the true score (coverage), the worst rates, the mean width, and the width of the stratified
bootstrap that was used before. Then how often two equal targets, or any pair of a board of equal
targets, are called different. scipy checks the formulas; it is no part of the product.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import stats

from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.registry import instantiate_benchmark
from evalcore.catalog import benchmark_cards
from evalcore.scoring.intervals import (
    Moments,
    Stratum,
    compare_paired,
    effective_size,
    mcnemar_p_value,
    score_interval,
    wilson_interval,
)
from evalcore.scoring.ranks import rank_board

DATASETS = Path(__file__).parent.parent / "datasets"
PAIRED = ("all 0.05", "all 0.5", "all 0.9", "all 0.98", "1 and 0.5", "halves 0.8", "beta 0.5")
RATES = (0.02, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98)


class Design(NamedTuple):
    """The cases of a benchmark: metric number, difficulty, and share of all weight."""

    name: str
    metric: np.ndarray
    difficulty: np.ndarray
    share: np.ndarray


class Truth(NamedTuple):
    """The expected score of every case, and how scores are spread about it."""

    name: str
    rate: np.ndarray
    spread: str


def bundled_designs() -> Iterator[Design]:
    """The scored cases of every bundled benchmark, and BFCL with three and with one a category."""
    for key in benchmark_cards():
        benchmark = instantiate_benchmark(key)
        samples = benchmark.load_dataset(DatasetSource(path=str(DATASETS / key)))
        weights = benchmark.compute_point_weights(samples, dict(benchmark.card.weights))
        scored = [sample for sample in samples if weights.get(sample.metric)]
        counts = Counter(sample.metric for sample in scored)
        cases = [(sample.metric, sample.difficulty, weights[sample.metric]) for sample in scored]
        yield design(key, cases)
        if key == "bfcl":
            for n in (3, 1):
                few = [(m, 1.0, weights[m] * counts[m] / n) for m in counts for _ in range(n)]
                yield design(f"bfcl, {n} a category", few)


def design(name: str, cases: list[tuple[str, float, float]]) -> Design:
    _, number = np.unique([metric for metric, _, _ in cases], return_inverse=True)
    difficulty = np.array([level for _, level, _ in cases], dtype=float)
    weight = difficulty * np.array([weight for _, _, weight in cases])
    return Design(name, number, difficulty, weight / weight.sum())


def truths(cases: Design) -> Iterator[Truth]:
    """Equal rates, rates that differ by metric or difficulty, metrics at 0 and 1, graded scores."""
    metric, count = cases.metric, int(cases.metric.max()) + 1
    for rate in RATES:
        yield Truth(f"all {rate}", np.full(len(metric), rate), "binary")
    spread = np.linspace(0.05, 0.95, count) if count > 1 else np.array([0.8])
    shuffled = np.random.default_rng(5).permutation(spread)
    for name, rates in (("rising", spread), ("falling", spread[::-1]), ("shuffled", shuffled)):
        yield Truth(f"{name} by metric", rates[metric], "binary")
    for odd, even in ((0.95, 0.5), (1, 0.5), (0.99, 0.01), (0.95, 0.05), (0.05, 0.95), (0, 0.5)):
        yield Truth(f"{odd} and {even}", np.where(metric % 2, odd, even), "binary")
    yield Truth("0.9 to 1", np.linspace(0.9, 1, count)[metric], "binary")
    yield Truth("0 to 0.2", np.linspace(0, 0.2, count)[metric], "binary")
    by_level = np.array([0.9, 0.9, 0.6, 0.3])[cases.difficulty.astype(int)]
    yield Truth("0.9, 0.6, 0.3 by difficulty", by_level, "binary")
    for rate in (0.2, 0.5, 0.8, 0.95):
        for kind in ("beta", "halves"):
            yield Truth(f"{kind} {rate}", np.full(len(metric), rate), kind)
    yield Truth("beta rising by metric", spread[metric], "beta")
    yield Truth("halves rising by metric", spread[metric], "halves")


def draw(rng: np.random.Generator, truth: Truth, draws: int) -> np.ndarray:
    """Scores of shape (draws, cases)."""
    shape = (draws, len(truth.rate))
    if truth.spread == "beta":
        return rng.beta(2 * truth.rate, 2 * (1 - truth.rate), shape)
    tries = 2 if truth.spread == "halves" else 1
    return rng.binomial(tries, truth.rate, shape) / tries


def intervals(cases: Design, scores: np.ndarray) -> np.ndarray:
    """Low and high (0 to 100) of each draw: shape (draws, 2), by the product's own formula."""
    moments = []
    for number in range(int(cases.metric.max()) + 1):
        own = cases.metric == number
        share, part = cases.share[own], scores[:, own]
        weight = float(share.sum())
        squares = float(share @ share)
        moments.append(Moments(weight, squares, part @ share / weight, part**2 @ share / weight))
    sizes = effective_size(moments)
    bounds = [wilson_interval(*pair) for pair in zip(scores @ cases.share, sizes, strict=True)]
    return np.array([(interval.low, interval.high) for interval in bounds])


def bootstrap(cases: Design, scores: np.ndarray, seed: int) -> tuple[float, float]:
    """The interval before: Wilson for a plain rate and where all agree, else 2,000 resamples."""
    rate, effective = float(scores @ cases.share), 1 / float(cases.share @ cases.share)
    plain = set(scores) <= {0.0, 1.0} and np.ptp(cases.share) < 1e-12
    if plain or np.ptp(scores) == 0:
        bounds = wilson_interval(rate, effective)
        return bounds.low, bounds.high
    rng, sums = np.random.default_rng(seed), np.zeros((2000, 2))
    for number in range(int(cases.metric.max()) + 1):
        own = np.flatnonzero(cases.metric == number)
        counts = rng.multinomial(len(own), np.full(len(own), 1 / len(own)), size=2000)
        share = cases.share[own]
        sums += counts @ np.stack([share * scores[own], share], axis=1)
    low, high = np.quantile(100 * sums[:, 0] / sums[:, 1], (0.025, 0.975))
    return min(low, 100 * rate), max(high, 100 * rate)


def coverage(draws: int, before: int) -> None:
    print(f"Coverage over {draws} draws a point (before: {before} draws)\n")
    print(f"{'':22}{'now':>7}{'worst':>7}{'':30}{'width':>7}{'before':>8}{'width':>7}{'ratio':>7}")
    for cases in bundled_designs():
        now, then = [], []
        for number, truth in enumerate(truths(cases)):
            rng = np.random.default_rng([number, len(cases.share)])
            scores = draw(rng, truth, draws)
            true = 100 * float(truth.rate @ cases.share)
            bounds = intervals(cases, scores)
            now.append((*measure(bounds, true), truth.name))
            old = [bootstrap(cases, row, seed) for seed, row in enumerate(scores[:before])]
            then.append(measure(np.array(old), true))
        held, width, _ = (np.array(part) for part in zip(*now, strict=True))
        held_before, width_before = (np.array(part) for part in zip(*then, strict=True))
        worst = int(held.argmin())
        mean = float(width_before.mean())
        percent = 100 * held
        print(
            f"{cases.name:22}{percent.mean():7.2f}{percent[worst]:7.1f}  {now[worst][2]:28}"
            f"{width.mean():7.2f}{100 * held_before.mean():8.2f}{mean:7.2f}"
            f"{width.mean() / mean:7.2f}"
        )


def measure(bounds: np.ndarray, true: float) -> tuple[float, float]:
    """The share of intervals that hold the true score, and their mean width."""
    inside = (bounds[:, 0] <= true + 1e-9) & (true - 1e-9 <= bounds[:, 1])
    return float(inside.mean()), float((bounds[:, 1] - bounds[:, 0]).mean())


def false_differences(draws: int) -> None:
    """Two targets of equal expected score, which answer some or nearly all cases alike."""
    print(f"\nEqual targets called different, % of {draws} draws (interval of the difference, p)\n")
    for cases in bundled_designs():
        keys = [(int(metric), number) for number, metric in enumerate(cases.metric)]
        weights = dict(zip(keys, cases.share.tolist(), strict=True))
        rates = []
        for number, truth in enumerate(truth for truth in truths(cases) if truth.name in PAIRED):
            rng = np.random.default_rng([number, len(keys)])
            first, second = (draw(rng, truth, draws) for _ in range(2))
            alike = np.linspace(0, 0.97, draws)[:, None]  # from independent to nearly one target
            second = np.where(rng.random(first.shape) < alike, first, second)
            by_interval = by_p = 0
            for ours, theirs in zip(first, second, strict=True):
                a, b = (dict(zip(keys, side.tolist(), strict=True)) for side in (ours, theirs))
                result = compare_paired(a, b, weights, lambda key: key[0])
                assert result.interval is not None
                by_interval += not result.interval.low <= 0 <= result.interval.high
                by_p += result.p < 0.05
            rates.append((100 * by_interval / draws, 100 * by_p / draws, truth.name))
        worst = max(rates)
        mean = np.mean([row[:2] for row in rates], axis=0)
        print(
            f"{cases.name:22} interval {mean[0]:5.2f} (worst {worst[0]:.1f}, {worst[2]}), "
            f"p {mean[1]:5.2f} (worst {max(row[1] for row in rates):.1f})"
        )


def false_ranks(boards: int) -> None:
    print(f"\nBoards of equal targets with a second group, % of {boards} boards; and ranks whose ")
    print("interval leaves out the true one (1 to the number of targets, shared)\n")
    for cases in bundled_designs():
        cells = []
        for targets in (2, 5, 20):
            rng = np.random.default_rng(targets)
            apart = outside = 0
            for board in range(boards):
                rates = (0.05, 0.5, 0.9)[board % 3]
                scores = rng.random((targets, len(cases.share))) < rates
                rows = rank_board(
                    {f"t{n}": 100 * cases.share * row for n, row in enumerate(scores)},
                    strata=cases.metric.tolist(),
                    maxima=100 * cases.share,
                ).values()
                apart += max(row.group for row in rows) > 1
                outside += sum(row.low > 1 or row.high < targets for row in rows) / targets
            cells.append(
                f"{targets:2} targets {100 * apart / boards:4.1f} {100 * outside / boards:4.1f}"
            )
        print(f"{cases.name:22} " + "   ".join(cells))


def check_against_scipy() -> None:
    """Wilson's interval and McNemar's test as scipy has them."""
    for right, size in ((0, 5), (3, 7), (81, 263), (20, 20)):
        expected = stats.binomtest(right, size).proportion_ci(method="wilson")
        mine = wilson_interval(right / size, size)
        assert np.allclose([mine.low, mine.high], [100 * expected.low, 100 * expected.high])
        plain = score_interval(
            [(Stratum.from_pairs("", [(1.0, 1.0)] * right + [(1.0, 0.0)] * (size - right)), 1)]
        )
        assert plain is not None
        assert np.allclose([plain.low, plain.high], [mine.low, mine.high])
        assert np.isclose(mcnemar_p_value(right, size - right), stats.binomtest(right, size).pvalue)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--before", type=int, default=100)
    parser.add_argument("--pairs", type=int, default=300)
    options = parser.parse_args()
    check_against_scipy()
    coverage(options.draws, options.before)
    false_differences(options.pairs)
    false_ranks(options.pairs)

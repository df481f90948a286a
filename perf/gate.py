"""How often the gate is wrong, and how often it decides: by simulation.

    python -m perf.gate [--draws 20000]

Two targets answer the same cases. Their true rates, and how much they agree, are known; each draw
is a pair of runs, and the gate asks for a drop of at most 2 points. Wrong is `passed` where the
true drop is larger, and `failed` where it is not; where the drop is the bound itself, the more
frequent of the two. Printed per setting: wrong, decided, and the mean number of cases that the gate
still asks for where it is inconclusive; last the worst settings. What the gate says depends on the
wins and losses alone, so each pair of counts is put to it once.
"""

from __future__ import annotations

import argparse
from collections import Counter
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np

from evalcore.scoring.intervals import compare_paired
from evalcore.views.gate import GateCheck, check_drop

CASES = (100, 300, 1000)
RATES = (0.3, 0.8, 0.97)
#: True drops in points; 2 is the bound itself.
DROPS = (0.0, 2.0, 2.5, 10.0)
#: The share of cases that the run answers as the base does, but for the drop; the others anew. 1 is
#: the corner in which a run loses cases and never wins one.
AGREEMENT = (0.0, 0.8, 1.0)
MAX_DROP = 2.0


class Setting(NamedTuple):
    """What is true of a pair of targets."""

    cases: int
    rate: float
    drop: float
    agreement: float


@cache
def check_counts(cases: int, wins: int, losses: int) -> GateCheck:
    """What the gate says of so many wins and losses."""
    base = [1.0] * losses + [0.0] * (cases - losses)
    run = [0.0] * losses + [1.0] * wins + [0.0] * (cases - losses - wins)
    sides = [dict(enumerate(side)) for side in (run, base)]
    result = compare_paired(sides[0], sides[1], dict.fromkeys(range(cases), 1.0))
    return check_drop("simulated", result.difference, result.interval, result.common, MAX_DROP)


def draw_counts(
    random: np.random.Generator, setting: Setting, draws: int
) -> Counter[tuple[int, int]]:
    """How often which wins and losses were drawn."""
    before, after = setting.rate, setting.rate - setting.drop / 100
    anew = 1 - setting.agreement
    loss = setting.agreement * setting.drop / 100 + anew * before * (1 - after)
    win = anew * (1 - before) * after
    counts = random.multinomial(setting.cases, [win, loss, 1 - win - loss], size=draws)
    return Counter(map(tuple, counts[:, :2].tolist()))


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=20_000)
    draws = parser.parse_args().draws
    random, rows = np.random.default_rng(16), []
    print("cases  rate  drop  alike  wrong  decided  asked for")
    for setting in map(Setting._make, product(CASES, RATES, DROPS, AGREEMENT)):
        states: Counter[str] = Counter()
        asked = inconclusive = 0
        for (wins, losses), times in draw_counts(random, setting, draws).items():
            check = check_counts(setting.cases, wins, losses)
            states[check.state] += times
            asked += (check.needed or 0) * times
            inconclusive += times * (check.needed is not None)
        wrong = states["passed" if setting.drop > MAX_DROP else "failed"] / draws
        if setting.drop == MAX_DROP:
            wrong = max(states["passed"], states["failed"]) / draws
        rows.append((wrong, setting))
        print(
            f"{setting.cases:>5}  {setting.rate:.2f}  {setting.drop:>4}  {setting.agreement:>5}  "
            f"{wrong:>5.1%}  {1 - states['inconclusive'] / draws:>7.1%}  "
            f"{asked / inconclusive if inconclusive else 0:>9.0f}"
        )
    mean = sum(wrong for wrong, _ in rows) / len(rows)
    print(f"\nwrong in the mean of {len(rows)} settings: {mean:.1%}; 2.5% by design. Worst:")
    for wrong, setting in sorted(rows, reverse=True)[:5]:
        print(f"  {wrong:.1%}  {setting}")


if __name__ == "__main__":
    main()

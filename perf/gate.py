"""How often the gate is wrong, and how often it decides: by simulation.

    python -m perf.gate [--draws 2000]

Two targets answer the same cases. Their true rates, and how much they agree, are known; each draw
is a pair of runs, and the gate asks for a drop of at most 2 points. Wrong is `passed` where the
true drop is larger, and `failed` where it is not. Printed per setting: wrong, decided, and the mean
number of cases that the gate still asks for where it is inconclusive; last the worst setting.
"""

from __future__ import annotations

import argparse
from collections import Counter
from itertools import product
from statistics import fmean

import numpy as np

from evalcore.scoring.intervals import compare_paired
from evalcore.views.gate import GateCheck, check_drop

CASES = (100, 300, 1000)
RATES = (0.3, 0.8, 0.97)
#: True drops in points; 2 is the bound itself.
DROPS = (0.0, 2.0, 2.5, 10.0)
#: Of the cases that the base has right, the run would keep all but the drop, or answer anew.
AGREEMENT = (0.0, 0.8)
MAX_DROP = 2.0


def draw_check(
    random: np.random.Generator, cases: int, rate: float, drop: float, agreement: float
) -> GateCheck:
    """One pair of runs and what the gate says of it. A share `agreement` of the cases is answered
    alike but for the drop, the others independently; the true drop is `drop` points either way."""
    luck = random.random(cases)
    same = random.random(cases) < agreement
    other = np.where(same, luck, random.random(cases))
    base, run = luck < rate, other < rate - drop / 100
    scores = [dict(enumerate(side.astype(float).tolist())) for side in (run, base)]
    result = compare_paired(scores[0], scores[1], dict.fromkeys(range(cases), 1.0))
    return check_drop("simulated", result.difference, result.interval, result.common, MAX_DROP)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=2000)
    draws = parser.parse_args().draws
    random, worst = np.random.default_rng(16), 0.0
    print("cases  rate  drop  alike  wrong  decided  asked for")
    for cases, rate, drop, agreement in product(CASES, RATES, DROPS, AGREEMENT):
        if drop / 100 > rate:
            continue
        checks = [draw_check(random, cases, rate, drop, agreement) for _ in range(draws)]
        states = Counter(check.state for check in checks)
        wrong = states["passed" if drop > MAX_DROP else "failed"] / draws
        if drop == MAX_DROP:  # on the bound either verdict is as true
            wrong = max(states["passed"], states["failed"]) / draws
        asked = [check.needed for check in checks if check.needed is not None]
        decided = 1 - states["inconclusive"] / draws
        worst = max(worst, wrong)
        print(
            f"{cases:>5}  {rate:.2f}  {drop:>4}  {agreement:>5}  {wrong:>5.1%}  {decided:>7.1%}  "
            f"{fmean(asked) if asked else 0:>9.0f}"
        )
    print(f"worst: {worst:.1%} wrong (2.5 % by design, and what {draws} draws add by chance)")


if __name__ == "__main__":
    main()

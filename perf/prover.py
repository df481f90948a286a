"""How often the prover decides, and what a proof costs beside the test on generated databases.

    python -m perf.prover [PAIRS]

Queries are drawn at random with a mutant each (tests/support/random_queries.py). Ratios are against
deciding the same pair by test alone, warm, in the same process.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from statistics import median

from evalcore.sqlkit.engines.registry import open_engine
from evalcore.sqlkit.equivalence import EquivalenceQuestion
from evalcore.sqlkit.equivalence.decider import Decider
from evalcore.sqlkit.prover import prove_equivalence
from evalcore.sqlkit.schema import read_schema
from tests.support.random_queries import DDL, QueryMaker


def main(pairs: int) -> None:
    dialect = "duckdb"
    schema = read_schema(DDL, dialect)
    maker = QueryMaker(random.Random(1))
    decider = Decider(open_engine)
    statuses: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    ratios: dict[str, list[float]] = {}
    while statuses.total() < pairs:
        query = maker.draw_query()
        mutant = maker.mutate(query)
        question = EquivalenceQuestion(engine=dialect, schema=DDL, reference=query)
        if decider.decide(question, mutant).status not in ("equivalent", "different"):
            continue
        started = time.perf_counter()
        tested = decider.decide(question, mutant)
        middle = time.perf_counter()
        proof = prove_equivalence(schema, query, mutant, dialect)
        ended = time.perf_counter()
        statuses[f"{tested.status}, {proof.status}"] += 1
        if proof.reason:
            reasons[proof.reason] += 1
        ratios.setdefault(proof.status, []).append((ended - middle) / (middle - started))
    print("by test, by proof:")
    for name, count in statuses.most_common():
        print(f"  {name:28}{count:5} {100 * count / pairs:5.1f} %")
    print("time of the proof / time of the test, median (and 95th percentile):")
    for name, values in ratios.items():
        values.sort()
        print(f"  {name:12}{median(values):6.2f} ({values[int(0.95 * len(values))]:.2f})")
    for reason, count in reasons.most_common(8):
        print(f"  {count:4} {reason}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)

"""The seven changes of a result on which published comparators err, decided end to end.

Each is an answer whose result differs from its reference's in just that way, on real engines over
generated databases; six are wrong answers and one, the noise of binary fractions, is none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest

from evalcore.sqlkit.engines.registry import EnginePool
from evalcore.sqlkit.equivalence import Equivalence, EquivalenceQuestion
from evalcore.sqlkit.equivalence.decider import Decider

pytestmark = pytest.mark.slow

DDL = (
    "CREATE TABLE berths (berth_id INTEGER PRIMARY KEY, pier VARCHAR(10) NOT NULL, "
    "moored INTEGER NOT NULL, depth DOUBLE PRECISION NOT NULL, fee INTEGER)",
)


class Mutation(NamedTuple):
    """A reference, an answer with the same result, one with the changed result, and its reason."""

    reference: str
    same: str
    changed: str
    reason: str


BERTHS = "SELECT berth_id, pier, fee FROM berths WHERE moored > 3"
MUTATIONS = {
    "duplicate row lost": Mutation(
        "SELECT pier FROM berths WHERE fee > 40",
        "SELECT pier FROM berths WHERE NOT fee <= 40",
        "SELECT DISTINCT pier FROM berths WHERE fee > 40",
        "row_count",
    ),
    "order reversed": Mutation(
        BERTHS + " ORDER BY berth_id",
        BERTHS + " ORDER BY berth_id ASC, pier",
        BERTHS + " ORDER BY berth_id DESC",
        "order",
    ),
    "columns swapped": Mutation(
        "SELECT berth_id, moored FROM berths",
        "SELECT b.berth_id, b.moored FROM berths b",
        "SELECT moored, berth_id FROM berths",
        "rows",
    ),
    "NULL became 0": Mutation(
        "SELECT berth_id, fee FROM berths",
        "SELECT berth_id, CASE WHEN fee IS NOT NULL THEN fee END FROM berths",
        "SELECT berth_id, COALESCE(fee, 0) FROM berths",
        "rows",
    ),
    "number became a string": Mutation(
        "SELECT berth_id, moored FROM berths",
        "SELECT berth_id, CAST(CAST(moored AS VARCHAR(10)) AS INTEGER) FROM berths",
        "SELECT berth_id, CAST(moored AS VARCHAR(10)) FROM berths",
        "rows",
    ),
    "extra column": Mutation(
        BERTHS,
        f"SELECT x.* FROM ({BERTHS}) x",
        BERTHS.replace(", fee", ", fee, moored"),
        "columns_count",
    ),
}
#: 0.1 + 0.2 is not 0.3 in binary fractions; the last digit is no difference, a cent is one.
NOISE = Mutation(
    "SELECT berth_id, depth * 0.3 AS part FROM berths",
    "SELECT berth_id, depth * 0.1 + depth * 0.2 AS part FROM berths",
    "SELECT berth_id, depth * 0.31 AS part FROM berths",
    "rows",
)
ALL = {**MUTATIONS, "0.1 + 0.2 for 0.3": NOISE}


@pytest.fixture(scope="module")
def decider() -> Iterator[Decider]:
    with EnginePool() as pool:
        yield Decider(pool.get)


def decided(decider: Decider, engine: str, reference: str, answer: str) -> Equivalence:
    return decider.decide(
        EquivalenceQuestion(engine=engine, schema=DDL, reference=reference), answer
    )


def test_there_are_seven() -> None:
    assert len(ALL) == 7


@pytest.mark.sampled(4)
@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
@pytest.mark.parametrize("name", ALL)
def test_the_same_result_is_accepted(decider: Decider, engine: str, name: str) -> None:
    result = decided(decider, engine, ALL[name].reference, ALL[name].same)
    assert result.status == "equivalent", result
    assert result.nonempty >= 2


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
@pytest.mark.parametrize("name", ALL)
def test_the_changed_result_is_refused(decider: Decider, engine: str, name: str) -> None:
    result = decided(decider, engine, ALL[name].reference, ALL[name].changed)
    assert result.status == "different", result
    assert result.counterexample is not None
    assert result.counterexample.reason == ALL[name].reason


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_a_reversed_order_counts_only_under_order_by(decider: Decider, engine: str) -> None:
    assert decided(decider, engine, BERTHS, BERTHS + " ORDER BY 1 DESC").status == "equivalent"

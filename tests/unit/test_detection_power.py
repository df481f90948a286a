"""The two measures of the decision's power on a small sample, so that neither slips unnoticed.

`perf.kill_rate` and `perf.false_different` take them on all bundled cases and every engine.
"""

from __future__ import annotations

import pytest

from perf import false_different, kill_rate
from perf.kill_rate import Tried
from perf.questions import DATASETS, Asked, asked

pytestmark = pytest.mark.slow

#: Cases with joins, NULLs, groups, windows, limits, dates and texts, quick to decide.
CASES = {
    "sqlite": ("le-126", "le-129", "le-146", "se-107", "se-108", "rw-003", "rw-007", "rw-017"),
    "duckdb": ("le-132", "le-134", "le-135", "le-136", "le-141", "rw-057", "rw-059"),
}
MUTANTS, SPELLINGS = 4, 3  # of each case


@pytest.fixture(scope="module")
def sample() -> list[Asked]:
    result = [*asked("dialect_conversion"), *asked("sql_optimization")]
    chosen = [item for item in result if item.case in CASES.get(item.engine, ())]
    assert len(chosen) == sum(map(len, CASES.values()))
    return chosen


@pytest.mark.full
def test_nearly_every_wrong_answer_is_told(sample: list[Asked]) -> None:
    tried = list(kill_rate.fates(sample, MUTANTS, processes=1))
    assert len(tried) >= 3 * len(sample)
    assert not [item for item in tried if item.fate == "undecided"]
    assert kill_rate.rate(tried) >= 0.95, list(kill_rate.report(tried))


@pytest.mark.full
def test_no_equivalent_answer_is_called_different(sample: list[Asked]) -> None:
    pairs = list(false_different.pairs(sample, SPELLINGS, processes=1))
    decided = [item for item in pairs if item.status in ("equivalent", "different")]
    assert len(decided) >= 3 * len(sample)
    assert false_different.rate(pairs) == 0.0, list(false_different.report(pairs))


def tried(fate: str) -> Tried:
    return Tried("c", "sqlite", "number", "SELECT 1", fate)


def test_a_rate_counts_what_was_told_among_what_could_be() -> None:
    fates = ["killed"] * 3 + ["alive", "held_equivalent", "invalid", "undecided"]
    assert kill_rate.rate(map(tried, fates)) == 0.75
    assert kill_rate.rate([]) == 1.0
    last = next(line for line in kill_rate.report(list(map(tried, fates))) if line[:3] == "all")
    assert last.split()[1:] == ["5", "3", "1", "1", "1", "1", "60.0%", "75.0%"]


def test_every_mutant_held_equivalent_has_a_reason_and_a_case() -> None:
    cases = {item.case for name in DATASETS for item in asked(name)}
    held = kill_rate.held_equivalent()
    assert len({(line.case, line.sql) for line in held}) == len(held)
    for line in held:
        assert line.case in cases
        assert len(line.reason.split()) >= 4

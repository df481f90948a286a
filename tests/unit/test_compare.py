"""The comparison of result tables: its rules one by one, and its matching against brute force."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, date, datetime
from datetime import time as clock
from decimal import Decimal
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalcore.records import from_json, to_json
from evalcore.sqlkit.result_tables import ResultTable, TableDiff, compare_tables, to_json_cell
from evalcore.sqlkit.row_matching import CellRules
from tests.support.hangs import stop_hang
from tests.support.rows import each_row

Rows = Sequence[Sequence[Any]]


def table(rows: Rows, columns: Sequence[str] = ()) -> ResultTable:
    width = len(rows[0]) if rows else len(columns)
    return ResultTable.from_rows(columns or [f"c{i}" for i in range(width)], rows)


def diff(expected: Rows, actual: Rows, **options: bool) -> TableDiff:
    return compare_tables(table(expected), table(actual), **options)


# The mutations on which published comparators are known to err; each must be told from the result.
RESULT = [[1, 0.3, None, "a"], [2, 0.7, 5, "b"], [2, 0.7, 5, "b"], [3, 1.5, 6, "c"]]
MUTATIONS = {
    "duplicate row lost": ([RESULT[0], RESULT[1], RESULT[3]], "row_count"),
    "another row doubled": ([RESULT[0], RESULT[1], RESULT[3], RESULT[3]], "rows"),
    "columns swapped": ([[r[0], r[2], r[1], r[3]] for r in RESULT], "rows"),
    "NULL became 0": ([[1, 0.3, 0, "a"], *RESULT[1:]], "rows"),
    "number became a string": ([["1", 0.3, None, "a"], *RESULT[1:]], "rows"),
    "extra column": ([[*r, 1] for r in RESULT], "columns_count"),
    "empty": ([], "row_count"),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_mutation_is_refused(name: str) -> None:
    rows, reason = MUTATIONS[name]
    wide = table(rows) if rows else table([], ["a", "b", "c", "d"])
    tables = compare_tables(table(RESULT), wide)
    assert (tables.equal, tables.reason) == (False, reason)


def test_order_counts_only_where_asked() -> None:
    reverse = RESULT[::-1]
    assert diff(RESULT, reverse).equal
    result = diff(RESULT, reverse, ordered=True)
    assert (result.equal, result.reason, result.missing, result.extra) == (False, "order", (), ())
    assert diff(RESULT, RESULT, ordered=True).equal


def test_float_noise_is_accepted() -> None:
    assert diff([[0.1 + 0.2]], [[0.3]]).equal


CELLS = [
    (None, None, True),
    (None, 0, False),
    (None, "", False),
    (None, False, False),
    (1, 1.0, True),
    (1, 1.00005, True),
    (1, 1.001, False),
    (1e9, 1e9 + 900, True),
    (1e9, 1e9 + 1200, False),
    (10_000_000, 10_000_001, False),  # integers: an identifier is not its neighbour
    (10_000_000, 10_000_001.0, True),
    (Decimal("2.50"), 2.5, True),
    (Decimal("3.00"), 3, True),
    (True, 1, True),
    (False, 0.0, True),
    (True, 2, False),
    (True, "true", True),
    (False, "FALSE", True),
    (True, "yes", False),
    ("true", 1, False),
    ("true", "TRUE", False),
    ("a", "A", False),
    ("a", "a ", False),
    ("1", 1, False),
    (date(2024, 1, 31), "2024-01-31 00:00:00", True),
    (date(2024, 1, 31), datetime(2024, 1, 31), True),
    (date(2024, 1, 31), "2024-01-31T00:00:00Z", True),
    (datetime(2024, 1, 31, 8, tzinfo=UTC), "2024-01-31 08:00", True),
    ("2024-01-31 08:00:00.500", "2024-01-31 08:00:00.5", True),
    ("2024-01-31 08:00:00+02:00", "2024-01-31 08:00:00", False),
    (date(2024, 1, 31), "2024-01-31 00:00:01", False),
    (b"\x01\xff", "01ff", True),
    ([1, [2.0, None]], [1, [2, None]], True),
    ([1, 2], [2, 1], False),
    ({"a": 1, "b": [True]}, {"b": [1], "a": 1.0}, True),
    ({"a": 1}, {"a": 1, "b": None}, False),
    ([1], {"0": 1}, False),
    (float("inf"), "Infinity", True),
    (float("nan"), float("nan"), True),
    (10**400, 10**400, True),
    (10**400, 1.0, False),
]


@each_row(("left", "right", "same"), CELLS)
def test_cells(left: Any, right: Any, same: bool) -> None:
    for item, other in ((left, right), (right, left)):
        assert diff([[item]], [[other]]).equal is same
        # Beside another row in the wrong place, so that matching and not mere sequence decides.
        assert diff([[item], ["z"]], [["z"], [other]]).equal is same


COERCED = [
    ("1", 1, True),
    (1.5, " 1.50 ", True),
    ("1", True, True),
    ("1", "1.0", False),
    ("one", 1, False),
    ("nan", 1, False),
    ("1_000", 1000, False),
    ("1e400", 1, False),
    ("٣", 3, False),
]


@pytest.mark.parametrize(("left", "right", "same"), COERCED)
def test_strings_that_spell_numbers_when_asked(left: Any, right: Any, same: bool) -> None:
    assert diff([[left], ["z"]], [["z"], [right]], coerce_strings=True).equal is same
    assert not diff([[left]], [[right]]).equal


def test_names_are_reported_and_decide_nothing() -> None:
    left, right = table([[1]], ["Total"]), table([[1]], ["TOTAL"])
    assert compare_tables(left, right).same_columns
    other = compare_tables(left, table([[1]], ["sum"]))
    assert other.equal
    assert not other.same_columns


def test_the_rows_without_partner_are_named_in_order() -> None:
    result = diff([["a"], ["b"], ["b"], ["c"]], [["b"], ["d"], ["c"], ["e"]])
    assert result.reason == "rows"
    assert result.missing == (("a",), ("b",))
    assert result.extra == (("d",), ("e",))


def test_ragged_rows_never_match() -> None:
    tables = compare_tables(table([[1, 2]]), ResultTable(columns=("a", "b"), rows=((1, 2, 3),)))
    assert (tables.reason, tables.extra) == ("rows", ((1, 2, 3),))


def test_greedy_pairing_would_fail_here() -> None:
    """0 pairs with the far 0.00019 only if the identical 0 is left to its neighbour."""
    expected, actual = [[0.0], [-0.00009]], [[0.0], [0.00009]]
    assert diff(expected, actual).equal
    assert diff(expected * 3, actual * 3).equal
    assert not diff([[0.0], [-0.00009], [-0.00009]], [[0.0], [0.00009], [0.00009]]).equal


def test_large_tables_take_little_time() -> None:
    rows = [[7, i % 10, i * 0.5, f"name {i % 100}", None] for i in range(10_000)]
    with stop_hang():
        assert diff(rows, rows[::-1]).equal
        same = [[1, 2.5]] * 10_000
        assert diff(same, [[2, 2.5], *same[1:]]).missing == ((1, 2.5),)


LARGE: dict[str, list[list[Any]]] = {
    "a chain of neighbours": [[i * 5e-5] for i in range(5_000)],
    "lists": [[[i, "x"]] for i in range(5_000)],
    "objects": [[{"a": i, "b": None}] for i in range(5_000)],
}


@pytest.mark.parametrize("rows", LARGE.values(), ids=LARGE.keys())
def test_rows_that_are_alike_take_little_time(rows: list[list[Any]]) -> None:
    with stop_hang():
        assert diff(rows, rows[::-1]).equal
        assert len(diff(rows, rows[1:][::-1]).missing) == 1


def test_hostile_nesting_is_no_crash() -> None:
    deep: Any = 1
    for _ in range(600):
        deep = [deep]
    nested = ResultTable(columns=("a",), rows=((deep,),))
    assert not compare_tables(nested, table([[[[1]]]], ["a"])).equal


NUMBERS = st.sampled_from([0, 1, True, False, 1.0, 0.00009, 0.00018, -0.00009, 0.9999, 1.0001])
CELL = st.one_of(NUMBERS, st.sampled_from([None, "true", "1", "2024-01-01", "2024-01-01 00:00:00"]))


def row_lists(width: int) -> st.SearchStrategy[list[tuple[Any, ...]]]:
    return st.lists(st.tuples(*[CELL] * width), max_size=5)


@settings(max_examples=400, deadline=None)
@given(st.data(), st.integers(1, 3), st.booleans())
def test_matching_equals_brute_force(data: st.DataObject, width: int, coerce: bool) -> None:
    left, right = data.draw(row_lists(width)), data.draw(row_lists(width))
    rules = CellRules(coerce_strings=coerce)
    small, large = sorted((left, right), key=len)
    best = max(
        (
            sum(rules.is_same_row(a, b) for a, b in zip(small, choice, strict=True))
            for choice in permutations(large, len(small))
        ),
        default=0,
    )
    columns = tuple(f"c{i}" for i in range(width))
    tables = compare_tables(
        ResultTable(columns=columns, rows=tuple(left)),
        ResultTable(columns=columns, rows=tuple(right)),
        coerce_strings=coerce,
    )
    assert tables.equal == (best == len(left) == len(right))
    if not tables.equal:
        assert len(tables.missing) == len(left) - best
        assert len(tables.extra) == len(right) - best


@settings(max_examples=200, deadline=None)
@given(st.data(), st.integers(1, 3), st.randoms())
def test_a_table_equals_any_shuffle_of_itself(data: Any, width: int, random: Any) -> None:
    rows = data.draw(row_lists(width))
    shuffled = random.sample(rows, len(rows))
    columns = [f"c{i}" for i in range(width)]
    assert compare_tables(table(rows, columns), table(shuffled, columns)).equal


@settings(max_examples=200, deadline=None)
@given(CELL, CELL, st.booleans())
def test_keys_and_positions_are_necessary_conditions(left: Any, right: Any, coerce: bool) -> None:
    rules = CellRules(coerce_strings=coerce)
    assert rules.is_same_cell(left, right) == rules.is_same_cell(right, left)
    if rules.is_same_cell(left, right):
        assert rules.compute_group_key(left) == rules.compute_group_key(right)


def test_values_become_json_and_survive_a_round_trip() -> None:
    cells = [Decimal("1.5"), Decimal("2"), 10**30, clock(8, 30), date(2024, 2, 3), b"\x00"]
    made = ResultTable.from_rows(map(str, range(6)), [cells], truncated=True)
    assert made.rows == ((1.5, 2, 10**30, "08:30:00", "2024-02-03", "00"),)
    assert from_json(ResultTable, to_json(made)) == made
    json.dumps(made.rows)


def test_json_value_of_nested_and_odd_values() -> None:
    assert to_json_cell({1: [Decimal("0.5"), datetime(2024, 1, 2, 3, 4)], "x": (None,)}) == {
        "1": [0.5, "2024-01-02 03:04:00"],
        "x": [None],
    }
    assert to_json_cell(float("-inf")) == "-Infinity"
    assert to_json_cell(Decimal("NaN")) == "NaN"
    assert to_json_cell(complex(1, 2)) == "(1+2j)"


def test_json_value_ends_nesting_and_mends_text() -> None:
    deep: Any = 1
    for _ in range(900):
        deep = [deep]
    assert "…" in json.dumps(to_json_cell(deep), ensure_ascii=False)
    assert to_json_cell({"\ud800": "a\udfff"}) == {"\ufffd": "a\ufffd"}

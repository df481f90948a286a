"""When cells and rows of two results are the same, and a maximum pairing of rows that are."""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Any, NamedTuple

# When two cells of a result are the same value, and which cells can be at all.
# `key` and `positions` are necessary conditions of `same`: cells that are the same have equal
# keys and positions within `Tolerance.compute_reach`. The matching of rows uses them to
# compare only what can be equal.

ABSOLUTE, RELATIVE = 1e-4, 1e-6
Row = tuple[Any, ...]

#: Deeper lists never compare equal: it keeps hostile nesting off the stack.
_MAX_DEPTH = 32
_WORDS = {"true": True, "false": False}
_NUMBER = re.compile(r"\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?\s*\Z", re.ASCII)
_TIMESTAMP = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d)?(\.\d+)?(Z|[+-]\d\d(?::?\d\d)?)?)?\Z", re.ASCII
)
_UTC = {"Z", "+00", "+0000", "+00:00", "-00:00"}


class Tolerance(NamedTuple):
    """How far two numbers may lie apart and still be the same."""

    absolute: float = ABSOLUTE
    relative: float = RELATIVE

    def compute_reach(self, left: float, right: float) -> float:
        return self.absolute + self.relative * max(abs(left), abs(right))


#: For results of engines: what adding doubles in another order changes, and single floats.
DOUBLE_TOLERANCE, SINGLE_TOLERANCE = Tolerance(1e-9, 1e-11), Tolerance(1e-6, 1e-5)


def parse_decimal(text: str) -> Decimal | str:
    """The number that a text spells, else the text."""
    return Decimal(text) if _NUMBER.match(text) else text


def normalize_timestamp(text: str) -> str:
    """A date or timestamp in one spelling (with time, no UTC mark); other text as it is."""
    match = _TIMESTAMP.match(text)
    if not match:
        return text
    day, clock, seconds, fraction, zone = match.groups()
    fraction = (fraction or "").rstrip("0").rstrip(".")
    zone = "" if zone in _UTC else zone or ""
    return f"{day} {clock or '00:00'}{seconds or ':00'}{fraction}{zone}"


class CellRules:
    """Equality of cells and rows.

    `coerce_strings`: a number may equal a string that spells it. `exact`: decimals and integers
    must be equal, only floats have a tolerance. `plain_text`: no text stands for a time, so that
    '2024-01-01' is not its midnight.
    """

    def __init__(
        self,
        *,
        coerce_strings: bool = False,
        exact: bool = False,
        plain_text: bool = False,
        tolerance: Tolerance = Tolerance(),  # noqa: B008 - a tuple
    ) -> None:
        self._coerce, self.exact, self._plain_text = coerce_strings, exact, plain_text
        self.tolerance = tolerance

    def _normalize_text(self, text: str) -> str:
        return text if self._plain_text else normalize_timestamp(text)

    def is_same_row(self, left: Row, right: Row) -> bool:
        return len(left) == len(right) and all(map(self.is_same_cell, left, right))

    def is_same_cell(self, left: Any, right: Any, depth: int = 0) -> bool:
        """Whether two JSON values are the same cell."""
        if left is None or right is None:
            return left is right
        if isinstance(left, str) and isinstance(right, str):
            return left == right or self._normalize_text(left) == self._normalize_text(right)
        if isinstance(left, list | tuple | dict) or isinstance(right, list | tuple | dict):
            return depth < _MAX_DEPTH and self._is_same_nested(left, right, depth + 1)
        if isinstance(left, bool) or isinstance(right, bool):
            truth = self._to_truth_value(left)
            return truth is not None and truth == self._to_truth_value(right)
        a, b = self.to_finite_number(left), self.to_finite_number(right)
        if a is None or b is None:
            return bool(left == right)
        if isinstance(left, int | Decimal) and isinstance(right, int | Decimal):
            return left == right
        return abs(a - b) <= self.tolerance.compute_reach(a, b)

    def _is_same_nested(self, left: Any, right: Any, depth: int) -> bool:
        if isinstance(left, dict) and isinstance(right, dict):
            return left.keys() == right.keys() and all(
                self.is_same_cell(left[name], right[name], depth) for name in left
            )
        if isinstance(left, list | tuple) and isinstance(right, list | tuple):
            return len(left) == len(right) and all(
                self.is_same_cell(a, b, depth) for a, b in zip(left, right, strict=True)
            )
        return False

    def _to_truth_value(self, value: Any) -> bool | None:
        """The truth value that a cell can stand for beside a boolean."""
        if isinstance(value, str) and value.strip().lower() in _WORDS:
            return _WORDS[value.strip().lower()]
        number = self.to_finite_number(value)
        return {0.0: False, 1.0: True}.get(number) if number is not None else None

    def to_finite_number(self, value: Any) -> float | None:
        """The finite number a cell may be compared by, None where there is none."""
        if isinstance(value, str):
            value = value if self._coerce and _NUMBER.match(value) else None
        try:
            numeric = isinstance(value, int | float | str | Decimal)
            number = float(value) if numeric else math.nan
        except OverflowError:
            return None
        return number if math.isfinite(number) else None

    def compute_group_key(self, value: Any, depth: int = 0) -> object:
        """Equal for cells that are the same, so that rows fall into groups by it."""
        if isinstance(value, list | tuple | dict):
            if depth == _MAX_DEPTH:
                return None
            names = tuple(sorted(value)) if isinstance(value, dict) else None
            return names, tuple(
                self.compute_group_key(item, depth + 1) for item in _list_nested_cells(value)
            )
        if self.compute_cell_position(value) is not None:
            return float
        return self._normalize_text(value) if isinstance(value, str) else (type(value), value)

    def iter_cell_positions(self, value: Any, depth: int = 0) -> Iterator[float]:
        """Where a cell, or what is nested in it, lies on the number line, in an order of its own.

        Cells of equal keys have equally many.
        """
        if isinstance(value, list | tuple | dict):
            for item in _list_nested_cells(value) if depth < _MAX_DEPTH else ():
                yield from self.iter_cell_positions(item, depth + 1)
        elif (position := self.compute_cell_position(value)) is not None:
            yield position

    def compute_cell_position(self, value: Any) -> float | None:
        """Where a cell lies on the number line if it can equal any number or boolean."""
        if isinstance(value, str) and value.strip().lower() in _WORDS:
            return float(_WORDS[value.strip().lower()])
        return self.to_finite_number(value)


def _list_nested_cells(value: list[Any] | tuple[Any, ...] | dict[str, Any]) -> Iterable[Any]:
    return [value[name] for name in sorted(value)] if isinstance(value, dict) else value


# Pairing the rows of two tables where "the same" has a tolerance and so is not transitive.
# Rows are first split into clusters between which no pair can be the same: by the key of every
# cell, then at every gap on the number line that is wider than the tolerance. In almost all
# tables a cluster then holds one distinct row. Where it holds more, a maximum matching decides
# (augmenting paths over distinct rows with their counts), because pairing greedily can leave rows
# over; a row is compared only with those that lie within the tolerance in one column.

#: Rounding must never cut between two rows that `CellRules.same` would accept.
_SLACK = 1 + 1e-9


class _Entry(NamedTuple):
    """A row of one table: `row_index` is its index there, `numbers` its cells on the number
    line."""

    actual: bool
    row_index: int
    row: Row
    numbers: tuple[float, ...]


def match_rows(
    expected: Sequence[Row], actual: Sequence[Row], rules: CellRules
) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    """The rows of `expected` and of `actual` left over by a maximum pairing, in their order."""
    missing: list[int] = []
    extra: list[int] = []
    for cluster in _iter_clusters(expected, actual, rules):
        left = [entry for entry in cluster if not entry.actual]
        right = [entry for entry in cluster if entry.actual]
        pairs = _pair_cluster(left, right, rules)
        missing += [e.row_index for e in left if e.row_index not in pairs]
        paired = set(pairs.values())
        extra += [e.row_index for e in right if e.row_index not in paired]
    return tuple(expected[i] for i in sorted(missing)), tuple(actual[i] for i in sorted(extra))


def _iter_clusters(
    expected: Sequence[Row], actual: Sequence[Row], rules: CellRules
) -> Iterator[list[_Entry]]:
    groups: dict[object, list[_Entry]] = {}
    for is_actual, rows in ((False, expected), (True, actual)):
        for row_index, row in enumerate(rows):
            numbers = tuple(number for cell in row for number in rules.iter_cell_positions(cell))
            key = tuple(rules.compute_group_key(cell) for cell in row)
            groups.setdefault(key, []).append(_Entry(is_actual, row_index, row, numbers))
    for group in groups.values():
        clusters = [group]
        for column in range(len(group[0].numbers)):
            clusters = [
                part
                for cluster in clusters
                for part in _split_cluster(cluster, column, rules.tolerance)
            ]
        yield from clusters


def _split_cluster(
    cluster: list[_Entry], column: int, tolerance: Tolerance
) -> Iterator[list[_Entry]]:
    """Cut where neighbours on the number line are further apart than the tolerance.

    No pair across such a gap can be the same: the distance grows by at least what the relative
    tolerance grows by when either end moves away from the gap.
    """
    cluster.sort(key=lambda entry: entry.numbers[column])
    part = [cluster[0]]
    for before, entry in pairwise(cluster):
        low, high = before.numbers[column], entry.numbers[column]
        if high - low > tolerance.compute_reach(low, high) * _SLACK:
            yield part
            part = []
        part.append(entry)
    yield part


def _pair_cluster(left: list[_Entry], right: list[_Entry], rules: CellRules) -> dict[int, int]:
    """A maximum pairing of one cluster: places in the expected table to places in the actual."""
    if not left or not right:
        return {}
    column = _widest_column(left + right)
    givers, takers = _group_identical(left, column), _group_identical(right, column)
    edges = list(_iter_edges(givers, takers, column, rules))
    flow = _maximum_flow([len(g) for g in givers], [len(t) for t in takers], edges)
    pairs: dict[int, int] = {}
    for (i, j), amount in flow.items():
        for _ in range(amount):
            pairs[givers[i].pop().row_index] = takers[j].pop().row_index
    return pairs


def _widest_column(cluster: list[_Entry]) -> int | None:
    """The column of numbers that tells most rows apart, None where there are no numbers."""
    columns = list(zip(*(entry.numbers for entry in cluster), strict=True))
    return max(range(len(columns)), key=lambda c: max(columns[c]) - min(columns[c]), default=None)


def _iter_edges(
    givers: list[list[_Entry]], takers: list[list[_Entry]], column: int | None, rules: CellRules
) -> Iterator[list[int]]:
    """For each giver the takers that are the same row; those too far off are not looked at."""
    lows, highs = [0] * len(givers), [len(takers)] * len(givers)
    if column is not None:
        along = [taker[0].numbers[column] for taker in takers]
        for i, giver in enumerate(givers):
            number = giver[0].numbers[column]
            # What lies within the tolerance of both is at most this far: twice is safe.
            reach = 2 * rules.tolerance.compute_reach(number, number)
            lows[i] = bisect_left(along, number - reach)
            highs[i] = bisect_right(along, number + reach)
    for giver, low, high in zip(givers, lows, highs, strict=True):
        row = giver[0].row
        yield [j for j in range(low, high) if rules.is_same_row(row, takers[j][0].row)]


def _group_identical(entries: list[_Entry], column: int | None) -> list[list[_Entry]]:
    """Entries grouped by identical rows, along a column of numbers; rows with nested cells stand
    alone."""
    groups: dict[object, list[_Entry]] = {}
    for entry in entries:
        identity = tuple(
            id(cell) if isinstance(cell, list | tuple | dict) else (type(cell), cell)
            for cell in entry.row
        )
        groups.setdefault(identity, []).append(entry)
    if column is None:
        return list(groups.values())
    return sorted(groups.values(), key=lambda group: group[0].numbers[column])


def _maximum_flow(
    supply: list[int], demand: list[int], edges: list[list[int]]
) -> Counter[tuple[int, int]]:
    """How much goes from each giver i to each taker j, in sum as much as can (Edmonds-Karp)."""
    flow: Counter[tuple[int, int]] = Counter()
    holders: dict[int, set[int]] = {}  # taker -> the givers that have something flow to it
    for giver in range(len(supply)):
        while supply[giver]:
            path = _augmenting_path(giver, demand, edges, holders)
            if not path:
                break
            undone = [(path[k + 2], path[k + 1]) for k in range(0, len(path) - 2, 2)]
            amount = min([supply[giver], demand[path[-1]], *(flow[edge] for edge in undone)])
            for k in range(0, len(path), 2):
                flow[path[k], path[k + 1]] += amount
                holders.setdefault(path[k + 1], set()).add(path[k])
            for edge in undone:
                flow[edge] -= amount
                if not flow[edge]:
                    holders[edge[1]].discard(edge[0])
            supply[giver] -= amount
            demand[path[-1]] -= amount
    return flow


def _augmenting_path(
    start: int, demand: list[int], edges: list[list[int]], holders: Mapping[int, set[int]]
) -> list[int]:
    """Giver, taker, giver, ..., taker: the last takes more, each later giver changes its taker."""
    came_from: dict[int, int] = {}  # taker -> the giver that reached it
    reached = {start: -1}  # giver -> the taker it was reached from
    queue = deque([start])
    while queue:
        giver = queue.popleft()
        for taker in edges[giver]:
            if taker in came_from:
                continue
            came_from[taker] = giver
            if demand[taker]:
                return _walk_back(taker, came_from, reached)
            for other in holders.get(taker, ()):
                if other not in reached:
                    reached[other] = taker
                    queue.append(other)
    return []


def _walk_back(taker: int, came_from: dict[int, int], reached: dict[int, int]) -> list[int]:
    path: list[int] = []
    while taker >= 0:
        giver = came_from[taker]
        path += [taker, giver]
        taker = reached[giver]
    return path[::-1]

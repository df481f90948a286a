"""Random queries, mutants of them and small databases, to hold the prover against engines."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

from evalcore.sqlkit.generate import Database

Kind = Literal["number", "text", "date"]
Source = tuple[str, dict[str, Kind]]

DDL = (
    "CREATE TABLE r (a INT PRIMARY KEY, b INT, c VARCHAR(9), d DECIMAL(8,2))",
    "CREATE TABLE s (a INT NOT NULL, b INT, c VARCHAR(9), e DATE, UNIQUE (b))",
    "CREATE TABLE t (x INT, y INT)",
)
COLUMNS: dict[str, dict[str, Kind]] = {
    "r": {"a": "number", "b": "number", "c": "text", "d": "number"},
    "s": {"a": "number", "b": "number", "c": "text", "e": "date"},
    "t": {"x": "number", "y": "number"},
}
_JOINS = ("JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "CROSS JOIN", "RIGHT JOIN", "FULL JOIN")
_SWAPS = (
    ("<=", "<"),
    (">=", ">"),
    (" AND ", " OR "),
    ("LEFT JOIN", "JOIN"),
    ("JOIN", "LEFT JOIN"),
    ("NOT ", ""),
    ("UNION ALL", "UNION"),
    ("DISTINCT ", ""),
    ("COUNT(", "SUM("),
    (" = ", " <= "),
    ("IS NULL", "IS NOT NULL"),
    ("MAX", "MIN"),
    ("1", "2"),
    ("SELECT ", "SELECT DISTINCT "),
    ("RIGHT JOIN", "FULL JOIN"),
    ("(", "(0 + "),
    (".a", ".b"),
    ("EXISTS (SELECT 1", "EXISTS (SELECT NULL"),
)


class QueryMaker:
    """Draws queries of joins, conditions, groups, set operations and subqueries."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self._aliases = 0

    def draw_query(self) -> str:
        if self.rng.random() < 0.2:
            width = self.rng.randint(1, 2)
            left, right = (self._draw_select(1, width)[0] for _ in "12")
            operation = self.rng.choice(["UNION", "UNION ALL", "INTERSECT", "EXCEPT"])
            return f"{left} {operation} {right}"
        return self._draw_select(0)[0]

    def mutate(self, query: str) -> str:
        """The query with one thing replaced, which often changes nothing."""
        for _ in range(20):
            old, new = self.rng.choice(_SWAPS)
            parts = query.split(old)
            if len(parts) > 1:
                at = self.rng.randrange(1, len(parts))
                return old.join(parts[:at]) + new + old.join(parts[at:])
        return query

    def draw_database(self, most: int) -> Database:
        """Up to `most` rows a table, within the constraints of `DDL`."""
        return Database("drawn", {name: self._draw_rows(name, most) for name in COLUMNS})

    def _draw_rows(self, table: str, most: int) -> tuple[tuple[Any, ...], ...]:
        rows: dict[object, tuple[Any, ...]] = {}
        for _ in range(self.rng.randint(0, most)):
            row = [self._draw_cell(kind) for kind in COLUMNS[table].values()]
            if table in "rs" and row[0] is None:
                row[0] = self.rng.randint(0, 3)
            key = {"r": row[0], "s": row[1]}.get(table)
            rows.setdefault(object() if key is None else key, tuple(row))
        return tuple(rows.values())

    def _draw_cell(self, kind: Kind) -> Any:
        if self.rng.random() < 0.25:
            return None
        cells: dict[Kind, Sequence[Any]] = {
            "number": (-1, 0, 1, 2, 3),
            "text": ("x", "y", "A", ""),
            "date": ("2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04"),
        }
        return self.rng.choice(cells[kind])

    def _name(self) -> str:
        self._aliases += 1
        return f"q{self._aliases}"

    def _pick_column(self, sources: Sequence[Source], kind: Kind) -> str | None:
        names = [f"{s}.{c}" for s, columns in sources for c, k in columns.items() if k == kind]
        return self.rng.choice(names) if names else None

    def _draw_number(self, sources: Sequence[Source], depth: int = 0) -> str:
        rng, draw = self.rng, self.rng.random()
        column = self._pick_column(sources, "number")
        if draw < 0.55 and column:
            return column
        if draw < 0.75 or depth > 1:
            return str(rng.choice([0, 1, 2, 3, -1]))
        left, right = (self._draw_number(sources, depth + 1) for _ in "12")
        if draw < 0.85:
            return f"({left} {rng.choice('+-*')} {right})"
        if draw < 0.9:
            return f"COALESCE({left}, {right})"
        if draw < 0.94:
            condition = self._draw_condition(sources, depth + 1)
            return f"CASE WHEN {condition} THEN {left} ELSE {right} END"
        if draw < 0.96:
            return f"NULLIF({left}, {right})"
        source, inner = self._draw_table()
        function = rng.choice(["MAX", "MIN", "SUM", "COUNT"])
        condition = self._draw_condition((inner, *sources), depth + 1)
        return (
            f"(SELECT {function}({self._draw_number([inner], 2)}) FROM {source} WHERE {condition})"
        )

    def _draw_text(self, sources: Sequence[Source]) -> str:
        column = self._pick_column(sources, "text")
        if column and self.rng.random() < 0.7:
            return column
        return self.rng.choice(["'x'", "'y'", "'A'", "''"])

    def _draw_condition(self, sources: Sequence[Source], depth: int = 0) -> str:
        rng, draw = self.rng, self.rng.random()
        if depth < 2 and draw < 0.3:
            left, right = (self._draw_condition(sources, depth + 1) for _ in "12")
            return f"({left} {rng.choice(['AND', 'OR'])} {right})"
        if depth < 2 and draw < 0.38:
            return f"NOT ({self._draw_condition(sources, depth + 1)})"
        left, right = (self._draw_number(sources, depth + 1) for _ in "12")
        negation = rng.choice(["", "NOT "])
        if draw < 0.62:
            return f"{left} {rng.choice(['=', '<>', '<', '<=', '>', '>='])} {right}"
        if draw < 0.7:
            return f"{left} IS {negation}NULL"
        if draw < 0.76:
            texts = self._draw_text(sources), self._draw_text(sources)
            return f"{texts[0]} {rng.choice(['=', '<>', '<', '>='])} {texts[1]}"
        if draw < 0.8:
            return f"{left} BETWEEN {right} AND {self._draw_number(sources, 2)}"
        if draw < 0.84:
            return f"{left} {negation}IN ({right}, 2{rng.choice(['', ', NULL'])})"
        if depth < 2:
            source, inner = self._draw_table()
            condition = self._draw_condition((inner, *sources), depth + 1)
            if draw < 0.92:
                return f"{negation}EXISTS (SELECT 1 FROM {source} WHERE {condition})"
            column = self._draw_number([inner], 2)
            return f"{left} {negation}IN (SELECT {column} FROM {source} WHERE {condition})"
        column_of_dates = self._pick_column(sources, "date")
        if column_of_dates is None:
            return "1 = 1"
        return f"{column_of_dates} {rng.choice(['<', '>=', '='])} '2024-01-0{rng.randint(1, 3)}'"

    def _draw_table(self) -> tuple[str, Source]:
        table, alias = self.rng.choice(list(COLUMNS)), self._name()
        return f"{table} {alias}", (alias, COLUMNS[table])

    def _draw_source(self, depth: int) -> tuple[str, Source]:
        if depth < 1 and self.rng.random() < 0.15:
            query, columns = self._draw_select(depth + 1)
            alias = self._name()
            return f"({query}) {alias}", (alias, columns)
        return self._draw_table()

    def _draw_from(self, depth: int) -> tuple[str, list[Source]]:
        text, first = self._draw_source(depth)
        sources = [first]
        for _ in range(self.rng.choice([0, 0, 1, 1, 2] if depth == 0 else [0, 0, 1])):
            joined, source = self._draw_source(1)
            kind = self.rng.choice(_JOINS)
            text += f" {kind} {joined}"
            if kind != "CROSS JOIN":
                left = self._draw_number(sources[-1:], 2)
                text += f" ON {left} = {self._draw_number([source], 2)}"
                if self.rng.random() < 0.3:
                    text += f" AND {self._draw_condition([*sources, source], 1)}"
            sources.append(source)
        return text, sources

    def _draw_select(self, depth: int, width: int = 0) -> tuple[str, dict[str, Kind]]:
        rng = self.rng
        text, sources = self._draw_from(depth)
        if rng.random() < 0.7:
            text += f" WHERE {self._draw_condition(sources)}"
        width = width or rng.randint(1, 2)
        distinct = ""
        if rng.random() < 0.3:
            outputs, after = self._draw_aggregation(sources, width)
            text += after
        else:
            outputs = [self._draw_number(sources, 1) for _ in range(width)]
            distinct = rng.choice(["", "", "", "DISTINCT "])
        columns = ", ".join(f"{output} AS o{number}" for number, output in enumerate(outputs))
        kinds: dict[str, Kind] = {f"o{number}": "number" for number in range(width)}
        return f"SELECT {distinct}{columns} FROM {text}", kinds

    def _draw_aggregation(self, sources: list[Source], width: int) -> tuple[list[str], str]:
        rng = self.rng
        if rng.random() < 0.25:
            functions = [rng.choice(["COUNT", "SUM", "MIN", "MAX", "AVG"]) for _ in range(width)]
            return [f"{name}({self._draw_number(sources, 2)})" for name in functions], ""
        keys = {self._pick_column(sources, "number") or "1" for _ in range(rng.randint(1, 2))}

        def draw_output() -> str:
            draw = rng.random()
            if draw < 0.4:
                return rng.choice(sorted(keys))
            if draw < 0.5:
                return "COUNT(*)"
            function = rng.choice(["COUNT", "SUM", "MIN", "MAX"])
            return f"{function}({rng.choice(['', '', 'DISTINCT '])}{self._draw_number(sources, 2)})"

        after = f" GROUP BY {', '.join(sorted(keys))}"
        if rng.random() < 0.3:
            after += f" HAVING {draw_output()} {rng.choice(['>', '=', '<='])} {rng.randint(0, 2)}"
        return [draw_output() for _ in range(width)], after


def fetch_bag(connection: Any, database: Database, query: str) -> Counter[tuple[Any, ...]]:
    """The rows of a query on a database of `DDL`, each with how often it came."""
    for table, rows in database.tables.items():
        connection.execute(f"DELETE FROM {table}")
        for row in rows:
            connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
    return Counter(
        tuple(
            cell if cell is None or isinstance(cell, str) else round(float(cell), 6) for cell in row
        )
        for row in connection.execute(query).fetchall()
    )

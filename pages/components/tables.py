"""Tables of a case: any cell as text, NULL told apart from the text NULL, odd rows coloured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pandas as pd

from evalcore.records import to_json

NULL = "∅"
#: Translucent, so that the same colours read on the light and on the dark theme.
MISSING = "background-color: rgba(191, 75, 68, 0.22)"
EXTRA = "background-color: rgba(207, 133, 39, 0.24)"


def format_cell(value: Any) -> str:
    """A cell as text: None as ∅, text as it is, anything else as JSON."""
    if value is None:
        return NULL
    return value if isinstance(value, str) else to_json(value, ordered=False).decode()


def build_text_frame(columns: Sequence[Any], rows: Sequence[Sequence[Any]]) -> pd.DataFrame:
    """Rows of cells as a frame of text; ragged rows are filled, unnamed columns numbered."""
    width = max([len(columns), *(len(row) for row in rows)], default=0)
    names = [str(name) for name in columns] + [str(i + 1) for i in range(len(columns), width)]
    cells = [[format_cell(value) for value in row] + [""] * (width - len(row)) for row in rows]
    return pd.DataFrame(cells, columns=make_names_unique(names))


def make_names_unique(names: Sequence[str]) -> list[str]:
    """Column names told apart: a result may have two columns of one name, a frame may not."""
    unique_names: list[str] = []
    for name in names:
        free, number = name, 1
        while free in unique_names:
            number += 1
            free = f"{name} ({number})"
        unique_names.append(free)
    return unique_names


def mark_odd_rows(rows: Sequence[Sequence[Any]], odd: Sequence[Sequence[Any]]) -> list[bool]:
    """Which of `rows` are among `odd`, each odd row used up once; equal copies go from the end."""
    remaining = Counter(tuple(map(format_cell, row)) for row in odd)
    flags: list[bool] = []
    for row in reversed(rows):
        key = tuple(map(format_cell, row))
        flags.append(remaining[key] > 0)
        remaining[key] -= flags[-1]
    return flags[::-1]


def add_mark_column(
    columns: Sequence[Any], rows: Sequence[Sequence[Any]], odd: Sequence[bool], *, word: str
) -> pd.DataFrame:
    """The rows with a first column that says `word` where the row is odd."""
    table = build_text_frame(columns, rows)
    table.insert(0, "​", [word if is_odd else "" for is_odd in odd])
    return table


def colour_odd_rows(table: pd.DataFrame, odd: Sequence[bool], colour: str) -> Any:
    """The table with its odd rows in `colour`, as a pandas Styler."""

    def paint_row(row: pd.Series[Any]) -> list[str]:
        return [colour if odd[int(str(row.name))] else ""] * len(row)

    return table.style.apply(paint_row, axis=1)

"""A frame as a file for spreadsheets."""

from __future__ import annotations

import pandas as pd

from evalcore.plain_text import safe_cell


def to_csv_bytes(frame: pd.DataFrame) -> bytes:
    """The frame as CSV in UTF-8, its texts never read as formulas by a spreadsheet."""
    texts = frame.select_dtypes(exclude=["number", "bool", "datetimetz"]).map(safe_cell)
    safe = frame.assign(**{str(name): texts[name] for name in texts})
    return safe.to_csv(index=False, lineterminator="\n").encode()

"""Case files for tests: small, authored on the spot, in the format of `sql_understanding`."""

from __future__ import annotations

import json
from pathlib import Path


def syntax_cases(path: Path, count: int) -> Path:
    """`count` valid statements, in one file named after its metric."""
    rows = [
        {
            "case_id": f"c{number}",
            "difficulty_level": str(number % 3 + 1),
            "dialect": "sqlite",
            "sql": f"SELECT {number} + {number} AS answer",
            "expected": {"has_syntax_error": "no"},
        }
        for number in range(count)
    ]
    path.mkdir(parents=True, exist_ok=True)
    file = path / "syntax_error_detection.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file

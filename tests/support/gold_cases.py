"""Own cases of which an engine confirms some and contradicts others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

KEY, PART = "sql_understanding", "execution_accuracy"
RIGHT: dict[str, Any] = {
    "case_id": "right",
    "difficulty_level": "1",
    "dialect": "sqlite",
    "sql": "SELECT 1 AS a",
    "expected": {"result_type": "select", "columns": ["a"], "rows": [[1]]},
}
CONTRADICTED = RIGHT | {
    "case_id": "wrong",
    "expected": {"result_type": "select", "columns": ["a"], "rows": [[2]]},
}
BROKEN = RIGHT | {"case_id": "broken", "sql": "SELECT a FROM nowhere"}
UNCONFIRMED = RIGHT | {"case_id": "open", "dialect": "mysql"}


@pytest.fixture
def without_mysql(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No process that is started finds MariaDB."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(
        "import shutil\n"
        "which = shutil.which\n"
        "shutil.which = lambda name, *a, **k: None if 'maria' in name else which(name, *a, **k)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.delenv("EVALBOARD_MYSQL_DSN", raising=False)


def write_cases(folder: Path, *rows: dict[str, Any], part: str = PART) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{part}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path

"""Of a sampled test, every step-th row is for `make test`; `make test-full` takes all of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TESTS = """
import pytest

@pytest.mark.sampled(3)
@pytest.mark.parametrize("row", range(7))
def test_thinned(row): pass

@pytest.mark.sampled(2)
@pytest.mark.parametrize("row", [pytest.param(0, marks=pytest.mark.full), 1, 2, 3])
def test_full_rows_are_not_counted(row): pass

@pytest.mark.parametrize("row", range(2))
def test_whole(row): pass
"""
CONFTEST = Path(__file__).parents[1] / "conftest.py"


def collect(folder: Path, *words: str) -> list[str]:
    (folder / "conftest.py").write_text(CONFTEST.read_text("utf-8"))
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = full\n  sampled\n")
    (folder / "test_rows.py").write_text(TESTS)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--collect-only", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return [line.split("::")[1] for line in done.stdout.splitlines() if "::" in line]


def test_a_step_leaves_the_first_row_and_every_step_th_after_it(tmp_path):
    assert collect(tmp_path, "-m", "not full") == [
        *(f"test_thinned[{row}]" for row in (0, 3, 6)),
        *(f"test_full_rows_are_not_counted[{row}]" for row in (1, 3)),
        *(f"test_whole[{row}]" for row in (0, 1)),
    ]
    assert len(collect(tmp_path)) == 7 + 4 + 2

"""Every kind of fault, each in a few scenarios: nothing lost, nothing asked twice, every fault in
the log, the same scores. `make chaos` runs hundreds.

EVALBOARD_CHAOS says how many scenarios there are; `make test-full` sets it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.chaos import COLUMNS, format_table, tabulate
from tests.support.chaos_faults import KINDS
from tests.support.chaos_lab import Outcome

ROOT = Path(__file__).resolve().parents[2]
SCENARIOS = int(os.environ.get("EVALBOARD_CHAOS", str(len(KINDS))))


@pytest.mark.slow
def test_no_fault_loses_repeats_or_changes_anything() -> None:
    """In a process of its own, which forks its workers and must have no threads."""
    command = [sys.executable, "-m", "tests.support.chaos", "--json", "--seed", "7"]
    done = subprocess.run(
        [*command, "--scenarios", str(SCENARIOS)], cwd=ROOT, capture_output=True, text=True
    )
    assert done.stdout, done.stderr
    outcomes = [Outcome(**outcome) for outcome in json.loads(done.stdout)]
    table = tabulate(outcomes)
    assert len(outcomes) == SCENARIOS
    for kind, row in table.items():
        wrong = {column: row[column] for column in COLUMNS[2:] if row[column]}
        assert not wrong, f"{kind}: {wrong}\n{done.stderr}"
        assert row["faults"] or row["scenarios"] < 3, f"{kind} injected nothing"
    assert not [outcome.notes for outcome in outcomes if outcome.notes], done.stderr
    assert sum(row["faults"] for row in table.values()) > SCENARIOS, format_table(table)
    assert done.returncode == 0


def test_what_goes_wrong_fails_the_suite() -> None:
    for column in ("lost", "twice", "differs", "unlogged"):
        assert Outcome("429", **{column: 1}).failed
    assert Outcome("429", notes=["a seal"]).failed
    assert not Outcome("429", faults=3).failed
    table = format_table(tabulate([Outcome("429", faults=3), Outcome("429", lost=2)]))
    assert table.splitlines()[-1].split() == ["total", "2", "3", "2", "0", "0", "0"]

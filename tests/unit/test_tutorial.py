"""docs/tutorial.ipynb runs from its first cell to its last, in a kernel and in a shell."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
PATH = ROOT / "docs" / "tutorial.ipynb"
#: Reads cells as JSON and runs them in IPython's shell, which starts a loop for a cell that waits.
SHELL = """
import json, sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
for cell in json.load(sys.stdin):
    shell.run_cell(cell).raise_error()
names = shell.user_ns
score = float(names["own"].scores()["score"][0])
print(json.dumps({"state": names["run"].state, "score": score}))
"""


@pytest.fixture
def environment(tmp_path, monkeypatch) -> dict[str, str]:
    """Every variable that names the store names one of the test's own."""
    monkeypatch.setenv("EVALBOARD_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return dict(os.environ)


def read_code() -> list[str]:
    cells = json.loads(PATH.read_text("utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def list_outputs(cell: Any, kind: str) -> list[str]:
    """What a cell shows in one format."""
    return [out["data"][kind] for out in cell["outputs"] if kind in out.get("data", {})]


def test_it_runs_in_the_event_loop_of_a_notebook(environment):
    notebook = nbformat.read(PATH, as_version=4)
    nbformat.validate(notebook)
    nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": ROOT}}).execute()
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    first, _, scores, failed, case, compared, chart, own = cells
    progress, result = list_outputs(first, "text/plain")
    assert "60 of 60 cases, 100%" in progress  # the output that the run itself kept changing
    assert result.startswith("<run ")
    for cell, text in ((first, "sql_understanding"), (scores, "execution_accuracy")):
        assert text in list_outputs(cell, "text/html")[-1]
    assert "<table" in list_outputs(failed, "text/html")[0]
    assert "passed" in case.outputs[0].text
    assert "permutation" in list_outputs(compared, "text/html")[0]
    assert "vega" in json.dumps(chart.outputs).lower()
    assert "100.0" in list_outputs(own, "text/html")[-1]
    errors = [out for cell in cells for out in cell.outputs if out.output_type == "error"]
    assert errors == []


def test_it_runs_in_a_shell_that_has_no_loop_of_its_own(environment, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", SHELL],
        input=json.dumps(read_code()),
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout.splitlines()[-1]) == {"state": "done", "score": 100.0}


def test_it_holds_no_outputs():
    cells = json.loads(PATH.read_text("utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert code
    assert [cell["id"] for cell in code if cell["outputs"] or cell["execution_count"]] == []
    assert PATH.stat().st_size < 20_000

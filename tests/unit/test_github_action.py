"""The action of `hosting/github-action`, run as the runner would: its step, its inputs, a shell."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.slow
FOLDER = Path(__file__).parents[2] / "hosting" / "github-action"
ACTION = yaml.safe_load((FOLDER / "action.yml").read_text("utf-8"))


def run_action(folder: Path, **inputs: str) -> tuple[int, dict[str, str], str]:
    """Its status, its outputs, and the summary of the job."""
    [step] = ACTION["runs"]["steps"]
    values = {name: card.get("default", "") for name, card in ACTION["inputs"].items()} | inputs
    environment = {
        name: values[text.split("inputs.")[1].split(" ")[0]] for name, text in step["env"].items()
    }
    files = {name: folder / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    bin_folder = str(Path(sys.executable).parent)
    done = subprocess.run(
        ["bash", "-c", step["run"]],
        cwd=folder,
        env={
            **os.environ,
            **environment,
            **{name: str(path) for name, path in files.items()},
            "GITHUB_ACTION_PATH": str(FOLDER),
            "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}",
        },
        capture_output=True,
        text=True,
    )
    texts = {name: path.read_text() if path.exists() else "" for name, path in files.items()}
    lines = texts["GITHUB_OUTPUT"].splitlines()
    outputs = dict(line.split("=", 1) for line in lines)
    assert outputs, done.stderr
    return done.returncode, outputs, texts["GITHUB_STEP_SUMMARY"]


def test_a_worse_target_fails_against_the_folder_of_the_base_run(tmp_path):
    cases = {"benchmarks": "sql_understanding", "run-arguments": "--max-samples 40 --seed 2"}
    first, second = tmp_path / "main", tmp_path / "change"
    first.mkdir()
    second.mkdir()
    status, outputs, _ = run_action(
        first, target="baseline:sqlglot", **cases, **{"min-score": "20"}
    )
    assert (status, outputs["status"]) == (0, "passed")
    base = str(first / outputs["run-folder"])
    status, outputs, summary = run_action(
        second, target="baseline:constant", base=base, **cases, **{"max-drop": "5"}
    )
    assert (status, outputs["status"]) == (1, "failed")
    assert "Lost" in summary
    assert (second / "evalboard-data" / "gate.xml").is_file()


def test_every_output_is_one_that_the_step_writes():
    script = (FOLDER / "gate.sh").read_text("utf-8")
    for name, output in ACTION["outputs"].items():
        assert output["value"] == f"${{{{ steps.gate.outputs.{name} }}}}"
        assert f"{name}=" in script

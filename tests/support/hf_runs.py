"""Whole runs through the command line: what it printed, and the folder that it left."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evalcore.cli.main import main
from evalcore.records import Call, Record, Verdict
from evalcore.store.run_folder import RunFolder


class Done(Record, frozen=True):
    """The printed result of `evalcore run --json` and where its run is."""

    status: int
    printed: dict[str, Any]
    run_path: str

    @property
    def folder(self) -> RunFolder:
        return RunFolder(Path(self.run_path))

    def score(self, benchmark: str) -> float:
        return float(self.printed["benchmarks"][benchmark]["score"])

    def outcomes(self, benchmark: str) -> dict[str, int]:
        return dict(self.printed["benchmarks"][benchmark]["outcomes"])

    def verdicts(self, benchmark: str) -> list[Verdict]:
        scoring = self.folder.read_summary().scoring
        verdicts = self.folder.read_verdicts(scoring)
        return [line.verdict for line in verdicts if line.benchmark == benchmark]

    def calls(self) -> dict[tuple[str, int], Call]:
        """The answers of the target by sample and turn."""
        return {(call.key, call.turn): call for call in self.folder.read_calls()}


def evaluate(data: Path, *words: str, options: Mapping[str, object] | None = None) -> Done:
    """`evalcore run` with words of the command line and options of the target."""
    args = [
        word
        for name, value in (options or {}).items()
        for word in ("--target-option", f"{name}={value}")
    ]
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        status = main(["run", *words, *args, "--data", str(data), "--json"])
    printed = json.loads(out.getvalue().splitlines()[-1])
    return Done(status, printed, str(data / "runs" / printed["run_id"]))

"""The three files of an slm-evals run: results.json, results.csv, report.md in one folder."""

from __future__ import annotations

from pathlib import Path

from evalcore.errors import UsageError
from evalcore.exchange import reports
from evalcore.store.run_folder import RunFolder, write_atomic

_FILES = {"results.json": "json", "results.csv": "csv", "report.md": "md"}


def write_slm_reports(folder: RunFolder, out: Path, *, show_gated: bool = False) -> None:
    """Write a run's reports under slm-evals' names; raises UsageError where it cannot."""
    try:
        for name, form in _FILES.items():
            text = reports.render_report(folder, form, out.name, show_gated=show_gated)
            write_atomic(out / name, text.encode())
    except OSError as error:
        raise UsageError(f"output_dir {out}: {error.strerror}") from None

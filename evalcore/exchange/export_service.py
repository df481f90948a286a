"""One file of a run, made for a page: `python -m evalcore.exchange.export_service`.

The request comes as JSON on standard input, the file goes to standard output. What leaves here may
be read by anybody who sees the board: it holds no key and no place of this machine.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
from pathlib import Path

import msgspec

from evalcore.access import redaction
from evalcore.errors import EvalboardError
from evalcore.exchange import reports
from evalcore.exchange.bundle import exporter
from evalcore.runner.jobs.data_client import BUNDLE_FORM, EXPORT_REFUSED
from evalcore.settings import Settings
from evalcore.store import run_folder
from evalcore.views.runs import redact_paths

_MOST_MEMORY = 6 << 30
_MOST_SECONDS = 110


def build_export_file(run: str, form: str, settings: Settings) -> bytes:
    """A report or the bundle of a run. Raises what `reports.render` and `exporter.export` do."""
    folder = run_folder.find_run(run, settings.run_roots)
    if form == BUNDLE_FORM:
        with tempfile.TemporaryDirectory(prefix="evalcore-export-") as scratch:
            bundle_path = Path(scratch) / "bundle.zip"
            exporter.export_bundle(folder, bundle_path, settings)
            return bundle_path.read_bytes()
    censored = redaction.build_redactor(settings)
    text = reports.render_report(folder, form, show_gated=settings.show_gated, censored=censored)
    return text.encode()


def main() -> int:
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (_MOST_SECONDS, _MOST_SECONDS))
    request = json.loads(sys.stdin.read())
    settings = msgspec.convert(request["settings"], Settings)
    try:
        data, status = build_export_file(request["run"], request["form"], settings), 0
    except (EvalboardError, OSError, MemoryError) as error:
        reason = redact_paths(str(error)) or "there is not enough memory for this"
        data, status = reason.encode(), EXPORT_REFUSED
    sys.stdout.buffer.write(data)
    return status


if __name__ == "__main__":
    sys.exit(main())

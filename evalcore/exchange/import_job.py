"""The job `import`: a bundle that was handed in, checked, scored again and taken in, or refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evalcore.access.redaction import mask_target
from evalcore.errors import FileError, UsageError
from evalcore.exchange.bundle.importer import import_bundle
from evalcore.i18n import map_note
from evalcore.records import to_plain
from evalcore.runner.jobs import TaskContext
from evalcore.store.run_folder import RunFolder
from evalcore.views.runs import redact_paths


def import_uploaded_bundle(context: TaskContext, file: str) -> dict[str, Any]:
    """Take in the bundle at `file`, which is gone afterwards whatever happens.

    The result has what became of the run (`run`, `became`, `target`, `scores` with their levels),
    and with `identity` and `board` where pages show it. Raises UsageError with the reason of a
    refusal, in words that name no place of this machine.
    """
    bundle_path, report = Path(file), context.report_progress
    try:
        report("checking the bundle")
        done = import_bundle(
            bundle_path,
            context.settings,
            progress=report,
            scored=lambda count, total: report(f"{count} of {total} verdicts scored again"),
        )
    except UsageError as error:
        # whoever handed the file in knows it by another name
        bare = str(error).removeprefix(file).lstrip(":, ").removeprefix("refused: ")
        problem = error.problem if isinstance(error, FileError) else bare
        problem = map_note(problem, lambda text: text.replace(file, "the bundle"))
        raise UsageError(redact_paths(problem)) from None
    finally:
        bundle_path.unlink(missing_ok=True)
    spec = RunFolder(context.settings.runs_dir / done.run).read_spec()
    summary: dict[str, Any] = to_plain(done)
    identity, board = mask_target(spec.target.identity), spec.benchmarks[0].dataset
    return summary | {"identity": identity, "board": board}

"""The job `import`: a bundle that was handed in, checked, scored again and taken in, or refused."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from evalcore.access import policy
from evalcore.access.redaction import mask_target
from evalcore.errors import UsageError
from evalcore.exchange.bundle.importer import ImportedBundle, import_bundle
from evalcore.runner import jobs
from evalcore.runner.jobs import JobStopped, ProgressCallback
from evalcore.settings import Settings
from evalcore.store.run_folder import RunFolder
from evalcore.views.runs import redact_paths

#: Seconds that the scoring of a visitor's bundle may take where not everything is open.
_MOST_SECONDS = 3600
_BETWEEN = 0.3  # seconds between two words on how far it is


class _TookTooLong(JobStopped):
    """The time of a visitor's bundle is up."""


def import_uploaded_bundle(
    request: Mapping[str, Any], settings: Settings, keys: Mapping[str, str], say: ProgressCallback
) -> dict[str, Any]:
    """Take in the bundle at `request["file"]`, which is gone afterwards whatever happens.

    The result has what became of the run (`run`, `became`, `target`, `scores` with their levels),
    and with `identity` and `board` where pages show it. Raises UsageError with the reason of a
    refusal, in words that name no place of this machine.
    """
    bundle_path = Path(request["file"])
    try:
        say("checking the bundle")
        with _limit_duration(settings):
            done = import_bundle(
                bundle_path, settings, progress=say, scored=_build_progress_reporter(say)
            )
    except UsageError as error:
        raise UsageError(_format_refusal(str(error), bundle_path)) from None
    except _TookTooLong:
        hours = _MOST_SECONDS // 3600
        raise UsageError(f"scoring it again took more than {hours} h and was stopped") from None
    finally:
        bundle_path.unlink(missing_ok=True)
    return _summarize_import(done, settings)


def _summarize_import(done: ImportedBundle, settings: Settings) -> dict[str, Any]:
    spec = RunFolder(settings.runs_dir / done.run).read_spec()
    identity = mask_target(spec.target.identity)
    summary: dict[str, Any] = msgspec.to_builtins(done)
    return summary | {"identity": identity, "board": spec.benchmarks[0].dataset}


def _format_refusal(text: str, bundle_path: Path) -> str:
    """Without the place of the file, which whoever handed it in knows by another name."""
    bare = text.removeprefix(str(bundle_path)).lstrip(":, ").removeprefix("refused: ")
    return redact_paths(bare.replace(str(bundle_path), "the bundle"))


def _build_progress_reporter(say: ProgressCallback) -> Callable[[int, int], None]:
    """Tells how far it is, not oftener than anybody looks."""
    last = 0.0

    def report_progress(done: int, total: int) -> None:
        nonlocal last
        if done == total or time.monotonic() - last > _BETWEEN:
            last = time.monotonic()
            say(f"{done} of {total} verdicts scored again")

    return report_progress


@contextmanager
def _limit_duration(settings: Settings) -> Iterator[None]:
    """The time of a bundle that a visitor handed in is limited."""
    if not policy.is_restricted(settings):
        yield
        return
    before = signal.signal(signal.SIGALRM, _raise_too_long)
    signal.alarm(_MOST_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _raise_too_long(number: int, frame: object) -> NoReturn:
    raise _TookTooLong


if __name__ == "__main__":
    sys.exit(jobs.run_job(import_uploaded_bundle))

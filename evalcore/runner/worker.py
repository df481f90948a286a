"""The process that works on a run: `python -m evalcore.runner.worker FOLDER... [--rescore]`.

It reads keys as one JSON object from its standard input (never from its arguments), holds the lock
of the run folder while it lives, and ends with status 0 (done), 2 (cannot start) or 3 (incomplete).
For several folders it starts one worker after another: two local models at once would share memory
and cores, and both would be slower than in turn.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
from filelock import FileLock, Timeout

from evalcore import settings as configuration
from evalcore.access.secrets import Secrets
from evalcore.errors import CannotWrite, EvalboardError, RunBusy, RunRemoved, UsageError
from evalcore.i18n import Note
from evalcore.records import utc_now
from evalcore.results import Progress, RunState, RunSummary
from evalcore.runner import jobs, run_index
from evalcore.runner.execute import execute_run
from evalcore.runner.frozen_cases import require_same_cases
from evalcore.runner.summary import Event, Tracker
from evalcore.settings import Settings
from evalcore.store.index import record_run
from evalcore.store.repair import cut_torn_lines
from evalcore.store.run_folder import RunFolder
from evalcore.store.seal import SEAL

_LOOK = 2.0  # seconds: a page that looks whether a worker lives holds the lock for an instant


def work_on_run(
    folder: RunFolder,
    settings: Settings,
    secrets: Secrets,
    *,
    generate: bool = True,
    executor: str = "",
    on_tick: Callable[[Tracker], None] | None = None,
) -> RunSummary:
    """Execute under the lock and enter the result into the index; raises RunBusy. `executor` is
    "ray" or "process", and "" for that of the run.

    A finished run with nothing left to do stays as it is, byte for byte. A run that cannot start or
    go on says why where the pages look. Raises UsageError for an imported run, which was asked and
    judged elsewhere, for a sealed one, whose seal would break, and where the dataset of a run that
    goes on has changed.
    """
    if folder.read_spec().origin == "imported":
        raise UsageError(Note("run_imported_shown", run=folder.run_id))
    lock = FileLock(folder.lock_path, timeout=_LOOK)
    try:
        lock.acquire()
    except Timeout:
        raise RunBusy(Note("run_busy", run=folder.run_id)) from None
    except OSError as error:  # a folder that may only be read
        raise CannotWrite(Path(error.filename or folder.lock_path), error) from None
    try:
        summary = _find_or_execute(folder, settings, secrets, generate, executor, on_tick)
    except RunRemoved:  # what has its name now is another folder
        raise
    except OSError as error:  # of a write that no journal made: the summary, a data root that went
        failure = CannotWrite(Path(error.filename or folder.path), error)
        _write_failure(folder, str(failure))
        raise failure from None
    except EvalboardError as error:
        _write_failure(folder, str(error))
        raise
    except KeyboardInterrupt:  # of a person: a server that starts must not go on at their cost
        with suppress(OSError):
            _write_ended(folder, "cancelled")
        raise
    finally:
        with suppress(OSError):
            folder.cancel_path.unlink(missing_ok=True)  # it was meant for this worker
        lock.release()
    try:
        record_run(settings, folder)
    except EvalboardError as error:  # the run has ended well; whoever looks next enters it
        print(Note("run_not_indexed", run=folder.run_id, problem=error), file=sys.stderr)
    jobs.schedule_push(settings)
    return folder.read_summary() or summary  # in the order in which whoever reads it later sees it


def _find_or_execute(
    folder: RunFolder,
    settings: Settings,
    secrets: Secrets,
    generate: bool,
    executor: str,
    on_tick: Callable[[Tracker], None] | None,
) -> RunSummary:
    """The result of a run; one that has nothing left to do has it already."""
    # A visitor's run keeps their limits, whoever goes on with it
    mode = folder.read_spec().access
    run_settings = msgspec.structs.replace(settings, access=mode) if mode else settings
    spec, is_sealed = folder.read_spec(), os.path.lexists(folder.path / SEAL)
    if generate or is_sealed:
        finished = run_index.find_result(folder, spec, run_settings)
        if finished is not None:
            _write_ended(folder, finished.state)
            return finished
    if is_sealed:
        raise UsageError(Note("run_sealed", run=folder.run_id, seal=SEAL))
    _log_recovery(folder)
    _write_started(folder)
    if generate:
        with configuration.override_data_folder(run_settings.data):
            try:
                require_same_cases(folder, run_settings)
            except UsageError:  # the dataset changed, which concerns what is still to be asked
                if run_index.lacks_answers(folder, spec):
                    raise
    execute = _find_executor(executor or spec.executor)
    return execute(folder, run_settings, secrets, generate=generate, on_tick=on_tick)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="evalcore.runner.worker")
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--rescore", action="store_true")
    args = parser.parse_args(arguments)
    if len(args.folders) > 1:
        return _work_in_turn(args.folders)
    folder = RunFolder(args.folders[0])
    signal.signal(signal.SIGTERM, lambda *_: _ask_to_stop(folder))
    settings = configuration.load_settings(folder.path.resolve().parent.parent)
    secrets = Secrets({} if sys.stdin.isatty() else json.loads(sys.stdin.read() or "{}"))
    try:
        summary = work_on_run(folder, settings, secrets, generate=not args.rescore)
    except EvalboardError as error:
        print(error, file=sys.stderr)
        return 2
    return 0 if summary.is_complete else 3


def _work_in_turn(paths: Sequence[Path]) -> int:
    """A worker for each run; one that is cancelled ends the row: those that wait stay planned, to
    be resumed or deleted. Each is a process, so that no memory of a model outlives its run."""
    keys = sys.stdin.buffer.read()
    for folder in map(RunFolder, paths):
        if not folder.path.is_dir():  # deleted while it waited
            continue
        with folder.log_path.open("ab") as log:
            command = [sys.executable, "-m", "evalcore.runner.worker", str(folder.path)]
            subprocess.run(command, input=keys, stdout=log, stderr=log, check=False)
        if folder.path.is_dir() and folder.current_state() == "cancelled":
            break
    return 0


def _find_executor(name: str) -> Callable[..., RunSummary]:
    if name != "ray":
        return execute_run
    from evalcore.runner.cluster import execute_on_cluster

    return execute_on_cluster


def _ask_to_stop(folder: RunFolder) -> None:
    with suppress(OSError):  # the folder is gone: the worker stops anyway
        folder.cancel_path.touch()


def _log_recovery(folder: RunFolder) -> None:
    """Log what the worker before this one left behind where it did not come to its end."""
    before = folder.readable_progress()
    events = [("interrupted", "the last worker was killed, or its machine went down")]
    events = events if before is not None and before.state == "running" else []
    for name, size in cut_torn_lines(folder):
        events.append(("repaired", f"{name}: a torn last line of {size} bytes was cut off"))
    if events:
        with folder.open_journal(folder.events_path.name) as log:
            for kind, message in events:
                log.append(Event(at=utc_now(), kind=kind, message=message))


def _write_started(folder: RunFolder) -> None:
    """From now on a run whose lock is free is interrupted, and not about to start."""
    before = folder.readable_progress() or Progress(run_id=folder.run_id, state="running")
    moment = utc_now()
    folder.write_progress(
        msgspec.structs.replace(
            before, state="running", phase="loading", message="", started_at=moment, at=moment
        )
    )


def _write_ended(folder: RunFolder, state: RunState) -> None:
    """Say that a run has ended which somebody has asked to go on; else nothing is written."""
    before = folder.readable_progress()
    if before is not None and before.state in ("planned", "running", "interrupted"):
        folder.write_progress(
            msgspec.structs.replace(
                before, state=state, phase="", message="", in_flight=0, eta=None, at=utc_now()
            )
        )


def _write_failure(folder: RunFolder, message: str) -> None:
    before = folder.readable_progress() or Progress(run_id=folder.run_id, state="incomplete")
    with suppress(OSError):  # on a full disk the state follows from the lock, and the log says why
        folder.write_progress(
            msgspec.structs.replace(before, state="incomplete", message=message, at=utc_now())
        )


if __name__ == "__main__":
    sys.exit(main())

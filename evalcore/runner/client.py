"""The only door for pages: start, watch and steer runs without importing what runs them.

Planning, estimating and testing happen in a short-lived subprocess (`service`), a run in a detached
one (`worker`). Keys are handed over on standard input. Every function raises UsageError with a
message for people.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from evalcore.errors import EvalboardError, UsageError
from evalcore.records import Progress, Record, TargetSpec, now
from evalcore.runner import keeping, local_models, panel
from evalcore.runner.request import ConnectionReport, Estimate, RunRequest
from evalcore.secrets import Secrets, scrub
from evalcore.settings import ROOT, Settings
from evalcore.store import run_folder
from evalcore.store.index import open_index, record_run
from evalcore.store.pairs import new_pair, note_of
from evalcore.store.run_folder import RunFolder
from evalcore.targets import endpoints

R = TypeVar("R", bound=Record)
_SERVICE_TIMEOUT = 120.0


class SandboxAbility(Record, frozen=True):
    """Whether this host can run untrusted programs: `means` is "" where it cannot, then `problem`
    and `fix` are a sentence each; `enforced` names the protections that were seen to hold."""

    means: str = ""
    problem: str = ""
    fix: str = ""
    enforced: tuple[str, ...] = ()


def launch(request: RunRequest, keys: Mapping[str, str], settings: Settings) -> str:
    """Plan a run and start its worker; returns the run id."""
    run_id = str(_service("plan", request, keys, settings))
    _spawn(RunFolder(settings.runs_dir / run_id), keys)
    return run_id


def launch_pair(
    request: RunRequest, second: TargetSpec, keys: Mapping[str, str], settings: Settings
) -> tuple[str, str]:
    """Start two runs that differ in the target alone, tied by their notes; returns their ids.

    Two local models run in turn, the second when the first has ended; others at once. Where the
    second cannot be planned, neither is started.
    """
    first = TargetSpec(request.target, request.target_options)
    requests = [
        msgspec.structs.replace(
            request, target=who.key, target_options=who.options, note=note_of(side)
        )
        for who, side in zip((first, second), new_pair(), strict=True)
    ]
    folders: list[RunFolder] = []
    try:
        for one in requests:
            run_id = str(_service("plan", one, keys, settings))
            folders.append(RunFolder(settings.runs_dir / run_id))
    except EvalboardError:
        for folder in folders:
            shutil.rmtree(folder.path, ignore_errors=True)
        raise
    if all(one.target.startswith(local_models.PREFIX) for one in requests):
        _detach("succession", folders, keys)
    else:
        for folder in folders:
            _spawn(folder, keys)
    return folders[0].run_id, folders[1].run_id


def local_machine() -> local_models.Machine:
    """Models, devices and dtypes that a local target can choose from here."""
    return local_models.this_machine()


def look_at_model(target: str, options: Mapping[str, Any]) -> local_models.Look:
    """A local model before it is loaded; a problem is part of the answer."""
    return local_models.look(target, options)


def sandbox_ability(settings: Settings) -> SandboxAbility:
    """What this host can run in a sandbox; a probe in a subprocess, which takes about a second."""
    nothing = RunRequest(target="", benchmarks=())
    return msgspec.convert(_service("ability", nothing, {}, settings), SandboxAbility)


def estimate(request: RunRequest, settings: Settings) -> Estimate:
    """Calls, tokens, time and cost of a run that is not started yet."""
    return msgspec.convert(_service("estimate", request, {}, settings), Estimate)


def test_connection(
    target: str, options: Mapping[str, Any], keys: Mapping[str, str], settings: Settings
) -> ConnectionReport:
    """One tiny request to a target; a local model is looked at without being loaded."""
    request = RunRequest(target=target, target_options=dict(options), benchmarks=())
    return msgspec.convert(_service("test", request, keys, settings), ConnectionReport)


def cancel(run_id: str, settings: Settings) -> None:
    """Ask the worker to stop; what is journaled stays, and the run can be resumed."""
    folder = _own(run_id, settings)
    if not folder.alive():
        raise UsageError(f"run {run_id} is not running")
    folder.cancel_path.touch()


def resume(run_id: str, keys: Mapping[str, str], settings: Settings) -> None:
    """Go on with a run that is not complete; answered samples are not asked again."""
    folder = _idle(run_id, settings)
    _spawn(folder, keys)


def rescore(run_id: str, settings: Settings) -> None:
    """Score the journaled answers with the present scorers; the target is asked nothing."""
    folder = _idle(run_id, settings)
    if folder.spec().origin == "imported":
        raise UsageError(f"run {run_id} was imported; it can only be verified, not rescored")
    _spawn(folder, {}, "--rescore")


def delete(run_id: str, settings: Settings) -> None:
    """Move a run to the trash of the data folder; `restore` brings it back."""
    folder = _idle(run_id, settings)
    trash = settings.data_dir / "trash"
    trash.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(trash / run_id, ignore_errors=True)
    folder.path.rename(trash / run_id)
    open_index(settings).remove(run_id)
    keeping.send_later(settings)


def restore(run_id: str, settings: Settings) -> None:
    """Undo `delete`."""
    kept = run_folder.find(run_id, [settings.data_dir / "trash"])
    folder = RunFolder(settings.runs_dir / run_id)
    kept.path.rename(folder.path)
    if folder.summary_path.exists():
        record_run(settings, folder)
    keeping.send_later(settings)


def missing_keys(target: str, options: Mapping[str, Any], settings: Settings) -> tuple[str, ...]:
    """The environment variables that a target needs and that are not set."""
    if target.startswith("app:"):
        from evalcore.targets import application  # only here: it reads a description file

        spec = TargetSpec(target, dict(options))
        return application.missing_variables(spec, settings, Secrets())
    if not target.startswith("openai:"):
        return ()
    address, variable = str(options.get("base_url", "")), str(options.get("api_key_env", ""))
    place = endpoints.locate(target, settings, address, variable)
    needed = place.endpoint.api_key_env
    return (needed,) if needed and not place.key_optional and not os.environ.get(needed) else ()


def check_judges(judges: Sequence[str]) -> None:
    """Raises UsageError for a panel that cannot sit."""
    panel.check(judges)


def missing_judge_keys(judges: Iterable[str], settings: Settings) -> tuple[str, ...]:
    """As `missing_keys`, for a panel; raises UsageError for a judge that is none."""
    specs = [panel.spec_of(judge) for judge in judges]
    found = (name for spec in specs for name in missing_keys(spec.key, spec.options, settings))
    return tuple(dict.fromkeys(found))


def reconcile(settings: Settings) -> list[str]:
    """Resume the runs that lost their worker, where their keys are in the environment.

    Called once when the app starts (a container may have ended under its workers). Returns the ids
    of the runs that were taken up again; the others stay interrupted and say which key they need.
    """
    resumed = []
    for folder in run_folder.folders([settings.runs_dir]):
        if folder.state() != "interrupted":
            continue
        try:
            spec = folder.spec()
            missing = missing_keys(spec.target.key, spec.target.options, settings)
            missing += missing_judge_keys(panel.sits_on(spec), settings)
        except EvalboardError as error:
            _note(folder, str(error))
            continue
        if missing:
            _note(folder, f"interrupted; resume needs {', '.join(missing)}")
        else:
            _spawn(folder, {})
            resumed.append(folder.run_id)
    return resumed


def _note(folder: RunFolder, message: str) -> None:
    progress = folder.progress() or Progress(run_id=folder.run_id, state="interrupted")
    marked = msgspec.structs.replace(
        progress, state="interrupted", message=message, in_flight=0, eta=None, at=now()
    )
    folder.write_progress(marked)


def _own(run_id: str, settings: Settings) -> RunFolder:
    return run_folder.find(run_id, [settings.runs_dir])


def _idle(run_id: str, settings: Settings) -> RunFolder:
    folder = _own(run_id, settings)
    if folder.alive():
        raise UsageError(f"run {run_id} is running; cancel it first")
    return folder


def _service(verb: str, request: RunRequest, keys: Mapping[str, str], settings: Settings) -> Any:
    given = msgspec.json.encode({"request": request, "keys": dict(keys), "settings": settings})
    try:
        done = subprocess.run(
            [sys.executable, "-m", "evalcore.runner.service", verb],
            input=given,
            capture_output=True,
            timeout=_SERVICE_TIMEOUT,
            env=_environment(),
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise UsageError(f"no answer within {_SERVICE_TIMEOUT:.0f} s") from None
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        raise UsageError(scrub(lines[-1] if lines else "the service ended", keys.values()))
    result = json.loads(done.stdout)
    if "error" in result:
        raise UsageError(result["error"])
    return result["ok"]


def _spawn(folder: RunFolder, keys: Mapping[str, str], *flags: str) -> None:
    folder.cancel_path.unlink(missing_ok=True)  # left by a worker that was killed before it saw it
    _detach("worker", [folder], keys, *flags)


def _detach(
    module: str, folders: Sequence[RunFolder], keys: Mapping[str, str], *flags: str
) -> None:
    """Start a process in a session of its own: it outlives the page, the tab and the server."""
    paths = [str(folder.path) for folder in folders]
    with folders[0].log_path.open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", f"evalcore.runner.{module}", *paths, *flags],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env=_environment(),
        )
    assert process.stdin is not None  # noqa: S101 - asked for by PIPE
    process.stdin.write(json.dumps(dict(keys)).encode())
    process.stdin.close()


def _environment() -> dict[str, str]:
    """This environment, with the project importable wherever the app was started."""
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def worker_log(run_id: str, settings: Settings) -> str:
    """The end of what the worker printed, for the Runs page."""
    path: Path = _own(run_id, settings).log_path
    return path.read_text(encoding="utf-8", errors="replace")[-4000:] if path.exists() else ""

"""The only door for pages: start, watch and steer runs without importing what runs them.

Planning, estimating and testing happen in a short-lived subprocess (`service`), a run in a detached
one (`worker`). Keys are handed over on standard input. Every function raises UsageError with a
message for people; those that start or change something ask first whether the `visitor` may
(AccessDenied), and what they start is bound by what he may: names, addresses, money.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from filelock import FileLock, Timeout

from evalcore import access
from evalcore.access import OPERATOR, AccessDenied, Visitor
from evalcore.errors import EvalboardError, UsageError
from evalcore.records import Progress, Record, TargetSpec, utc_now
from evalcore.runner import allowance, allowed, keeping, local_models, panel, processes
from evalcore.runner.request import ConnectionReport, Estimate, RunRequest
from evalcore.secrets import Secrets
from evalcore.settings import Settings
from evalcore.store import run_folder
from evalcore.store.index import open_index
from evalcore.store.pairs import create_comparison_sides, format_comparison_note
from evalcore.store.run_folder import RunFolder
from evalcore.targets import endpoints
from evalcore.targets import target_policy as targets_allowed

R = TypeVar("R", bound=Record)
_WAIT_FOR_OTHERS = 150.0  # seconds that a launch waits for others that are being planned


class SandboxAbility(Record, frozen=True):
    """Whether this host can run untrusted programs: `means` is "" where it cannot, then `problem`
    and `fix` are a sentence each; `enforced` names the protections that were seen to hold."""

    means: str = ""
    problem: str = ""
    fix: str = ""
    enforced: tuple[str, ...] = ()


def launch(
    request: RunRequest, keys: Mapping[str, str], settings: Settings, *, visitor: Visitor
) -> str:
    """Plan a run and start its worker; returns the run id."""
    access.require_access(settings, visitor, "launch")
    with _in_turn(settings, visitor):
        allowance.check(settings, visitor)
        made = _marked(request, settings, visitor)
        run_id = str(processes.service("plan", made, keys, settings, visitor))
        _spawn(RunFolder(settings.runs_dir / run_id), keys, settings, visitor)
    return run_id


def launch_pair(
    request: RunRequest,
    second: TargetSpec,
    keys: Mapping[str, str],
    settings: Settings,
    *,
    visitor: Visitor,
) -> tuple[str, str]:
    """Start two runs that differ in the target alone, tied by their notes; returns their ids.

    Two local models run in turn, the second when the first has ended; others at once. Where the
    second cannot be planned, neither is started.
    """
    access.require_access(settings, visitor, "launch")
    first = TargetSpec(request.target, request.target_options)
    marked = _marked(request, settings, visitor)
    requests = [
        msgspec.structs.replace(
            marked, target=who.key, target_options=who.options, note=format_comparison_note(side)
        )
        for who, side in zip((first, second), create_comparison_sides(), strict=True)
    ]
    with _in_turn(settings, visitor):
        allowance.check(settings, visitor, len(requests))
        first_folder, second_folder = _plan_all(requests, keys, settings, visitor)
        if all(one.target.startswith(local_models.PREFIX) for one in requests):
            environment = processes.environment(settings, visitor)
            processes.start("succession", [first_folder, second_folder], keys, environment)
        else:
            for folder in (first_folder, second_folder):
                _spawn(folder, keys, settings, visitor)
    return first_folder.run_id, second_folder.run_id


def _plan_all(
    requests: Sequence[RunRequest],
    keys: Mapping[str, str],
    settings: Settings,
    visitor: Visitor,
) -> list[RunFolder]:
    """The folders of all requests, or of none."""
    folders: list[RunFolder] = []
    try:
        for one in requests:
            run_id = str(processes.service("plan", one, keys, settings, visitor))
            folders.append(RunFolder(settings.runs_dir / run_id))
    except EvalboardError:
        for folder in folders:
            shutil.rmtree(folder.path, ignore_errors=True)
        raise
    return folders


def local_machine() -> local_models.Machine:
    """Models, devices and dtypes that a local target can choose from here."""
    return local_models.this_machine()


def look_at_model(
    target: str, options: Mapping[str, Any], settings: Settings, *, visitor: Visitor
) -> local_models.Look:
    """A local model before it is loaded; a problem is part of the answer."""
    access.require_access(settings, visitor, "launch")
    seen, request = access.restrict_settings(settings, visitor), _asked(target, options)
    try:
        allowed.check(request, seen, Secrets())
    except UsageError as error:
        return local_models.Look(problem=str(error))
    return local_models.look(target, options)


def sandbox_ability(settings: Settings) -> SandboxAbility:
    """What this host can run in a sandbox; a probe in a subprocess, which takes about a second."""
    nothing = _asked("", {})
    found = processes.service("ability", nothing, {}, settings, OPERATOR)
    return msgspec.convert(found, SandboxAbility)


def estimate(request: RunRequest, settings: Settings, *, visitor: Visitor) -> Estimate:
    """Calls, tokens, time and cost of a run that is not started yet."""
    access.require_access(settings, visitor, "launch")
    return msgspec.convert(processes.service("estimate", request, {}, settings, visitor), Estimate)


def test_connection(
    target: str,
    options: Mapping[str, Any],
    keys: Mapping[str, str],
    settings: Settings,
    *,
    visitor: Visitor,
) -> ConnectionReport:
    """One tiny request to a target; a local model is looked at without being loaded."""
    access.require_access(settings, visitor, "launch")
    found = processes.service("test", _asked(target, options), keys, settings, visitor)
    return msgspec.convert(found, ConnectionReport)


def _asked(target: str, options: Mapping[str, Any]) -> RunRequest:
    return RunRequest(target=target, target_options=dict(options), benchmarks=())


def cancel(run_id: str, settings: Settings, *, visitor: Visitor) -> None:
    """Ask the worker to stop; what is journaled stays, and the run can be resumed."""
    access.require_access(settings, visitor, "steer")
    folder = _own(run_id, settings)
    if not folder.has_live_worker():
        raise UsageError(f"run {run_id} is not running")
    folder.cancel_path.touch()


def resume(run_id: str, keys: Mapping[str, str], settings: Settings, *, visitor: Visitor) -> None:
    """Go on with a run that is not complete; answered samples are not asked again."""
    access.require_access(settings, visitor, "launch")
    with _in_turn(settings, visitor):
        folder = _idle(run_id, settings)
        allowance.check(settings, visitor, again=run_id)
        allowed.check_run(
            folder.read_spec(), access.restrict_settings(settings, visitor), Secrets(keys)
        )
        _spawn(folder, keys, settings, visitor)


def rescore(run_id: str, settings: Settings, *, visitor: Visitor) -> None:
    """Score the journaled answers with the present scorers; the target is asked nothing."""
    access.require_access(settings, visitor, "steer")
    folder = _idle(run_id, settings)
    if folder.read_spec().origin == "imported":
        raise UsageError(f"run {run_id} was imported; it can only be verified, not rescored")
    with _in_turn(settings, visitor):
        allowance.check(settings, visitor, again=run_id)  # judges may be asked
        _spawn(folder, {}, settings, visitor, "--rescore")


def delete(run_id: str, settings: Settings, *, visitor: Visitor) -> None:
    """Move a run to the trash of the data folder; `restore` brings it back."""
    access.require_access(settings, visitor, "steer")
    folder = RunFolder(settings.runs_dir / run_id)
    if not run_folder.is_run_id(run_id) or not os.path.lexists(folder.path):
        raise UsageError(f"{run_id!r} is no run here; remove or rename its folder by hand")
    if folder.has_live_worker():
        raise UsageError(f"run {run_id} is running; cancel it first")
    trash = settings.data_dir / "trash"
    trash.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(trash / run_id, ignore_errors=True)
    if os.path.lexists(trash / run_id):  # a damaged run may have been a file or a link
        (trash / run_id).unlink()
    folder.path.rename(trash / run_id)
    with suppress(EvalboardError):  # the index follows the folders
        open_index(settings).remove(run_id)
    keeping.send_later(settings)


def restore(run_id: str, settings: Settings, *, visitor: Visitor) -> None:
    """Undo `delete`."""
    access.require_access(settings, visitor, "steer")
    kept = settings.data_dir / "trash" / run_id
    if not run_folder.is_run_id(run_id) or not os.path.lexists(kept):
        raise UsageError(f"run {run_id!r} is not in the trash")
    if os.path.lexists(settings.runs_dir / run_id):
        raise UsageError(f"run {run_id} is there again; delete that one first")
    kept.rename(settings.runs_dir / run_id)
    keeping.send_later(settings)


def missing_keys(target: str, options: Mapping[str, Any], settings: Settings) -> tuple[str, ...]:
    """The environment variables that a target needs and that are not set; a visitor's own variable
    counts as none, so that he types the key himself."""
    if target.startswith("app:"):
        from evalcore.targets import application  # only here: it reads a description file

        spec = TargetSpec(target, dict(options))
        targets_allowed.check_target(spec, settings, Secrets())
        return application.missing_variables(spec, settings, Secrets())
    if not target.startswith("openai:"):
        return ()
    address, variable = str(options.get("base_url", "")), str(options.get("api_key_env", ""))
    place = endpoints.resolve_route(target, settings, address, variable)
    needed = place.endpoint.api_key_env
    if not needed or place.key_optional:
        return ()
    own = not variable or variable == endpoints.resolve_endpoint(target, settings)[1].api_key_env
    here = os.environ.get(needed) and (own or not access.is_restricted(settings))
    return () if here else (needed,)


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
    settings = access.restrict_settings(settings, OPERATOR)
    for folder in run_folder.list_run_folders([settings.runs_dir]):
        if folder.current_state() != "interrupted":
            continue
        try:
            spec = folder.read_spec()
            missing = missing_keys(spec.target.key, spec.target.options, settings)
            missing += missing_judge_keys(panel.sits_on(spec), settings)
        except EvalboardError as error:
            _note(folder, str(error))
            continue
        if missing:
            _note(folder, f"interrupted; resume needs {', '.join(missing)}")
        else:
            _spawn(folder, {}, settings, OPERATOR)  # bound by the mode that its spec holds
            resumed.append(folder.run_id)
    return resumed


def _note(folder: RunFolder, message: str) -> None:
    progress = folder.read_progress() or Progress(run_id=folder.run_id, state="interrupted")
    marked = msgspec.structs.replace(
        progress, state="interrupted", message=message, in_flight=0, eta=None, at=utc_now()
    )
    folder.write_progress(marked)


def _own(run_id: str, settings: Settings) -> RunFolder:
    return run_folder.find_run(run_id, [settings.runs_dir])


def _idle(run_id: str, settings: Settings) -> RunFolder:
    folder = _own(run_id, settings)
    if folder.has_live_worker():
        raise UsageError(f"run {run_id} is running; cancel it first")
    return folder


@contextmanager
def _in_turn(settings: Settings, visitor: Visitor) -> Iterator[None]:
    """Visitors start runs one after another: two at once would each find room for one more."""
    if access.resolve_access_mode(settings, visitor) == "open":
        yield
        return
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    lock = FileLock(settings.data_dir / "launch.lock", timeout=_WAIT_FOR_OTHERS)
    try:
        lock.acquire()
    except Timeout:
        raise AccessDenied("other runs are being started; try again in a minute") from None
    try:
        yield
    finally:
        lock.release()


def _marked(request: RunRequest, settings: Settings, visitor: Visitor) -> RunRequest:
    """The request with who asks, where that is a visitor; the mark of an operator is none."""
    found = access.resolve_access_mode(settings, visitor)
    if found == "open":
        return msgspec.structs.replace(request, access="", started_by="")
    mark = access.compute_visitor_id(settings, visitor)
    return msgspec.structs.replace(request, access=found, started_by=mark)


def _spawn(
    folder: RunFolder, keys: Mapping[str, str], settings: Settings, visitor: Visitor, *flags: str
) -> None:
    """Start the worker of a run, which is `planned` until it has begun: whatever an earlier attempt
    ended with is over at once."""
    before = folder.readable_progress() or Progress(run_id=folder.run_id, state="planned")
    planned = msgspec.structs.replace(
        before, state="planned", phase="", message="", in_flight=0, eta=None, at=utc_now()
    )
    folder.write_progress(planned)
    folder.cancel_path.unlink(missing_ok=True)  # left by a worker that was killed before it saw it
    processes.start("worker", [folder], keys, processes.environment(settings, visitor), *flags)


def worker_log(run_id: str, settings: Settings, *, visitor: Visitor) -> str:
    """The end of what the worker printed; it names files, so that only launchers may read it."""
    access.require_access(settings, visitor, "launch")
    path: Path = _own(run_id, settings).log_path
    return path.read_text(encoding="utf-8", errors="replace")[-4000:] if path.exists() else ""

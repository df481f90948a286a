"""The only door for pages: start, watch and steer runs without importing what runs them.

Planning, estimating and testing are tasks (`jobs.call_task`), a run has a detached process
(`worker`). Keys are handed over on standard input. Every function raises UsageError with a
message for people; those that start or change something ask first whether the `visitor` may
(AccessDenied), and what they start is bound by what they may do: names, addresses, money.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
from filelock import FileLock, Timeout

from evalcore.access import policy
from evalcore.access.policy import OPERATOR, AccessDenied, Visitor
from evalcore.access.secrets import Secrets
from evalcore.catalog import call_reference, find_target_kind
from evalcore.errors import EvalboardError, UsageError
from evalcore.i18n import Note
from evalcore.records import TargetSpec, utc_now
from evalcore.results import Progress
from evalcore.runner import jobs, local_models, request_policy, run_request, sweep
from evalcore.runner.run_request import ConnectionReport, Estimate, RunRequest
from evalcore.sandbox.program import SandboxSupport
from evalcore.settings import Settings
from evalcore.store import run_folder
from evalcore.store.headers import create_comparison_sides, format_comparison_note
from evalcore.store.index import open_index
from evalcore.store.run_folder import RunFolder
from evalcore.store.sweeps import Sweep, Variant, save_sweep
from evalcore.targets.base import ServedModel
from evalcore.targets.endpoints import name_any_model

_WAIT_FOR_OTHERS = 150.0  # seconds that a launch waits for others that are being planned


def launch_run(
    request: RunRequest, keys: Mapping[str, str], settings: Settings, *, visitor: Visitor
) -> str:
    """Plan a run and start its worker; returns the run id."""
    policy.require_access(settings, visitor, "launch")
    with _launch_lock(settings, visitor):
        request_policy.check_quota(settings, visitor)
        stamped = _stamp_visitor(request, settings, visitor)
        [folder] = _plan_all([stamped], keys, settings, visitor)
        _start_worker([folder], keys, settings, visitor)
    return folder.run_id


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
    policy.require_access(settings, visitor, "launch")
    first = TargetSpec(request.target, request.target_options)
    marked = _stamp_visitor(request, settings, visitor)
    requests = [
        msgspec.structs.replace(
            marked,
            target=target_spec.key,
            target_options=target_spec.options,
            note=format_comparison_note(side),
        )
        for target_spec, side in zip((first, second), create_comparison_sides(), strict=True)
    ]
    with _launch_lock(settings, visitor):
        request_policy.check_quota(settings, visitor, len(requests))
        folders = _plan_all(requests, keys, settings, visitor)
        in_turn = all(each.target.startswith(local_models.PREFIX) for each in requests)
        for group in [folders] if in_turn else [[folder] for folder in folders]:
            _start_worker(group, keys, settings, visitor)
    return folders[0].run_id, folders[1].run_id


def list_sweep_variants(
    request: RunRequest,
    targets: Sequence[str],
    adapters: Sequence[str],
    dtypes: Sequence[str],
    settings: Settings,
    *,
    visitor: Visitor,
) -> tuple[Variant, ...]:
    """The variants of a sweep: the target of the request and others, with adapters and precisions.
    Raises UsageError, also where folders of this machine are not for the visitor to name."""
    policy.require_access(settings, visitor, "launch")
    if policy.resolve_access_mode(settings, visitor) != "open":
        raise UsageError(Note("sweep_restricted"))
    named = [request.target, *targets]
    return sweep.list_variants(named, request.target_options, adapters, dtypes)


def launch_sweep(
    request: RunRequest,
    variants: Sequence[Variant],
    keys: Mapping[str, str],
    settings: Settings,
    *,
    visitor: Visitor,
) -> Sweep:
    """Start a run for every variant of `list_sweep_variants`, one after another: local models would
    share memory and cores. Where one cannot be planned, none is started."""
    policy.require_access(settings, visitor, "launch")
    requests = [
        msgspec.structs.replace(
            _stamp_visitor(request, settings, visitor),
            target=variant.target.key,
            target_options=variant.target.options,
        )
        for variant in variants
    ]
    with _launch_lock(settings, visitor):
        request_policy.check_quota(settings, visitor, len(requests))
        folders = _plan_all(requests, keys, settings, visitor)
        planned = Sweep(
            id=run_folder.new_run_id(),
            created_at=utc_now(),
            variants=sweep.assign_runs(variants, [folder.run_id for folder in folders]),
        )
        save_sweep(planned, settings)
        _start_worker(folders, keys, settings, visitor)
    return planned


def _plan_all(
    requests: Sequence[RunRequest], keys: Mapping[str, str], settings: Settings, visitor: Visitor
) -> list[RunFolder]:
    """The folders of all requests, or of none."""
    folders: list[RunFolder] = []
    try:
        for request in requests:
            arguments = {"request": request}
            run_id = jobs.call_task(
                "make_plan", arguments, settings, str, visitor=visitor, keys=keys
            )
            folders.append(RunFolder(settings.runs_dir / run_id))
    except EvalboardError:
        for folder in folders:
            shutil.rmtree(folder.path, ignore_errors=True)
        raise
    return folders


def local_machine() -> local_models.Machine:
    """Models, devices and dtypes that a local target can choose from here."""
    return local_models.describe_machine()


def inspect_model(
    target: str, options: Mapping[str, Any], settings: Settings, *, visitor: Visitor
) -> local_models.ModelInspection:
    """A local model before it is loaded; a problem is part of the answer."""
    policy.require_access(settings, visitor, "launch")
    restricted = policy.restrict_settings(settings, visitor)
    try:
        request_policy.check_request(_build_probe_request(target, options), restricted, Secrets())
    except UsageError as error:
        return local_models.ModelInspection(problem=str(error))
    return local_models.inspect_local_model(target, options)


def sandbox_ability(settings: Settings) -> SandboxSupport:
    """What this host can run in a sandbox; a probe in a subprocess, which takes about a second."""
    return jobs.call_task("probe_sandbox", {}, settings, SandboxSupport, visitor=OPERATOR)


def estimate_run(request: RunRequest, settings: Settings, *, visitor: Visitor) -> Estimate:
    """Calls, tokens, time and cost of a run that is not started yet."""
    policy.require_access(settings, visitor, "launch")
    arguments = {"request": request}
    return jobs.call_task("estimate_run", arguments, settings, Estimate, visitor=visitor)


def test_connection(
    target: str,
    options: Mapping[str, Any],
    keys: Mapping[str, str],
    settings: Settings,
    *,
    visitor: Visitor,
) -> ConnectionReport:
    """One tiny request to a target; a local model is looked at without being loaded."""
    policy.require_access(settings, visitor, "launch")
    arguments = {"request": _build_probe_request(target, options)}
    return jobs.call_task(
        "test_connection", arguments, settings, ConnectionReport, visitor=visitor, keys=keys
    )


def list_models(
    endpoint: str,
    options: Mapping[str, Any],
    keys: Mapping[str, str],
    settings: Settings,
    *,
    visitor: Visitor,
) -> list[ServedModel]:
    """The models at an endpoint, named as in the settings or by its address."""
    policy.require_access(settings, visitor, "launch")
    spec = name_any_model(endpoint, options, settings)
    arguments = {"request": _build_probe_request(spec.key, spec.options)}
    return jobs.call_task(
        "list_models", arguments, settings, list[ServedModel], visitor=visitor, keys=keys
    )


def _build_probe_request(target: str, options: Mapping[str, Any]) -> RunRequest:
    return RunRequest(target=target, target_options=dict(options), benchmarks=())


def read_preflight(run_id: str, settings: Settings) -> ConnectionReport | None:
    """What the target of a run could do before it, None where nobody had probed it."""
    try:
        card = run_folder.find_run(run_id, settings.run_roots).read_card()
        return msgspec.convert(card.get("preflight"), ConnectionReport | None)
    except (EvalboardError, msgspec.ValidationError):
        return None


def cancel_run(run_id: str, settings: Settings, *, visitor: Visitor) -> None:
    """Ask the worker to stop; what is journaled stays, and the run can be resumed."""
    policy.require_access(settings, visitor, "steer")
    folder = find_own_run(run_id, settings)
    if not folder.has_live_worker():
        raise UsageError(Note("run_idle", run=run_id))
    folder.cancel_path.touch()


def raise_budget(run_id: str, budget: float, settings: Settings) -> None:
    """Give a run that is not at work another budget in USD, 0 for none; raises UsageError."""
    run_request.check_budget(budget)
    _find_idle_run(run_id, settings).raise_budget(budget)


def resume_run(
    run_id: str,
    keys: Mapping[str, str],
    settings: Settings,
    *,
    visitor: Visitor,
    budget: float | None = None,
) -> None:
    """Go on with a run that is not complete; answered samples are not asked again. `budget` in USD,
    0 for none, replaces that of the run."""
    policy.require_access(settings, visitor, "launch")
    with _launch_lock(settings, visitor):
        folder = _find_idle_run(run_id, settings)
        if budget is not None:
            raise_budget(run_id, budget, settings)
        request_policy.check_quota(settings, visitor, resumed_run=run_id)
        request_policy.check_run(
            folder.read_spec(), policy.restrict_settings(settings, visitor), Secrets(keys)
        )
        _start_worker([folder], keys, settings, visitor)


def rescore_run(run_id: str, settings: Settings, *, visitor: Visitor) -> None:
    """Score the journaled answers with the present scorers; the target is asked nothing."""
    policy.require_access(settings, visitor, "steer")
    folder = _find_idle_run(run_id, settings)
    if folder.read_spec().origin == "imported":
        raise UsageError(Note("run_imported", run=run_id))
    with _launch_lock(settings, visitor):
        request_policy.check_quota(settings, visitor, resumed_run=run_id)  # judges may be asked
        _start_worker([folder], {}, settings, visitor, "--rescore")


def delete_run(run_id: str, settings: Settings, *, visitor: Visitor) -> None:
    """Move a run to the trash of the data folder; `restore_run` brings it back."""
    policy.require_access(settings, visitor, "steer")
    folder = RunFolder(settings.runs_dir / run_id)
    if not run_folder.is_run_id(run_id) or not os.path.lexists(folder.path):
        raise UsageError(Note("run_folder_none", run=f"{run_id!r}"))
    if folder.has_live_worker():
        raise UsageError(Note("run_active", run=run_id))
    trash = settings.data_dir / "trash"
    trash.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(trash / run_id, ignore_errors=True)
    if os.path.lexists(trash / run_id):  # a damaged run may have been a file or a link
        (trash / run_id).unlink()
    folder.path.rename(trash / run_id)
    with suppress(EvalboardError):  # the index follows the folders
        open_index(settings).remove(run_id)
    jobs.schedule_push(settings)


def restore_run(run_id: str, settings: Settings, *, visitor: Visitor) -> None:
    """Undo `delete_run`."""
    policy.require_access(settings, visitor, "steer")
    trashed = settings.data_dir / "trash" / run_id
    if not run_folder.is_run_id(run_id) or not os.path.lexists(trashed):
        raise UsageError(Note("run_not_in_trash", run=f"{run_id!r}"))
    if os.path.lexists(settings.runs_dir / run_id):
        raise UsageError(Note("run_there_again", run=run_id))
    trashed.rename(settings.runs_dir / run_id)
    jobs.schedule_push(settings)


def missing_keys(target: str, options: Mapping[str, Any], settings: Settings) -> tuple[str, ...]:
    """The environment variables that a target needs and that are not set; a visitor's own variable
    counts as none, so that they type the key themselves."""
    card = find_target_kind(target)
    if card is None:
        return ()
    needed = [option.name for option in card.secrets if option.default is None]
    missing = [name for name in needed if not os.environ.get(name)]
    if card.missing_keys:
        missing += call_reference(
            card.missing_keys, card.prefix, TargetSpec(target, dict(options)), settings
        )
    return tuple(dict.fromkeys(missing))


def check_judges(judges: Sequence[str]) -> None:
    """Raises UsageError for a panel that cannot sit."""
    run_request.check_panel(judges)


def missing_judge_keys(judges: Iterable[str], settings: Settings) -> tuple[str, ...]:
    """As `missing_keys`, for a panel; raises UsageError for a judge that is none."""
    specs = [run_request.parse_model_spec(judge) for judge in judges]
    missing = (name for spec in specs for name in missing_keys(spec.key, spec.options, settings))
    return tuple(dict.fromkeys(missing))


def reconcile_runs(settings: Settings) -> list[str]:
    """Resume the runs that lost their worker, where their keys are in the environment.

    Called once when the app starts (a container may have ended under its workers). Returns the ids
    of the runs that were taken up again; the others stay interrupted and say which key they need.
    """
    resumed = []
    settings = policy.restrict_settings(settings, OPERATOR)
    for folder in run_folder.list_run_folders([settings.runs_dir]):
        if folder.current_state() != "interrupted":
            continue
        try:
            spec = folder.read_spec()
            missing = missing_keys(spec.target.key, spec.target.options, settings)
            missing += missing_judge_keys(run_request.list_judge_specs(spec), settings)
        except EvalboardError as error:
            _write_interrupted_note(folder, str(error))
            continue
        if missing:
            _write_interrupted_note(folder, Note("run_resume_needs", names=", ".join(missing)))
        else:
            _start_worker([folder], {}, settings, OPERATOR)  # bound by the mode that its spec holds
            resumed.append(folder.run_id)
    return resumed


def _write_interrupted_note(folder: RunFolder, message: str) -> None:
    progress = folder.read_progress() or Progress(run_id=folder.run_id, state="interrupted")
    marked = msgspec.structs.replace(
        progress, state="interrupted", message=message, in_flight=0, eta=None, at=utc_now()
    )
    folder.write_progress(marked)


def find_own_run(run_id: str, settings: Settings) -> RunFolder:
    """The folder of a run that was made here; raises UsageError for a shipped one."""
    folder = run_folder.find_run(run_id, settings.run_roots)
    if folder.path.parent != settings.runs_dir:
        raise UsageError(Note("run_shipped", run=run_id))
    return folder


def _find_idle_run(run_id: str, settings: Settings) -> RunFolder:
    folder = find_own_run(run_id, settings)
    if folder.has_live_worker():
        raise UsageError(Note("run_active", run=run_id))
    return folder


@contextmanager
def _launch_lock(settings: Settings, visitor: Visitor) -> Iterator[None]:
    """Visitors start runs one after another: two at once would each find room for one more."""
    if policy.resolve_access_mode(settings, visitor) == "open":
        yield
        return
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    lock = FileLock(settings.data_dir / "launch.lock", timeout=_WAIT_FOR_OTHERS)
    try:
        lock.acquire()
    except Timeout:
        raise AccessDenied(Note("access_in_turn")) from None
    try:
        yield
    finally:
        lock.release()


def _stamp_visitor(request: RunRequest, settings: Settings, visitor: Visitor) -> RunRequest:
    """The request with who asks, where that is a visitor; the mark of an operator is none."""
    mode = policy.resolve_access_mode(settings, visitor)
    if mode == "open":
        return msgspec.structs.replace(request, access="", started_by="")
    visitor_id = policy.compute_visitor_id(settings, visitor)
    return msgspec.structs.replace(request, access=mode, started_by=visitor_id)


def _start_worker(
    folders: Sequence[RunFolder],
    keys: Mapping[str, str],
    settings: Settings,
    visitor: Visitor,
    *flags: str,
) -> None:
    """Start the worker of runs, which logs into the first of their folders. They are `planned`
    until it has begun with them: whatever an earlier attempt ended with is over at once."""
    for folder in folders:
        before = folder.readable_progress() or Progress(run_id=folder.run_id, state="planned")
        planned = msgspec.structs.replace(
            before, state="planned", phase="", message="", in_flight=0, eta=None, at=utc_now()
        )
        folder.write_progress(planned)
        folder.cancel_path.unlink(missing_ok=True)  # left by a worker that was killed before
    command = ["evalcore.runner.worker", *(str(folder.path) for folder in folders), *flags]
    environment = jobs.build_environment(settings, visitor)
    with folders[0].log_path.open("ab") as log:
        jobs.start_detached(command, log, json.dumps(dict(keys)).encode(), environment)


def worker_log(run_id: str, settings: Settings, *, visitor: Visitor) -> str:
    """Return the end of the worker's output; it names files, so only launchers may read it."""
    policy.require_access(settings, visitor, "launch")
    path: Path = find_own_run(run_id, settings).log_path
    return path.read_text(encoding="utf-8", errors="replace")[-4000:] if path.exists() else ""

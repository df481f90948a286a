"""What a visitor may ask for, and how much: checked before anything is read or started. In an open
installation nothing is refused."""

from __future__ import annotations

import time
from calendar import timegm
from collections.abc import Iterable, Iterator
from pathlib import Path

from evalcore import catalog
from evalcore.access import policy
from evalcore.access.egress import EgressPolicy
from evalcore.access.policy import AccessDenied, Visitor
from evalcore.access.secrets import Secrets
from evalcore.catalog import BenchmarkCard, call_reference, find_target_kind
from evalcore.errors import RunFolderError, UsageError
from evalcore.i18n import Note
from evalcore.records import Record, RunSpec, TargetSpec
from evalcore.runner import run_request
from evalcore.runner.run_request import RunRequest
from evalcore.settings import Settings
from evalcore.store import datasets, run_folder
from evalcore.store.run_folder import RunFolder
from evalcore.targets import registry

# How much visitors may launch: counted from the run folders, so that a restart resets nothing. Runs
# of the operator count for nobody. A run that was deleted still counts: it lies in the trash.

_DAY_SECONDS = 86_400.0
#: Seconds that a planned run is thought to be about to start, or waits for another.
_ABOUT_TO_START = 3600.0


class QuotaUsage(Record, frozen=True):
    """What visitors have taken: runs of one of them and USD of all within a day, runs at work."""

    runs: int = 0
    spent: float = 0.0
    at_work: int = 0


def check_quota(
    settings: Settings, visitor: Visitor, run_count: int = 1, *, resumed_run: str = ""
) -> None:
    """Raises AccessDenied where a visitor has had their share; `run_count` is how many runs they
    want, `resumed_run` the id of a run that they have already and want to go on with."""
    if policy.resolve_access_mode(settings, visitor) == "open":
        return
    used = compute_quota_usage(settings, visitor, excluded_run=resumed_run)
    if not resumed_run and used.runs + run_count > settings.runs_per_day:
        raise AccessDenied(Note("access_runs_per_day", count=settings.runs_per_day, used=used.runs))
    if used.at_work + run_count > settings.runs_at_once:
        raise AccessDenied(Note("access_at_once", count=settings.runs_at_once))
    needed = run_count * settings.run_budget
    if settings.day_budget and used.spent + needed > settings.day_budget:
        raise AccessDenied(Note("access_day_budget", amount=f"{settings.day_budget:g}"))


def compute_quota_usage(
    settings: Settings, visitor: Visitor, *, excluded_run: str = ""
) -> QuotaUsage:
    """What was taken within a day; a run at work, or of unknown cost, counts with its budget."""
    visitor_id, runs, spent, at_work = policy.compute_visitor_id(settings, visitor), 0, 0.0, 0
    for folder, spec, age in _iterate_visitor_runs(settings):
        runs += (
            spec.started_by == visitor_id and age < _DAY_SECONDS and folder.run_id != excluded_run
        )
        state = folder.current_state()
        moving = state == "running" or (state == "planned" and age < _ABOUT_TO_START)
        at_work += moving and folder.run_id != excluded_run
        cost = _read_run_cost(folder)
        if cost is None or moving:
            cost = max(cost or 0.0, settings.run_budget)
        spent += cost
    return QuotaUsage(runs, spent, at_work)


def _iterate_visitor_runs(settings: Settings) -> Iterator[tuple[RunFolder, RunSpec, float]]:
    """The runs of visitors that were started, or worked on, within a day; with their age."""
    for folder in run_folder.list_run_folders([settings.runs_dir, settings.data_dir / "trash"]):
        age = time.time() - _parse_start_time(folder)
        if age > _DAY_SECONDS and not _has_recent_progress(folder) and not folder.has_live_worker():
            continue
        try:
            spec = folder.read_spec()
        except RunFolderError:
            continue
        if spec.access:
            yield folder, spec, age


def _parse_start_time(folder: RunFolder) -> float:
    """When a run was made, by its id; long ago where that tells no time."""
    try:
        return timegm(time.strptime(folder.run_id[:15], "%Y%m%d-%H%M%S"))
    except ValueError:
        return 0.0


def _has_recent_progress(folder: RunFolder) -> bool:
    try:
        return time.time() - (folder.path / "progress.json").stat().st_mtime < _DAY_SECONDS
    except OSError:
        return False


def _read_run_cost(folder: RunFolder) -> float | None:
    """USD that a run has taken, 0 before it has begun, None where that is unknown."""
    try:
        progress = folder.read_progress()
        return 0.0 if progress is None else progress.cost
    except RunFolderError:
        return None


# What a run may be made of that somebody asks for who does not run this installation.
# Asked before anything is read: a data set's path, an option or a model must not tell what lies
# on this machine. In an open installation nothing is refused.

#: An option of every benchmark that names its cases.
_DATA_PATH = "data_path"
#: An option that names a model which plays a part.
_USER_MODEL_OPTION = "user_model"


def check_request(request: RunRequest, settings: Settings, secrets: Secrets) -> None:
    """Raises UsageError for what is not allowed here; nothing is read or sent."""
    if not policy.is_restricted(settings):
        return
    check_dataset(request.dataset, settings, request.benchmarks)
    for key, options in request.options.items():
        card = catalog.benchmark_card(key)
        for name, value in options.items():
            _check_option(card, name, value, settings)
    for spec in _iterate_targets(request):
        registry.check_target(spec, settings, secrets)


def verify_request(request: RunRequest, settings: Settings, secrets: Secrets) -> None:
    """As `check_request`, and raises UsageError where a server's name means an address that is not
    of the open network; may take seconds. The connection itself is checked again."""
    check_request(request, settings, secrets)
    if policy.is_restricted(settings):
        for spec in _iterate_targets(request):
            reach = _build_egress_policy(spec, settings, secrets)
            if reach is not None:
                reach.verify_host()


def check_run(spec: RunSpec, settings: Settings, secrets: Secrets) -> None:
    """As `check_request`, for a run that is to go on."""
    request = RunRequest(
        target=spec.target.key,
        benchmarks=(),
        target_options=spec.target.options,
        judges=run_request.list_judge_specs(spec),
        options={
            benchmark_spec.key: {_USER_MODEL_OPTION: benchmark_spec.options[_USER_MODEL_OPTION]}
            for benchmark_spec in spec.benchmarks
            if benchmark_spec.options.get(_USER_MODEL_OPTION)
        },
    )
    check_request(request, settings, secrets)


def check_dataset(name: str, settings: Settings, benchmarks: Iterable[str] = ()) -> None:
    """Raise UsageError unless a dataset is bundled, was added to one of the benchmarks here, or is
    on the allow-list: by name, or below a folder listed as FOLDER/*. A path that leaves the folder
    never is."""
    if not name or not policy.is_restricted(settings):
        return
    folder, _, last = name.rpartition("/")
    listed = name in settings.allow_datasets or (
        bool(folder and last) and f"{folder}/*" in settings.allow_datasets
    )
    bundled = any(name == card.dataset for card in catalog.benchmark_cards().values())
    added = any(
        path.is_dir()
        for benchmark in benchmarks
        for path in datasets.list_dataset_paths(settings, benchmark, name)
    )
    if _escapes_folder(name) or not (listed or bundled or added):
        raise UsageError(Note("access_dataset", name=f"{name[:100]!r}"))


def list_allowed_datasets(settings: Settings) -> list[str]:
    """The names on the list that are there, FOLDER/* as what the folder holds."""
    root, allowed_names = Path(settings.datasets), []
    for entry in settings.allow_datasets:
        matching = sorted(root.glob(entry)) if entry.endswith("/*") else [root / entry]
        names = [str(path.relative_to(root)) for path in matching if path.exists()]
        allowed_names += [
            name for name in names if not _escapes_folder(entry) and not _escapes_folder(name)
        ]
    return allowed_names


def _escapes_folder(name: str) -> bool:
    parts = name.replace("\\", "/").split("/")
    return not parts[0] or name[0] == "~" or ":" in name or "\0" in name or ".." in parts


def _check_option(card: BenchmarkCard, name: str, value: object, settings: Settings) -> None:
    """Options that a card declares are allowed, and weights; a file of this machine never is."""
    if name == _DATA_PATH:
        check_dataset(str(value or ""), settings)
        return
    declared = {option.name for option in card.options if not option.operator_only}
    if name not in declared and not name.startswith(("weights.", "difficulty.")):
        raise UsageError(Note("access_case_option", name=f"{card.key}.{name}"))


def _iterate_targets(request: RunRequest) -> Iterator[TargetSpec]:
    yield TargetSpec(request.target, request.target_options)
    yield from map(run_request.parse_model_spec, request.judges)
    for options in request.options.values():
        if options.get(_USER_MODEL_OPTION):
            yield run_request.parse_model_spec(str(options[_USER_MODEL_OPTION]), "user")


def _build_egress_policy(
    spec: TargetSpec, settings: Settings, secrets: Secrets
) -> EgressPolicy | None:
    card = find_target_kind(spec.key)
    if card is None or not card.egress:
        return None
    egress: EgressPolicy | None = call_reference(card.egress, card.prefix, spec, settings, secrets)
    return egress

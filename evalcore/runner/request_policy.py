"""What a run may be made of that somebody asks for who does not run this installation.

Asked before anything is read: a data set's path, an option or a model must not tell what lies on
this machine. In an open installation nothing is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from evalcore import access, catalog
from evalcore.catalog import BenchmarkCard
from evalcore.errors import UsageError
from evalcore.records import RunSpec, TargetSpec
from evalcore.runner import panel
from evalcore.runner.request import RunRequest
from evalcore.secrets import Secrets
from evalcore.settings import Settings
from evalcore.store import own_datasets
from evalcore.targets import application, endpoints, target_policy
from evalcore.targets.egress import EgressPolicy

#: An option of every benchmark that names its cases.
_DATA_PATH = "data_path"
#: An option that names a model which plays a part.
_USER_MODEL_OPTION = "user_model"


def check_request(request: RunRequest, settings: Settings, secrets: Secrets) -> None:
    """Raises UsageError for what is not allowed here; nothing is read or sent."""
    if not access.is_restricted(settings):
        return
    check_dataset(request.dataset, settings, request.benchmarks)
    for key, options in request.options.items():
        card = catalog.benchmark_card(key)
        for name, value in options.items():
            _check_option(card, name, value, settings)
    for spec in _iterate_targets(request):
        target_policy.check_target(spec, settings, secrets)


def verify_request(request: RunRequest, settings: Settings, secrets: Secrets) -> None:
    """As `check_request`, and raises UsageError where a server's name means an address that is not
    of the open network; may take seconds. The connection itself is checked again."""
    check_request(request, settings, secrets)
    if access.is_restricted(settings):
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
        judges=panel.list_judge_specs(spec),
        options={
            benchmark_spec.key: {_USER_MODEL_OPTION: benchmark_spec.options[_USER_MODEL_OPTION]}
            for benchmark_spec in spec.benchmarks
            if benchmark_spec.options.get(_USER_MODEL_OPTION)
        },
    )
    check_request(request, settings, secrets)


def check_dataset(name: str, settings: Settings, benchmarks: Iterable[str] = ()) -> None:
    """Raises UsageError unless a data set came with the project, was added to one of the benchmarks
    here, or is on the list: by its name, or below a folder of which the list holds FOLDER/*. A path
    that leaves the folder never is."""
    if not name or not access.is_restricted(settings):
        return
    folder, _, last = name.rpartition("/")
    listed = name in settings.allow_datasets or (
        bool(folder and last) and f"{folder}/*" in settings.allow_datasets
    )
    bundled = any(name == card.dataset for card in catalog.benchmark_cards().values())
    added = any(
        path.is_dir()
        for benchmark in benchmarks
        for path in own_datasets.list_dataset_paths(settings, benchmark, name)
    )
    if _escapes_folder(name) or not (listed or bundled or added):
        raise UsageError(
            f"the data set {name[:100]!r} is not allowed on this board (allow_datasets)"
        )


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
    declared = {option.name for option in card.options}
    if name not in declared and not name.startswith(("weights.", "difficulty.")):
        raise UsageError(f"the option {card.key}.{name} is not allowed on this board")


def _iterate_targets(request: RunRequest) -> Iterator[TargetSpec]:
    yield TargetSpec(request.target, request.target_options)
    yield from map(panel.parse_model_spec, request.judges)
    for options in request.options.values():
        if options.get(_USER_MODEL_OPTION):
            yield panel.parse_model_spec(str(options[_USER_MODEL_OPTION]), "user")


def _build_egress_policy(
    spec: TargetSpec, settings: Settings, secrets: Secrets
) -> EgressPolicy | None:
    kind = spec.key.partition(":")[0]
    if kind == "openai":
        endpoints.check_address(str(spec.options.get("base_url") or "https://none"))
        return target_policy.check_endpoint(spec, settings, secrets)
    if kind == "app" and not application.missing_variables(spec, settings, secrets):
        return application.create_application(spec, settings, secrets).egress_policy()
    return None

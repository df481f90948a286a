"""Every setting in one place, typed: defaults, then `evalboard.toml`, then `EVALBOARD_*`.

The file is looked for at EVALBOARD_CONFIG, else `evalboard.toml` in the working folder. It may hold
the fields of `Settings`, `[endpoints.NAME]`, `[prices."MODEL"]` and `[suites]` tables. A key never
belongs in it: an endpoint names the environment variable that holds its key.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from evalcore.errors import UsageError
from evalcore.i18n import Note
from evalcore.intake.files import read_document
from evalcore.intake.http import ReplyLimits
from evalcore.records import Record

_PACKAGE = Path(__file__).resolve().parent
_BUNDLE = _PACKAGE / "_app"  # what `setup.py` puts into the wheel
#: Where the app, its pages and its data sets are: the checkout, or within the installed package.
ROOT = _BUNDLE if _BUNDLE.is_dir() else _PACKAGE.parent
#: Values of the setting `access`; "" leaves it to the address that the server listens on.
ACCESS_MODES = ("", "open", "read-only", "passcode", "oidc")
_DATA = "EVALBOARD_DATA"
#: Settings that only the file can hold.
_TABLES = ("endpoints", "prices", "suites")


ApiName = Literal["auto", "chat", "completions", "responses", "anthropic", "gemini"]
#: Where a request carries its key: by the dialect, as a bearer token, in a header of that name, or
#: in a signature by the credentials of Amazon's tools.
AuthStyle = Literal["auto", "bearer", "api-key", "x-api-key", "x-goog-api-key", "sigv4"]


class Endpoint(Record, frozen=True):
    """A named server of models. Limits are the provider's, None where unknown.
    `token_field` is how it calls the limit of an answer, `local` that it asks no key and no money,
    `send_reasoning` that it wants the reasoning of past turns back when tools are used. `start` is
    the command that starts a server of this machine, for `evalcore doctor`. `api` is the dialect
    that it speaks, `auth` how a request carries the key (auto: as the dialect has it); `headers` go
    with every request, and a value such as `$NAME` is read from that variable. `api_version` is
    Azure's. `api_key_command` prints a key that expires, such as a token of Vertex or Entra."""

    base_url: str
    api_key_env: str = ""
    token_field: str = "max_tokens"
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    extra_body: dict[str, Any] = {}
    local: bool = False
    send_reasoning: bool = False
    title: str = ""
    start: str = ""
    api: ApiName = "auto"
    auth: AuthStyle = "auto"
    headers: dict[str, str] = {}
    api_version: str = ""
    api_key_command: str | tuple[str, ...] = ()


class Price(Record, frozen=True):
    """USD per million tokens."""

    input: float
    output: float


def find_default_data() -> str:
    """The data folder where nobody names one: in a checkout its own, else that of the user."""
    if ROOT != _BUNDLE:
        return str(ROOT / "data")
    import platformdirs

    return platformdirs.user_data_dir("evalboard", appauthor=False)


class Settings(Record, frozen=True):
    """Explained in docs/deploy.md; durations in seconds. `max_reply_bytes` bounds one
    reply of a provider, unpacked, `max_reply_bytes_in_flight` all large ones that are read at once.
    `access` and all from `allow_emails` on are of `docs/access.md`: who may launch, and what those
    may name and spend who do not run this installation. Budgets are USD, 0 is no limit. `suites`
    names per suite the benchmarks of a further board's mean."""

    data: str = msgspec.field(default_factory=find_default_data)
    shipped: str = str(ROOT / "data" / "shipped")
    datasets: str = str(ROOT / "datasets")
    concurrency: int = 32
    request_timeout: float = 120.0
    sample_timeout: float = 1800.0
    max_attempts: int = 5
    retry_base: float = 0.5
    retry_cap: float = 30.0
    max_reply_bytes: int = 16_000_000
    max_reply_bytes_in_flight: int = 128_000_000
    postgres_dsn: str = ""
    mysql_dsn: str = ""
    swe_repositories: str = ""
    swe_environments: str = ""
    show_gated: bool = False
    access: str = ""
    allow_emails: tuple[str, ...] = ()
    allow_domains: tuple[str, ...] = ()
    allow_organizations: tuple[str, ...] = ()
    allow_endpoints: tuple[str, ...] = ()
    allow_applications: tuple[str, ...] = ()
    allow_models: tuple[str, ...] = ()
    allow_datasets: tuple[str, ...] = ()
    runs_per_day: int = 20
    runs_at_once: int = 2
    run_budget: float = 1.0
    day_budget: float = 5.0
    hub_repo: str = ""
    index: str = ""
    ray_address: str = ""
    ray_workers: int = 0
    ray_node_concurrency: int = 0
    ray_node_requests_per_minute: float = 0.0
    frame_ancestors: tuple[str, ...] = ()
    site_url: str = ""
    endpoints: dict[str, Endpoint] = {}
    prices: dict[str, Price] = {}
    suites: dict[str, tuple[str, ...]] = {}

    @property
    def reply_limits(self) -> ReplyLimits:
        return ReplyLimits(self.max_reply_bytes, self.max_reply_bytes_in_flight)

    @property
    def data_dir(self) -> Path:
        return Path(self.data)

    @property
    def runs_dir(self) -> Path:
        return self.data_dir / "runs"

    @property
    def index_path(self) -> Path:
        return self.data_dir / "evalboard.json"

    @property
    def run_roots(self) -> tuple[Path, ...]:
        """Folders of run folders: the writable one first, then the read-only shipped one."""
        return (self.runs_dir, Path(self.shipped) / "runs")


def explain_disk_error(error: OSError, data: str | Path) -> str:
    """What the disk refuses and where; names the setting where it is a data folder that nothing
    can be written into."""
    problem, folder = error.strerror or str(error), Path(data).absolute()
    if not isinstance(error.filename, str):
        return problem
    path = Path(error.filename).absolute()
    nearest = next(parent for parent in (folder, *folder.parents) if parent.exists())
    is_data = path.is_relative_to(folder) or folder.is_relative_to(path)
    if is_data and not (nearest.is_dir() and os.access(nearest, os.W_OK)):
        return Note("data_unwritable", path=folder, problem=problem)
    return Note("located", location=error.filename, problem=problem)


def relative_to_root(path: Path) -> str:
    """Return a path as it is recorded: relative to this installation if it is inside."""
    path = path.resolve()
    return str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)


def load_settings(data: str | Path | None = None) -> Settings:
    """Settings for this process; `data` (a --data flag) wins over everything."""
    values: dict[str, Any] = dict(_read_settings_file(os.environ.get("EVALBOARD_CONFIG", "")))
    for name, (variable, listed) in _map_setting_variables().items():
        value = os.environ.get(variable)
        if value is not None and name not in _TABLES:
            values[name] = value.replace(",", " ").split() if listed else value
    if data is not None:
        values["data"] = str(data)
    try:
        settings = msgspec.convert(values, Settings, strict=False)
    except msgspec.ValidationError as error:
        raise UsageError(Note("setting_wrong", problem=error)) from None
    check_access_mode(settings.access)
    if settings.max_reply_bytes < 1 or settings.max_reply_bytes_in_flight < 1:
        raise UsageError(Note("setting_reply_bytes"))
    return settings


@contextmanager
def override_data_folder(path: str | Path | None) -> Iterator[None]:
    """Make `path` the data folder of all that loads the settings in this process and in those that
    it starts, None leaves it: what a benchmark opens below it must belong to the run. It is
    process-wide and not for a server, whose threads may work on several stores."""
    before = os.environ.get(_DATA)
    if path is not None:
        os.environ[_DATA] = str(path)
    try:
        yield
    finally:
        if before is not None:
            os.environ[_DATA] = before
        elif path is not None:
            os.environ.pop(_DATA, None)


def check_access_mode(mode: str) -> None:
    """Raises UsageError for a mode of access that is none."""
    if mode not in ACCESS_MODES:
        modes = ", ".join(filter(None, ACCESS_MODES))
        raise UsageError(Note("setting_access", mode=mode, names=modes))


@cache
def _map_setting_variables() -> dict[str, tuple[str, bool]]:
    """By setting its variable in the environment and whether it is a list. Worked out once: every
    rerun of a page loads the settings several times."""
    return {
        field.name: (f"EVALBOARD_{field.name.upper()}", isinstance(field.default, tuple))
        for field in msgspec.structs.fields(Settings)
    }


@cache
def _read_settings_file(path: str) -> dict[str, Any]:
    file_path = Path(path) if path else Path("evalboard.toml")
    if not file_path.is_file():
        if path:
            raise UsageError(Note("setting_no_file", path=path))
        return {}
    values = read_document(file_path, ".toml")
    fields = _map_setting_variables()
    for name in values:
        if name not in fields:
            raise UsageError(
                Note("setting_unknown", path=file_path, name=name, names=", ".join(sorted(fields)))
            )
    return values

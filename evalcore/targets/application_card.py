"""The description of an HTTP service: how a case is submitted, waited for and read from a reply.

A description is data (YAML, TOML or JSON), so that a further service needs no code. One with every
field explained is `examples/application.yaml`; those that come along are in `applications/`, and
those of one's own have a name where they lie in the folder `applications` of the data folder.

`$name` stands for a field of the case's input, for what `take` took from the reply, for `$case_id`
or `$benchmark` and `$metric`. `$env:NAME` stands for the value of an environment variable, in
`base_url` and `headers` alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from evalcore.catalog import ApplicationCard
from evalcore.errors import UsageError
from evalcore.intake.documents import read_document
from evalcore.records import Record
from evalcore.secrets import scrub_secrets
from evalcore.settings import Settings

BUILTIN = Path(__file__).parent / "applications"
_SUFFIXES = (".yaml", ".yml", ".toml", ".json")
_VARIABLE = re.compile(r"\$env:([A-Za-z_][A-Za-z0-9_]*)")
ConditionKind = Literal["permanent", "retryable", "rate_limited"]


class Condition(Record, frozen=True, forbid_unknown_fields=True):
    """Holds where the value at `path` of a reply is one of `in`, none of `not_in`, or is there at
    all (`present`). A missing value counts as null. `kind` classes the failure it stands for."""

    path: str
    any_of: tuple[Any, ...] | None = msgspec.field(default=None, name="in")
    none_of: tuple[Any, ...] | None = msgspec.field(default=None, name="not_in")
    present: bool | None = None
    kind: ConditionKind = "permanent"


class Submit(Record, frozen=True, forbid_unknown_fields=True):
    """The request that hands a case over; `timeout` in seconds is its own, where a service answers
    at once but slowly (0: the description's)."""

    url: str
    method: Literal["GET", "POST", "PUT"] = "POST"
    form: dict[str, str] = {}
    json: Any = None
    query: dict[str, str] = {}
    timeout: float = 0.0


class Poll(Record, frozen=True, forbid_unknown_fields=True):
    """Asked every `interval` seconds until a condition of `done` or `failed` holds, for at most
    `timeout` seconds; the time limit of a sample may end it earlier."""

    url: str
    done: tuple[Condition, ...]
    failed: tuple[Condition, ...] = ()
    interval: float = 5.0
    timeout: float = 1200.0
    method: Literal["GET", "POST"] = "GET"
    json: Any = None
    query: dict[str, str] = {}


class FallbackAnswer(Record, frozen=True, forbid_unknown_fields=True):
    """An answer in words where a reply holds no statement and all conditions of `when` hold: what
    the service found out when it has nothing to offer. Where a statement is asked for, such an
    answer fails; it is never the input in disguise."""

    when: tuple[Condition, ...]
    text: str


class Branch(Record, frozen=True, forbid_unknown_fields=True):
    """How cases of some metrics are put to the service and how its answer is found.

    `extract` is the path of the answer: a text, or texts (`[*]`: of every item) that are joined by
    line ends.
    `message` is where an error of the service is explained. `rename` gives, per input field, the
    service's word for ours, which may also be the beginning of ours ("PostgreSQL" for a version).
    """

    submit: Submit
    extract: str
    benchmark: str = ""
    metrics: tuple[str, ...] = ()
    error: tuple[Condition, ...] = ()
    message: str = "message"
    take: dict[str, str] = {}
    poll: Poll | None = None
    say: tuple[FallbackAnswer, ...] = ()
    rename: dict[str, dict[str, str]] = {}

    def covers_metric(self, benchmark: str, metric: str) -> bool:
        return self.benchmark in ("", benchmark) and (not self.metrics or metric in self.metrics)


class Description(Record, frozen=True, forbid_unknown_fields=True):
    """A service. `max_in_flight` is how many cases it takes at once, `timeout` the seconds for one
    request (0: the setting `request_timeout`)."""

    title: str
    base_url: str
    branches: tuple[Branch, ...]
    about: str = ""
    headers: dict[str, str] = {}
    max_in_flight: int = 4
    requests_per_minute: float | None = None
    timeout: float = 0.0

    def find_branch(self, benchmark: str, metric: str) -> Branch | None:
        """The first branch for a case."""
        return next((b for b in self.branches if b.covers_metric(benchmark, metric)), None)

    @property
    def address_variables(self) -> tuple[str, ...]:
        return tuple(_VARIABLE.findall(self.base_url))

    @property
    def key_variables(self) -> tuple[str, ...]:
        """The environment variables that the headers need."""
        names = [name for text in self.headers.values() for name in _VARIABLE.findall(text)]
        return tuple(dict.fromkeys(names))


def user_description_folder(settings: Settings) -> Path:
    """Where descriptions of one's own have a name."""
    return settings.data_dir / "applications"


def list_description_files(settings: Settings) -> dict[str, Path]:
    """The files of the descriptions that have a name; one's own goes before one that came along."""
    files = [
        path for folder in (BUILTIN, user_description_folder(settings)) for path in folder.glob("*")
    ]
    files_by_name = {path.stem: path for path in files if path.suffix in _SUFFIXES}
    return dict(sorted(files_by_name.items()))


def load_description(key: str, settings: Settings) -> Description:
    """The description that a target key (`app:NAME` or `app:FILE`) means.

    Raises UsageError naming the file and field that is wrong.
    """
    name, available = key.partition(":")[2], list_description_files(settings)
    if name not in available and not name.endswith(_SUFFIXES):
        keys = ", ".join(f"app:{available}" for available in available)
        raise UsageError(f"unknown service {key!r}; known: {keys}; or app:FILE.yaml of your own")
    path = available.get(name) or Path(name)
    try:
        description = msgspec.convert(read_document(path), Description)
    except msgspec.ValidationError as error:
        raise UsageError(f"{path}: {error}") from None
    for problem in _description_problems(description):
        raise UsageError(f"{path}: {problem}")
    return description


def build_application_card(key: str, settings: Settings) -> ApplicationCard:
    """The card of a service; one that cannot be used says why."""
    try:
        description = load_description(key, settings)
    except UsageError as error:
        return ApplicationCard(key=key, title=key.partition(":")[2], problem=str(error))
    return ApplicationCard(
        key=key,
        title=description.title,
        about=description.about,
        answers=tuple((branch.benchmark, branch.metrics) for branch in description.branches),
        variables=(*description.address_variables, *description.key_variables),
    )


def build_application_cards(settings: Settings) -> dict[str, ApplicationCard]:
    """The cards of all services that have a name, by target key."""
    return {
        f"app:{name}": build_application_card(f"app:{name}", settings)
        for name in list_description_files(settings)
    }


def expand_variables(text: str, values: Mapping[str, str]) -> str:
    """`text` with every `$env:NAME` replaced by its value."""
    return _VARIABLE.sub(lambda match: values[match[1]], text)


def _description_problems(description: Description) -> Iterator[str]:
    if not description.branches:
        yield "branches: at least one is needed"
    if description.max_in_flight < 1:
        yield "max_in_flight: must be at least 1"
    if description.requests_per_minute is not None and not description.requests_per_minute > 0:
        yield "requests_per_minute: must be more than 0"
    if not description.timeout >= 0:
        yield "timeout: must not be negative"
    for name, text in description.headers.items():
        if scrub_secrets(f"{name}: {text}") != f"{name}: {text}":
            yield f"headers.{name}: write $env:NAME for a key, never the key itself"
    for number, branch in enumerate(description.branches):
        path = f"branches[{number}]"
        yield from (f"{path}{problem}" for problem in _branch_problems(branch))


def _branch_problems(branch: Branch) -> Iterator[str]:
    submit, poll = branch.submit, branch.poll
    serialized = str(msgspec.to_builtins(branch))
    if "$env:" in serialized:
        yield ": $env:NAME may stand in base_url and headers only"
    if scrub_secrets(serialized) != serialized:
        yield ": holds a key; a key is sent in headers only, as $env:NAME"
    if submit.form and submit.json is not None:
        yield ".submit: give form or json, not both"
    if not submit.timeout >= 0:
        yield ".submit.timeout: must not be negative"
    if poll and not (poll.interval > 0 and poll.timeout > 0):
        yield ".poll: interval and timeout must be more than 0 seconds"
    if poll and not poll.done:
        yield ".poll.done: at least one condition is needed"
    if not branch.extract.strip():
        yield ".extract: is empty"
    for url in [submit.url] + ([poll.url] if poll else []):
        if not url.startswith("/") or url.startswith("//"):
            yield f": url {url!r} must be a path that begins with /"
    for number, fallback in enumerate(branch.say):
        if not fallback.when or not fallback.text.strip():
            yield f".say[{number}]: needs a text and at least one condition in when"
    for condition in _iter_conditions(branch):
        operators = (condition.any_of, condition.none_of, condition.present)
        if sum(value is not None for value in operators) != 1:
            yield f": condition on {condition.path!r} needs one of in, not_in, present"


def _iter_conditions(branch: Branch) -> Iterator[Condition]:
    yield from branch.error
    for fallback in branch.say:
        yield from fallback.when
    if branch.poll:
        yield from (*branch.poll.done, *branch.poll.failed)

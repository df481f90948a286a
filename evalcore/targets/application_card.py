"""The description of an HTTP service: how a case is submitted, waited for and read from a reply.

A description is data (YAML, TOML or JSON), so that a further service needs no code:

    title: Example
    base_url: https://HOST           # or $env:VARIABLE; the option base_url goes first
    headers: {Authorization: Bearer $env:EXAMPLE_KEY}
    branches:
      - benchmark: dialect_conversion    # which cases this way is for; empty: all
        metrics: []
        submit: {url: /convert, form: {sql: $sql, to: $target_dialect}}
        error: [{path: code, not_in: [0]}]
        take: {task: data.task_id}
        poll: {url: /tasks/$task, done: [{path: data.state, in: [done]}], ...}
        extract: data.steps[-1].sql

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

from evalcore import documents
from evalcore.errors import UsageError
from evalcore.records import Record

BUILTIN = Path(__file__).parent / "applications"
_SUFFIXES = (".yaml", ".yml", ".toml", ".json")
_VARIABLE = re.compile(r"\$env:([A-Za-z_][A-Za-z0-9_]*)")
Kind = Literal["permanent", "retryable", "rate_limited"]


class Condition(Record, frozen=True, forbid_unknown_fields=True):
    """Holds where the value at `path` of a reply is one of `in`, none of `not_in`, or is there at
    all (`present`). A missing value counts as null. `kind` classes the failure it stands for."""

    path: str
    one_of: tuple[Any, ...] | None = msgspec.field(default=None, name="in")
    none_of: tuple[Any, ...] | None = msgspec.field(default=None, name="not_in")
    present: bool | None = None
    kind: Kind = "permanent"


class Submit(Record, frozen=True, forbid_unknown_fields=True):
    """One request. Of `form`, `json` and `query` each that is given is sent."""

    url: str
    method: Literal["GET", "POST", "PUT"] = "POST"
    form: dict[str, str] = {}
    json: Any = None
    query: dict[str, str] = {}


class Poll(Record, frozen=True, forbid_unknown_fields=True):
    """Asked every `interval` seconds until a condition of `done` or `failed` holds, for at most
    `timeout` seconds; the time limit of a sample may end it earlier."""

    url: str
    done: tuple[Condition, ...]
    failed: tuple[Condition, ...] = ()
    interval: float = 5.0
    timeout: float = 1200.0


class Said(Record, frozen=True, forbid_unknown_fields=True):
    """An answer in words where a reply holds no statement and all conditions of `when` hold."""

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
    say: tuple[Said, ...] = ()
    rename: dict[str, dict[str, str]] = {}

    def fits(self, benchmark: str, metric: str) -> bool:
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

    def branch(self, benchmark: str, metric: str) -> Branch | None:
        """The first branch for a case."""
        return next((b for b in self.branches if b.fits(benchmark, metric)), None)

    @property
    def address_variables(self) -> tuple[str, ...]:
        return tuple(_VARIABLE.findall(self.base_url))

    @property
    def key_variables(self) -> tuple[str, ...]:
        """The environment variables that the headers need."""
        found = [name for text in self.headers.values() for name in _VARIABLE.findall(text)]
        return tuple(dict.fromkeys(found))


def names() -> list[str]:
    """The descriptions that come with the project."""
    return sorted(path.stem for path in BUILTIN.glob("*.yaml"))


def load(key: str) -> Description:
    """The description that a target key (`app:NAME` or `app:FILE`) means.

    Raises UsageError naming the file and field that is wrong.
    """
    name = key.partition(":")[2]
    if name in names():
        path = BUILTIN / f"{name}.yaml"
    elif name.endswith(_SUFFIXES):
        path = Path(name)
    else:
        known = ", ".join(f"app:{known}" for known in names())
        raise UsageError(f"unknown service {key!r}; known: {known}; or app:FILE.yaml of your own")
    try:
        described = msgspec.convert(documents.read(path), Description)
    except msgspec.ValidationError as error:
        raise UsageError(f"{path}: {error}") from None
    for problem in _problems(described):
        raise UsageError(f"{path}: {problem}")
    return described


def expanded(text: str, values: Mapping[str, str]) -> str:
    """`text` with every `$env:NAME` replaced by its value."""
    return _VARIABLE.sub(lambda match: values[match[1]], text)


def _problems(described: Description) -> Iterator[str]:
    if not described.branches:
        yield "branches: at least one is needed"
    if described.max_in_flight < 1 or described.timeout < 0:
        yield "max_in_flight must be at least 1 and timeout not negative"
    for number, branch in enumerate(described.branches):
        place = f"branches[{number}]"
        if "$env:" in str(msgspec.to_builtins(branch)):
            yield f"{place}: $env:NAME may stand in base_url and headers only"
        if branch.poll and (branch.poll.interval <= 0 or branch.poll.timeout <= 0):
            yield f"{place}.poll: interval and timeout must be more than 0 seconds"
        if branch.poll and not branch.poll.done:
            yield f"{place}.poll.done: at least one condition is needed"
        if any(not said.when for said in branch.say):
            yield f"{place}.say.when: at least one condition is needed"
        if branch.submit.form and branch.submit.json is not None:
            yield f"{place}.submit: give form or json, not both"
        for url in [branch.submit.url] + ([branch.poll.url] if branch.poll else []):
            if not url.startswith("/") or url.startswith("//"):
                yield f"{place}: url {url!r} must be a path that begins with /"
        for condition in _conditions(branch):
            given = (condition.one_of, condition.none_of, condition.present)
            if sum(value is not None for value in given) != 1:
                yield f"{place}: condition on {condition.path!r} needs one of in, not_in, present"


def _conditions(branch: Branch) -> Iterator[Condition]:
    yield from branch.error
    for said in branch.say:
        yield from said.when
    if branch.poll:
        yield from (*branch.poll.done, *branch.poll.failed)

"""The description of an HTTP service: how a case is submitted, waited for and read from a reply,
as pure functions over JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import msgspec

from evalcore.access.secrets import scrub_secrets
from evalcore.catalog import ApplicationCard
from evalcore.errors import FileError, UsageError
from evalcore.i18n import Note
from evalcore.intake.files import read_document
from evalcore.records import Record, content_hash
from evalcore.settings import Settings

# A description is data (YAML, TOML or JSON), so that a further service needs no code. One with
# every field explained is `examples/application.yaml`; those that come along are in
# `applications/`, and those of one's own have a name where they lie in the folder `applications` of
# the data folder. `$name` stands for a field of the case's input, for what `take` took from the
# reply, for `$case_id` or `$benchmark` and `$metric`. `$env:NAME` stands for the value of an
# environment variable, in `base_url` and `headers` alone.

BUILTIN = Path(__file__).parent / "applications"
_SUFFIXES = (".yaml", ".yml", ".toml", ".json")
_VARIABLE = re.compile(r"\$env:([A-Za-z_][A-Za-z0-9_]*)")
ReplyKind = Literal["json", "text"]
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
    at once but slowly (0: the description's). `multipart` are fields of a multipart form, `files`
    those of its fields that are files. A `reply` that is text becomes {"text": ...}."""

    url: str
    method: Literal["GET", "POST", "PUT"] = "POST"
    form: dict[str, str] = {}
    json: Any = None
    query: dict[str, str] = {}
    timeout: float = 0.0
    multipart: dict[str, str] = {}
    files: dict[str, str] = {}
    reply: ReplyKind = "json"


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
    reply: ReplyKind = "json"


class FallbackAnswer(Record, frozen=True, forbid_unknown_fields=True):
    """An answer in words where a reply holds no statement and all conditions of `when` hold: what
    the service found out when it has nothing to offer. Where a statement is asked for, such an
    answer fails; it is never the input in disguise."""

    when: tuple[Condition, ...]
    text: str


class Branch(Record, frozen=True, forbid_unknown_fields=True):
    """How cases of some metrics are put to the service and how its answer is found. `extract` is
    the path of the answer: a text, or texts (`[*]`: of every item) that are joined by line ends.
    `message` is where an error of the service is explained. `rename` gives, per input field, the
    service's word for ours, which may also be the beginning of ours ("PostgreSQL" for a
    version)."""

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


class DeclaredScope(Record, frozen=True, forbid_unknown_fields=True):
    """What a service is made for; empty means all. `dialects` name those of a case or their
    beginning ("PostgreSQL" for a version), `statements` kinds such as SELECT or CREATE."""

    dialects: tuple[str, ...] = ()
    statements: tuple[str, ...] = ()


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
    scope: DeclaredScope = DeclaredScope()

    def find_branch(self, benchmark: str, metric: str) -> Branch | None:
        return next((b for b in self.branches if b.covers_metric(benchmark, metric)), None)

    @property
    def address_variables(self) -> tuple[str, ...]:
        return tuple(_VARIABLE.findall(self.base_url))

    @property
    def key_variables(self) -> tuple[str, ...]:
        names = [name for text in self.headers.values() for name in _VARIABLE.findall(text)]
        return tuple(dict.fromkeys(names))


def user_description_folder(settings: Settings) -> Path:
    return settings.data_dir / "applications"


def list_description_files(settings: Settings) -> dict[str, Path]:
    """The files of the descriptions that have a name; one's own goes before one that came along."""
    folders = (BUILTIN, user_description_folder(settings))
    files = [path for folder in folders for path in folder.glob("*") if path.suffix in _SUFFIXES]
    return dict(sorted({path.stem: path for path in files}.items()))


def load_description(key: str, settings: Settings) -> Description:
    """The description that a target key (`app:NAME` or `app:FILE`) means. Raises UsageError naming
    the file and field that is wrong."""
    name, available = key.partition(":")[2], list_description_files(settings)
    if name not in available and not name.endswith(_SUFFIXES):
        keys = ", ".join(f"app:{available}" for available in available)
        raise UsageError(Note("app_unknown", owner=key, names=keys))
    path = available.get(name) or Path(name)
    try:
        description = msgspec.convert(read_document(path), Description)
    except msgspec.ValidationError as error:
        raise FileError(path, error) from None
    for problem in _description_problems(description):
        raise FileError(path, problem)
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
        scope={
            name: names
            for name in DeclaredScope.__struct_fields__
            if (names := getattr(description.scope, name))
        },
    )


def build_application_cards(settings: Settings) -> dict[str, ApplicationCard]:
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
        yield ": $env:NAME is allowed only in base_url and headers"
    if scrub_secrets(serialized) != serialized:
        yield ": contains a key; keys are sent only in headers, as $env:NAME"
    bodies = (submit.form, submit.json is not None, submit.multipart or submit.files)
    if sum(map(bool, bodies)) > 1:
        yield ".submit: give form or json or multipart, not both"
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


#: What a value that goes into an address may look like: an id, never a path.
_IDENTIFIER = re.compile(r"[A-Za-z0-9_.:=+~@-]{1,200}")
_PLACEHOLDER = re.compile(r"\$(?:(\$)|([A-Za-z_][A-Za-z0-9_]*))")
_STEP = re.compile(r"\.?([^.\[\]]+)|\[(-?\d+|\*)\]")
_INDEX = re.compile(r"-?\d+")


class MissingValue(LookupError):
    """A placeholder or path for which there is no value; says which."""


def find_value(reply: Any, path: str) -> Any:
    """The value at a path such as `data.steps[-1].sql` (`$.` before it and `.0` for `[0]` are taken
    too), None where there is none; after `[*]` a list of the values in every item."""
    steps = [index or name for name, index in _STEP.findall(path.removeprefix("$.").lstrip("$"))]
    return _walk_path(reply, steps)


def _walk_path(value: Any, steps: list[str]) -> Any:
    for number, step in enumerate(steps):
        if step == "*":
            return [
                _walk_path(item, steps[number + 1 :])
                for item in (value if isinstance(value, list) else ())
            ]
        if isinstance(value, list) and _INDEX.fullmatch(step):
            index = int(step)
            value = value[index] if -len(value) <= index < len(value) else None
        else:
            value = value.get(step) if isinstance(value, dict) else None
    return value


def is_condition_met(condition: Condition, reply: Any) -> bool:
    """Whether a condition holds for a reply; true and 1 are told apart."""
    value = find_value(reply, condition.path)
    if condition.present is not None:
        return (value is not None) == condition.present
    if condition.any_of is not None:
        return _is_in_values(value, condition.any_of)
    return not _is_in_values(value, condition.none_of or ())


def find_met_condition(conditions: Iterable[Condition], reply: Any) -> Condition | None:
    return next((condition for condition in conditions if is_condition_met(condition, reply)), None)


def _is_in_values(candidate: Any, values: Iterable[Any]) -> bool:
    return any(type(candidate) is type(value) and candidate == value for value in values)


def extract_service_answer(branch: Branch, reply: Any) -> str:
    """The answer in a reply, empty where it holds none. The input never stands in for one."""
    extracted = find_value(reply, branch.extract)
    parts = extracted if isinstance(extracted, list) else [extracted]
    text = "\n".join(part for part in parts if isinstance(part, str) and part.strip())
    words = (
        fallback.text
        for fallback in branch.say
        if all(is_condition_met(c, reply) for c in fallback.when)
    )
    return text or next(words, "")


def build_template_values(sample_input: Mapping[str, Any], branch: Branch) -> dict[str, Any]:
    """What placeholders stand for: the case's input, in the service's words where they differ.
    `case_id` is made from the input, so that it tells cases apart and nothing else. Raises
    MissingValue for a value that the description does not know to rename."""
    values = {"case_id": content_hash(sample_input), **sample_input}
    for field, words in branch.rename.items():
        values[field] = _translate_value(field, str(sample_input.get(field, "")), words)
    return values


def _translate_value(field: str, value: str, words: Mapping[str, str]) -> str:
    """The service's word for a value or, failing that, for its longest known beginning."""
    folded = value.casefold()
    fitting = [ours for ours in words if folded.startswith(ours.casefold())]
    if not fitting:
        raise MissingValue(f"the service has no word for {field} {value!r}")
    return words[max(fitting, key=len)]


def fill_template(template: Any, values: Mapping[str, Any]) -> Any:
    """A template with its placeholders replaced; raises MissingValue for an unknown one. A text
    that is nothing but a placeholder takes the value with its type, else a list becomes text as in
    `as_text`."""
    if isinstance(template, dict):
        return {name: fill_template(part, values) for name, part in template.items()}
    if isinstance(template, list):
        return [fill_template(part, values) for part in template]
    if not isinstance(template, str):
        return template
    whole = _PLACEHOLDER.fullmatch(template)
    if whole and whole[2]:
        return _get_template_value(whole[2], values)
    return fill_text(template, values)


def fill_text(template: str, values: Mapping[str, Any]) -> str:
    return _PLACEHOLDER.sub(lambda m: m[1] or as_text(_get_template_value(m[2], values)), template)


def fill_address(template: str, values: Mapping[str, Any]) -> str:
    """A path with its placeholders replaced; a value that is no plain id raises MissingValue."""

    def replace_placeholder(match: re.Match[str]) -> str:
        text = match[1] or as_text(_get_template_value(match[2], values))
        if not match[1] and (not _IDENTIFIER.fullmatch(text) or set(text) == {"."}):
            raise MissingValue(f"the value of ${match[2]} is not an id that fits into an address")
        return quote(text, safe="")

    return _PLACEHOLDER.sub(replace_placeholder, template)


def as_text(value: Any) -> str:
    """A value of a case's input as text: lists hold statements, which become one script."""
    if isinstance(value, list | tuple):
        return "\n".join(f"{str(part).rstrip().removesuffix(';')};" for part in value)
    return "" if value is None else str(value)


def _get_template_value(name: str, values: Mapping[str, Any]) -> Any:
    if name not in values:
        available = ", ".join(f"${available}" for available in sorted(values))
        raise MissingValue(f"there is no ${name} for this case; there is: {available}")
    return values[name]

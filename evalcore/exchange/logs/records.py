"""What a log of another framework holds, whoever wrote it: tasks, samples, scores, and what it
lacks. Readers fill these records; `runs` makes imported runs of them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evalcore.errors import DatasetError
from evalcore.i18n import Note
from evalcore.intake import COUNT_LIMIT
from evalcore.records import Message, Record, Usage, content_hash, to_json
from evalcore.store.run_folder import Flag

NAME_LIMIT = 200  # characters of what a log calls a task, a model, a sample
_LOCAL_PATH = re.compile(r"(?:[~.]{0,2}/|[A-Za-z]:[\\/])")
#: Options of a model that belong to its identity, under the names that frameworks use.
_SAMPLING = (
    *("temperature", "top_p", "top_k", "min_p", "max_tokens", "seed", "reasoning_effort"),
    *("reasoning_tokens", "frequency_penalty", "presence_penalty", "repetition_penalty"),
    *("max_gen_toks", "max_new_tokens", "do_sample", "dtype", "revision", "quantization", "n"),
)


class LoggedSample(Record, frozen=True):
    """One sample in one epoch. `scores` are 0 to 1 by metric; one that is no number is left out,
    and `error` says why there is none at all."""

    id: str
    input: dict[str, Any]
    reference: dict[str, Any] = {}
    epoch: int = 0
    answer: str = ""
    messages: tuple[Message, ...] = ()
    scores: dict[str, float] = {}
    error: str = ""
    explanation: str = ""
    usage: Usage = Usage()
    latency: float = 0.0


KEPT_LIMIT = 512 << 20  # bytes of the samples of a log, as JSON: they are in memory together


class SampleBudget:
    """What the samples of a log may still take."""

    def __init__(self) -> None:
        self._remaining = KEPT_LIMIT

    def charge(self, sample: LoggedSample, place: str) -> LoggedSample:
        """The sample. Raises DatasetError naming the place where the log becomes too large."""
        self._remaining -= len(to_json(sample, ordered=False))
        if self._remaining < 0:
            raise DatasetError(place, None, "", Note("log_kept", limit=KEPT_LIMIT >> 20))
        return sample


class LoggedTask(Record, frozen=True):
    """One task of a log: its main `metric`, 0 to 1, under which all `samples` are scored, and the
    totals that the framework `claimed` by metric, 0 to 1. Without samples it is a bare claim.

    `options` set it apart from the same task asked otherwise; `left_out` are metrics that are no
    share from 0 to 1; `full` is False for a part of the task's samples. `interval` is the one that
    the framework gives for its claim.
    """

    name: str
    metric: str
    claimed: dict[str, float]
    samples: tuple[LoggedSample, ...] = ()
    options: dict[str, Any] = {}
    epochs: int = 1
    full: bool = True
    left_out: tuple[str, ...] = ()
    interval: tuple[float, float] | None = None
    flags: tuple[Flag, ...] = ()


class FrameworkLog(Record, frozen=True):
    """One log: one model and the tasks that it was asked. `created_at` is ISO 8601 in UTC."""

    framework: str
    version: str
    model: str
    created_at: str
    tasks: tuple[LoggedTask, ...]
    sampling: dict[str, Any] = {}
    facts: dict[str, Any] = {}


def select_sampling(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that belong to a model's identity; those without a value say nothing."""
    return {
        name: options[name]
        for name in _SAMPLING
        if isinstance(options.get(name), str | int | float | bool) and options[name] != ""
    }


def clean_model_name(name: str) -> str:
    """The name of a model without the folder that it lay in."""
    name = " ".join(name.split())[:NAME_LIMIT]
    if _LOCAL_PATH.match(name):
        name = re.split(r"[\\/]", name.rstrip("\\/"))[-1]
    return name or "unknown"


def clean_metric_name(name: str) -> str:
    """A metric as boards can name it, the same for the same name."""
    plain = re.sub(r"[^\w.@%^-]+", "_", name.strip()).strip("_")
    return plain if 0 < len(plain) <= 60 else f"{plain[:50]}-{content_hash(name, 8)}"


def convert_time(value: Any) -> str:
    """Seconds since 1970 or ISO 8601, as ISO 8601 in UTC with milliseconds; "" for anything else.
    A time without a zone is taken as UTC."""
    try:
        if isinstance(value, str) and not value.replace(".", "", 1).isdecimal():
            moment = datetime.fromisoformat(value)
        else:
            moment = datetime.fromtimestamp(float(value), UTC)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return moment.astimezone(UTC).isoformat(timespec="milliseconds")
    except (TypeError, ValueError, OverflowError, OSError):
        return ""


def convert_score(value: Any) -> float | None:
    """A number as it is, True as 1; None for anything else and for what is not finite."""
    if not isinstance(value, bool | int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def is_share(value: float) -> bool:
    return 0 <= value <= 1


def convert_text(value: Any) -> str:
    """A text as it is; of anything else its JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else to_json(value).decode()


class FieldReader:
    """Fields of one object in a file; whatever is missing or of another kind is named by file,
    line and field."""

    def __init__(
        self, path: Path | str, values: Any, line: int | None = None, prefix: str = ""
    ) -> None:
        self.path, self._line, self._prefix = Path(path), line, prefix
        if not isinstance(values, Mapping):
            raise self.fail("", Note("log_field_kind", kind="object"))
        self.values: Mapping[str, Any] = values

    def fail(self, field: str, problem: str) -> DatasetError:
        """The error to raise for a field."""
        name = f"{self._prefix}.{field}".strip(".") if self._prefix else field
        return DatasetError(self.path, self._line, name, problem)

    def read_text(self, field: str) -> str:
        value = self._require(field)
        if not isinstance(value, str | int | float) or isinstance(value, bool):
            raise self.fail(field, Note("log_field_kind", kind="text"))
        return str(value)

    def read_list(self, field: str) -> list[Any]:
        value = self._require(field)
        if not isinstance(value, list):
            raise self.fail(field, Note("log_field_kind", kind="list"))
        return value

    def read_object(self, field: str) -> FieldReader:
        value = self._require(field)
        name = f"{self._prefix}.{field}" if self._prefix else field
        return FieldReader(self.path, value, self._line, name)

    def find_object(self, field: str) -> dict[str, Any]:
        """The object of a field, an empty one where there is none."""
        value = self.values.get(field)
        return dict(value) if isinstance(value, Mapping) else {}

    def find_list(self, field: str) -> list[Any]:
        value = self.values.get(field)
        return value if isinstance(value, list) else []

    def find_text(self, field: str) -> str:
        value = self.values.get(field)
        return value if isinstance(value, str) else ""

    def find_count(self, field: str) -> int | None:
        """A whole number; one that no reader holds exactly is none."""
        value = self.values.get(field)
        if not isinstance(value, int) or isinstance(value, bool):
            return None
        return value if abs(value) <= COUNT_LIMIT else None

    def _require(self, field: str) -> Any:
        if self.values.get(field) is None:
            raise self.fail(field, Note("log_field_missing"))
        return self.values[field]

"""What is in a data set, ready to be shown: its numbers, a row a case, and the cases themselves.

Only a benchmark's own loader knows what the lines of a data set mean, and a page may not import it.
So a process of its own loads a set and leaves here what pages read. It is a cache: an index belongs
to one state of the files and is made anew when they change.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from evalcore.records import Record, Sample, from_json, to_json
from evalcore.settings import Settings

_FORM = "1"  # of the files below; a change makes every index anew
_SUMMARY, _ROWS, _SAMPLES = "summary.json", "rows.jsonl", "samples.jsonl"
_DIALECTS = ("dialect", "source_dialect", "target_dialect")
_LONGEST_TEXT = 1_500  # characters of a case that can be searched
_MOST_FILES = 20_000
#: Fields that say most of a case, where there are any; else all of its texts.
_TELLING = ("question", "problem_statement", "instruction", "sql")


class Summary(Record, frozen=True):
    """The numbers of a data set. `problem` says why it cannot be loaded; then all else is empty."""

    hash: str = ""
    samples: int = 0
    metrics: dict[str, int] = {}
    difficulties: dict[str, int] = {}
    dialects: dict[str, int] = {}
    levels: dict[str, dict[str, int]] = {}
    gated: int = 0
    problem: str = ""


class CaseRow(Record, frozen=True):
    """A case in a table. `text` is a gist of what is asked, `at` the byte where the sample begins
    among the samples and `size` its length in bytes."""

    metric: str
    id: str
    difficulty: int
    dialect: str
    gated: bool
    text: str
    at: int
    size: int


def signature(place: Path, options: Mapping[str, Any]) -> str:
    """Changes whenever a file of a data set does; "" where there is none."""
    paths = [place] if place.is_file() else sorted(_files(place))
    if not paths:
        return ""
    told = [_FORM, str(place), repr(sorted(options.items()))]
    for path in paths:
        about = path.stat()
        told.append(f"{path} {about.st_size} {about.st_mtime_ns}")
    return sha256("\n".join(told).encode()).hexdigest()[:32]


def _files(place: Path) -> Iterator[Path]:
    for number, path in enumerate(place.rglob("*")):
        if number >= _MOST_FILES:
            return
        if path.is_file() and not path.is_symlink():
            yield path


def summary(settings: Settings, version: str) -> Summary | None:
    """The numbers of one state of a data set, None where they are not ready."""
    try:
        return _summary(_place(settings, version) / _SUMMARY)
    except (OSError, msgspec.MsgspecError):
        return None


@lru_cache(maxsize=256)
def _summary(path: Path) -> Summary:
    """An index is written once and never changed."""
    return from_json(Summary, path.read_bytes())


def rows(settings: Settings, version: str) -> list[CaseRow]:
    """A row per case, in the order of the data set."""
    decoder = msgspec.json.Decoder(CaseRow)
    with (_place(settings, version) / _ROWS).open("rb") as lines:
        return [decoder.decode(line) for line in lines]


def sample(settings: Settings, version: str, row: CaseRow) -> Sample:
    """The case of a row."""
    with (_place(settings, version) / _SAMPLES).open("rb") as content:
        content.seek(row.at)
        return from_json(Sample, content.read(row.size))


def write(settings: Settings, version: str, samples: Sequence[Sample], told: Summary) -> None:
    """Leave the index of one state of a data set, as a whole."""
    place = _place(settings, version)
    ready = place.with_name(f".{version}.{secrets.token_hex(6)}")
    ready.mkdir(parents=True)
    try:
        with (ready / _ROWS).open("wb") as table, (ready / _SAMPLES).open("wb") as content:
            at = 0
            for one in samples:
                line = to_json(one)
                table.write(to_json(_row(one, at, len(line))) + b"\n")
                at += content.write(line + b"\n")
        (ready / _SUMMARY).write_bytes(to_json(told))
        os.rename(ready, place)  # noqa: PTH104
    except FileExistsError:
        shutil.rmtree(ready)
    except OSError:
        shutil.rmtree(ready, ignore_errors=True)
        if not (place / _SUMMARY).is_file():  # else somebody was faster
            raise


def summarized(samples: Sequence[Sample], content: str) -> Summary:
    """The numbers of samples; `content` is the hash of their data set."""
    levels: dict[str, Counter[str]] = {}
    for one in samples:
        levels.setdefault(one.metric, Counter())[str(one.difficulty)] += 1
    return Summary(
        hash=content,
        samples=len(samples),
        metrics={metric: counts.total() for metric, counts in levels.items()},
        difficulties=_counts(str(one.difficulty) for one in samples),
        dialects=_counts(filter(None, map(dialect_of, samples))),
        levels={metric: dict(sorted(counts.items())) for metric, counts in levels.items()},
        gated=sum(bool(one.meta.get("gated")) for one in samples),
    )


def dialect_of(one: Sample) -> str:
    """The dialect of a case, "a → b" for a conversion, "" where it has none."""
    return " → ".join(str(one.input[name]) for name in _DIALECTS if one.input.get(name))


def gist(one: Sample) -> str:
    """The words of a case that say what it is about."""
    source = one.input | {k: v for k, v in one.reference.items() if k == "instruction"}
    telling = [source[name] for name in _TELLING if source.get(name)]
    words = _words(telling or list(source.values()))
    return " ".join(" ".join(words).split())[:_LONGEST_TEXT]


def _words(value: Any) -> list[str]:
    """The texts within a value, without the names of its fields and the roles of messages."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        content = value.get("content")
        return _words(content if isinstance(content, str) else list(value.values()))
    if isinstance(value, list | tuple):
        return [word for item in value for word in _words(item)]
    return []


def _row(one: Sample, at: int, size: int) -> CaseRow:
    return CaseRow(
        metric=one.metric,
        id=one.id,
        difficulty=one.difficulty,
        dialect=dialect_of(one),
        gated=bool(one.meta.get("gated")),
        text="" if one.meta.get("gated") else gist(one),
        at=at,
        size=size,
    )


def _counts(values: Iterable[str]) -> dict[str, int]:
    """How often each value is there, the most frequent first."""
    return dict(Counter(values).most_common())


def _place(settings: Settings, version: str) -> Path:
    return settings.data_dir / "cache" / "datasets" / version

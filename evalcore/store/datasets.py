"""What the data folder holds of data sets: visitors' own sets, and the index pages read of any
set."""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from evalcore import catalog
from evalcore.access import policy
from evalcore.access.policy import Visitor
from evalcore.errors import UsageError
from evalcore.i18n import Note
from evalcore.records import (
    Record,
    Sample,
    from_json,
    from_json_with_notes,
    to_json,
    to_json_with_notes,
)
from evalcore.settings import Settings

# What is in a data set, ready to be shown: its numbers, a row a case, and the cases themselves.
# Only a benchmark's own loader knows what the lines of a data set mean, and a page may not import
# it. So a process of its own loads a set and leaves here what pages read. It is a cache: an index
# belongs to one state of the files and is made anew when they change.

_INDEX_VERSION = "1"  # of the files below; a change makes every index anew
_SUMMARY, _ROWS, _SAMPLES = "summary.json", "rows.jsonl", "samples.jsonl"
_DIALECTS = ("dialect", "source_dialect", "target_dialect")
_LONGEST_TEXT = 1_500  # characters of a case that can be searched
_MOST_FILES = 20_000
#: Fields that say most of a case, where there are any; else all of its texts.
_GIST_FIELDS = ("question", "problem_statement", "instruction", "sql")


class DatasetSummary(Record, frozen=True):
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


def dataset_signature(benchmark: str, dataset_path: Path, options: Mapping[str, Any]) -> str:
    """Changes whenever a file of a data set does, and when the extra that reads it is installed;
    "" where there is no file."""
    paths = [dataset_path] if dataset_path.is_file() else sorted(_list_dataset_files(dataset_path))
    if not paths:
        return ""
    card = catalog.benchmark_cards().get(benchmark)
    missing = catalog.find_missing_extra(card) if card else ""
    parts = [_INDEX_VERSION, str(dataset_path), repr(sorted(options.items())), missing]
    for path in paths:
        status = path.stat()
        parts.append(f"{path} {status.st_size} {status.st_mtime_ns}")
    return sha256("\n".join(parts).encode()).hexdigest()[:32]


def _list_dataset_files(folder: Path) -> Iterator[Path]:
    for number, path in enumerate(folder.rglob("*")):
        if number >= _MOST_FILES:
            return
        if path.is_file() and not path.is_symlink():
            yield path


def load_dataset_summary(settings: Settings, version: str) -> DatasetSummary | None:
    """The numbers of one state of a data set, None where they are not ready."""
    try:
        return _read_summary_file(_get_index_folder(settings, version) / _SUMMARY)
    except (OSError, msgspec.MsgspecError):
        return None


@lru_cache(maxsize=256)
def _read_summary_file(path: Path) -> DatasetSummary:
    """An index is written once and never changed."""
    return from_json_with_notes(DatasetSummary, path.read_bytes())


def load_case_rows(settings: Settings, version: str) -> list[CaseRow]:
    """A row per case, in the order of the data set."""
    decoder = msgspec.json.Decoder(CaseRow)
    with (_get_index_folder(settings, version) / _ROWS).open("rb") as lines:
        return [decoder.decode(line) for line in lines]


def load_case_sample(settings: Settings, version: str, row: CaseRow) -> Sample:
    """The case of a row."""
    with (_get_index_folder(settings, version) / _SAMPLES).open("rb") as content:
        content.seek(row.at)
        return from_json(Sample, content.read(row.size))


def write_dataset_index(
    settings: Settings, version: str, samples: Sequence[Sample], summary: DatasetSummary
) -> None:
    """Leave the index of one state of a data set, as a whole."""
    index_folder = _get_index_folder(settings, version)
    staging_folder = index_folder.with_name(f".{version}.{secrets.token_hex(6)}")
    staging_folder.mkdir(parents=True)
    try:
        with (
            (staging_folder / _ROWS).open("wb") as table,
            (staging_folder / _SAMPLES).open("wb") as content,
        ):
            at = 0
            for sample in samples:
                line = to_json(sample)
                table.write(to_json(_build_case_row(sample, at, len(line))) + b"\n")
                at += content.write(line + b"\n")
        (staging_folder / _SUMMARY).write_bytes(to_json_with_notes(summary))
        os.rename(staging_folder, index_folder)  # noqa: PTH104
    except FileExistsError:
        shutil.rmtree(staging_folder)
    except OSError:
        shutil.rmtree(staging_folder, ignore_errors=True)
        if not (index_folder / _SUMMARY).is_file():  # else somebody was faster
            raise


def summarize_samples(samples: Sequence[Sample], content: str) -> DatasetSummary:
    """Summarize samples; `content` is the hash of their dataset."""
    levels: dict[str, Counter[str]] = {}
    for sample in samples:
        levels.setdefault(sample.metric, Counter())[str(sample.difficulty)] += 1
    return DatasetSummary(
        hash=content,
        samples=len(samples),
        metrics={metric: counts.total() for metric, counts in levels.items()},
        difficulties=_count_values(str(sample.difficulty) for sample in samples),
        dialects=_count_values(filter(None, map(format_dialect, samples))),
        levels={metric: dict(sorted(counts.items())) for metric, counts in levels.items()},
        gated=sum(bool(sample.meta.get("gated")) for sample in samples),
    )


def format_dialect(sample: Sample) -> str:
    """The dialect of a case, "a → b" for a conversion, "" where it has none."""
    return " → ".join(str(sample.input[name]) for name in _DIALECTS if sample.input.get(name))


def build_case_gist(sample: Sample) -> str:
    """The words of a case that say what it is about."""
    source = sample.input | {k: v for k, v in sample.reference.items() if k == "instruction"}
    telling = [source[name] for name in _GIST_FIELDS if source.get(name)]
    words = _collect_text_values(telling or list(source.values()))
    return " ".join(" ".join(words).split())[:_LONGEST_TEXT]


def _collect_text_values(value: Any) -> list[str]:
    """The texts within a value, without the names of its fields and the roles of messages."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        content = value.get("content")
        return _collect_text_values(content if isinstance(content, str) else list(value.values()))
    if isinstance(value, list | tuple):
        return [word for item in value for word in _collect_text_values(item)]
    return []


def _build_case_row(sample: Sample, at: int, size: int) -> CaseRow:
    return CaseRow(
        metric=sample.metric,
        id=sample.id,
        difficulty=sample.difficulty,
        dialect=format_dialect(sample),
        gated=bool(sample.meta.get("gated")),
        text="" if sample.meta.get("gated") else build_case_gist(sample),
        at=at,
        size=size,
    )


def _count_values(values: Iterable[str]) -> dict[str, int]:
    """How often each value is there, the most frequent first."""
    return dict(Counter(values).most_common())


def _get_index_folder(settings: Settings, version: str) -> Path:
    return settings.data_dir / "cache" / "datasets" / version


# The data sets that people brought themselves: where they lie, their cards, their former versions.
# An own set is a folder `<data>/datasets/own/<benchmark>/<name>/` with case files in the
# benchmark's own layout and a card. It appears as a whole or not at all; what it replaces, and what
# is removed, goes to the trash of the data folder and can be brought back.

CARD_FILE, SOURCE_FILE = "card.json", "source.json"
_DATASET_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_ADDED_DATASET_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,120}")
_CARD_TEXT_LIMITS = {"who": 80, "licence": 80, "note": 1_000}
_MAX_VERSIONS = 5  # former versions of one set


class OwnCard(Record, frozen=True):
    """What is known of an own set: typed by people, so hostile text. `added` is ISO 8601 in UTC,
    `hash` that of its samples, `file` the name it was handed in under, `source` the address on the
    Hub with its commit ("": it was a file)."""

    benchmark: str
    name: str
    who: str = ""
    licence: str = ""
    note: str = ""
    added: str = ""
    hash: str = ""
    samples: int = 0
    file: str = ""
    source: str = ""


def own_folder(settings: Settings, benchmark: str, name: str) -> Path:
    """Where a set lies, whether it is there or not; raises UsageError for an impossible name."""
    catalog.benchmark_card(benchmark)
    return settings.data_dir / "datasets" / "own" / benchmark / check_dataset_name(name)


def list_dataset_paths(settings: Settings, benchmark: str, name: str) -> list[Path]:
    """Where a data set of a name would lie that was added here: an own one, then a fetched one."""
    if not _ADDED_DATASET_NAME.fullmatch(name):
        return []
    home = settings.data_dir / "datasets"
    fetched = [home / name] if (home / name / SOURCE_FILE).is_file() else []
    return [home / "own" / benchmark / name, *fetched]


def check_dataset_name(name: str) -> str:
    """The name; raises UsageError for one that could not be a folder everywhere."""
    if not _DATASET_NAME.fullmatch(name):
        raise UsageError(Note("upload_name", name=f"{name[:60]!r}"))
    return name


def check_card(settings: Settings, card: OwnCard) -> None:
    """Raises UsageError for a card with a name that is taken or a text that is too long."""
    own_folder(settings, card.benchmark, card.name)
    if (Path(settings.datasets) / card.name).exists():
        raise UsageError(Note("upload_name_bundled", name=f"{card.name!r}"))
    if (settings.data_dir / "datasets" / card.name).exists():
        raise UsageError(Note("upload_name_other", name=f"{card.name!r}"))
    for field, longest in _CARD_TEXT_LIMITS.items():
        if len(getattr(card, field)) > longest:
            raise UsageError(Note("field_long", field=field, most=longest))


def load_own_cards(settings: Settings) -> list[OwnCard]:
    """The card of every own set, by benchmark and name; a folder without a readable one is left
    out, since nothing but `install_own_dataset` makes them."""
    cards = []
    for path in sorted((settings.data_dir / "datasets" / "own").glob(f"*/*/{CARD_FILE}")):
        try:
            card = from_json(OwnCard, path.read_bytes())
        except (OSError, msgspec.MsgspecError):
            continue
        if (card.benchmark, card.name) == (path.parent.parent.name, path.parent.name):
            cards.append(card)
    benchmarks = catalog.benchmark_cards()
    return [card for card in cards if card.benchmark in benchmarks]


def install_own_dataset(
    settings: Settings, visitor: Visitor, staging_folder: Path, card: OwnCard, *, replace: bool
) -> OwnCard:
    """Put the folder `staging_folder` in its place, with its card; the former set goes to the
    trash. Raises AccessDenied, and UsageError for a name that is taken unless `replace`."""
    policy.require_access(settings, visitor, "upload")
    check_card(settings, card)
    folder = own_folder(settings, card.benchmark, card.name)
    if folder.exists() and not replace:
        raise UsageError(Note("upload_name_taken", name=f"{card.name!r}"))
    stored_card = msgspec.structs.replace(
        card, added=datetime.now(UTC).isoformat(timespec="seconds")
    )
    (staging_folder / CARD_FILE).write_bytes(to_json(stored_card))
    folder.parent.mkdir(parents=True, exist_ok=True)
    former = _move_to_trash(settings, folder) if folder.exists() else ""
    try:
        os.rename(staging_folder, folder)  # noqa: PTH104  (refuses a folder that was made meanwhile)
    except OSError:
        if former and not folder.exists():
            (_get_trash_folder(settings, card.benchmark, card.name) / former).rename(folder)
        raise UsageError(Note("upload_name_meanwhile", name=f"{card.name!r}")) from None
    return stored_card


def trash_own_dataset(settings: Settings, visitor: Visitor, benchmark: str, name: str) -> str:
    """Move a set to the trash; returns the version by which `restore_own_dataset` finds it."""
    policy.require_access(settings, visitor, "upload")
    folder = own_folder(settings, benchmark, name)
    if not folder.is_dir():
        raise UsageError(Note("upload_gone", name=f"{name!r}", benchmark=benchmark))
    return _move_to_trash(settings, folder)


def list_trashed_versions(settings: Settings, benchmark: str, name: str) -> list[str]:
    """The former versions in the trash, newest first."""
    trash_folder = _get_trash_folder(settings, benchmark, check_dataset_name(name))
    return sorted((path.name for path in trash_folder.glob("*") if path.is_dir()), reverse=True)


def restore_own_dataset(
    settings: Settings, visitor: Visitor, benchmark: str, name: str, version: str
) -> OwnCard:
    """Bring a former version back; a set that stands in its place changes places with it."""
    policy.require_access(settings, visitor, "upload")
    folder = own_folder(settings, benchmark, name)
    if version not in list_trashed_versions(settings, benchmark, name):
        raise UsageError(Note("upload_version_gone", version=f"{version!r}", name=f"{name!r}"))
    version_folder = _get_trash_folder(settings, benchmark, name) / version
    card = from_json(OwnCard, (version_folder / CARD_FILE).read_bytes())
    aside = folder.with_name(f".{name}.{secrets.token_hex(6)}")
    folder.parent.mkdir(parents=True, exist_ok=True)
    version_folder.rename(aside)
    if folder.exists():
        _move_to_trash(settings, folder)
    aside.rename(folder)
    return card


def _move_to_trash(settings: Settings, folder: Path) -> str:
    """Move a set to the trash and drop its oldest versions; returns the version."""
    trash_folder = _get_trash_folder(settings, folder.parent.name, folder.name)
    trash_folder.mkdir(parents=True, exist_ok=True)
    stamp = f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}"
    folder.rename(trash_folder / stamp)
    for old in sorted(trash_folder.glob("*"), reverse=True)[_MAX_VERSIONS:]:
        shutil.rmtree(old, ignore_errors=True)
    return stamp


def _get_trash_folder(settings: Settings, benchmark: str, name: str) -> Path:
    return settings.data_dir / "trash" / "datasets" / benchmark / name

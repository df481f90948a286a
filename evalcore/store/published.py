"""Results that others published: their files, bounded and typed, as they ship and as an operator
refreshed them."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator
from datetime import date
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from evalcore.errors import DatasetError, EvalboardError
from evalcore.i18n import Note
from evalcore.intake.files import read_bytes
from evalcore.intake.json_text import check_depth
from evalcore.plain_text import UNSEEN
from evalcore.records import Record, to_json
from evalcore.settings import Settings
from evalcore.single_flight import SingleFlightCache
from evalcore.store.run_folder import write_atomic
from evalcore.store.tinydb_storage import file_signature

# A file is JSON lines: the publication, its lists of cases, then one entry per model and month.
# Verdicts stand in the order of their list of cases, one character each. Texts of cases and
# answers are never part of it. All that stands there is a claim of the publisher.

FOLDER, SUFFIX, FORMAT = "published", ".jsonl", 1
FILE_LIMIT = 8 << 20  # bytes
_MAX_LINES = 20_000
_MAX_CASES = 5_000  # of a list
_DEPTH = 8
PASSED, FAILED, UNDECIDED = "1", "0", "-"
_log = logging.getLogger(__name__)

_Key = Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9_]{0,59}$")]
_Month = Annotated[str, msgspec.Meta(pattern=r"^[0-9]{4}-(0[1-9]|1[0-2])$")]
_Day = Annotated[
    str, msgspec.Meta(pattern=r"^$|^[0-9]{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12][0-9]|3[01]))?)?$")
]
_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=120)]
_Text = Annotated[str, msgspec.Meta(max_length=300)]
_Percent = Annotated[float, msgspec.Meta(ge=0, le=100)]
_Weight = Annotated[float, msgspec.Meta(ge=0, le=1000)]
_Verdicts = Annotated[str, msgspec.Meta(pattern=r"^[01-]*$", max_length=_MAX_CASES)]
EntryType = Literal["", "chat", "thinking", "application", "custom"]


class Publisher(
    Record, frozen=True, tag="publisher", tag_field="record", forbid_unknown_fields=True
):
    """Who published what. `columns` holds the publisher's weight of every metric by benchmark, None
    where metrics are only reported; `members` are the benchmarks of the mean, none where a mean
    says nothing. `cumulative`: a month shows all entries up to it, not its own alone. `date` is
    that of the source."""

    format: Literal[1]
    key: _Key
    title: _Name
    suite: _Key
    source: Annotated[str, msgspec.Meta(pattern=r"^https://[!-~]+$", max_length=300)]
    revision: Annotated[str, msgspec.Meta(pattern=r"^[0-9A-Za-z._-]*$", max_length=64)]
    licence: _Text
    date: _Day
    columns: dict[_Key, dict[_Key, _Weight | None]]
    members: tuple[_Key, ...] = ()
    cumulative: bool = False


class CaseList(Record, frozen=True, tag="cases", tag_field="record", forbid_unknown_fields=True):
    """Cases by id with what each is worth; entries name a list by its number from 0."""

    ids: Annotated[tuple[_Name, ...], msgspec.Meta(max_length=_MAX_CASES)]
    points: Annotated[tuple[_Weight, ...], msgspec.Meta(max_length=_MAX_CASES)]


class MetricReport(Record, frozen=True, forbid_unknown_fields=True):
    """The verdicts of one metric. `weight` is what the report states, `copies` how often it holds
    the metric beyond once; the first counts."""

    weight: _Weight
    cases: Annotated[int, msgspec.Meta(ge=0)]
    verdicts: _Verdicts
    copies: Annotated[int, msgspec.Meta(ge=0, le=100)] = 0


class ClaimedScore(Record, frozen=True, forbid_unknown_fields=True):
    """What is claimed of one benchmark, 0 to 100, and the verdicts behind it where they are
    published. `cost` is USD for a task."""

    score: _Percent
    metrics: dict[_Key, _Percent] = {}
    reports: dict[_Key, MetricReport] = {}
    cost: Annotated[float, msgspec.Meta(ge=0, le=1e6)] | None = None


class PublishedEntry(
    Record, frozen=True, tag="entry", tag_field="record", forbid_unknown_fields=True
):
    """One model in one month. `id` is the publisher's; `setup` tells entries apart that were
    measured in different ways, `effort` variants of one model."""

    month: _Month
    id: _Name
    name: _Name
    scores: dict[_Key, ClaimedScore]
    organization: _Text = ""
    type: EntryType = ""
    released: _Day = ""
    date: _Day = ""
    submitter: _Text = ""
    effort: _Text = ""
    setup: dict[_Key, _Text] = {}
    trajectories: bool = False

    @property
    def setup_key(self) -> str:
        """What was measured in the same way has the same one, "" where nothing is told apart."""
        return "-".join(filter(None, (slug_text(value) for value in self.setup.values())))

    @property
    def identity(self) -> str:
        """The id, letter case aside: one model goes by `ring-1t` and `ring-1T`."""
        return self.id.casefold()


class Publication(Record, frozen=True):
    """All of one publisher. `path` is its file, `signature` changes with it."""

    publisher: Publisher
    cases: tuple[CaseList, ...]
    entries: tuple[PublishedEntry, ...]
    path: str = ""
    signature: str = ""

    @property
    def months(self) -> list[str]:
        """The newest first."""
        return sorted({entry.month for entry in self.entries}, reverse=True)


def slug_text(text: str) -> str:
    """A text as part of a key: lower case letters, digits and points, parted by hyphens."""
    return re.sub(r"[^a-z0-9.]+", "-", text.casefold()).strip("-.")[:40]


def parse_day(text: str) -> str:
    """A day as publishers write it (2026/2/5, 2026-02-05) in ISO 8601, "" for anything else."""
    match = re.fullmatch(r"\s*(\d{4})[-/](\d{1,2})[-/](\d{1,2})\s*", text)
    if match is None:
        return ""
    year, month, day = (int(part) for part in match.groups())
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return ""


_Line = Publisher | CaseList | PublishedEntry
_decoder: msgspec.json.Decoder[_Line] = msgspec.json.Decoder(_Line)
_publications: SingleFlightCache[Publication] = SingleFlightCache(16)


def list_publication_paths(settings: Settings) -> dict[str, Path]:
    """The file of every publisher by key: what an operator refreshed before what ships."""
    paths: dict[str, Path] = {}
    for root in (settings.data_dir, Path(settings.shipped)):
        for path in sorted((root / FOLDER).glob(f"*{SUFFIX}")):
            if not path.name.startswith("."):
                paths.setdefault(path.stem, path)
    return paths


def compute_publications_signature(settings: Settings) -> str:
    """Changes whenever `load_publications` would."""
    paths = list_publication_paths(settings)
    return "&".join(f"{path}={file_signature(path)}" for path in paths.values())


def load_publications(settings: Settings) -> dict[str, Publication]:
    """What can be read, by key; a damaged file is logged and gives way to the one that ships."""
    return _read_all_publications(settings)[0]


def find_publication_problems(settings: Settings) -> list[str]:
    """What is wrong with files that cannot be read."""
    return _read_all_publications(settings)[1]


def _read_all_publications(settings: Settings) -> tuple[dict[str, Publication], list[str]]:
    publications: dict[str, Publication] = {}
    problems: list[str] = []
    for key, path in list_publication_paths(settings).items():
        shipped = Path(settings.shipped) / FOLDER / path.name
        for candidate in dict.fromkeys((path, shipped)):
            try:
                publications[key] = load_publication(candidate)
                break
            except EvalboardError as error:
                _log.warning("%s", error)
                problems.append(str(error))
    return publications, problems


def load_publication(path: Path) -> Publication:
    """The publication in a file, read once until it changes. Raises DatasetError naming line and
    field, UsageError for a file that cannot be read or is too large."""
    signature = f"{path}={file_signature(path)}"

    def read_publication() -> Publication:
        lines = read_bytes(path, FILE_LIMIT).splitlines()
        publication = parse_publication(path, lines)
        return msgspec.structs.replace(publication, path=str(path), signature=signature)

    return _publications.get(signature, read_publication)


def parse_publication(path: Path, lines: list[bytes]) -> Publication:
    """What the lines of a file say. Raises DatasetError naming line and field."""
    if len(lines) > _MAX_LINES:
        raise DatasetError(path, None, "", Note("long_file", most=_MAX_LINES))
    records = [_decode_line(path, number, line) for number, line in enumerate(lines, 1)]
    publishers = [record for record in records if isinstance(record, Publisher)]
    if len(publishers) != 1 or records[0] is not publishers[0]:
        raise DatasetError(path, 1, "record", Note("published_first_line"))
    if publishers[0].key != path.stem:
        raise DatasetError(path, 1, "key", Note("published_key", name=repr(path.stem)))
    case_lists = tuple(record for record in records if isinstance(record, CaseList))
    _check_lists(path, records)
    entries = []
    seen: set[tuple[str, str]] = set()
    for number, record in enumerate(records, 1):
        if isinstance(record, PublishedEntry):
            field, problem = _find_entry_problem(record, publishers[0], case_lists)
            if not problem and (record.month, record.identity) in seen:
                field, problem = "id", f"{record.month} has {record.id!r} twice"
            if problem:
                raise DatasetError(path, number, field, problem)
            seen.add((record.month, record.identity))
            entries.append(record)
    return Publication(publishers[0], case_lists, tuple(entries))


def _decode_line(path: Path, number: int, line: bytes) -> _Line:
    try:
        check_depth(line, _DEPTH)
        return _decoder.decode(line)
    except msgspec.MsgspecError as error:
        problem, _, field = str(error).partition(" - at ")
        raise DatasetError(path, number, field.strip("`$."), problem) from None
    except (EvalboardError, UnicodeDecodeError, RecursionError) as error:
        raise DatasetError(path, number, "", str(error)) from None


def _check_lists(path: Path, records: Iterable[_Line]) -> None:
    for number, record in enumerate(records, 1):
        if isinstance(record, CaseList):
            if len(record.ids) != len(record.points):
                raise DatasetError(path, number, "points", Note("published_numbers"))
            if len(set(record.ids)) < len(record.ids):
                raise DatasetError(path, number, "ids", Note("published_id_twice"))


def _find_entry_problem(
    entry: PublishedEntry, publisher: Publisher, case_lists: tuple[CaseList, ...]
) -> tuple[str, str]:
    """The field at fault and what is wrong with it; both empty for a sound entry."""
    if any(UNSEEN.search(text) for text in (entry.id, entry.name, entry.organization)):
        return "name", "holds a control or invisible character"
    if any(mark in entry.id for mark in "/,"):
        return "id", "holds a slash or a comma"
    for key, score in entry.scores.items():
        if key not in publisher.columns:
            return f"scores.{key}", "no such benchmark in the first line"
        for metric, report in score.reports.items():
            field = f"scores.{key}.reports.{metric}"
            if report.cases >= len(case_lists):
                return f"{field}.cases", f"there is no list of cases {report.cases}"
            if len(report.verdicts) != len(case_lists[report.cases].ids):
                return f"{field}.verdicts", "needs one verdict for each case"
    return "", ""


def format_publication(publication: Publication) -> Iterator[bytes]:
    """The lines of its file."""
    yield to_json(publication.publisher, ordered=False)
    yield from (to_json(cases, ordered=False) for cases in publication.cases)
    yield from (to_json(entry, ordered=False) for entry in publication.entries)


def save_publication(settings: Settings, publication: Publication) -> Path:
    """Write an operator's own file, which wins over the one that ships. What cannot be read again
    is never written: raises DatasetError."""
    path = settings.data_dir / FOLDER / f"{publication.publisher.key}{SUFFIX}"
    lines = list(format_publication(publication))
    parse_publication(path, lines)
    write_atomic(path, b"\n".join([*lines, b""]))
    return path

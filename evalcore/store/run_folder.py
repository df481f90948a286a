"""The folder of a run: its files, its lock, its state, and what a publisher claimed for it."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from evalcore.errors import RunFolderError, UsageError, describe_os_error, find_alike_name
from evalcore.i18n import Note
from evalcore.intake.json_text import parse_json_or
from evalcore.records import (
    Call,
    Episode,
    Record,
    RunSpec,
    Sample,
    TargetSpec,
    Verdict,
    from_json_with_notes,
    to_json,
    to_json_with_notes,
)
from evalcore.results import Progress, RunState, RunSummary
from evalcore.store import journal

# A run folder: where each of its files lies, how it is written and read, and which there are.
# A folder may be damaged in any way: what cannot be read raises RunFolderError, nothing else.
# spec.json samples.jsonl calls/ generations/ verdicts/<scoring>/ events.jsonl progress.json
# card.json summary.json samples.parquet points.cache (caches) worker.lock cancel worker.log

R = TypeVar("R", bound=Record)
_RUN_ID = re.compile(r"[a-z0-9][a-z0-9_.-]{0,79}")
#: An unknown id is compared with so many runs; how alike two must be, which share date and form.
_COMPARED, _ALIKE = 5000, 0.8
_PART = 6  # characters of an id that name it
_CARD, _BUDGET = "card.json", "budget"
_SCORING = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,79}")
_LARGEST = 64 << 20  # bytes of a file that is read as a whole; a summary takes a few thousand
_STARTING = 25.0  # seconds that a worker may take from its start to the lock
_BEING_WRITTEN = 60.0  # seconds in which a folder may still be without its spec.json


class StoredSample(Record, frozen=True):
    """Line of samples.jsonl: a sample and the benchmark it belongs to."""

    benchmark: str
    sample: Sample


class StoredVerdict(Record, frozen=True):
    """Line of a verdict journal."""

    benchmark: str
    verdict: Verdict


class StoredEpisode(Record, frozen=True):
    """Line of a generation journal."""

    benchmark: str
    episode: Episode


def is_run_id(name: str) -> bool:
    """Whether a folder of that name can be a run."""
    return _RUN_ID.fullmatch(name) is not None


def new_run_id() -> str:
    """A name that sorts by second of creation and that no two runs share."""
    return time.strftime("%Y%m%d-%H%M%S", time.gmtime()) + "-" + secrets.token_hex(3)


def write_atomic(
    path: Path, content: bytes | Iterable[bytes], *, make_folder: bool = True, durable: bool = True
) -> None:
    """Replace a file as a whole: a reader sees the old or the new content, never a part.

    A kill can leave the temporary file `.<name>.<random>` behind, which nothing reads. Without
    `make_folder` a folder that is gone stays gone: FileNotFoundError is raised. What is not
    `durable` may be lost with the power of the machine.
    """
    if make_folder:
        path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        with temporary.open("xb") as file:  # the umask decides who may read it, unlike mkstemp
            file.writelines([content] if isinstance(content, bytes) else content)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


#: The event that says how calls of tools are asked for.
TOOL_CALLS = "tool_calls"
#: The event that says which API a server has named, and the words with which it did.
API_CHANGE = "api"


@dataclass(frozen=True)
class RunFolder:
    """The folder of one run; all methods read the disk anew."""

    path: Path

    @property
    def run_id(self) -> str:
        return self.path.name

    @property
    def summary_path(self) -> Path:
        return self.path / "summary.json"

    @property
    def _progress_path(self) -> Path:
        return self.path / "progress.json"

    @property
    def lock_path(self) -> Path:
        return self.path / "worker.lock"

    @property
    def cancel_path(self) -> Path:
        return self.path / "cancel"

    @property
    def events_path(self) -> Path:
        return self.path / "events.jsonl"

    @property
    def log_path(self) -> Path:
        return self.path / "worker.log"

    @property
    def parquet_path(self) -> Path:
        return self.path / "samples.parquet"

    def create(self, spec: RunSpec, samples: Iterable[tuple[str, Sample]]) -> None:
        """Write the frozen part; spec.json last, so that a folder with one is whole."""
        self.path.mkdir(parents=True)
        try:
            lines = (to_json(StoredSample(benchmark=b, sample=s)) + b"\n" for b, s in samples)
            write_atomic(self.path / journal.SAMPLES, lines)
            write_atomic(self.path / "spec.json", to_json(spec))
        except BaseException:
            shutil.rmtree(self.path, ignore_errors=True)
            raise

    def read_spec(self) -> RunSpec:
        return self._read_record("spec.json", RunSpec)

    def settle_target(self, target: TargetSpec) -> None:
        """Set the target of a run, once what was left open of it is known and nothing was asked by
        it; all else of the spec stays frozen."""
        spec = msgspec.structs.replace(self.read_spec(), target=target)
        write_atomic(self.path / "spec.json", to_json(spec), make_folder=False)

    def read_tool_calls(self) -> tuple[str, str]:
        """How the run asks for calls of tools, and why not natively, as an event of it says; empty
        where that was not settled."""
        mode, _, refusal = self.find_event(TOOL_CALLS).partition(": ")
        return mode, refusal

    def find_event(self, kind: str) -> str:
        """The message of the first event of a kind, empty where there is none."""
        for _, line in journal.read_journal_lines(self.events_path):
            event = parse_json_or(line.decode("utf-8", "replace"), {})
            if isinstance(event, dict) and event.get("kind") == kind:
                return str(event.get("message", ""))
        return ""

    def read_summary(self) -> RunSummary | None:
        return self._read_optional_record("summary.json", RunSummary)

    def read_progress(self) -> Progress | None:
        return self._read_optional_record(self._progress_path.name, Progress)

    def readable_progress(self) -> Progress | None:
        """`read_progress`, None too where it cannot be read: a run whose summary is whole needs
        none."""
        try:
            return self.read_progress()
        except RunFolderError:
            return None

    def read_card(self) -> dict[str, Any]:
        """What the target last said of itself: capabilities, memory, speed; empty before that."""
        path = self.path / _CARD
        try:
            return msgspec.json.decode(_read_plain_file(path), type=dict[str, Any])
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError, msgspec.MsgspecError) as error:
            raise RunFolderError.locate(path, error) from None

    def write_card(self, card: Mapping[str, Any]) -> None:
        write_atomic(self.path / _CARD, to_json(card), make_folder=False)

    def read_raised_budget(self) -> float | None:
        """The budget that the run was last resumed with, in USD, None where it has that of its
        spec."""
        try:
            return float(_read_plain_file(self.path / _BUDGET))
        except (OSError, ValueError):
            return None

    def raise_budget(self, amount: float) -> None:
        """Give the run a budget in USD that takes the place of that of its spec, 0 for no limit."""
        write_atomic(self.path / _BUDGET, f"{amount!r}".encode(), make_folder=False)

    def write_summary(self, summary: RunSummary) -> None:
        write_atomic(self.summary_path, to_json(summary), make_folder=False)

    def write_progress(self, progress: Progress) -> None:
        content = to_json_with_notes(progress)
        write_atomic(self._progress_path, content, make_folder=False, durable=False)

    def open_journal(self, *parts: str) -> journal.Journal:
        """The journal at the path `parts`; raises FileNotFoundError where the run folder is gone,
        which is not made again."""
        folder = self.path
        for part in parts[:-1]:
            folder /= part
            folder.mkdir(exist_ok=True)
        return journal.Journal(folder / parts[-1])

    def read_samples(self) -> Iterator[StoredSample]:
        return journal.read_journal(self.path / journal.SAMPLES, StoredSample)

    def read_calls(self) -> Iterator[Call]:
        return journal.read_journals(self.path / "calls", Call)

    def read_episodes(self) -> Iterator[StoredEpisode]:
        return journal.read_journals(self.path / "generations", StoredEpisode)

    def read_verdicts(self, scoring: str) -> Iterator[StoredVerdict]:
        return journal.read_journals(self.verdicts_dir(scoring), StoredVerdict)

    def verdicts_dir(self, scoring: str) -> Path:
        """Where the verdicts of one scoring lie; raises UsageError for a name that is no name."""
        if not _SCORING.fullmatch(scoring):
            raise UsageError(Note("scoring_unknown", name=scoring, run=self.run_id))
        return self.path / "verdicts" / scoring

    def has_live_worker(self) -> bool:
        """Whether a worker holds the lock."""
        return journal.is_locked(self.lock_path)

    def current_state(self) -> RunState:
        """The state as of now: a run whose worker is gone without an ending is interrupted."""
        # first: what a worker wrote before it let go is then read below
        alive = self.has_live_worker()
        try:
            self.read_spec()
            summary = self.read_summary()
        except RunFolderError:
            return "broken"
        if alive:
            return "running"
        progress = self.readable_progress()
        if progress is not None and progress.state == "planned" and _is_recent(progress):
            return "planned"  # a worker was started and has not taken the lock yet
        if summary is not None and (progress is None or _has_ended(progress, summary)):
            return summary.state
        if progress is not None and progress.state == "cancelled":  # by Ctrl+C, before a summary
            return "cancelled"
        # a worker takes the lock before it writes progress, and its file stays
        is_begun = any(map(os.path.lexists, (self._progress_path, self.lock_path)))
        return "interrupted" if is_begun else "planned"

    def signature(self) -> str:
        """Changes whenever anything a reader shows may have changed."""
        parts = []
        for pattern in ("*.json", "*.jsonl*", "generations/*.jsonl*", "verdicts/*/*.jsonl*"):
            for path in sorted(self.path.glob(pattern)):
                with suppress(OSError):  # deleted meanwhile, or not to be read
                    now = path.stat()
                    parts.append(f"{path.name}:{now.st_ino}:{now.st_mtime_ns}:{now.st_size}")
        return "|".join(parts)

    def _read_optional_record(self, name: str, kind: type[R]) -> R | None:
        return self._read_record(name, kind) if os.path.lexists(self.path / name) else None

    def _read_record(self, name: str, kind: type[R]) -> R:
        path = self.path / name
        try:
            return from_json_with_notes(kind, _read_plain_file(path))
        except (OSError, ValueError, msgspec.MsgspecError) as error:
            raise RunFolderError.locate(path, error) from None


def _is_recent(progress: Progress) -> bool:
    try:
        written = datetime.fromisoformat(progress.at)
        return abs((datetime.now(UTC) - written).total_seconds()) < _STARTING
    except (ValueError, TypeError):  # no time, or one without a zone
        return False


def _has_ended(progress: Progress, summary: RunSummary) -> bool:
    """Whether the worker that wrote the progress wrote the summary too, or did not leave a run in
    the middle: one that is killed after its summary cannot say any more that it has ended."""
    return progress.state != "running" or summary.finished_at >= progress.started_at > ""


def _read_plain_file(path: Path) -> bytes:
    """A file as a whole; raises OSError for what is no plain file and ValueError for a huge one."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise ValueError(Note("not_plain"))
    if status.st_size > _LARGEST:
        raise ValueError(Note("run_file_large", size=f"{status.st_size:,}", most=f"{_LARGEST:,}"))
    return path.read_bytes()


def is_file(path: Path) -> bool:
    """Whether there is a plain file that may be looked at."""
    try:
        return path.is_file()
    except OSError:
        return False


class RunEntry(NamedTuple):
    """An entry of a folder of runs. `stamp` is when a file in it was added, replaced or removed
    last (ns since 1970): whatever writes a file as a whole changes it, an append to a journal does
    not. `problem` is why it cannot be a run, "" where it may be one."""

    name: str
    stamp: int
    problem: str = ""


def list_entries(root: Path) -> list[RunEntry]:
    """Everything in a folder of runs that is a run or should be, at one look an entry.

    Hidden entries are left out, and so is what has neither the name of a run nor a spec.json.
    Raises RunFolderError where the folder itself cannot be read.
    """
    try:
        with os.scandir(root) as entries:
            listed = [
                _build_run_entry(entry) for entry in entries if not entry.name.startswith(".")
            ]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise RunFolderError(Note("no_read", path=root, problem=describe_os_error(error))) from None
    return [entry for entry in listed if entry is not None]


def _build_run_entry(entry: os.DirEntry[str]) -> RunEntry | None:
    named = is_run_id(entry.name)
    try:
        status = entry.stat()
    except FileNotFoundError:
        gone = not entry.is_symlink()  # deleted meanwhile
        return None if gone or not named else RunEntry(entry.name, 0, "is a link to nothing")
    except OSError as error:
        return RunEntry(entry.name, 0, describe_os_error(error)) if named else None
    if not stat.S_ISDIR(status.st_mode):
        return RunEntry(entry.name, 0, "is a file, not a folder") if named else None
    if named:
        return RunEntry(entry.name, status.st_mtime_ns)
    if not os.path.lexists(Path(entry.path, "spec.json")):
        return None
    problem = "its name is not a valid run id (a to z, 0 to 9, '_', '.', '-'; at most 80)"
    return RunEntry(entry.name, status.st_mtime_ns, problem)


def is_being_written(entry: RunEntry) -> bool:
    """Whether a folder without a spec.json is young enough for one that is being made."""
    return time.time() - entry.stamp / 1e9 < _BEING_WRITTEN


def find_run(run_id: str, roots: Iterable[Path]) -> RunFolder:
    """The folder of a run, by its id; raises UsageError when no root holds it, and RunFolderError
    when one does that cannot be read."""
    roots, problem = list(roots), ""
    for root in roots if is_run_id(run_id) else ():
        path = root / run_id
        try:
            if stat.S_ISREG((path / "spec.json").stat().st_mode):
                return RunFolder(path)
            problem = "spec.json is not a plain file"
        except (FileNotFoundError, NotADirectoryError):
            problem = "has no spec.json" if os.path.lexists(path) else problem
        except OSError as error:
            problem = describe_os_error(error)
    if problem:
        raise RunFolderError(Note("run_damaged", run=run_id, problem=problem))
    problem, alike = Note("run_unknown", run=run_id), find_alike_run(run_id, roots)
    raise UsageError(Note("did_you_mean", problem=problem, name=alike) if alike else problem)


def find_alike_run(run_id: str, roots: Iterable[Path]) -> str:
    """The newest run whose id holds an unknown one, or the most alike; "" where none is."""
    run_ids: list[str] = []
    for root in roots:
        with suppress(RunFolderError):
            run_ids += [entry.name for entry in list_entries(root) if not entry.problem]
    run_ids = sorted(run_ids, reverse=True)[:_COMPARED]
    holding = (name for name in run_ids if len(run_id) >= _PART and run_id in name)
    return next(holding, "") or find_alike_name(run_id, run_ids, _ALIKE)


def list_run_folders(roots: Iterable[Path]) -> list[RunFolder]:
    """Every run folder that `find_run` finds, newest first; one without spec.json is being written
    or damaged."""
    seen: dict[str, RunFolder] = {}
    for root in roots:
        for entry in list_entries(root):
            folder = RunFolder(root / entry.name)
            if not entry.problem and is_file(folder.path / "spec.json"):
                seen.setdefault(entry.name, folder)
    return [seen[name] for name in sorted(seen, reverse=True)]


# What somebody else published: `published.json` beside the journals of an imported run.

PUBLISHED_FILE = "published.json"


class Flag(Record, frozen=True):
    """Something about a published score that a reader should know. `kind` is a word that pages have
    a text for; `metric` narrows it, `detail` holds the facts."""

    kind: str
    metric: str = ""
    detail: str = ""


class PublishedScore(Record, frozen=True):
    """One claimed score beside what its case report gives.

    `level` is 0 for a bare claim, 1 where a complete case report stands behind it; `own` is by the
    weights of the report, `recomputed` by those of the board; both None at level 0. What was not
    measured at all has no claim either.
    """

    level: int
    claimed: float | None
    recomputed: float | None = None
    own: float | None = None
    reading: str = ""
    judges: tuple[str, ...] = ()
    graded_at: str = ""
    flags: tuple[Flag, ...] = ()


class Published(Record, frozen=True):
    """The publisher's row: `facts` are its own fields, `files` the sha256 of each other file of the
    run folder by name, so that equal imports are recognized and share their files."""

    publisher: str
    month: str
    files: dict[str, str] = {}
    scores: dict[str, PublishedScore] = {}
    facts: dict[str, Any] = {}


def write_published(folder: RunFolder, published: Published) -> None:
    write_atomic(folder.path / PUBLISHED_FILE, to_json_with_notes(published))


def read_published(folder: RunFolder) -> Published | None:
    """None for a run that nobody published; raises RunFolderError for a broken file."""
    path = folder.path / PUBLISHED_FILE
    if not path.exists():
        return None
    try:
        return from_json_with_notes(Published, path.read_bytes())
    except (OSError, msgspec.MsgspecError) as error:
        raise RunFolderError.locate(path, error) from None

"""A run folder: where each of its files lies, and how it is written and read.

spec.json  samples.jsonl  calls/  generations/  verdicts/<scoring>/  events.jsonl
progress.json  card.json  summary.json  samples.parquet (a cache)  worker.lock  cancel  worker.log
"""

from __future__ import annotations

import os
import re
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from evalcore.errors import RunFolderError, UsageError
from evalcore.records import (
    Call,
    Episode,
    Progress,
    Record,
    RunSpec,
    RunState,
    RunSummary,
    Sample,
    Verdict,
    from_json,
    to_json,
)
from evalcore.store import journal
from evalcore.store.held import held

R = TypeVar("R", bound=Record)
_RUN_ID = re.compile(r"[a-z0-9][a-z0-9_.-]{0,79}")
_CARD = "card.json"
_SCORING = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,79}")


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


def new_run_id() -> str:
    """A name that sorts by time of creation and that no two runs share."""
    return time.strftime("%Y%m%d-%H%M%S", time.gmtime()) + "-" + secrets.token_hex(3)


def write_atomic(path: Path, content: bytes) -> None:
    """Replace a file as a whole: a reader sees the old or the new content, never a part.

    A kill can leave the temporary file `.<name>.<random>` behind, which nothing reads.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        with temporary.open("xb") as file:  # the umask decides who may read it, unlike mkstemp
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


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
        lines = (to_json(StoredSample(benchmark=b, sample=s)) + b"\n" for b, s in samples)
        write_atomic(self.path / "samples.jsonl", b"".join(lines))
        write_atomic(self.path / "spec.json", to_json(spec))

    def spec(self) -> RunSpec:
        return self._read("spec.json", RunSpec)

    def summary(self) -> RunSummary | None:
        return self._read("summary.json", RunSummary) if self.summary_path.exists() else None

    def progress(self) -> Progress | None:
        exists = (self.path / "progress.json").exists()
        return self._read("progress.json", Progress) if exists else None

    def card(self) -> dict[str, Any]:
        """What the target last said of itself: capabilities, memory, speed; empty before that."""
        path = self.path / _CARD
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Any]) if path.exists() else {}

    def write_card(self, card: Mapping[str, Any]) -> None:
        write_atomic(self.path / _CARD, to_json(card))

    def write_summary(self, summary: RunSummary) -> None:
        write_atomic(self.summary_path, to_json(summary))

    def write_progress(self, progress: Progress) -> None:
        write_atomic(self.path / "progress.json", to_json(progress))

    def samples(self) -> Iterator[StoredSample]:
        return journal.read(self.path / "samples.jsonl", StoredSample)

    def calls(self) -> Iterator[Call]:
        return journal.read_all(self.path / "calls", Call)

    def episodes(self) -> Iterator[StoredEpisode]:
        return journal.read_all(self.path / "generations", StoredEpisode)

    def verdicts(self, scoring: str) -> Iterator[StoredVerdict]:
        return journal.read_all(self.verdicts_dir(scoring), StoredVerdict)

    def verdicts_dir(self, scoring: str) -> Path:
        """Where the verdicts of one scoring lie; raises UsageError for a name that is no name."""
        if not _SCORING.fullmatch(scoring):
            raise UsageError(f"{scoring!r} is not the name of a scoring of run {self.run_id}")
        return self.path / "verdicts" / scoring

    def alive(self) -> bool:
        """Whether a worker holds the lock."""
        return held(self.lock_path)

    def state(self) -> RunState:
        """The state as of now: a run whose worker is gone without an ending is interrupted."""
        alive = self.alive()  # first: what a worker wrote before it let go is then read below
        try:
            self.spec()
            progress, summary = self.progress(), self.summary()
        except RunFolderError:
            return "broken"
        if alive:
            return "running"
        if summary is not None and (progress is None or progress.state != "running"):
            return summary.state
        # A worker takes the lock before it writes progress, and its file stays.
        started = progress is not None or self.lock_path.exists()
        return "interrupted" if started else "planned"

    def signature(self) -> str:
        """Changes whenever anything a reader shows may have changed."""
        parts = []
        for pattern in ("*.json", "*.jsonl", "generations/*.jsonl", "verdicts/*/*.jsonl"):
            for path in sorted(self.path.glob(pattern)):
                try:
                    status = path.stat()
                except FileNotFoundError:  # deleted meanwhile
                    continue
                parts.append(f"{path.name}:{status.st_ino}:{status.st_mtime_ns}:{status.st_size}")
        return "|".join(parts)

    def _read(self, name: str, kind: type[R]) -> R:
        path = self.path / name
        try:
            return from_json(kind, path.read_bytes())
        except (OSError, msgspec.MsgspecError) as error:
            raise RunFolderError(f"{path}: {error}") from None


def find(run_id: str, roots: Iterable[Path]) -> RunFolder:
    """The folder of a run, by its id; raises UsageError when no root holds it."""
    if _RUN_ID.fullmatch(run_id):
        for root in roots:
            if (root / run_id / "spec.json").is_file():
                return RunFolder(root / run_id)
    raise UsageError(f"no run {run_id!r}; `evalcore list runs` shows the known ones")


def stamps(root: Path) -> dict[str, int]:
    """When a file of a run was last added, replaced or removed, by run id; one look a folder.

    Whatever writes a file as a whole changes it, an append to a journal does not. Folders without
    a spec.json are among them.
    """
    found = {}
    try:
        with os.scandir(root) as entries:
            for entry in entries:
                if _RUN_ID.fullmatch(entry.name) and entry.is_dir():
                    found[entry.name] = _stamp(entry)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    return found


def _stamp(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat().st_mtime_ns
    except FileNotFoundError:  # deleted meanwhile
        return 0


def folders(roots: Iterable[Path]) -> list[RunFolder]:
    """Every run folder that `find` finds, newest first; one without spec.json is being written."""
    seen: dict[str, RunFolder] = {}
    for root in roots:
        for spec in root.glob("*/spec.json"):
            if _RUN_ID.fullmatch(spec.parent.name):
                seen.setdefault(spec.parent.name, RunFolder(spec.parent))
    return [seen[name] for name in sorted(seen, reverse=True)]

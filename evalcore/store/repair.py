"""Setting unreadable lines of journals aside, so that a run can go on without them.

A disk or a copy that failed may leave garbage in the middle of a journal. Such a line goes as it is
into a sidecar file `<journal>.damaged`, and the journal is replaced by the lines that can be read,
with a new chain: the runner then sees that a case lacks its answer or verdict, and asks or scores
it again. A run that had ended has not any more: its summary goes aside too, until it is resumed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
from filelock import FileLock, Timeout

from evalcore.errors import EvalboardError, RunFolderError
from evalcore.i18n import Note
from evalcore.records import Call, Record, from_json
from evalcore.store import journal
from evalcore.store.chain import relink_lines
from evalcore.store.run_folder import (
    RunFolder,
    StoredEpisode,
    StoredVerdict,
    is_file,
    list_run_folders,
)

DAMAGED = ".damaged"


class QuarantinedLine(Record, frozen=True):
    """A line that was set aside: in which journal and where (from 1), why, and where it is now.
    `resumable` is whether the run can make the record again."""

    run_id: str
    file: str
    line: int
    problem: str
    aside: str
    resumable: bool = True


def repair_runs(roots: Iterable[Path]) -> Iterator[QuarantinedLine | str]:
    """Repair the journals of every run below the roots, one run after another.

    Yields a record for each line that was set aside, and a sentence for each run that cannot be
    repaired: it is at work, or its folder cannot be read or written.
    """
    for folder in list_run_folders(roots):
        try:
            with FileLock(folder.lock_path, timeout=0):
                yield from _repair_run(folder)
        except Timeout:
            yield f"run {folder.run_id} is being worked on; repair it when it has ended"
        except (EvalboardError, OSError) as error:
            yield f"run {folder.run_id}: {error}"


def cut_torn_lines(folder: RunFolder) -> list[tuple[str, int]]:
    """Cut off what a kill left at the ends of a run's journals, before a worker goes on; returns
    the names of the journals and the bytes of their torn lines. Raises OSError."""
    paths = [path for path, _ in _list_repairable_journals(folder)]
    cuts = []
    for path in (*paths, folder.events_path):
        if size := journal.repair_journal(path):
            cuts.append((path.relative_to(folder.path).as_posix(), size))
    return cuts


def _repair_run(folder: RunFolder) -> Iterator[QuarantinedLine | str]:
    imported = folder.read_spec().origin == "imported"
    lost = False
    for path, kind in _list_repairable_journals(folder):
        quarantined = [
            QuarantinedLine(
                folder.run_id, str(path), line, problem, path.name + DAMAGED, not imported
            )
            for line, problem in _quarantine_lines(path, kind)
        ]
        # a call is only a spare copy of an answer
        lost = lost or bool(quarantined and kind is not Call)
        yield from quarantined
    if lost and not imported and is_file(folder.summary_path):
        folder.summary_path.replace(folder.summary_path.with_name(f"summary.json{DAMAGED}"))
    try:
        for _ in folder.read_samples():
            pass
    except EvalboardError as error:
        yield str(error)


def _list_repairable_journals(folder: RunFolder) -> Iterator[tuple[Path, type[Record]]]:
    for pattern, kind in (
        ("calls/*.jsonl", Call),
        ("generations/*.jsonl", StoredEpisode),
        ("verdicts/*/*.jsonl", StoredVerdict),
    ):
        for path in sorted(folder.path.glob(pattern)):
            yield path, kind


def _quarantine_lines(path: Path, kind: type[Record]) -> list[tuple[int, str]]:
    """Take the unreadable lines out of a journal; returns their numbers and what is wrong.

    The sidecar is on the disk before the journal is replaced: a kill in between leaves the lines in
    both.
    """
    bad: dict[int, str] = {}
    for number, piece in _read_line_pieces(path):
        if number not in bad and (problem := _find_line_problem(piece, kind)):
            bad[number] = problem
    if not bad:
        return []
    fresh = path.with_name(f".{path.name}.repaired")
    with fresh.open("wb") as good, path.with_name(path.name + DAMAGED).open("ab") as aside:
        aside.writelines(piece for number, piece in _read_line_pieces(path) if number in bad)
        intact = (piece for number, piece in _read_line_pieces(path) if number not in bad)
        good.writelines(relink_lines(intact))
        for file in (aside, good):
            file.flush()
            os.fsync(file.fileno())
    fresh.replace(path)
    return list(bad.items())


def _read_line_pieces(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines of a journal with their numbers, from 1; one that is too long in several pieces."""
    if not is_file(path):
        raise RunFolderError(Note("move_away", path=path))
    number, ended = 0, True
    with path.open("rb") as file:
        while piece := file.readline(journal.LONGEST):
            number += ended
            ended = piece.endswith(b"\n")
            yield number, piece


def _find_line_problem(piece: bytes, kind: type[Record]) -> str:
    """Why it is no record; a short last line without an end is torn, which every writer mends."""
    if not piece.endswith(b"\n"):
        is_long = len(piece) == journal.LONGEST
        return Note("line_long", most=f"{journal.LONGEST:,}") if is_long else ""
    try:
        from_json(kind, piece)
    except (msgspec.MsgspecError, ValueError) as error:
        return str(error)
    return ""

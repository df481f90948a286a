"""A newer state of what a publisher has published, read from a checkout of its repository."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from evalcore.errors import UsageError
from evalcore.exchange.published import tau2
from evalcore.exchange.scale import publication as scale
from evalcore.i18n import Note
from evalcore.intake.files import read_bytes
from evalcore.records import ProgressCallback, Record
from evalcore.settings import Settings
from evalcore.store.published import Publication, load_publications, save_publication

_COMMIT = re.compile(r"[0-9a-f]{40}")
_DAY = re.compile(r"\d{4}-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?")
_SMALL = 1 << 20  # bytes
Build = Callable[[Path, str, str, ProgressCallback], Publication]
_LAYOUTS: tuple[tuple[Callable[[Path], Path | None], Build], ...] = (
    (scale.find_scale_folder, scale.build_publication),
    (tau2.find_tau2_folder, tau2.build_publication),
)


class RefreshResult(Record, frozen=True):
    """What a refresh wrote, and what it changed of what was there before."""

    publisher: str
    path: str
    revision: str
    date: str
    months: int
    entries: int
    added: int
    changed: int
    removed: int


def refresh_publication(
    settings: Settings, root: Path, date: str = "", progress: ProgressCallback = print
) -> RefreshResult:
    """Read a checkout and write it into the data folder, where it wins over what ships. Raises
    UsageError for a folder of no known layout, DatasetError for a file that does not fit it; then
    nothing is written."""
    publication = read_checkout(root, date, progress)
    publisher = publication.publisher
    before = load_publications(settings).get(publisher.key)
    path = save_publication(settings, publication)
    old, new = _describe_entries(before), _describe_entries(publication)
    return RefreshResult(
        publisher=publisher.key,
        path=str(path),
        revision=publisher.revision,
        date=publisher.date,
        months=len(publication.months),
        entries=len(new),
        added=len(new.keys() - old.keys()),
        changed=sum(new[at] != old[at] for at in new.keys() & old.keys()),
        removed=len(old.keys() - new.keys()),
    )


def read_checkout(root: Path, date: str, progress: ProgressCallback) -> Publication:
    """The publication in a checkout, whichever publisher it is of."""
    if date and not _DAY.fullmatch(date):
        raise UsageError(Note("cli_published_date", date=date))
    if not root.is_dir():
        raise UsageError(Note("published_no_folder", path=root))
    for find_folder, build in _LAYOUTS:
        if find_folder(root) is not None:
            return build(root, read_revision(root), date, progress)
    raise UsageError(Note("published_layout", path=root))


def read_revision(root: Path) -> str:
    """The commit of a checkout, read from its files without running git; "" where it has none."""
    git = root / ".git"
    try:
        head = _read_git_text(git / "HEAD")
        name = head.removeprefix("ref: ")
        if name != head and re.fullmatch(r"refs/[\w./-]+", name) and ".." not in name:
            head = _read_git_text(git / name) if (git / name).is_file() else ""
            packed = _read_git_text(git / "packed-refs") if not head else ""
            lines = (line.partition(" ") for line in packed.splitlines())
            head = head or next((commit for commit, _, ref in lines if ref == name), "")
    except UsageError:
        return ""
    return head if _COMMIT.fullmatch(head) else ""


def _read_git_text(path: Path) -> str:
    return read_bytes(path, _SMALL).decode("ascii", "replace").strip()


def _describe_entries(publication: Publication | None) -> dict[tuple[str, str], Any]:
    """Every entry by month and id, with its lists of cases in place of their numbers, which change
    with the file."""
    described: dict[tuple[str, str], Any] = {}
    for entry in publication.entries if publication else ():
        plain = msgspec.to_builtins(entry)
        for score in plain["scores"].values():
            for report in score.get("reports", {}).values():
                report["cases"] = publication.cases[report["cases"]] if publication else None
        described[entry.month, entry.identity] = plain
    return described

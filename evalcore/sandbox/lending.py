"""Lending folders of the host to a program that is another user, and taking them back.

It matters only where a program runs as a user of its own (`identity`): a writable folder becomes
its property while it runs and ours again afterwards, and a read-only source that only we may read
is shown as a copy (it is enough that its top is closed to others, as temporary folders are).
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec

from evalcore.sandbox.folder import entries, remove
from evalcore.sandbox.identity import Identity
from evalcore.sandbox.terms import Bind


@contextmanager
def lent(binds: tuple[Bind, ...], who: Identity) -> Iterator[tuple[Bind, ...]]:
    """The binds to use instead of `binds`, good for the length of the block."""
    with ExitStack() as until_end:
        yield tuple(_lend(bind, who, until_end) for bind in binds)


def _lend(bind: Bind, who: Identity, until_end: ExitStack) -> Bind:
    source = Path(bind.source)
    if bind.writable:
        _separate(source)
    if not who.own_user:
        return bind
    if bind.writable:
        until_end.callback(_give, source, os.geteuid(), os.getegid())
        _give(source, who.uid, who.gid)
    elif not _for_everybody(source):
        bind = msgspec.structs.replace(bind, source=str(_copy(source, who, until_end)))
    return bind


def _for_everybody(source: Path) -> bool:
    """Whether any user may read it, as far as its own permissions tell."""
    needed = stat.S_IROTH | (stat.S_IXOTH if source.is_dir() else 0)
    return source.stat().st_mode & needed == needed


def _copy(source: Path, who: Identity, until_end: ExitStack) -> Path:
    """A copy that belongs to `who`, links inside kept as links."""
    holder = Path(tempfile.mkdtemp(prefix="evalcore-copy-"))
    until_end.callback(remove, holder)
    copy = holder / "copy"
    if source.is_dir():
        shutil.copytree(source, copy, symlinks=True)
    else:
        shutil.copy2(source, copy)
    _give(copy, who.uid, who.gid)
    return copy


def _give(source: Path, uid: int, gid: int) -> None:
    for entry in entries(source):
        os.chown(entry.name, uid, gid, dir_fd=entry.parent, follow_symlinks=False)


def _separate(source: Path) -> None:
    """Make files that have a second name into files of their own.

    A hard link may lead out of the folder (a local `git clone` makes them), and what is written to
    it would be written there too.
    """
    for entry in entries(source):
        if not stat.S_ISREG(entry.facts.st_mode) or entry.facts.st_nlink < 2:
            continue
        copy = f".separate-{os.urandom(8).hex()}"
        mode = stat.S_IMODE(entry.facts.st_mode)
        with (
            open(entry.name, "rb", opener=_opener(entry.parent, os.O_NOFOLLOW)) as old,
            open(copy, "xb", opener=_opener(entry.parent, 0)) as new,
        ):
            shutil.copyfileobj(old, new)
            os.fchmod(new.fileno(), mode)
        os.rename(copy, entry.name, src_dir_fd=entry.parent, dst_dir_fd=entry.parent)


def _opener(parent: int, more: int) -> Callable[[str, int], int]:
    return lambda name, flags: os.open(name, flags | more, 0o600, dir_fd=parent)

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

from evalcore.sandbox.folder import remove_tree, walk_entries
from evalcore.sandbox.identity import SandboxUser
from evalcore.sandbox.program_types import Bind


@contextmanager
def chowned_binds(binds: tuple[Bind, ...], user: SandboxUser) -> Iterator[tuple[Bind, ...]]:
    """The binds to use instead of `binds`, good for the length of the block."""
    with ExitStack() as cleanup:
        yield tuple(_prepare_bind(bind, user, cleanup) for bind in binds)


def _prepare_bind(bind: Bind, user: SandboxUser, cleanup: ExitStack) -> Bind:
    source = Path(bind.source)
    if bind.writable:
        _break_hard_links(source)
    if not user.own_user:
        return bind
    if bind.writable:
        cleanup.callback(_chown_tree, source, os.geteuid(), os.getegid())
        _chown_tree(source, user.uid, user.gid)
    elif not _is_world_readable(source):
        bind = msgspec.structs.replace(bind, source=str(_copy_source(source, user, cleanup)))
    return bind


def _is_world_readable(source: Path) -> bool:
    """Whether any user may read it, as far as its own permissions tell."""
    needed = stat.S_IROTH | (stat.S_IXOTH if source.is_dir() else 0)
    return source.stat().st_mode & needed == needed


def _copy_source(source: Path, user: SandboxUser, cleanup: ExitStack) -> Path:
    """A copy that belongs to `user`, links inside kept as links."""
    holder = Path(tempfile.mkdtemp(prefix="evalcore-copy-"))
    cleanup.callback(remove_tree, holder)
    copy = holder / "copy"
    if source.is_dir():
        shutil.copytree(source, copy, symlinks=True)
    else:
        shutil.copy2(source, copy)
    _chown_tree(copy, user.uid, user.gid)
    return copy


def _chown_tree(source: Path, uid: int, gid: int) -> None:
    for entry in walk_entries(source):
        os.chown(entry.name, uid, gid, dir_fd=entry.parent, follow_symlinks=False)


def _break_hard_links(source: Path) -> None:
    """Make files that have a second name into files of their own.

    A hard link may lead out of the folder (a local `git clone` makes them), and what is written to
    it would be written there too.
    """
    for entry in walk_entries(source):
        if not stat.S_ISREG(entry.facts.st_mode) or entry.facts.st_nlink < 2:
            continue
        copy = f".separate-{os.urandom(8).hex()}"
        mode = stat.S_IMODE(entry.facts.st_mode)
        with (
            open(entry.name, "rb", opener=_build_opener(entry.parent, os.O_NOFOLLOW)) as old,
            open(copy, "xb", opener=_build_opener(entry.parent, 0)) as new,
        ):
            shutil.copyfileobj(old, new)
            os.fchmod(new.fileno(), mode)
        os.rename(copy, entry.name, src_dir_fd=entry.parent, dst_dir_fd=entry.parent)


def _build_opener(parent: int, more: int) -> Callable[[str, int], int]:
    return lambda name, flags: os.open(name, flags | more, 0o600, dir_fd=parent)

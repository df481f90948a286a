"""The files of a sandbox: what a program sees of the world, who it is there, lending it folders
of the host, and going through what it has written without following any link.
"""

from __future__ import annotations

import os
import queue
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import msgspec

from evalcore.errors import EnvironmentFailure, EvalboardError
from evalcore.i18n import Note
from evalcore.records import Record
from evalcore.sandbox.program import Bind, Program

# Going through folders that an untrusted program has written, without following any link. Every
# step is taken from an open folder, so a path can neither lead out nor be swapped on the way; depth
# and number of what lies there cost no stack and no memory. POSIX only.

#: Folders deeper than this are not walked into; `remove_tree` goes to any depth.
DEPTH = 64
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_BLOCK = 512  # the unit of st_blocks


class Unreadable(EvalboardError):
    """What a program left behind cannot be read: missing, a link, no plain file, or too long."""


class FolderEntry(NamedTuple):
    """`name` in the open folder `parent`; `facts` are of the entry itself, not of a link's end.
    `is_deepest` marks a folder that was not walked into for its depth."""

    parent: int
    name: str
    facts: os.stat_result
    is_deepest: bool = False


def walk_entries(top: Path) -> Iterator[FolderEntry]:
    """`top` itself and all below it, a folder before its content. What is gone by the time we come
    to it and what may not be entered is passed over."""
    top = top.resolve()
    parent = os.open(top.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        facts = os.stat(top.name, dir_fd=parent, follow_symlinks=False)
        yield FolderEntry(parent, top.name, facts)
        if stat.S_ISDIR(facts.st_mode):
            yield from _walk_below(parent, top.name, DEPTH)
    finally:
        os.close(parent)


def measure_usage(top: Path, max_entries: int) -> tuple[int, int]:
    """Bytes on disk and number of entries of `top`; counting ends beyond `max_entries` entries.
    Folders too deep to be walked into count as more than `max_entries`: much can hide in them."""
    total = count = 0
    for entry in walk_entries(top):
        total += entry.facts.st_blocks * _BLOCK
        count += max_entries + 1 if entry.is_deepest else 1
        if count > max_entries:
            break
    return total, count


def read_inside(folder: Path, name: str, limit: int) -> bytes:
    """The file `name` (a relative path) of `folder`, at most `limit` bytes. Raises Unreadable where
    it is missing, longer, no plain file, or reached through a link."""
    path = PurePosixPath(name)
    if path.is_absolute() or not path.parts or ".." in path.parts or "\0" in name:
        raise Unreadable(f"{name!r} is no path inside a folder")
    try:
        with open(_open_file(folder, path), "rb") as file:
            is_plain = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            content = file.read(limit + 1) if is_plain else b""
    except OSError as problem:
        raise Unreadable(f"{name!r} cannot be read: {problem.strerror}") from problem
    if not is_plain:
        raise Unreadable(f"{name!r} is no plain file")
    if len(content) > limit:
        raise Unreadable(f"{name!r} is longer than {limit} bytes")
    return content


def remove_tree(folder: Path) -> None:
    """Delete `folder` with all it holds, whatever the permissions; nothing where it is missing. A
    folder found inside is emptied of folders by moving them up to the top, so depth does not
    matter. No program may be running in it. Raises OSError where something cannot be deleted."""
    if not folder.is_dir() or folder.is_symlink():
        folder.unlink(missing_ok=True)
        return
    folder.chmod(0o700)
    top = os.open(folder, _FOLDER)
    try:
        moved = 0
        while names := os.listdir(top)[:1000]:  # noqa: PTH208 - of an open folder
            for name in names:
                moved = _remove_entry(top, name, moved)
    finally:
        os.close(top)
    folder.rmdir()


def _remove_entry(top: int, name: str, moved: int) -> int:
    """Delete one entry of the top folder; returns how many folders have been moved up so far."""
    if not stat.S_ISDIR(os.stat(name, dir_fd=top, follow_symlinks=False).st_mode):
        os.unlink(name, dir_fd=top)
        return moved
    os.chmod(name, 0o700, dir_fd=top)
    folder = os.open(name, _FOLDER, dir_fd=top)
    try:
        for child in os.listdir(folder):  # noqa: PTH208
            if not stat.S_ISDIR(os.stat(child, dir_fd=folder, follow_symlinks=False).st_mode):
                os.unlink(child, dir_fd=folder)
                continue
            os.chmod(child, 0o700, dir_fd=folder)
            moved += 1
            os.rename(child, _choose_unused_name(top, moved), src_dir_fd=folder, dst_dir_fd=top)
    finally:
        os.close(folder)
    os.rmdir(name, dir_fd=top)
    return moved


def _choose_unused_name(top: int, number: int) -> str:
    """A name that the top folder does not have; a program may have guessed the plain ones."""
    while True:
        name = f".removing-{number}-{os.urandom(8).hex()}"
        try:
            os.stat(name, dir_fd=top, follow_symlinks=False)
        except FileNotFoundError:
            return name


def _walk_below(parent: int, name: str, depth: int) -> Iterator[FolderEntry]:
    try:
        folder = os.open(name, _FOLDER, dir_fd=parent)
    except OSError:  # gone, swapped for something else, or closed to us
        return
    try:
        with os.scandir(folder) as listing:
            for dir_entry in listing:
                try:
                    facts = dir_entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                is_folder = stat.S_ISDIR(facts.st_mode)
                yield FolderEntry(folder, dir_entry.name, facts, is_folder and not depth)
                if is_folder and depth:
                    yield from _walk_below(folder, dir_entry.name, depth - 1)
    finally:
        os.close(folder)


def _open_file(folder: Path, path: PurePosixPath) -> int:
    parent = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in path.parts[:-1]:
            deeper = os.open(part, _FOLDER, dir_fd=parent)
            os.close(parent)
            parent = deeper
        return os.open(path.name, _FILE, dir_fd=parent)
    finally:
        os.close(parent)


# Who a program is inside: never root, so that the limit on its number of processes binds. Where we
# are root, with the right to mount and to become somebody else, the program is a user of its own: a
# number high up that no account has. No two programs that run at the same time share one, because
# the kernel counts processes per user. Where we are anybody else, the program is ourselves under
# another number, in a user namespace, which has its own count.

_SLOTS = 32
#: CAP_CHOWN, CAP_SETGID, CAP_SETUID, CAP_NET_ADMIN and CAP_SYS_ADMIN by their bits.
_NEEDED = (0, 6, 7, 12, 21)
_ORDINARY = 1000
#: A container may have few user numbers, or only one; then none can be given to programs.
_ENOUGH_USERS = 10_000
#: Numbers kept free at the end of the range, where some systems have special users.
_MARGIN = 64

_free: queue.SimpleQueue[int] = queue.SimpleQueue()
for _slot in range(_SLOTS):
    _free.put(_slot)


class SandboxUser(Record, frozen=True):
    """The program's numbers as seen inside; `own_user` where they are real users of the host."""

    uid: int
    gid: int
    own_user: bool


@contextmanager
def acquire_sandbox_user() -> Iterator[SandboxUser]:
    """Lend an identity for one run; waits while this process has all of them in use."""
    users = Path("/proc/self/uid_map").read_text()
    if not _is_privileged() or _parse_uid_range(users)[1] < _ENOUGH_USERS:
        yield SandboxUser(uid=_ORDINARY, gid=_ORDINARY, own_user=False)
        return
    slot = _free.get()
    try:
        number = _choose_uid(slot, users)
        yield SandboxUser(uid=number, gid=number, own_user=True)
    finally:
        _free.put(slot)


def _is_privileged() -> bool:
    """Whether we may mount and become any user without a user namespace."""
    if os.geteuid() != 0:
        return False
    _, _, rest = Path("/proc/self/status").read_text().partition("\nCapEff:")
    capabilities = int(rest.split()[0], 16)
    return all(capabilities >> bit & 1 for bit in _NEEDED)


def _choose_uid(slot: int, uid_map: str) -> int:
    """A user number from the upper half of the numbers that exist here (`uid_map` of proc)."""
    first, length = _parse_uid_range(uid_map)
    end = min(first + length, 1 << 31) - _MARGIN
    span = max(1, min(length // 2, 1 << 27))
    return end - 1 - (os.getpid() * _SLOTS + slot) % span


def _parse_uid_range(uid_map: str) -> tuple[int, int]:
    """The first number and the length of the uppermost range of users that exist here."""
    rows = [tuple(map(int, line.split())) for line in uid_map.splitlines()]
    first, _, length = max(rows)
    return first, length


# What a program sees of the world: the read-only system, this interpreter, a few made-up files.
# Both means build the same tree from this. Of `/etc` only what programs stumble without is shown,
# and nothing that names this machine or its users. The project's own folder is not part of it.

HOME = "/tmp"  # noqa: S108 - a path inside
#: Folders in memory, writable for the program; each holds at most half of its memory.
IN_MEMORY = (HOME, "/dev/shm")  # noqa: S108
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
#: Made anew for each program; nothing is bound in them.
_MADE = ("/proc", "/dev")
_ETC = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "mime.types", "protocols")
_SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
#: May hold passwords of a package index, and lies in the tree of an interpreter.
_PRIVATE = ("pip.conf",)


class Layout(Record, frozen=True):
    """`folders` in order of creation; `links` are (path, what it points to)."""

    folders: tuple[str, ...]
    links: tuple[tuple[str, str], ...]
    binds: tuple[Bind, ...]
    files: tuple[tuple[str, str], ...]


def build_layout(program: Program, uid: int, gid: int) -> Layout:
    """The tree for a program that runs as `uid` and `gid`. Raises EnvironmentFailure for a bind
    whose source is missing or whose target is no clean absolute path."""
    files = _build_etc_files(uid, gid)
    ours = (*_list_system_binds(), *_list_interpreter_binds())
    taken = (*_MADE, *(bind.target for bind in ours), *(path for path, _ in files))
    for bind in program.binds:
        _check_bind(bind, taken)
    binds = (*ours, *program.binds)
    targets = (*(bind.target for bind in binds), *(path for path, _ in files))
    above = (str(folder) for path in targets for folder in reversed(PurePosixPath(path).parents))
    folders = tuple(path for path in dict.fromkeys(above) if path != "/")  # outer ones first
    links = tuple((path, str(Path(path).readlink())) for path in _SYSTEM if Path(path).is_symlink())
    return Layout(folders=folders, links=links, binds=binds, files=files)


def build_program_environment(program: Program) -> dict[str, str]:
    """The whole environment of the program. Numeric libraries are kept to one thread: they start
    one per processor, and on a large machine that alone is over the limit on processes."""
    own = {
        "PATH": f"{Path(sys.prefix) / 'bin'}:{Path(sys.base_prefix) / 'bin'}:{_SYSTEM_PATH}",
        "HOME": HOME,
        "TZ": "UTC",
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    return {**own, **program.env}


def _check_bind(bind: Bind, taken: tuple[str, ...]) -> None:
    target = PurePosixPath(bind.target)
    if str(target) != bind.target or target.root != "/" or ".." in target.parts:
        raise EnvironmentFailure(Note("sandbox_bind_path", path=f"{bind.target!r}"))
    hidden = [path for path in taken if _is_under(path, (str(target).rstrip("/"),))]
    if hidden or _is_under(bind.target, _MADE):
        what = hidden[0] if hidden else "what the sandbox itself makes there"
        raise EnvironmentFailure(Note("sandbox_bind_hides", path=bind.target, hidden=what))
    if not Path(bind.source).exists():
        raise EnvironmentFailure(Note("sandbox_bind_missing", path=bind.source))


def _list_system_binds() -> Iterable[Bind]:
    """The system's folders that are no links, and single files of /etc."""
    paths = [path for path in _SYSTEM if Path(path).is_dir() and not Path(path).is_symlink()]
    paths += [f"/etc/{name}" for name in _ETC if Path("/etc", name).exists()]
    return (Bind(source=path, target=path) for path in paths)


def _list_interpreter_binds() -> tuple[Bind, ...]:
    """This interpreter's trees at their own paths and at the paths that their links lead to."""
    real = Path(sys.executable).resolve().parent.parent
    roots = [Path(sys.prefix), Path(sys.base_prefix), real]
    trees = {
        str(path): str(path.resolve())
        for root in roots
        for path in (root, root.resolve())
        if not _is_under(str(path), _SYSTEM)
    }
    hidden = [f"{path}/{name}" for path in trees for name in _PRIVATE]
    return (
        *(Bind(source=source, target=path) for path, source in sorted(trees.items())),
        *(Bind(source="/dev/null", target=path) for path in hidden if Path(path).exists()),
    )


def _is_under(path: str, folders: Iterable[str]) -> bool:
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)


def _build_etc_files(uid: int, gid: int) -> tuple[tuple[str, str], ...]:
    users = f"root:x:0:0:root:/:/bin/sh\nprogram:x:{uid}:{gid}:program:{HOME}:/bin/sh\n"
    return (
        ("/etc/passwd", users),
        ("/etc/group", f"root:x:0:\nprogram:x:{gid}:\n"),
        ("/etc/hosts", "127.0.0.1 localhost\n::1 localhost\n"),
        ("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"),
    )


# Lending folders of the host to a program that runs as a user of its own: a writable folder becomes
# its property while it runs and ours again afterwards, and a read-only source that only we may read
# is shown as a copy (it is enough that its top is closed to others, as temporary folders are).


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
    else:
        needed = stat.S_IROTH | (stat.S_IXOTH if source.is_dir() else 0)
        if source.stat().st_mode & needed != needed:
            bind = msgspec.structs.replace(bind, source=str(_copy_source(source, user, cleanup)))
    return bind


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
    """Make files that have a second name into files of their own. A hard link may lead out of the
    folder (a local `git clone` makes them), and what is written to it would be written there
    too."""
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

"""What a program sees of the world: the read-only system, this interpreter, a few made-up files.

Both means build the same tree from this. Of `/etc` only what programs stumble without is shown, and
nothing that names this machine or its users. The project's own folder is not part of it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from evalcore.errors import EnvironmentFailure
from evalcore.records import Record
from evalcore.sandbox.program_types import Bind, Program

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
    """The tree for a program that runs as `uid` and `gid`.

    Raises EnvironmentFailure for a bind whose source is missing or whose target is no clean
    absolute path.
    """
    files = _build_etc_files(uid, gid)
    ours = (*_list_system_binds(), *_list_interpreter_binds())
    taken = (*_MADE, *(bind.target for bind in ours), *(path for path, _ in files))
    for bind in program.binds:
        _check_bind(bind, taken)
    binds = (*ours, *program.binds)
    targets = [bind.target for bind in binds] + [path for path, _ in files]
    links = tuple((path, str(Path(path).readlink())) for path in _SYSTEM if Path(path).is_symlink())
    return Layout(folders=_list_parents(targets), links=links, binds=binds, files=files)


def build_program_environment(program: Program) -> dict[str, str]:
    """The whole environment of the program.

    Numeric libraries are kept to one thread: they start one per processor, and on a large machine
    that alone is over the limit on processes.
    """
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
    clean = str(target) == bind.target and target.root == "/" and ".." not in target.parts
    if not clean:
        raise EnvironmentFailure(f"sandbox: {bind.target!r} is no clean absolute path to bind at")
    hidden = [path for path in taken if _is_under(path, (str(target).rstrip("/"),))]
    if hidden or _is_under(bind.target, _MADE):
        what = hidden[0] if hidden else "what the sandbox itself makes there"
        raise EnvironmentFailure(f"sandbox: a bind at {bind.target} would hide {what}")
    if not Path(bind.source).exists():
        raise EnvironmentFailure(f"sandbox: {bind.source} does not exist, so it cannot be bound")


def _list_system_binds() -> Iterable[Bind]:
    """The system's folders that are no links, and single files of /etc."""
    paths = [path for path in _SYSTEM if Path(path).is_dir() and not Path(path).is_symlink()]
    paths += [f"/etc/{name}" for name in _ETC if Path("/etc", name).exists()]
    return (Bind(source=path, target=path) for path in paths)


def _list_interpreter_binds() -> tuple[Bind, ...]:
    """This interpreter's trees at their own paths and at the paths that their links lead to."""
    real = Path(sys.executable).resolve().parent.parent
    roots = [Path(sys.prefix), Path(sys.base_prefix), real]
    sources_by_path = {
        str(path): str(path.resolve()) for root in roots for path in (root, root.resolve())
    }
    trees = {
        path: source for path, source in sources_by_path.items() if not _is_under(path, _SYSTEM)
    }
    hidden = [f"{path}/{name}" for path in trees for name in _PRIVATE]
    return (
        *(Bind(source=source, target=path) for path, source in sorted(trees.items())),
        *(Bind(source="/dev/null", target=path) for path in hidden if Path(path).exists()),
    )


def _is_under(path: str, folders: Iterable[str]) -> bool:
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)


def _build_etc_files(uid: int, gid: int) -> tuple[tuple[str, str], ...]:
    return (
        (
            "/etc/passwd",
            f"root:x:0:0:root:/:/bin/sh\nprogram:x:{uid}:{gid}:program:{HOME}:/bin/sh\n",
        ),
        ("/etc/group", f"root:x:0:\nprogram:x:{gid}:\n"),
        ("/etc/hosts", "127.0.0.1 localhost\n::1 localhost\n"),
        ("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"),
    )


def _list_parents(targets: Iterable[str]) -> tuple[str, ...]:
    """Every folder above the targets, outer ones first."""
    parents = {
        str(parent): None for path in targets for parent in reversed(PurePosixPath(path).parents)
    }
    return tuple(path for path in parents if path != "/")

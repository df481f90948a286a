"""Where a kept server lives, and as whom it runs.

Both servers refuse to run as root, so under root they run as a user without rights. That user must
reach their folder, and a Unix socket's path must be short; where a data folder offers neither, the
server lives in a folder of the temporary directory that is named after it. The content is
disposable either way.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from collections.abc import Sequence
from pathlib import Path

from evalcore.errors import EnvironmentFailure
from evalcore.records import Record

if os.name == "posix":
    import pwd

#: A socket's path may hold 107 bytes on Linux, 103 on macOS; its name here takes up to 16.
_LONGEST = 85


class Account(Record, frozen=True):
    """The user that a server runs as."""

    name: str
    uid: int
    gid: int


def find_server_account(names: Sequence[str]) -> Account | None:
    """Under root the first of the users `names` that exists; None for everybody else.

    Raises EnvironmentFailure if there is none.
    """
    if os.geteuid() != 0:
        return None
    for name in names:
        try:
            passwd_entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(name=name, uid=passwd_entry.pw_uid, gid=passwd_entry.pw_gid)
    raise EnvironmentFailure(
        f"the server does not run as root, and of its users ({', '.join(names)}) none exists: "
        "create one, or start this program as an ordinary user"
    )


def prepare_server_folder(folder: Path, names: Sequence[str]) -> Path:
    """The folder in which the server that belongs to `folder` lives; made, and private to its user.

    Raises EnvironmentFailure where it cannot be had.
    """
    user = find_server_account(names)
    folder = folder.absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if len(os.fsencode(folder)) > _LONGEST or (user and not is_world_reachable(folder.parent)):
            folder = _make_substitute_folder(folder)
        _make_private(folder, user)
    except OSError as error:
        raise EnvironmentFailure(
            f"no place for the server in {folder}: {error.strerror}; remove it or choose another "
            "data folder"
        ) from None
    return folder


def is_world_reachable(path: Path) -> bool:
    """Whether everybody may pass through a path, down to it."""
    return all(directory.stat().st_mode & stat.S_IXOTH for directory in (path, *path.parents))


def _make_substitute_folder(folder: Path) -> Path:
    digest = hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]
    substitute = Path(tempfile.gettempdir()) / f"evalboard-{os.geteuid()}-{digest}"
    substitute.mkdir(mode=0o700, exist_ok=True)
    return substitute


def _make_private(server_folder: Path, user: Account | None) -> None:
    """Give the folder to the server's user alone; refuse one that another has put there."""
    owner = server_folder.lstat()
    ours = {os.geteuid(), user.uid if user else os.geteuid()}
    if owner.st_uid not in ours or stat.S_ISLNK(owner.st_mode):
        raise EnvironmentFailure(f"{server_folder} belongs to another user; remove it")
    if user and owner.st_uid != user.uid:
        os.chown(server_folder, user.uid, user.gid)
    server_folder.chmod(0o700)

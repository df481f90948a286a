"""The client of the reader process: an attachment's text, its members, and a picture as a data URL.

One locked process serves all episodes, one request at a time; any thread may ask. A file that takes
too long, too much memory, or the process with it costs that process and nothing else.
"""

from __future__ import annotations

import atexit
import base64
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from evalcore.benchmarks.gaia.attachments.read_request import (
    WITHOUT_TEXT,
    ReadRequest,
    Unreadable,
    detect_file_kind,
)
from evalcore.errors import EnvironmentFailure
from evalcore.i18n import Note
from evalcore.records import Record
from evalcore.sandbox.worker_process import WorkerLost, WorkerProcess

#: The largest attachment that is read, in bytes.
MAX_ATTACHMENT_BYTES = 25_000_000
SECONDS = 30.0
_MEMORY_BYTES = 1 << 30
_MAX_REPLY = 16_000_000
#: So that what takes the file's place in the meantime is neither followed nor waited for.
_OPEN_FLAGS = ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY")

_worker = WorkerProcess(
    "evalcore.benchmarks.gaia.attachments.service:open_readers",
    {},
    seconds=SECONDS,
    memory_bytes=_MEMORY_BYTES,
    max_reply=_MAX_REPLY,
)


class _ReaderReply(Record, frozen=True):
    text: str = ""
    error: str = ""
    members: tuple[tuple[str, int], ...] = ()


def read_content(content: bytes, request: ReadRequest, member: str = "") -> str:
    """The text of a file, or of a member of the archive that it is. Raises Unreadable with a
    message for the model, EnvironmentFailure where no process starts."""
    fields = {**msgspec.to_builtins(request), "op": "read", "member": member}
    return _request_reader(fields, content).text


def list_archive_members(content: bytes) -> tuple[tuple[str, int], ...]:
    """Path and bytes of each member of an archive. Raises what `read_content` raises."""
    return _request_reader({"op": "members"}, content).members


def close_readers() -> None:
    """End the process; the next request starts another one."""
    _worker.close()


atexit.register(close_readers)


def read_attachment_bytes(path: Path) -> bytes:
    """The bytes of an attachment. Raises Unreadable for a link, for what is not a file, and for one
    that is too large, and EnvironmentFailure where the file cannot be opened, for attachments are
    of our keeping."""
    flags = os.O_RDONLY | sum(getattr(os, name, 0) for name in _OPEN_FLAGS)
    try:
        file_stat = path.lstat()
        if not stat.S_ISREG(file_stat.st_mode):
            raise Unreadable("it is a link or no plain file, and is not opened")
        if file_stat.st_size > MAX_ATTACHMENT_BYTES:
            raise Unreadable(
                f"the file has {file_stat.st_size} bytes; {MAX_ATTACHMENT_BYTES} are read at most"
            )
        with os.fdopen(os.open(path, flags), "rb") as file:
            return file.read(MAX_ATTACHMENT_BYTES)
    except OSError as error:
        raise EnvironmentFailure(
            Note("gaia_file_closed", name=path.name, message=error.strerror)
        ) from error


def _request_reader(
    fields: Mapping[str, Any], content: bytes, *, retry: bool = True
) -> _ReaderReply:
    _worker.hello()  # so that starting a process does not count as the time of reading
    try:
        encoded = base64.b64encode(content).decode("ascii")
        reply = _worker.request({**fields, "content": encoded})
    except WorkerLost as lost:
        if lost.timed_out:
            raise Unreadable(f"reading the file took more than {SECONDS:g} seconds") from None
        if retry:
            return _request_reader(fields, content, retry=False)
        raise Unreadable(f"the file broke its reader ({lost})") from None
    if reply.fault == "memory":
        _worker.restart()
        raise Unreadable("reading the file took too much memory")
    if reply.fault:
        _worker.restart()
        if retry:
            return _request_reader(fields, content, retry=False)
        raise Unreadable(f"the file cannot be read ({reply.message[:200]})")
    answer = msgspec.json.decode(reply.result, type=_ReaderReply)
    if answer.error:
        raise Unreadable(answer.error)
    return answer


#: The largest picture that is given to a model, in bytes.
MAX_PICTURE_BYTES = 10_000_000
_MAX_MEMBERS = 20
_PICTURES = ((b"\x89PNG\r\n\x1a\n", "png"), (b"\xff\xd8\xff", "jpeg"), (b"GIF8", "gif"))


class AttachmentText(Record, frozen=True):
    """An attachment in a prompt: `text` is None where `reason` says why there is none."""

    kind: str
    text: str | None = None
    reason: str = ""


def read_attachment_text(path: Path, limit: int) -> AttachmentText:
    """The text of an attachment, at most about `limit` characters; of an archive, its members'.
    Raises EnvironmentFailure where the file or the process of the readers is out of reach."""
    kind = detect_file_kind(path.name, b"")
    try:
        content = read_attachment_bytes(path)
        kind = detect_file_kind(path.name, content[:16])
        if kind in WITHOUT_TEXT:
            return AttachmentText(kind, None, f"no text stands for this kind of file ({kind})")
        text = read_content(content, ReadRequest(name=path.name, limit=limit))
        if kind == "zip":
            text += _read_member_texts(content, limit - len(text))
        return AttachmentText(kind or "text", text)
    except Unreadable as problem:
        return AttachmentText(kind, None, str(problem))


def _read_member_texts(content: bytes, room: int) -> str:
    """The texts of the first members of an archive, while there is room."""
    parts: list[str] = []
    for name, _ in list_archive_members(content)[:_MAX_MEMBERS]:
        if room <= 0:
            break
        if detect_file_kind(name, b"") in WITHOUT_TEXT | {"zip"}:
            continue
        try:
            text = read_content(content, ReadRequest(limit=room), name)
        except Unreadable as problem:
            text = f"[cannot be read: {problem}]"
        parts.append(f"\n=== {name} ===\n{text}")
        room -= len(parts[-1])
    return "".join(parts)


def to_data_url(path: Path) -> str | None:
    """A picture as a `data:` address for models that take pictures. None for what its first bytes
    do not show to be PNG, JPEG, GIF or WebP, and over 10 MB. Raises EnvironmentFailure where the
    file cannot be opened."""
    try:
        content = read_attachment_bytes(path)
    except Unreadable:
        return None
    form = next((form for start, form in _PICTURES if content.startswith(start)), "")
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        form = "webp"
    if not form or len(content) > MAX_PICTURE_BYTES:
        return None
    return f"data:image/{form};base64,{base64.b64encode(content).decode('ascii')}"

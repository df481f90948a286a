"""The text of a whole attachment, for a prompt; and a picture as a model can be given it."""

from __future__ import annotations

import base64
from pathlib import Path

from evalcore.benchmarks.gaia.attachments.kinds import WITHOUT_TEXT, detect_file_kind
from evalcore.benchmarks.gaia.attachments.read_request import ReadRequest, Unreadable
from evalcore.benchmarks.gaia.attachments.reader_process import (
    list_archive_members,
    read_attachment_bytes,
    read_content,
)
from evalcore.records import Record

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

    Raises EnvironmentFailure where the file or the process of the readers is out of reach.
    """
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
    """A picture as a `data:` address for models that take pictures.

    None for what its first bytes do not show to be PNG, JPEG, GIF or WebP, and over 10 MB. Raises
    EnvironmentFailure where the file cannot be opened.
    """
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

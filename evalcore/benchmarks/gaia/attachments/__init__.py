"""Attachments of questions: their text, read by a process that can open nothing."""

from __future__ import annotations

from evalcore.benchmarks.gaia.attachments.read_request import ReadRequest, Unreadable, sanitize_text
from evalcore.benchmarks.gaia.attachments.reader_client import (
    AttachmentText,
    close_readers,
    list_archive_members,
    read_attachment_bytes,
    read_attachment_text,
    read_content,
    to_data_url,
)

__all__ = [
    "AttachmentText",
    "ReadRequest",
    "Unreadable",
    "close_readers",
    "list_archive_members",
    "read_attachment_bytes",
    "read_attachment_text",
    "read_content",
    "sanitize_text",
    "to_data_url",
]

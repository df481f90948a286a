"""Attachments of questions: their text, read by a process that can open nothing."""

from __future__ import annotations

from evalcore.benchmarks.gaia.attachments.read_request import ReadRequest as ReadRequest
from evalcore.benchmarks.gaia.attachments.read_request import Unreadable as Unreadable
from evalcore.benchmarks.gaia.attachments.read_request import sanitize_text as sanitize_text
from evalcore.benchmarks.gaia.attachments.reader_client import AttachmentText as AttachmentText
from evalcore.benchmarks.gaia.attachments.reader_client import close_readers as close_readers
from evalcore.benchmarks.gaia.attachments.reader_client import (
    list_archive_members as list_archive_members,
)
from evalcore.benchmarks.gaia.attachments.reader_client import (
    read_attachment_bytes as read_attachment_bytes,
)
from evalcore.benchmarks.gaia.attachments.reader_client import (
    read_attachment_text as read_attachment_text,
)
from evalcore.benchmarks.gaia.attachments.reader_client import read_content as read_content
from evalcore.benchmarks.gaia.attachments.reader_client import to_data_url as to_data_url

"""Attachments of questions: their text, read by a process that can open nothing."""

from __future__ import annotations

from evalcore.benchmarks.gaia.attachments.asked import Asked, Unreadable, clean
from evalcore.benchmarks.gaia.attachments.locked import (
    close_readers,
    content_of,
    members_of,
    read_content,
)
from evalcore.benchmarks.gaia.attachments.shown import Shown, as_data_url, text_of

__all__ = [
    "Asked",
    "Shown",
    "Unreadable",
    "as_data_url",
    "clean",
    "close_readers",
    "content_of",
    "members_of",
    "read_content",
    "text_of",
]

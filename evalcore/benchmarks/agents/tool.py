"""A tool as an agent sees it."""

from __future__ import annotations

from typing import Any

from evalcore.records import Record

Schema = dict[str, Any]


class Tool(Record, frozen=True):
    """A name, what it does, and the JSON schema of its arguments in `parameters`."""

    name: str
    description: str
    parameters: Schema

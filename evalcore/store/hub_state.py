"""`hub.json` of the data folder: how the last exchange with the Hub went, for pages and people.

It also remembers what each run hashed to, so that an exchange reads only what has changed since.
Losing the file loses nothing but time.
"""

from __future__ import annotations

import os

import msgspec

from evalcore.records import Record, from_json, to_json
from evalcore.settings import Settings
from evalcore.store.run_folder import write_atomic

FILE = "hub.json"
TOKEN = "HF_TOKEN"


class HubState(Record, frozen=True):
    """`sent_at` and `fetched_at` are times of success; `problem` is what went wrong last, "" where
    nothing did. `held` tells by run why it was not sent. `known` holds, by subject, the signature
    of its files and the digest they had."""

    repo: str = ""
    sent_at: str = ""
    fetched_at: str = ""
    problem: str = ""
    held: dict[str, str] = {}
    known: dict[str, tuple[str, str]] = {}


def is_hub_sync_enabled(settings: Settings) -> bool:
    """Whether results of this data folder are kept on the Hub."""
    return bool(settings.hub_repo and os.environ.get(TOKEN))


def read_hub_state(settings: Settings) -> HubState:
    """The state; an empty one where there is none that can be read."""
    try:
        return from_json(HubState, (settings.data_dir / FILE).read_bytes())
    except (OSError, msgspec.MsgspecError):
        return HubState()


def write_hub_state(settings: Settings, state: HubState) -> None:
    write_atomic(settings.data_dir / FILE, to_json(state))

"""How it stands with the results that are kept on the Hub, for the Runs page."""

from __future__ import annotations

from evalcore.records import Record
from evalcore.settings import Settings
from evalcore.store import hub_state


class HubSyncStatus(Record, frozen=True):
    """`sent_at` and `fetched_at` are "" before the first time, `problem` is "" where all went well,
    `held` tells by run why it was not sent. Without `token` nothing is kept at all."""

    repo: str
    token: bool
    sent_at: str = ""
    fetched_at: str = ""
    problem: str = ""
    held: dict[str, str] = {}


def load_hub_status(settings: Settings) -> HubSyncStatus | None:
    """The last exchange with the repository of the settings, None where they name none."""
    if not settings.hub_repo:
        return None
    state, token = hub_state.read_hub_state(settings), hub_state.is_hub_sync_enabled(settings)
    if state.repo != settings.hub_repo:
        return HubSyncStatus(settings.hub_repo, token)
    return HubSyncStatus(
        state.repo, token, state.sent_at, state.fetched_at, state.problem, state.held
    )

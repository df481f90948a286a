"""Keeping results on the Hub without anybody asking: a process of its own, never the server.

Where the setting `hub_repo` names a repository and the environment holds HF_TOKEN, what was kept is
fetched when the server starts, and what is new is sent when a run ends. Either writes how it went
to `hub.json` and its lines to `hub.log` of the data folder.
"""

from __future__ import annotations

import logging
import subprocess

from evalcore.runner import processes
from evalcore.settings import Settings
from evalcore.store.hub_state import TOKEN, is_hub_sync_enabled

_logger = logging.getLogger(__name__)
#: Seconds that a start waits for what is fetched; it goes on in the background after that.
PULL_TIMEOUT = 60.0
_HUB_LOG = "hub.log"
_MAX_HUB_LOG_BYTES = 1 << 20


def pull_from_hub(settings: Settings, timeout: float = PULL_TIMEOUT) -> None:
    """Take back what earlier containers left, and wait for it a while; never raises for the Hub."""
    if not settings.hub_repo:
        return
    if not is_hub_sync_enabled(settings):
        _logger.error(
            "hub_repo is %s, but %s is not set: nothing is kept", settings.hub_repo, TOKEN
        )
        return
    process = _start_hub_sync(settings, "pull")
    try:
        status = process.wait(timeout)
    except subprocess.TimeoutExpired:
        _logger.warning("fetching from %s goes on in the background", settings.hub_repo)
        return
    if status:
        _logger.error("fetching from %s failed; see %s", settings.hub_repo, _HUB_LOG)


def schedule_push(settings: Settings) -> None:
    """Send what is new by a process that outlives this one; returns at once."""
    if is_hub_sync_enabled(settings):
        _start_hub_sync(settings, "push")


def _start_hub_sync(settings: Settings, action: str) -> subprocess.Popen[bytes]:
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    path = settings.data_dir / _HUB_LOG
    mode = "ab" if path.exists() and path.stat().st_size < _MAX_HUB_LOG_BYTES else "wb"
    sync_args = ["--repo", settings.hub_repo, "--data", settings.data]
    with path.open(mode) as log:
        return processes.start_detached(["evalcore", "hub", action, *sync_args], log)

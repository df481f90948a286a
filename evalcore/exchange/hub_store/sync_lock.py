"""What push and pull share: one exchange at a time for a data folder, and how it went."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from filelock import FileLock, Timeout

from evalcore.errors import EvalboardError, UsageError
from evalcore.exchange.hub_store.archives import hash_files, list_run_files
from evalcore.exchange.hub_store.versions import digest_of, subject_of
from evalcore.records import content_hash
from evalcore.settings import Settings
from evalcore.store import hub_state
from evalcore.store.hub_state import HubState
from evalcore.store.run_folder import RunFolder

_PATIENCE = 600.0  # seconds for another exchange to end


class SyncSession:
    """The state of the exchange, and digests of runs that are computed once per change."""

    def __init__(self, settings: Settings, repo: str) -> None:
        saved = hub_state.read_hub_state(settings)
        self.state = saved if saved.repo == repo else HubState(repo=repo)
        self._settings, self._run_digests = settings, dict(saved.known)

    def compute_run_digest(self, folder: RunFolder) -> str:
        """What the files of a run amount to."""
        subject = subject_of(folder.run_id)
        signature = content_hash(folder.signature())
        held = self._run_digests.get(subject)
        if held and held[0] == signature:
            return held[1]
        digest = digest_of(subject, hash_files(list_run_files(folder)))
        self._run_digests[subject] = (signature, digest)
        return digest

    def save_state(self, problem: str = "", **changes: Any) -> None:
        """Write down how the exchange went; `problem` is "" where it went well."""
        self.state = msgspec.structs.replace(
            self.state, problem=problem, known=self._run_digests, **changes
        )
        hub_state.write_hub_state(self._settings, self.state)


@contextmanager
def open_sync_session(settings: Settings, repo: str) -> Iterator[SyncSession]:
    """Hold the data folder for one exchange; what fails is noted for those who look at pages."""
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    lock = FileLock(settings.data_dir / ".hub.lock", timeout=_PATIENCE)
    try:
        lock.acquire()
    except Timeout:
        raise UsageError("another exchange with the Hub has not ended; try again later") from None
    try:
        session = SyncSession(settings, repo)
        try:
            yield session
        except EvalboardError as error:
            session.save_state(str(error))
            raise
        except OSError as error:
            session.save_state(f"{error.filename or settings.data}: {error.strerror or error}")
            raise
    finally:
        lock.release()

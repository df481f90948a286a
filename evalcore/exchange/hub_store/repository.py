"""The repository on the Hub through the Hub's own library: look, fetch, commit.

What may pass (a busy server, a lost connection) is tried again with growing waits. Files go up as
open files, for which the library uses plain HTTP: that works behind proxies and mirrors too.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

from evalcore.access.secrets import Secrets, scrub_secrets
from evalcore.errors import EvalboardError, UsageError
from evalcore.exchange.hub_datasets import HUB, download_file, first_line
from evalcore.exchange.hub_store.archives import ArchiveVersion, parse_version_path
from evalcore.i18n import Note
from evalcore.records import Record
from evalcore.settings import Settings
from evalcore.store.hub_state import TOKEN

T = TypeVar("T")
KEY = "EVALBOARD_HUB_KEY"
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")
_MOST_FILES = 100_000
_ATTEMPTS = 4
_SHORTEST_KEY = 16
_PASSING = (429, 500, 502, 503, 504)
_CHANGED = (409, 412)
_STATUS_HINTS = {
    401: "HF_TOKEN is not valid, or not for this; make one that may write to the repository",
    403: "HF_TOKEN may not do that; make one that may write to the repository",
    404: "this token cannot see such a dataset on the Hub; `evalcore hub push` creates it",
    429: "the Hub is limiting requests; the next sync sends the rest",
}


class HubUnreachable(UsageError):
    """The Hub cannot be used at all for now, or not with this token."""


class RepositoryChanged(EvalboardError):
    """Somebody else committed meanwhile: look again."""


class RepositoryHead(Record, frozen=True):
    """The newest commit, and whether anybody may read the repository."""

    commit: str
    public: bool


class HubRepository:
    """One data set repository, by the name OWNER/NAME, or one of a model as its `kind`. Every
    method raises UsageError with what to do; no message holds the token."""

    def __init__(self, settings: Settings, name: str = "", kind: str = "dataset") -> None:
        self.name, self._kind = name or settings.hub_repo, kind
        if not _NAME.fullmatch(self.name):
            problem = f"{self.name[:100]!r} is none" if self.name else "none is given"
            raise UsageError(Note("cli_hub_repo_name", problem=problem))
        secrets = Secrets()
        self._token = secrets.get(TOKEN)
        if not self._token:
            raise UsageError(Note("hub_no_token"))
        self.key = (secrets.get(KEY) or self._token).encode()
        if len(self.key) < _SHORTEST_KEY:
            raise UsageError(Note("hub_short_key", name=KEY, least=_SHORTEST_KEY))
        self._endpoint = (os.environ.get("HF_ENDPOINT") or HUB).rstrip("/")
        self._base, self._cap = settings.retry_base, settings.retry_cap

    @property
    def address(self) -> str:
        """Where people see it."""
        return f"{self._endpoint}/{'datasets/' if self._kind == 'dataset' else ''}{self.name}"

    def propose_files(self, files: Mapping[str, bytes], message: str) -> str:
        """Open a pull request that adds files; returns its address. It is tried once: a reply that
        is lost may have opened it."""
        return self._call_with_retries(lambda: self._create_proposal(files, message), attempts=1)

    def fetch_head(self, *, make: bool = False) -> RepositoryHead | None:
        """The repository as it is, None where there is none; `make` makes it then, private."""
        from huggingface_hub import errors

        def query_info() -> Any:
            try:
                return self._create_api().repo_info(self.name, repo_type="dataset")
            except errors.RepositoryNotFoundError as error:
                if error.response.status_code != 404:
                    raise
                return None

        info = self._call_with_retries(query_info)
        if info is None and make:
            options = {"repo_type": "dataset", "private": True, "exist_ok": True}
            self._call_with_retries(lambda: self._create_api().create_repo(self.name, **options))
            info = self._call_with_retries(query_info)
        if info is None:
            return None
        return RepositoryHead(str(info.sha or ""), public=info.private is not True)

    def list_versions(self, head: RepositoryHead) -> list[ArchiveVersion]:
        """Every version in a commit; files that are none are passed over."""
        return self._call_with_retries(lambda: self._parse_repo_tree(head.commit))

    def fetch_archive(
        self, version: ArchiveVersion, head: RepositoryHead, folder: Path, max_bytes: int
    ) -> Path:
        """Fetch one archive into a folder. Raises UsageError for one larger than `max_bytes`."""
        if version.size > max_bytes:
            raise UsageError(Note("hub_large_archive", path=version.path, size=version.size >> 20))
        return self._call_with_retries(
            lambda: download_file(self._create_api(), self.name, version.path, head.commit, folder)
        )

    def commit_files(
        self, files: Mapping[str, Path], head: RepositoryHead, message: str
    ) -> RepositoryHead:
        """Add files in one commit on top of `head`; raises Changed where that is not the newest."""
        oid = self._call_with_retries(lambda: self._create_commit(files, head.commit, message))
        return RepositoryHead(oid, head.public)

    def _create_api(self) -> Any:
        from huggingface_hub import HfApi
        from huggingface_hub.utils import logging

        logging.set_verbosity_error()
        return HfApi(endpoint=self._endpoint, token=self._token)

    def _parse_repo_tree(self, commit: str) -> list[ArchiveVersion]:
        versions: list[ArchiveVersion] = []
        tree = self._create_api().list_repo_tree(
            self.name, recursive=True, revision=commit, repo_type="dataset"
        )
        for number, entry in enumerate(tree):
            if number > _MOST_FILES:
                raise UsageError(Note("hub_full", name=self.name, most=_MOST_FILES))
            if hasattr(entry, "size"):  # else a folder
                version = parse_version_path(str(entry.path), int(entry.size))
                versions += [version] if version else []
        return versions

    def _create_commit(self, files: Mapping[str, Path], parent: str, message: str) -> str:
        from huggingface_hub import CommitOperationAdd
        from huggingface_hub.utils import disable_progress_bars

        disable_progress_bars()
        with ExitStack() as opened:
            additions = [
                CommitOperationAdd(name, opened.enter_context(path.open("rb")))
                for name, path in files.items()
            ]
            done = self._create_api().create_commit(
                self.name,
                additions,
                commit_message=message,
                repo_type="dataset",
                parent_commit=parent or None,
            )
        return str(done.oid)

    def _create_proposal(self, files: Mapping[str, bytes], message: str) -> str:
        from huggingface_hub import CommitOperationAdd

        additions = [CommitOperationAdd(name, content) for name, content in files.items()]
        done = self._create_api().create_commit(
            self.name, additions, commit_message=message, repo_type=self._kind, create_pr=True
        )
        return str(done.pr_url)

    def _call_with_retries(self, call: Callable[[], T], attempts: int = _ATTEMPTS) -> T:
        import httpx2
        from huggingface_hub import errors

        for attempt in range(attempts):
            if attempt:
                time.sleep(min(self._base * 2**attempt, self._cap))
            try:
                return call()
            except errors.OfflineModeIsEnabled:
                raise HubUnreachable(Note("hub_offline")) from None
            except (
                errors.HfHubHTTPError,
                httpx2.HTTPError,
                RuntimeError,  # around what failed while a file went up
                errors.LocalEntryNotFoundError,
                errors.FileMetadataError,
            ) as error:
                cause = error.__cause__ if isinstance(error.__cause__, Exception) else None
                last: Exception = cause if type(error) is RuntimeError and cause else error
                if _find_http_status(last) not in (None, *_PASSING):
                    break
            except (ValueError, LookupError, TypeError, AttributeError) as error:
                raise UsageError(
                    Note(
                        "hub_no_answer",
                        name=self.name,
                        endpoint=self._endpoint,
                        kind=type(error).__name__,
                    )
                ) from None
        raise self._translate_error(last)

    def _translate_error(self, error: Exception) -> EvalboardError:
        status = _find_http_status(error)
        if status in _CHANGED:
            return RepositoryChanged(f"{self.name} was changed meanwhile; try again")
        if status:
            hint = _STATUS_HINTS.get(status, f"the Hub answers {status}; try again later")
            if status == 404 and self._kind != "dataset":
                hint = f"this token cannot see such a {self._kind} on the Hub; check the name"
            return (UsageError if status == 404 else HubUnreachable)(f"{self.name}: {hint}")
        why = scrub_secrets(first_line(error), [self._token])
        return HubUnreachable(f"{self.name}: {self._endpoint} cannot be reached: {why}")


def _find_http_status(error: Exception) -> int | None:
    """Return the HTTP status of an error or of its cause."""
    status = getattr(getattr(error, "response", None), "status_code", None)
    if status is None and isinstance(error.__cause__, Exception):
        return _find_http_status(error.__cause__)
    return status

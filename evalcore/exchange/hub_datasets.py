"""Data sets fetched from the Hugging Face Hub into folders that appear as a whole or not at all and
say what is in them."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shlex
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from evalcore.access.secrets import scrub_secrets
from evalcore.errors import UsageError
from evalcore.i18n import Note
from evalcore.records import ProgressCallback, R, Record, from_json, to_json

# Files of data sets on the Hugging Face Hub, fetched through the Hub's own library.
# It finds the token that the user gave it (HF_TOKEN, or its login) and the mirror in HF_ENDPOINT.
# A name from the server becomes a path only where it stays in its folder, and what the Hub says
# of a file's size and hash has to be true of what comes.


HUB = "https://huggingface.co"
#: What names a commit, and nothing else does.
COMMIT_NAME = re.compile(r"[0-9a-f]{40}")
#: What a published set says of its tasks.
EVAL_FILE = "eval.yaml"
_MOST_FILES = 2_000
_MOST_BYTES = 1 << 30
_NOT_ALLOWED = (401, 403)


class HubFiles(Record, frozen=True):
    """Files of one commit of a data set, below `folder`, with their sha256 by name."""

    folder: Path
    commit: str
    files: dict[str, str]


class _File(Record, frozen=True):
    """A file as the Hub lists it; the sha256 is "" where it tells none."""

    path: str
    size: int
    sha256: str


def download_hub_files(
    scratch: Path,
    dataset: str,
    revision: str,
    is_selected: Callable[[str], bool],
    progress: ProgressCallback,
    token: str | None = None,
) -> HubFiles:
    """Fetch the wanted files (by their names) into a folder below `scratch`.

    Raises UsageError where access is not granted, the Hub cannot be reached, or it has nothing of
    the kind; no message holds the token.
    """
    from huggingface_hub import HfApi, get_token

    endpoint = (os.environ.get("HF_ENDPOINT") or HUB).rstrip("/")
    token = token or get_token()
    with translate_hub_errors(dataset, revision, endpoint, token):
        api = HfApi(endpoint=endpoint, token=token or False)
        commit = revision
        if not COMMIT_NAME.fullmatch(revision):
            commit = str(api.repo_info(dataset, repo_type="dataset", revision=revision).sha)
        listed = _list_selected_files(api, dataset, commit, is_selected)
        folder = scratch / "hub"
        hashes = {}
        for number, file in enumerate(listed, 1):
            progress(Note("progress_file", done=number, total=len(listed), name=file.path))
            hashes[file.path] = _download_checked_file(api, dataset, commit, file, folder)
    return HubFiles(folder, commit, hashes)


def _list_selected_files(
    api: Any, dataset: str, commit: str, is_selected: Callable[[str], bool]
) -> list[_File]:
    """The wanted files. Raises UsageError for none, too many, or a name that is no path."""
    selected: list[_File] = []
    for file in _iter_repo_files(api, dataset, commit):
        if not is_selected(file.path):
            continue
        path = PurePosixPath(file.path)
        if path.is_absolute() or ".." in path.parts or "\\" in file.path or "\0" in file.path:
            raise UsageError(Note("hub_file_name", dataset=dataset, path=file.path))
        selected.append(file)
        if len(selected) > _MOST_FILES or sum(file.size for file in selected) > _MOST_BYTES:
            limit = f"{_MOST_FILES} files or {_MOST_BYTES >> 20} MB"
            raise UsageError(Note("hub_too_much", dataset=dataset, limit=limit))
    if not selected:
        raise UsageError(Note("hub_no_files", dataset=dataset, revision=commit[:12]))
    return selected


def _iter_repo_files(api: Any, dataset: str, commit: str) -> Iterator[_File]:
    """All files of a commit. Raises UsageError for an answer that is none of the Hub's."""
    try:
        for entry in api.list_repo_tree(
            dataset, recursive=True, revision=commit, repo_type="dataset"
        ):
            if hasattr(entry, "size"):  # else a folder
                sha256 = str(entry.lfs.sha256) if entry.lfs else ""
                yield _File(str(entry.path), int(entry.size), sha256)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise UsageError(Note("hub_no_list", dataset=dataset, kind=type(error).__name__)) from None


def list_file_sizes(api: Any, dataset: str, commit: str) -> dict[str, int]:
    """The bytes of every file of a commit by its path. Raises UsageError for an answer that is none
    of the Hub's, and for too many files."""
    sizes: dict[str, int] = {}
    for file in _iter_repo_files(api, dataset, commit):
        sizes[file.path] = file.size
        if len(sizes) > _MOST_FILES:
            raise UsageError(Note("hub_many_files", dataset=dataset, most=_MOST_FILES))
    return sizes


def download_file(api: Any, dataset: str, name: str, commit: str, folder: Path) -> Path:
    """Fetch one file of a commit into a folder, without a bar of progress."""
    from huggingface_hub.utils import tqdm

    class Silent(tqdm):  # type: ignore[misc]
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **(options | {"disable": True}))

    options = {"repo_type": "dataset", "revision": commit, "local_dir": folder}
    return Path(api.hf_hub_download(dataset, name, **options, tqdm_class=Silent))


def _download_checked_file(api: Any, dataset: str, commit: str, file: _File, folder: Path) -> str:
    """Fetch one file; its sha256."""
    path = download_file(api, dataset, file.path, commit, folder)
    with path.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    if path.stat().st_size != file.size or file.sha256 not in ("", digest):
        raise UsageError(Note("hub_other_file", path=file.path))
    return digest


@contextmanager
def translate_hub_errors(
    dataset: str, revision: str, endpoint: str, token: str | None
) -> Iterator[None]:
    """What the library raises, as a UsageError that says what to do; it never holds the token."""
    import httpx2
    from huggingface_hub import errors

    try:
        yield
    except errors.HfHubHTTPError as error:
        message = _describe_refusal(dataset, revision, error, has_token=token is not None)
    except errors.OfflineModeIsEnabled:
        message = Note("fetch_offline")
    except errors.HFValidationError:
        message = Note("fetch_name", name=repr(dataset))
    except (errors.LocalEntryNotFoundError, errors.FileMetadataError, httpx2.HTTPError) as error:
        problem = scrub_secrets(first_line(error), [token])
        why = Note("fetch_from", source=endpoint, problem=problem)
        message = Note("fetch_network", what=dataset, why=why)
    else:
        return
    raise UsageError(message)


def _describe_refusal(dataset: str, revision: str, error: Any, *, has_token: bool) -> str:
    from huggingface_hub import errors

    status = error.response.status_code
    if isinstance(error, errors.GatedRepoError) or status in _NOT_ALLOWED:
        page = f"{HUB}/datasets/{dataset}"
        if has_token:
            return Note("fetch_no_access", what=dataset, page=page)
        return Note("fetch_token", what=dataset, page=page)
    if isinstance(error, errors.RevisionNotFoundError):
        return Note("fetch_revision", what=dataset, revision=repr(revision))
    if status == 404:
        return Note("fetch_none", what=dataset)
    if status == 429:
        return Note("fetch_limited", what=dataset)
    return Note("fetch_answer", what=dataset, status=status)


def first_line(error: Exception) -> str:
    """What an error says first, up to 200 characters."""
    text = str(error.__cause__ or error).strip()
    return text.splitlines()[0][:200] if text else type(error).__name__


# A folder of fetched data: it appears as a whole or not at all, and says what is in it.

#: What is in the folder and where it is from. Its presence says that the folder is complete.
NOTE_FILE = "source.json"


class FetchedDataset(Record, frozen=True):
    """What was fetched: a part (a split) of a data set at a commit, and the sha256 of each file by
    its path within the folder. `already` tells that it was there before."""

    dataset: str
    part: str
    commit: str
    licence: str
    files: dict[str, str]
    folder: str = ""
    already: bool = False

    @property
    def origin(self) -> str:
        return f"the Hub dataset {self.dataset} at {self.commit[:12]}"


def format_fetch(fetched: Any, origin: str, run: str, prefix: str = "") -> str:
    """What was fetched, and the command that runs it: `run` from the benchmark's key on."""
    files = Note("fetch_files", count=len(fetched.files))
    state = Note("fetch_already") if getattr(fetched, "already", False) else files
    flags = f"--target TARGET --benchmarks {run} --dataset {shlex.quote(fetched.folder)}"
    command = f"{prefix}evalcore run {flags}"
    return Note("fetch_done", folder=fetched.folder, state=state, origin=origin, command=command)


def find_fetched_dataset(folder: Path, dataset: str, part: str) -> FetchedDataset | None:
    """What was fetched before, None for a folder that is not there or empty. Raises UsageError for
    a folder that holds anything else or lacks a file."""
    fetched = read_fetch_note(folder, FetchedDataset)
    if fetched is None:
        return None
    if (fetched.dataset, fetched.part) != (dataset, part):
        held = f"{fetched.part} of {fetched.dataset}"
        raise UsageError(
            Note("hub_folder_holds", folder=folder, content=held, part=part, dataset=dataset)
        )
    check_files_present(folder, fetched.files)
    return msgspec.structs.replace(fetched, folder=str(folder), already=True)


def read_fetch_note(folder: Path, kind: type[R]) -> R | None:
    """The note of a folder, None for one that is not there or empty. Raises UsageError for a folder
    that holds something else."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(Note("hub_no_folder", folder=folder))
    if not folder.is_dir() or not any(folder.iterdir()):
        return None
    try:
        return from_json(kind, (folder / NOTE_FILE).read_bytes())
    except (OSError, msgspec.MsgspecError):
        raise UsageError(Note("hub_folder_other", folder=folder)) from None


def check_files_present(folder: Path, names: Iterable[str]) -> None:
    """Raises UsageError for a folder that lacks a file."""
    missing = [name for name in names if not (folder / name).is_file()]
    if missing:
        raise UsageError(Note("hub_folder_lacks", folder=folder, file=missing[0]))


@contextmanager
def open_scratch_folder(folder: Path) -> Iterator[Path]:
    """A place next to the folder, so that what is ready can be moved; gone afterwards. What
    the disk refuses names a file or the folder."""
    scratch = folder.absolute().parent / f".{folder.name}.{secrets.token_hex(6)}"
    try:
        scratch.mkdir(parents=True)
        yield scratch
    except OSError as error:
        error.filename = error.filename or str(folder)
        raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def write_data_file(path: Path, content: bytes) -> str:
    """Write a file; return its sha256."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return hashlib.sha256(content).hexdigest()


def install_folder(ready: Path, folder: Path, note: R) -> R:
    """Put what is ready in its place, with its note; returns the note with the `folder`."""
    (ready / NOTE_FILE).write_bytes(to_json(note))
    try:
        os.rename(ready, folder)  # noqa: PTH104  (takes the place of an empty folder, too)
    except OSError:
        raise UsageError(Note("hub_folder_raced", folder=folder)) from None
    return msgspec.structs.replace(note, folder=str(folder))

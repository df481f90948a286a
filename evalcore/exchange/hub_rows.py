"""Own cases from the Hugging Face Hub: the rows of a repository as the file that one hands in.

The library `datasets` finds the configurations and splits and streams the rows; nothing is kept in
its cache of data sets. Files of JSON lines and a CSV are taken line by line as they stand, since a
column of Arrow would give every row the fields of all rows. No script of a repository is ever run,
and its card may name files of the repository only: else whoever wrote it could have this machine
read its own files, or addresses of its network.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from evalcore.benchmarks.case_file import count_unpacked_bytes
from evalcore.errors import IntakeError, UsageError, join_notes
from evalcore.exchange.hub_datasets import (
    COMMIT_NAME,
    EVAL_FILE,
    HUB,
    download_file,
    first_line,
    list_file_sizes,
    translate_hub_errors,
)
from evalcore.i18n import Note
from evalcore.intake.json_text import parse_json
from evalcore.records import Record
from evalcore.runner.uploads import MAX_CASES, MAX_FILE_BYTES, find_upload_form, name_configuration

_ADDRESS = re.compile(
    r"hf://(?:datasets/)?(?P<repository>[\w.-]+/[\w.-]+)(?:@(?P<revision>[^:@\s]+))?"
    r"(?::(?P<configuration>[^/:\s]+)(?:/(?P<split>\w+(?:\.\w+)*))?)?"
)
_USUAL_SPLIT = "test"
#: How files are read, by their suffix: the builder of the library. Nothing compressed: a small file
#: could become any number of bytes.
_BUILDERS = {".jsonl": "text", ".ndjson": "text", ".csv": "text", ".json": "json"}
_BUILDERS |= {".parquet": "parquet"}
#: Bytes of Parquet files, as they lie there and unpacked.
_MOST_COLUMN_BYTES = 2 * MAX_FILE_BYTES
_BATCH = 16  # rows of a Parquet file in memory at once, each with any text of the file
_CARDS = ("README.md", ".huggingface.yaml")
_MOST_CARD_BYTES = 4 << 20
_HEAD = re.compile(r"\A\ufeff?---\r?\n(.*?)\r?\n---", re.DOTALL)


class HubAddress(Record, frozen=True):
    """What `hf://OWNER/NAME[@REVISION][:CONFIG[/SPLIT]]` names; "" for what it leaves open."""

    repository: str
    revision: str = "main"
    configuration: str = ""
    split: str = ""


class RowBlock(Record, frozen=True):
    """The rows of one split: `count` rows of the configuration and split `part`."""

    part: str
    count: int


class HubRows(Record, frozen=True):
    """The rows as a file: a line for each row, in the order of `blocks`. `source` is the address
    with the commit, `suffix` the form of the file, `part` that of rows which do not say theirs,
    `licence` what the card says; "" where that is not known. `unread` are the configurations that
    were left out because they are no part of the benchmark; `whole` is a note where the cases need
    the other files of a published set, or their own names."""

    content: bytes
    suffix: str
    source: str
    part: str
    licence: str
    blocks: tuple[RowBlock, ...]
    unread: tuple[str, ...] = ()
    whole: str = ""

    def locate_line(self, line: int) -> str:
        """A line (from 1) by its split and its row within it (from 1)."""
        for block in self.blocks:
            if line <= block.count:
                return f"{block.part}, row {line}"
            line -= block.count
        return ""


def parse_hub_address(text: str) -> HubAddress:
    """Raises UsageError for a text that is no address of a data set."""
    match = _ADDRESS.fullmatch(text)
    if match is None:
        raise UsageError(Note("hub_address", address=text[:200]))
    return HubAddress(**{name: value for name, value in match.groupdict().items() if value})


def read_hub_rows(text: str, benchmark: str, part: str = "") -> HubRows:
    """The rows of the data set at an address, as a file of cases of a benchmark.

    Without a configuration all those are read that are named after a part of the benchmark, as
    `evalcore hub dataset` names them, else the only one. A row that does not say its part has that
    of its configuration, unless `part` is set. Raises UsageError for an impossible address, what is
    not there, what is too large, and what the Hub refuses.
    """
    from huggingface_hub import HfApi, get_token

    address = parse_hub_address(text)
    form_parts = _list_part_names(benchmark)
    endpoint, token = (os.environ.get("HF_ENDPOINT") or HUB).rstrip("/"), get_token()
    with translate_hub_errors(address.repository, address.revision, endpoint, token):
        api = HfApi(endpoint=endpoint, token=token or False)
        commit = str(
            api.repo_info(
                address.repository, repo_type="dataset", revision=address.revision, timeout=60
            ).sha
        )
        if not COMMIT_NAME.fullmatch(commit):
            raise UsageError(Note("hub_no_commit", name=address.repository))
        sizes = list_file_sizes(api, address.repository, commit)
        licence = _check_cards(api, address.repository, commit, sizes)
        whole = _describe_whole_set(address.repository, benchmark, sizes)
        with _translate_library_errors(address):
            reader = _RowReader(address, commit, sizes)
            configurations = reader.list_configurations()
            names = _choose_configurations(address, configurations, form_parts, whole)
            for name in names:
                reader.read_configuration(name, "" if part else form_parts.get(name, ""))
    selected = f":{address.configuration}" if address.configuration else ""
    split = f"/{address.split}" if address.split else ""
    return HubRows(
        content="".join(f"{line}\n" for line in reader.lines).encode(errors="surrogatepass"),
        suffix=reader.suffix,
        source=f"hf://{address.repository}@{commit}{selected}{split}",
        part=part or (form_parts.get(names[0], "") if len(names) == 1 else ""),
        licence=licence,
        blocks=tuple(reader.blocks),
        unread=tuple(
            name for name in configurations if name not in names and not address.configuration
        ),
        whole=whole,
    )


def _describe_whole_set(repository: str, benchmark: str, paths: Collection[str]) -> str:
    """How a set is fetched that was published with more than rows of own cases; "" for others."""
    form = find_upload_form(benchmark)
    of_rows = {form.file.format(part=part) for part in form.parts} | {_CARDS[0], EVAL_FILE}
    if EVAL_FILE not in paths or all(path in of_rows or path[0] == "." for path in paths):
        return ""
    return Note("hub_whole", name=repository)


def _list_part_names(benchmark: str) -> dict[str, str]:
    """The parts of a benchmark by the names that their configurations have."""
    form = find_upload_form(benchmark)
    patterns = (form.file, form.bundled_file or form.file)
    return {
        name_configuration(PurePosixPath(pattern.format(part=part))): part
        for part in form.parts
        for pattern in patterns
    }


def _choose_configurations(
    address: HubAddress, names: Sequence[str], parts: Mapping[str, str], whole: str
) -> list[str]:
    if address.configuration:
        if address.configuration not in names:
            raise UsageError(
                Note(
                    "hub_no_configuration",
                    name=address.repository,
                    configuration=address.configuration,
                    names=", ".join(names),
                )
            )
        return [address.configuration]
    chosen = [name for name in names if name in parts] or list(names)
    if len(chosen) > 1 and chosen[0] not in parts:
        problem = Note("hub_which_configuration", name=address.repository, names=", ".join(names))
        raise UsageError(join_notes([problem, *filter(None, [whole])]))
    return chosen


class _RowReader:
    """Reads configurations of one commit, with one limit for all of them."""

    def __init__(self, address: HubAddress, commit: str, sizes: Mapping[str, int]) -> None:
        import huggingface_hub

        import datasets

        # the library would tell other servers the names of what is read, private ones too
        datasets.config.HF_UPDATE_DOWNLOAD_COUNTS = False
        datasets.config.USE_PARQUET_EXPORT = False
        datasets.disable_progress_bars()
        datasets.utils.logging.set_verbosity_error()
        huggingface_hub.utils.disable_progress_bars()
        self._address, self._commit, self._sizes = address, commit, sizes
        self._bytes, self._file_bytes = 0, {"text": 0, "json": 0, "parquet": 0}
        self._unpacked_bytes = 0  # of Parquet files
        self.suffix = ""
        self.lines: list[str] = []
        self.blocks: list[RowBlock] = []

    def list_configurations(self) -> list[str]:
        from datasets import get_dataset_config_names

        return list(get_dataset_config_names(self._address.repository, revision=self._commit))

    def read_configuration(self, name: str, part: str) -> None:
        """Add the rows of a configuration, those without a part as cases of `part`."""
        from datasets import load_dataset_builder

        builder = load_dataset_builder(self._address.repository, name, revision=self._commit)
        splits = {str(split): files for split, files in (builder.config.data_files or {}).items()}
        split = self._choose_split(name, list(splits))
        files = [str(file) for file in splits[split]]
        kind, suffix = self._check_files(files)
        if self.suffix not in ("", suffix) or (suffix == ".csv" and (self.blocks or files[1:])):
            raise UsageError(Note("hub_mixed_files", name=self._address.repository))
        self.suffix = suffix
        if kind == "parquet":
            self._check_unpacked(files)
        before = len(self.lines)
        for line in _iter_lines(kind, files):
            line = _add_part(line, part) if suffix != ".csv" else line
            self._bytes += len(line.encode(errors="surrogatepass")) + 1
            if self._bytes > MAX_FILE_BYTES:
                raise UsageError(self._describe_excess())
            self.lines.append(line)
            if len(self.lines) > 2 * MAX_CASES and suffix != ".csv":  # a CSV has lines within cells
                raise UsageError(
                    Note("hub_many_rows", name=self._address.repository, most=MAX_CASES)
                )
        self.blocks.append(RowBlock(f"{name}/{split}", len(self.lines) - before))

    def _choose_split(self, configuration: str, names: list[str]) -> str:
        split = self._address.split
        if not split:
            split = names[0] if len(names) == 1 else _USUAL_SPLIT
        if split not in names:
            raise UsageError(
                Note(
                    "hub_no_split",
                    name=f"{self._address.repository}:{configuration}",
                    split=split,
                    names=", ".join(names),
                )
            )
        return split

    def _check_files(self, files: Sequence[str]) -> tuple[str, str]:
        """How files are read, and the suffix of what is made of them. Raises UsageError for a file
        of another place, another kind or too many bytes."""
        prefix = f"hf://datasets/{self._address.repository}@{self._commit}/"
        kinds = set()
        for file in files:
            path = file.removeprefix(prefix)
            if not file.startswith(prefix) or path not in self._sizes or "::" in file:
                raise UsageError(
                    Note("hub_outside", name=self._address.repository, path=file[:200])
                )
            suffix = PurePosixPath(path).suffix.lower()
            if suffix not in _BUILDERS:
                raise UsageError(
                    Note(
                        "hub_file_kind",
                        name=self._address.repository,
                        path=path[:200],
                        kinds=", ".join(_BUILDERS),
                    )
                )
            kind = _BUILDERS[suffix]
            kinds.add((kind, ".csv" if suffix == ".csv" else ".jsonl"))
            self._file_bytes[kind] += self._sizes[path]
            most = _MOST_COLUMN_BYTES if kind == "parquet" else MAX_FILE_BYTES
            if self._file_bytes[kind] > most:
                raise UsageError(self._describe_excess())
        if len(kinds) != 1:
            raise UsageError(Note("hub_mixed_files", name=self._address.repository))
        return kinds.pop()

    def _check_unpacked(self, files: Sequence[str]) -> None:
        """Read the footers alone: a few bytes may unpack to any number."""
        from datasets.utils.file_utils import xopen
        from pyarrow import parquet

        for file in files:
            with xopen(file, "rb") as opened:
                metadata = parquet.ParquetFile(opened).metadata
            self._unpacked_bytes += count_unpacked_bytes(metadata)
            if self._unpacked_bytes > _MOST_COLUMN_BYTES:
                raise UsageError(self._describe_excess())

    def _describe_excess(self) -> Note:
        return Note("hub_large", name=self._address.repository, size=MAX_FILE_BYTES >> 20)


def _iter_lines(kind: str, files: list[str]) -> Iterator[str]:
    """A line for each row; of a file of lines, its lines."""
    from datasets import load_dataset

    options = {"batch_size": _BATCH} if kind == "parquet" else {}
    rows = load_dataset(kind, data_files=files, split="train", streaming=True, **options)
    if kind == "text":
        for row in rows:
            yield row["text"]
        return
    # Parquet may hold pictures and sounds, which are not decoded: that would open what they name
    for row in rows.decode(False) if kind == "parquet" else rows:
        yield json.dumps(_drop_absent(row), ensure_ascii=False, default=str)


def _drop_absent(value: Any) -> Any:
    """A value without fields that are None: a column says no otherwise that a row lacks it."""
    if isinstance(value, Mapping):
        return {name: _drop_absent(item) for name, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_drop_absent(item) for item in value]
    return value


def _add_part(line: str, part: str) -> str:
    """A line with the part of its case; as it stands where it says one, or is no case at all."""
    if not part or not line.strip():
        return line
    try:
        row = parse_json(line, strict=True)
    except IntakeError:
        return line  # who validates it says why
    if not isinstance(row, dict) or "metric" in row or "category" in row:
        return line
    return json.dumps({"metric": part} | row, ensure_ascii=False)


# What a card says, which is read before the library follows it.


def _check_cards(api: Any, repository: str, commit: str, sizes: Mapping[str, int]) -> str:
    """The licence that the cards of a repository name. Raises UsageError for one that is too large,
    is no YAML, or names files outside of the repository."""
    licence = ""
    with TemporaryDirectory(prefix="evalboard-card-") as scratch:
        for name in _CARDS:
            if name not in sizes:
                continue
            if sizes[name] > _MOST_CARD_BYTES:
                raise UsageError(Note("hub_card", name=repository, path=name))
            path = download_file(api, repository, name, commit, Path(scratch))
            try:
                text = path.read_text(encoding="utf-8")
                match = _HEAD.match(text)
                head = yaml.safe_load(match.group(1) if match else "") if name[0] != "." else None
                head = yaml.safe_load(text) if name[0] == "." else head
            except (yaml.YAMLError, UnicodeError, RecursionError, ValueError):
                raise UsageError(Note("hub_card", name=repository, path=name)) from None
            if not isinstance(head, dict):
                continue
            for pattern in _iter_texts([head.get("configs"), head.get("data_files")]):
                if _leads_outside(pattern):
                    raise UsageError(Note("hub_outside", name=repository, path=pattern[:200]))
            if isinstance(head.get("license"), str):
                licence = head["license"][:80]
    return licence


def _leads_outside(pattern: str) -> bool:
    parts = re.split(r"[/\\]", pattern)
    return "://" in pattern or "::" in pattern or ".." in parts or pattern[:1] in ("/", "\\", "~")


def _iter_texts(value: Any, depth: int = 0) -> Iterator[str]:
    """The texts in a value; a card may be nested as it likes, and hold itself."""
    if isinstance(value, str):
        yield value
    elif depth < 8 and isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _iter_texts(item, depth + 1)


@contextmanager
def _translate_library_errors(address: HubAddress) -> Iterator[None]:
    """What the library raises: the refusal of the Hub behind it, or what it says itself."""
    import httpx2
    from datasets.exceptions import DatasetsError
    from huggingface_hub.errors import HfHubHTTPError

    try:
        yield
    except UsageError:
        raise
    except (DatasetsError, OSError, ValueError, RuntimeError, TypeError, LookupError) as error:
        cause: BaseException | None = error
        for _ in range(8):
            if isinstance(cause, HfHubHTTPError | httpx2.HTTPError):
                raise cause from None
            cause = cause and (cause.__cause__ or cause.__context__)
        raise UsageError(
            Note("hub_unreadable", name=address.repository, problem=first_line(error))
        ) from None

"""The seal of a run folder or a bundle: a signature over everything that a score rests on.

`seal.json` holds a statement, the public key and the signature over the statement as it is written.
The statement has the sha256 of each file and short digests of its lines, which say where a file
differs. Which files: every JSON document and journal except the progress, which ends with the run,
and the seal itself; a packed journal counts as the journal. Caches are not covered, since they are
made of the journals.

A valid seal proves that nothing was changed, added, dropped or reordered since the holder of the
key signed; what the run was like before, it cannot know.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import os
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import BinaryIO, Literal

import msgspec

from evalcore.access.signing import PublicKey, SigningKey, parse_public_key
from evalcore.errors import RunFolderError, describe_os_error
from evalcore.i18n import Note
from evalcore.records import Record, from_json, to_json, utc_now
from evalcore.store.chain import find_chain_break
from evalcore.store.journal import LONGEST, PACKED, read_journal_lines
from evalcore.store.run_folder import RunFolder, is_file, write_atomic

SEAL = "seal.json"
FORMAT, VERSION = "evalboard-seal", 1
_CONTEXT = b"evalboard-seal v1\n"
_LARGEST = 64 << 20  # bytes of a seal
_MOST_DIGESTS = 1 << 16  # of a file; of one with more lines each digest covers several
_DIGEST = 4  # bytes: they say where a file differs, its sha256 that it does
_NOT_SEALED = frozenset({SEAL, "progress.json"})
_SUFFIXES = (".json", ".jsonl", ".damaged")
_PACKED_JOURNAL = f".jsonl{PACKED}"

Lines = Callable[[], Iterator[bytes]]
SealState = Literal["unsealed", "valid", "broken"]


class FileSeal(Record, frozen=True):
    """A file as it was signed: `digests` has one of `_DIGEST` bytes for every `every` lines."""

    sha256: str
    size: int
    lines: int
    digests: str = ""
    every: int = 1


class SealStatement(Record, frozen=True):
    """What is signed. `bundle` are the files of the bundle that the run is exported as."""

    format: str
    version: int
    run_id: str
    sealed_at: str
    files: dict[str, FileSeal] = {}
    bundle: dict[str, FileSeal] = {}


class Seal(Record, frozen=True, forbid_unknown_fields=True):
    """The content of `seal.json`; the statement stays as it was written, since that is signed."""

    statement: msgspec.Raw
    public_key: str
    signature: str


class SealReport(Record, frozen=True):
    """What a check of a seal gave. `signer` is the fingerprint of the key; `problems` name file and
    lines."""

    state: SealState
    run_id: str
    signer: str = ""
    sealed_at: str = ""
    files: int = 0
    lines: int = 0
    problems: tuple[str, ...] = ()


# Signing.


def seal_run_folder(
    folder: RunFolder, key: SigningKey, bundle: Mapping[str, bytes] | None = None
) -> SealReport:
    """Sign a run folder with the bundle that it is exported as, and write its seal.

    Raises RunFolderError for a file that cannot be read and for a journal whose chain is broken,
    OSError where the seal cannot be written.
    """
    if problems := find_broken_chains(folder):
        raise RunFolderError(Note("seal_chain", problem=problems[0]))
    files = {name: digest_file(path) for name, path in list_sealed_files(folder.path).items()}
    statement = SealStatement(
        format=FORMAT,
        version=VERSION,
        run_id=folder.run_id,
        sealed_at=utc_now(),
        files=files,
        bundle={name: digest_bytes(data) for name, data in (bundle or {}).items()},
    )
    write_atomic(folder.path / SEAL, sign_statement(statement, key), make_folder=False)
    return _describe_seal(statement, files, key.public, ())


def sign_statement(statement: SealStatement, key: SigningKey) -> bytes:
    """The content of a `seal.json`."""
    content = to_json(statement)
    signature = key.sign(_CONTEXT + content)
    return to_json(Seal(msgspec.Raw(content), key.public.encode_text(), signature))


def list_sealed_files(folder: Path) -> dict[str, Path]:
    """The files that a seal covers, by their names in the folder. Raises RunFolderError."""
    sealed: dict[str, Path] = {}
    try:
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder).as_posix()
            if name.endswith(_PACKED_JOURNAL):  # nobody reads a packed file of another kind
                name = name.removesuffix(PACKED)
            is_folder = path.is_dir()
            if path.is_symlink() and is_folder:  # readers follow it, and nothing here does
                raise RunFolderError(Note("seal_link", path=path))
            if name in _NOT_SEALED or not name.endswith(_SUFFIXES) or is_folder:
                continue
            if not path.is_file() or path.is_symlink():
                raise RunFolderError(Note("no_plain_file", path=path))
            sealed.setdefault(name, path)  # a journal sorts before its packed form and counts first
    except OSError as error:
        raise RunFolderError.locate(folder, error) from None
    return sealed


def digest_file(path: Path) -> FileSeal:
    """Raises RunFolderError for a file that cannot be read."""
    try:
        return _digest_lines(lambda: _read_lines(path))
    except (OSError, EOFError, zlib.error) as error:
        raise RunFolderError.locate(path, error) from None


def digest_bytes(data: bytes) -> FileSeal:
    return _digest_lines(partial(_split_bytes, data))


def _read_lines(path: Path) -> Iterator[bytes]:
    with gzip.open(path) if path.suffix == PACKED else path.open("rb") as file:
        yield from _split_lines(file)


def _split_bytes(data: bytes) -> Iterator[bytes]:
    return _split_lines(io.BytesIO(data))


def _split_lines(file: BinaryIO | gzip.GzipFile) -> Iterator[bytes]:
    while line := file.readline(LONGEST):
        yield line


def _digest_lines(read_lines: Lines, every: int = 0) -> FileSeal:
    """Digest a file in one pass where `every` is known, else count its lines first."""
    if not every:
        every = max(1, -(-sum(1 for _ in read_lines()) // _MOST_DIGESTS))
    whole, digests = hashlib.sha256(), bytearray()
    size = lines = 0
    group = _start_digest()
    for line in read_lines():
        whole.update(line)
        group.update(line)
        size, lines = size + len(line), lines + 1
        if lines % every == 0:
            digests += group.digest()
            group = _start_digest()
    if lines % every:
        digests += group.digest()
    return FileSeal(
        sha256=whole.hexdigest(),
        size=size,
        lines=lines,
        digests=base64.b64encode(digests).decode(),
        every=every,
    )


def _start_digest() -> hashlib.blake2b:
    return hashlib.blake2b(digest_size=_DIGEST)


# Checking.


def verify_run_folder(folder: RunFolder, expected: PublicKey | None = None) -> SealReport:
    """Check the seal of a run folder against its files and, where it is said, the signer.

    A folder without a seal is `unsealed`; its problems are then those of its chains. Raises
    RunFolderError where the folder itself cannot be read.
    """
    content = read_seal(folder.path)
    if content is None:
        problems = find_broken_chains(folder)
        return SealReport(state="unsealed", run_id=folder.run_id, problems=problems)
    opened = open_seal(content, expected)
    if isinstance(opened, str):
        return SealReport(state="broken", run_id=folder.run_id, problems=(opened,))
    statement, signer = opened
    differences: list[str] = [] if statement.files else [Note("seal_bundle_only")]
    if statement.run_id != folder.run_id:
        differences.append(Note("seal_other_run", run=statement.run_id))
    present = list_sealed_files(folder.path)
    differences += _compare_names(set(statement.files), set(present))
    for name, sealed in statement.files.items():
        if name in present:
            differences += _compare_file(name, sealed, present[name])
    return _describe_seal(statement, statement.files, signer, tuple(differences))


def read_seal(folder: Path) -> bytes | None:
    """The content of the seal of a run folder, None without one. Raises RunFolderError."""
    path = folder / SEAL
    if os.path.lexists(path) and not is_file(path):  # a pipe would be waited for
        raise RunFolderError(Note("no_plain_file", path=path))
    try:
        with path.open("rb") as file:
            return file.read(_LARGEST + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RunFolderError.locate(path, error) from None


def verify_bundle_files(
    content: bytes, files: Mapping[str, bytes], expected: PublicKey | None = None
) -> SealReport:
    """Check the `seal.json` of a bundle against its other files."""
    opened = open_seal(content, expected)
    if isinstance(opened, str):
        return SealReport(state="broken", run_id="", problems=(opened,))
    statement, signer = opened
    problems: list[str] = [] if statement.bundle else [Note("seal_run_only")]
    problems += _compare_names(set(statement.bundle), set(files))
    for name, sealed in statement.bundle.items():
        if name in files:
            problems += compare_digests(name, sealed, partial(_split_bytes, files[name]))
    return _describe_seal(statement, statement.bundle, signer, tuple(problems))


def open_seal(
    content: bytes, expected: PublicKey | None = None
) -> tuple[SealStatement, PublicKey] | str:
    """The statement of a seal and who signed it, or why the seal is worth nothing."""
    try:
        if len(content) > _LARGEST:
            raise ValueError(Note("seal_large", most=f"{_LARGEST:,}"))
        seal = from_json(Seal, content)
        signed = bytes(seal.statement)
        statement = from_json(SealStatement, signed)
        signer = parse_public_key(seal.public_key)
        if (statement.format, statement.version) != (FORMAT, VERSION):
            raise ValueError(
                Note("seal_version", form=repr(statement.format[:40]), version=statement.version)
            )
        seals = (*statement.files.values(), *statement.bundle.values())
        if any(sealed.every < 1 for sealed in seals):
            raise ValueError(Note("seal_no_line"))
    except (msgspec.MsgspecError, ValueError) as error:
        return Note("seal_form", file=SEAL, detail=str(error)[:200])
    if not signer.has_signed(_CONTEXT + signed, seal.signature):
        return Note("seal_signature", file=SEAL)
    if expected is not None and signer != expected:
        return Note("seal_other_key", signer=signer.fingerprint, expected=expected.fingerprint)
    return statement, signer


def find_broken_chains(folder: RunFolder) -> tuple[str, ...]:
    """What breaks the chains of the journals, each with its file and line; a journal that cannot be
    read counts as broken."""
    problems: list[str] = []
    for name, path in list_sealed_files(folder.path).items():
        if not name.endswith(".jsonl"):
            continue
        try:
            broken = find_chain_break(read_journal_lines(path))
        except RunFolderError as error:
            problems.append(str(error))
            continue
        if broken is not None:
            problems.append(Note("chain_broken", file=name, lines=broken.line))
    return tuple(problems)


def compare_digests(name: str, sealed: FileSeal, read_lines: Lines) -> list[str]:
    """How the lines of a file differ from those that were signed; nothing where they are equal."""
    now = _digest_lines(read_lines, sealed.every)
    if (now.sha256, now.size) == (sealed.sha256, sealed.size):
        return []
    before, after = _split_digests(sealed.digests), _split_digests(now.digests)
    return [_describe_difference(name, before, after, sealed.every)]


def _describe_seal(
    statement: SealStatement,
    sealed: Mapping[str, FileSeal],
    signer: PublicKey,
    problems: tuple[str, ...],
) -> SealReport:
    return SealReport(
        state="broken" if problems else "valid",
        run_id=statement.run_id,
        signer=signer.fingerprint,
        sealed_at=statement.sealed_at,
        files=len(sealed),
        lines=sum(file.lines for file in sealed.values()),
        problems=problems,
    )


def _compare_names(sealed: set[str], present: set[str]) -> Iterator[str]:
    for name in sorted(sealed - present):
        yield Note("seal_file_missing", file=name)
    for name in sorted(present - sealed):
        yield Note("seal_file_added", file=name)


def _compare_file(name: str, sealed: FileSeal, path: Path) -> list[str]:
    try:
        return compare_digests(name, sealed, lambda: _read_lines(path))
    except (OSError, EOFError, zlib.error) as error:
        return [Note("seal_unreadable", file=name, detail=describe_os_error(error))]


def _split_digests(text: str) -> list[bytes]:
    try:
        digests = base64.b64decode(text)
    except ValueError:
        return []
    return [digests[at : at + _DIGEST] for at in range(0, len(digests), _DIGEST)]


def _describe_difference(name: str, before: list[bytes], after: list[bytes], every: int) -> str:
    """The first lines at which a file differs, and how."""
    first = next(
        (at for at, (old, new) in enumerate(zip(before, after, strict=False)) if old != new),
        min(len(before), len(after)),
    )
    lost = len(before) - len(after)
    if lost > 0 and before[first + lost :] == after[first:]:
        return Note("seal_dropped", file=name, lines=_format_lines(first, lost, every))
    if lost < 0 and before[first:] == after[first - lost :]:
        return Note("seal_added", file=name, lines=_format_lines(first, -lost, every))
    if lost == 0 and Counter(before) == Counter(after):
        differing = [at for at in range(first, len(before)) if before[at] != after[at]]
        count = differing[-1] - first + 1 if differing else 1
        return Note("seal_moved", file=name, lines=_format_lines(first, count, every))
    return Note("seal_changed", file=name, lines=_format_lines(first, 1, every))


def _format_lines(first: int, count: int, every: int) -> str:
    """The lines, from 1, of so many digests."""
    start, end = first * every + 1, (first + count) * every
    return str(start) if start == end else f"{start}-{end}"

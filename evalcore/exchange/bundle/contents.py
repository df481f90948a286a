"""The bundle format, a zip of a few named files and a manifest with their digests; reads one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from evalcore.errors import FileError, IndexFileError, IntakeError, UsageError
from evalcore.i18n import Note
from evalcore.intake.files import ArchiveLimits, unpack_zip
from evalcore.intake.json_text import check_depth, parse_json
from evalcore.records import Record, RunSpec, from_json
from evalcore.results import RunSummary
from evalcore.store import seal
from evalcore.store.run_folder import StoredEpisode, StoredSample, StoredVerdict
from evalcore.store.seal import SealReport

# `spec.json`, `summary.json`, and `card.json` where there is one, are as in a run folder;
# `samples.jsonl`, `generations.jsonl` and `verdicts.jsonl` hold one line per sample, per
# generation and epoch, and per sample and epoch, each exactly once. `seal.json`, where there is
# one, covers all other files, the manifest too.

FORMAT, VERSION = "evalboard-bundle", 1
MANIFEST = "manifest.json"
SPEC, SUMMARY, CARD = "spec.json", "summary.json", "card.json"
SEAL = seal.SEAL
SAMPLES, GENERATIONS, VERDICTS = "samples.jsonl", "generations.jsonl", "verdicts.jsonl"
NEEDED = (SPEC, SUMMARY, SAMPLES, GENERATIONS, VERDICTS)
#: Bytes of all files together; they are read into memory.
LARGEST = 256 << 20


class BundleManifest(Record, frozen=True):
    """`files` are sha256 digests by name; `versions` and `git_commit` are those that the run was
    made with. `redacted` counts the gated cases of each benchmark whose texts were left out, so
    that nobody can score them again from this bundle."""

    format: str
    version: int
    run_id: str
    files: dict[str, str]
    versions: dict[str, str] = {}
    git_commit: str = ""
    redacted: dict[str, int] = {}


class BundleContents(Record, frozen=True):
    """A bundle in memory; `source` is the file it came from, for messages, `seal` what a check of
    its seal gave, None without one."""

    source: str
    manifest: BundleManifest
    spec: RunSpec
    summary: RunSummary
    samples: tuple[StoredSample, ...]
    episodes: tuple[StoredEpisode, ...]
    verdicts: tuple[StoredVerdict, ...]
    card: dict[str, Any] = {}
    seal: SealReport | None = None


# Opening a bundle that nobody vouches for: sizes, names, hashes and forms, before any meaning.

R = TypeVar("R", bound=Record)
#: One file at most is packed so well that the ratio says anything: the sum is what is limited.
_LIMITS = ArchiveLimits(total_bytes=LARGEST, members=8, ratio=2000)
_MANIFEST_LARGEST = 1 << 16


class BundleRefused(FileError):
    """A bundle that is not taken in."""

    def __init__(self, source: str, problem: str) -> None:
        super().__init__(source, f"refused: {problem}")
        self.problem = problem


@contextmanager
def refuse_errors(source: str) -> Iterator[None]:
    """Say of an error that it is why the bundle is refused."""
    try:
        yield
    except (IndexFileError, UsageError) as error:
        raise BundleRefused(source, str(error)) from None


def read_bundle(bundle: Path, scratch: Path) -> BundleContents:
    """The decoded files of a bundle, unpacked below `scratch`.

    Raises UsageError naming the file and what is wrong with it: too large, no such archive, a file
    too many or too few, another hash than the manifest says, a line of another form.
    """
    manifest, files = read_bundle_files(bundle, scratch)
    report = _check_seal(bundle, files)
    return BundleContents(
        source=str(bundle),
        manifest=manifest,
        spec=_decode_record(bundle, SPEC, files[SPEC], RunSpec),
        summary=_decode_record(bundle, SUMMARY, files[SUMMARY], RunSummary),
        samples=_decode_record_lines(bundle, SAMPLES, files[SAMPLES], StoredSample),
        episodes=_decode_record_lines(bundle, GENERATIONS, files[GENERATIONS], StoredEpisode),
        verdicts=_decode_record_lines(bundle, VERDICTS, files[VERDICTS], StoredVerdict),
        card=_read_bundle_card(bundle, files),
        seal=report,
    )


def read_bundle_files(
    bundle: Path, scratch: Path, *, checked: bool = True
) -> tuple[BundleManifest, dict[str, bytes]]:
    """The manifest and all files as they are; `checked` against each other. Raises UsageError."""
    if not bundle.is_file():
        raise UsageError(Note("bundle_no_file", path=bundle))
    members = unpack_zip(bundle, scratch, _LIMITS)
    files = {str(path): (scratch / path).read_bytes() for path in members}
    manifest = _read_manifest(bundle, files)
    if checked:
        _check_files(bundle, manifest, files)
    return manifest, files


def _read_manifest(bundle: Path, files: Mapping[str, bytes]) -> BundleManifest:
    data = files.get(MANIFEST)
    if data is None or len(data) > _MANIFEST_LARGEST:
        raise FileError(bundle, Note("bundle_none"))
    manifest = _decode_record(bundle, MANIFEST, data, BundleManifest)
    if (manifest.format, manifest.version) != (FORMAT, VERSION):
        raise UsageError(
            Note(
                "bundle_version",
                path=bundle,
                form=manifest.format[:40],
                version=manifest.version,
                own_form=FORMAT,
                own_version=VERSION,
            )
        )
    return manifest


def _check_files(bundle: Path, manifest: BundleManifest, files: Mapping[str, bytes]) -> None:
    expected_names = {*NEEDED, CARD}
    listed, present = set(manifest.files), set(files) - {MANIFEST, SEAL}
    problems = {
        "is missing": set(NEEDED) - present,
        "is not part of a bundle": present - expected_names,
        "is not in the manifest": present - listed,
        "is in the manifest and not in the bundle": listed - present,
    }
    for problem, names in problems.items():
        if names:
            raise UsageError(f"{bundle}: {min(names)[:80]} {problem}")
    for name in sorted(present):
        if hashlib.sha256(files[name]).hexdigest() != manifest.files[name]:
            raise FileError(bundle, Note("bundle_hash", file=name))


def _check_seal(bundle: Path, files: Mapping[str, bytes]) -> SealReport | None:
    """Raises UsageError for a seal that is not the seal of these files."""
    content = files.get(SEAL)
    if content is None:
        return None
    sealed = {name: data for name, data in files.items() if name != SEAL}
    report = seal.verify_bundle_files(content, sealed)
    if report.problems:
        raise BundleRefused(str(bundle), Note("bundle_seal", problem=report.problems[0]))
    return report


def _decode_record(bundle: Path, location: str, data: bytes, kind: type[R]) -> R:
    try:
        check_depth(data)
        return from_json(kind, data)
    except (msgspec.MsgspecError, IntakeError) as error:
        raise FileError(bundle, Note("located", location=location, problem=error)) from None


def _decode_record_lines(bundle: Path, name: str, data: bytes, kind: type[R]) -> tuple[R, ...]:
    """The records of a file; a last line without its end is one that was cut."""
    if data and not data.endswith(b"\n"):
        raise UsageError(Note("bundle_torn", path=bundle, name=name))
    return tuple(
        _decode_record(bundle, Note("at_line", location=name, line=number), line, kind)
        for number, line in enumerate(data.split(b"\n")[:-1], 1)
    )


def _read_bundle_card(bundle: Path, files: Mapping[str, bytes]) -> dict[str, Any]:
    data = files.get(CARD)
    if data is None:
        return {}
    try:
        card = parse_json(data, drop=True)
    except IntakeError as error:
        raise FileError(bundle, Note("located", location=CARD, problem=error)) from None
    if not isinstance(card, dict):
        raise UsageError(Note("bundle_card", path=bundle, name=CARD))
    return card

"""A finished run as one bundle; equal runs give equal bytes.

Only what was run here goes out, and only with nothing missing: whoever takes the bundle in has to
be able to score every case again. Texts of gated cases stay here unless the settings share them.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import msgspec

from evalcore.access.redaction import (
    Redactor,
    build_redactor,
    mask_votes,
    redact_sample,
    redact_spec,
    redact_summary,
)
from evalcore.benchmarks.base import Benchmark
from evalcore.catalog import runs_models_here
from evalcore.errors import FileError, UsageError
from evalcore.exchange.bundle import contents
from evalcore.exchange.bundle.contents import BundleManifest
from evalcore.i18n import Note
from evalcore.records import Episode, Record, RunSpec, to_json
from evalcore.results import RunSummary
from evalcore.runner.plan import create_benchmark
from evalcore.settings import Settings
from evalcore.store.case_index import CaseIndex
from evalcore.store.cases import read_indexed_case
from evalcore.store.run_folder import (
    RunFolder,
    StoredEpisode,
    StoredSample,
    StoredVerdict,
    write_atomic,
)
from evalcore.store.seal import read_seal, verify_bundle_files
from evalcore.views.cases import bare_episode, bare_sample, bare_verdict, is_gated

_EPOCH = (1980, 1, 1, 0, 0, 0)  # the first moment that a zip can name
_PLAIN_FILE = 0o100644 << 16


class BundleExport(Record, frozen=True):
    """`redacted` counts the gated cases whose texts were left out, `gated` those that went out;
    `unsealed` is why the seal of the run did not, "" where it did or there is none."""

    run: str
    file: str
    cases: int
    redacted: int
    gated: int
    sealed: bool = False
    unsealed: str = ""


class BundleFiles(Record, frozen=True):
    """The files of a bundle by name, its manifest among them, and what is counted of its cases."""

    run: str
    files: dict[str, bytes]
    cases: int
    redacted: int
    gated: int


def export_bundle(folder: RunFolder, out: Path, settings: Settings) -> BundleExport:
    """Write the bundle, with the seal of the run where that covers it. Raises UsageError for a run
    that is not one to hand in, and where the file cannot be written; RunFolderError where the run
    cannot be read."""
    built = build_bundle_files(folder, settings)
    files, unsealed = dict(built.files), ""
    if (content := read_seal(folder.path)) is not None:
        report = verify_bundle_files(content, files)
        unsealed = report.problems[0] if report.problems else ""
        files |= {} if unsealed else {contents.SEAL: content}
    write_bundle_file(out, pack_bundle(files))
    return BundleExport(
        run=built.run,
        file=out.name,
        cases=built.cases,
        redacted=built.redacted,
        gated=built.gated,
        sealed=contents.SEAL in files,
        unsealed=unsealed,
    )


def build_bundle_files(folder: RunFolder, settings: Settings) -> BundleFiles:
    """The bundle of a run before it is packed; raises as `export_bundle` does."""
    summary = _require_finished(folder)
    spec, censored = folder.read_spec(), build_redactor(settings)
    benchmarks = {
        entry.key: create_benchmark(entry.key, entry.options) for entry in spec.benchmarks
    }
    redacted_spec = redact_spec(spec, censored)
    with CaseIndex.load(folder, summary.scoring, spec.epochs) as index:
        lines = _BundleLines(index, spec, benchmarks, settings, censored)
        lines.collect()
    gated, redacted = lines.gated, Counter[str]() if settings.show_gated else lines.gated
    files = {
        contents.SPEC: to_json(redacted_spec),
        contents.SUMMARY: to_json(redact_summary(summary, redacted_spec)),
        contents.SAMPLES: bytes(lines.samples),
        contents.GENERATIONS: bytes(lines.episodes),
        contents.VERDICTS: bytes(lines.verdicts),
    }
    if card := folder.read_card():
        if runs_models_here(spec.target.key):  # whose key says where the model lies
            card = {**card, "model": redacted_spec.target.key.partition(":")[2]}
        files[contents.CARD] = to_json(censored.redact_values(card))
    manifest = _build_manifest(redacted_spec, files, dict(redacted))
    return BundleFiles(
        run=spec.run_id,
        files={contents.MANIFEST: to_json(manifest), **files},
        cases=lines.cases,
        redacted=redacted.total(),
        gated=gated.total() - redacted.total(),
    )


def _require_finished(folder: RunFolder) -> RunSummary:
    summary = folder.read_summary()
    if folder.read_spec().origin == "imported":
        raise UsageError(Note("bundle_imported", run=folder.run_id))
    if summary is None or folder.current_state() == "running":
        raise UsageError(Note("run_not_ended", run=folder.run_id))
    return summary


class _BundleLines:
    """The journals of a bundle, in the order of the samples, epoch by epoch: one case at a time is
    decoded, and collecting ends where they are larger than a bundle may be."""

    def __init__(
        self,
        index: CaseIndex,
        spec: RunSpec,
        benchmarks: Mapping[str, Benchmark],
        settings: Settings,
        censored: Redactor,
    ) -> None:
        self.samples, self.episodes, self.verdicts = bytearray(), bytearray(), bytearray()
        self.cases, self.gated = 0, Counter[str]()
        self._index, self._spec, self._benchmarks = index, spec, benchmarks
        self._strips_gated, self._censored = not settings.show_gated, censored
        self._gated_keys: set[tuple[str, str]] = set()

    def collect(self) -> None:
        """Raises UsageError for a case without an answer or a verdict, and for too much."""
        plain = Redactor(keys=self._censored.keys, folders=())  # cases are what their hash says
        for position in range(self._index.cases):
            line = self._index.read_sample(position)
            self.cases += 1
            if is_gated(line.sample):
                self.gated[line.benchmark] += 1
                if self._strips_gated:
                    self._gated_keys |= {
                        (line.benchmark, line.sample.key),
                        (line.benchmark, self._name_generation(line)),
                    }
                    line = StoredSample(line.benchmark, bare_sample(line.sample))
            redacted = StoredSample(line.benchmark, redact_sample(line.sample))
            self._append(self.samples, redacted, plain)
        for epoch in range(self._spec.epochs):
            seen: set[tuple[str, str]] = set()
            for position in range(self._index.cases):
                self._collect_round(position, epoch, seen)

    def _name_generation(self, line: StoredSample) -> str:
        return self._benchmarks[line.benchmark].generation_key(line.sample)

    def _collect_round(self, position: int, epoch: int, seen: set[tuple[str, str]]) -> None:
        stored, _, episode, verdict = read_indexed_case(self._index, position, epoch)
        key, sample = stored.benchmark, stored.sample
        if episode is None or verdict is None:
            raise UsageError(
                Note(
                    "bundle_no_verdict",
                    run=self._spec.run_id,
                    benchmark=key,
                    sample=sample.key,
                    epoch=epoch,
                )
            )
        generation = (key, self._name_generation(stored))
        if generation not in seen:
            seen.add(generation)
            if generation in self._gated_keys:
                episode = bare_episode(episode)
            answered = StoredEpisode(key, _redact_failure(episode, self._censored))
            self._append(self.episodes, answered, self._censored)
        if (key, sample.key) in self._gated_keys:
            verdict = bare_verdict(verdict)
        if verdict.outcome in ("target_error", "environment_error"):
            # where no answer was scored, the note repeats what others' programs said
            verdict = verdict.with_note(self._censored.redact_text)
        self._append(self.verdicts, StoredVerdict(key, mask_votes(verdict)), self._censored)

    def _append(self, lines: bytearray, record: Record, censored: Redactor) -> None:
        lines += censored.redact_line(to_json(record).decode()).encode() + b"\n"
        if len(self.samples) + len(self.episodes) + len(self.verdicts) > contents.LARGEST:
            raise UsageError(describe_too_large(self._spec.run_id))


def describe_too_large(run: str) -> str:
    return (
        f"run {run} takes more than the {contents.LARGEST >> 20} MiB of a bundle; "
        "run fewer benchmarks at once"
    )


def _redact_failure(episode: Episode, censored: Redactor) -> Episode:
    """A failure is told by others' programs, which may name anything."""
    if episode.failure is None:
        return episode
    failure = episode.failure.with_message(censored.redact_text)
    return msgspec.structs.replace(episode, failure=failure)


def _build_manifest(
    spec: RunSpec, files: dict[str, bytes], redacted: dict[str, int]
) -> BundleManifest:
    """Raises UsageError if the bundle would be too large to import."""
    if sum(map(len, files.values())) > contents.LARGEST:
        raise UsageError(describe_too_large(spec.run_id))
    return BundleManifest(
        format=contents.FORMAT,
        version=contents.VERSION,
        run_id=spec.run_id,
        files={name: hashlib.sha256(data).hexdigest() for name, data in files.items()},
        versions=spec.versions,
        git_commit=spec.git_commit,
        redacted=redacted,
    )


def pack_bundle(files: Mapping[str, bytes]) -> bytes:
    """Pack the zip; equal files give equal bytes."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name, data in files.items():
            member = zipfile.ZipInfo(name, _EPOCH)
            member.external_attr, member.create_system = _PLAIN_FILE, 3
            archive.writestr(member, data, zipfile.ZIP_DEFLATED, 6)
    return packed.getvalue()


def write_bundle_file(out: Path, data: bytes) -> None:
    if out.suffix != ".zip":
        raise UsageError(Note("cli_bundle_name", path=out, stem=out.stem))
    try:
        write_atomic(out, data)
    except OSError as error:
        raise FileError(f"--out {out}", error) from None

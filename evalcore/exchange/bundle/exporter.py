"""A finished run as one bundle; equal runs give equal bytes.

Only what was run here goes out, and only with nothing missing: whoever takes the bundle in has to
be able to score every case again. Texts of gated cases stay here unless the settings share them.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
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
from evalcore.errors import UsageError
from evalcore.exchange.bundle import contents
from evalcore.exchange.bundle.contents import BundleManifest
from evalcore.records import Episode, Record, RunSpec, Verdict, to_json
from evalcore.results import RunSummary
from evalcore.runner.plan import create_benchmark
from evalcore.runner.summary import latest_episodes, latest_verdicts
from evalcore.settings import Settings
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


class _Journals(Record, frozen=True):
    """The lines of a run, in the order of its samples, epoch by epoch."""

    samples: list[StoredSample]
    episodes: list[StoredEpisode]
    verdicts: list[StoredVerdict]


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
    journals = _collect_journals(folder, spec, summary.scoring, benchmarks)
    gated = Counter(line.benchmark for line in journals.samples if is_gated(line.sample))
    redacted = Counter[str]() if settings.show_gated else gated
    if redacted:
        journals = _strip_gated_text(journals, _gated_keys(journals.samples, benchmarks))
    redacted_spec = redact_spec(spec, censored)
    files = {
        contents.SPEC: to_json(redacted_spec),
        contents.SUMMARY: to_json(redact_summary(summary, redacted_spec)),
        contents.SAMPLES: _encode_censored_lines(
            (StoredSample(line.benchmark, redact_sample(line.sample)) for line in journals.samples),
            Redactor(keys=censored.keys, folders=()),  # cases are what their hash says they are
        ),
        contents.GENERATIONS: _encode_censored_lines(
            (
                StoredEpisode(line.benchmark, _redact_failure(line.episode, censored))
                for line in journals.episodes
            ),
            censored,
        ),
        contents.VERDICTS: _encode_censored_lines(_redact_verdicts(journals, censored), censored),
    }
    if card := folder.read_card():
        if runs_models_here(spec.target.key):  # whose key says where the model lies
            card = {**card, "model": redacted_spec.target.key.partition(":")[2]}
        files[contents.CARD] = to_json(censored.redact_values(card))
    manifest = _build_manifest(redacted_spec, files, dict(redacted))
    return BundleFiles(
        run=spec.run_id,
        files={contents.MANIFEST: to_json(manifest), **files},
        cases=len(journals.samples),
        redacted=redacted.total(),
        gated=gated.total() - redacted.total(),
    )


def _require_finished(folder: RunFolder) -> RunSummary:
    summary = folder.read_summary()
    if folder.read_spec().origin == "imported":
        raise UsageError(f"run {folder.run_id} was imported; only runs made here can be bundled")
    if summary is None or folder.current_state() == "running":
        raise UsageError(f"run {folder.run_id} has not ended; wait for it or resume it")
    return summary


def _collect_journals(
    folder: RunFolder, spec: RunSpec, scoring: str, benchmarks: Mapping[str, Benchmark]
) -> _Journals:
    """Raises UsageError for a case without an answer or a verdict."""
    samples = list(folder.read_samples())
    episodes, verdicts = latest_episodes(folder), latest_verdicts(folder.read_verdicts(scoring))
    answers: dict[tuple[str, str, int], StoredEpisode] = {}
    stored_verdicts: list[StoredVerdict] = []
    for epoch in range(spec.epochs):
        for line in samples:
            key, sample = line.benchmark, line.sample
            episode_key = (key, benchmarks[key].generation_key(sample), epoch)
            episode = episodes.get(episode_key)
            verdict = verdicts.get((key, sample.metric, sample.id, epoch))
            if episode is None or verdict is None:
                raise UsageError(
                    f"run {folder.run_id} has no verdict on {key} {sample.key}, epoch {epoch}; "
                    "resume it to its end first"
                )
            answers[episode_key] = StoredEpisode(key, episode)
            stored_verdicts.append(StoredVerdict(key, verdict))
    return _Journals(samples, list(answers.values()), stored_verdicts)


def _gated_keys(
    samples: Iterable[StoredSample], benchmarks: Mapping[str, Benchmark]
) -> frozenset[tuple[str, str]]:
    """Benchmark and key of what is gated: of samples, and of the generations they are scored on."""
    return frozenset(
        (line.benchmark, key)
        for line in samples
        if is_gated(line.sample)
        for key in (line.sample.key, benchmarks[line.benchmark].generation_key(line.sample))
    )


def _strip_gated_text(journals: _Journals, gated: frozenset[tuple[str, str]]) -> _Journals:
    return _Journals(
        samples=[
            StoredSample(line.benchmark, bare_sample(line.sample))
            if is_gated(line.sample)
            else line
            for line in journals.samples
        ],
        episodes=[
            StoredEpisode(line.benchmark, bare_episode(line.episode))
            if (line.benchmark, line.episode.key) in gated
            else line
            for line in journals.episodes
        ],
        verdicts=[
            StoredVerdict(line.benchmark, bare_verdict(line.verdict))
            if (line.benchmark, f"{line.verdict.metric}/{line.verdict.id}") in gated
            else line
            for line in journals.verdicts
        ],
    )


def _redact_failure(episode: Episode, censored: Redactor) -> Episode:
    """A failure is told by others' programs, which may name anything."""
    if episode.failure is None:
        return episode
    failure = episode.failure.with_message(censored.redact_text)
    return msgspec.structs.replace(episode, failure=failure)


def _redact_verdicts(journals: _Journals, censored: Redactor) -> Iterator[StoredVerdict]:
    """Where no answer was scored, the note repeats what others' programs said."""
    for line in journals.verdicts:
        verdict: Verdict = line.verdict
        if verdict.outcome in ("target_error", "environment_error"):
            verdict = verdict.with_note(censored.redact_text)
        yield StoredVerdict(line.benchmark, mask_votes(verdict))


def _encode_censored_lines(records: Iterable[Record], censored: Redactor) -> bytes:
    return b"".join(
        censored.redact_line(to_json(record).decode()).encode() + b"\n" for record in records
    )


def _build_manifest(
    spec: RunSpec, files: dict[str, bytes], redacted: dict[str, int]
) -> BundleManifest:
    """Raises UsageError if the bundle would be too large to import."""
    size = sum(map(len, files.values()))
    if size > contents.LARGEST:
        raise UsageError(
            f"run {spec.run_id} takes {size >> 20} MiB, a bundle {contents.LARGEST >> 20} at most; "
            "run fewer benchmarks at once"
        )
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
        raise UsageError(f"--out {out}: a bundle is a zip; name it {out.stem}.zip")
    try:
        write_atomic(out, data)
    except OSError as error:
        raise UsageError(f"--out {out}: {error.strerror}") from None

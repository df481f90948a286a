"""What a bundle is: a zip of a few named files, and a manifest that vouches for each of them.

`spec.json`, `summary.json`, and `card.json` where there is one, are as in a run folder;
`samples.jsonl`, `generations.jsonl` and `verdicts.jsonl` hold one line per sample, per generation
and epoch, and per sample and epoch, each exactly once.
"""

from __future__ import annotations

from typing import Any

from evalcore.records import Record, RunSpec, RunSummary
from evalcore.store.run_folder import StoredEpisode, StoredSample, StoredVerdict

FORMAT, VERSION = "evalboard-bundle", 1
MANIFEST = "manifest.json"
SPEC, SUMMARY, CARD = "spec.json", "summary.json", "card.json"
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
    """A bundle in memory; `source` is the file it came from, for messages."""

    source: str
    manifest: BundleManifest
    spec: RunSpec
    summary: RunSummary
    samples: tuple[StoredSample, ...]
    episodes: tuple[StoredEpisode, ...]
    verdicts: tuple[StoredVerdict, ...]
    card: dict[str, Any] = {}

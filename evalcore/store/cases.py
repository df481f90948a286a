"""One case of a run, found in its journals without decoding the other lines."""

from __future__ import annotations

import re

from evalcore.errors import UsageError
from evalcore.records import Episode, Verdict
from evalcore.store import journal
from evalcore.store.run_folder import RunFolder, StoredEpisode, StoredSample, StoredVerdict
from evalcore.store.sample_rows import generation_key, select_scoring

#: Text that JSON writes as it is.
_PLAIN = re.compile(r"[A-Za-z0-9 _.:#@/-]+")


def load_run_case(
    folder: RunFolder,
    benchmark: str,
    metric: str,
    id: str,
    epoch: int = 0,
    scoring: str | None = None,
) -> tuple[StoredSample, Episode | None, Verdict | None]:
    """The case with what was answered and how it was judged, None for what is not there (yet).

    Of several journaled episodes or verdicts the last counts. Raises UsageError when the run
    declares no such case, RunFolderError when its line in a journal is broken.
    """
    sample = _find_stored_sample(folder, benchmark, metric, id)
    scoring_name = select_scoring(folder) if scoring is None else scoring
    verdict = _find_last_verdict(folder, scoring_name, sample, epoch) if scoring_name else None
    key = generation_key(verdict, sample.sample.key)
    return sample, _find_last_episode(folder, benchmark, key, epoch), verdict


def _find_stored_sample(folder: RunFolder, benchmark: str, metric: str, case: str) -> StoredSample:
    path = folder.path / "samples.jsonl"
    for stored in journal.read_journal(path, StoredSample, _build_search_bytes(case)):
        sample = stored.sample
        if (stored.benchmark, sample.metric, sample.id) == (benchmark, metric, case):
            return stored
    raise UsageError(f"run {folder.run_id} has no case {case!r} of {benchmark}, metric {metric}")


def _find_last_verdict(
    folder: RunFolder, scoring: str, case: StoredSample, epoch: int
) -> Verdict | None:
    case_key = (case.benchmark, case.sample.metric, case.sample.id, epoch)
    last = None
    lines = journal.read_journals(
        folder.verdicts_dir(scoring), StoredVerdict, _build_search_bytes(case.sample.id)
    )
    for stored in lines:
        verdict = stored.verdict
        if (stored.benchmark, verdict.metric, verdict.id, verdict.epoch) == case_key:
            last = verdict
    return last


def _find_last_episode(folder: RunFolder, benchmark: str, key: str, epoch: int) -> Episode | None:
    last = None
    for stored in journal.read_journals(
        folder.path / "generations", StoredEpisode, _build_search_bytes(key)
    ):
        episode = stored.episode
        if (stored.benchmark, episode.key, episode.epoch) == (benchmark, key, epoch):
            last = episode
    return last


def _build_search_bytes(text: str) -> bytes:
    """Bytes that a line about `text` must hold: `text` quoted, or its longest unescaped part."""
    if _PLAIN.fullmatch(text):
        return f'"{text}"'.encode()
    return max(_PLAIN.findall(text), key=len, default="").encode()

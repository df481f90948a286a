"""Gated cases: what of them may be shown to anybody.

Who is let in to a gated data set (the official GAIA) promises to share nothing of it. A sample of
such a set says so in its `meta`. Of its case everything is left out that holds text: what was
asked, expected and answered, the transcript, the evidence and the note. What was measured stays.
"""

from __future__ import annotations

import msgspec
import pandas as pd

from evalcore.records import Episode, Failure, Sample, Verdict
from evalcore.store import journal
from evalcore.store.run_folder import RunFolder, StoredSample

#: Stands where a text is left out; the catalogues hold it as a note.
HIDDEN = (
    "The text of this data set is not to be shown publicly; outcome, score and time are. Whoever "
    "runs the app for themselves can show it with the setting show_gated."
)
_MARK = "gated"
#: Details of a verdict that hold no word of question or answer.
_SAFE = frozenset({"extraction", "comparison", "file", "needs_web", "tool_calls", "generation"})
_KEY = ["benchmark", "metric", "id"]


def is_gated(sample: Sample) -> bool:
    return bool(sample.meta.get(_MARK))


def gated_cases(folder: RunFolder) -> frozenset[tuple[str, str, str]]:
    """Benchmark, metric and id of every gated case of a run; other lines are not decoded.

    Raises RunFolderError when the file of samples is broken.
    """
    lines = journal.read_journal(folder.path / "samples.jsonl", StoredSample, f'"{_MARK}"'.encode())
    return frozenset(
        (line.benchmark, line.sample.metric, line.sample.id)
        for line in lines
        if is_gated(line.sample)
    )


def bare_sample(sample: Sample) -> Sample:
    """Which case it is and how hard, without what is asked and expected."""
    return msgspec.structs.replace(sample, input={}, reference={}, meta={_MARK: True})


def bare_episode(episode: Episode) -> Episode:
    """What the answer took and how it ended, without a word of it."""
    failure = episode.failure
    if failure is not None:  # a provider may repeat what it was sent
        failure = Failure(failure.kind, "", failure.status, failure.retry_after, failure.attempts)
    return msgspec.structs.replace(episode, answer="", messages=(), failure=failure, state={})


def bare_verdict(verdict: Verdict) -> Verdict:
    """Outcome, score and views, without what they rest on."""
    details = {name: value for name, value in verdict.details.items() if name in _SAFE}
    return msgspec.structs.replace(verdict, note="", details=details, evidence=())


def bare_notes(cases: pd.DataFrame, gated: frozenset[tuple[str, str, str]]) -> pd.DataFrame:
    """A table of cases with HIDDEN in place of the notes on gated ones."""
    marked = is_among(cases, gated)
    return cases.assign(note=cases["note"].mask(marked & cases["note"].notna(), HIDDEN))


def is_among(cases: pd.DataFrame, gated: frozenset[tuple[str, str, str]]) -> pd.Series[bool]:
    """Which rows of a table of cases are gated."""
    keys = zip(*(cases[name] for name in _KEY), strict=True)
    return pd.Series([key in gated for key in keys], index=cases.index, dtype=bool)

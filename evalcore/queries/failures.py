"""Why the answers of a run failed, and what they did where no call was right: counts per run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from evalcore.store import samples_table
from evalcore.store.run_folder import find_run

#: What an answer did where nothing was to be called, from right to wrong.
ANSWER_KINDS = ("abstained", "empty", "malformed", "call")
_CAUSES = """
SELECT cause, count(*) AS count FROM samples
WHERE benchmark = ? AND cause IS NOT NULL GROUP BY cause ORDER BY count DESC, cause
"""
_WHYS = """
SELECT coalesce(cause, nullif(reason, ''), error_type) AS why, count(*) AS count FROM samples
WHERE benchmark = ? AND outcome <> 'passed' GROUP BY why HAVING why IS NOT NULL
ORDER BY count DESC, why
"""
_KINDS = """
SELECT answer_kind AS kind, count(*) AS count FROM samples
WHERE benchmark = ? AND answer_kind IS NOT NULL GROUP BY answer_kind
"""
_UNUSABLE = """
SELECT count(DISTINCT metric || '/' || id) AS count FROM samples
WHERE benchmark = ? AND reason = 'unusable_task'
"""


def count_failure_causes(roots: Sequence[Path], run: str, benchmark: str) -> pd.DataFrame:
    """Failed cases by cause, the most frequent first: cause, count, share (0 to 1 of the failed).

    Raises UsageError when there is no such run, RunFolderError when a file is broken.
    """
    return _add_share_column(_query_run_counts(roots, run, benchmark, _CAUSES))


def count_failure_reasons(roots: Sequence[Path], run: str, benchmark: str) -> pd.DataFrame:
    """Why cases did not pass, errors included, the most frequent first: why, count, share (0 to 1
    of them). Raises as `count_failure_causes`."""
    return _add_share_column(_query_run_counts(roots, run, benchmark, _WHYS))


def count_answer_kinds(roots: Sequence[Path], run: str, benchmark: str) -> pd.DataFrame:
    """Answers to cases where nothing was to be called, in the order of ANSWER_KINDS: kind, count,
    share (0 to 1 of them). Raises as `count_failure_causes`."""
    frame = _query_run_counts(roots, run, benchmark, _KINDS)
    counts_by_kind = dict(zip(frame["kind"], frame["count"], strict=True))
    present_kinds = [kind for kind in ANSWER_KINDS if kind in counts_by_kind]
    counts = [int(counts_by_kind[kind]) for kind in present_kinds]
    return _add_share_column(pd.DataFrame({"kind": present_kinds, "count": counts}))


def count_unusable_tasks(roots: Sequence[Path], run: str, benchmark: str) -> int:
    """How many tasks were set aside because their own reference does not hold where they were run:
    they count neither for nor against a target. Raises as `count_failure_causes`."""
    return int(_query_run_counts(roots, run, benchmark, _UNUSABLE)["count"][0])


def _query_run_counts(roots: Sequence[Path], run: str, benchmark: str, sql: str) -> pd.DataFrame:
    return samples_table.query_run_cached(find_run(run, roots), sql, [benchmark])


def _add_share_column(frame: pd.DataFrame) -> pd.DataFrame:
    total = frame["count"].sum()
    return frame.assign(share=frame["count"] / total if total else 0.0)

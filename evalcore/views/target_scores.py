"""One benchmark of a run read otherwise: official groups, other rules, published claims, and why
answers failed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec
import pandas as pd

from evalcore.catalog import GroupCard, benchmark_cards
from evalcore.results import BenchmarkScore
from evalcore.store import case_tables
from evalcore.store import run_folder as published_file
from evalcore.store.run_folder import Published, find_run

# One benchmark of a run read otherwise: the groups that its score is reported in officially, and
# the same answers under other rules.

#: Readings in the order of a table; others follow by name.
_READINGS = ("official", "hardened", "repaired", "tolerant", "strict", "lenient", "fuzzy")
#: Measures of patches, which need no test to be run and say nothing of whether one would pass.
_MEASURES = ("applies_rate", "file_recall", "hunk_recall", "line_f1")
#: What the second wins over the first is what the format cost.
_FORMATS = (("official", "tolerant"), ("strict", "lenient"))


def build_group_scores(score: BenchmarkScore) -> pd.DataFrame:
    """The official groups: group, score (0 to 100, None where incomplete), weight (points of the
    overall score, None for a part of a group) and missing, a tuple of what was not measured.

    Empty for a benchmark without groups.
    """
    groups = _list_group_cards(score)
    return pd.DataFrame(
        [
            {
                "group": name,
                "score": score.groups[name],
                "weight": group.weight,
                "missing": ()
                if score.groups[name] is not None
                else _find_missing_parts(name, score, groups),
            }
            for name, group in groups.items()
            if group.listed and name in score.groups
        ],
        columns=["group", "score", "weight", "missing"],
        dtype=object,
    )


def _list_group_cards(score: BenchmarkScore) -> dict[str, GroupCard]:
    card = benchmark_cards().get(score.benchmark)
    return {group.key: group for group in card.groups} if card else {}


def build_patch_measures(score: BenchmarkScore) -> pd.DataFrame:
    """How patches look without being tested: measure and value (0 to 100, None where nothing was
    looked at). They rank nothing. Empty for a benchmark without patches."""
    records = [
        {"measure": name, "value": score.groups[name]} for name in _MEASURES if name in score.groups
    ]
    return pd.DataFrame(records, columns=["measure", "value"], dtype=object)


def build_pass_k(score: BenchmarkScore) -> pd.DataFrame:
    """Return pass^k of a benchmark that reports it: k, value, low and high (95% interval), idle
    (the score of doing nothing) and adjusted; 0 to 100, None if unknown.

    Empty for any other benchmark.
    """
    group_scores = score.groups
    tries = sorted(
        int(name[5:]) for name in group_scores if name[:5] == "pass^" and name[5:].isdecimal()
    )
    records = [
        (
            k,
            group_scores[f"pass^{k}"],
            group_scores.get(f"pass^{k}.low"),
            group_scores.get(f"pass^{k}.high"),
            group_scores.get("p0"),
            group_scores.get("adjusted" if k == 1 else f"adjusted^{k}"),
        )
        for k in tries
    ]
    columns = ["k", "value", "low", "high", "idle", "adjusted"]
    return pd.DataFrame(records, columns=columns, dtype=object)


def _find_missing_parts(
    name: str, score: BenchmarkScore, groups: Mapping[str, GroupCard]
) -> tuple[str, ...]:
    """List the subgroups without a score, else the metrics without a case."""
    members = groups[name].members if name in groups else ()
    gaps = (member for member in members if not _is_measured(member, score))
    missing: list[str] = []
    for gap in gaps:
        unlisted = gap in groups and not groups[gap].listed
        missing += _find_missing_parts(gap, score, groups) if unlisted else [gap]
    return tuple(missing)


def _is_measured(name: str, score: BenchmarkScore) -> bool:
    if name in score.groups:
        return score.groups[name] is not None
    return name in score.metrics and score.metrics[name].samples > 0


def build_alternate_scores(views: Mapping[str, float], score: float | None) -> pd.DataFrame:
    """Score the same answers under other rules: view, score (0 to 100), difference to the board's
    score. Empty if there are fewer than two views or nothing was measured."""
    positions = {name: number for number, name in enumerate(_READINGS)}
    names = sorted(views, key=lambda name: (positions.get(name, len(positions)), name))
    records = [
        (name, views[name], views[name] - score)
        for name in names
        if len(names) > 1 and score is not None
    ]
    return pd.DataFrame(records, columns=["view", "score", "difference"])


def lost_to_format(views: Mapping[str, float]) -> float | None:
    """Points lost, under the reading that is strict on the form, by right answers in another form;
    None where no two readings differ in that."""
    gains = (views[to] - views[of] for of, to in _FORMATS if of in views and to in views)
    return next(gains, None)


# What others published of a run beside what its cases give: claims, levels and flags.

PUBLISHED_SCORE_COLUMNS = [
    *("benchmark", "level", "claimed", "recomputed", "own", "reading", "judges", "graded_at")
]
PUBLISHED_FLAG_COLUMNS = ["benchmark", "metric", "kind", "detail"]


def load_published(roots: Iterable[Path], run: str) -> Published | None:
    """What a publisher said of a run, None for a run of ours. Raises UsageError when there is no
    such run, RunFolderError when its file is broken."""
    return published_file.read_published(find_run(run, roots))


def build_published_scores(publication: Published) -> pd.DataFrame:
    """One row per benchmark with the columns SCORES; scores are 0 to 100, None without cases."""
    records = [
        {**msgspec.structs.asdict(score), "benchmark": benchmark, "judges": ", ".join(score.judges)}
        for benchmark, score in publication.scores.items()
    ]
    frame = pd.DataFrame(records, columns=PUBLISHED_SCORE_COLUMNS)
    return frame.assign(graded_at=frame["graded_at"].str[:10])


def build_published_flags(publication: Published) -> pd.DataFrame:
    """One row per flag with the columns FLAGS."""
    records = [
        (benchmark, flag.metric, flag.kind, flag.detail)
        for benchmark, score in publication.scores.items()
        for flag in score.flags
    ]
    return pd.DataFrame(records, columns=PUBLISHED_FLAG_COLUMNS)


# Why the answers of a run failed, and what they did where no call was right: counts per run.

#: What an answer did where nothing was to be called, from right to wrong.
ANSWER_KINDS = ("abstained", "empty", "malformed", "call")
_CAUSES = """
SELECT cause, count(*) AS count FROM samples
WHERE benchmark = ? AND nullif(cause, '') IS NOT NULL GROUP BY cause ORDER BY count DESC, cause
"""
_WHYS = """
SELECT coalesce(nullif(cause, ''), nullif(reason, ''), nullif(error_type, '')) AS why,
count(*) AS count FROM samples
WHERE benchmark = ? AND outcome <> 'passed' GROUP BY why HAVING why IS NOT NULL
ORDER BY count DESC, why
"""
_LEVELS = """
SELECT level, count(*) AS count FROM samples
WHERE benchmark = ? AND nullif(level, '') IS NOT NULL GROUP BY level ORDER BY level
"""
_KINDS = """
SELECT answer_kind AS kind, count(*) AS count FROM samples
WHERE benchmark = ? AND answer_kind IS NOT NULL GROUP BY answer_kind
"""
_CALL_READINGS = """
SELECT call_reading AS reading, count(*) AS count FROM samples
WHERE benchmark = ? AND call_reading IS NOT NULL GROUP BY reading
"""
_UNUSABLE = """
SELECT count(DISTINCT metric || '/' || id) AS count FROM samples
WHERE benchmark = ? AND reason = 'unusable_task'
"""


def count_failure_causes(roots: Sequence[Path], run: str, benchmark: str) -> pd.DataFrame:
    """Failed cases by cause, the most frequent first: cause, count, share (0 to 1 of the failed).
    Raises UsageError when there is no such run, RunFolderError when a file is broken."""
    return _add_share_column(_query_run_counts(roots, run, benchmark, _CAUSES))


def count_failure_reasons(roots: Sequence[Path], run: str, benchmark: str) -> pd.DataFrame:
    """Why cases did not pass, errors included, the most frequent first: why, count, share (0 to 1
    of them). Raises as `count_failure_causes`."""
    return _add_share_column(_query_run_counts(roots, run, benchmark, _WHYS))


def list_levels(roots: Sequence[Path], run: str, benchmark: str) -> list[str]:
    """What the equivalences of a run rest on, as codes. Raises as `count_failure_causes`."""
    frame = _query_run_counts(roots, run, benchmark, _LEVELS)
    return [str(level) for level in frame["level"]]


def count_answer_kinds(roots: Sequence[Path], run: str, benchmark: str) -> pd.DataFrame:
    """Answers to cases where nothing was to be called, in the order of ANSWER_KINDS: kind, count,
    share (0 to 1 of them). Raises as `count_failure_causes`."""
    frame = _query_run_counts(roots, run, benchmark, _KINDS)
    counts_by_kind = dict(zip(frame["kind"], frame["count"], strict=True))
    present_kinds = [kind for kind in ANSWER_KINDS if kind in counts_by_kind]
    counts = [int(counts_by_kind[kind]) for kind in present_kinds]
    return _add_share_column(pd.DataFrame({"kind": present_kinds, "count": counts}))


def count_call_readings(roots: Sequence[Path], run: str, benchmark: str) -> dict[str, int]:
    """Cases with calls by how those were read: `native` as they were asked for, `rescued` in
    another format, `lost` not at all; empty where no call was made. Raises as
    `count_failure_causes`."""
    frame = _query_run_counts(roots, run, benchmark, _CALL_READINGS)
    counts = {str(row["reading"]): int(row["count"]) for row in frame.to_dict("records")}
    return {kind: counts.get(kind, 0) for kind in ("native", "rescued", "lost")} if counts else {}


def count_unusable_tasks(roots: Sequence[Path], run: str, benchmark: str) -> int:
    """How many tasks were set aside because their own reference does not hold where they were run:
    they count neither for nor against a target. Raises as `count_failure_causes`."""
    return int(_query_run_counts(roots, run, benchmark, _UNUSABLE)["count"][0])


def _query_run_counts(roots: Sequence[Path], run: str, benchmark: str, sql: str) -> pd.DataFrame:
    return case_tables.query_run_cached(find_run(run, roots), sql, [benchmark])


def _add_share_column(frame: pd.DataFrame) -> pd.DataFrame:
    total = frame["count"].sum()
    return frame.assign(share=frame["count"] / total if total else 0.0)

"""One benchmark of a run read otherwise: the groups that its score is reported in officially, and
the same answers under other rules."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from evalcore.benchmarks.bfcl.aggregate import GROUPS, OVERALL_WEIGHTS, SINGLE_TURN_WEIGHTS
from evalcore.records import BenchmarkScore

#: Groups in the order of a table: the composites, then what they are made of.
_ORDER = (
    "overall",
    "single_turn",
    "non_live",
    "live",
    "hallucination",
    "multi_turn",
    "agentic",
    "web_search",
    "memory",
)
#: Readings in the order of a table; others follow by name.
_READINGS = ("official", "hardened", "repaired", "tolerant", "strict", "lenient", "fuzzy")
#: Measures of patches, which need no test to be run and say nothing of whether one would pass.
_MEASURES = ("applies_rate", "file_recall", "hunk_recall", "line_f1")
#: What the second wins over the first is what the format cost.
_FORMAT = ("official", "tolerant")


def build_group_scores(score: BenchmarkScore) -> pd.DataFrame:
    """The official groups: group, score (0 to 100, None where incomplete), weight (points of the
    overall score, None for a part of a group) and missing, a tuple of what was not measured.

    Empty for a benchmark without groups.
    """
    return pd.DataFrame(
        [
            {
                "group": name,
                "score": score.groups[name],
                "weight": OVERALL_WEIGHTS.get(name),
                "missing": ()
                if score.groups[name] is not None
                else _find_missing_parts(name, score),
            }
            for name in _ORDER
            if name in score.groups
        ],
        columns=["group", "score", "weight", "missing"],
        dtype=object,
    )


def build_patch_measures(score: BenchmarkScore) -> pd.DataFrame:
    """How patches look without being tested: measure and value (0 to 100, None where nothing was
    looked at). They rank nothing. Empty for a benchmark without patches.
    """
    records = [
        {"measure": name, "value": score.groups[name]} for name in _MEASURES if name in score.groups
    ]
    return pd.DataFrame(records, columns=["measure", "value"], dtype=object)


def build_pass_k(score: BenchmarkScore) -> pd.DataFrame:
    """pass^k of a benchmark that reports it: k, value, low and high (a 95 % interval), idle (the
    score of doing nothing) and adjusted; 0 to 100, None where not known.

    Empty for any other benchmark.
    """
    group_scores = score.groups
    tries = sorted(
        int(name[5:]) for name in group_scores if name[:5] == "pass^" and name[5:].isdecimal()
    )
    return pd.DataFrame(
        [
            {
                "k": k,
                "value": group_scores[f"pass^{k}"],
                "low": group_scores.get(f"pass^{k}.low"),
                "high": group_scores.get(f"pass^{k}.high"),
                "idle": group_scores.get("p0"),
                "adjusted": group_scores.get("adjusted" if k == 1 else f"adjusted^{k}"),
            }
            for k in tries
        ],
        columns=["k", "value", "low", "high", "idle", "adjusted"],
        dtype=object,
    )


def _find_missing_parts(group: str, score: BenchmarkScore) -> tuple[str, ...]:
    """The groups below it without a score, else its categories without a case."""
    composites: Mapping[str, Mapping[str, int]] = {
        "overall": OVERALL_WEIGHTS,
        "single_turn": SINGLE_TURN_WEIGHTS,
    }
    weights = composites.get(group)
    members = tuple(weights) if weights else GROUPS[group].members if group in GROUPS else ()
    gaps = (name for name in members if not _is_measured(name, score))
    return tuple(
        part
        for name in gaps
        for part in (
            _find_missing_parts(name, score) if name in GROUPS and name not in _ORDER else (name,)
        )
    )


def _is_measured(name: str, score: BenchmarkScore) -> bool:
    if name in score.groups:
        return score.groups[name] is not None
    return name in score.metrics and score.metrics[name].samples > 0


def build_alternate_scores(views: Mapping[str, float], score: float | None) -> pd.DataFrame:
    """The same answers under other rules: view, score (0 to 100), difference to the board's score.

    Empty where there are fewer than two, or nothing was measured.
    """
    names = sorted(views, key=lambda name: (_view_position(name), name))
    return pd.DataFrame(
        [
            {"view": name, "score": views[name], "difference": views[name] - score}
            for name in names
            if len(names) > 1 and score is not None
        ],
        columns=["view", "score", "difference"],
    )


def _view_position(view: str) -> int:
    return _READINGS.index(view) if view in _READINGS else len(_READINGS)


def lost_to_format(views: Mapping[str, float]) -> float | None:
    """Points lost because right calls could not be read as officially, None where unknown."""
    official, tolerant = _FORMAT
    if official not in views or tolerant not in views:
        return None
    return views[tolerant] - views[official]

"""The categories of BFCL v4: names, languages, groups, weights, and the overall score they add
up to.

A group is scored only if every category of it was measured; what is missing is named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from evalcore.benchmarks.answer_scoring import Language
from evalcore.records import Record, Sample

NON_LIVE = (
    *("simple_python", "simple_java", "simple_javascript"),
    *("multiple", "parallel", "parallel_multiple", "irrelevance"),
)
LIVE = (
    *("live_simple", "live_multiple", "live_parallel", "live_parallel_multiple"),
    *("live_irrelevance", "live_relevance"),
)
SINGLE_TURN = NON_LIVE + LIVE
MULTI_TURN = (
    "multi_turn_base",
    "multi_turn_miss_func",
    "multi_turn_miss_param",
    "multi_turn_long_context",
)

MEMORY = ("memory_kv", "memory_vector", "memory_rec_sum")
WEB_SEARCH = ("web_search_base", "web_search_no_snippet")
AGENTIC = MEMORY + WEB_SEARCH
#: Categories that have one file of questions, by what it is called.
SHARED_FILES = {"memory": MEMORY, "web_search": WEB_SEARCH}
CATEGORIES = (*SINGLE_TURN, *MULTI_TURN, *AGENTIC)

#: Categories that ask whether there is a call at all; they have no answer file.
DECODE_ONLY = ("irrelevance", "live_irrelevance", "live_relevance")

#: What the v3 files (the Hub's) and v3 readers call a category of today.
V3_ALIASES = {"simple": "simple_python", "java": "simple_java", "javascript": "simple_javascript"}


def to_v4_category(name: str) -> str:
    """The v4 name of a category given by its v4 or v3 name; other names come back unchanged."""
    return V3_ALIASES.get(name, name)


def find_category_language(category: str) -> Language:
    """The language whose literals the answers of a category are written in."""
    if "javascript" in category:
        return "javascript"
    return "java" if "java" in category else "python"


def category_from_id(sample_id: str) -> str | None:
    """The category that an official id begins with (`live_simple_0-0-0`, v3's `java_12`)."""
    categories = (*CATEGORIES, *V3_ALIASES)
    fitting = [name for name in categories if sample_id.startswith(f"{name}_")]
    return to_v4_category(max(fitting, key=len)) if fitting else None


# The v4 leaderboard. A group is scored only if every category of it was measured; what is missing
# is named, never counted as 0. Relevance and format sensitivity are shown upstream, not counted.

_Mean = Literal["plain", "by_count"]


class Tally(Record, frozen=True):
    """What was measured of a category: the sum of the scores (0 to 1 each) and their number."""

    right: float
    total: int


class Group(Record, frozen=True):
    """A named mean of categories or of other groups."""

    members: tuple[str, ...]
    mean: _Mean = "plain"


class GroupScore(Record, frozen=True):
    """`score` is 0 to 100, None if a category is missing; `missing` names the missing ones."""

    score: float | None
    missing: tuple[str, ...] = ()


#: Upstream's groups; a member is a category or another group.
GROUPS: MappingProxyType[str, Group] = MappingProxyType(
    {
        "simple": Group(("simple_python", "simple_java", "simple_javascript")),
        "non_live": Group(("simple", "multiple", "parallel", "parallel_multiple")),
        "live": Group(tuple(name for name in LIVE if name not in DECODE_ONLY), "by_count"),
        "hallucination": Group(("irrelevance", "live_irrelevance")),
        "multi_turn": Group(MULTI_TURN),
        "web_search": Group(("web_search_base", "web_search_no_snippet")),
        "memory": Group(("memory_kv", "memory_vector", "memory_rec_sum")),
        "agentic": Group(("web_search", "memory")),
    }
)

#: The overall score of v4: percentages of five groups.
OVERALL_WEIGHTS: MappingProxyType[str, int] = MappingProxyType(
    {"non_live": 10, "live": 10, "hallucination": 10, "multi_turn": 30, "agentic": 40}
)

#: The single-turn composite: the three single-turn groups in the proportions of the overall score.
SINGLE_TURN_WEIGHTS: MappingProxyType[str, int] = MappingProxyType(
    {"non_live": 10, "live": 10, "hallucination": 10}
)


def group_scores(tallies: Mapping[str, Tally]) -> dict[str, GroupScore]:
    """The score of every group, of `single_turn` and of `overall`, from what was measured.
    `tallies` is by v4 category; one without samples is missing."""
    scores = {name: _score_group(name, tallies) for name in GROUPS}
    scores["single_turn"] = _compute_weighted_score(SINGLE_TURN_WEIGHTS, scores)
    scores["overall"] = _compute_weighted_score(OVERALL_WEIGHTS, scores)
    return scores


def _score_group(name: str, tallies: Mapping[str, Tally]) -> GroupScore:
    group = GROUPS.get(name)
    if group is None:
        tally = tallies.get(name)
        if tally is None or not tally.total:
            return GroupScore(None, (name,))
        return GroupScore(100 * tally.right / tally.total)
    parts = [_score_group(member, tallies) for member in group.members]
    scores = [part.score for part in parts if part.score is not None]
    if len(scores) < len(parts):
        return GroupScore(None, tuple(missing for part in parts for missing in part.missing))
    if group.mean == "plain":
        return GroupScore(sum(scores) / len(scores))
    counts = [tallies[member].total for member in group.members]
    weighted = sum(score * count for score, count in zip(scores, counts, strict=True))
    return GroupScore(weighted / sum(counts))


def _compute_weighted_score(
    weights: Mapping[str, int], scores: Mapping[str, GroupScore]
) -> GroupScore:
    missing = tuple(gap for name in weights for gap in scores[name].missing)
    if missing:
        return GroupScore(None, missing)
    total = sum(weight * (scores[name].score or 0.0) for name, weight in weights.items())
    return GroupScore(total / sum(weights.values()))


# What one entry of a category weighs, so that the score of a run is the official v4 mean.
# Officially categories are averaged in groups: plainly, but for the live ones, which are pooled by
# their number of entries. A sum over entries gives the same number if each of a category weighs the
# category's points over its number, and each live one the points of all live over theirs.

_POOLED = GROUPS["live"].members


def compute_entry_weights(
    samples: Sequence[Sample], points: Mapping[str, float]
) -> dict[str, float]:
    """The weight of an entry by category, from the points of each category. Where a category has no
    entries its points are left out: what is missing is not 0."""
    counts = Counter(sample.metric for sample in samples)
    weights = {name: points[name] / counts[name] for name in points if counts[name]}
    pooled = [name for name in _POOLED if name in weights]
    if pooled:
        entries = sum(counts[name] for name in pooled)
        share = sum(points[name] for name in pooled) / entries
        weights |= dict.fromkeys(pooled, share)
    return weights

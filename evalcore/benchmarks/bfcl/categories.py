"""The categories of BFCL v4: their names, languages, groups and the names they had in v3."""

from __future__ import annotations

from typing import Literal

Language = Literal["python", "java", "javascript"]

NON_LIVE = (
    "simple_python",
    "simple_java",
    "simple_javascript",
    "multiple",
    "parallel",
    "parallel_multiple",
    "irrelevance",
)
LIVE = (
    "live_simple",
    "live_multiple",
    "live_parallel",
    "live_parallel_multiple",
    "live_irrelevance",
    "live_relevance",
)
SINGLE_TURN = NON_LIVE + LIVE
MULTI_TURN = (
    "multi_turn_base",
    "multi_turn_miss_func",
    "multi_turn_miss_param",
    "multi_turn_long_context",
)
AGENTIC = (
    "web_search_base",
    "web_search_no_snippet",
    "memory_kv",
    "memory_vector",
    "memory_rec_sum",
)

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
    categories = (*SINGLE_TURN, *MULTI_TURN, *V3_ALIASES)
    fitting = [name for name in categories if sample_id.startswith(f"{name}_")]
    return to_v4_category(max(fitting, key=len)) if fitting else None

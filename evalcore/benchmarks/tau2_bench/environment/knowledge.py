"""Search in a knowledge base: by words, ranked as Okapi BM25 ranks, or by a pattern.

A pattern is taken as plain text, without regard to case: patterns of others may run without end.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from math import log

from evalcore.benchmarks.tau2_bench.environment.world import State, Tool, build_tool
from evalcore.benchmarks.tau_bench.environment.tools import text_schema

Document = Mapping[str, str]

_WORD = re.compile(r"\w+")
_K1, _B = 1.5, 0.75  # of Okapi BM25, as usual
_MAX_RESULTS = 10
_MAX_QUERY = 2_000


class KnowledgeBase:
    """Documents with id, title and content, and an index of their words."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self.documents = documents
        self._counts = [Counter(_split_words(_join_text(each))) for each in documents]
        self._lengths = [sum(counts.values()) for counts in self._counts]
        self._mean = sum(self._lengths) / max(len(documents), 1) or 1.0
        self._holding = Counter(word for counts in self._counts for word in counts)

    def search(self, query: str, limit: int = _MAX_RESULTS) -> list[tuple[Document, float]]:
        """The documents that fit a query best, with their scores, those without a word of it left
        out."""
        words = _split_words(query[:_MAX_QUERY])
        scores = [self._score(words, at) for at in range(len(self.documents))]
        ranked = sorted(range(len(scores)), key=lambda at: (-scores[at], at))
        return [(self.documents[at], scores[at]) for at in ranked[:limit] if scores[at] > 0]

    def _score(self, words: Sequence[str], at: int) -> float:
        counts, weight = self._counts[at], _K1 * (1 - _B + _B * self._lengths[at] / self._mean)
        score = 0.0
        for word in words:
            count, holding = counts.get(word, 0), self._holding.get(word, 0)
            if count:
                rarity = log(1 + (len(self.documents) - holding + 0.5) / (holding + 0.5))
                score += rarity * count * (_K1 + 1) / (count + weight)
        return score

    def grep(self, pattern: str, limit: int = _MAX_RESULTS) -> list[tuple[Document, float]]:
        """The documents that hold a text, and how often, most often first."""
        wanted = pattern[:_MAX_QUERY].lower()
        counts = [
            _join_text(each).lower().count(wanted) if wanted else 0 for each in self.documents
        ]
        ranked = sorted(range(len(counts)), key=lambda at: (-counts[at], at))
        return [(self.documents[at], float(counts[at])) for at in ranked[:limit] if counts[at]]


def _join_text(document: Document) -> str:
    return f"{document['title']}\n{document['content']}"


def _split_words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def build_search_tools(documents: Sequence[Document]) -> tuple[Tool, ...]:
    """The tools that search in some documents."""
    base = KnowledgeBase(documents)

    def KB_search(world: State, query: str) -> str:
        return _format_results(base.search(str(query)), "No relevant documents found.")

    def grep(world: State, pattern: str) -> str:
        none = f"No matches found for pattern: {str(pattern)[:200]}"
        return _format_results(base.grep(str(pattern)), none)

    schemas = {
        "query": text_schema("What is searched for, in words."),
        "pattern": text_schema("A text that the documents hold."),
    }
    return (
        build_tool(KB_search, "Search the documents of the bank by words.", schemas),
        build_tool(grep, "Find the documents of the bank that hold a text.", schemas),
    )


def _format_results(results: Sequence[tuple[Document, float]], none: str) -> str:
    parts = [
        f"{number}. {document['title']}\n   ID: {document['id']}\n   Score: {score:.4f}\n"
        f"   Content: {document['content']}\n"
        for number, (document, score) in enumerate(results, 1)
    ]
    return "\n".join(parts) if parts else none

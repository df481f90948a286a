"""The memories of BFCL's agentic entries: by key, by likeness of texts, and as one text.

Each keeps a short-term (core) and a long-term (archival) part, but for the last, which is one text.
Sizes, messages and the search by words are upstream's, so that a model sees the same. The search by
likeness is not: upstream embeds texts with a network, whose weights are not here. Its stand-in
counts the pieces of words that two texts share, and its scores compare with nothing else.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

_CORE_ENTRIES, _CORE_LENGTH = 7, 300
_ARCHIVAL_ENTRIES, _ARCHIVAL_LENGTH = 50, 2000
_SUMMARY_LENGTH = 10_000
_KEY = re.compile(r"^[a-z]+(_[a-z0-9]+)*$")

Answer = dict[str, Any]


class MemoryAPI_kv:
    """Entries by unique snake_case keys, found by key or by the words of keys."""

    def __init__(self) -> None:
        self.core_memory: dict[str, str] = {}
        self.archival_memory: dict[str, str] = {}

    def core_memory_add(self, key: str, value: str) -> Answer:
        full = "Core memory is full. Please clear some entries."
        if len(self.core_memory) >= _CORE_ENTRIES:
            return {"error": full}
        return _add_entry(self.core_memory, key, value, _CORE_LENGTH, "Key-value pair added.")

    def core_memory_remove(self, key: str) -> Answer:
        return _remove_entry(self.core_memory, key)

    def core_memory_replace(self, key: str, value: str) -> Answer:
        return _replace_entry(self.core_memory, key, value, _CORE_LENGTH)

    def core_memory_clear(self) -> Answer:
        self.core_memory = {}
        return {"status": "Short term memory cleared."}

    def core_memory_retrieve(self, key: str) -> Answer:
        return _read_entry(self.core_memory, key)

    def core_memory_list_keys(self) -> Answer:
        return {"keys": list(self.core_memory)}

    def core_memory_key_search(self, query: str, k: int = 5) -> Answer:
        return {"ranked_results": rank_by_words(query, list(self.core_memory))[:k]}

    def core_memory_retrieve_all(self) -> Answer:
        return self.core_memory

    def archival_memory_add(self, key: str, value: str) -> Answer:
        full = "Long term memory is full. Please clear some entries."
        if len(self.archival_memory) >= _ARCHIVAL_ENTRIES:
            return {"error": full}
        return _add_entry(self.archival_memory, key, value, _ARCHIVAL_LENGTH, "Key added.")

    def archival_memory_remove(self, key: str) -> Answer:
        return _remove_entry(self.archival_memory, key)

    def archival_memory_replace(self, key: str, value: str) -> Answer:
        return _replace_entry(self.archival_memory, key, value, _ARCHIVAL_LENGTH)

    def archival_memory_clear(self) -> Answer:
        self.archival_memory = {}
        return {"status": "Long term memory cleared."}

    def archival_memory_retrieve(self, key: str) -> Answer:
        return _read_entry(self.archival_memory, key)

    def archival_memory_list_keys(self) -> Answer:
        return {"keys": list(self.archival_memory)}

    def archival_memory_key_search(self, query: str, k: int = 5) -> Answer:
        return {"ranked_results": rank_by_words(query, list(self.archival_memory))[:k]}


def _add_entry(entries: dict[str, str], key: str, value: str, longest: int, done: str) -> Answer:
    key, value = str(key), str(value)
    if len(value) > longest:
        return {"error": _too_long("Entry is", longest)}
    if not _KEY.match(key):
        return {"error": "Key must be in snake_case format and cannot contain spaces."}
    if key in entries:
        return {"error": "Key name must be unique."}
    entries[key] = value
    return {"status": done}


def _remove_entry(entries: dict[str, str], key: str) -> Answer:
    if key not in entries:
        return {"error": "Key not found."}
    del entries[key]
    return {"status": "Key removed."}


def _replace_entry(entries: dict[str, str], key: str, value: str, longest: int) -> Answer:
    key, value = str(key), str(value)
    if key not in entries:
        return {"error": "Key not found."}
    if len(value) > longest:
        return {"error": _too_long("Entry is", longest)}
    entries[key] = value
    return {"status": "Key replaced."}


def _read_entry(entries: dict[str, str], key: str) -> Answer:
    return {"value": entries[key]} if key in entries else {"error": "Key not found."}


def _too_long(subject: str, longest: int, when: str = "") -> str:
    return f"{subject} too long{when}. Please shorten the entry to less than {longest} characters."


# The search by words: BM25+ with the constants of the package that upstream uses (k1 1.5, b 0.75,
# delta 1) over the words of keys. The sums run in its order, so that the last digit is the same.

_K1, _B, _DELTA = 1.5, 0.75, 1


def rank_by_words(query: str, keys: Sequence[str]) -> list[tuple[float, str]]:
    """Keys with their scores, the best first; equal ones as they stand. Raises ZeroDivisionError
    where there is no key, as upstream's search does."""
    words_by_key = [_split_words(key) for key in keys]
    counts = [Counter(words) for words in words_by_key]
    mean = sum(map(len, words_by_key)) / len(keys)
    holding = Counter(word for words in counts for word in words)
    scores = [0.0] * len(keys)
    for word in _split_words(query):
        weight = math.log((len(keys) + 1) / holding[word]) if word in holding else 0
        for number, words in enumerate(words_by_key):
            found = counts[number][word]
            share = found * (_K1 + 1) / (_K1 * (1 - _B + _B * len(words) / mean) + found)
            scores[number] += weight * (_DELTA + share)
    pairs = zip(scores, keys, strict=True)
    return sorted(pairs, key=lambda pair: pair[0], reverse=True)


def _split_words(text: str) -> list[str]:
    return text.replace("_", " ").lower().split()


class MemoryAPI_vector:
    """Texts by running numbers, found by likeness."""

    def __init__(self) -> None:
        self.core_memory = _TextStore(_CORE_ENTRIES, _CORE_LENGTH)
        self.archival_memory = _TextStore(_ARCHIVAL_ENTRIES, _ARCHIVAL_LENGTH)

    def core_memory_add(self, text: str) -> Answer:
        return self.core_memory.add(text)

    def core_memory_remove(self, vec_id: int) -> Answer:
        return self.core_memory.remove(vec_id)

    def core_memory_update(self, vec_id: int, new_text: str) -> Answer:
        return self.core_memory.update(vec_id, new_text)

    def core_memory_clear(self) -> Answer:
        return self.core_memory.clear()

    def core_memory_retrieve(self, query: str, top_k: int = 5) -> Answer:
        return {"result": self.core_memory.find_similar(query, top_k)}

    def core_memory_retrieve_all(self) -> Answer:
        return {"result": self.core_memory.list_all()}

    def archival_memory_add(self, text: str) -> Answer:
        return self.archival_memory.add(text)

    def archival_memory_remove(self, vec_id: int) -> Answer:
        return self.archival_memory.remove(vec_id)

    def archival_memory_update(self, vec_id: int, new_text: str) -> Answer:
        return self.archival_memory.update(vec_id, new_text)

    def archival_memory_clear(self) -> Answer:
        return self.archival_memory.clear()

    def archival_memory_retrieve(self, query: str, top_k: int = 5) -> Answer:
        return {"result": self.archival_memory.find_similar(query, top_k)}

    def archival_memory_retrieve_all(self) -> Answer:
        return {"result": self.archival_memory.list_all()}


class _TextStore:
    """Texts with numbers that are never used again until all are cleared."""

    def __init__(self, most: int, longest: int) -> None:
        self.most, self.longest = most, longest
        self.texts: dict[int, str] = {}
        self.next_id = 0

    def add(self, text: str) -> Answer:
        if len(text) > self.longest:
            return {"error": self._describe_length()}
        if len(self.texts) >= self.most:
            return {"error": f"Memory size exceeds maximum size of {self.most} entries."}
        number = self.next_id
        self.texts[number] = text
        self.next_id += 1
        return {"id": number}

    def remove(self, number: int) -> Answer:
        if number not in self.texts:
            return {"error": f"ID {number} not present in store."}
        del self.texts[number]
        return {"status": f"ID {number} removed from store."}

    def update(self, number: int, text: str) -> Answer:
        if number not in self.texts:
            return {"error": f"ID {number} not present in store."}
        if len(text) > self.longest:
            return {"error": self._describe_length()}
        self.texts[number] = text
        return {"status": f"ID {number} updated."}

    def clear(self) -> Answer:
        self.texts = {}
        self.next_id = 0
        return {"status": "Memory cleared."}

    def find_similar(self, query: str, top_k: int) -> list[Answer]:
        wanted = embed_text(query)
        scored = [
            {"id": number, "similarity_score": _multiply(wanted, embed_text(text)), "text": text}
            for number, text in self.texts.items()
        ]
        scored.sort(key=lambda row: -float(str(row["similarity_score"])))
        return scored[: max(top_k, 0)]

    def list_all(self) -> list[Answer]:
        return [{"id": number, "text": text} for number, text in self.texts.items()]

    def _describe_length(self) -> str:
        return f"Entry length exceeds maximum length of {self.longest} characters."


_DIMENSIONS = 512


def embed_text(text: str) -> dict[int, float]:
    """A vector of length 1 by dimension: words and their pieces of four letters, hashed."""
    counts: Counter[int] = Counter()
    for word in re.findall(r"[^\W_]+", text.lower()):
        pieces = [word, *(word[at : at + 4] for at in range(max(len(word) - 3, 0)))]
        for piece in pieces:
            digest = blake2b(piece.encode("utf-8", "surrogatepass"), digest_size=4).digest()
            counts[int.from_bytes(digest) % _DIMENSIONS] += 1
    length = math.sqrt(sum(count * count for count in counts.values())) or 1.0
    return {dimension: count / length for dimension, count in counts.items()}


def _multiply(left: dict[int, float], right: dict[int, float]) -> float:
    return round(sum(value * right.get(at, 0.0) for at, value in left.items()), 6)


class MemoryAPI_rec_sum:
    """One text that a model writes again and again."""

    def __init__(self) -> None:
        self.memory = ""

    def memory_append(self, text: str) -> Answer:
        text = str(text)
        if len(self.memory + text) > _SUMMARY_LENGTH:
            return {"error": _too_long("Entry will be", _SUMMARY_LENGTH, " after appending")}
        self.memory += text
        return {"status": "Memory appended."}

    def memory_update(self, text: str) -> Answer:
        text = str(text)
        if len(text) > _SUMMARY_LENGTH:
            return {"error": _too_long("Entry will be", _SUMMARY_LENGTH, " after updating")}
        self.memory = text
        return {"status": "Memory updated."}

    def memory_clear(self) -> Answer:
        self.memory = ""
        return {"status": "Short term memory cleared."}

    def memory_replace(self, old_text: str, new_text: str) -> Answer:
        old_text, new_text = str(old_text), str(new_text)
        if old_text not in self.memory:
            return {"error": f"Text '{old_text}' not found in memory."}
        if len(new_text) > _SUMMARY_LENGTH:
            return {"error": _too_long("Entry will be", _SUMMARY_LENGTH, " after replacing")}
        self.memory = self.memory.replace(old_text, new_text)
        return {"status": "Memory updated."}

    def memory_retrieve(self) -> Answer:
        return {"memory_content": self.memory} if self.memory else {"error": "Memory is empty."}

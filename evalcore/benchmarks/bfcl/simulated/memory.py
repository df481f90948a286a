"""The memories of BFCL's agentic entries: by key, by likeness of texts, and as one text.

Each keeps a short-term (core) and a long-term (archival) part, but for the last, which is one text.
Sizes, messages and the search by words are upstream's, so that a model sees the same. The search by
likeness is where upstream's network is to be had (`use_encoder`). Its stand-in counts the pieces of
words that two texts share, and its scores compare with nothing else.
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
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
        """The most similar texts, of equal ones the later first. Raises AssertionError for a
        `top_k` below 1. Both are as upstream's index does."""
        if not self.texts:
            return []
        count = min(top_k, len(self.texts))
        if not count > 0:
            raise AssertionError
        likeness = _compare[-1](query, list(self.texts.values()))
        scored = [
            {"id": number, "similarity_score": score, "text": text}
            for score, (number, text) in zip(likeness, self.texts.items(), strict=True)
        ]
        scored.sort(key=lambda row: (row["similarity_score"], row["id"]), reverse=True)
        return scored[:count]

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


def compare_pieces(query: str, texts: Sequence[str]) -> list[float]:
    """How alike each text is to the query, by the stand-in."""
    asked, stored = embed_text(query), map(embed_text, texts)
    return [
        round(sum(value * text.get(at, 0.0) for at, value in asked.items()), 6) for text in stored
    ]


#: How the texts of this process are compared with a query; the last one counts.
_compare: list[Callable[[str, Sequence[str]], list[float]]] = [compare_pieces]

#: The files of upstream's network, all-MiniLM-L6-v2, with their sha256.
ENCODER_FILES = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
_ENCODER_TOKENS = 256


def use_encoder(folder: Path) -> None:
    """Compare texts by upstream's network from now on: the mean of its vectors for a text's tokens,
    of length 1. Needs torch, and no file later."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # a locked process starts no thread
    import torch
    from safetensors.torch import load_file
    from tokenizers import Tokenizer
    from transformers import BertConfig, BertModel

    torch.set_num_threads(1)
    shape = BertConfig(
        hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536
    )
    network = BertModel(shape, add_pooling_layer=False).eval()
    weights = load_file(folder / "model.safetensors")
    missing = network.load_state_dict(weights, strict=False).missing_keys
    if missing:
        raise ValueError(f"model.safetensors lacks {missing[0]}")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(_ENCODER_TOKENS)
    tokenizer.no_padding()

    @lru_cache(maxsize=4096)
    def embed(text: str) -> torch.Tensor:
        tokens = torch.tensor([tokenizer.encode(text).ids])
        with torch.inference_mode():
            return torch.nn.functional.normalize(
                network(tokens).last_hidden_state.mean(dim=1), dim=1
            )[0]

    def compare(query: str, texts: Sequence[str]) -> list[float]:
        asked = embed(query)
        return [float(torch.dot(asked, embed(text))) for text in texts]

    compare("imports whatever is imported late", ["a text"])
    _compare.append(compare)


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

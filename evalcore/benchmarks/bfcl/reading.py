"""An answer to an entry, decoded at most once in each way, for all views that look at it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from evalcore.benchmarks.bfcl.categories import find_category_language
from evalcore.benchmarks.bfcl.decode import Call, DecodeError, decode_calls
from evalcore.benchmarks.bfcl.decode.tolerant import tolerant_calls
from evalcore.benchmarks.bfcl.entry import BfclEntry


@dataclass(frozen=True)
class DecodedAnswer:
    """`mode` is one of `decode_calls.MODES`; an answer that holds no calls reads as its
    DecodeError."""

    entry: BfclEntry
    answer: Any
    mode: str

    @cached_property
    def official_calls(self) -> list[Call] | DecodeError:
        """The calls as upstream decodes them."""
        try:
            return decode_calls(self.answer, self.mode)
        except DecodeError as error:
            return error

    @cached_property
    def tolerant_calls(self) -> list[Call] | DecodeError:
        """The calls that were meant."""
        entry = self.entry
        try:
            return tolerant_calls(
                self.answer, entry.functions, find_category_language(entry.category)
            )
        except DecodeError as error:
            return error

    @property
    def intended_calls(self) -> list[Call] | DecodeError:
        """The calls of either decoding, the tolerant one first."""
        return (
            self.official_calls
            if isinstance(self.tolerant_calls, DecodeError)
            else self.tolerant_calls
        )

"""An answer to an entry, decoded at most once in each way, for all views that look at it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from evalcore.benchmarks.bfcl.categories import language
from evalcore.benchmarks.bfcl.decode import Call, DecodeError, decode
from evalcore.benchmarks.bfcl.decode.tolerant import tolerant_calls
from evalcore.benchmarks.bfcl.entry import Entry


@dataclass(frozen=True)
class Reading:
    """`mode` is one of `decode.MODES`; an answer that holds no calls reads as its DecodeError."""

    entry: Entry
    answer: Any
    mode: str

    @cached_property
    def official(self) -> list[Call] | DecodeError:
        """The calls as upstream decodes them."""
        try:
            return decode(self.answer, self.mode)
        except DecodeError as error:
            return error

    @cached_property
    def tolerant(self) -> list[Call] | DecodeError:
        """The calls that were meant."""
        entry = self.entry
        try:
            return tolerant_calls(self.answer, entry.functions, language(entry.category))
        except DecodeError as error:
            return error

    @property
    def meant(self) -> list[Call] | DecodeError:
        """The calls of either decoding, the tolerant one first."""
        return self.official if isinstance(self.tolerant, DecodeError) else self.tolerant

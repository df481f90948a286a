"""Index advice: read from free text, created on a large database, and judged by its effect.

`reading` finds the statements or the sentence in an answer, `statement` takes one CREATE INDEX
apart and writes it anew from its parse tree, `check` creates indexes and compares the work.
"""

from evalcore.sqlkit.index_advice.check import Effect, Expectation, check_advice, check_sentence
from evalcore.sqlkit.index_advice.reading import Advice, read_advice
from evalcore.sqlkit.index_advice.statement import (
    AdvisedIndex,
    UnreadableIndex,
    build_index_ddl,
    qualify_index_table,
    read_index,
)

__all__ = [
    "Advice",
    "AdvisedIndex",
    "Effect",
    "Expectation",
    "UnreadableIndex",
    "build_index_ddl",
    "check_advice",
    "check_sentence",
    "qualify_index_table",
    "read_advice",
    "read_index",
]

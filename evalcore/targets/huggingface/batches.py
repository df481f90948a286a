"""Which of the waiting prompts join the model's next batch: pure arithmetic on lengths.

A batch is a rectangle: each of its rows takes as many places as the longest of them, prompt and new
tokens together. A `Budget` limits places and rows. Prompts of like length go together, the longest
first, so that little is padding and what does not fit fails early; prompts with the same beginning
go together where they fill a batch, for the beginning is then computed once; and whoever has been
passed over too often comes next, whatever its length.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from evalcore.records import Record, content_hash

#: Tokens of a common beginning from which on sharing it pays.
SHARED = 64
_PATIENCE = 16  # batches that may leave without a prompt before it comes first
#: New tokens that are counted ahead: most answers end long before their limit, and what grows
#: beyond is put back (`over`).
_RESERVED = 512


class Waiting(Record, frozen=True):
    """A prompt of `length` tokens with at most `max_new` to follow; `prefix` is equal for prompts
    that begin alike, `passed` counts the batches that left without it."""

    id: str
    length: int
    prefix: str = ""
    max_new: int = 0
    passed: int = 0

    @property
    def places(self) -> int:
        return self.length + min(self.max_new, _RESERVED)


class Budget(Record, frozen=True):
    """Limits of a batch: `tokens` places in all (rows times the longest row), and `rows`."""

    tokens: int
    rows: int

    def holds(self, rows: Sequence[Waiting]) -> bool:
        """Whether these may run together; one alone always may, else it would never."""
        return len(rows) <= 1 or (len(rows) <= self.rows and cost(rows) <= self.tokens)

    def halved(self, used: int) -> Budget:
        """Half of the `used` places that the memory did not hold."""
        return msgspec.structs.replace(self, tokens=max(1, min(self.tokens, used) // 2))


def cost(rows: Sequence[Waiting]) -> int:
    """Places that a batch of these takes."""
    return len(rows) * max((row.places for row in rows), default=0)


def prefix_of(ids: Sequence[int]) -> str:
    """Equal for prompts that share at least `SHARED` tokens at their beginning; empty if short."""
    return content_hash(list(ids[:SHARED])) if len(ids) > SHARED else ""


def next_batch(
    waiting: Sequence[Waiting], budget: Budget, running: Sequence[Waiting] = ()
) -> list[str]:
    """The ids of those that join the `running` rows now, at best none."""
    if not waiting:
        return []
    first = _first(waiting)
    chosen: list[Waiting] = []
    for candidate in _by_nearness(_companions(waiting, first, budget), first):
        if budget.holds([*running, *chosen, candidate]):
            chosen.append(candidate)
        elif candidate is first and first.passed >= _PATIENCE:
            return []  # its turn has come: nobody overtakes it
        if len(running) + len(chosen) >= budget.rows:
            break
    return [one.id for one in chosen]


def worth_joining(running: int, waiting: int, budget: Budget) -> bool:
    """Whether to look for rows to add: each joining copies the batch, so not for single rows while
    many run."""
    room = budget.rows - running
    return waiting > 0 and room > 0 and (not running or room >= min(waiting, budget.rows // 4 or 1))


def over(running: Sequence[Waiting], budget: Budget) -> list[str]:
    """The rows to put back, the latest first, where answers grew beyond the budget."""
    kept = list(running)
    put_back: list[str] = []
    while not budget.holds([msgspec.structs.replace(row, max_new=0) for row in kept]):
        put_back.append(kept.pop().id)
    return put_back


def _first(waiting: Sequence[Waiting]) -> Waiting:
    """Who must be in the batch: the one passed over too often, else the longest."""
    oldest = max(waiting, key=lambda one: one.passed)
    return oldest if oldest.passed >= _PATIENCE else max(waiting, key=lambda one: one.places)


def _companions(waiting: Sequence[Waiting], first: Waiting, budget: Budget) -> list[Waiting]:
    """Those that begin alike where they fill at least half of a batch, else all."""
    alike = [one for one in waiting if first.prefix and one.prefix == first.prefix]
    enough = 2 * len(alike) >= min(budget.rows, len(waiting))
    return alike if enough else list(waiting)


def _by_nearness(candidates: list[Waiting], first: Waiting) -> list[Waiting]:
    rest = [one for one in candidates if one is not first]
    return [first, *sorted(rest, key=lambda one: abs(one.places - first.places))]

"""Which of the waiting prompts join the model's next batch: pure arithmetic on lengths.

A batch is a rectangle: each of its rows takes as many places as the longest of them, prompt and new
tokens together. A `BatchBudget` limits places and rows. Prompts of like length go together, the
longest first, so that little is padding and what does not fit fails early; prompts with the same
beginning go together where they fill a batch, for the beginning is then computed once; and whoever
has been passed over too often comes next, whatever its length.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from evalcore.records import Record, content_hash

#: Tokens of a common beginning from which on sharing it pays.
MIN_SHARED_TOKENS = 64
_MAX_PASSED_BATCHES = 16  # batches that may leave without a prompt before it comes first
#: New tokens that are counted ahead: most answers end long before their limit, and what grows
#: beyond is put back (`select_overgrown_rows`).
_RESERVED_TOKENS = 512


class WaitingPrompt(Record, frozen=True):
    """A prompt of `length` tokens with at most `max_new` to follow; `prefix` is equal for prompts
    that begin alike, `passed` counts the batches that left without it."""

    id: str
    length: int
    prefix: str = ""
    max_new: int = 0
    passed: int = 0

    @property
    def reserved_length(self) -> int:
        return self.length + min(self.max_new, _RESERVED_TOKENS)


class BatchBudget(Record, frozen=True):
    """Limits of a batch: `tokens` places in all (rows times the longest row), and `rows`."""

    tokens: int
    rows: int

    def can_hold(self, rows: Sequence[WaitingPrompt]) -> bool:
        """Whether these may run together; a single one always may, or it would never run."""
        return len(rows) <= 1 or (
            len(rows) <= self.rows and count_batch_tokens(rows) <= self.tokens
        )

    def halve_tokens(self, used: int) -> BatchBudget:
        """Half of the `used` places that the memory did not hold."""
        return msgspec.structs.replace(self, tokens=max(1, min(self.tokens, used) // 2))


def count_batch_tokens(rows: Sequence[WaitingPrompt]) -> int:
    return len(rows) * max((row.reserved_length for row in rows), default=0)


def hash_prefix(ids: Sequence[int]) -> str:
    """Equal for prompts that share at least `MIN_SHARED_TOKENS` tokens at their beginning; empty
    if short."""
    return content_hash(list(ids[:MIN_SHARED_TOKENS])) if len(ids) > MIN_SHARED_TOKENS else ""


def select_next_batch(
    waiting: Sequence[WaitingPrompt], budget: BatchBudget, running: Sequence[WaitingPrompt] = ()
) -> list[str]:
    """The ids of those that join the `running` rows now, at best none."""
    if not waiting:
        return []
    first = _select_first_prompt(waiting)
    chosen: list[WaitingPrompt] = []
    for candidate in _sort_by_length_distance(_select_companions(waiting, first, budget), first):
        if budget.can_hold([*running, *chosen, candidate]):
            chosen.append(candidate)
        elif candidate is first and first.passed >= _MAX_PASSED_BATCHES:
            return []  # its turn has come: nobody overtakes it
        if len(running) + len(chosen) >= budget.rows:
            break
    return [prompt.id for prompt in chosen]


def is_joining_worthwhile(running: int, waiting: int, budget: BatchBudget) -> bool:
    """Whether to look for rows to add: each joining copies the batch, so not for single rows while
    many run."""
    room = budget.rows - running
    return waiting > 0 and room > 0 and (not running or room >= min(waiting, budget.rows // 4 or 1))


def select_overgrown_rows(running: Sequence[WaitingPrompt], budget: BatchBudget) -> list[str]:
    """The rows to put back, the latest first, where answers grew beyond the budget."""
    remaining = list(running)
    put_back: list[str] = []
    while not budget.can_hold([msgspec.structs.replace(row, max_new=0) for row in remaining]):
        put_back.append(remaining.pop().id)
    return put_back


def _select_first_prompt(waiting: Sequence[WaitingPrompt]) -> WaitingPrompt:
    """Who must be in the batch: the one passed over too often, else the longest."""
    oldest = max(waiting, key=lambda prompt: prompt.passed)
    if oldest.passed >= _MAX_PASSED_BATCHES:
        return oldest
    return max(waiting, key=lambda prompt: prompt.reserved_length)


def _select_companions(
    waiting: Sequence[WaitingPrompt], first: WaitingPrompt, budget: BatchBudget
) -> list[WaitingPrompt]:
    """Those that begin alike where they fill at least half of a batch, else all."""
    alike = [prompt for prompt in waiting if first.prefix and prompt.prefix == first.prefix]
    enough = 2 * len(alike) >= min(budget.rows, len(waiting))
    return alike if enough else list(waiting)


def _sort_by_length_distance(
    candidates: list[WaitingPrompt], first: WaitingPrompt
) -> list[WaitingPrompt]:
    rest = [prompt for prompt in candidates if prompt is not first]
    rest.sort(key=lambda prompt: abs(prompt.reserved_length - first.reserved_length))
    return [first, *rest]

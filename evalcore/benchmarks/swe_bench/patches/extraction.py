"""The official way of taking a patch out of a reply, traps included.

Source of the rules: `extract_diff` of swebench 5.0.2. Candidates are what stands between a pair of
equal tags, then what stands in a fence. The first one labelled `diff` or `patch` is the patch, else
the first of any label, else the reply up to `</s>`. So a draft before the final patch wins, and so
does any tag of prose where no label fits. `patch_repair` does better; this is the measure.

Here both searches take linear time: where each name is closed is looked up in advance.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

_LABELS = frozenset({"diff", "patch"})
_OPENING = re.compile(r"<([\w-]+)>")
_CLOSING = re.compile(r"</([\w-]+)>")
_FENCE = re.compile(r"```(\w+)?\n")


def extract_official_patch(text: str) -> str:
    """The patch that the official extraction finds in `text`; text of any kind if there is none."""
    candidates = [*_iter_tagged_bodies(text), *_iter_fenced_bodies(text)]
    labelled = next((body for label, body in candidates if label in _LABELS), None)
    if labelled is not None:
        return labelled
    return candidates[0][1] if candidates else text.split("</s>")[0]


def _iter_tagged_bodies(text: str) -> Iterator[tuple[str, str]]:
    """(name, content) of pairs of equal tags that do not lie in one another, in order."""
    closings: dict[str, list[int]] = {}
    for closing in _CLOSING.finditer(text):
        closings.setdefault(closing[1], []).append(closing.start())
    passed = 0
    for opening in _OPENING.finditer(text):
        if opening.start() < passed:
            continue
        positions = closings.get(opening[1], [])
        nearest = bisect_left(positions, opening.end())
        if nearest < len(positions):
            end = positions[nearest]
            passed = end + len(opening[1]) + len("</>")
            yield opening[1], text[opening.end() : end]


def _iter_fenced_bodies(text: str) -> Iterator[tuple[str, str]]:
    """(language, content) of closed fences, in order."""
    at = 0
    while opening := _FENCE.search(text, at):
        end = text.find("```", opening.end())
        if end < 0:
            return
        at = end + len("```")
        yield opening[1] or "", text[opening.end() : end]

"""What readers of free answers share: reasoning cut away and code fences found, in linear time."""

from __future__ import annotations

import re
from typing import Literal

from evalcore.records import Episode

#: strict: the answer as it was asked for; lenient: it had to be found; none: there is none.
ExtractionKind = Literal["strict", "lenient", "none"]

LIMIT = 200_000  # characters searched after the reasoning; of longer answers the end
_REASONING_TAG = re.compile(r"<(/?)(?:think|thinking|reasoning)>", re.I)
_FENCE = "```"
_LANGUAGE = re.compile(r"[A-Za-z0-9_+-]*[ \t]*\n?")

#: Why nothing was found in an answer, as a sentence.
NOTES = {
    "empty": "The answer is empty.",
    "token_limit": "The answer was cut off by the token limit before it was complete.",
    "content_filter": "The provider withheld the answer.",
    "context_overflow": "The prompt does not fit into the model's context.",
    "format": "Nothing of the requested form was found in the answer.",
}
_BY_FINISH = {
    "length": "token_limit",
    "content_filter": "content_filter",
    "context_overflow": "context_overflow",
}


def no_answer_reason(episode: Episode) -> str:
    """The word for why nothing was found in an answer: a key of `NOTES`."""
    by_text = "format" if episode.answer.strip() else "empty"
    return _BY_FINISH.get(episode.finish_reason, by_text)


def strip_reasoning(text: str) -> str:
    """Without closed blocks; where the opening tag is missing, all before the end is reasoning."""
    visible_parts: list[str] = []
    start, opened = 0, -1
    for tag in _REASONING_TAG.finditer(text):
        if not tag[1]:
            opened = tag.start() if opened < 0 else opened
            continue
        if opened < 0:
            visible_parts.clear()
        else:
            visible_parts.append(text[start:opened])
        start, opened = tag.end(), -1
    return "".join([*visible_parts, text[start:]])


def extract_code_blocks(text: str) -> list[str]:
    """What stands between pairs of code fences, without the name of the language."""
    parts = text.split(_FENCE)
    inside = parts[1:-1:2]  # what follows the last mark is closed by none
    return [_LANGUAGE.sub("", block, count=1).strip() for block in inside]

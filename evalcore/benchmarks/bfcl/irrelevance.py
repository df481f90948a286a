"""What an answer did where no function fits: upstream counts all but a readable call as right.

The four kinds keep apart what upstream adds up: a real abstention, an answer that tried a call
which upstream cannot read, and no answer at all.
"""

from __future__ import annotations

import re
from typing import Any, Literal

from evalcore.benchmarks.bfcl.decode.tolerant import build_signatures, strip_hidden_text
from evalcore.benchmarks.bfcl.entry import BfclEntry
from evalcore.benchmarks.bfcl.reading import DecodedAnswer

AbstentionKind = Literal["call", "malformed", "empty", "abstained"]

#: How upstream stores a failed request, as if it were the model's answer; it must not be scored.
INFRASTRUCTURE_PREFIX = "Error during inference:"

_MARKS = re.compile(
    r"<tool_?calls?>|\[TOOL_CALLS\]|<\|python_tag\|>|<function"
    r"|\"(?:name|function)\"\s*:\s*[\"{]|\w\(\s*[A-Za-z_]\w*\s*=(?!=)",
    re.I,
)


def is_infrastructure_error(answer: Any) -> bool:
    """Whether an imported answer is upstream's record of a failed request, not a model's text."""
    return isinstance(answer, str) and answer.lstrip().startswith(INFRASTRUCTURE_PREFIX)


def classify_abstention(reading: DecodedAnswer) -> AbstentionKind:
    """What the answer did: `call` if either decoding reads one, `malformed` if one was tried.

    An explicit empty list is an abstention; `empty` is no text and no tool calls, or text that is
    nothing but reasoning. A function's name in a sentence is no call.
    """
    for calls in (reading.official_calls, reading.tolerant_calls):
        if isinstance(calls, list) and calls:
            return "call"
    answer = reading.answer
    if isinstance(answer, str):
        text = strip_hidden_text(answer)
        if not text:
            return "empty"
        return "malformed" if _is_attempted_call(text, reading.entry) else "abstained"
    return "malformed" if answer else "empty"


def _is_attempted_call(text: str, entry: BfclEntry) -> bool:
    bare = text.strip("` \n")
    if bare != "[]" and bare.startswith(("[", "{")):
        return True
    if _MARKS.search(text):
        return True
    names = (re.escape(name) for name in build_signatures(entry.functions) if name)
    called = re.compile(rf"(?<![\w.])(?:{'|'.join(names) or '(?!)'})\s*\(\s*[\w\"'\[{{]")
    return called.search(text) is not None

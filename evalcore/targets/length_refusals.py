"""What a server means that refuses a request for its length: the prompt, or the limit we asked for.

Servers check prompt and limit of the answer together, so that "maximum context length" in a refusal
may speak of our `max_tokens`. It is the model's own overflow only where the prompt alone does not
fit. Words as OpenAI, Azure, vLLM, SGLang, TGI, llama.cpp, LM Studio, Anthropic, DeepSeek, DashScope
and Mistral write them; pure functions over text.
"""

from __future__ import annotations

import re
from typing import Literal

from evalcore.records import Record

_STATUSES = (400, 413, 422, 500)
_OVERFLOW = re.compile(
    r"(?i)context[_ ]length[_ ]exceeded|maximum context length|max(imum)?[_ ]model[_ ]len"
    r"|exceeds? the (available |model'?s )?(maximum )?context|prompt is too long"
    r"|context (window|size|length)[^.]{0,40}(exceed|too small|limit)"
    r"|exceed context limit|when context the overflows|`inputs` (tokens|must have less)"
    r"|longer than the maximum model length"
)
_NUMBER = r"([0-9][0-9,_]{0,15})"
_NAMES_LIMIT = re.compile(r"(?i)max_?(completion_|new_|output_)?tokens|in the completion")
_CONTEXT = (
    r"maximum context length (?:is|of) {n}",
    r"{n} maximum context length",
    r"maximum model length of {n}",
    r"max_new_tokens` must be <= {n}",
    r"{n} \+ [0-9]+ > (?P<m>[0-9]+)",
    r"too long: [0-9]+ tokens > {n}",
    r"available context size \({n}",
)
_PROMPT = (
    r"your (?:messages|prompt|input)s? (?:resulted in|contains?)(?: at least)? {n}",
    r"request has {n} input tokens",
    r"{n} tokens from the input messages",
    r"given: {n} `inputs`",
    r"too long: {n} tokens >",
    r"prompt \(length {n}\)",
    r"prompt contains {n} tokens",
    r"{n} \+ [0-9]+ > [0-9]+",
    r"request \({n} tokens\)",
)
_TOTAL = (r"you requested(?: a total of)? {n} tokens",)
_ANSWER = (
    r"{n} in the completion",
    r"{n} tokens for the completion",
    r"{n} `max_new_tokens`",
)
#: The most that an answer of the model may have, whatever the prompt is.
_OUTPUT_LIMIT = (
    r"at most {n} (?:completion|output) tokens",
    r"max_tokens(?: value)?[^.\[]{0,40}\[1, ?{n}\]",
    r"max_(?:completion_)?tokens`?:? must be (?:less than or equal to|at most|<=) `?{n}",
    r"max_tokens: [0-9]+ > {n}, which is the maximum",
)


class LengthRefusal(Record, frozen=True):
    """`overflow`: the prompt alone does not fit. `lower`: `max_tokens` tokens may be asked for,
    `lasting` where that holds for every request. `limit`: ours, and it does not say what would fit.
    """

    kind: Literal["overflow", "lower", "limit"]
    max_tokens: int = 0
    lasting: bool = False


def read_length_refusal(
    status: int | None, text: str, limit: int | None = None
) -> LengthRefusal | None:
    """Read a refusal, None where it is about something else; `limit` is the sent max_tokens."""
    if status not in _STATUSES:
        return None
    max_tokens = _find_number(_OUTPUT_LIMIT, text)
    if max_tokens:
        return LengthRefusal("lower", max_tokens, lasting=True)
    if not _OVERFLOW.search(text):
        return None
    context, prompt = _find_number(_CONTEXT, text), _prompt_tokens(text, limit)
    if context is not None and prompt is not None:
        left = context - prompt
        return LengthRefusal("lower", left) if left > 0 else LengthRefusal("overflow")
    if limit is not None and prompt is None and _NAMES_LIMIT.search(text):
        return LengthRefusal("limit")
    return LengthRefusal("overflow")


def _prompt_tokens(text: str, limit: int | None) -> int | None:
    total = _find_number(_TOTAL, text)
    answer = _find_number(_ANSWER, text)
    if total is not None and (answer or limit) is not None:
        return max(0, total - (answer or limit or 0))
    return _find_number(_PROMPT, text)


def _find_number(forms: tuple[str, ...], text: str) -> int | None:
    for form in forms:
        match = re.search("(?i)" + form.replace("{n}", _NUMBER), text)
        if match:
            digits = match.groupdict().get("m") or match[1]
            return int(digits.replace(",", "").replace("_", ""))
    return None

"""What a server means that refuses a request for its length.

Servers check prompt and limit of the answer together, so that "maximum context length" in a
refusal may speak of our `max_tokens`. It is the model's own overflow only where the prompt alone
does not fit. Words as OpenAI, Azure, Bedrock, vLLM, SGLang, TGI, llama.cpp, LM Studio, LiteLLM,
Anthropic, Cohere, DeepSeek, DashScope, Mistral, Moonshot, SiliconFlow, Volcengine, watsonx and
Zhipu write them; pure functions over text.
"""

from __future__ import annotations

import re
from typing import Literal

from evalcore.records import Record
from evalcore.targets.failures import TOO_LARGE_FOR_RATE, provider_message

_STATUSES = (400, 413, 416, 422, 500)
_OVERFLOW = re.compile(
    r"(?i)context[_ ]length[_ ]exceeded|maximum context length|max(imum)?[_ ]model[_ ]len"
    r"|context ?window ?exceeded|exceeds? (the )?(available |model'?s )?(maximum )?context"
    r"|(prompt|input) is too long|range of input length should|exceeded model token limit"
    r"|(prompt|message) tokens[^.]{0,20}must be less than|prompt_tokens \([0-9]+\) must be less"
    r"|exceeds? max(imum)? (message|prompt|input)[_ ](tokens|length)"
    r"|\b(prompt|input|messages?|conversation)( length)? exceeds? (the )?max(imum)?[_ ]"
    r"(tokens|length)"
    r"|tokens? (in|of) the (prompt|input) cannot exceed|input tokens[^.]{0,40}\bexceed"
    r"|context (window|size|length)[^.]{0,40}(exceed|too small|limit)"
    r"|exceed context limit|when context the overflows|`inputs` (tokens|must have less)"
    r"|longer than the (maximum model|model'?s context) length|maximum prompt length"
    r"|reduce the length of the (messages|prompt|input)|max_tokens must be at least 1, got -"
    r"|(prompt|input) (tokens?|length|token count)[^.]{0,40}(too long|\bexceeds?\b)"
    r"|input token count[^.]{0,40}exceeds the maximum|too large for \S+ model\. max size: \d+ tok"
    r"|prompt ?超长|(输入|上下文|prompt)[^。]{0,6}(长度|token)[^。]{0,20}(超过|超出|过长)"
)
_NUMBER = r"([0-9][0-9,_]{0,15})"
_NAMES_LIMIT = re.compile(
    r"(?i)max_?(completion_|new_|output_)?tokens|in the completion|model token limit"
    r"|messages or completion"
)
#: vLLM, where the prompt leaves less than nothing.
_NO_ROOM = "max_tokens must be at least 1, got -"
_NAMES_PROMPT = re.compile(r"(?i)messages or completion|model token limit|\b(prompt|input)\b")
_CONTEXT = (
    r"maximum context length (?:is|of) {n}",
    r"{n} maximum context length",
    r"maximum model length of {n}",
    r"max_new_tokens` must be <= {n}",
    r"{n} \+ [0-9]+ > (?P<m>[0-9]+)",
    r"too long: [0-9]+ tokens > {n}",
    r"available context size \({n}",
    r"model's context length \({n}",
    r"configured limit of {n}",
    r"less than max_seq_len \({n}",
    r"prompt cannot exceed {n}",
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
    r"(?:request|input) \({n} tokens\)",
    r"prompt_tokens \({n}\)",
    r"\breceived {n}",
)
_TOTAL = (r"you requested(?: a total of| about)? {n} tokens",)
_ANSWER = (
    r"{n} in the (?:completion|output)",
    r"{n} tokens for the completion",
    r"{n} `max_new_tokens`",
)
#: The most that an answer of the model may have, whatever the prompt is.
_OUTPUT_LIMIT = (
    r"at most {n} (?:completion|output) tokens",
    r"max_tokens(?: value)?[^.\[]{0,40}\[1, ?{n}\]",
    r"max_(?:completion_)?tokens`?:? must be (?:less than or equal to|at most|<=) `?{n}",
    r"max_tokens: [0-9]+ > {n}, which is the maximum",
    r"from 1 \(inclusive\) to {n} \(exclusive\)",
    r"tokens you requested exceeds the model limit of {n}",
    r"max_(?:completion_|output_)?tokens is limited[^.0-9]{0,40}{n}",
    r"(?<!\+ )(?<!\+ `)max_(?:completion_|output_|new_)?tokens\b[^.0-9]{0,60}"
    r"(?:<=|at most|less than or equal to|not exceed) `?{n}",
)


class LengthRefusal(Record, frozen=True):
    """`overflow`: the prompt alone does not fit. `lower`: `max_tokens` tokens may be asked for,
    `lasting` where that holds for every request. Where nothing says what would fit: `limit` is
    ours, `either` the prompt or our limit."""

    kind: Literal["overflow", "lower", "limit", "either"]
    max_tokens: int = 0
    lasting: bool = False


def read_length_refusal(
    status: int | None, text: str, limit: int | None = None
) -> LengthRefusal | None:
    """Read a refusal, None where it is about something else; `limit` is the sent max_tokens."""
    if status not in _STATUSES or TOO_LARGE_FOR_RATE.search(text):
        return None
    if "\\u" in text:  # letters that JSON escapes
        text = f"{text} {provider_message(text)}"
    max_tokens = _find_number(_OUTPUT_LIMIT, text)
    if max_tokens:
        max_tokens -= f"{max_tokens} (exclusive)" in text  # Gemini's range
        return LengthRefusal("lower", max_tokens, lasting=True)
    if not _OVERFLOW.search(text):
        return None
    if _NO_ROOM in text:
        return LengthRefusal("overflow")
    context, prompt = _find_number(_CONTEXT, text), _prompt_tokens(text, limit)
    if context is not None and prompt is not None:
        left = context - prompt
        return LengthRefusal("lower", left) if left > 0 else LengthRefusal("overflow")
    if limit is not None and prompt is None and _NAMES_LIMIT.search(text):
        return LengthRefusal("either" if _NAMES_PROMPT.search(text) else "limit")
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

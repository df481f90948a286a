"""The one reader of tool calls in what a model wrote, for local models, text agents and BFCL.

A text may be calls as a whole. Else formats with a mark of their own (formats.toml) are read
wherever they stand; without any, code fences may be calls, and with good will (`lenient`) calls are
looked for among prose as well. A call that was cut is never completed.
"""

from __future__ import annotations

import html
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

from evalcore.call_formats import markup
from evalcore.call_formats.python_source import (
    find_python_stretches,
    parse_python_calls,
    read_named_source,
    read_source,
)
from evalcore.call_formats.values import (
    OfferedTools,
    ParsedCall,
    ReadCalls,
    find_closing_bracket,
    find_json_end,
    read_actions,
    read_arguments,
    read_fenced_objects,
    read_listed_names,
    read_named_arguments,
    read_objects,
)

#: Longer texts are no answers and are not read.
MAX_CHARS = 1_000_000
_MAX_FAILURES = 40
_MAX_CALLS = 256


#: An object whose quotes were escaped for HTML; once unescaped there is none left.
_ESCAPED_MARKUP = re.compile(r"\{\s*&(?:quot|#34|#39|apos);")


class CallReading(NamedTuple):
    """The calls of a text, the text that is left of it, and the key of the format of the first
    call; all text and "" where there is no call."""

    calls: tuple[ParsedCall, ...]
    rest: str
    format: str


class _Span(NamedTuple):
    start: int
    end: int
    calls: Sequence[ParsedCall]
    format: str


def read_calls(
    text: str, functions: Sequence[Mapping[str, Any]], *, lenient: bool = False
) -> CallReading:
    """Read the calls of a text; `functions` are those offered, wrapped or not. Never raises."""
    unread = CallReading((), text, "")
    if len(text) > MAX_CHARS:
        return unread
    tools = OfferedTools(functions, lenient=lenient)
    spans = _read_whole_text(text, tools, lenient)
    if not spans:
        marked, zones = _find_marked_spans(text, tools)
        spans = _drop_quoted(text, marked)
    if not spans:
        fenced = _find_fenced_spans(text, tools, lenient)
        if fenced and not lenient and _strip_turn_marks(text[fenced[-1].end :]):
            fenced = []  # code within an explanation
        spans = _drop_quoted(text, _keep_outside(fenced, zones))
    if not spans and lenient:
        spans = _find_spans_among_prose(text, tools, zones)
    if not spans and _ESCAPED_MARKUP.search(text):
        reading = read_calls(html.unescape(text), functions, lenient=lenient)
        return reading if reading.calls else unread
    calls = tuple(call for span in spans for call in span.calls)
    if not 0 < len(calls) <= _MAX_CALLS:
        return unread
    edges = [0, *(edge for span in spans for edge in (span.start, span.end)), len(text)]
    rest = "".join(text[start:end] for start, end in list(pairwise(edges))[::2])
    return CallReading(calls, rest.strip(), spans[0].format)


# Formats with a mark.

_Reader = Callable[[str, re.Match[str], OfferedTools], ReadCalls | None]
_ReadAt = Callable[[str, int, OfferedTools], ReadCalls | None]


#: The readers by which formats.toml names them: of what begins at an offset, and with the mark.
_READERS_AT: Mapping[str, _ReadAt] = {
    "objects": read_fenced_objects,
    "listed_names": read_listed_names,
    "python": read_source,
    "offered_python": partial(read_source, offered=True),
    "key_values": markup.read_key_values,
    "solar_calls": markup.read_solar_call,
    "function_tags": markup.repeated(markup.read_function_tag),
    "elements": markup.repeated(markup.read_element),
    "name_elements": markup.repeated(markup.read_name_element),
    "tool_elements": markup.repeated(markup.read_tool_element),
    "gemma_calls": markup.repeated(markup.read_gemma_call),
    "xtml_calls": markup.repeated(markup.read_xtml_call),
    "minimax_invokes": markup.repeated(markup.read_minimax_invoke),
}
_READERS: Mapping[str, _Reader] = {
    "actions": read_actions,
    "arguments": read_named_arguments,
    "named_python": read_named_source,
}


def _find_reader(name: str) -> _Reader:
    if name in _READERS:
        return _READERS[name]
    return lambda text, opened, tools: _READERS_AT[name](text, opened.end(), tools)


class CallFormat(NamedTuple):
    """How families write calls, as an entry of formats.toml says."""

    key: str
    families: str
    source: str
    opener: re.Pattern[str]
    readers: tuple[_Reader, ...]
    closer: re.Pattern[str] | None
    mark: str


@cache
def load_formats() -> tuple[CallFormat, ...]:
    """The formats with a mark of their own, in the order in which they are tried."""
    table = tomllib.loads(Path(__file__).with_name("formats.toml").read_text("utf-8"))
    return tuple(
        CallFormat(
            key,
            entry["families"],
            entry["source"],
            re.compile(entry["opener"].replace("@name", r"(?P<name>[A-Za-z_][\w.-]{0,127})")),
            tuple(map(_find_reader, entry["read"])),
            re.compile(entry["closer"]) if "closer" in entry else None,
            entry.get("mark", ""),
        )
        for key, entry in table.items()
    )


_TAG_NAMES = (
    r"(?:ifm\||[a-z]{2,8}:)?(?:tool_calls?|toolcall|function_calls?|tools?|functions)"
    r"(?::\w{1,32})?"
)
_SECTION_START = re.compile(
    rf"(?:(?:<{_TAG_NAMES}>|<｜[A-Z]{{2,8}}｜ ?\w{{1,20}}>"
    r"|<｜tool[▁_]calls[▁_]begin｜>|<\|open\|>tools<\|sep\|>"
    r"|<\|tool_calls(?:_section_begin)?\|>|<\|plamo:begin_tool_requests?:plamo\|>|```\w{0,12}|<\|start\|>assistant)\s{0,10})+\Z"
)
_SECTION_END = re.compile(
    rf"(?:\s*(?:</{_TAG_NAMES}>|</｜[A-Z]{{2,8}}｜ ?\w{{1,20}}>|<｜tool[▁_]calls[▁_]end｜>"
    r"|<\|close\|>\w{1,20}<\|sep\|>|<\|tool_calls_section_end\|>|<\|plamo:end_tool_requests?:plamo\|>|<｜end▁of▁sentence｜>"
    r"|<\|eo[mt]_id\|>|<\|im_end\|>))+"
)
_WINDOW = 200


def _find_marked_spans(text: str, tools: OfferedTools) -> tuple[list[_Span], list[_Zone]]:
    """The spans of all formats in order, and the zones of arguments. Left out are spans within
    another one, within the arguments of any call, whole or cut, and calls that are only repeated in
    a second format."""
    candidates: list[tuple[int, int, _Span]] = []
    zones = _find_argument_zones(text, tools)
    broken: list[tuple[int, int, int]] = []
    for number, form in enumerate(load_formats()):
        if form.mark in text:
            read, unread = _find_format_spans(text, form, tools)
            candidates += [(span.start, number, span) for span in read]
            broken += unread
    for start, body, end in broken:
        if not any(start <= read_at <= body for read_at, _, _ in candidates):
            zones.append((start, end))
    spans: list[_Span] = []
    for span in _keep_outside([span for _, _, span in sorted(candidates)], zones):
        repeated = any(
            other.format != span.format and list(other.calls) == list(span.calls) for other in spans
        )
        if not repeated and not (spans and span.start < spans[-1].end):
            spans.append(_widen_span(text, span))
    return spans, zones


def _find_format_spans(
    text: str, form: CallFormat, tools: OfferedTools
) -> tuple[list[_Span], list[tuple[int, int, int]]]:
    """The spans of a format, and where calls begin in it that cannot be read: the offsets of the
    mark, of what follows it and of the end of that."""
    spans: list[_Span] = []
    broken: list[tuple[int, int, int]] = []
    at = 0
    while len(broken) < _MAX_FAILURES and (opened := form.opener.search(text, at)):
        if broken and broken[-1][2] < 0:
            broken[-1] = (*broken[-1][:2], opened.start())
        attempts = (read(text, opened, tools) for read in form.readers)
        parsed = next(filter(None, attempts), None)
        if parsed is None:
            at = max(opened.end(), opened.start() + 1)
            broken.append((opened.start(), *_measure_broken_call(text, form, opened)))
            continue
        end = parsed[1]
        closed = form.closer.match(text, end) if form.closer else None
        at = max(closed.end() if closed else end, opened.start() + 1)
        spans.append(_Span(opened.start(), at, parsed[0], form.key))
        if len(spans) > _MAX_CALLS:
            break
    return spans, [(start, body, len(text) if end < 0 else end) for start, body, end in broken]


# What stands in the arguments of a call is none, even if the call was cut or cannot be read.

_Zone = tuple[int, int]
#: What follows a mark where a call in markup, in Python or in JSON was begun.
_ELEMENT_BODY = re.compile(
    r"\s*(?:```\w{0,12}\s*)?(?=<(?:function=|parameter|param\s|[^<>\s]{0,12} ?invoke|arg_key)"
    r"|<(?:function|tool)\s+name|<\|open\|>|\]<\]minimax|call:\w"
    r"|[A-Za-z_][\w.-]*(?:\\n)?\s*<(?:tool_sep|(?:\w{1,32}[_|])?arg_key|\|tool_arg:start))"
)
_SOURCE_BODY = re.compile(
    r"\s*(?:```\w{0,12}\s*)?(?:[A-Za-z_][\w.]*(?=\()|(?=\[\s*[A-Za-z_][\w.]*\())"
)
_ELEMENT_END = re.compile(
    r"</[^<>\s]{0,12} ?(?:function|invoke|tool_call|tool|call)>|<\|close\|>call|<\|tool_call:end"
)
_VALUE_BODY = re.compile(r"\s*(?:```(?:json)?\s*)?(?=[\[{]\s*(?:[\[{\"'}\]]|\Z))")
_OBJECT_HEAD = re.compile(
    r"\{\s{0,20}[\"'](?:name|function|function_name|tool|tool_name|tool_calls|arguments|parameters"
    r"|action)[\"']\s{0,20}:"
)
_SOURCE_HEAD = re.compile(r"^[\s\[`>*-]{0,20}([A-Za-z_][\w.]{0,127})\(", re.M)
_NAMED_HEAD = re.compile(r"^([A-Za-z_][\w.-]{0,127})[ \t\r]*\n\s{0,20}(?=\{)", re.M)
_MAX_STARTS = 60


def _measure_broken_call(text: str, form: CallFormat, opened: re.Match[str]) -> tuple[int, int]:
    """Where what follows a mark begins and ends, of which no call could be read; -1 for an end at
    the next mark. Where it was cut, it reaches to the end of the text."""
    if value := _VALUE_BODY.match(text, opened.end()):
        return value.end(), find_json_end(text, value.end())
    if source := _SOURCE_BODY.match(text, opened.end()):
        return source.end(), find_closing_bracket(text, source.end()) or len(text)
    if element := _ELEMENT_BODY.match(text, opened.end()):
        begun = len(form.opener.findall(text, opened.start()))
        ended = Counter(_ELEMENT_END.findall(text, opened.end()))
        return element.end(), len(text) if begun > max(ended.values(), default=0) else -1
    return opened.end(), opened.end()


def _find_argument_zones(text: str, tools: OfferedTools) -> list[_Zone]:
    """Where objects of calls and calls in Python's syntax stand, up to where they break."""
    zones: list[_Zone] = []
    at = 0
    while len(zones) < _MAX_STARTS and (head := _OBJECT_HEAD.search(text, at)):
        at = max(find_json_end(text, head.start()), head.end())
        zones.append((head.start(), at))
    for head in islice(_SOURCE_HEAD.finditer(text), _MAX_STARTS):
        if tools.resolve_name(head[1]) in tools:
            end = find_closing_bracket(text, head.end() - 1)
            zones.append((head.start(1), end or len(text)))
    for head in islice(_NAMED_HEAD.finditer(text), _MAX_STARTS):
        if tools.resolve_name(head[1]) in tools:
            zones.append((head.start(), find_json_end(text, head.end())))
    return zones


def _keep_outside(spans: list[_Span], zones: list[_Zone]) -> list[_Span]:
    """The spans that begin in no zone but at its first offset."""
    return [span for span in spans if not any(start < span.start < end for start, end in zones)]


def _widen_span(text: str, span: _Span) -> _Span:
    """The span with the marks of a section of calls around it."""
    before = _SECTION_START.search(text, max(0, span.start - _WINDOW), span.start)
    after = _SECTION_END.match(text, span.end)
    return span._replace(
        start=before.start() if before else span.start, end=after.end() if after else span.end
    )


# An example of a call within an explanation is no call where a real one follows.

_EXAMPLE = re.compile(
    r"\b(?:previously|earlier|for example|for instance|e\.\s?g\.|an? example|examples?:|such as"
    r"|looks? like|format is"
    r"|(?:you|one) (?:could|might|would)|syntax is|instead of|rather than)\b[^.!?\n]*\Z"
    r"|(?:例如|比如|示例|譬如)[^。！？\n]*\Z",
    re.I,
)


def _drop_quoted(text: str, spans: list[_Span]) -> list[_Span]:
    """Without the spans that their line introduces as examples, if any other span follows them."""
    ends = [0, *(span.end for span in spans)]
    quoted = [
        bool(_EXAMPLE.search(_introduction(text[max(end, span.start - _WINDOW) : span.start])))
        for end, span in zip(ends, spans, strict=False)
    ]
    last = max((number for number, example in enumerate(quoted) if not example), default=-1)
    return [span for number, span in enumerate(spans) if not quoted[number] or number > last]


def _introduction(before: str) -> str:
    """The last line of a text that is not blank."""
    return before.rstrip(" \t\r\n`").rpartition("\n")[2]


# Text that is calls and nothing else.

_TURN_MARKS = (
    r"\s*(?:<\|(?:eo[mst]_id|eo[mt]|assistant|observation|user|im_end|im_start|end|endoftext|end_of_text"
    r"|END_OF_TURN_TOKEN)\|>|<｜end▁of▁sentence｜>|</?s>|<eos>|<end_of_turn>|<end_code>"
    r"|<\|(?:start_header_id|header_start)\|>assistant<\|(?:end_header_id|header_end)\|>)"
)
_TURN_MARK, _LAST_TURN_MARK = re.compile(_TURN_MARKS), re.compile(rf"{_TURN_MARKS}\s*\Z")
_LEFTOVERS = " \t\r\n;,}]`"
_GLM_CALL = re.compile(r"\s*([A-Za-z_][\w.-]{0,127})[ \t]*:?[ \t]*\n?\s*(?=\{)")


def _read_whole_text(text: str, tools: OfferedTools, lenient: bool) -> list[_Span]:
    stripped = _strip_turn_marks(text)
    calls, key = _parse_stretch(stripped, tools, lenient)
    if calls:
        return [_Span(0, len(text), calls, key)]
    named = _read_glm_calls(stripped, tools)
    return [_Span(0, len(text), named, "glm4")] if named else []


def _strip_turn_marks(text: str) -> str:
    """The text without the marks of turns around it."""
    start, end = 0, len(text)
    while mark := _TURN_MARK.match(text, start):
        start = mark.end()
    while mark := _LAST_TURN_MARK.search(text, max(start, end - 30), end):
        end = mark.start()
    return text[start:end].strip()


def _parse_stretch(text: str, tools: OfferedTools, lenient: bool) -> tuple[list[ParsedCall], str]:
    """The calls that a text consists of, in JSON or Python, and the key of the format. Without good
    will all of them have to be calls of offered tools."""
    parsed = read_objects(text, 0, tools)
    if parsed and not text[parsed[1] :].strip(_LEFTOVERS):
        calls, key = parsed[0], "json"
    else:
        calls = parse_python_calls(text, tools) or []
        if not calls and lenient:
            calls = parse_python_calls(text, tools, lenient=True) or []
        key = "pythonic"
    accepted = lenient or all(call.name in tools for call in calls)
    return (calls, key) if accepted else ([], "")


def _read_glm_calls(text: str, tools: OfferedTools) -> list[ParsedCall]:
    """GLM-4's name, line break and arguments (THUDM/GLM-4-9B-0414 chat template)."""
    calls: list[ParsedCall] = []
    at = 0
    while opened := _GLM_CALL.match(text, at):
        decoded = read_arguments(text, opened.end())
        if not decoded or tools.resolve_name(opened[1]) not in tools:
            return []
        calls.append(ParsedCall(tools.resolve_name(opened[1]), decoded[0]))
        at = decoded[1]
    return [] if text[at:].strip(_LEFTOVERS) else calls


_FENCE = "```"
_LANGUAGE = re.compile(r"[A-Za-z0-9_+-]*[ \t]*\n?")
_MAX_FENCES = 40


def _find_fenced_spans(text: str, tools: OfferedTools, lenient: bool) -> list[_Span]:
    """The code fences that hold calls and nothing else; the last one may be left open."""
    marks = [mark.start() for mark in re.finditer(_FENCE, text)][: 2 * _MAX_FENCES]
    spans: list[_Span] = []
    for start, end in zip(marks[::2], [*marks[1::2], len(text)], strict=False):
        body = _LANGUAGE.sub("", text[start + len(_FENCE) : end], count=1).strip()
        calls, key = _parse_stretch(body, tools, lenient)
        if calls:
            after = min(end + len(_FENCE), len(text))
            spans.append(_Span(start, after, calls, f"fenced_{key}"))
    return spans


# Calls among prose.

_OBJECT_START = re.compile(r"[\[{](?=\s{0,50}[\[{\"'])")
_LABEL = re.compile(r"[\s\w*\"'`.:()\[\]-]{0,40}:[\s*`]*|[\s>*`\d.)-]*")


def _find_spans_among_prose(text: str, tools: OfferedTools, zones: list[_Zone]) -> list[_Span]:
    """The JSON objects within prose, else lists and lines of Python calls, those outside of zones.
    Those on lines of their own outweigh those in the middle of a sentence."""
    spans: list[_Span] = []
    at = failures = 0
    while failures < _MAX_STARTS and (start := _OBJECT_START.search(text, at)):
        parsed = read_objects(text, start.start(), tools, separators=" \t,;")
        failures += parsed is None
        at = parsed[1] if parsed else start.end()
        if not parsed and _OBJECT_HEAD.match(text, start.start()):
            at = max(at, find_json_end(text, start.start()))
        if parsed:
            spans.append(_Span(start.start(), at, parsed[0], "json_in_prose"))
    spans = _keep_outside([*_find_named_spans(text, tools), *spans], zones)
    if not spans:
        stretches = find_python_stretches(text, tools)
        spans = [_Span(start, end, calls, "python_in_prose") for start, end, calls in stretches]
    spans = _keep_outside(spans, zones)
    apart = [span for span in spans if _stands_apart(text, span)]
    return _drop_quoted(text, apart or spans)


def _find_named_spans(text: str, tools: OfferedTools) -> list[_Span]:
    """GLM-4's calls, each with the name of an offered tool on a line of its own."""
    spans: list[_Span] = []
    for head in islice(_NAMED_HEAD.finditer(text), _MAX_STARTS):
        name, decoded = tools.resolve_name(head[1]), read_arguments(text, head.end())
        if decoded and name in tools:
            call = ParsedCall(name, decoded[0])
            spans.append(_Span(head.start(), decoded[1], [call], "glm4"))
    return spans


def _stands_apart(text: str, span: _Span) -> bool:
    """Whether a span shares its lines with no words but a label."""
    before = text[max(0, span.start - _WINDOW) : span.start].rpartition("\n")[2]
    after = text[span.end : span.end + _WINDOW].partition("\n")[0]
    return bool(_LABEL.fullmatch(before)) and not after.strip(_LEFTOVERS + ".)\"'")


# Reasoning that families mark by tokens of their own.

_ANALYSIS = "<|channel|>analysis<|message|>"
_THOUGHTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (_ANALYSIS, ("<|end|>", "<|start|>assistant", "<|channel|>")),
    ("<|START_THINKING|>", ("<|END_THINKING|>",)),
    ("<|thought_start|>", ("<|thought_end|>",)),
    ("<|inner_prefix|>", ("<|inner_suffix|>",)),
    ("<|open|>think<|sep|>", ("<|close|>think<|sep|>",)),
    ("<|channel>thought", ("<channel|>",)),
    ("<seed:think>", ("</seed:think>",)),
    ("<ifm|think>", ("</ifm|think>",)),
    ("<|plamo:begin_think:plamo|>", ("<|plamo:end_think:plamo|>",)),
    ("[THINK]", ("[/THINK]",)),
    ("◁think▷", ("◁/think▷",)),
)


#: What stands before an answer in a channel of its own (openai/harmony).
_CHANNEL = re.compile(
    r"(?:<\|start\|>assistant)?<\|channel\|>(?:final|commentary)(?:<\|constrain\|>\w{1,20})?"
    r"<\|message\|>"
)


def split_marked_thought(text: str) -> tuple[str, str]:
    """The reasoning between a family's own tokens, and the text without it and without marks of
    channels. It stands first, but in a channel of its own anywhere; what is not closed reaches to
    the end."""
    thoughts: list[str] = []
    for opener, closers in _THOUGHTS:
        parts, at = [], 0
        while (start := text.find(opener, at)) >= 0:
            if opener != _ANALYSIS and text[at:start].strip():
                break
            begin = start + len(opener)
            ends = [(end, closer) for closer in closers if (end := text.find(closer, begin)) >= 0]
            end, closer = min(ends, default=(len(text), ""))
            thoughts.append(text[begin:end].strip())
            parts.append(text[at:start])
            at = end if closer.startswith(("<|start", "<|channel|")) else end + len(closer)
        text = "".join([*parts, text[at:]])
    return "\n".join(thoughts), _CHANNEL.sub("", text)


__all__ = ["CallReading", "ParsedCall", "load_formats", "read_calls", "split_marked_thought"]

"""The short answer in a long reply, which the official scorer expects to be given alone.

In this order: the last `FINAL ANSWER:`, the last `ANSWER:`, the last `\\boxed{}`, the last line
that is not empty. Only the first is the form that was asked for. Time is linear in the length.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from typing import Literal

from evalcore.benchmarks.answer_scoring import strip_reasoning
from evalcore.records import Record

How = Literal["final_answer", "answer", "boxed", "fallback", "none"]

#: Every repetition is bounded. The marks of bold or italic may end before or after the colon.
_LABEL = re.compile(r"(?i)(?<![^\W_])answer[ \t]{0,8}(?P<closed>\*{1,3}|_{1,3})?[ \t]{0,8}[:：]")
_BEFORE_LABEL = re.compile(
    r"(?i)(?P<opened>\*{1,3}|_{1,3})?[ \t]{0,4}(?P<final>(?<![^\W_])final[ \t\u00a0_]{1,8})?\Z"
)
_LONGEST_BEFORE = 20  # characters that the latter can match
_FENCE = re.compile(r"(?:```|~~~)[\w+-]*")
_BOX = "\\boxed{"
_BRACES = re.compile(r"[{}]")
#: What may stand around an answer; one layer of each is taken away.
_AROUND = (
    ("**", "**"),
    ("__", "__"),
    ("```", "```"),
    ("`", "`"),
    ("[", "]"),
    ('"', '"'),
    ("'", "'"),
    ("“", "”"),
    ("‘", "’"),
)


class ExtractedAnswer(Record, frozen=True):
    """An answer and the rule that found it: the form that was asked for is `final_answer`."""

    answer: str = ""
    how: How = "none"

    @property
    def strict(self) -> str:
        """The answer if it came in the form that was asked for, else nothing."""
        return self.answer if self.how == "final_answer" else ""


def extract_answer(text: str) -> ExtractedAnswer:
    """The answer in a reply; reasoning between its tags is passed over."""
    visible_text = strip_reasoning(text)
    for how, rule in _RULES:
        answer = unwrap_answer(rule(visible_text))
        if answer:
            return ExtractedAnswer(answer, how)
    return ExtractedAnswer()


def to_answer_text(value: object) -> str:
    """An answer that came as a JSON value, as an argument of a tool does: elements of a list are
    joined by commas."""
    if isinstance(value, list):
        return ", ".join(map(to_answer_text, value))
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else str(value)


def unwrap_answer(text: str) -> str:
    """Without the blanks, and without one layer of each mark that stands around the whole."""
    text, remaining = text.strip(), list(_AROUND)
    while pair := next((pair for pair in remaining if _is_enclosed(pair, text)), None):
        remaining.remove(pair)
        text = text[len(pair[0]) : -len(pair[1])].strip()
    return text


def _is_enclosed(pair: tuple[str, str], text: str) -> bool:
    """Whether the marks are one pair around all: those of `"a", "b"` are two."""
    start, end = pair
    if len(text) < len(start) + len(end) or not (text.startswith(start) and text.endswith(end)):
        return False
    inside = text[len(start) : -len(end)]
    if start != "[":
        return start not in inside and end not in inside
    depth = 0
    for mark in re.finditer(r"[\[\]]", inside):
        depth += 1 if mark[0] == "[" else -1
        if depth < 0:
            return False
    return depth == 0


def _find_labelled_answer(text: str, *, final: bool) -> str:
    """What follows the last label on its line, or else the next line that is not empty."""
    last = opened = None
    for label in _LABEL.finditer(text):
        before = _BEFORE_LABEL.search(text, max(0, label.start() - _LONGEST_BEFORE), label.start())
        if before and bool(before["final"]) == final:
            last, opened = label, before["opened"]
    if last is None:
        return ""
    rest, _, below = text[last.end() :].partition("\n")
    answer = _strip_closing_marks(rest.strip(), "" if last["closed"] else opened or "")
    return answer or _find_first_line(below)


def _strip_closing_marks(rest: str, marks: str) -> str:
    """Strip the marks that close those opened before the label, wherever on the line they are."""
    if not marks:
        return rest
    if rest.startswith(marks):
        return rest[len(marks) :].strip()
    if rest.endswith(marks):
        return rest[: -len(marks)].strip()
    return rest.replace(marks, "") if len(marks) > 1 and rest.count(marks) == 1 else rest


def _find_first_line(text: str) -> str:
    """The first line with something to read, of a code fence its content."""
    lines = (line.strip() for line in text.split("\n"))
    return next((line for line in lines if line and not _FENCE.fullmatch(line)), "")


def _find_boxed_answer(text: str) -> str:
    """The content of the last box, which may hold braces in pairs."""
    start = text.rfind(_BOX)
    if start < 0:
        return ""
    start += len(_BOX)
    depth = 1
    for brace in _BRACES.finditer(text, start):
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            return text[start : brace.start()]
    return ""


def _find_last_line(text: str) -> str:
    """The last line that says something; a label with nothing behind it does not."""
    last = text.rstrip().rpartition("\n")[2]
    labels = list(_LABEL.finditer(last))
    return "" if labels and not last[labels[-1].end() :].strip("*_ \t") else last


_RULES: tuple[tuple[How, Callable[[str], str]], ...] = (
    ("final_answer", partial(_find_labelled_answer, final=True)),
    ("answer", partial(_find_labelled_answer, final=False)),
    ("boxed", _find_boxed_answer),
    ("fallback", _find_last_line),
)

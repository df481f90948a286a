"""What the words of an answer say of the SQL beside them: the answer, the original quoted again, an
alternative, an example of use, a draft that is taken back, the alternative that is recommended, or
that a table or an object calls right. The words are data: see `sql_patterns.toml`.

Every pattern takes linear time in the length of the text.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from evalcore.benchmarks.sql_prose import PATTERNS, compile_pattern

# What the words before a candidate say of it; the last of them counts. Few are needed, as
# the original is known by its text, examples of use and indexes by their kind.

_ROLE = re.compile(
    "|".join(f"(?P<{role}>{'|'.join(words)})" for role, words in PATTERNS["roles"].items()), re.I
)
#: Words by which what follows takes the place of what stood before it; a condition does not.
_PROGRESS = compile_pattern("progress")
_CONDITION_FIRST = compile_pattern("condition_first")
#: Roles of what is no answer.
ASIDE = ("original", "alternative", "index", "usage", "rejected")
#: Words after a piece of code by which a model takes it back.
_WITHDRAWN = compile_pattern("withdrawn")
#: Words of a model that gives no answer; what it quotes then is only the question.
_REFUSAL = compile_pattern("refusal")
_UNCHANGED = compile_pattern("unchanged")
#: How a text goes on that continues a list of questions instead of ending.
_NEXT_QUESTION = compile_pattern("next_question", re.M)
_ADVISED_AGAINST = re.compile(r"\W*(?:don['’]t|do\s+not|never|not\s+to\s+be)\b", re.I)
_IN_BRACKETS = re.compile(r"\([^()\n]*\)")


def detect_candidate_role(before: str) -> str:
    """What the words right before a candidate call it: a role, "best" where they settle it, "next"
    where it goes on from the one before it, "version 8" where it is for one, or ""."""
    lines = [line for line in before.strip().split("\n") if line.strip()]
    if not lines:
        return ""
    sentence = re.split(r"(?<=[.!?。！？])\s+|(?<=[。！？])", lines[-1][-400:].strip())[-1][-160:]
    if _ADVISED_AGAINST.match(sentence):
        return "rejected"
    role = _detect_named_role(sentence)
    if role:
        return role
    sentence = _IN_BRACKETS.sub("", sentence)
    if not _CONDITION_FIRST.match(sentence) and _PROGRESS.search(sentence):
        return "next"
    role = _detect_named_role(lines[-1][-160:])
    if role or _CONDITION_FIRST.match(sentence):
        number = re.search(r"\d{1,6}(?:\.\d)?", sentence)
        return role or (f"version {number[0]}" if number else "")
    words = _IN_BRACKETS.sub("", " ".join(lines[-2:])[-240:])
    return "next" if _PROGRESS.search(words) else ""


def _detect_named_role(words: str) -> str:
    named = [match.lastgroup or "" for match in _ROLE.finditer(words)]
    if "recommended" in named and "rejected" not in named:
        return "best"
    if "final" in named and not {"alternative", "rejected", "usage"} & set(named):
        return "original" if named[-1] == "original" else "final"
    return next((role for role in reversed(named) if role in ASIDE), "")


def is_aside(before: str) -> bool:
    """Whether the words before a piece offer it as an example, an alternative, or as wrong."""
    last = before.strip().rsplit("\n", 1)[-1]
    if detect_candidate_role(before) in ("best", "final"):
        return False
    named = {match.lastgroup for match in _ROLE.finditer(last[-160:])}
    return bool(named & {"alternative", "usage", "rejected"} or _CONDITION_FIRST.match(last))


def is_withdrawn(after: str) -> bool:
    """Whether the words after a piece of code take it back."""
    return _WITHDRAWN.match(after) is not None


def refers_back(before: str) -> bool:
    """Whether whole sentences between two pieces of code call one wrong: the one above them, as
    what introduces code is a heading or ends with a colon."""
    last = before.strip().rsplit("\n", 1)[-1][-160:]
    return last.endswith((".", "!", "。", "！")) and _detect_named_role(last) == "rejected"


def is_refusal(text: str) -> bool:
    """Whether a text that holds only the original gives no answer."""
    return _REFUSAL.search(text) is not None and not _UNCHANGED.search(text)


#: What a question begins with, which a model may only repeat.
_INSTRUCTION = compile_pattern("instruction")
_ASKS_BACK = compile_pattern("asks_back")

_NEEDS_ANSWER = compile_pattern("needs_answer", re.M)


def asks_back(text: str, sql: str) -> bool:
    """Whether words beside a statement ask for something that only a person can say."""
    start = max(0, text.find(sql[:40]))
    return _ASKS_BACK.search(text[:start]) is not None or (
        _NEEDS_ANSWER.search(text[start + len(sql) :]) is not None and not _UNCHANGED.search(text)
    )


def is_instruction(text: str, sql: str) -> bool:
    """Whether a text that ends with a statement only repeats what was asked."""
    return text.rstrip("; \n`").endswith(sql.rstrip("; \n")) and bool(_INSTRUCTION.match(text))


def find_next_question(text: str) -> int:
    """Where a model goes on with a question that it makes up, the end if nowhere."""
    following = _NEXT_QUESTION.search(text, 1)
    return following.start() if following is not None else len(text)


# Advice on which of several alternatives to take.

#: A name of one of several, as "option B"; the group that holds the B or 2 is to be named.
#: The words of an advice, with what is advised after or before them.
_RECOMMENDED = compile_pattern("recommended", re.M)
_LABEL = compile_pattern("choice_label", re.M)


def mark_recommendation(text: str) -> str:
    """The text with "(recommended)" in the heading of what its last advice names."""
    advices = list(_RECOMMENDED.finditer(text))
    if not advices:
        return _mark_named_heading(text)
    return mark_option(text, next(word for word in advices[-1].groups() if word), "recommended")


_CHOSEN = compile_pattern("chosen")


def mark_option(text: str, name: str, word: str) -> str:
    """The text with a word in brackets in the heading of an option, called by its letter, its
    number or its name."""
    chosen = _CHOSEN.fullmatch(name.strip())
    label = ((chosen["label"] or chosen["mark"]) if chosen else name.strip()).lower()
    marked = _LABEL.sub(lambda m: f"{m[0]} ({word})" if m["label"].lower() == label else m[0], text)
    headings = [
        heading
        for heading in _HEADING.finditer(text)
        if label in ((heading["mark"] or "").lower(), (heading["name"] or "").strip().lower())
    ]
    is_named_once = marked == text and len(headings) == 1
    return _mark_heading(text, headings[0], word) if is_named_once else marked


#: What stands before one of several pieces of code: a short line above it, or the mark of an item.
_HEADING = compile_pattern("code_heading", re.M)
#: Words by which one of several is preferred to the others.
_PREFERRED = compile_pattern("preferred")
_MAX_HEADINGS = 12


def _mark_named_heading(text: str) -> str:
    """The text with "(recommended)" in the one heading whose words a sentence of advice repeats."""
    headings = list(_HEADING.finditer(text))[:_MAX_HEADINGS]
    if len(headings) < 2:
        return text
    prose = _HEADING.sub("\n", re.sub(r"^(`{3,}|~{3,}).*?^\1", "\n", text, flags=re.M | re.S))
    advised: set[int] = set()
    for sentence in re.split(r"(?<=[.!?。！？\n])", prose)[:200]:
        if _PREFERRED.search(sentence) and not _NEGATED.search(sentence):
            named = {n for n, heading in enumerate(headings) if _is_named(heading, sentence)}
            advised |= named if len(named) == 1 else set()
    if len(advised) != 1:
        return text
    return _mark_heading(text, headings[advised.pop()], "recommended")


def _mark_heading(text: str, heading: re.Match[str], word: str) -> str:
    end = heading.end("name") if heading["name"] else heading.start() + len(heading[0].rstrip())
    return f"{text[:end]} ({word}) {text[end:]}"


def _is_named(heading: re.Match[str], sentence: str) -> bool:
    """Whether a sentence names a piece of code by the words or the mark before it."""
    if heading["name"] and heading["name"].strip().lower() in sentence.lower():
        return True
    marked = heading["mark"] and rf"(?:[#(\[№]|\b(?:no|nr|number)[. ]*){heading['mark']}(?!\w)"
    return bool(marked) and re.search(marked, sentence, re.I) is not None


_NEGATED = re.compile(r"\bnot?\b(?!\s+(?:exists|in|null)\b)|n['’]t\b|\bif\b|不|如果|若", re.I)
#: Places by which an advice names one of several alternatives.
_PLACES = {"first": 0, "former": 0, "second": 1, "third": 2, "latter": -1, "last": -1}
_PLACES |= {"第一": 0, "前者": 0, "第二": 1, "第三": 2, "后者": -1, "最后": -1}
_ADVISED = compile_pattern("advised_place")


def find_advised_place(text: str) -> int | None:
    """The index of the alternative that the last advice calls the first, the latter, ..."""
    advices = list(_ADVISED.finditer(text))
    if not advices:
        return None
    named = [word for word in advices[-1].groups() if word]
    return _PLACES[named[0].lower()]


# Verdicts on several options in the rows of tables and in objects.

_VERDICT = compile_pattern("verdict")
#: What a column or a field is called that says of each option whether it is right, or wrong.
_ASKS_WRONG = compile_pattern("asks_wrong")
_ASKS = compile_pattern("asks_verdict")
_MAX_HEAD = 40  # characters
_NAMES = ("id", "name", "option", "label", "letter", "value", "answer", "choice", "编号", "选项")


class Verdict(NamedTuple):
    """What is said of an option, and what the column or the field is called that says so."""

    name: str
    is_right: bool
    asked: str = ""


def read_verdict(value: Any) -> bool | None:
    """What a cell or the value of a field says of an option, None for anything but yes or no."""
    if not isinstance(value, str):
        return value if isinstance(value, bool) else None
    match = _VERDICT.match(value)
    return match["wrong"] is None if match else None


def _is_asked(head: str) -> bool:
    return len(head) < _MAX_HEAD and _ASKS.search(head.replace("_", " ")) is not None


def _judge_row(fields: Sequence[tuple[str, Any]]) -> tuple[bool | None, str]:
    """Whether all fields that say so call an option right, and the name of the last of them."""
    verdicts = [(name, read_verdict(value)) for name, value in fields if _is_asked(name)]
    rights = [
        right is not (_ASKS_WRONG.search(name.replace("_", " ")) is not None)
        for name, right in verdicts
        if right is not None
    ]
    return (all(rights), verdicts[-1][0]) if rights else (None, "")


# Tables.

_MARKDOWN = r"(?m:^[^\n|]*\|[^\n]*\n[ \t]*[|+:]{0,2}[ \t]*:?-[-:|+ \t]*(?:\n[^\n|]*\|[^\n]*)++)"
_TABLE = re.compile(rf"{_MARKDOWN}|<table\b(?:[^<]|<(?!/?table\b))*+(?:</table>|\Z)", re.I)


def split_html_rows(markup: str) -> list[list[str]]:
    """The rows of a table of HTML as texts."""
    rows = [re.split(r"<t[hd]\b[^<>]*>", row, flags=re.I) for row in re.split(r"(?i)<tr\b", markup)]
    texts = [
        [re.sub(r"</?[A-Za-z][^<>]*>", "", cell) for cell in row[1:]] for row in rows if row[1:]
    ]
    return [[html.unescape(text).strip() for text in row] for row in texts]


def _split_rows(table: str) -> list[list[str]]:
    if table[0] == "<":
        return split_html_rows(table)
    lines = [re.split(r"(?<!\|)\|(?!\|)", line.strip().strip("|")) for line in table.split("\n")]
    return [[cell.strip() for cell in line] for line in (lines[0], *lines[2:])]


def settle_tables(text: str) -> tuple[str, list[Verdict]]:
    """The text with the tables that judge options cut to what they call right, and the verdicts."""
    verdicts: list[Verdict] = []

    def cut_table(table: re.Match[str]) -> str:
        rows = _split_rows(table[0])
        if rows and not any(map(_is_asked, rows[0])) and read_verdict(rows[0][-1]) is not None:
            rows.insert(0, [""] * (len(rows[0]) - 1) + ["verdict"])  # a table without a head
        columns = [list(column) for column in zip(*rows, strict=False)]
        for head, *options in (rows, columns) if rows else ():
            judging = [n for n, name in enumerate(head) if n and _is_judging(name, n, options)]
            judging = judging or [0] * _is_judging(head[0], 0, options)
            if not judging:
                continue
            others = [n for n in range(len(head)) if n not in judging]
            left = [[head[n] for n in others]]
            for option in options:
                right, asked = _judge_row(
                    [(head[n], option[n]) for n in judging if n < len(option)]
                )
                cells = [option[n] for n in others if n < len(option)]
                if right is not None and cells:
                    verdicts.append(Verdict(cells[0].strip("*_` "), right, asked))
                left += [cells] if right is not False else []
            return _write_rows(left)
        return table[0]

    return _TABLE.sub(cut_table, text), verdicts


def _is_judging(name: str, column: int, options: Sequence[Sequence[str]]) -> bool:
    """Whether a column judges: its head asks for it, and all of its cells are verdicts."""
    cells = [option[column] for option in options if column < len(option) and option[column]]
    return bool(cells) and _is_asked(name) and all(read_verdict(cell) is not None for cell in cells)


def _write_rows(rows: list[list[str]]) -> str:
    """A table in Markdown, one of a single column as lines."""
    head, *options = rows
    if len(head) == 1:
        return "\n".join(f"{head[0]}: {cell}" for option in options for cell in option)
    lines = [f"| {' | '.join(' '.join(cell.split()) for cell in row)} |" for row in rows]
    return "\n".join([lines[0], "|---" * len(head) + "|", *lines[1:]]) if options else ""


# Objects.


def judge_item(item: Any) -> bool | None:
    """Whether an object calls itself right, None where it says neither."""
    fields = [(str(name), value) for name, value in item.items()] if isinstance(item, dict) else []
    return _judge_row(fields)[0]


def find_object_verdicts(value: Any, depth: int = 4) -> Iterator[Verdict]:
    """What an object says of the options in it: `{"A": false, "B": true}`, objects with a field
    that judges them, by the name of the option or in a list."""
    if isinstance(value, dict):
        options = [(str(name), item) for name, item in value.items()]
    elif isinstance(value, list):
        options = [(_name_item(item), item) for item in value]
    else:
        return
    is_one = isinstance(value, dict) and any(map(_is_asked, map(str, value)))  # judges itself
    if len(options) > 1 and not is_one:
        verdicts = [(name, read_verdict(item), judge_item(item)) for name, item in options]
        if all(a is not None or b is not None for _, a, b in verdicts):
            for name, plain, inner in verdicts:
                yield Verdict(name, bool(plain) if inner is None else inner)
            return
    for _, item in options[:40] if depth else ():
        yield from find_object_verdicts(item, depth - 1)


def _name_item(item: Any) -> str:
    fields = item if isinstance(item, dict) else {}
    return next((str(fields[name]) for name in _NAMES if name in fields), "")


def drop_wrong(value: Any) -> Any:
    """A list or an object without the options that it calls wrong, where something is left."""
    if isinstance(value, dict):
        return {n: v for n, v in value.items() if judge_item(v) is not False} or value
    return [item for item in value if judge_item(item) is not False] or value


_MAX_OBJECTS = 20
#: What a line or a sentence says of an option.
_SAID = compile_pattern("said_of_choice", re.M)
_OBJECT = re.compile(r"\[\s*\{|\{")


def mark_options(text: str) -> str:
    """The text without the rows that it calls wrong, with "(wrong)" and "(recommended)" in the
    headings of the options that its tables and its objects judge."""
    text, verdicts = settle_tables(text)
    for claim in _SAID.finditer(text):
        if (is_right := read_verdict(claim["says"])) is not None:
            verdicts.append(Verdict(claim["label"] or claim["mark"], is_right))
    position = 0
    for _ in range(_MAX_OBJECTS):
        start = _OBJECT.search(text, position)
        if start is None:
            break
        try:
            value, position = json.JSONDecoder(strict=False).raw_decode(text, start.start())
            verdicts += find_object_verdicts(value)
        except (ValueError, RecursionError):
            position = start.end()
    best = next((verdict.name for verdict in verdicts if verdict.is_right), None)
    for name, is_right, _ in verdicts[:_MAX_OBJECTS] if best != "" else ():
        if name == best or not is_right:
            text = mark_option(text, name, "recommended" if is_right else "wrong")
    return text

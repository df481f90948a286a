"""Find the JSON answer in what a model really wrote.

`strict` means the whole answer is the JSON object that was asked for; `lenient` means it had to be
found (code fence, prose around it, reasoning block, single quotes, a table, YAML); `none` means
there is none. A format failure is thereby told apart from a wrong answer. Answers are hostile:
every search is linear in their length, and what is found holds only values that JSON can hold
again (`sqlkit.result_tables.to_json_cell`), so that it can be journaled.
"""

from __future__ import annotations

import ast
import contextlib
import csv
import html
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote

import yaml

from evalcore.benchmarks.answer_scoring import LIMIT, ExtractionKind, extract_code_blocks
from evalcore.benchmarks.sql_markup import Block, split_fences, strip_thinking
from evalcore.benchmarks.sql_prose import compile_pattern
from evalcore.benchmarks.sql_roles import (
    Verdict,
    drop_wrong,
    find_object_verdicts,
    is_aside,
    judge_item,
    read_verdict,
    settle_tables,
    split_html_rows,
)
from evalcore.records import Record
from evalcore.sqlkit.result_tables import to_json_cell
from evalcore.sqlkit.syntax import STATEMENT_TYPES

_MAX_OBJECTS = 500  # tried of one answer
_REMARK = re.compile(r"<!--(?:[^-]|-(?!->))*+(?:-->|\Z)")  # of HTML
_LATEX = re.compile(r"\\(?:text|mathrm|text(?:bf|tt|rm|sf))\{([^{}\n]*)\}")
_TRAILING_COMMA = re.compile(r",(\s*[}\]])")


class Extraction(Record, frozen=True):
    """`value` is the object found, None if `kind` is none."""

    kind: ExtractionKind
    value: dict[str, Any] | None = None


def extract_json_answer(text: str, fields: Sequence[str]) -> Extraction:
    """The object with most of `fields`, which is not offered as an example or an alternative; among
    equals the last, since models correct themselves."""
    strict = _parse_json(text.strip())
    answer = strict if isinstance(strict, dict) and any(name in strict for name in fields) else {}
    if answer and not any(isinstance(answer.get(name), dict | list) for name in _PLAIN):
        return Extraction(kind="strict", value=answer)
    visible = strip_thinking(text)[-LIMIT:]
    visible = _LATEX.sub(r"\1", _REMARK.sub("", visible))
    visible = unquote(visible) if "%7B" in visible.upper() else visible
    readings = (visible, _replace_odd_characters(visible), visible.replace('\\"', '"'))
    for reading in dict.fromkeys(readings):
        verdicts: list[Verdict] = []
        if _PLAIN & set(fields):
            reading, verdicts = settle_tables(reading)
        errors = _list_syntax_verdicts(reading, verdicts, fields)
        value = _find_best_object(reading, fields)
        if not value and len(errors) > 1:
            return Extraction(kind="none")
        value = (
            value
            or ({fields[0]: "yes" if True in errors else "no"} if errors else None)
            or _read_rows(reading, fields)
            or _read_labelled_words(reading, fields)
            or _read_yaml(reading, fields)
            or _read_class_words(reading, fields)
            or _read_syntax_claim(reading, fields)
        )
        if value:
            return Extraction(kind="lenient", value=value)
    if isinstance(strict, dict):
        return Extraction(kind="strict", value=strict)
    return Extraction(kind="none")


_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
#: Where an object is only mentioned: in brackets, as what would be otherwise, as a form.
_MENTIONED = compile_pattern("mentioned")
_BETWEEN_FORMS = re.compile(r"\W*(?:or|或者?|vs|versus)\W*", re.I)


def _find_best_object(text: str, fields: Sequence[str]) -> dict[str, Any] | None:
    best: dict[str, Any] | None = None
    best_rank = (1, False)
    texts = list(_find_object_texts(text))
    forms = {n for n, (before, _) in enumerate(texts) if _BETWEEN_FORMS.fullmatch(before)}
    for number, (before, candidate) in enumerate(texts):
        if number in forms or number + 1 in forms:
            continue
        lowered = re.sub(r"[\s-]+", "_", _CAMEL.sub("_", candidate).lower())
        if not any(field in lowered for field in fields):
            continue
        parsed = _parse_object(candidate)
        if fields[0] == "sql_type" and judge_item(parsed) is False:
            continue
        value = _select_fields(parsed, fields) if parsed else None
        is_meant = not is_aside(before) and _MENTIONED.search(before) is None
        if best and value and not set(best) & set(value) and len(fields) > 1:
            value = best | value  # the fields in an object each
        rank = (sum(field in value for field in fields) if value else 0, is_meant)
        if value and rank >= best_rank:
            best, best_rank = value, rank
    return best


def _find_object_texts(text: str) -> Iterator[tuple[str, str]]:
    """Texts that may be the object, with the words before each: spans with balanced braces, what
    stands within one of these that is none (LaTeX's boxes), then whole code fences."""
    end = 0
    for start, span in list(_find_balanced_objects(text))[-_MAX_OBJECTS:]:
        before = text[max(end, start - 300) : start]
        end = start + len(span)
        inner = span[1:-1].strip()
        yield before, inner if inner.startswith("{") and inner.endswith("}") else span
    yield from (("", block) for block in extract_code_blocks(text))
    if text.strip().startswith('"') and isinstance(string := _parse_json(text.strip()), str):
        yield "", string


def _select_fields(value: Any, fields: Sequence[str], depth: int = 3) -> dict[str, Any] | None:
    """The object with its fields spelled as asked for; where it has none, one inside of it."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        value = _parse_json(value)
    if isinstance(value, dict):
        spelled = {
            re.sub(r"[\s-]+", "_", _CAMEL.sub("_", str(name).strip()).lower()): name
            for name in value
        }
        if any(field in spelled for field in fields):
            names = {name: spelling for spelling, name in spelled.items() if spelling in fields}
            named = {names.get(name, str(name)): part for name, part in value.items()}
            return {
                name: _unwrap_field(part) if name in _PLAIN else part
                for name, part in named.items()
            }
        value = list((drop_wrong(value) if len(fields) > 1 else value).values())
    if not isinstance(value, list) or not depth:
        return None
    value = drop_wrong(value) if len(fields) > 1 else value
    inner = (_select_fields(part, fields, depth - 1) for part in value[:40])
    return next((part for part in inner if part), None)


_PLAIN = frozenset(("has_syntax_error", "sql_type", "statement_type"))  # fields that hold a word
_HOLDS = ("value", "answer", "result", "verdict", "label", "type", "name")


def _unwrap_field(value: Any) -> Any:
    """The one option that the object of a field calls right, or the word that it holds."""
    options = list(find_object_verdicts(value))
    right = [option.name for option in options if option.is_right]
    if len(right) == 1:
        return right[0]
    held = [value[name] for name in _HOLDS if name in value] if isinstance(value, dict) else []
    return held[0] if held and not options else value


_VALIDITY = re.compile(r"\b(?:in)?valid|syntax|syntactic|\bpars|语法|合法", re.I)


def _list_syntax_verdicts(text: str, verdicts: list[Verdict], fields: Sequence[str]) -> set[bool]:
    """Whether there is an error, as tables and objects say that judge the answers, statements or
    clauses."""
    if list(fields) != ["has_syntax_error"]:
        return set()
    objects = [_parse_object(span) for _, span in _find_object_texts(text)]
    verdicts = [*verdicts, *(found for part in objects for found in find_object_verdicts(part))]
    errors: set[bool] = set()
    are_valid: list[bool] = []
    for name, is_right, asked in verdicts:
        answer, claim = read_verdict(name), _CLAIM.search(name)
        if answer is not None:
            errors.add(answer is is_right)
        elif claim is not None:
            errors.add((claim.lastgroup in ("faulty", "invalid")) is is_right)
        elif _VALIDITY.search(f"{name} {asked}"):
            are_valid.append(is_right)
    return errors | {not all(are_valid)} if are_valid else errors


#: A word after the name of a field, which may be followed by a remark in brackets.
_LABELLED = r"""
    (?<![/\w]){}(?!\w)[^\w\n]{{0,6}}(?:[(（][^()（）\n]{{0,20}}[)）])?[^\w\n]{{0,6}}
    (?:[:：=>|\"]|\b(?:is|are)\b|[为是])[^\w\n]{{0,8}}(\w++)(?!\W{{0,4}}(?:or\b|或)|[|/]\w)"""
_FORMS = re.compile(r"\{[^{}]*+\}(?:\W*(?:or|或者?|vs|versus)\W*\{[^{}]*+\})+", re.I)
_TABULAR = frozenset(("columns", "rows", "steps"))  # fields that no single word fills


def _read_labelled_words(text: str, fields: Sequence[str]) -> dict[str, Any] | None:
    """The one word that follows the name of each field, in lines, tags, cells, calls or prose."""
    said: dict[str, list[str]] = {}
    text = _FORMS.sub("", text)
    for field in fields:
        words = re.findall(_LABELLED.format(_label(field)), text, re.I | re.X)
        if field in _TABULAR or not words or re.search(rf'"{words[-1]}\Z', text):  # cut
            return None
        said[field] = words
    if any(len({word.lower() for word in words}) > 1 for words in said.values()):
        lines = len(re.findall(rf"(?m)^\W*{_label(fields[0])}", text))
        if {len(words) for words in said.values()} != {lines}:  # not a whole answer each time
            return None
    return {field: words[-1] for field, words in said.items()}


def _label(field: str) -> str:
    return re.escape(field).replace("_", r"[\s_-]?")


# A syntax verdict in words.

#: "Valid" behind a label; without one it may be said of the question.
#: The yes or no that an answer, its last line, or what follows a label or a question begins with.
_WORD = compile_pattern("yes_or_no")
#: Claims in sentences, the clean ones first, as they hold the words of the others.
_CLAIM = compile_pattern("claim")
_UNSURE = compile_pattern("unsure")


#: Behind a sentence, and before the half of one that begins with "but".
_SENTENCE_END = re.compile(r"(?<=[.!?。！？\n])|(?<=[,，])(?=\s*(?:(?:but|although)\b|但))", re.I)


def _read_syntax_claim(text: str, fields: Sequence[str]) -> dict[str, Any] | None:
    """What an answer in words says of a syntax error, None where it says both or is not sure."""
    if list(fields) != ["has_syntax_error"]:
        return None
    text = text[-4_000:].strip()
    if text in ("0", "1"):
        return {fields[0]: text}
    words = list(_WORD.finditer(text))
    labelled = [word for word in words if word["label"] or word["last"]]
    said = {word["yes"] is not None for word in labelled[-1:] or words}
    for sentence in _SENTENCE_END.split(re.sub(r"`[^`\n]*`|\{[^{}]*\}", "x", text)):
        if not _UNSURE.search(sentence):
            claims = [claim.lastgroup for claim in _CLAIM.finditer(sentence)]
            said |= {claim in ("faulty", "invalid") for claim in claims} if not labelled else set()
    return {fields[0]: "yes" if said.pop() else "no"} if len(said) == 1 else None


_SHORT = 12  # words


def _read_class_words(text: str, fields: Sequence[str]) -> dict[str, Any] | None:
    """The one class and the one type of statement that an answer in words or a list names."""
    if set(fields) != {"sql_type", "statement_type"} or len(text) > 4_000:
        return None
    text = re.sub(r"`[^`\n]*`", "", text)
    text = text.upper() if len(text.split()) < _SHORT else text  # no room for English verbs
    for reading in (
        re.sub(r"\([^()\n]*\)|（[^（）\n]*）", "", text),
        text,
    ):  # first without remarks
        words = set(re.findall(r"\b[A-Z]{3,}\b", reading))
        classes = sorted(words & set(STATEMENT_TYPES.values()))
        kinds = sorted(words & set(STATEMENT_TYPES))
        if len(classes) == len(kinds) == 1:
            return {"sql_type": classes[0], "statement_type": kinds[0]}
    return None


#: A column as PostgreSQL's client prints it.
_ONE_COLUMN = re.compile(
    r"^[ \t]*(\w+)[ \t]*\n-{2,}\n((?:[^\n|]{0,200}\n){0,50}?)\(\d+ rows?\)", re.M
)


class _Table(NamedTuple):
    """A table in a text: the line before it, its cells, the head first."""

    before: str
    lines: list[list[str | None]]


def _find_tables(text: str) -> Iterator[_Table]:
    """The tables of Markdown, of the clients of servers, of HTML and of CSV."""
    lines = text.split("\n")
    before, end = "", 0
    for number, line in enumerate(lines):
        head, mark = lines[number - 1] if number else "", line.strip()
        if number < end or "---" not in mark or set(mark) - set("|+-: ") or "|" not in head:
            before = mark if mark and "|" not in mark and "---" not in mark else before
            continue
        rows = [head]
        while number + len(rows) < len(lines) and "|" in lines[number + len(rows)]:
            rows.append(lines[number + len(rows)])
        end = number + len(rows) + 1  # a rule below the rows belongs to them
        empty = "" if mark[0] in "|+:" else None  # PostgreSQL's client prints nothing for NULL
        yield _Table(
            before, [[empty if cell == "" else cell for cell in _split_cells(row)] for row in rows]
        )
    for column in _ONE_COLUMN.finditer(text):
        cells = [cell.strip() for cell in column[2].splitlines()]
        yield _Table("", [[column[1]], *([_read_cell(cell) if cell else None] for cell in cells)])
    for markup in re.split(r"<table\b", text, flags=re.I)[1:]:
        shown = split_html_rows(markup.partition("</table")[0])
        yield _Table("", [[_read_cell(c) if c else None for c in row] for row in shown])
    for body, _, language, _ in split_fences(text)[0] or [Block(text.strip())]:
        with contextlib.suppress(csv.Error):
            records = [row for row in csv.reader(body.split("\n")) if row]
            is_named = language.lower() == "csv"  # or has rows of one length under a head of names
            is_table = len({len(row) for row in records}) == 1 < min(len(records), len(records[0]))
            if is_named or (is_table and all(re.fullmatch(r"\w+", name) for name in records[0])):
                empty = "" if '""' in body else None
                yield _Table("", [[_read_cell(c) if c else empty for c in row] for row in records])


_SHORT_REPLY = 200  # characters
_EMPTY = compile_pattern("empty_result")
_FINAL_TABLE = re.compile(r"final|result|answer|output|最终|结果|答案", re.I)


def _read_rows(text: str, fields: Sequence[str]) -> dict[str, Any] | None:
    """The one table in a text, or the last of several that is called the result; or the list of
    rows that it is, as columns and rows. A table of one row may hold the fields themselves."""
    tables = list(_find_tables(text))
    table = tables[-1] if tables else None
    if table and (len(tables) == 1 or _FINAL_TABLE.search(table.before)):
        head, *rows = table.lines
        if {"columns", "rows"} <= set(fields):
            return {"columns": head, "rows": rows}
        if fields[0] == "steps" and {"table", "access"} <= set(head):
            steps = [dict(zip(head, row, strict=False)) for row in rows]
            rest = _read_labelled_words(text, fields[1:])
            return {"steps": steps} | rest if rest else None
        value = dict(zip(head, rows[0], strict=False)) if len(rows) == 1 else {}
        return _select_fields(value, fields) if len(value) >= len(fields) else None
    if not {"columns", "rows"} <= set(fields):
        return None
    if len(text) < _SHORT_REPLY and _EMPTY.search(text) and not _UNSURE.search(text):
        return {"columns": [], "rows": []}
    for body in (text.strip(), *extract_code_blocks(text)):
        lines = [line for line in body.split("\n") if line.strip()]
        listed = _parse_json(body) or [_parse_json(line) for line in lines]
        listed = (
            listed if isinstance(listed, list | dict) and any(listed) else _python_literal(body)
        )
        if isinstance(listed, dict) and listed:  # one row, or a list for each column
            cells = [cell if isinstance(cell, list) else [cell] for cell in listed.values()]
            if len({len(cell) for cell in cells}) == 1:
                rows = [list(row) for row in zip(*cells, strict=True)]
                return {"columns": list(listed), "rows": rows}
        if isinstance(listed, list) and listed and all(isinstance(row, dict) for row in listed):
            return {"columns": list(listed[0]), "rows": [list(row.values()) for row in listed]}
    return None


def _split_cells(line: str) -> list[str | None]:
    row = line.strip()
    cells = row.strip("|") if row.startswith("|") else row
    return [_read_cell(cell.strip(" `*")) for cell in cells.split("|")]


def _read_cell(cell: str) -> str | None:
    return None if cell.upper() == "NULL" else cell


_MAX_YAML = 20_000  # characters, as its reader is slow


def _read_yaml(text: str, fields: Sequence[str]) -> dict[str, Any] | None:
    """The object of a text or fence that is YAML, without anchors, its values as they stand."""
    if not _TABULAR & set(fields):
        return None
    for body in (text, *extract_code_blocks(text)):
        if len(body) > _MAX_YAML or re.search(r"[&*]\w", body) or f"{fields[0]}:" not in body:
            continue
        try:
            value = yaml.load(body, Loader=yaml.BaseLoader)  # noqa: S506 - makes nothing but text
        except (yaml.YAMLError, RecursionError, ValueError):
            continue
        if isinstance(value, dict) and all(field in value for field in fields):
            return {str(name): _fold_nulls(part) for name, part in value.items()}
    return None


def _fold_nulls(value: Any) -> Any:
    if isinstance(value, list):
        return [_fold_nulls(part) for part in value]
    if isinstance(value, dict):
        return {str(name): _fold_nulls(part) for name, part in value.items()}
    return None if value in ("null", "NULL", "~", "") else value


_ODD = str.maketrans("“”„‟｛｝［］：，\u00a0\u3000", '""""{}[]:,  ', "\u200b\u2060\ufeff")


def _replace_odd_characters(text: str) -> str:
    """The text with HTML's entities, typographic, wide and escaped marks as JSON has them."""
    return (
        html.unescape(text)
        .translate(_ODD)
        .replace("\\_", "_")
        .replace("\\{", "{")
        .replace("\\}", "}")
    )


def _find_balanced_objects(text: str) -> Iterator[tuple[int, str]]:
    """The outermost `{...}` spans and where they begin; braces in quoted strings do not count."""
    start, depth, quote, escaped = -1, 0, "", False
    for position, char in enumerate(text):
        if quote:
            if escaped:
                escaped = False
            elif char == "\\":
                escaped = True
            elif char == quote:
                quote = ""
        elif char == '"' and depth:
            quote = char
        elif char == "{":
            start, depth = (position, 1) if depth == 0 else (start, depth + 1)
        elif char == "}" and depth:
            depth -= 1
            if depth == 0:
                yield start, text[start : position + 1]


def _parse_object(text: str) -> dict[str, Any] | None:
    for reading in (_parse_json, _json_without_trailing_commas, _python_literal, _relaxed_json):
        value = reading(text)
        if isinstance(value, dict):
            return value
    return None


def _parse_json(text: str) -> Any:
    try:
        return to_json_cell(json.loads(text))
    except (ValueError, RecursionError):
        return None


def _json_without_trailing_commas(text: str) -> Any:
    return _parse_json(_TRAILING_COMMA.sub(r"\1", text))


def _python_literal(text: str) -> Any:
    """Single quotes, None, True: Python's literals are read, nothing is evaluated."""
    words = re.sub(r"\bnull\b", "None", text)
    words = re.sub(r"\btrue\b", "True", re.sub(r"\bfalse\b", "False", words))
    try:
        value = ast.literal_eval(words)
        json.dumps(value)
        return to_json_cell(value)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None


_RELAXED = re.compile(
    r"\"(?:[^\"\\]|\\.)*+\"|'(?P<single>(?:[^'\\]|\\.)*+)'|(?P<comment>//[^\n]*|/\*(?:[^*]|\*(?!/))*+\*/)"
    r"|-?\d[\w.+-]*|(?P<word>[A-Za-z_]\w*)(?P<names>(?=\s*:))?",
    re.S,
)
_WORDS = {"null": "null", "none": "null", "true": "true", "false": "false"}


def _relaxed_json(text: str) -> Any:
    """Names without quotes, comments, NULL and None, as JavaScript, SQL and Python write them."""

    def replace(token: re.Match[str]) -> str:
        if token["word"] is not None:
            is_name = token["names"] is not None
            return (
                json.dumps(token["word"])
                if is_name
                else _WORDS.get(token["word"].lower(), token["word"])
            )
        if token["single"] is not None:
            return json.dumps(token["single"].replace("\\'", "'"))
        return "" if token["comment"] else token[0]

    return _json_without_trailing_commas(_RELAXED.sub(replace, text))

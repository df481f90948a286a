"""SQL in what other languages hold it: the strings of program code, the fields of JSON and YAML.

Every pattern takes linear time in the length of the text.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from typing import Any

from evalcore.benchmarks.sql_markup import Block, read_table_row, split_fences
from evalcore.benchmarks.sql_roles import drop_wrong, judge_item
from evalcore.benchmarks.sql_text import starts_like_sql

# Strings of program code.

_STRING = re.compile(
    r"r#\"(?P<raw>.*?)(?:\"#|\Z)"
    r"|\"(?P<lines>\s*(?:SELECT|WITH|INSERT|UPDATE|DELETE|MERGE|CREATE)\s(?:[^\"\\]|\\.)*+)\"(?=\s*[);,])"
    r"|\"{3}(?P<triple>.*?)\"{3}|'{3}(?P<single>.*?)'{3}|(?<!\\)\"(?P<double>(?:[^\"\\\n]|\\.)*+)\""
    r"|(?<!\\)'(?P<plain>(?:[^'\\\n]|\\.)*+)'|`(?P<template>[^`]*)`"
    r"|<<[<~-]?[ \t]*['\"]?(?P<tag>[A-Z]\w{1,20})['\"]?\n"
    r"(?P<heredoc>(?:[^<]|<(?!<[<~-]?[ \t]*['\"]?[A-Z])){1,4000}?)\n[ \t]*(?P=tag)\b",
    re.S,
)
#: What joins two strings: operators, `.append(`, and `+=` in a statement of its own.
_GLUE = re.compile(
    r"[\s+.&|\\()]*|\s*(?:\);?\s*\w{0,30})?\.append\(\s*|\s*;?\s*\$?\w{1,30}\s*[+.]=\s*"
)


def find_host_strings(code: str) -> Iterator[Block]:
    """The statements that code of another language holds in strings; strings that are added to each
    other are one."""
    joined, end = "", 0
    for string in _STRING.finditer(code):
        body = string.group(string.lastgroup or 0)
        if string.lastgroup in ("double", "plain"):
            body = re.sub(r"\\n", "\n", body).replace("\\'", "'").replace('\\"', '"')
        glued = _GLUE.fullmatch(code, end, string.start())
        if joined and glued:
            joined += body
        else:
            yield from [Block(joined.strip())] if starts_like_sql(joined) else []
            joined = body
        end = string.end()
    yield from [Block(joined.strip())] if starts_like_sql(joined) else []


# JSON.

_FIELDS = (
    *("sql", "final_sql", "optimized_sql", "optimised_sql", "rewritten_sql", "converted_sql"),
    *("target_sql", "final_answer", "answer", "query", "result", "statement", "output"),
    *("optimized_query", "statements", "arguments"),
)
_MAX_OBJECTS = 20  # one after another
_NOT_FIELDS = re.compile(
    r"orig|source|before|input|index|explain|explan|alternat|example|think|reason|usage|note|test",
    re.I,
)


def find_json_sql(text: str) -> list[Block]:
    """The one field of an object that holds SQL, with its name; a text that is no JSON has none."""
    whole = re.fullmatch(r"\s*(\"(?:[^\"\\]|\\.)*+\")\s*", text, re.S)
    if whole:
        return _find_sql_field(_decode(whole[1], 0)[0], 8)
    start = text.find("{")
    listed = text.find("[")
    if 0 <= listed < (start if start >= 0 else len(text)) and re.match(
        r"\[\s*[{\"]", text[listed:]
    ):
        start = listed
    if start < 0 or not re.fullmatch(r"[^{}`;]{0,300}", text[:start], re.S):
        return []
    blocks: list[Block] = []
    for _ in range(_MAX_OBJECTS):
        value, end = _decode(text, start)
        blocks += _find_sql_field(value, 8)
        start = text.find("{", end) if end else -1
        if start < 0 or text[end:start].strip(", \n\t"):
            break
    return blocks


def _decode(text: str, start: int) -> tuple[Any, int]:
    """The value that begins there and where it ends, None and 0 where there is none."""
    try:
        return json.JSONDecoder(strict=False).raw_decode(text, start)
    except (ValueError, RecursionError):
        return None, 0


_ADVISED = re.compile(r"recommend|best|chosen|selected|final|prefer|(?<!in)(?:valid|correct)", re.I)
#: Numbers by which objects are ordered, the first least.
_RANKS = {"rank": 1, "priority": 1, "score": -1, "confidence": -1}


_MAX_NAME = 60  # characters


def _select_by_number(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields with lists cut to the item that the one number or name called the best tells."""
    chosen = [
        n
        for name, n in fields.items()
        if _ADVISED.search(name) and (type(n) is int or (isinstance(n, str) and len(n) < _MAX_NAME))
    ]
    if len(chosen) != 1 or chosen[0] == "" or (type(chosen[0]) is int and chosen[0] < 0):
        return fields
    return {
        name: _pick_item(item, chosen[0]) if isinstance(item, list) else item
        for name, item in fields.items()
    }


def _pick_item(items: list[Any], chosen: int | str) -> list[Any]:
    """The item of a number or a name, all where there is none."""
    if isinstance(chosen, int):
        return items[chosen:][:1] or items
    named = [item for item in items if isinstance(item, dict) and chosen in item.values()]
    return named if len(named) == 1 else items


def _find_sql_field(value: Any, depth: int) -> list[Block]:
    if not depth:
        return []
    if isinstance(value, str):
        if value.lstrip().startswith("{"):
            return _find_sql_field(_decode(value, value.find("{"))[0], depth - 1)
        fenced = split_fences(value)[0] if "```" in value else []
        body = fenced[-1].body if fenced else value.strip()
        return [Block(body)] if starts_like_sql(body) else []
    if isinstance(value, list):
        lines = [item for item in value if isinstance(item, str)]
        if len(lines) == len(value) > 1 and not all(map(starts_like_sql, lines)):
            return _find_sql_field("\n".join(lines), depth - 1)
        advised = [item for item in value if judge_item(item)]
        value = advised or drop_wrong(value)
        ranked = {
            item[name] * sign: item
            for item in value
            for name, sign in _RANKS.items()
            if isinstance(item, dict) and type(item.get(name)) in (int, float)
        }
        value = [ranked[min(ranked)]] if len(ranked) == len(value) > 1 else value
        parts = [block for item in value[:40] for block in _find_sql_field(item, depth - 1)]
        return [Block("\n".join(f"{part.body.rstrip('; ')};" for part in parts))] if parts else []
    if not isinstance(value, dict):
        return []
    named = {str(name).lower(): item for name, item in drop_wrong(value).items()}
    fields = _select_by_number(named)
    for name in _FIELDS:
        inner = _find_sql_field(fields[name], depth - 1) if name in fields else []
        if inner:
            return [Block(block.body, name.replace("_", " ")) for block in inner]
    blocks: list[Block] = []  # of fields that may be named by dialects
    for name, item in fields.items():
        if name not in _FIELDS and not _NOT_FIELDS.search(name):
            label = name.replace("_", " ")
            inner = _find_sql_field(item, depth - 1)
            blocks += [Block(part.body, part.before or label, name) for part in inner]
    return blocks


# CSV.

_CSV_HEAD = re.compile(r"\s*([\"\w ]{2,30}(?:,[\"\w ]{2,30}){1,9})\n")


def find_csv_sql(text: str) -> list[Block]:
    """The statements in the rows of a text that is a table of comma-separated values."""
    head = _CSV_HEAD.match(text)
    try:
        rows = list(csv.reader(text.splitlines(keepends=True))) if head else []
    except csv.Error:
        return []
    return [block for row in rows[1:] for block in read_table_row(rows[0], row)]


# YAML.

_YAML_FIELD = re.compile(
    r"^(?P<indent>[ \t]*(?:-[ \t]+)?)(?P<name>[A-Za-z_][\w -]{0,40}):[ \t]*"
    r"(?:[|>][-+0-9]{0,2}[ \t]*\n(?P<block>(?:[ \t]+[^\n]*\n|[ \t]*\n)+)"
    r"|(?P<string>\"(?:[^\"\\\n]|\\.)*+\"|'(?:[^'\n]|'')*+')[ \t]*\n)",
    re.M,
)


def find_yaml_sql(text: str) -> list[Block]:
    """The block scalars and the quoted strings of YAML that hold SQL, with the names of their
    fields."""
    blocks: list[Block] = []
    text, end = f"{text}\n", 0
    while (field := _YAML_FIELD.search(text, end)) is not None:
        if field["block"] is not None:
            body = _cut_block_scalar(field["block"], len(field["indent"]))
            end = field.start("block") + len(body)
        else:
            quoted, end = field["string"], field.end() - 1
            decoded = _decode(quoted, 0)[0] if quoted[0] == '"' else None
            body = decoded if isinstance(decoded, str) else quoted[1:-1].replace("''", "'")
        if starts_like_sql(body):
            name = field["name"].replace("_", " ")
            blocks.append(Block(body.strip(), f"{name}:", field["name"]))
    return [block for block in blocks if not _NOT_FIELDS.search(block.before)] or blocks


def _cut_block_scalar(block: str, indent: int) -> str:
    """The lines that stand deeper than the field they belong to."""
    lines: list[str] = []
    for line in block.split("\n"):
        if line.strip() and len(line) - len(line.lstrip()) <= indent:
            break
        lines.append(line)
    return "\n".join(lines)

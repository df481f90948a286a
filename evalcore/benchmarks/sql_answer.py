"""Reading the SQL of a free answer.

`strict` means the answer is the SQL and nothing else, as it was asked for; `lenient` means it had
to be taken out of prose. Candidates come from code fences, tags, JSON fields, inline code, labels
("Optimized SQL:", "转换后的SQL：") and bare text; prose after a statement is cut where the target
dialect parses what stands before it. Of several candidates the one that answers is read: not the
original quoted again, an alternative, an example of use or a suggested index; and of several that
are left the last, since models correct themselves. EXPLAIN output, JSON plans and prose are no SQL.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

from evalcore.benchmarks.answer_text import LIMIT, Kind, without_reasoning
from evalcore.benchmarks.sql_text import (
    VERBS,
    StatementParser,
    clean,
    ends_of,
    is_routine,
    looks_like_prose,
    only_comments,
    split_statements,
    starts_like_sql,
    words_of,
)
from evalcore.records import Record
from evalcore.sqlkit.syntax import classify_statement

#: Words that also begin English sentences count in prose only where SQL must follow them.
_START = re.compile(
    r"""(?: ^[ \t>*"'`]*(?:/\*[^\n]{0,300}?\*/[ \t]*)?
      | (?: [:：] | \b(?:is|be|use|try)[ \t] | [为是成] )[ \t*"'`]* )
      (?P<sql>\(*(?:
        SELECT\b(?!\s+(?:the|statements?|quer(?:y|ies)|only)\b)
      | WITH\s+(?:RECURSIVE\s+)?[\w"`\[\]]+\s*(?:\([^)]{0,2000}\)\s*)?AS\b
      | VALUES\s*(?:\(|ROW\b) | TABLE\s+\w+\s*(?:;|$)
      | (?:INSERT|REPLACE)\s+(?:(?:OR\s+)?\w+\s+)?INTO\b
      | UPDATE\s+[\w"`.\[\]]+(?:\s+(?:AS\s+)?\w+)?\s*(?:\bSET\b|(?:LEFT\s+|INNER\s+)?\bJOIN\b|,)
      | UPDATE\s+[\w"`.\[\]]+[^\n]{0,300}?\bSET\b | DELETE\s+(?:\w+\s+)?(?:FROM|OUTPUT)\b
      | MERGE\s+(?:INTO|\w+\s+(?:AS\s+)?(?:\w+\s+)?USING)\b | TRUNCATE\s+TABLE\b
      | CREATE\s+(?:OR\s+REPLACE\s+)?(?:UNIQUE\s+|TEMP\w*\s+|MATERIALIZED\s+|DEFINER\s*=\s*\S+\s+
        |GLOBAL\s+|LOCAL\s+|UNLOGGED\s+|(?:NON)?EDITIONABLE\s+|FORCE\s+)*
        (?:TABLE|VIEW|INDEX|FUNCTION|PROCEDURE|TRIGGER|SEQUENCE|TYPE|PACKAGE|SCHEMA|EVENT)\b
      | (?:ALTER|DROP)\s+(?:TABLE|VIEW|INDEX|SEQUENCE|FUNCTION|PROCEDURE|TRIGGER)\b
      | DO\s+\$ | BEGIN\s*$ | DECLARE(?:\s*$|\s+\w+\s) | DELIMITER\s+\S | CALL\s+\w+\s*\( ))""",
    re.I | re.M | re.X,
)
_FIELDS = (
    *("sql", "final_sql", "optimized_sql", "optimised_sql", "rewritten_sql", "converted_sql"),
    *("final_answer", "answer", "query", "result", "statement", "output", "optimized_query"),
)
_NOT_FIELDS = re.compile(r"orig|source|before|input|index|explain|explan|alternat|example", re.I)
_TAGS = re.compile(
    r"<(sql|answer|final|final_answer|final_sql|query|output|result|pre|code)>(.*?)</\1>",
    re.I | re.S,
)
_FENCE = re.compile(r"^[ \t>]*(`{3,}|~{3,})([^\n]*)$", re.M)
_INLINE = re.compile(r"(?<!`)(`{1,2})(?!`)([^`\n]{1,4000})\1(?!`)")
#: The last line of a routine.
_ROUTINE_END = re.compile(
    r"^[ \t]*(?:END\b[^\n]*|\$\w*\$[^\n]*|/[ \t]*|DELIMITER[ \t]+;)$", re.I | re.M
)
_MOST, _MOST_STARTS = 40, 16  # candidates, and those in prose
_MOST_PARSED = 30_000  # characters of a statement whose kind is read

#: What the words before a candidate say of it; the last of them counts.
_ROLES = {
    "final": r"final|corrected|convert|translat|optimi[sz]ed|rewrit|improved|better|answer|solution"
    r"|result(?:ing)?\s+(?:sql|query)|最终|转换后|优化后|改写后|改写为|重写后|答案|结果如下|应为|修正",
    "original": r"original|you\s+(?:gave|provided|sent)|your\s+(?:query|sql|statement)|as\s+given"
    r"|source\s+(?:sql|query|statement)|before\b|input\s+(?:sql|query)|原始|原\s*SQL|原语句|原查询"
    r"|源\s*SQL|优化前|转换前|改写前",
    "alternative": r"alternativ|or\s+else|another\s+(?:option|way|variant|version|possib)"
    r"|(?:could|can|may)\s+also|if\s+you\s+(?:prefer|want|need|like|are)|equivalently|variant"
    r"|option\s+(?:b|2|two)|instead,?\s+you|older\s+versions?|备选|另一种|另外|也可以|或者|如果需要|替代",
    "index": r"index|indices|索引",
    "usage": r"usage|example|how\s+to\s+(?:use|call|run|test)|to\s+(?:test|verify|check|call|run)\b"
    r"|call\s+it|sample|you\s+can\s+(?:test|verify|check)|用法|示例|例如|调用|测试|验证|使用方法",
    "rejected": r"wrong|incorrect|does\s*n[o']t\s+work|won't\s+work|not\s+valid|invalid|avoid\b"
    r"|first\s+(?:attempt|try|draft|idea)|draft|initially|naive|do\s+not\s+use|错误|不正确|不要"
    r"|初稿|草稿|第一版|不能这样",
}
_ROLE = re.compile("|".join(f"(?P<{role}>{words})" for role, words in _ROLES.items()), re.I)
#: Kinds of statements that are converted and rewritten into one statement.
_SINGLE = ("SELECT", "INSERT", "UPDATE", "DELETE", "MERGE")
_ASIDE = ("original", "alternative", "index", "usage", "rejected")
_ELLIPSIS = re.compile(r"(?<![\w'])(?:\.\.\.|…)(?![\w'])|<[a-z_ ]+ here>")


class SqlAnswer(Record, frozen=True):
    """`sql` is the text read, "" if `kind` is none."""

    kind: Kind
    sql: str = ""


class _Candidate(Record, frozen=True):
    """A piece of SQL, what the words before it call it, and how sure it is meant as code: 2 for a
    fence, a tag or a field, 1 for bare text, 0 for inline code."""

    sql: str
    role: str = ""
    form: int = 2


def read_sql(text: str, dialect: str = "", original: str = "") -> SqlAnswer:
    """The SQL of an answer, in the dialect it was asked in; `original` is the statement that the
    question quoted. Takes linear time."""
    whole = clean(text)
    rest = clean(without_reasoning(text)[-LIMIT:])
    parser = StatementParser(dialect)
    candidates = list(_candidates(rest, parser))[-_MOST:]
    pieces = [piece for one in candidates for piece in _pieces(one, dialect, original)]
    sql = _choose(pieces[-_MOST:], parser, original)
    if not sql:
        return SqlAnswer(kind="none")
    return SqlAnswer(kind="strict" if rest == whole and sql == whole else "lenient", sql=sql)


def _candidates(text: str, parser: StatementParser) -> Iterator[_Candidate]:
    """Whatever stands as code in a text, in the order of the text; of prose only where there is no
    code."""
    fields = list(_json_fields(text))
    if fields:
        yield from fields
        return
    blocks, prose = _fences(text)
    marked = [*_code(blocks[-_MOST:], parser), *_code(_tags(prose)[-_MOST:], parser)]
    if marked:
        yield from marked
        return
    yield from _bare(prose, parser)


def _code(blocks: Sequence[tuple[str, str]], parser: StatementParser) -> Iterator[_Candidate]:
    """The candidates in marked pieces, each with the words before it."""
    for body, before in blocks:
        if starts_like_sql(body):
            yield _Candidate(_cut(body, parser), _role(before))
            continue
        fields = list(_json_fields(body))
        yield from fields
        if not fields and (start := _START.search(body)) is not None:
            yield _Candidate(_cut(body[start.start("sql") :], parser), _role(before))


def _fences(text: str) -> tuple[list[tuple[str, str]], str]:
    """The bodies of code fences with the words before each, and the text with its fences cut out.

    A fence ends at a line of as many marks of its kind; an open one ends with the text.
    """
    blocks: list[tuple[str, str]] = []
    prose: list[str] = []
    end, opened, before = 0, None, ""
    for mark in _FENCE.finditer(text):
        if opened is None:
            one_line = re.match(r"[ \t]*\w*[ \t]+(.+?)[ \t]*(?:`{3,}|~{3,})[ \t]*$", mark[2])
            prose.append(text[end : mark.start()])
            before = (before + prose[-1])[-400:]
            end = mark.end()
            if one_line is not None:
                blocks.append((one_line[1], before))
                prose.append("\n")
                before += "\n"
            elif starts_like_sql(mark[2]):  # no line break after the mark
                opened, end = mark, mark.start(2)
            else:
                opened = mark
        elif mark[1].startswith(opened[1]) and not mark[2].strip():
            blocks.append((_unquoted(text[end : mark.start()]), before))
            prose.append("\n")
            before += "\n"
            end, opened = mark.end(), None
    if opened is not None:
        blocks.append((_unquoted(text[end:]), before))
    else:
        prose.append(text[end:])
    return [(body.strip(), before) for body, before in blocks if body.strip()], "".join(prose)


def _unquoted(body: str) -> str:
    """A block whose every line is quoted with `>`, without that."""
    lines = body.strip("\n").split("\n")
    quoted = all(line.lstrip().startswith(">") for line in lines)
    return "\n".join(line.lstrip()[1:].removeprefix(" ") for line in lines) if quoted else body


def _tags(text: str) -> list[tuple[str, str]]:
    if "</" not in text:
        return []
    return [
        (
            _fences(tag[2])[0][-1][0] if "```" in tag[2] and _fences(tag[2])[0] else tag[2].strip(),
            text[max(0, tag.start() - 400) : tag.start()],
        )
        for tag in _TAGS.finditer(text)
    ]


def _json_fields(text: str) -> list[_Candidate]:
    """The one field of an object that holds SQL; a text that is no JSON holds none."""
    start = text.find("{")
    if start < 0 or not re.fullmatch(r"[^{}`;]{0,300}", text[:start], re.S):
        return []
    try:
        value: Any = json.JSONDecoder(strict=False).raw_decode(text, start)[0]
    except (ValueError, RecursionError):
        return []
    return _of_object(value, 3)


def _of_object(value: Any, depth: int) -> list[_Candidate]:
    if not isinstance(value, dict) or not depth:
        return []
    fields = {str(name).lower(): item for name, item in value.items()}
    for name in (*_FIELDS, *fields):
        item = fields.get(name)
        if _NOT_FIELDS.search(name):
            continue
        if isinstance(item, str):
            body = _fences(item)[0][-1][0] if "```" in item and _fences(item)[0] else item
            if starts_like_sql(body):
                return [_Candidate(body.strip())]
        elif inner := _of_object(item, depth - 1):
            return inner
    return []


def _bare(text: str, parser: StatementParser) -> Iterator[_Candidate]:
    """SQL that stands in prose: from a line that begins like SQL to where it ends, or inline."""
    end = 0
    if starts_like_sql(text) and not looks_like_prose(text) and not _START.match(text):
        sql = _cut(text, parser)
        yield _Candidate(sql, form=1)
        end = len(sql)
    for _ in range(_MOST_STARTS):
        start = _START.search(text, end)
        if start is None:
            break
        at = start.start("sql")
        if not end and starts_like_sql(text) and only_comments(text[:at]):
            at = 0
        sql = _cut(text[at:], parser)
        quoted = text[at - 1 : at] if at else ""
        if quoted in ('"', "'", "`", "*") and (stop := text.find(quoted, at)) > 0:
            sql = text[at:stop] if stop - at < len(sql) or quoted != "'" else sql
        yield _Candidate(sql.strip(), _role(text[max(0, end, at - 300) : at]), form=1)
        end = at + max(1, len(sql))
    if end:
        return
    for code in _INLINE.finditer(text):
        if starts_like_sql(code[2]) and parser.accepts(code[2]):
            before = text[max(0, code.start() - 200) : code.start()]
            yield _Candidate(code[2].strip(), _role(before), form=0)


def _cut(text: str, parser: StatementParser) -> str:
    """The SQL that a text begins with, without the prose that follows it.

    Prose is cut where it begins a line or follows a semicolon, and where what stands before it
    parses; a text in which nothing does is cut at the first line that reads like prose.
    """
    if is_routine(text):
        last = max((end.end() for end in _ROUTINE_END.finditer(text)), default=0)
        return (
            text[:last].strip() if last and looks_like_prose(text[last:].lstrip()) else text.strip()
        )
    ends = list(islice(ends_of(text, parser.dialect), 8))
    if not ends or parser.accepts(text):
        return text.strip()
    for end in ends:
        if parser.accepts(text[:end]):
            return text[:end].strip()
    return text[: ends[0]].strip()


def _role(before: str) -> str:
    """What the words right before a candidate call it."""
    lines = [line for line in before.strip().split("\n") if line.strip()]
    if not lines:
        return ""
    named = [match.lastgroup or "" for match in _ROLE.finditer(lines[-1][-160:])]
    if "final" in named and not {"alternative", "rejected", "usage"} & set(named):
        return "original" if "original" in named and named[-1] == "original" else "final"
    return next((role for role in reversed(named) if role in _ASIDE), "")


def _pieces(one: _Candidate, dialect: str, original: str) -> Iterator[_Candidate]:
    """The statements of a candidate apart, where one statement was asked for."""
    asked = _class_of(original, dialect) if original else None
    if asked not in _SINGLE or is_routine(one.sql):
        yield one
        return
    if len(split_statements(original, dialect)) != 1:
        yield one
        return
    statements = split_statements(one.sql, dialect)
    if len(statements) < 2 or len(statements) > _MOST:
        yield one
        return
    for statement in statements:
        comments = re.match(r"(?:\s|--[^\n]*\n|#[^\n]*\n|/\*.*?\*/)*", statement, re.S)
        named = _role(comments[0]) if comments else ""
        yield _Candidate(statement.strip(), named or one.role, one.form)


def _choose(candidates: Sequence[_Candidate], parser: StatementParser, original: str) -> str:
    """The candidate that answers; each rule counts only where some candidate keeps it."""
    left = [one for one in candidates if one.sql]
    if not left:
        return ""
    dialect = parser.dialect
    asked = _class_of(original, dialect) if original else None
    quoted = words_of(original)
    rules: tuple[Callable[[_Candidate], bool], ...] = (
        lambda one: not original or words_of(one.sql) != quoted,
        lambda one: not _ELLIPSIS.search(one.sql),
        lambda one: asked is None or _class_of(one.sql, dialect) == asked,
        lambda one: one.role not in _ASIDE,
        lambda one: len(one.sql) > _MOST_PARSED or parser.accepts(one.sql),
        lambda one: one.role == "final",
        lambda one: one.form > 0,
    )
    aside = [one for one in left if one.role in ("alternative", "index", "usage", "rejected")]
    if original and any(words_of(one.sql) == quoted for one in left):
        others = [one for one in left if words_of(one.sql) != quoted]
        if others and all(one in aside for one in others):
            # the original itself is the answer, and the rest is only offered beside it
            left = [one for one in left if words_of(one.sql) == quoted]
    due = 1 if is_routine(original) else len(split_statements(original, dialect))
    meant = [one for one in left if one.role not in _ASIDE]
    if due == len(meant) > 1:  # the parts of a script, each in a block of its own
        return "\n".join(f"{one.sql.rstrip('; ')};" for one in meant)
    for rule in rules:
        left = [one for one in left if rule(one)] or left
    return left[-1].sql


def _class_of(sql: str, dialect: str) -> str | None:
    """The kind of a statement by its first verb: SELECT, INSERT, CREATE ROUTINE, ..."""
    if is_routine(sql):
        return "ROUTINE"
    if len(sql) > _MOST_PARSED:
        return None
    known = classify_statement(sql, dialect or "postgres")
    word = re.match(rf"[\s(;]*({'|'.join(VERBS)})\b", sql, re.I)
    return known[1] if known else (word[1].upper() if word else None)

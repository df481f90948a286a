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

from evalcore.benchmarks.answer_scoring import LIMIT, ExtractionKind, strip_reasoning
from evalcore.benchmarks.sql_text import (
    VERBS,
    StatementParser,
    find_statement_ends,
    is_only_comments,
    is_routine,
    looks_like_prose,
    normalize_answer_text,
    normalize_statement,
    split_statements,
    starts_like_sql,
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
_MAX_CANDIDATES, _MAX_PROSE_STARTS = 40, 16  # candidates, and those in prose
_MAX_PARSED_CHARS = 30_000  # characters of a statement whose kind is read

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

    kind: ExtractionKind
    sql: str = ""


class _Candidate(Record, frozen=True):
    """A piece of SQL, what the words before it call it, and how sure it is meant as code: 2 for a
    fence, a tag or a field, 1 for bare text, 0 for inline code."""

    sql: str
    role: str = ""
    form: int = 2


def extract_sql(text: str, dialect: str = "", original: str = "") -> SqlAnswer:
    """The SQL of an answer, in the dialect it was asked in; `original` is the statement that the
    question quoted. Takes linear time."""
    whole = normalize_answer_text(text)
    rest = normalize_answer_text(strip_reasoning(text)[-LIMIT:])
    parser = StatementParser(dialect)
    candidates = list(_find_sql_candidates(rest, parser))[-_MAX_CANDIDATES:]
    pieces = [
        piece
        for candidate in candidates
        for piece in _split_candidate(candidate, dialect, original)
    ]
    sql = _choose_candidate(pieces[-_MAX_CANDIDATES:], parser, original)
    if not sql:
        return SqlAnswer(kind="none")
    return SqlAnswer(kind="strict" if rest == whole and sql == whole else "lenient", sql=sql)


def _find_sql_candidates(text: str, parser: StatementParser) -> Iterator[_Candidate]:
    """Whatever stands as code in a text, in the order of the text; of prose only where there is no
    code."""
    fields = list(_json_fields(text))
    if fields:
        yield from fields
        return
    blocks, prose = _split_fences(text)
    marked = [
        *_find_code_candidates(blocks[-_MAX_CANDIDATES:], parser),
        *_find_code_candidates(_find_tagged_blocks(prose)[-_MAX_CANDIDATES:], parser),
    ]
    if marked:
        yield from marked
        return
    yield from _find_bare_sql(prose, parser)


def _find_code_candidates(
    blocks: Sequence[tuple[str, str]], parser: StatementParser
) -> Iterator[_Candidate]:
    """The candidates in marked pieces, each with the words before it."""
    for body, before in blocks:
        if starts_like_sql(body):
            yield _Candidate(_cut_trailing_prose(body, parser), _detect_candidate_role(before))
            continue
        fields = list(_json_fields(body))
        yield from fields
        if not fields and (start := _START.search(body)) is not None:
            yield _Candidate(
                _cut_trailing_prose(body[start.start("sql") :], parser),
                _detect_candidate_role(before),
            )


def _split_fences(text: str) -> tuple[list[tuple[str, str]], str]:
    """The bodies of code fences with the words before each, and the text with its fences cut out.

    A fence ends at a line of as many marks of its kind; an open one ends with the text.
    """
    blocks: list[tuple[str, str]] = []
    prose: list[str] = []
    end, opened, before = 0, None, ""
    for mark in _FENCE.finditer(text):
        if opened is None:
            single_line_match = re.match(
                r"[ \t]*\w*[ \t]+(.+?)[ \t]*(?:`{3,}|~{3,})[ \t]*$", mark[2]
            )
            prose.append(text[end : mark.start()])
            before = (before + prose[-1])[-400:]
            end = mark.end()
            if single_line_match is not None:
                blocks.append((single_line_match[1], before))
                prose.append("\n")
                before += "\n"
            elif starts_like_sql(mark[2]):  # no line break after the mark
                opened, end = mark, mark.start(2)
            else:
                opened = mark
        elif mark[1].startswith(opened[1]) and not mark[2].strip():
            blocks.append((_strip_quote_marks(text[end : mark.start()]), before))
            prose.append("\n")
            before += "\n"
            end, opened = mark.end(), None
    if opened is not None:
        blocks.append((_strip_quote_marks(text[end:]), before))
    else:
        prose.append(text[end:])
    return [(body.strip(), before) for body, before in blocks if body.strip()], "".join(prose)


def _strip_quote_marks(body: str) -> str:
    """A block whose every line is quoted with `>`, without that."""
    lines = body.strip("\n").split("\n")
    quoted = all(line.lstrip().startswith(">") for line in lines)
    return "\n".join(line.lstrip()[1:].removeprefix(" ") for line in lines) if quoted else body


def _find_tagged_blocks(text: str) -> list[tuple[str, str]]:
    if "</" not in text:
        return []
    return [
        (
            _split_fences(tag[2])[0][-1][0]
            if "```" in tag[2] and _split_fences(tag[2])[0]
            else tag[2].strip(),
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
    return _find_sql_field(value, 3)


def _find_sql_field(value: Any, depth: int) -> list[_Candidate]:
    if not isinstance(value, dict) or not depth:
        return []
    fields = {str(name).lower(): item for name, item in value.items()}
    for name in (*_FIELDS, *fields):
        item = fields.get(name)
        if _NOT_FIELDS.search(name):
            continue
        if isinstance(item, str):
            body = (
                _split_fences(item)[0][-1][0] if "```" in item and _split_fences(item)[0] else item
            )
            if starts_like_sql(body):
                return [_Candidate(body.strip())]
        elif inner := _find_sql_field(item, depth - 1):
            return inner
    return []


def _find_bare_sql(text: str, parser: StatementParser) -> Iterator[_Candidate]:
    """SQL that stands in prose: from a line that begins like SQL to where it ends, or inline."""
    end = 0
    if starts_like_sql(text) and not looks_like_prose(text) and not _START.match(text):
        sql = _cut_trailing_prose(text, parser)
        yield _Candidate(sql, form=1)
        end = len(sql)
    for _ in range(_MAX_PROSE_STARTS):
        start = _START.search(text, end)
        if start is None:
            break
        at = start.start("sql")
        if not end and starts_like_sql(text) and is_only_comments(text[:at]):
            at = 0
        sql = _cut_trailing_prose(text[at:], parser)
        quoted = text[at - 1 : at] if at else ""
        if quoted in ('"', "'", "`", "*") and (stop := text.find(quoted, at)) > 0:
            sql = text[at:stop] if stop - at < len(sql) or quoted != "'" else sql
        yield _Candidate(
            sql.strip(), _detect_candidate_role(text[max(0, end, at - 300) : at]), form=1
        )
        end = at + max(1, len(sql))
    if end:
        return
    for code in _INLINE.finditer(text):
        if starts_like_sql(code[2]) and parser.accepts(code[2]):
            before = text[max(0, code.start() - 200) : code.start()]
            yield _Candidate(code[2].strip(), _detect_candidate_role(before), form=0)


def _cut_trailing_prose(text: str, parser: StatementParser) -> str:
    """The SQL that a text begins with, without the prose that follows it.

    Prose is cut where it begins a line or follows a semicolon, and where what stands before it
    parses; a text in which nothing does is cut at the first line that reads like prose.
    """
    if is_routine(text):
        last = max((end.end() for end in _ROUTINE_END.finditer(text)), default=0)
        return (
            text[:last].strip() if last and looks_like_prose(text[last:].lstrip()) else text.strip()
        )
    ends = list(islice(find_statement_ends(text, parser.dialect), 8))
    if not ends or parser.accepts(text):
        return text.strip()
    for end in ends:
        if parser.accepts(text[:end]):
            return text[:end].strip()
    return text[: ends[0]].strip()


def _detect_candidate_role(before: str) -> str:
    """What the words right before a candidate call it."""
    lines = [line for line in before.strip().split("\n") if line.strip()]
    if not lines:
        return ""
    named = [match.lastgroup or "" for match in _ROLE.finditer(lines[-1][-160:])]
    if "final" in named and not {"alternative", "rejected", "usage"} & set(named):
        return "original" if "original" in named and named[-1] == "original" else "final"
    return next((role for role in reversed(named) if role in _ASIDE), "")


def _split_candidate(candidate: _Candidate, dialect: str, original: str) -> Iterator[_Candidate]:
    """The statements of a candidate apart, where one statement was asked for."""
    expected_class = _detect_statement_class(original, dialect) if original else None
    if expected_class not in _SINGLE or is_routine(candidate.sql):
        yield candidate
        return
    if len(split_statements(original, dialect)) != 1:
        yield candidate
        return
    statements = split_statements(candidate.sql, dialect)
    if len(statements) < 2 or len(statements) > _MAX_CANDIDATES:
        yield candidate
        return
    for statement in statements:
        comments = re.match(r"(?:\s|--[^\n]*\n|#[^\n]*\n|/\*.*?\*/)*", statement, re.S)
        named = _detect_candidate_role(comments[0]) if comments else ""
        yield _Candidate(statement.strip(), named or candidate.role, candidate.form)


def _choose_candidate(
    candidates: Sequence[_Candidate], parser: StatementParser, original: str
) -> str:
    """The candidate that answers; each rule counts only where some candidate keeps it."""
    remaining = [candidate for candidate in candidates if candidate.sql]
    if not remaining:
        return ""
    dialect = parser.dialect
    expected_class = _detect_statement_class(original, dialect) if original else None
    quoted = normalize_statement(original)
    rules: tuple[Callable[[_Candidate], bool], ...] = (
        lambda candidate: not original or normalize_statement(candidate.sql) != quoted,
        lambda candidate: not _ELLIPSIS.search(candidate.sql),
        lambda candidate: (
            expected_class is None
            or _detect_statement_class(candidate.sql, dialect) == expected_class
        ),
        lambda candidate: candidate.role not in _ASIDE,
        lambda candidate: len(candidate.sql) > _MAX_PARSED_CHARS or parser.accepts(candidate.sql),
        lambda candidate: candidate.role == "final",
        lambda candidate: candidate.form > 0,
    )
    aside = [
        candidate
        for candidate in remaining
        if candidate.role in ("alternative", "index", "usage", "rejected")
    ]
    if original and any(normalize_statement(candidate.sql) == quoted for candidate in remaining):
        others = [
            candidate for candidate in remaining if normalize_statement(candidate.sql) != quoted
        ]
        if others and all(candidate in aside for candidate in others):
            # the original itself is the answer, and the rest is only offered beside it
            remaining = [
                candidate for candidate in remaining if normalize_statement(candidate.sql) == quoted
            ]
    due = 1 if is_routine(original) else len(split_statements(original, dialect))
    intended = [candidate for candidate in remaining if candidate.role not in _ASIDE]
    if due == len(intended) > 1:  # the parts of a script, each in a block of its own
        return "\n".join(f"{candidate.sql.rstrip('; ')};" for candidate in intended)
    for rule in rules:
        remaining = [candidate for candidate in remaining if rule(candidate)] or remaining
    return remaining[-1].sql


def _detect_statement_class(sql: str, dialect: str) -> str | None:
    """The kind of a statement by its first verb: SELECT, INSERT, CREATE ROUTINE, ..."""
    if is_routine(sql):
        return "ROUTINE"
    if len(sql) > _MAX_PARSED_CHARS:
        return None
    classified = classify_statement(sql, dialect or "postgres")
    word = re.match(rf"[\s(;]*({'|'.join(VERBS)})\b", sql, re.I)
    return classified[1] if classified else (word[1].upper() if word else None)

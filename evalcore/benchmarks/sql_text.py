"""What a text of SQL looks like without being run: where its statements end, and what is prose.

Everything here takes linear time in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from evalcore.benchmarks.sql_prose import ENGLISH, SQL_LINE, compile_pattern, looks_like_prose

_VERBS = (
    "SELECT WITH VALUES TABLE INSERT UPDATE DELETE MERGE REPLACE UPSERT CREATE ALTER DROP TRUNCATE "
    "RENAME COMMENT GRANT REVOKE BEGIN DECLARE DO CALL EXEC EXECUTE SET LOCK DELIMITER START IF "
    "USE PIVOT FROM"
)
VERBS = tuple(_VERBS.split())
_LEADING = r"(?:\s|;|\(|--[^\n]*(?:\n|$)|/\*(?:[^*]|\*(?!/))*\*/)*+"
_SQL = re.compile(rf"{_LEADING}(?:{'|'.join(VERBS)})\b", re.I)
_INVISIBLE = re.compile(
    "[\ufeff\u200b\u2060\u00ad\u200e\u200f\u202a-\u202e\u2066-\u2069]|\x1b\\[[0-9;]*m"
)
_JOINERS = re.compile("(?<=[\x00-\x7f])[\u200c\u200d]|[\u200c\u200d](?=[\x00-\x7f])")
_WIDE_SPACES = re.compile("'[^'\n]*'|[\u00a0\u2000-\u200a\u202f\u3000]")
_ROUTINE = compile_pattern("routine")
# brackets and characters that a parser is given
_MAX_BRACKET_DEPTH, _MAX_PARSED_LENGTH = 80, 30_000


def normalize_answer_text(text: str) -> str:
    """Without outer blanks, invisible characters and carriage returns; wide spaces outside of
    quotes are plain ones."""
    text = re.sub("\r\n?|[\u2028\u2029\x85]", "\n", text).replace("\0", "")
    text = _JOINERS.sub("", _INVISIBLE.sub("", text))
    return _WIDE_SPACES.sub(lambda m: m[0] if m[0].startswith("'") else " ", text).strip()


def starts_like_sql(text: str) -> bool:
    """Whether a text begins with a word that begins statements, not with an English sentence."""
    return _SQL.match(text) is not None and ENGLISH.match(text) is None


def is_routine(sql: str) -> bool:
    """Whether a text is a program or creates one, whose semicolons end no statement of ours."""
    return _ROUTINE.match(sql) is not None and ENGLISH.match(sql) is None


def is_only_comments(text: str) -> bool:
    """Whether a text holds nothing that a server would run."""
    return not re.sub(r"--[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/|\Z)|[\s(;]", "", text)


def normalize_statement(sql: str) -> str:
    """A statement in lower case without layout, comments and what ends it, to compare by."""
    bare = re.sub(
        r"--[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/|\Z)|^[ \t]*(?:/|GO)[ \t]*$", " ", sql, flags=re.M
    )
    return re.sub(r"\s*([(),=<>]+)\s*", r"\1", " ".join(bare.lower().replace(";", " ").split()))


_STARTS = r"(?=\s*(?:SELECT|WITH|UPDATE|DELETE|INSERT)\b)"
_COMMON = (
    r"\"(?:[^\"]|\"\")*(?:\"|\Z) | `[^`]*(?:`|\Z)"
    rf" | --(?!>{_STARTS})[^\n]* | /\*(?:[^*]|\*(?!/))*(?:\*/|\Z)"
    r" | (?P<dollar>\$(?:[A-Za-z_]\w*)?\$) | (?P<mark>[();\n→⇒➜≡✅❌✔✗。—–]"
    r"|,(?=\s*(?:这|因为|其中|从而|避免|以便))"
    rf"|(?:[=-]+>|===?){_STARTS}|[.!](?=[ ]+(?-i:[A-Z])[a-z'’]*[ ,])"
    r"|,(?=\s+(?:which|so|because|since)\s+(?!AS\b|FROM\b)[a-z]+\s+[a-z])|\b(?:because|so\s+that|instead\s+of)\b"
    r"|\bwhich\s+(?:is|are|will|can|lets|[a-z]+s)\b|\b(?:returns?|gives?|does|runs|works|produces)\s+"
    r"(?:the|an?|exactly|only|all|it|this|much|faster|in|on|as)\b)"
)
_LEXER = re.compile(rf"'(?:[^']|'')*(?:'|\Z) | {_COMMON}", re.X | re.I)
_LEXER_MYSQL = re.compile(
    rf"'(?:[^'\\]|\\.|'')*(?:'|\Z) | \#[^\n]* | {_COMMON}", re.X | re.S | re.I
)


def _find_statement_marks(text: str, dialect: str) -> Iterator[tuple[int, str]]:
    """The semicolons, line breaks and characters that are no SQL outside of quotes, comments and
    brackets, by position."""
    lexer = _LEXER_MYSQL if dialect == "mysql" else _LEXER
    depth = position = 0
    while (token := lexer.search(text, position)) is not None:
        position = token.end()
        if token["dollar"]:
            closing = text.find(token["dollar"], position)
            position = len(text) if closing < 0 else closing + len(token["dollar"])
        elif token["mark"] == ")" and depth == 0:  # of words round the statement, or of an item
            item = re.search(
                r"\n[ \t]{0,4}\w{1,2}\Z", text[max(0, token.start() - 7) : token.start()]
            )
            yield token.start() - (len(item[0]) if item else 0), ")"
        elif token["mark"] in ("(", ")"):
            depth += 1 if token["mark"] == "(" else -1
        elif token["mark"] and depth == 0:
            yield token.start(), token["mark"]


#: What may follow a semicolon and still be SQL.
_CODE = re.compile(
    rf"(?:{'|'.join(VERBS)}|EXPLAIN|ANALYZE|SAVEPOINT|RELEASE|COMMIT|ROLLBACK|END|GO|SHOW)\b|[-/;(\\$]",
    re.I,
)
#: After these a statement goes on.
_UNFINISHED = compile_pattern("unfinished")
#: After a blank line these begin another statement, unless the text parses as one.
_NEXT_STATEMENT = re.compile(r"[^;\s]\n[ \t]*\n\s*(?:SELECT|WITH|UPDATE|DELETE|CREATE)\b", re.I)
_MAX_COMMENT_LINES = 12  # looked past for where a statement stops
_MAX_MARKS = 3_000  # lines and semicolons behind which the end of a statement is looked for


def _is_unfinished(text: str, end: int) -> bool:
    """Whether a statement goes on after `end`, comments before it left out."""
    before = text[max(0, end - 1_000) : end]
    for _ in range(_MAX_COMMENT_LINES):
        start = before.rfind("\n") + 1
        if not start or not before[start:].lstrip().startswith("--"):
            break
        before = before[: start - 1]
    before = re.sub(r"--[^\n]*\Z", "", before[-400:])
    return _UNFINISHED.search(before[-60:]) is not None


def find_statement_ends(text: str, dialect: str) -> Iterator[int]:
    """Find where a statement may end if prose follows it."""
    for position, mark in islice(_find_statement_marks(text, dialect), _MAX_MARKS):
        end = position + (mark == ";")
        rest = text[end : end + 400].lstrip()
        if mark == "\n" and _is_unfinished(text, end):
            continue
        next_statement = mark == "\n" and _NEXT_STATEMENT.match(text, max(0, position - 1))
        is_no_code = mark == ";" and rest and not _CODE.match(rest)
        if mark not in ";\n" or next_statement or is_no_code or looks_like_prose(rest):
            yield end


def split_statements(sql: str, dialect: str) -> list[str]:
    """The statements of a script without their semicolons' empty rests."""
    statements, start = [], 0
    for position, mark in _find_statement_marks(sql, dialect):
        if mark == ";":
            statements.append(sql[start : position + 1])
            start = position + 1
    statements.append(sql[start:])
    return [part for part in statements if not is_only_comments(part)]


_CLIENT_COMMAND = compile_pattern("client_command", re.M)


def drop_client_commands(sql: str, dialect: str) -> str:
    """Without lines that only a client understands; `GO` and `\\G` end a statement. In a routine
    only those at its end, as its body may hold the same words."""
    sql = (
        re.sub(r"(?<![ \t])[ \t]*\\[Gg]\b[ \t]*;?(?=\s|$)", ";", sql) if dialect == "mysql" else sql
    )
    sql = re.sub(r"(?<![ \t])[ \t]*\\[Gg](?:x|exec)?[ \t]*;?\s*\Z", ";", sql)
    if not is_routine(sql):
        return _CLIENT_COMMAND.sub(
            lambda line: ";" if line[0].strip().upper()[:2] == "GO" else "", sql
        )
    return sql


#: Words that open and close the blocks of a routine, and what hides such words.
_BLOCK_WORDS = compile_pattern("block_words")
#: What may stand between the last word of a routine and its end.
_AFTER_END = re.compile(
    r"[ \t]*(?:[\w.\"`]+(?=[ \t]*(?:[;/$|@]|\n|\Z)))?[ \t]*(?:(?:;|//|\$\$|[|@#/]{1,2})[ \t]*)*"
    r"(?:\s*\n[ \t]*DELIMITER[ \t]+;[ \t]*(?=\n|\Z))?",
    re.I,
)
_USAGE = re.compile(
    r"(?:CALL|EXEC|EXECUTE|SELECT|SHOW|PRINT|VALUES|VARIABLE|VAR|SET|INSERT|UPDATE|DELETE|DO(?=\s+\$))\b",
    re.I,
)
#: Not what a client prints when it has run one.
_DEFINITION = re.compile(
    r"(?:CREATE|ALTER|GRANT|DROP|COMMENT|DELIMITER)\b"
    r"(?!(?:[ \t]+\w+)?[ \t]*(?:\n[ \t]*\n|\n\$|\Z))",
    re.I,
)
_USAGE_COMMENT = re.compile(r"usage|example|how to|call|test|用法|示例|调用|测试", re.I)
_TSQL = re.compile(
    r"(?<![\w@])@{1,2}[A-Za-z]\w|\[dbo\]|\bdbo\.|\bNVARCHAR\b|^[ \t]*GO[ \t]*$", re.I | re.M
)
#: A label, and below it another definition than the one before it.
_LABELLED_DEFINITION = re.compile(
    r"^\W*[A-Z\u3400-\u9fff][^\n;()=']{2,60}[:：]\W*\n(?=\s*(?:CREATE|DELIMITER)\b)", re.M
)
#: A batch of commands of a client after the one that defines something.
_USAGE_BATCH = compile_pattern("usage_batch", re.M)
_BATCH_END = re.compile(r"^[ \t]*(?:END\b[^\n]*|GO[ \t]*)$", re.I | re.M)


def find_routine_end(text: str, dialect: str) -> int:
    """Where the last routine of a text ends that begins with one: before prose, before the commands
    of a client, and before statements that use it."""
    delimited = re.match(r"\s*DELIMITER\b", text, re.I) is not None
    if (labelled := _LABELLED_DEFINITION.search(text)) is not None:
        text = text[: labelled.start()]
    if dialect != "tsql":
        end, mark = _find_block_end(text, dialect, delimited=delimited), _TSQL.search(text[:2_000])
        if mark is None or mark.start() >= end:
            return end
    if (usage := _USAGE_BATCH.search(text)) is not None:
        text = text[: usage.start()]
    last = max((end.end() for end in _BATCH_END.finditer(text)), default=0)  # without BEGIN and END
    if last and looks_like_prose(text[last:].lstrip()):
        return last
    return last + next(find_statement_ends(text[last:], dialect), len(text) - last)


def _find_block_end(text: str, dialect: str, *, delimited: bool) -> int:
    """Where the last block of BEGIN and END, or of dollar quotes, and what belongs to it end."""
    depth = position = last = 0
    closed = False
    while (token := _BLOCK_WORDS.search(text, position)) is not None:
        position = token.end()
        if token["opens"]:
            depth += 1
        elif token["dollar"] and not delimited:
            closing = text.find(token["dollar"], position)
            position = len(text) if closing < 0 else closing + len(token["dollar"])
            closed, last = True, position
            end = text.find("\n", position)
            if end >= 0 and ";" not in text[position:end] and looks_like_prose(text[end:].lstrip()):
                return end
        elif token["closes"]:
            depth = max(0, depth - 1)
            closed, last = closed or depth == 0, position
            end = _AFTER_END.match(text, position).end()  # type: ignore[union-attr]
            if depth == 0 and _is_after_routine(text, end):
                return end
        elif (
            token["stop"]
            and (closed or dialect == "mysql")
            and depth == 0
            and _is_after_routine(text, position)
        ):
            return position
    return last + next(find_statement_ends(text[last:], dialect), len(text) - last)


def _is_after_routine(text: str, end: int) -> bool:
    """Whether what stands from `end` on is no part of a routine nor of another definition."""
    batch_ends = False
    rest = text[end : end + 2_000].lstrip()
    while rest:
        comment = re.match(r"--[^\n]*|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z)", rest)
        command = _CLIENT_COMMAND.match(rest)
        if comment and _USAGE_COMMENT.search(comment[0]):
            return True
        if not comment and not command:
            break
        batch_ends = batch_ends or command is not None
        rest = rest[(comment or command).end() :].lstrip()  # type: ignore[union-attr]
    if _DEFINITION.match(rest):
        return False
    if not rest or batch_ends or looks_like_prose(rest):
        return True
    return _USAGE.match(rest) is not None


#: Marks of Chinese sentences, two words in a row of a script that is no name's, a label.
_SENTENCE = compile_pattern("sentence", re.M)
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`|--[^\n]*|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z)")
#: What sqlglot does not know of SQL Server's changes.
_OUTPUT_CLAUSE = re.compile(
    r"\bOUTPUT\s+(?:(?:inserted|deleted)\.(?:\w+|\*|\[[^\]\n]*\])(?:\s+AS\s+\w+)?\s*,?\s*)+", re.I
)


class StatementParser:
    """Says of texts whether they are statements of one dialect, until it has read too much. sqlglot
    reads some 50,000 characters a second; the budget bounds what one answer may cost."""

    def __init__(self, dialect: str, budget: int = 100_000) -> None:
        self.dialect, self.budget = dialect, budget
        self._accepted_by_sql: dict[str, bool] = {}

    def accepts(self, sql: str) -> bool:
        """Whether a text is nothing but statements that sqlglot knows, as it takes any text for the
        rest of one that it does not; false also where it is too much to read."""
        if sql not in self._accepted_by_sql:
            self._accepted_by_sql[sql] = self._parses_as_statements(sql)
        return self._accepted_by_sql[sql]

    def _parses_as_statements(self, sql: str) -> bool:
        if is_routine(sql):
            return sql.count("$$") % 2 == 0 or "DELIMITER" in sql.upper()
        if _SENTENCE.search(_QUOTED.sub("", sql)):  # which sqlglot takes for a name
            return False
        if (
            len(sql) > min(_MAX_PARSED_LENGTH, self.budget)
            or _measure_bracket_depth(sql) > _MAX_BRACKET_DEPTH
        ):
            return False
        self.budget -= len(sql)
        try:
            read = _OUTPUT_CLAUSE.sub(" ", sql) if self.dialect == "tsql" else sql
            trees = [t for t in sqlglot.parse(read, read=self.dialect or None) if t is not None]
        except (SqlglotError, RecursionError, AttributeError, TypeError, ValueError):
            return False
        return bool(trees) and not any(
            (
                isinstance(tree, exp.Condition | exp.Alias | exp.Command)
                and not isinstance(tree, exp.Query)
            )
            or (isinstance(tree, exp.Select) and not any(tree.args.values()))  # the keyword alone
            for tree in trees
        )


def _measure_bracket_depth(sql: str) -> int:
    depth = deepest = 0
    for mark in re.finditer(r"[()]", sql):
        depth += 1 if mark[0] == "(" else -1
        deepest = max(deepest, depth)
    return deepest


#: A remark in brackets after a statement, in words.
_TRAILING_REMARK = compile_pattern("trailing_remark")
_OPENING = re.compile(r"\s*(?:BEGIN|START)(?:\s+(?:TRAN\w*|WORK))?\s*;?\s*", re.I)
_LABEL_LINE = re.compile(r"\n[ \t]*\n[ \t]*[A-Z][\w ]{2,40}[:：][ \t]*\n")
#: What ends a block of code in the markup of wikis, forums and documents.
_CLOSING_MARK = re.compile(
    r"\n[ \t]*(?:\{/?\w+\}|\[/\w+\]|#\+END_\w+|\\end\{\w+\}|={4,}|-{4,})\s*\Z", re.I
)
_ANY_SQL_LINE = re.compile(rf"^\s*{SQL_LINE.pattern}", re.I | re.M)


def _cannot_continue(text: str, end: int) -> bool:
    """Whether no statement goes on from there, by the next line or as only a mark follows."""
    rest = text[end : end + 1_000].strip()
    is_mark = re.match(r"[{\[#\\}\]!&^~_]|[-=*+<>|%/:]{2,}(?!\s*[\w'\"(])", rest) is not None
    return _CANNOT_CONTINUE.match(text, end) is not None or (
        is_mark and not _ANY_SQL_LINE.search(rest)
    )


#: Lines that no statement goes on with: fields of YAML, marks of a merge, brackets, words.
_CANNOT_CONTINUE = compile_pattern("cannot_continue")
#: Words after a statement on its last line, which no statement that is cut off could go on with.
_TAIL = compile_pattern("tail")


def cut_trailing_prose(text: str, parser: StatementParser) -> str:
    """The SQL that a text begins with, without the prose and the full stop that follow it.

    Prose is cut where it begins a line or follows a semicolon, and where what stands before it
    parses; a text in which nothing does is cut at the first line that reads like prose.
    """
    text = _CLOSING_MARK.sub("", drop_client_commands(text, parser.dialect))
    if is_routine(text):
        return text[: find_routine_end(text, parser.dialect)].strip()
    ends = list(islice(find_statement_ends(text, parser.dialect), 8))
    if parser.accepts(text):
        ends = []
    accepted = [end for end in ends if parser.accepts(text[:end])][:1]
    if not accepted and not parser.accepts(text):
        breaks = [gap.start() for gap in islice(re.finditer(r"\n[ \t]*\n(?!\s*\Z)", text), 8)]
        breaks = [end for end in breaks if not _OPENING.fullmatch(text, 0, end)]
        accepted = [end for end in breaks if parser.accepts(text[:end])][-1:]
        tail = None if accepted else _TRAILING_REMARK.search(text[-300:])
        if tail and parser.accepts(text[: (start := max(0, len(text) - 300) + tail.start())]):
            accepted = [start]
        if not accepted:
            breaks = [gap.start() for gap in islice(re.finditer(r"\n", text), 60)]
            breaks = [end for end in breaks if _cannot_continue(text, end)][:8]
            accepted = [end for end in breaks if parser.accepts(text[:end])][-1:]
            if not accepted:
                tails = (tail.start() for tail in islice(_TAIL.finditer(text), 8))
                accepted = [end for end in tails if parser.accepts(text[:end])][:1]
            label = _LABEL_LINE.search(text)
            ends += [label.start()] if label else []
    sql = text[: (accepted or ends or [len(text)])[0]]
    return re.sub(r"(?<=[\w)'\"`])[.,]\Z", "", sql.strip())

"""Index advice found in an answer, taken apart by a parser, and written anew from its parts.

Nothing that was read is executed as it stands. `strict` means that the answer is nothing else;
statements among prose, in fences or in JSON, and sentences with reasons are `lenient`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec
import sqlglot
from sqlglot import TokenType, exp
from sqlglot.dialects.dialect import Dialect

from evalcore.records import Record
from evalcore.sqlkit.schema import Schema

# One CREATE INDEX: taken apart by a parser, and written anew from its parts.
# Nothing that was read is executed as it stands. Each name, expression and predicate must parse
# as one and hold no query; it is then spelled anew from its tokens (by tokens and not by tree,
# since engines use an index on an expression only where the statement spells it the same way:
# `substr` is not `substring`). The index gets a name of ours, and what is about storage alone
# (CONCURRENTLY, fill factors, comments, locks) is left out.

_MAX_NAME = 48  # characters of a name of ours; PostgreSQL cuts at 63, MySQL refuses over 64
_PREFIX = re.compile(
    r"\s*(`[^`]+`|[^\W\d]\w*)\s*\(\s*(\d{1,5})\s*\)\s*(ASC|DESC)?\s*", re.IGNORECASE
)
_METHODS = frozenset(("btree", "hash", "gin", "gist", "spgist", "brin", "rtree", "art"))
_WORD = re.compile(r"[\w$]+|[-+*/%<>=!|&~(),.:\[\]^#@]+")
_REFUSED = (exp.Query, exp.Command, exp.Subquery, exp.Placeholder, exp.Parameter)


class UnreadableIndex(Exception):
    """What cannot be read of a statement."""


class IndexKey(Record, frozen=True):
    """A column or expression of an index, as SQL. `column` is "" for an expression.

    `prefix` is the number of characters that MySQL stores of it, None for all.
    """

    sql: str
    column: str = ""
    prefix: int | None = None
    descending: bool = False


class AdvisedIndex(Record, frozen=True):
    """An index. All texts are SQL spelled anew; `kind` is "", fulltext or spatial."""

    table: str
    keys: tuple[IndexKey, ...]
    include: tuple[str, ...] = ()
    where: str = ""
    unique: bool = False
    method: str = ""
    kind: str = ""

    @property
    def on_expressions(self) -> bool:
        return any(not key.column for key in self.keys)

    @property
    def contents(self) -> str:
        """What follows the table: columns, included columns and predicate."""
        include = f" INCLUDE ({', '.join(self.include)})" if self.include else ""
        where = f" WHERE {self.where}" if self.where else ""
        return f"({', '.join(key.sql for key in self.keys)}){include}{where}"

    @property
    def target(self) -> str:
        """What is indexed, for people."""
        return f"{self.table} {self.contents}"


def read_index(
    table: str,
    keys: Sequence[str],
    dialect: str,
    *,
    include: Sequence[str] = (),
    where: str = "",
    unique: bool = False,
    method: str = "",
    kind: str = "",
) -> AdvisedIndex:
    """An index from the parts of its statement; raises Unreadable naming what cannot be read."""
    if not keys or (method and method.lower() not in _METHODS):
        raise UnreadableIndex(f"USING {method}" if keys else "an index without columns")
    return AdvisedIndex(
        table=_parse_identifier(table, dialect),
        keys=tuple(_read_index_key(text, dialect) for text in keys),
        include=tuple(_parse_identifier(text, dialect) for text in include),
        where=_parse_predicate(where, dialect) if where else "",
        unique=unique,
        method=method.lower(),
        kind=kind.lower(),
    )


def qualify_index_table(index: AdvisedIndex, schema: Schema) -> AdvisedIndex:
    """With the table's name as the DDL qualifies it."""
    table = schema.find_table(index.table)
    if table is None or "." not in table.name:
        return index
    return msgspec.structs.replace(index, table=table.name)


def build_index_ddl(indexes: Sequence[AdvisedIndex], dialect: str) -> tuple[str, ...]:
    """The statements that create these indexes.

    Names are made from the columns, so equal advice gives equal statements whatever it was called.
    UNIQUE stays: where the rows do not allow it, the advice could not be followed.
    """
    return tuple(
        _build_create_index(index, name, dialect)
        for index, name in zip(indexes, _generate_index_names(indexes), strict=True)
    )


def _build_create_index(index: AdvisedIndex, name: str, dialect: str) -> str:
    using = f"USING {index.method} " if index.method else ""
    kind = "UNIQUE " * index.unique + f"{index.kind.upper()} " * bool(index.kind)
    if dialect == "mysql":
        return f"CREATE {kind}INDEX {name} {using}ON {index.table} {index.contents}"
    return f"CREATE {kind}INDEX {name} ON {index.table} {using}{index.contents}"


def _generate_index_names(indexes: Sequence[AdvisedIndex]) -> Iterator[str]:
    used: set[str] = set()
    for index in indexes:
        words = (word for key in index.keys for word in re.findall(r"[a-z0-9_]+", key.sql.lower()))
        name = stem = f"advised_{'_'.join(words)}"[:_MAX_NAME]
        while name in used:
            name = f"{stem}_{len(used) + 1}"
        used.add(name)
        yield name


def _read_index_key(text: str, dialect: str) -> IndexKey:
    match = _PREFIX.fullmatch(text) if dialect == "mysql" else None
    if match:
        descending = (match[3] or "").upper() == "DESC"
        name = _parse_identifier(match[1], dialect)
        sql = f"{name}({match[2]})" + " DESC" * descending
        return IndexKey(sql, name.strip('`"'), int(match[2]), descending)
    ordered = _parse_ordered(text, dialect)
    node = ordered.this
    inner = node.this if isinstance(node, exp.Opclass) else node
    column = inner.name if isinstance(inner, exp.Column) else ""
    descending = bool(ordered.args.get("desc"))
    return IndexKey(sql=_respell_tokens(text, dialect), column=column, descending=descending)


def _parse_ordered(text: str, dialect: str) -> exp.Ordered:
    whole = text.strip() and not text.strip().endswith(",")  # a comma more would be passed over
    tree = _parse_fragment(f"CREATE INDEX i ON t ({text})", dialect) if whole else None
    params = tree.this.args.get("params") if isinstance(tree, exp.Create) else None
    columns = params.args.get("columns") if params else None
    if not columns or len(columns) != 1 or not isinstance(columns[0], exp.Ordered):
        raise UnreadableIndex(f"no column or expression: {text.strip()!r}")
    return columns[0]


def _parse_identifier(text: str, dialect: str) -> str:
    """The last part of a name, with the quotes that it had."""
    tree = _parse_fragment(f"SELECT 1 FROM {text}", dialect)  # noqa: S608 - parsed, never run
    tables = list(tree.find_all(exp.Table)) if tree else []
    if len(tables) != 1 or not isinstance(tables[0].this, exp.Identifier):
        raise UnreadableIndex(f"no name: {text.strip()!r}")
    return tables[0].this.sql(dialect=dialect)


def _parse_predicate(text: str, dialect: str) -> str:
    tree = _parse_fragment(f"SELECT 1 FROM t WHERE {text}", dialect)  # noqa: S608 - parsed, never run
    plain = {"expressions", "from_", "where"}
    if not isinstance(tree, exp.Select) or {k for k, v in tree.args.items() if v} - plain:
        raise UnreadableIndex(f"no condition: {text.strip()!r}")
    return _respell_tokens(text, dialect)


def _parse_fragment(text: str, dialect: str) -> exp.Expr | None:
    """The one statement of a text; raises Unreadable where it is none or holds a query inside."""
    try:
        trees = sqlglot.parse(text, read=dialect)
    except (sqlglot.errors.SqlglotError, RecursionError) as error:
        raise UnreadableIndex(str(error).splitlines()[0][:200]) from None
    if len(trees) != 1 or trees[0] is None:
        raise UnreadableIndex("more than one statement")
    tree = trees[0]
    if any(node is not tree for node in tree.find_all(*_REFUSED)):
        raise UnreadableIndex("a query inside an index")
    return None if isinstance(tree, exp.Command) else tree


def _respell_tokens(text: str, dialect: str) -> str:
    """The tokens of a text with its own blanks but no comments, strings and names quoted anew."""
    parts: list[str] = []
    end = 0
    mark = "`" if dialect == "mysql" else '"'
    for token in Dialect.get_or_raise(dialect).tokenize(text):
        if token.token_type == TokenType.STRING:
            word = token.text.replace("\\", "\\\\") if dialect == "mysql" else token.text
            word = "'" + word.replace("'", "''") + "'"
        elif token.token_type == TokenType.IDENTIFIER:
            word = mark + token.text.replace(mark, mark * 2) + mark
        else:
            word = text[token.start : token.end + 1]
            if not _WORD.fullmatch(word):
                raise UnreadableIndex(f"{word!r} in an index")
        parts.append(f" {word}" if parts and token.start > end else word)
        end = token.end + 1
    return "".join(parts)


# Finding index advice in what a model really wrote.
# The answer is one or more CREATE INDEX statements (in MySQL also ALTER TABLE ... ADD INDEX), or
# a sentence, English or Chinese, that no index is needed or that none can help; with a statement
# that drops or changes something it is refused as a whole. `strict` means that it is nothing
# else; statements among prose, in fences or in JSON, and sentences with reasons are `lenient`.
# Statements go before sentences, since reasons are often added to them.

Says = Literal["create", "none", "cannot", "nothing"]

_LIMIT = 100_000  # characters searched
_MAX_STATEMENTS = 24  # read of one answer
_MAX_LIST_CHARACTERS = 4_000  # characters of a list of columns

_NAME = r"""(?:`[^`\n]{1,128}`|"[^"\n]{1,128}"|\[[^\]\n]{1,128}\]|[\w$]{1,128})"""
_QUALIFIED = rf"{_NAME}(?:\s*\.\s*{_NAME}){{0,2}}"
_KIND = r"(?P<unique>UNIQUE\s+)?(?P<kind>FULLTEXT\s+|SPATIAL\s+)?"
_BEGIN = re.compile(
    r"\bCREATE\s+(?:UNIQUE\s+|FULLTEXT\s+|SPATIAL\s+)*INDEX\b"
    rf"|\bALTER\s+TABLE\s+{_QUALIFIED}\s+ADD\s+(?:UNIQUE|FULLTEXT|SPATIAL|INDEX|KEY)\b",
    re.IGNORECASE,
)
_CREATE = re.compile(
    rf"""CREATE\s+{_KIND}INDEX\s+(?:CONCURRENTLY\s+)?(?:IF\s+NOT\s+EXISTS\s+)?
        (?:(?!ON\b){_QUALIFIED}\s+)?(?:USING\s+(?P<before>\w+)\s+)?
        ON\s+(?:ONLY\s+)?(?P<table>{_QUALIFIED})\s*(?:USING\s+(?P<method>\w+)\s*)?(?=\()""",
    re.IGNORECASE | re.VERBOSE,
)
_ALTER = re.compile(rf"ALTER\s+TABLE\s+(?P<table>{_QUALIFIED})\s+", re.IGNORECASE)
_ADD = re.compile(
    rf"""\s*,?\s*ADD\s+{_KIND}(?:INDEX|KEY)?\s*(?:(?!USING\b){_NAME}\s*)?
        (?:USING\s+(?P<method>\w+)\s*)?(?=\()""",
    re.IGNORECASE | re.VERBOSE,
)
#: What may follow the columns: only INCLUDE and WHERE are about what the index can do.
_TAIL = re.compile(
    r"""\s*(?: (?P<include>INCLUDE\s*(?=\()) | (?P<where>WHERE\b) | USING\s+(?P<method>\w+)
        | WITH\s*\([^)]{0,500}\) | TABLESPACE\s+\w+ | NULLS\s+(?:NOT\s+)?DISTINCT
        | COMMENT\s*=?\s*'[^'\n]{0,500}' | (?:ALGORITHM|LOCK|KEY_BLOCK_SIZE)\s*=?\s*\w+
        | (?:NOT\s+)?(?:IN)?VISIBLE\b | ONLINE\b | LOGGING\b )""",
    re.IGNORECASE | re.VERBOSE,
)
_WHERE_END = re.compile(r";|\n\s*\n|```|\n\s*(?=CREATE\b|ALTER\b|Reason\b)|$", re.IGNORECASE)
#: What stands before a statement that is meant as one, unlike a mention within a sentence.
_STATEMENT_START = re.compile(r"""(?:\A|[\n;:：；。`"])[ \t>*\-+\d.)]*\Z""")
_FILLING = re.compile(r"[\s;]*")
#: Statements that nobody who follows advice on indexes wants to run, as they stand between others.
_HARM = re.compile(
    rf"""(?:\A|[\n;`])[ \t]*(
        DROP\s+(?:TABLE|DATABASE|SCHEMA|VIEW|INDEX)\s+(?:IF\s+EXISTS\s+)?{_QUALIFIED}
            (?:\s+(?:CASCADE|RESTRICT|ON\s+{_QUALIFIED}))?[ \t]*(?=;|\n|`|\Z)
      | TRUNCATE\s+(?:TABLE\s+)?{_QUALIFIED}[ \t]*(?=;|\n|`|\Z)
      | DELETE\s+FROM\s+{_QUALIFIED}[ \t]*(?=;|\n|`|\Z|WHERE\b)
      | UPDATE\s+{_QUALIFIED}\s+SET\b | INSERT\s+INTO\s+{_QUALIFIED}
      | ALTER\s+TABLE\s+{_QUALIFIED}\s+(?:DROP|RENAME|MODIFY|CHANGE|SET|ADD\s+COLUMN)\b
      | (?:GRANT|REVOKE)\s+\w+\s+ON\b )""",
    re.IGNORECASE | re.VERBOSE,
)

_NEW = r"(?:(?:new|additional|further|more|extra|other|another|such|a|an|any)\s+)*"
_NONE = re.compile(
    rf"""\bno\s+{_NEW}ind(?:ex|exes|ices)\s+(?:is|are)\s+(?:needed|necessary|required)
      | \bno\s+{_NEW}ind(?:ex|exes|ices)\s+needs?\s+to\s+be | \bno\s+performance\s+(?:issue|problem)
      | \bind(?:ex|exes|ices)\s+(?:is|are)\s+not\s+(?:needed|necessary|required)
      | \bno\s+need\s+(?:to\s+(?:create|add|build)|for)\s+{_NEW}ind
      | \b(?:do|does)(?:\s+not|n't|n’t)\s+(?:need|require)\s+{_NEW}ind
      | \b(?:not|un)\s*necessary\s+to\s+(?:create|add|build)\s+{_NEW}ind
      | \balready\s+(?:optimal|sufficiently\s+indexed)
      | (?:无需|不需要|没有必要|不必|无须)(?:再|额外|另外|新)*
            (?:创建|新建|新增|添加|增加|建立|建)?[^，。；\n]{{0,12}}索引
      | 性能(?:已经|已)?满足要求 | 无(?:SQL)?性能问题 | 没有性能问题 | 无索引建议""",
    re.IGNORECASE | re.VERBOSE,
)
_CANNOT = re.compile(
    rf"""\bno\s+{_NEW}(?:useful\s+)?ind(?:ex|exes|ices)\s+(?:can|could|will|would)\s+
            (?:help|speed|improve|serve|solve)
      | \b(?:unable|not\s+able|impossible)\s+to\s+(?:solve|improve|optimi[sz]e|speed|fix|resolve)
            [^.\n]{{0,60}}?\bind
      | \b(?:cannot|can\s+not|can't|can’t)\s+be\s+(?:solved|improved|optimi[sz]ed|fixed|resolved)
            [^.\n]{{0,40}}?\bind
      | \b{_NEW}ind(?:ex|exes|ices)\s+(?:cannot|can\s+not|can't|can’t|won't|won’t|wouldn't
            |wouldn’t|will\s+not|would\s+not|does\s+not|do\s+not)\s+(?:help|solve|improve)
      | (?:无法|不能|难以)(?:通过|用|利用|依靠|走)[^，。；\n]{{0,16}}索引
      | 索引(?:无法|不能|没有)(?:帮助|解决|优化|改善)
      | (?:没有|无)(?:任何)?索引(?:能|可以)(?:帮|解决|改善|优化) | 不建议通过(?:创建)?索引""",
    re.IGNORECASE | re.VERBOSE,
)
_SENTENCES = {"none": "no index is needed", "cannot": "no index can help"}


class Advice(Record, frozen=True):
    """What an answer says: create `indexes`, none is needed, none can help, or nothing of it.

    `problem` tells what cannot be read of a statement; then nothing is to be executed.
    """

    says: Says
    form: Literal["strict", "lenient", "none"]
    indexes: tuple[AdvisedIndex, ...] = ()
    problem: str = ""


class _AdviceReader:
    """Walks over one answer, and keeps what it has read and how far."""

    def __init__(self, text: str, dialect: str) -> None:
        self.text, self.dialect = text, dialect
        self.indexes: list[AdvisedIndex] = []
        self.rest = ""
        self.end = 0

    def read_statements(self, starts: list[int]) -> None:
        """Raises Unreadable naming what cannot be read."""
        if len(starts) > _MAX_STATEMENTS:
            raise UnreadableIndex(f"{len(starts)} statements, of which {_MAX_STATEMENTS} are read")
        for start in starts:
            if start < self.end:
                continue
            self.rest += self.text[self.end : start]
            self.end = start
            self._read_statement(start)
        self.rest += self.text[self.end :]

    def _read_statement(self, start: int) -> None:
        match = _CREATE.match(self.text, start)
        if match:
            self._read_columns(match, match["table"], match["before"] or "")
            return
        altered = _ALTER.match(self.text, start)
        if altered is None:
            raise UnreadableIndex(f"no table or no columns: {self.text[start : start + 80]!r}")
        self.end = altered.end()
        while added := _ADD.match(self.text, self.end):
            self._read_columns(added, altered["table"], "")
        if self.end == altered.end():
            raise UnreadableIndex(f"no columns: {self.text[start : start + 80]!r}")

    def _read_columns(self, head: re.Match[str], table: str, method: str) -> None:
        keys, self.end = _split_list(self.text, head.end())
        include: list[str] = []
        where, method = "", method or head["method"] or ""
        while tail := _TAIL.match(self.text, self.end):
            self.end = tail.end()
            method = method or tail["method"] or ""
            if tail["include"]:
                include, self.end = _split_list(self.text, self.end)
            elif tail["where"]:
                stop = _WHERE_END.search(self.text, self.end)
                until = stop.start() if stop else len(self.text)
                where, self.end = self.text[self.end : until], until
        index = read_index(
            table,
            keys,
            self.dialect,
            include=include,
            where=where,
            unique=bool(head["unique"]),
            method=method,
            kind=(head["kind"] or "").strip(),
        )
        if index not in self.indexes:
            self.indexes.append(index)


def read_advice(text: str, dialect: str) -> Advice:
    """The advice of an answer, without its reasoning; `dialect` is that of the statements."""
    text = text[-_LIMIT:]
    if harm := _HARM.search(text):
        return Advice(says="create", form="lenient", problem=f"no index: {harm[1][:80]!r}")
    starts = [match.start() for match in _BEGIN.finditer(text)]
    meant = [at for at in starts if _STATEMENT_START.search(text[max(0, at - 40) : at])]
    sentence = _find_sentence(text)
    if not meant and sentence is not None:
        return sentence
    if not starts:
        return Advice(says="nothing", form="none")
    reader = _AdviceReader(text, dialect)
    try:
        reader.read_statements(meant or starts)
    except UnreadableIndex as error:
        return Advice(says="create", form="lenient", problem=str(error))
    strict = _FILLING.fullmatch(reader.rest) is not None
    return Advice(
        says="create", form="strict" if strict else "lenient", indexes=tuple(reader.indexes)
    )


def _find_sentence(text: str) -> Advice | None:
    """What is said first, as reasons follow."""
    matches: list[tuple[int, Says]] = []
    for says, pattern in (("none", _NONE), ("cannot", _CANNOT)):
        if match := pattern.search(text):
            matches.append((match.start(), says))  # type: ignore[arg-type]
    if not matches:
        return None
    says = min(matches)[1]
    strict = text.strip().rstrip(".").casefold() == _SENTENCES[says]
    return Advice(says=says, form="strict" if strict else "lenient")


def _split_list(text: str, at: int) -> tuple[list[str], int]:
    """The items of a list in parentheses that begins at `at`, and where it ends."""
    items, begin, depth = [], at + 1, 0
    for position, character in _iter_unquoted(text, at):
        if character == "(":
            depth += 1
        elif character == ")":
            depth -= 1
        if depth == 0 or (character == "," and depth == 1):
            items.append(text[begin:position])
            begin = position + 1
        if depth == 0:
            return items, position + 1
    raise UnreadableIndex(f"a list that does not end: {text[at : at + 80]!r}")


def _iter_unquoted(text: str, at: int) -> Iterator[tuple[int, str]]:
    quote = ""
    for position in range(at, min(len(text), at + _MAX_LIST_CHARACTERS)):
        character = text[position]
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"`":
            quote = character
        else:
            yield position, character

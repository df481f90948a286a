"""One CREATE INDEX: taken apart by a parser, and written anew from its parts.

Nothing that was read is executed as it stands. Each name, expression and predicate must parse as
one and hold no query; it is then spelled anew from its tokens (by tokens and not by tree, since
engines use an index on an expression only where the statement spells it the same way: `substr` is
not `substring`). The index gets a name of ours, and what is about storage alone (CONCURRENTLY, fill
factors, comments, locks) is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec
import sqlglot
from sqlglot import TokenType, exp
from sqlglot.dialects.dialect import Dialect

from evalcore.records import Record
from evalcore.sqlkit.schema import Schema

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
        return IndexKey(sql, _strip_quotes(name), int(match[2]), descending)
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


def _strip_quotes(name: str) -> str:
    return name.strip('`"')

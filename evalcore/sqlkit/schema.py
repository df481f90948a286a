"""What DDL says of tables: columns with their kinds and limits, keys, references, checks.

Read with sqlglot, tolerant of options that only one product knows; statements that create no table
(functions, settings) are passed over, UNIQUE indexes count as keys.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import cache
from typing import Literal

import msgspec
import sqlglot
from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from evalcore.records import Record
from evalcore.sqlkit.literal_types import list_literals, read_enum_types

Kind = Literal[
    "integer",
    "decimal",
    "float",
    "text",
    "date",
    "timestamp",
    "time",
    "boolean",
    "bytes",
    "json",
    "uuid",
    "literal",
]


class Column(Record, frozen=True):
    """A column. `precision` of an integer is the number of digits that are always safe; of a column
    with `choices`, such as any of the kind literal, these are all the values that it is given.

    `computed` columns, by a `formula`, cannot be inserted; `identity` ones are filled where nothing
    is given, others by `default`, an expression. `quoted` tells whether the DDL quotes the name,
    `folds_case` that two spellings of a text are one in it.
    """

    name: str
    kind: Kind
    nullable: bool = True
    length: int | None = None
    precision: int | None = None
    scale: int | None = None
    choices: tuple[str, ...] = ()
    identity: bool = False
    computed: bool = False
    formula: str = ""
    declared: str = ""
    quoted: bool = False
    default: str = ""
    folds_case: bool = False


class Key(Record, frozen=True):
    """Columns whose values are unique together."""

    columns: tuple[str, ...]
    primary: bool = False


class ForeignKey(Record, frozen=True):
    columns: tuple[str, ...]
    table: str
    target_columns: tuple[str, ...] = ()


class UniqueIndex(Record, frozen=True):
    """Expressions, as SQL, whose values are unique together among the rows that meet a condition,
    among all where that is empty."""

    expressions: tuple[str, ...]
    where: str = ""


class Table(Record, frozen=True):
    """A table. `name` is as it was written, perhaps qualified; `checks` are SQL conditions. What
    `unique_indexes` keep apart is known to the engine alone."""

    name: str
    columns: tuple[Column, ...]
    keys: tuple[Key, ...] = ()
    foreign: tuple[ForeignKey, ...] = ()
    checks: tuple[str, ...] = ()
    unique_indexes: tuple[UniqueIndex, ...] = ()

    def find_column(self, name: str) -> Column | None:
        folded = name.lower()
        return next((c for c in self.columns if c.name.lower() == folded), None)


class Schema(Record, frozen=True):
    """Tables in the order of their creation; `unread` are the names of those whose DDL says
    nothing that can be parsed."""

    tables: tuple[Table, ...]
    dialect: str = ""
    unread: tuple[str, ...] = ()

    def list_columns(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The folded names of the tables, each with its columns."""
        return tuple((plain_name(t.name), tuple(c.name for c in t.columns)) for t in self.tables)

    def find_table(self, name: str) -> Table | None:
        folded = plain_name(name)
        return next((t for t in self.tables if plain_name(t.name) == folded), None)


def plain_name(name: str) -> str:
    """The last part of a name, folded and without quotes."""
    return name.rpartition(".")[2].strip('`"[]').lower()


def list_target_columns(target: Table, foreign: ForeignKey) -> tuple[str, ...]:
    """The columns that a reference leads to: by default the primary key."""
    if foreign.target_columns:
        return foreign.target_columns
    primary = [key.columns for key in target.keys if key.primary]
    return primary[0] if primary else (target.columns[0].name,)


def sort_by_dependency(schema: Schema) -> list[Table]:
    """Tables after those that they refer to; a circle is cut where it began."""
    done: dict[str, Table] = {}

    def visit_table(table: Table, above: tuple[str, ...]) -> None:
        name = plain_name(table.name)
        if name in done or name in above:
            return
        for foreign in table.foreign:
            target = schema.find_table(foreign.table)
            if target is not None:
                visit_table(target, (*above, name))
        done[name] = table

    for table in schema.tables:
        visit_table(table, ())
    return list(done.values())


_Type = exp.DType
_KINDS: dict[Kind, tuple[exp.DType, ...]] = {
    "integer": (
        *(_Type.TINYINT, _Type.UTINYINT, _Type.SMALLINT, _Type.USMALLINT, _Type.MEDIUMINT),
        *(_Type.UMEDIUMINT, _Type.INT, _Type.UINT, _Type.BIGINT, _Type.UBIGINT, _Type.INT128),
        *(_Type.SERIAL, _Type.SMALLSERIAL, _Type.BIGSERIAL),
    ),
    "decimal": (_Type.DECIMAL, _Type.UDECIMAL, _Type.BIGDECIMAL, _Type.MONEY, _Type.SMALLMONEY),
    "float": (_Type.FLOAT, _Type.DOUBLE, _Type.UDOUBLE),
    "date": (_Type.DATE, _Type.DATE32),
    "timestamp": (
        *(_Type.DATETIME, _Type.DATETIME2, _Type.SMALLDATETIME, _Type.TIMESTAMP),
        *(_Type.TIMESTAMPTZ, _Type.TIMESTAMPLTZ, _Type.TIMESTAMPNTZ, _Type.TIMESTAMP_S),
        *(_Type.TIMESTAMP_MS, _Type.TIMESTAMP_NS),
    ),
    "time": (_Type.TIME, _Type.TIMETZ),
    "boolean": (_Type.BOOLEAN, _Type.BIT),
    "bytes": (
        _Type.BLOB,
        _Type.TINYBLOB,
        _Type.MEDIUMBLOB,
        _Type.LONGBLOB,
        _Type.BINARY,
        _Type.VARBINARY,
    ),
    "json": (_Type.JSON, _Type.JSONB),
    "uuid": (_Type.UUID,),
}
_KIND_BY_TYPE: dict[exp.DType, Kind] = {t: kind for kind, types in _KINDS.items() for t in types}
_DIGITS = {
    _Type.TINYINT: 2,
    _Type.BIT: 2,
    _Type.UTINYINT: 2,
    _Type.SMALLINT: 4,
    _Type.USMALLINT: 4,
    _Type.SMALLSERIAL: 4,
    _Type.MEDIUMINT: 6,
    _Type.UMEDIUMINT: 6,
    _Type.BIGINT: 18,
    _Type.UBIGINT: 18,
    _Type.BIGSERIAL: 18,
    _Type.INT128: 18,
}
#: A type of two words that sqlglot does not read, which would lose the whole table.
_UNREADABLE = re.compile(r"\bBIT\s+VARYING\b", re.I)
_CREATED = re.compile(
    r"\bCREATE\s+(?:OR\s+REPLACE\s+)?(?:\w+\s+)?TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?"
    r"""((?:[\w.]|"[^"]+"|`[^`]+`|\[[^]]+\])+)\s*(?=\()""",
    re.I,
)
#: A domain, its type and what follows of it; no part gives back what it took, or a hostile text
#: would be tried without end.
_DOMAIN = re.compile(
    r"""\bCREATE\s++DOMAIN\s++([\w."]++)\s++(?:AS\s++)?+"""
    r"(\w++(?:\s++(?!(?:NOT|NULL|CHECK|DEFAULT|CONSTRAINT|COLLATE)\b)\w++)*+"
    r"(?:\s*+\([\d, ]++\))?+)([^;]*+)",
    re.I,
)
_VALUE = re.compile(r"\bVALUE\b", re.I)
_ENUMERATIONS = (_Type.ENUM, _Type.SET, _Type.YEAR)
_SERIALS = (_Type.SERIAL, _Type.SMALLSERIAL, _Type.BIGSERIAL)


def read_schema(ddl: Sequence[str], dialect: str) -> Schema:
    """The tables that DDL creates, as it alters them; what cannot be parsed is passed over."""
    tables: dict[str, Table] = {}
    created = {plain_name(match[1]): None for text in ddl for match in _CREATED.finditer(text)}
    enums = read_enum_types(ddl)
    for statement in _iter_ddl_statements(_expand_domains(ddl), dialect):
        if isinstance(statement, exp.Alter) and plain_name(statement.this.name) in tables:
            altered = tables[plain_name(statement.this.name)]
            items = list(_list_altered_items(statement))
            tables[plain_name(altered.name)] = _build_table(altered, items, dialect, enums)
        if not isinstance(statement, exp.Create):
            continue
        if statement.kind == "TABLE":
            named, items = statement.this, []
            if isinstance(named, exp.Schema):
                named, items = named.this, named.expressions
            like = statement.find(exp.LikeProperty)
            source = tables.get(plain_name(like.this.name)) if like is not None else None
            if source is None and not items:
                continue
            table = source or Table("", ())
            table = msgspec.structs.replace(table, name=named.sql(dialect=dialect))
            tables[plain_name(table.name)] = _build_table(table, items, dialect, enums)
        elif statement.kind == "INDEX" and statement.args.get("unique"):
            _add_unique_index(statement.this, tables, dialect)
    unread = tuple(n for n in created if n not in tables or not tables[n].columns)
    return Schema(tuple(tables.values()), dialect, unread)


def _expand_domains(ddl: Sequence[str]) -> Iterator[str]:
    """DDL with the type and the checks of each domain in the columns that are declared as it."""
    domains = [match.groups() for text in ddl for match in _DOMAIN.finditer(text)]
    for text in ddl:
        text = _DOMAIN.sub("", text)
        for name, declared, rest in domains:
            used = rf'(?<!\w)(\w++|"[^"]++")\s++{re.escape(name)}(?![\w.])'
            column = _VALUE.sub(r"\\1", rf"\1 {declared} " + rest.replace("\\", r"\\"))
            text = re.sub(used, column, text, flags=re.I)
        yield text


def _iter_ddl_statements(ddl: Iterable[str], dialect: str) -> Iterator[exp.Expr]:
    for text in ddl:
        readable = _UNREADABLE.sub("VARBIT", text)
        for tree in _parse(readable, dialect) or _parse_items(readable, dialect):
            if isinstance(tree, exp.Command):  # such as a table WITHOUT ROWID
                yield from _parse_items(tree.sql(dialect), dialect)
            else:
                yield tree


def _parse(sql: str, dialect: str) -> list[exp.Expr]:
    """The statements of a text; none where one of them does not parse."""
    try:
        return [tree for tree in sqlglot.parse(sql, read=dialect) if tree]
    except (sqlglot.errors.SqlglotError, RecursionError):
        return []


def _parse_items(sql: str, dialect: str) -> Iterator[exp.Expr]:
    """The tables of a text, of each what can be parsed of its columns and constraints: an option
    that the parser does not know would else lose all of them, and the table would stay empty."""
    created = _CREATED.search(sql)
    try:
        tokens = sqlglot.tokenize(sql, read=dialect)
    except sqlglot.errors.SqlglotError:
        return
    while created is not None:
        items: list[list[str]] = [[]]
        depth, end = 0, len(sql)
        for token in (token for token in tokens if token.start >= created.end()):
            depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(token.token_type, 0)
            if depth <= 0:
                end = token.end
                break
            if depth == 1 and token.token_type is TokenType.COMMA:
                items.append([])
            elif items[-1] or token.token_type is not TokenType.L_PAREN:
                items[-1].append(sql[token.start : token.end + 1])
        head = sql[created.start() : created.end()]
        readable = [item for words in items if (item := _find_readable(head, words, dialect))]
        yield from _parse(f"{head} ({', '.join(readable)})", dialect) if readable else ()
        created = _CREATED.search(sql, end)


_MAX_DROPPED = 60  # words of an item: the rest of a hostile one would be parsed without end


def _find_readable(head: str, words: list[str], dialect: str) -> str:
    """A column or constraint without what cannot be parsed: the order of a key's columns, or what
    stands last; a name that the parser takes for a type is quoted."""
    unordered = [word for word in words if word.upper() not in ("ASC", "DESC")]
    quoted: list[str] = []
    if words and words[0].isidentifier():
        quoted = [exp.to_identifier(words[0], quoted=True).sql(dialect), *words[1:]]
    for parts in (words, unordered, quoted):
        fewest = max(min(2, len(parts)), len(parts) - _MAX_DROPPED)
        for count in range(len(parts), fewest - 1, -1):
            item = " ".join(parts[:count])
            if len(trees := _parse(f"{head} ({item})", dialect)) == 1 and trees[0].find(exp.Schema):
                return item
    return ""


def _list_altered_items(statement: exp.Alter) -> Iterator[exp.Expr]:
    """The columns and constraints that a table has anew, and what becomes of columns."""
    for action in statement.args.get("actions") or ():
        if isinstance(action, exp.AddConstraint):
            yield from action.expressions
        elif not isinstance(action, exp.Drop):
            yield action.this if isinstance(action, exp.ModifyColumn) else action


def _build_table(
    table: Table, items: Sequence[exp.Expr], dialect: str, enums: Mapping[str, tuple[str, ...]]
) -> Table:
    """A table with columns and constraints added; a column of a name that it has is replaced."""
    keys, foreign, checks = list(table.keys), list(table.foreign), list(table.checks)
    columns = {column.name.lower(): column for column in table.columns}
    for item in items:
        if isinstance(item, exp.Identifier):  # a column of SQLite without a type
            item = exp.ColumnDef(this=item.copy())
        if isinstance(item, exp.ColumnDef):
            columns[item.name.lower()] = _build_schema_column(item, dialect, enums)
            _add_column_constraints(item, dialect, keys, foreign, checks)
        elif isinstance(item, exp.AlterColumn) and (column := columns.get(item.name.lower())):
            nullable = column.nullable and item.args.get("allow_null") is not False
            default = item.args.get("default")
            text = default.sql(dialect=dialect) if default is not None else column.default
            altered = msgspec.structs.replace(column, nullable=nullable, default=text)
            columns[item.name.lower()] = altered
        else:
            _add_table_constraints(item, dialect, keys, foreign, checks)
    required = {name.lower() for key in keys if key.primary for name in key.columns}
    if dialect == "sqlite" and _json_check_refuses_null():
        matches = map(_JSON_CHECK.fullmatch, checks)
        required |= {match[1].lower() for match in matches if match is not None}
    return Table(
        name=table.name,
        columns=tuple(
            msgspec.structs.replace(column, nullable=column.nullable and name not in required)
            for name, column in columns.items()
        ),
        keys=tuple(keys),
        foreign=tuple(foreign),
        checks=tuple(checks),
    )


_JSON_CHECK = re.compile(r'[(\s]*json_valid\s*\(\s*"?(\w+)"?[)\s]*', re.I)


@cache
def _json_check_refuses_null() -> bool:
    """Older libraries of SQLite give 0 for `json_valid(NULL)`, newer ones NULL, which a CHECK lets
    pass."""
    with closing(sqlite3.connect(":memory:")) as connection:
        return bool(connection.execute("SELECT json_valid(NULL)").fetchone() == (0,))


def _build_schema_column(
    item: exp.ColumnDef, dialect: str, enums: Mapping[str, tuple[str, ...]]
) -> Column:
    kinds = {type(c.kind): c.kind for c in item.constraints}
    not_null = kinds.get(exp.NotNullColumnConstraint)
    declared = item.args.get("kind")
    kind, sizes = _parse_type(declared)
    choices = list_literals(declared, dialect, enums) if declared is not None else ()
    if choices and declared is not None and declared.this not in _ENUMERATIONS:
        kind = "literal"
    generated = kinds.get(exp.GeneratedAsIdentityColumnConstraint)
    formula = generated.args.get("expression") if generated is not None else None
    formula = getattr(kinds.get(exp.ComputedColumnConstraint), "this", formula)
    digits = _DIGITS.get(declared.this, 9) if kind == "integer" and declared else None
    default = kinds.get(exp.DefaultColumnConstraint)
    collate = kinds.get(exp.CollateColumnConstraint)
    collation = collate.this.name.lower() if collate else "_ci" if dialect == "mysql" else ""
    return Column(
        name=item.name,
        kind=kind,
        nullable=not_null is None or bool(not_null.args.get("allow_null")),
        length=sizes[0] if sizes and kind in ("text", "bytes") else None,
        precision=sizes[0] if sizes and kind == "decimal" else digits,
        scale=(sizes[1] if len(sizes) > 1 else 0) if sizes and kind == "decimal" else None,
        choices=choices,
        identity=exp.AutoIncrementColumnConstraint in kinds
        or (generated is not None and not formula)
        or (declared is not None and declared.this in _SERIALS),
        computed=formula is not None,
        formula=formula.sql(dialect=dialect) if formula is not None else "",
        declared=declared.sql(dialect=dialect) if declared else "",
        quoted=bool(item.this.args.get("quoted")),
        default=default.this.sql(dialect=dialect) if default is not None else "",
        folds_case=kind == "text" and collation.endswith(("nocase", "_ci")),
    )


def _parse_type(declared: exp.DataType | None) -> tuple[Kind, list[int]]:
    if not isinstance(declared, exp.DataType) or declared.this in _ENUMERATIONS:
        return "text", []
    sizes = [int(p.name) for p in declared.expressions if p.name.isdigit()]
    kind = _KIND_BY_TYPE.get(declared.this, "text")
    if declared.this == _Type.TINYINT and sizes == [1]:
        return "boolean", []
    if declared.this == _Type.BIT and sizes and sizes[0] > 1:
        return "integer", sizes
    if kind == "decimal" and len(sizes) == 1 and sizes[0] > 0:
        sizes.append(0)
    return kind, sizes


def classify_type(declared: exp.DataType | None) -> Kind:
    """The kind of a type as DDL and CAST write it; text where it is unknown."""
    return _parse_type(declared)[0]


def _add_column_constraints(
    item: exp.ColumnDef, dialect: str, keys: list[Key], foreign: list[ForeignKey], checks: list[str]
) -> None:
    for constraint in item.constraints:
        kind = constraint.kind
        if isinstance(kind, exp.PrimaryKeyColumnConstraint | exp.UniqueColumnConstraint):
            primary = isinstance(kind, exp.PrimaryKeyColumnConstraint)
            keys.append(Key(columns=(item.name,), primary=primary))
        elif isinstance(kind, exp.Reference):
            foreign.append(_build_foreign_key((item.name,), kind, dialect))
        elif isinstance(kind, exp.CheckColumnConstraint):
            checks.append(kind.this.sql(dialect=dialect))


def _add_table_constraints(
    item: exp.Expr, dialect: str, keys: list[Key], foreign: list[ForeignKey], checks: list[str]
) -> None:
    for part in item.expressions if isinstance(item, exp.Constraint) else (item,):
        if isinstance(part, exp.PrimaryKey):
            keys.append(Key(columns=_list_key_columns(part.expressions), primary=True))
        elif isinstance(part, exp.UniqueColumnConstraint):
            inner = part.this
            names = inner.expressions if isinstance(inner, exp.Schema) else part.expressions
            if names:
                keys.append(Key(columns=_list_key_columns(names)))
        elif isinstance(part, exp.ForeignKey):
            foreign.append(
                _build_foreign_key(
                    _list_key_columns(part.expressions), part.args["reference"], dialect
                )
            )
        elif isinstance(part, exp.CheckColumnConstraint):
            checks.append(part.this.sql(dialect=dialect))


def _list_key_columns(items: Sequence[exp.Expr]) -> tuple[str, ...]:
    """Column names, without the order or prefix length that an index may state."""
    names = []
    for item in items:
        call = item.find(exp.Anonymous)
        identifier = item if isinstance(item, exp.Identifier) else item.find(exp.Identifier)
        names.append((call or identifier or item).name)
    return tuple(names)


def _build_foreign_key(columns: tuple[str, ...], reference: exp.Expr, dialect: str) -> ForeignKey:
    target = reference.this
    named = target.expressions if isinstance(target, exp.Schema) else ()
    table = target.this if isinstance(target, exp.Schema) else target
    return ForeignKey(
        columns=columns, table=table.sql(dialect=dialect), target_columns=_list_key_columns(named)
    )


def _add_unique_index(index: exp.Expr, tables: dict[str, Table], dialect: str) -> None:
    table = index.args.get("table")
    params = index.args.get("params")
    columns = params.args.get("columns") if params else None
    if params is None or table is None or not columns or plain_name(table.name) not in tables:
        return
    existing = tables[plain_name(table.name)]
    where = params.args.get("where")
    calls = (call for part in columns for call in part.find_all(exp.Func))  # `name(10)` is none
    if where or any(existing.find_column(call.name) is None for call in calls):
        parts = tuple(column.this.sql(dialect=dialect) for column in columns)
        added = UniqueIndex(parts, where.this.sql(dialect=dialect) if where else "")
        indexes = (*existing.unique_indexes, added)
        tables[plain_name(table.name)] = msgspec.structs.replace(existing, unique_indexes=indexes)
        return
    keys = (*existing.keys, Key(columns=_list_key_columns(columns)))
    tables[plain_name(table.name)] = msgspec.structs.replace(existing, keys=keys)
